//! Whether a turn may end: the seven rules of the Stop gate.
//!
//! A turn ends when the agent has spoken its summary. The rules stand in an order, and what a
//! rule needs is looked up only when none before it has decided: with the sandbox on nothing
//! else is read (CVI-13, CVI-15). Every rule but the last lets the turn end: a gate that does
//! not know never locks a person out.

pub mod gate_hooks;
pub mod gate_switches;
pub mod speak;
pub mod turn_speech;

use crate::gate::speak::SpeakOutcome;

/// The first line for the model (CVI-18). Never translated (X37).
pub const NOT_SPOKEN: &str = "CVI check failed: /cvi:speak not called";
/// For the person who looks (CVI-20). Nothing in it has to be escaped in JSON.
pub const SANDBOX_NOTE: &str = "ℹ️  CVI is disabled in sandbox mode";
/// In the log (CVI-19).
pub const SANDBOX_LOG: &str = "Sandbox enabled, skipping CVI check";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    Sandbox,
    Off,
    /// One reminder a turn, never a loop.
    Reminded,
    /// Nobody is in the room.
    Alone,
    Spoken,
    NotSpoken,
}

impl Rule {
    pub const fn as_str(self) -> &'static str {
        match self {
            Rule::Sandbox => "sandbox",
            Rule::Off => "off",
            Rule::Reminded => "reminded",
            Rule::Alone => "alone",
            Rule::Spoken => "spoken",
            Rule::NotSpoken => "not_spoken",
        }
    }

    pub const fn allows(self) -> bool {
        !matches!(self, Rule::NotSpoken)
    }
}

/// The rule that applied, and the file or fact that made it apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    pub rule: Rule,
    pub because: String,
}

/// What is known of a Stop without looking anything up.
#[derive(Debug, Clone, Copy, Default)]
pub struct Stop {
    /// `stop_hook_active`: some Stop hook has sent the agent on already in this turn.
    pub is_continued: bool,
    /// The run was started for a reply from elsewhere (`TURNBRIDGE_REPLY_ID`).
    pub is_reply: bool,
    /// A program runs the agent, not a person.
    pub is_headless: bool,
}

/// What has to be looked up, each at most once.
pub trait Look {
    /// The file that turns Claude's sandbox on.
    fn sandbox(&mut self) -> Option<String>;
    /// What turns the gate off.
    fn switched_off(&mut self) -> Option<String>;
    /// We have sent the agent on already in this turn; for the case that Claude does not say so.
    fn is_reminded(&mut self) -> bool;
    /// `[gate] headless`: `claude -p` is to speak too.
    fn wants_headless(&mut self) -> bool;
    /// What came of speaking in this turn.
    fn speech(&mut self) -> Option<SpeakOutcome>;
}

pub fn decide_stop(stop: Stop, look: &mut impl Look) -> Decision {
    let decide = |rule, because: &str| Decision { rule, because: because.to_owned() };
    if let Some(file) = look.sandbox() {
        return Decision { rule: Rule::Sandbox, because: file };
    }
    if let Some(switch) = look.switched_off() {
        return Decision { rule: Rule::Off, because: switch };
    }
    if stop.is_continued {
        return decide(Rule::Reminded, "stop_hook_active");
    }
    if look.is_reminded() {
        return decide(Rule::Reminded, "reminded before");
    }
    if stop.is_reply {
        return decide(Rule::Alone, "TURNBRIDGE_REPLY_ID");
    }
    if stop.is_headless && !look.wants_headless() {
        return decide(Rule::Alone, "CLAUDE_CODE_ENTRYPOINT");
    }
    match look.speech() {
        // An attempt counts: what the machine or the person does not allow is not asked twice.
        Some(outcome) => decide(Rule::Spoken, outcome.as_str()),
        None => decide(Rule::NotSpoken, "no speech in this turn"),
    }
}

/// `SANDBOX_NOTE` as Claude Code shows it to the person (X42): of a Stop hook that exits 0 it shows no
/// stderr, but this, as `Stop says: …` (seen with 2.1.197 and 2.1.326).
pub fn shown_sandbox_note() -> String {
    format!("{{\"systemMessage\":\"{SANDBOX_NOTE}\"}}\n")
}

