//! Acts as the users of a soak: the owner starts agents at the keyboard, replies in their threads,
//! sends `stop`, and writes in other threads; a stranger and another app write too.

use serde_json::json;
use testkit::slack::SlackThread;

use super::agents::{name_in, prompt};
use super::driver::{SESSIONS, Soak};
use super::machine::now_micros;
use super::random::SoakRng;

/// A message of a user in Slack.
#[derive(Clone, Debug)]
pub struct PersonMessage {
    pub name: String,
    pub text: String,
    pub kind: PersonMessageKind,
    pub machine: usize,
    pub session: String,
    pub thread_ts: String,
    pub ts: String,
    /// Microseconds since 1970.
    pub at: u64,
}

impl PersonMessage {
    /// Returns the id of the reply in the inbox.
    pub fn id(&self, channel: &str) -> String {
        format!("slack-{channel}-{}", self.ts)
    }
}

/// The kind of a message, which decides how the daemon must handle it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PersonMessageKind {
    Prompt,
    Stop,
    /// A command that cannot be run remotely.
    Refused,
    /// In a thread without a route.
    Elsewhere,
}

/// A turn that the owner began at the keyboard.
#[derive(Clone, Debug)]
pub struct TypedTurn {
    pub name: String,
    pub machine: usize,
    pub session: String,
}

impl Soak {
    /// Begins a turn at the keyboard of a machine.
    pub fn begin_any_turn(&mut self) {
        let machine = self.random.below(self.machines.len());
        let (session, words) = (self.random.below(SESSIONS), words(&mut self.random));
        self.begin_turn(machine, session, &words);
    }

    /// Begins a turn in this session; `words` select the agent's behaviour.
    pub fn begin_turn(&mut self, machine: usize, session: usize, words: &str) {
        let name = format!("turn {}", self.turns.len());
        let session = self.machines[machine].sessions[session].clone();
        let prompt = prompt(&name, words);
        self.note(format!("machine {machine}: {prompt}"));
        self.at_keyboard.push(self.machines[machine].begin_turn(&session, &prompt));
        self.turns.push(TypedTurn { name, machine, session });
    }

    /// Returns the number of unfinished replies, by their files.
    pub fn open_replies(&self) -> usize {
        let is_open = |said: &&PersonMessage| {
            let done = format!("inbox/{}.done", said.id(&self.channel));
            let is_ours = said.kind != PersonMessageKind::Elsewhere;
            is_ours && !self.machines[said.machine].state(&done).exists()
        };
        self.said.iter().filter(is_open).count()
    }

    /// Replies as the owner in a thread of the app.
    pub fn reply(&mut self) {
        let threads = self.slack.threads();
        let owned = |thread: SlackThread| Some((self.owner_of(&thread)?, thread.parent.ts));
        let known: Vec<_> = threads.into_iter().filter_map(owned).collect();
        if known.is_empty() {
            return;
        }
        let random = &mut self.random;
        // Mostly the newest, like real users.
        let recent = if random.percent(80) { 10.min(known.len()) } else { known.len() };
        let ((machine, session), thread_ts) = known[known.len() - 1 - random.below(recent)].clone();
        let kind = match random.below(100) {
            0..6 => PersonMessageKind::Stop,
            6..8 => PersonMessageKind::Refused,
            _ => PersonMessageKind::Prompt,
        };
        let words = if kind == PersonMessageKind::Prompt { words(random) } else { String::new() };
        // Some reach no machine: Slack has stopped its retries.
        let is_heard = !random.percent(5);
        self.write((machine, session, thread_ts), kind, &words, is_heard);
    }

