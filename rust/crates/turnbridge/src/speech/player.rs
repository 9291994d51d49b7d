//! The process that plays: it stays while the engine speaks, and watches who has the word.
//!
//! A newer speech takes the word, a prompt takes it away (`turnbridge_store::speech_mark`), and
//! the engine is ended within a few tens of milliseconds. A home that cannot be written to keeps
//! nobody from speaking; such a speech only cannot be cut off.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use turnbridge_core::spoken_text::Utterance;
use turnbridge_store::paths::StatePaths;
use turnbridge_store::speech_mark::{SpeechMark, Word};

use super::engine::{Engine, Target};
use super::engine_process::{End, EngineProcess, without_window};
use super::launch::Report;
use super::{Manner, Speaker, patience};

/// How often the player looks. People hear a tenth of a second.
const LOOK_EVERY: Duration = Duration::from_millis(25);

/// Plays one utterance after another to its end; `tell` hears once whether the first one began.
pub fn play(utterances: &[Utterance], manner: Manner, tell: impl FnOnce(Report)) {
    let Some(speaker) = Speaker::to_play(utterances, manner) else {
        return tell(Report::Failed("no speech engine on this machine".to_owned()));
    };
    let mut player = Player { word: take_the_word(&speaker), speaker, tell: Some(tell) };
    for utterance in utterances {
        match player.play_one(utterance) {
            Played::ToTheEnd => {}
            Played::CutOff => break,
            Played::Badly(report) if player.tell.is_some() => {
                player.tell(report);
                break;
            }
            // What was begun is finished as well as it can be: the next one is another voice's.
            Played::Badly(_) => {}
        }
    }
    player.tell(Report::Began);
}

struct Player<Tell> {
    speaker: Speaker,
    word: Option<SpeechMark>,
    tell: Option<Tell>,
}

enum Played {
    ToTheEnd,
    CutOff,
    Badly(Report),
}

impl<Tell: FnOnce(Report)> Player<Tell> {
    fn play_one(&mut self, utterance: &Utterance) -> Played {
        if self.word() != Word::Ours {
            return Played::CutOff;
        }
        let call = self.speaker.engine.call(utterance, &self.speaker.manner, Target::Play);
        let mut engine = match EngineProcess::start(&self.speaker, call) {
            Ok(engine) => engine,
            Err(error) => {
                let path = self.speaker.path.display();
                return Played::Badly(Report::Failed(format!("could not start `{path}`: {error}")));
            }
        };
        let start = Instant::now();
        loop {
            match engine.try_wait() {
                Ok(None) => {}
                Ok(Some(status)) => {
                    let end = End::of(self.speaker.engine, status, &engine.complaints());
                    return self.played(end);
                }
                Err(error) => {
                    engine.kill();
                    return Played::Badly(Report::Failed(error.to_string()));
                }
            }
            let word = self.word();
            if word != Word::Ours {
                engine.kill();
                self.silence_the_service(word);
                return Played::CutOff;
            }
            if self.tell.is_some() && has_begun(&mut engine, start.elapsed()) {
                self.tell(Report::Began);
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    fn played(&mut self, end: End) -> Played {
        match end {
            End::Well => {
                self.tell(Report::Began);
                Played::ToTheEnd
            }
            End::NoSound(cause) => Played::Badly(Report::NoSound(cause)),
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

    /// speech-dispatcher speaks on when its client has gone. A newer speech has silenced it
    /// already, and must not be silenced itself.
    fn silence_the_service(&self, word: Word) {
        if word == Word::Nobodys {
            cancel(&self.speaker);
        }
    }
}

fn has_begun(engine: &mut EngineProcess, after: Duration) -> bool {
    after >= patience::a_longer_moment()
        || after >= patience::a_moment() && !engine.has_complained()
}

fn take_the_word(speaker: &Speaker) -> Option<SpeechMark> {
    let word = SpeechMark::take(&StatePaths::from_env()?).ok()?;
    if word.was_anothers() {
        cancel(speaker);
    }
    Some(word)
}

/// Not without need: it silences a screen reader too.
fn cancel(speaker: &Speaker) {
    if speaker.engine == Engine::SpdSay {
        let mut command = Command::new(&speaker.path);
        command.arg("--cancel").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        without_window(&mut command);
        let _ = command.status();
    }
}
