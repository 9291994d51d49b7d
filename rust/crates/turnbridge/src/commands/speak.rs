//! `turnbridge speak`: reads a text aloud, or into a file.

use std::fs;
use std::io::{IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use clap::Args;
use serde_json::{Value, json};
use turnbridge_core::spoken_text::{Language, Utterance, spoken_text};

use crate::failure::{hinted, hinted_with_code, note};
use crate::speech::{Manner, Speaker, start_detached};

/// Callers tell "cannot" from "failed" by it.
const NO_ENGINE: u8 = 3;

/// More is no speech.
const LONGEST_INPUT: u64 = 16 << 20;

/// Read a text aloud, as a person would read Markdown
///
/// Code, addresses and marks are left out; Japanese and English each get their own voice. Returns
/// as soon as the speech has begun.
#[derive(Debug, Args)]
#[command(after_help = "Exit status: 0 speaking, written, or nothing to say; 1 failed; \
    2 wrong arguments; 3 no speech engine on this machine")]
pub struct Arguments {
    /// What to say; `-`, or nothing with a pipe, reads it from stdin
    text: Vec<String>,
    /// Write a WAV file instead of playing
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The engine's name of a voice, for all languages
    #[arg(long, value_name = "NAME", value_parser = parse_voice)]
    voice: Option<String>,
    /// Words per minute
    #[arg(long, value_name = "WPM", value_parser = clap::value_parser!(u16).range(50..=600))]
    rate: Option<u16>,
    /// Print what is said, and by which engine, as JSON
    #[arg(long)]
    json: bool,
    /// Play to the end before returning
    #[arg(long, hide = true, conflicts_with = "out")]
    play_now: bool,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let markdown = arguments.markdown()?;
    let utterances = spoken_text(&markdown);
    if utterances.is_empty() {
        note("there is nothing to say");
        return arguments.print(&utterances, Value::Null, None);
    }
    let manner = Manner { voice: arguments.voice.clone(), words_per_minute: arguments.rate };
    let speaker = match arguments.out {
        Some(_) => Speaker::to_write(manner),
        None => Speaker::to_play(&utterances, manner),
    };
    let speaker = speaker.ok_or_else(no_engine)?;
    let mut seconds = None;
    match (&arguments.out, utterances.as_slice()) {
        (Some(path), _) => seconds = Some(write_sound(&speaker, &utterances, path)?),
        (None, _) if arguments.play_now => speaker.play_all(&utterances)?,
        (None, [utterance]) => speaker.start(utterance)?,
        (None, _) => arguments.start_player(&markdown)?,
    }
    arguments.print(&utterances, json!(speaker.engine.name()), seconds)
}

impl Arguments {
    fn markdown(&self) -> Result<String> {
        let given = self.text.join(" ");
        let mut stdin = std::io::stdin();
        if given != "-" && !self.text.is_empty() {
            return Ok(given);
        }
        if given != "-" && stdin.is_terminal() {
            return Err(hinted(
                "there is no text",
                "give it as an argument, or over stdin: `turnbridge speak < FILE`",
            ));
        }
        let mut bytes = Vec::new();
        (&mut stdin)
            .take(LONGEST_INPUT + 1)
            .read_to_end(&mut bytes)
            .context("could not read stdin")?;
        if bytes.len() as u64 > LONGEST_INPUT {
            return Err(hinted("the text is longer than 16 MiB", "give a shorter one"));
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// An engine speaks one language at a time, so somebody has to stay and start the next: this
    /// same program.
    fn start_player(&self, markdown: &str) -> Result<()> {
        let program = std::env::current_exe().context("could not find this program")?;
        let mut command = Command::new(program);
        command.args(["speak", "--play-now"]);
        if let Some(voice) = &self.voice {
            command.arg(format!("--voice={voice}"));
        }
        if let Some(rate) = self.rate {
            command.arg(format!("--rate={rate}"));
        }
        command.arg("-");
        start_detached(command, markdown).context("could not start the player")
    }

    fn print(&self, utterances: &[Utterance], engine: Value, seconds: Option<f64>) -> Result<()> {
        let mut out = std::io::stdout().lock();
        if self.json {
            let utterances: Vec<_> = utterances.iter().map(utterance_json).collect();
            let path = seconds.and(self.out.as_deref()).map(Path::to_string_lossy);
            let printed = json!({
                "engine": engine,
                "utterances": utterances,
                "out": path,
                "seconds": seconds,
            });
            writeln!(out, "{printed}")?;
        } else if let (Some(seconds), Some(path)) = (seconds, &self.out) {
            writeln!(out, "wrote {seconds:.1} s to `{}`", path.display())?;
        }
        Ok(())
    }
}

fn utterance_json(utterance: &Utterance) -> Value {
    let language = match utterance.language {
        Language::Japanese => "ja",
        Language::English => "en",
    };
    json!({"language": language, "text": utterance.text})
}

/// Only a whole sound reaches the file.
fn write_sound(speaker: &Speaker, utterances: &[Utterance], path: &Path) -> Result<f64> {
    let (bytes, seconds) = speaker.write_all(utterances)?;
    fs::write(path, bytes).with_context(|| format!("could not write `{}`", path.display()))?;
    Ok(seconds)
}

fn no_engine() -> anyhow::Error {
    let hint = if cfg!(target_os = "macos") {
        "`say` comes with macOS and lies in `/usr/bin`; add that to PATH"
    } else if cfg!(windows) {
        "`powershell.exe` comes with Windows; add its folder to PATH"
    } else {
        "install one, for example with `apt-get install espeak-ng`"
    };
    hinted_with_code(NO_ENGINE, "no speech engine on this machine", hint)
}

/// A voice's name is an argument of its own; it must not look like an option.
fn parse_voice(name: &str) -> Result<String, String> {
    match name {
        "" => Err("the name is empty".to_owned()),
        _ if name.starts_with('-') => Err("a name does not begin with `-`".to_owned()),
        _ if name.contains(char::is_control) => Err("the name has control characters".to_owned()),
        _ => Ok(name.to_owned()),
    }
}