/// What the model reads when its turn may not end yet.
pub fn reminder(has_plugin: bool) -> String {
    let how = if has_plugin {
        "Call the tool `mcp__plugin_turnbridge_voice__speak`"
    } else {
        "Call `/cvi:speak` (the Skill tool with `cvi:speak`, or a `speak` tool of Turnbridge)"
    };
    format!(
        "{NOT_SPOKEN}\n{how} with a summary of this turn in one to three plain sentences, in the \
         user's language; then end the turn without repeating your answer.\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_turn_without_speech_is_held_and_every_rule_has_its_word() {
        use Rule::{Alone, NotSpoken, Off, Reminded, Sandbox, Spoken};
        let rules = [Sandbox, Off, Reminded, Alone, Spoken, NotSpoken];
        assert_eq!(rules.map(Rule::allows), [true, true, true, true, true, false]);
        let words = ["sandbox", "off", "reminded", "alone", "spoken", "not_spoken"];
        assert_eq!(rules.map(Rule::as_str), words);
    }

    /// What there is to see, and in which order it was looked at.
    #[derive(Default)]
    struct Room {
        sandbox: bool,
        off: bool,
        reminded: bool,
        headless: bool,
        speech: Option<SpeakOutcome>,
        looked: Vec<&'static str>,
    }

    impl Look for Room {
        fn sandbox(&mut self) -> Option<String> {
            self.looked.push("sandbox");
            self.sandbox.then(|| "settings.json".to_owned())
        }

        fn switched_off(&mut self) -> Option<String> {
            self.looked.push("switches");
            self.off.then(|| "config.toml".to_owned())
        }

        fn is_reminded(&mut self) -> bool {
            self.looked.push("reminded");
            self.reminded
        }

        fn wants_headless(&mut self) -> bool {
            self.looked.push("headless");
            self.headless
        }

        fn speech(&mut self) -> Option<SpeakOutcome> {
            self.looked.push("speech");
            self.speech
        }
    }

    #[track_caller]
    fn check(stop: Stop, mut room: Room, rule: Rule, looked: &[&str]) {
        assert_eq!(decide_stop(stop, &mut room).rule, rule);
        assert_eq!(room.looked, looked);
    }

    #[test]
    fn cvi_13_cvi_15_the_first_rule_that_applies_decides_and_nothing_more_is_looked_at() {
        let person = Stop::default();
        let everything = || Room { sandbox: true, off: true, ..Room::default() };
        check(person, everything(), Rule::Sandbox, &["sandbox"]);
        let off = Room { off: true, ..Room::default() };
        check(person, off, Rule::Off, &["sandbox", "switches"]);
        let continued = Stop { is_continued: true, ..person };
        check(continued, Room::default(), Rule::Reminded, &["sandbox", "switches"]);
        let before = ["sandbox", "switches", "reminded"];
        let reminded = Room { reminded: true, ..Room::default() };
        check(person, reminded, Rule::Reminded, &before);
        let reply = Stop { is_reply: true, ..person };
        let with_headless = || Room { headless: true, ..Room::default() };
        check(reply, with_headless(), Rule::Alone, &before);
        let everywhere = ["sandbox", "switches", "reminded", "speech"];
        check(person, Room::default(), Rule::NotSpoken, &everywhere);
        let script = Stop { is_headless: true, ..person };
        let asked = ["sandbox", "switches", "reminded", "headless", "speech"];
        check(script, Room::default(), Rule::Alone, &asked[..4]);
        check(script, with_headless(), Rule::NotSpoken, &asked);
    }

    #[test]
    fn cvi_17_every_attempt_to_speak_lets_the_turn_end() {
        for outcome in SpeakOutcome::ALL {
            let mut room = Room { speech: Some(outcome), ..Room::default() };
            let decision = decide_stop(Stop::default(), &mut room);
            assert_eq!(
                (decision.rule, decision.because.as_str()),
                (Rule::Spoken, outcome.as_str())
            );
        }
    }

    #[test]
    fn x42_cvi_20_the_note_that_claude_shows_is_the_fixed_text() {
        let shown: serde_json::Value = serde_json::from_str(&shown_sandbox_note()).unwrap();
        let expected = "ℹ️  CVI is disabled in sandbox mode";
        assert_eq!(shown, serde_json::json!({"systemMessage": expected}));
    }

    #[test]
    fn cvi_18_the_reminder_begins_with_the_fixed_line_and_goes_on_with_one_more() {
        for text in [reminder(true), reminder(false)] {
            let lines: Vec<_> = text.lines().collect();
            assert_eq!(lines.len(), 2, "{text}");
            assert_eq!(lines[0], "CVI check failed: /cvi:speak not called");
        }
        assert!(reminder(true).contains("mcp__plugin_turnbridge_voice__speak"));
    }
}
