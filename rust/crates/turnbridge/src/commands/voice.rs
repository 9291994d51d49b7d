//! `turnbridge voice`: shows the voice, chooses voice and rate, mutes, and speaks a test.

use std::io::Write;

use anyhow::Result;
use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;
use turnbridge_core::text::spoken_text::Language;
use turnbridge_store::state::folder_trust::trusted_state;
use turnbridge_store::state::speech_mark;
use turnbridge_system::speech::{self, Manner, SilenceReason, Speaker, Voice, code, no_engine};
use unicode_width::UnicodeWidthStr;

use crate::config::{self, check_voice_name};
use crate::failure::note;
use crate::output;

/// One sentence for each voice.
const SAMPLE: &str = "Hello, this is Turnbridge. こんにちは、ターンブリッジです。";

/// Show or choose who speaks, how fast, and whether at all
///
/// What you choose is kept in `config.toml`, section `[voice]`. Without a command: `status`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct VoiceArgs {
    #[command(subcommand)]
    action: Option<VoiceAction>,
    #[command(flatten)]
    status: AsJson,
}

#[derive(Debug, Subcommand)]
enum VoiceAction {
    /// Show the engine and what is chosen
    Status(AsJson),
    /// List the voices of the engine
    List {
        /// Only those that speak this language
        #[arg(long)]
        language: Option<SpokenLanguage>,
        #[command(flatten)]
        format: AsJson,
    },
    /// Choose the voice for a language
    Set {
        language: SpokenLanguage,
        /// As `turnbridge voice list` shows it
        #[arg(value_parser = check_voice_name, required_unless_present = "default")]
        name: Option<String>,
        /// Leave it to the engine
        #[arg(long, conflicts_with = "name")]
        default: bool,
    },
    /// Choose how fast to speak
    Rate {
        /// Words per minute, 50 to 600
        #[arg(value_name = "WPM", value_parser = clap::value_parser!(u16).range(config::RATES), required_unless_present = "default")]
        words_per_minute: Option<u16>,
        /// Leave it to the engine
        #[arg(long, conflicts_with = "words_per_minute")]
        default: bool,
    },
    /// Say nothing from now on, and end what is being said
    Mute,
    /// Speak again
    Unmute,
    /// Speak a sentence in each language
    Test {
        /// What to say instead
        text: Vec<String>,
    },
}

