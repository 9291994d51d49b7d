//! Speaks a text with an installed engine, or writes the speech to a file.
//!
//! `turnbridge_core::text::spoken_text` makes the text. Speech outlives the command that starts it,
//! because an agent's turn must not wait for it. So another process plays (`player`). The command
//! starts it (`launch`) and reads one line from it: whether the speech has begun.

mod engine;
mod engine_process;
mod launch;
mod player;
mod sound_file;
mod speech_timeouts;
mod voices;
mod wav;

use std::path::{Path, PathBuf};

use turnbridge_config as config;
use turnbridge_core::text::spoken_text::{Utterance, spoken_text};

use crate::failure::{hinted, hinted_with_code};
use crate::wsl;
pub use engine::{Engine, Manner, code};
pub use launch::tell_the_caller;
pub use player::play;
pub use voices::Voice;

/// The exit code by which callers of the command line distinguish "this machine cannot" from "it
/// failed".
const CANNOT: u8 = 3;

/// An engine that is installed on this machine.
#[derive(Debug)]
pub struct Speaker {
    pub engine: Engine,
    pub path: PathBuf,
    manner: Manner,
}

impl Speaker {
    /// Returns all engines that can play, the best first: an installed one may still not work.
    pub fn to_play(utterances: &[Utterance], manner: &Manner) -> Vec<Speaker> {
        Speaker::find(manner, |engine| engine.can_play(utterances))
    }

    /// Returns the best engine that can write files.
    pub fn to_write(manner: &Manner) -> Option<Speaker> {
        Speaker::find(manner, Engine::can_write).into_iter().next()
    }

    fn find(manner: &Manner, fits: impl Fn(Engine) -> bool) -> Vec<Speaker> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::env::split_paths(&path).chain(wsl::windows_program_folders());
        let engines = engine::find(folders, fits).into_iter();
        engines.map(|(engine, path)| Speaker { engine, path, manner: manner.clone() }).collect()
    }

    fn name(&self) -> &'static str {
        self.engine.name()
    }
}

impl From<&config::VoiceConfig> for Manner {
    fn from(voice: &config::VoiceConfig) -> Manner {
        let config::VoiceConfig { rate, en, ja, .. } = voice.clone();
        Manner { japanese: ja, english: en, words_per_minute: rate }
    }
}

/// A speech that has begun.
#[derive(Debug)]
pub struct Speech {
    pub engine: Engine,
    pub utterances: Vec<Utterance>,
}

/// The reason why there is no sound.
#[derive(Debug)]
pub enum SilenceReason {
    NothingToSay,
    /// The user has muted it.
    Muted,
    NoEngine,
    /// The engine exists, but no sound card.
    NoSound(String),
    Failed(String),
}

/// Starts to speak `markdown`. Returns when the speech has begun, not when it has ended.
pub fn speak(markdown: &str, voice: &config::VoiceConfig) -> Result<Speech, SilenceReason> {
    let utterances = spoken_text(markdown);
    if utterances.is_empty() {
        return Err(SilenceReason::NothingToSay);
    }
    if voice.mute {
        return Err(SilenceReason::Muted);
    }
    let manner = Manner::from(voice);
    let speakers = Speaker::to_play(&utterances, &manner);
    let first = speakers.first().ok_or(SilenceReason::NoEngine)?.engine;
    match launch::start_player(markdown, &manner) {
        launch::PlayerReport::Began(engine) => {
            Ok(Speech { engine: engine.unwrap_or(first), utterances })
        }
        launch::PlayerReport::NoSound(cause) => Err(SilenceReason::NoSound(cause)),
        launch::PlayerReport::Failed(cause) => Err(SilenceReason::Failed(cause)),
    }
}

/// A sound file with a speech in it.
#[derive(Debug)]
pub struct WrittenSpeech {
    pub engine: Engine,
    pub utterances: Vec<Utterance>,
    pub seconds: f64,
}

/// Writes `markdown` into a sound file. Returns `None` if there is nothing to say; then `voice` is
/// not called.
pub fn write(
    markdown: &str,
    voice: impl FnOnce() -> config::VoiceConfig,
    path: &Path,
) -> anyhow::Result<Option<WrittenSpeech>> {
    let utterances = spoken_text(markdown);
    if utterances.is_empty() {
        return Ok(None);
    }
    let speaker = Speaker::to_write(&Manner::from(&voice())).ok_or_else(no_engine)?;
    let seconds = speaker.write_all(&utterances, path)?;
    Ok(Some(WrittenSpeech { engine: speaker.engine, utterances, seconds }))
}

impl SilenceReason {
    /// Returns the reason as a sentence for the user.
    pub fn reason(&self) -> String {
        match self {
            SilenceReason::NothingToSay => "there is nothing to say".to_owned(),
            SilenceReason::Muted => {
                "muted; `turnbridge voice unmute` lets it speak again".to_owned()
            }
            SilenceReason::NoEngine => "no speech engine on this machine".to_owned(),
            SilenceReason::NoSound(cause) => format!("this machine cannot play sound: {cause}"),
            SilenceReason::Failed(cause) => format!("could not speak: {cause}"),
        }
    }

    pub fn into_error(self) -> anyhow::Error {
        let reason = self.reason();
        match self {
            SilenceReason::NothingToSay | SilenceReason::Muted => anyhow::anyhow!(reason),
            SilenceReason::NoEngine => no_engine(),
            SilenceReason::NoSound(_) => hinted_with_code(
                CANNOT,
                reason,
                "connect a sound device, or write a file with `turnbridge speak --out FILE`",
            ),
            SilenceReason::Failed(_) => {
                hinted(reason, "`turnbridge voice status` shows what is set")
            }
        }
    }
}

pub fn no_engine() -> anyhow::Error {
    let hint = if cfg!(target_os = "macos") {
        "`say` comes with macOS and lies in `/usr/bin`; add that to PATH"
    } else if cfg!(windows) {
        "`powershell.exe` comes with Windows; add its folder to PATH"
    } else {
        "install one, for example with `apt-get install espeak-ng`"
    };
    hinted_with_code(CANNOT, SilenceReason::NoEngine.reason(), hint)
}
