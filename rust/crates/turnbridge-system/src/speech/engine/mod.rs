//! Finds the programs that speak, and makes their calls: arguments and stdin. It starts none of
//! them.
//!
//! No call uses a shell. The text is passed over stdin if the program supports that: every user of
//! the machine can see an argument, and Linux limits its length.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use turnbridge_core::text::spoken_text::{Language, Utterance};

/// A program that speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// The program of macOS. Other systems have other programs by this name.
    Say,
    /// The front end of speech-dispatcher. It plays only.
    SpdSay,
    EspeakNg,
    /// System.Speech, which only Windows PowerShell has. WSL can run it too.
    PowerShell,
}

/// How a text is spoken; the engine decides on absent values.
#[derive(Debug, Clone, Default)]
pub struct Manner {
    pub japanese: Option<String>,
    pub english: Option<String>,
    pub words_per_minute: Option<u16>,
}

impl Manner {
    pub fn voice(&self, language: Language) -> Option<&str> {
        match language {
            Language::Japanese => self.japanese.as_deref(),
            Language::English => self.english.as_deref(),
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub enum SpeechTarget<'a> {
    /// The program ends when its sound has ended.
    Play,
    /// A WAV file. [`Engine::writes_to_stdout`] returns whether the engine takes no path.
    Write(&'a Path),
}

#[derive(Debug, PartialEq, Eq)]
pub struct EngineCall {
    pub arguments: Vec<OsString>,
    pub stdin: String,
}

/// Linux allows 128 KiB for one argument.
const LONGEST_ARGUMENT: usize = 100_000;

/// The script. It reads the culture from the first line, the voice from the second, the rate from
/// the third, whether to write from the fourth; then the text. None of it is ever part of the
/// script.
const POWERSHELL_SCRIPT: &str = "\
$ErrorActionPreference = 'Stop'
Add-Type -AssemblyName System.Speech
$utf8 = New-Object System.Text.UTF8Encoding $false
$in = New-Object System.IO.StreamReader ([Console]::OpenStandardInput(), $utf8)
$culture = $in.ReadLine()
$voice = $in.ReadLine()
$rate = $in.ReadLine()
$target = $in.ReadLine()
$text = $in.ReadToEnd()
$speaker = New-Object System.Speech.Synthesis.SpeechSynthesizer
if ($voice) { $speaker.SelectVoice($voice) } else {
  try { $speaker.SelectVoiceByHints('NotSet', 'NotSet', 0, [Globalization.CultureInfo]$culture) } catch { }
}
if ($rate) { $speaker.Rate = [int]$rate }
if ($target -eq 'write') {
  $wave = New-Object System.IO.MemoryStream
  $speaker.SetOutputToWaveStream($wave)
  $speaker.Speak($text)
  $speaker.SetOutputToNull()
  $wave.WriteTo([Console]::OpenStandardOutput())
} else { $speaker.Speak($text) }
";

impl Engine {
    /// Returns the engines in the order in which they are searched for.
    pub fn of_this_system() -> &'static [Engine] {
        if cfg!(target_os = "macos") {
            &[Engine::Say, Engine::EspeakNg]
        } else if cfg!(windows) {
            &[Engine::PowerShell, Engine::EspeakNg]
        } else {
            &[Engine::SpdSay, Engine::EspeakNg, Engine::PowerShell]
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Engine::Say => "say",
            Engine::SpdSay => "spd-say",
            Engine::EspeakNg => "espeak-ng",
            Engine::PowerShell => "powershell.exe",
        }
    }

    pub fn by_name(name: &str) -> Option<Engine> {
        Engine::of_this_system().iter().copied().find(|engine| engine.name() == name)
    }

    pub fn file_name(self) -> String {
        match self {
            Engine::PowerShell => self.name().to_owned(),
            _ => format!("{}{}", self.name(), std::env::consts::EXE_SUFFIX),
        }
    }

    /// Returns whether the engine can play the texts: `spd-say` gets each as one argument, whose
    /// length is limited.
    pub fn can_play(self, utterances: &[Utterance]) -> bool {
        self != Engine::SpdSay || utterances.iter().all(|u| u.text.len() <= LONGEST_ARGUMENT)
    }

    pub fn can_write(self) -> bool {
        self != Engine::SpdSay
    }

    /// Returns whether the engine writes to stdout, because a path of WSL means nothing to a
    /// Windows program.
    pub fn writes_to_stdout(self) -> bool {
        self == Engine::PowerShell
    }

    /// Returns the arguments and the stdin for one utterance.
    pub fn call(
        self,
        utterance: &Utterance,
        manner: &Manner,
        target: SpeechTarget<'_>,
    ) -> EngineCall {
        match self {
            Engine::Say => say(utterance, manner, target),
            Engine::SpdSay => spd_say(utterance, manner),
            Engine::EspeakNg => espeak_ng(utterance, manner, target),
            Engine::PowerShell => power_shell(utterance, manner, target),
        }
    }
}

/// Returns the installed engines and their paths, the best first.
pub fn find(
    folders: impl Iterator<Item = PathBuf>,
    fits: impl Fn(Engine) -> bool,
) -> Vec<(Engine, PathBuf)> {
    // A relative folder would run a program of the agent's project.
    let folders: Vec<_> = folders.filter(|folder| folder.is_absolute()).collect();
    let place = |engine: Engine| {
        let mut paths = folders.iter().map(|folder| folder.join(engine.file_name()));
        paths.find(|path| is_executable(path)).map(|path| (engine, path))
    };
    let engines = Engine::of_this_system().iter().copied().filter(|engine| fits(*engine));
    engines.filter_map(place).collect()
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
}

fn say(utterance: &Utterance, manner: &Manner, target: SpeechTarget<'_>) -> EngineCall {
    let mut arguments = Vec::new();
    // Without a name `say` takes the system's voice, which seldom knows both languages.
    let voice = manner.voice(utterance.language).or(match utterance.language {
        Language::Japanese => Some("Kyoko"),
        Language::English => None,
    });
    if let Some(voice) = voice {
        arguments.extend(["-v".into(), voice.into()]);
    }
    if let Some(rate) = manner.words_per_minute {
        arguments.extend(["-r".into(), rate.to_string().into()]);
    }
    if let SpeechTarget::Write(path) = target {
        arguments.extend(["-o".into(), path.into()]);
        arguments.extend(["--file-format=WAVE".into(), "--data-format=LEI16@22050".into()]);
    }
    arguments.extend(["-f".into(), "-".into()]);
    EngineCall { arguments, stdin: utterance.text.clone() }
}

fn spd_say(utterance: &Utterance, manner: &Manner) -> EngineCall {
    let mut arguments: Vec<OsString> = vec!["-l".into(), code(utterance.language).into()];
    if let Some(voice) = manner.voice(utterance.language) {
        arguments.extend(["-y".into(), voice.into()]);
    }
    if let Some(rate) = manner.words_per_minute {
        arguments.extend(["-r".into(), spd_say_rate(rate).to_string().into()]);
    }
    // Without this option the program ends immediately, and the end of the sound is unknown.
    arguments.push("--wait".into());
    arguments.extend(["--".into(), utterance.text.as_str().into()]);
    EngineCall { arguments, stdin: String::new() }
}

fn espeak_ng(utterance: &Utterance, manner: &Manner, target: SpeechTarget<'_>) -> EngineCall {
    let voice = manner.voice(utterance.language).unwrap_or(code(utterance.language));
    let mut arguments: Vec<OsString> = vec!["-v".into(), voice.into()];
    if let Some(rate) = manner.words_per_minute {
        arguments.extend(["-s".into(), rate.to_string().into()]);
    }
    if let SpeechTarget::Write(path) = target {
        arguments.extend(["-w".into(), path.into()]);
    }
    arguments.push("--stdin".into());
    EngineCall { arguments, stdin: utterance.text.clone() }
}

fn power_shell(utterance: &Utterance, manner: &Manner, target: SpeechTarget<'_>) -> EngineCall {
    let culture = match utterance.language {
        Language::Japanese => "ja-JP",
        Language::English => "en-US",
    };
    let voice = manner.voice(utterance.language).unwrap_or_default();
    let rate = manner.words_per_minute.map(|rate| power_shell_rate(rate).to_string());
    let rate = rate.unwrap_or_default();
    let target = if matches!(target, SpeechTarget::Write(_)) { "write" } else { "play" };
    let arguments = ["-NoProfile", "-NonInteractive", "-Command", POWERSHELL_SCRIPT];
    let stdin = format!("{culture}\n{voice}\n{rate}\n{target}\n{}", utterance.text);
    EngineCall { arguments: arguments.map(OsString::from).to_vec(), stdin }
}

/// Returns the language's code for engines.
pub fn code(language: Language) -> &'static str {
    match language {
        Language::Japanese => "ja",
        Language::English => "en",
    }
}

/// Converts to a rate from -100 to 100; speech-dispatcher makes 80, 170 and 390 words a minute of
/// -100, 0 and 100.
fn spd_say_rate(words_per_minute: u16) -> i32 {
    let difference = i32::from(words_per_minute) - 170;
    let range = if difference < 0 { 90 } else { 220 };
    (difference * 100 / range).clamp(-100, 100)
}

/// Converts to a rate from -10 to 10; every ten steps are three times as fast, and 0 is about 180
/// words a minute.
fn power_shell_rate(words_per_minute: u16) -> i32 {
    let steps = 10.0 * (f64::from(words_per_minute) / 180.0).log(3.0);
    steps.round().clamp(-10.0, 10.0) as i32
}

#[cfg(test)]
mod tests;
