//! The process that plays: it stays while the engine speaks, and polls the mark of the current
//! speech.
//!
//! A newer speech takes the mark, and a prompt removes it (`turnbridge_store::state::speech_mark`).
//! The engine is ended within a few tens of milliseconds then. If the home is not writable, the
//! speech plays all the same, but cannot be cut off.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use turnbridge_core::text::spoken_text::Utterance;
use turnbridge_store::state::folder_trust::trusted_state;
use turnbridge_store::state::speech_mark::{SpeechMark, Word};

use super::engine::{Engine, Target};
use super::engine_process::{End, EngineProcess, without_window};
use super::launch::Report;
use super::{Manner, Speaker, patience};

/// The interval at which the player polls. People notice a tenth of a second.
const LOOK_EVERY: Duration = Duration::from_millis(25);

/// Plays one utterance after another to its end, and calls `tell` once with whether the first one
/// began. If an engine cannot begin, it tries the next.
pub fn play(utterances: &[Utterance], manner: &Manner, tell: impl FnOnce(Report)) {
    let speakers = Speaker::to_play(utterances, manner);
    let mut player = Player { word: take_the_word(&speakers), tell: Some(tell) };
    let mut report = Report::Failed("no speech engine on this machine".to_owned());
    for speaker in &speakers {
        match player.play_all(speaker, utterances) {
            Ok(()) => return,
            Err(why) => report = why,
        }
    }
    player.tell(report);
}

struct Player<Tell> {
    word: Option<SpeechMark>,
    tell: Option<Tell>,
}

enum Played {
    ToTheEnd,
    CutOff,
    Badly(Report),
}

impl<Tell: FnOnce(Report)> Player<Tell> {
    /// Returns `Err` with the reason if nothing was played.
    fn play_all(&mut self, speaker: &Speaker, utterances: &[Utterance]) -> Result<(), Report> {
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
        self.tell(Report::Began(Some(speaker.engine)));
        Ok(())
    }

    fn play_one(&mut self, speaker: &Speaker, utterance: &Utterance) -> Played {
        if self.word() != Word::Ours {
            return Played::CutOff;
        }
        let call = speaker.engine.call(utterance, &speaker.manner, Target::Play);
        let mut engine = match EngineProcess::start(speaker, call) {
            Ok(engine) => engine,
            Err(error) => {
                let path = speaker.path.display();
                return Played::Badly(Report::Failed(format!("could not start `{path}`: {error}")));
            }
        };
        let start = Instant::now();
        loop {
            match engine.try_wait() {
                Ok(None) => {}
                Ok(Some(status)) => {
                    let end = End::of(speaker.engine, status, &engine.complaints());
                    return self.played(speaker.engine, end);
                }
                Err(error) => {
                    engine.kill();
                    return Played::Badly(Report::Failed(error.to_string()));
                }
            }
            let word = self.word();
            if word != Word::Ours {
                engine.kill();
                // A newer speech has cancelled the service already, and must not be cancelled
                // itself.
                if word == Word::Nobodys {
                    cancel(speaker);
                }
                return Played::CutOff;
            }
            if self.tell.is_some() && has_begun(&mut engine, start.elapsed()) {
                self.tell(Report::Began(Some(speaker.engine)));
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    fn played(&mut self, engine: Engine, end: End) -> Played {
        match end {
            End::Well => {
                self.tell(Report::Began(Some(engine)));
                Played::ToTheEnd
            }
            End::NoSound(cause) => {
                let cause = format!("`{}` says `{cause}`", engine.name());
                Played::Badly(Report::NoSound(cause))
            }
            End::Failed(cause) => Played::Badly(Report::Failed(cause)),
        }
    }

    fn word(&self) -> Word {
        self.word.as_ref().map_or(Word::Ours, SpeechMark::word)
    }

    fn tell(&mut self, report: Report) {
        if let Some(tell) = self.tell.take() {
            tell(report);
        }
    }
}

fn has_begun(engine: &mut EngineProcess, after: Duration) -> bool {
    after >= patience::a_longer_moment()
        || after >= patience::a_moment() && !engine.has_complained()
}

fn take_the_word(speakers: &[Speaker]) -> Option<SpeechMark> {
    let word = SpeechMark::take(&trusted_state()?).ok()?;
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
