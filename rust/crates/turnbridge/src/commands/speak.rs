//! `turnbridge speak`: reads a text aloud, or into a file.

use std::io::{IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use serde_json::{Value, json};
use turnbridge_core::spoken_text::{Utterance, spoken_text};

use crate::failure::{hinted, note};
use crate::speech::{self, Manner, Silence, Speaker, code, no_engine};

/// More is no speech.
const LONGEST_INPUT: u64 = 16 << 20;

/// Read a text aloud, as a person would read Markdown
///
/// Code, addresses and marks are left out; Japanese and English each get their own voice. Returns
/// as soon as the speech has begun.
#[derive(Debug, Args)]
#[command(after_help = "Exit status: 0 speaking, written, or nothing to say; 1 failed; \
    2 wrong arguments; 3 this machine cannot speak: no engine, or no sound")]
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
    /// Be the player: play to the end, and say in one line whether it began
    #[arg(long, hide = true, conflicts_with = "out")]
    play_now: bool,
    #[arg(long, hide = true, value_parser = parse_voice, requires = "play_now")]
    voice_ja: Option<String>,
    #[arg(long, hide = true, value_parser = parse_voice, requires = "play_now")]
    voice_en: Option<String>,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let markdown = arguments.markdown()?;
    if arguments.play_now {
        speech::play(&spoken_text(&markdown), arguments.manner(), speech::tell_the_caller);
        return Ok(());
    }
    match &arguments.out {
        Some(path) => arguments.write(&markdown, path),
        None => arguments.play(&markdown),
    }
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

    fn manner(&self) -> Manner {
        Manner {
            japanese: self.voice_ja.clone().or(self.voice.clone()),
            english: self.voice_en.clone().or(self.voice.clone()),
            words_per_minute: self.rate,
        }
    }

    fn play(&self, markdown: &str) -> Result<()> {
        match speech::speak(markdown, &self.manner()) {
            Ok(speech) => self.print(&speech.utterances, json!(speech.engine.name()), None),
            Err(Silence::NothingToSay) => self.say_nothing(),
            Err(silence) => Err(silence.into_error()),
        }
    }

    fn write(&self, markdown: &str, path: &Path) -> Result<()> {
        let utterances = spoken_text(markdown);
        if utterances.is_empty() {
            return self.say_nothing();
        }
        let speaker = Speaker::to_write(self.manner()).ok_or_else(no_engine)?;
        let seconds = speaker.write_all(&utterances, path)?;
        self.print(&utterances, json!(speaker.engine.name()), Some(seconds))
    }

    fn say_nothing(&self) -> Result<()> {
        note(&Silence::NothingToSay.reason());
        self.print(&[], Value::Null, None)
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
    json!({"language": code(utterance.language), "text": utterance.text})
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
