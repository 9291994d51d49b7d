//! Decides whether a turn may end, by the ordered rules of the Stop gate, and builds the gate's
//! messages.
//!
//! Only the last rule holds a turn: if no speech was attempted in it. Every earlier rule lets the
//! turn end, so that missing facts never lock the user out. The facts for a rule are looked up only
//! when no earlier rule has decided: with the sandbox on, no other file is read (CVI-13, CVI-15).

pub mod gate_hooks;
pub mod gate_switches;
pub mod speak;
pub mod turn_speech;

use crate::gate::speak::SpeakOutcome;

/// The first line of the reminder for the model (CVI-18). Never translated (X37).
pub const NOT_SPOKEN: &str = "CVI check failed: /cvi:speak not called";
/// The note for the user when the sandbox is on (CVI-20). It contains no character that JSON
/// escapes.
pub const SANDBOX_NOTE: &str = "ℹ️  CVI is disabled in sandbox mode";
/// The log line when the sandbox is on (CVI-19).
pub const SANDBOX_LOG: &str = "Sandbox enabled, skipping CVI check";

/// A rule of the gate. All but `NotSpoken` let the turn end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    Sandbox,
    Off,
    /// One reminder per turn, so that no loop arises.
    Reminded,
    /// No user is present.
    NobodyPresent,
    Spoken,
    NotSpoken,
}

impl Rule {
    pub const fn as_str(self) -> &'static str {
        match self {
            Rule::Sandbox => "sandbox",
            Rule::Off => "off",
            Rule::Reminded => "reminded",
            Rule::NobodyPresent => "alone",
            Rule::Spoken => "spoken",
            Rule::NotSpoken => "not_spoken",
        }
    }

    pub const fn allows(self) -> bool {
        !matches!(self, Rule::NotSpoken)
    }
}

/// The rule that decided, and the file or fact that made it apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    pub rule: Rule,
    pub because: String,
}

/// The facts about a Stop that need no lookup.
#[derive(Debug, Clone, Copy, Default)]
pub struct StopFacts {
    /// `stop_hook_active`: a Stop hook has already held this turn.
    pub is_continued: bool,
    /// The run was started for a reply from another channel (`TURNBRIDGE_REPLY_ID`).
    pub is_reply: bool,
    /// A program runs the agent, not a person.
    pub is_headless: bool,
}

/// The facts that need a lookup. `decide_stop` asks for each at most once, and only if no earlier
/// rule applies.
pub trait GateInputs {
    /// Returns the file that turns Claude's sandbox on, if it is on.
    fn sandbox(&mut self) -> Option<String>;
    /// Returns the switch that turns the gate off, if one does.
    fn switched_off(&mut self) -> Option<String>;
    /// Returns whether the gate has already held this turn, in case Claude does not report it.
    fn is_reminded(&mut self) -> bool;
    /// Returns `[gate] headless`: whether `claude -p` must speak too.
    fn wants_headless(&mut self) -> bool;
    /// Returns the outcome of speech in this turn, or `None` if there was no attempt.
    fn speech(&mut self) -> Option<SpeakOutcome>;
}

/// Returns the first rule that applies to a Stop.
pub fn decide_stop(stop: StopFacts, look: &mut impl GateInputs) -> Decision {
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
        return decide(Rule::NobodyPresent, "TURNBRIDGE_REPLY_ID");
    }
    if stop.is_headless && !look.wants_headless() {
        return decide(Rule::NobodyPresent, "CLAUDE_CODE_ENTRYPOINT");
    }
    match look.speech() {
        // An attempt counts: the gate does not ask for speech that the machine or user did not
        // allow.
        Some(outcome) => decide(Rule::Spoken, outcome.as_str()),
        None => decide(Rule::NotSpoken, "no speech in this turn"),
    }
}

/// Returns `SANDBOX_NOTE` in the form that Claude Code shows to the user (X42): of a Stop hook that
/// exits 0 it shows no stderr, but this, as `Stop says: …` (seen with 2.1.197 and 2.1.326).
pub fn shown_sandbox_note() -> String {
    format!("{{\"systemMessage\":\"{SANDBOX_NOTE}\"}}\n")
}

/// Returns the text for the model when its turn may not end yet.
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
        use Rule::{NobodyPresent, NotSpoken, Off, Reminded, Sandbox, Spoken};
        let rules = [Sandbox, Off, Reminded, NobodyPresent, Spoken, NotSpoken];
        assert_eq!(rules.map(Rule::allows), [true, true, true, true, true, false]);
        let words = ["sandbox", "off", "reminded", "alone", "spoken", "not_spoken"];
        assert_eq!(rules.map(Rule::as_str), words);
    }

    /// The facts of a test, and the order in which they were looked up.
    #[derive(Default)]
    struct FakeInputs {
        sandbox: bool,
        off: bool,
        reminded: bool,
        headless: bool,
        speech: Option<SpeakOutcome>,
        looked: Vec<&'static str>,
    }

    impl GateInputs for FakeInputs {
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
    fn check(stop: StopFacts, mut room: FakeInputs, rule: Rule, looked: &[&str]) {
        assert_eq!(decide_stop(stop, &mut room).rule, rule);
        assert_eq!(room.looked, looked);
    }

    #[test]
    fn cvi_13_cvi_15_the_first_rule_that_applies_decides_and_nothing_more_is_looked_at() {
        let person = StopFacts::default();
        let everything = || FakeInputs { sandbox: true, off: true, ..FakeInputs::default() };
        check(person, everything(), Rule::Sandbox, &["sandbox"]);
        let off = FakeInputs { off: true, ..FakeInputs::default() };
        check(person, off, Rule::Off, &["sandbox", "switches"]);
        let continued = StopFacts { is_continued: true, ..person };
        check(continued, FakeInputs::default(), Rule::Reminded, &["sandbox", "switches"]);
        let before = ["sandbox", "switches", "reminded"];
        let reminded = FakeInputs { reminded: true, ..FakeInputs::default() };
        check(person, reminded, Rule::Reminded, &before);
        let reply = StopFacts { is_reply: true, ..person };
        let with_headless = || FakeInputs { headless: true, ..FakeInputs::default() };
        check(reply, with_headless(), Rule::NobodyPresent, &before);
        let everywhere = ["sandbox", "switches", "reminded", "speech"];
        check(person, FakeInputs::default(), Rule::NotSpoken, &everywhere);
        let script = StopFacts { is_headless: true, ..person };
        let asked = ["sandbox", "switches", "reminded", "headless", "speech"];
        check(script, FakeInputs::default(), Rule::NobodyPresent, &asked[..4]);
        check(script, with_headless(), Rule::NotSpoken, &asked);
    }

    #[test]
    fn cvi_17_every_attempt_to_speak_lets_the_turn_end() {
        for outcome in SpeakOutcome::ALL {
            let mut room = FakeInputs { speech: Some(outcome), ..FakeInputs::default() };
            let decision = decide_stop(StopFacts::default(), &mut room);
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
