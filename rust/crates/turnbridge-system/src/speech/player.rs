//! Plays a speech in a separate process: it stays while the engine speaks, and polls the mark that
//! names the current speech (`turnbridge_store::state::speech_mark`).
//!
//! A newer speech takes the mark, and a prompt removes it. The engine is ended within a few tens of
//! milliseconds then. If the mark cannot be written, the speech plays too, but cannot be cut off.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use turnbridge_core::text::spoken_text::Utterance;
use turnbridge_store::state::folder_trust::trusted_state;
use turnbridge_store::state::speech_mark::{SpeechHolder, SpeechMark};

use super::engine::{Engine, SpeechTarget};
use super::engine_process::{EngineEnd, EngineProcess, without_window};
use super::launch::PlayerReport;
use super::{Manner, Speaker, speech_timeouts};

/// The interval at which the player polls. People notice a tenth of a second.
const LOOK_EVERY: Duration = Duration::from_millis(25);

/// Plays one utterance after another to its end, and calls `tell` once with whether the first one
/// began. If an engine cannot begin, it tries the next.
pub fn play(utterances: &[Utterance], manner: &Manner, tell: impl FnOnce(PlayerReport)) {
    let speakers = Speaker::to_play(utterances, manner);
    let mut player = SpeechPlayer { word: claim_speech(&speakers), tell: Some(tell) };
    let mut report = PlayerReport::Failed("no speech engine on this machine".to_owned());
    for speaker in &speakers {
        match player.play_all(speaker, utterances) {
            Ok(()) => return,
            Err(why) => report = why,
        }
    }
    player.tell(report);
}

struct SpeechPlayer<Tell> {
    word: Option<SpeechMark>,
    tell: Option<Tell>,
}

enum Played {
    ToTheEnd,
    CutOff,
    Badly(PlayerReport),
}

impl<Tell: FnOnce(PlayerReport)> SpeechPlayer<Tell> {
    /// Returns `Err` with the reason if nothing was played.
    fn play_all(
        &mut self,
        speaker: &Speaker,
        utterances: &[Utterance],
    ) -> Result<(), PlayerReport> {
        for utterance in utterances {
            match self.play_one(speaker, utterance) {
                Played::ToTheEnd => {}
                Played::CutOff => break,
                Played::Badly(report) if self.tell.is_some() => return Err(report),
                // A speech that has begun is finished as well as possible: the next utterance has
                // another voice.
                Played::Badly(_) => {}
            }
        }
        self.tell(PlayerReport::Began(Some(speaker.engine)));
        Ok(())
    }

    fn play_one(&mut self, speaker: &Speaker, utterance: &Utterance) -> Played {
        if self.holder() != SpeechHolder::Ours {
            return Played::CutOff;
        }
        let call = speaker.engine.call(utterance, &speaker.manner, SpeechTarget::Play);
        let mut engine = match EngineProcess::start(speaker, call) {
            Ok(engine) => engine,
            Err(error) => {
                let path = speaker.path.display();
                return Played::Badly(PlayerReport::Failed(format!(
                    "could not start `{path}`: {error}"
                )));
            }
        };
        let start = Instant::now();
        loop {
            match engine.try_wait() {
                Ok(None) => {}
                Ok(Some(status)) => {
                    let end = EngineEnd::of(speaker.engine, status, &engine.complaints());
                    return self.played(speaker.engine, end);
                }
                Err(error) => {
                    engine.kill();
                    return Played::Badly(PlayerReport::Failed(error.to_string()));
                }
            }
            let word = self.holder();
            if word != SpeechHolder::Ours {
                engine.kill();
                // A newer speech has cancelled the service already, and must not be cancelled
                // itself.
                if word == SpeechHolder::NoOne {
                    cancel(speaker);
                }
                return Played::CutOff;
            }
            if self.tell.is_some() && has_begun(&mut engine, start.elapsed()) {
                self.tell(PlayerReport::Began(Some(speaker.engine)));
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    fn played(&mut self, engine: Engine, end: EngineEnd) -> Played {
        match end {
            EngineEnd::Well => {
                self.tell(PlayerReport::Began(Some(engine)));
                Played::ToTheEnd
            }
            EngineEnd::NoSound(cause) => {
                let cause = format!("`{}` says `{cause}`", engine.name());
                Played::Badly(PlayerReport::NoSound(cause))
            }
            EngineEnd::Failed(cause) => Played::Badly(PlayerReport::Failed(cause)),
        }
    }

    fn holder(&self) -> SpeechHolder {
        self.word.as_ref().map_or(SpeechHolder::Ours, SpeechMark::holder)
    }

    fn tell(&mut self, report: PlayerReport) {
        if let Some(tell) = self.tell.take() {
            tell(report);
        }
    }
}

fn has_begun(engine: &mut EngineProcess, after: Duration) -> bool {
    after >= speech_timeouts::failure_time()
        || after >= speech_timeouts::start_time() && !engine.has_complained()
}

fn claim_speech(speakers: &[Speaker]) -> Option<SpeechMark> {
    let word = SpeechMark::claim(&trusted_state()?).ok()?;
    if word.was_anothers() {
        speakers.iter().for_each(cancel);
    }
    Some(word)
}

/// Cancels speech-dispatcher, which continues after its client has ended. Call it only if
/// necessary, because it silences a screen reader too.
fn cancel(speaker: &Speaker) {
    if speaker.engine == Engine::SpdSay {
        let mut command = Command::new(&speaker.path);
        command.arg("--cancel").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        without_window(&mut command);
        let _ = command.status();
    }
}