#[derive(Debug, Args)]
struct AsJson {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum SpokenLanguage {
    Ja,
    En,
}

impl From<SpokenLanguage> for Language {
    fn from(language: SpokenLanguage) -> Language {
        match language {
            SpokenLanguage::Ja => Language::Japanese,
            SpokenLanguage::En => Language::English,
        }
    }
}

pub fn run(arguments: &VoiceArgs) -> Result<()> {
    match &arguments.action {
        None => status(&arguments.status),
        Some(VoiceAction::Status(format)) => status(format),
        Some(VoiceAction::List { language, format }) => list(language.map(Language::from), format),
        Some(VoiceAction::Set { language, name, .. }) => {
            choose((*language).into(), name.as_deref())
        }
        Some(VoiceAction::Rate { words_per_minute, .. }) => choose_rate(*words_per_minute),
        Some(VoiceAction::Mute) => mute(true),
        Some(VoiceAction::Unmute) => mute(false),
        Some(VoiceAction::Test { text }) => test(&text.join(" ")),
    }
}

fn status(format: &AsJson) -> Result<()> {
    let config::VoiceConfig { mute, rate, en, ja } = config::read()?.voice;
    let speaker = Speaker::usual(&Manner::default());
    let path = config::path()?;
    let mut out = output::stdout();
    if format.json {
        let engine = speaker.map(
            |found| json!({"name": found.engine.name(), "path": found.path.to_string_lossy()}),
        );
        let printed = json!({
            "version": 1,
            "engine": engine,
            "muted": mute,
            "rate": rate,
            "voices": {"en": en, "ja": ja},
            "config": path.to_string_lossy(),
        });
        return Ok(writeln!(out, "{printed}")?);
    }
    let engine = match &speaker {
        Some(found) => format!("{} (`{}`)", found.engine.name(), found.path.display()),
        None => "none found".to_owned(),
    };
    let rate = rate.map_or("the engine's own".to_owned(), |rate| format!("{rate} words a minute"));
    let voice = |name: Option<String>| name.unwrap_or("the engine's own".to_owned());
    writeln!(out, "engine    {engine}")?;
    writeln!(out, "muted     {}", if mute { "yes" } else { "no" })?;
    writeln!(out, "rate      {rate}")?;
    writeln!(out, "English   {}", voice(en))?;
    writeln!(out, "Japanese  {}", voice(ja))?;
    writeln!(out, "config    `{}`", path.display())?;
    Ok(())
}

fn list(language: Option<Language>, format: &AsJson) -> Result<()> {
    let speaker = Speaker::usual(&Manner::default()).ok_or_else(no_engine)?;
    let mut voices = speaker.voices()?;
    voices.retain(|voice| language.is_none_or(|language| voice.speaks(language)));
    let mut out = output::stdout();
    if format.json {
        let voices: Vec<_> = voices
            .iter()
            .map(|voice| json!({"name": voice.name, "language": voice.language}))
            .collect();
        let printed = json!({"version": 1, "engine": speaker.engine.name(), "voices": voices});
        return Ok(writeln!(out, "{printed}")?);
    }
    if voices.is_empty() {
        note(&format!("`{}` lists no such voice", speaker.engine.name()));
    }
    let width = voices.iter().map(|voice| voice.language.width()).max().unwrap_or_default();
    for Voice { name, language } in &voices {
        let gap = " ".repeat(width - language.width());
        writeln!(out, "{language}{gap}  {name}")?;
    }
    Ok(())
}

fn choose(language: Language, name: Option<&str>) -> Result<()> {
    let changed = config::set("voice", code(language), name.map(Into::into))?;
    if let Some(name) = name {
        warn_of_unlisted(name);
    }
    report(changed, &format!("{} {}", code(language), name.unwrap_or("the engine's own voice")))
}

/// Prints a note if the engine does not list the name. It is no error: engines know more names than
/// they list.
fn warn_of_unlisted(name: &str) {
    let Some(speaker) = Speaker::usual(&Manner::default()) else { return };
    if !speaker.lists(name) {
        let engine = speaker.engine.name();
        note(&format!(
            "`{engine}` does not list `{name}`; try it with `turnbridge voice test`, or choose \
             from `turnbridge voice list`"
        ));
    }
}

fn choose_rate(words_per_minute: Option<u16>) -> Result<()> {
    let value = words_per_minute.map(|rate| i64::from(rate).into());
    let changed = config::set("voice", "rate", value)?;
    let rate = words_per_minute.map_or("the engine's own".to_owned(), |rate| rate.to_string());
    report(changed, &format!("rate {rate}"))
}

fn mute(mute: bool) -> Result<()> {
    if mute {
        hush();
    }
    let is_so = config::read().is_ok_and(|config| config.voice.mute == mute);
    let changed = !is_so && config::set("voice", "mute", Some(mute.into()))?;
    report(changed, if mute { "muted" } else { "not muted" })
}

/// Ends the current speech: a user who mutes does not want to hear the rest of it.
fn hush() {
    if let Some(Err(error)) = trusted_state().map(|paths| speech_mark::cut_off(&paths)) {
        note(&format!("could not end what is being said: {error}"));
    }
}

fn report(changed: bool, what: &str) -> Result<()> {
    let already = if changed { "" } else { " (as before)" };
    Ok(writeln!(output::stdout(), "{what}{already}")?)
}

fn test(text: &str) -> Result<()> {
    let voice = config::read()?.voice;
    let text = if text.is_empty() { SAMPLE } else { text };
    let speech = match speech::speak(text, &voice) {
        Err(silence @ (SilenceReason::Muted | SilenceReason::NothingToSay)) => {
            note(&silence.reason());
            return Ok(());
        }
        result => result.map_err(SilenceReason::into_error)?,
    };
    let mut out = output::stdout();
    let manner = Manner::from(&voice);
    for utterance in &speech.utterances {
        let name = manner.voice(utterance.language).unwrap_or("the engine's own voice");
        let (engine, language) = (speech.engine.name(), code(utterance.language));
        writeln!(out, "{engine}, {language}, {name}: {}", utterance.text)?;
    }
    Ok(())
}
