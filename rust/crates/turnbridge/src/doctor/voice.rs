//! Checks whether a speech engine is found, and whether the voice is muted.

use turnbridge_system::speech::{Manner, Speaker};

use super::check_context::CheckContext;
use super::finding::{Area, Finding, problem_text};
use crate::config::VoiceConfig;

pub fn check(context: &CheckContext) -> Vec<Finding> {
    let engine = Speaker::usual(&Manner::default()).map(|speaker| speaker.engine.name());
    findings(engine, &context.config().voice)
}

fn findings(engine: Option<&str>, voice: &VoiceConfig) -> Vec<Finding> {
    let finding = match (engine, voice.mute) {
        (_, true) => Finding::note(
            Area::Voice,
            "voice-muted",
            problem_text(
                "muted",
                "nothing is spoken",
                "run `turnbridge voice unmute` to hear it again",
            ),
        ),
        (None, false) => Finding::note(
            Area::Voice,
            "voice-none",
            problem_text(
                "no speech engine was found",
                "nothing can be spoken on this machine; turns end all the same",
                "docs/voice.md names the engines; on Debian, `apt-get install espeak-ng`",
            ),
        ),
        (Some(engine), false) => Finding::ok(Area::Voice, "voice", format!("`{engine}` speaks")),
    };
    vec![finding]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_is_explained_by_its_nearest_cause() {
        let id =
            |engine, mute| findings(engine, &VoiceConfig { mute, ..VoiceConfig::default() })[0].id;
        assert_eq!(id(Some("say"), false), "voice");
        assert_eq!(id(None, false), "voice-none");
        assert_eq!(id(None, true), "voice-muted");
    }
}
