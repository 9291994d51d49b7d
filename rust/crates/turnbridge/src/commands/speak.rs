//! `turnbridge speak`: reads a text aloud, or writes it as speech into a file. With `--play-now` it
//! is the process that plays.

use std::io::{IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use serde_json::{Value, json};
use turnbridge_core::text::spoken_text::{Utterance, spoken_text};
use turnbridge_system::speech::{self, Engine, Manner, SilenceReason, code};

use crate::config::{self, check_voice_name};
use crate::failure::{hinted, note};
use crate::output;

/// The limit of the input.
const LONGEST_INPUT: u64 = 16 << 20;

/// Read a text aloud, as a person would read Markdown
///
/// Code, addresses and marks are left out; Japanese and English each get their own voice. Returns
/// as soon as the speech has begun.
#[derive(Debug, Args)]
#[command(after_help = "Exit status: 0 speaking, written, or nothing to say; 1 failed; \
    2 wrong arguments; 3 this machine cannot speak: no engine, or no sound")]
pub struct SpeakArgs {
    /// What to say; `-`, or nothing with a pipe, reads it from stdin
    text: Vec<String>,
    /// Write a WAV file instead of playing
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The engine's name of a voice, for all languages
    #[arg(long, value_name = "NAME", value_parser = check_voice_name)]
    voice: Option<String>,
    /// Words per minute
    #[arg(long, value_name = "WPM", value_parser = clap::value_parser!(u16).range(config::RATES))]
    rate: Option<u16>,
    /// Print what is said, and by which engine, as JSON
    #[arg(long)]
    json: bool,
    /// Be the player: play to the end, and say in one line whether it began
    #[arg(long, hide = true, conflicts_with = "out")]
    play_now: bool,
    #[arg(long, hide = true, value_parser = check_voice_name, requires = "play_now")]
    voice_ja: Option<String>,
    #[arg(long, hide = true, value_parser = check_voice_name, requires = "play_now")]
    voice_en: Option<String>,
}

pub fn run(arguments: &SpeakArgs) -> Result<()> {
    let markdown = arguments.markdown()?;
    if arguments.play_now {
        speech::play(&spoken_text(&markdown), &arguments.given_manner(), speech::tell_the_caller);
        return Ok(());
    }
    match &arguments.out {
        Some(path) => arguments.write(&markdown, path),
        None => arguments.play(&markdown),
    }
}

impl SpeakArgs {
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

    /// Returns the player's options. The process that started it has read the config.
    fn given_manner(&self) -> Manner {
        Manner {
            japanese: self.voice_ja.clone(),
            english: self.voice_en.clone(),
            words_per_minute: self.rate,
        }
    }

    /// Returns the voice: options override the config.
    fn chosen_voice(&self) -> config::VoiceConfig {
        let config::VoiceConfig { mute, rate, en, ja } = config::read_or_default().voice;
        let given = || self.voice.clone();
        config::VoiceConfig {
            mute,
            rate: self.rate.or(rate),
            en: given().or(en),
            ja: given().or(ja),
        }
    }

    fn play(&self, markdown: &str) -> Result<()> {
        match speech::speak(markdown, &self.chosen_voice()) {
            Ok(speech) => self.print(&SpeakResult {
                engine: Some(speech.engine),
                ..SpeakResult::of(&speech.utterances)
            }),
            Err(silence @ (SilenceReason::NothingToSay | SilenceReason::Muted)) => {
                note(&silence.reason());
                let muted = matches!(silence, SilenceReason::Muted);
                self.print(&SpeakResult { muted, ..SpeakResult::of(&spoken_text(markdown)) })
            }
            Err(silence) => Err(silence.into_error()),
        }
    }

    /// Writes a file, even when muted, because it makes no sound.
    fn write(&self, markdown: &str, path: &Path) -> Result<()> {
        let Some(speech) = speech::write(markdown, || self.chosen_voice(), path)? else {
            note(&SilenceReason::NothingToSay.reason());
            return self.print(&SpeakResult::of(&[]));
        };
        let (engine, seconds) = (Some(speech.engine), Some(speech.seconds));
        self.print(&SpeakResult { engine, seconds, ..SpeakResult::of(&speech.utterances) })
    }

    fn print(&self, said: &SpeakResult<'_>) -> Result<()> {
        let mut out = output::stdout();
        let written = said.seconds.zip(self.out.as_deref());
        if self.json {
            let printed = json!({
                "version": 1,
                "engine": said.engine.map(Engine::name),
                "muted": said.muted,
                "utterances": utterances_json(said.utterances),
                "out": written.map(|(_, path)| path.to_string_lossy()),
                "seconds": said.seconds,
            });
            writeln!(out, "{printed}")?;
        } else if let Some((seconds, path)) = written {
            writeln!(out, "wrote {seconds:.1} s to `{}`", path.display())?;
        }
        Ok(())
    }
}

struct SpeakResult<'a> {
    utterances: &'a [Utterance],
    engine: Option<Engine>,
    muted: bool,
    seconds: Option<f64>,
}

impl SpeakResult<'_> {
    fn of(utterances: &[Utterance]) -> SpeakResult<'_> {
        SpeakResult { utterances, engine: None, muted: false, seconds: None }
    }
}

fn utterances_json(utterances: &[Utterance]) -> Vec<Value> {
    let json = |utterance: &Utterance| json!({"language": code(utterance.language), "text": utterance.text});
    utterances.iter().map(json).collect()
}