    /// Writes as the owner in a thread of this machine and session. Without `is_heard` no socket
    /// gets the message.
    pub fn write(
        &mut self,
        (machine, session, thread_ts): (usize, String, String),
        kind: PersonMessageKind,
        words: &str,
        is_heard: bool,
    ) {
        let name = format!("reply {}", self.said.len());
        let text = match kind {
            PersonMessageKind::Stop => "stop".to_owned(),
            PersonMessageKind::Refused => "/clear".to_owned(),
            PersonMessageKind::Prompt | PersonMessageKind::Elsewhere => prompt(&name, words),
        };
        let at = now_micros();
        let ts = match is_heard {
            true => self.slack.say(Some(&thread_ts), &text),
            false => self.slack.post_as_user(Some(&thread_ts), &text),
        };
        self.note(format!("machine {machine}: {name} ({ts} in {thread_ts}): {text}"));
        self.said.push(PersonMessage { name, text, kind, machine, session, thread_ts, ts, at });
    }

    /// Returns the machine and session of a thread of the app.
    pub fn owner_of(&self, thread: &SlackThread) -> Option<(usize, String)> {
        thread.parent.bot_id.as_ref()?;
        let texts = std::iter::once(&thread.parent).chain(&thread.replies);
        let name = texts.filter(|it| it.bot_id.is_some()).find_map(|it| name_in(&it.text))?;
        let turn = self.turns.iter().find(|turn| turn.name == name);
        let reply = self.said.iter().find(|said| said.name == name);
        turn.map(|turn| (turn.machine, turn.session.clone()))
            .or_else(|| reply.map(|said| (said.machine, said.session.clone())))
    }

    /// Writes as a stranger or another app in the newest thread.
    pub fn intrude(&mut self) {
        if let Some(thread) = self.slack.threads().pop() {
            self.intrude_in(&thread.parent.ts);
        }
    }

    /// Writes as a stranger or another app in a thread of the app: by a forged event, or by a real
    /// one. Returns its time.
    pub fn intrude_in(&mut self, thread_ts: &str) -> String {
        self.intruders += 1;
        let text = format!("intruder {}, work=1", self.intruders);
        let ts = if self.random.percent(50) {
            let ts = format!("{}.{:06}", self.slack_clock.now() / 1_000_000, self.intruders);
            self.slack.raise(json!({
                "type": "message", "channel_type": "im", "channel": self.channel,
                "user": "U0STRANGER", "text": text, "ts": ts, "thread_ts": thread_ts,
            }));
            ts
        } else {
            self.slack.say_as_bot("B0OTHER", Some(thread_ts), &text)
        };
        self.note(text);
        ts
    }

    /// Replies as the owner in a thread without a route.
    pub fn speak_elsewhere(&mut self) {
        let thread_ts = self.slack.say(None, "a note to myself");
        let name = format!("reply {}", self.said.len());
        let text = prompt(&name, "work=1");
        let at = now_micros();
        let ts = self.slack.say(Some(&thread_ts), &text);
        self.note(format!("{name} elsewhere ({ts} in {thread_ts})"));
        let (machine, kind, session) = (usize::MAX, PersonMessageKind::Elsewhere, String::new());
        self.said.push(PersonMessage { name, text, kind, machine, session, thread_ts, ts, at });
    }
}

/// Returns the behaviour of an agent.
fn words(random: &mut SoakRng) -> String {
    let mut words = format!("work={}", random.between(0, 700));
    match random.below(100) {
        0..8 => words += " exit=3",
        8..14 => words += " api-error",
        14..20 => words += " no-hooks",
        20..32 => words += " long",
        _ => {}
    }
    if random.percent(45) {
        let events = ["SessionStart", "UserPromptSubmit", "UserPromptSubmit", "PostToolUse"];
        let event = if random.percent(60) { "Stop" } else { *random.pick(&events) };
        let micros = random.between(500, 8_000);
        words += &format!(" kill-hook={event}/0.{micros:06}");
    }
    if random.percent(4) {
        let event = random.pick(&["UserPromptSubmit", "PreToolUse", "Stop"]);
        words += &format!(" freeze-hook={event}/0.{:06}", random.between(500, 8_000));
    }
    words
}
