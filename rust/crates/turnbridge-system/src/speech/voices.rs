//! Lists the voices of an engine, from the output of its program.

use anyhow::{Context, Result};
use turnbridge_core::text::spoken_text::Language;

use super::engine::{Engine, EngineCall, code};
use super::{Manner, Speaker};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Voice {
    /// The name that the engine accepts.
    pub name: String,
    /// The language as the engine writes it: `ja`, `en-us`, `en_US`.
    pub language: String,
}

impl Voice {
    pub fn speaks(&self, language: Language) -> bool {
        let first = self.language.split(['-', '_']).next().unwrap_or_default();
        first.eq_ignore_ascii_case(code(language))
    }
}

const POWERSHELL_SCRIPT: &str = "\
$ErrorActionPreference = 'Stop'
Add-Type -AssemblyName System.Speech
$speaker = New-Object System.Speech.Synthesis.SpeechSynthesizer
$lines = $speaker.GetInstalledVoices() | Where-Object { $_.Enabled } |
  ForEach-Object { $_.VoiceInfo.Culture.Name + [char]9 + $_.VoiceInfo.Name + [char]10 }
$bytes = (New-Object System.Text.UTF8Encoding $false).GetBytes(-join $lines)
$out = [Console]::OpenStandardOutput()
$out.Write($bytes, 0, $bytes.Length)
";

impl Speaker {
    /// Returns the engine that speaks if the text has no special needs.
    pub fn usual(manner: &Manner) -> Option<Speaker> {
        Speaker::to_play(&[], manner).into_iter().next()
    }

    pub fn voices(&self) -> Result<Vec<Voice>> {
        let arguments: &[&str] = match self.engine {
            Engine::Say => &["-v", "?"],
            Engine::SpdSay => &["-L"],
            Engine::EspeakNg => &["--voices"],
            Engine::PowerShell => &["-NoProfile", "-NonInteractive", "-Command", POWERSHELL_SCRIPT],
        };
        let arguments = arguments.iter().map(Into::into).collect();
        let printed = self
            .run(EngineCall { arguments, stdin: String::new() })
            .with_context(|| format!("could not ask `{}` for its voices", self.name()))?;
        Ok(parse(self.engine, &String::from_utf8_lossy(&printed)))
    }

    /// Returns whether the engine lists a voice of this name, or for this language.
    pub fn lists(&self, name: &str) -> bool {
        let is_it = |voice: &Voice| voice.name == name || voice.language == name;
        self.voices().is_ok_and(|voices| voices.iter().any(is_it))
    }
}

fn parse(engine: Engine, printed: &str) -> Vec<Voice> {
    let line = match engine {
        Engine::Say => say_line,
        Engine::SpdSay => spd_say_line,
        Engine::EspeakNg => espeak_ng_line,
        Engine::PowerShell => power_shell_line,
    };
    printed.lines().filter_map(line).collect()
}

fn voice(name: &str, language: &str) -> Option<Voice> {
    let named = !name.is_empty() && !language.is_empty();
    named.then(|| Voice { name: name.to_owned(), language: language.to_owned() })
}

/// Parses `Eddy (English (UK)) en_GB # Hello! My name is Eddy.`
fn say_line(line: &str) -> Option<Voice> {
    let (described, _) = line.split_once('#')?;
    let (name, language) = described.trim_end().rsplit_once(char::is_whitespace)?;
    voice(name.trim(), language)
}

/// Parses three right-aligned columns; names contain blanks.
fn spd_say_line(line: &str) -> Option<Voice> {
    let mut columns = line.split("  ").map(str::trim).filter(|column| !column.is_empty());
    let (name, language) = (columns.next()?, columns.next()?);
    (language != "LANGUAGE").then(|| voice(name, language)).flatten()
}

/// Parses ` 2  en-us     --/M   English_(America)  gmw/en-US   (en 3)`
fn espeak_ng_line(line: &str) -> Option<Voice> {
    let mut columns = line.split_whitespace();
    let _priority: u32 = columns.next()?.parse().ok()?;
    let (language, _gender) = (columns.next()?, columns.next()?);
    let (name, file) = (columns.next()?, columns.next()?);
    // Most machines lack the voices of MBROLA, which are listed all the same. A variant is no
    // voice.
    if file.starts_with("mb/") || file.starts_with("!v/") {
        return None;
    }
    // The list prints blanks as `_`, but the engine accepts only blanks.
    voice(&name.replace('_', " "), language)
}

fn power_shell_line(line: &str) -> Option<Voice> {
    let (language, name) = line.split_once('\t')?;
    voice(name.trim(), language)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(engine: Engine, printed: &str) -> String {
        let voices = parse(engine, printed);
        voices.iter().map(|voice| format!("{}: {}\n", voice.language, voice.name)).collect()
    }

    #[test]
    fn the_voices_of_espeak_ng_are_named_as_it_takes_them() {
        let printed = "\
Pty Language       Age/Gender VoiceName          File                 Other Languages
 5  bpy             --/M      Bishnupriya_Manipuri inc/bpy              
 2  en-us           --/M      English_(America)  gmw/en-US            (en 3)
 1  ja              --/M      japanese-mbrola-1  mb/mb-jp1            
 5  ja              --/M      Japanese           jpx/ja               
 5  variant         --/M      Storm              !v/Storm             (en-us 5)
";
        insta::assert_snapshot!(shown(Engine::EspeakNg, printed), @"
        bpy: Bishnupriya Manipuri
        en-us: English (America)
        ja: Japanese
        ");
    }

    #[test]
    fn the_voices_of_say_may_have_blanks_and_brackets() {
        let printed = "\
Albert              en_US    # Hello! My name is Albert.
Bad News            en_US    # Hello! My name is Bad News.
Eddy (English (UK)) en_GB    # Hello! My name is Eddy.
Kyoko               ja_JP    # こんにちは! 私の名前はKyokoです。
";
        insta::assert_snapshot!(shown(Engine::Say, printed), @"
        en_US: Albert
        en_US: Bad News
        en_GB: Eddy (English (UK))
        ja_JP: Kyoko
        ");
    }

    #[test]
    fn the_voices_of_spd_say_stand_in_columns() {
        let printed = "                     NAME                 LANGUAGE                  VARIANT
        English (America)                    en-US                     none
English (Received Pronunciation)               en-GB-x-rp                     none
                 Japanese                       ja               Mr serious
";
        insta::assert_snapshot!(shown(Engine::SpdSay, printed), @"
        en-US: English (America)
        en-GB-x-rp: English (Received Pronunciation)
        ja: Japanese
        ");
    }

    #[test]
    fn the_voices_of_windows_come_with_their_culture() {
        let printed = "ja-JP\tMicrosoft Haruka Desktop\nen-US\tMicrosoft Zira Desktop\r\n\n";
        insta::assert_snapshot!(shown(Engine::PowerShell, printed), @"
        ja-JP: Microsoft Haruka Desktop
        en-US: Microsoft Zira Desktop
        ");
    }

    #[test]
    fn a_voice_speaks_the_language_that_its_code_begins_with() {
        let speaks = |code: &str| voice("x", code).unwrap().speaks(Language::English);
        assert!(["en", "en-us", "en_GB", "EN-US"].into_iter().all(speaks));
        assert!(!["ja", "enm", "x-en"].into_iter().any(speaks));
    }
}
