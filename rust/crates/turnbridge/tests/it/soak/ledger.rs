//! Checks a finished soak: it compares the driver's actions, the agents' own logs, and the content
//! of Slack. Every turn has one notice; every reply ran once or its thread contains the reason; no
//! thread contains a false message; no file or process remains.

use std::collections::BTreeMap;

use testkit::slack::{SlackMessage, SlackThread};

use super::agents::{AgentLogEntry, AgentLogLine, name_in};
use super::driver::Soak;
use super::person::PersonMessage;
use super::replies;
use super::turns;

/// A violation of these rules.
pub struct Violation {
    /// The turn or reply concerned, whose story is printed.
    pub about: String,
    pub what: String,
}

/// The results of a soak, and the violations in them.
pub struct Ledger<'a> {
    pub soak: &'a Soak,
    pub threads: Vec<SlackThread>,
    /// The agents' entries, by machine and in order.
    pub noted: Vec<Vec<AgentLogLine>>,
    pub violations: Vec<Violation>,
    /// The counts of outcomes, for the table.
    pub outcomes: BTreeMap<String, usize>,
}

impl<'a> Ledger<'a> {
    /// Checks everything. The caller must wait until all is at rest.
    pub fn of(soak: &'a Soak) -> Ledger<'a> {
        let noted = soak.machines.iter().map(|machine| machine.noted()).collect();
        let threads = soak.slack.threads();
        let (violations, outcomes) = (Vec::new(), BTreeMap::new());
        let mut ledger = Ledger { soak, threads, noted, violations, outcomes };
        turns::check(&mut ledger);
        replies::check(&mut ledger);
        ledger.check_messages();
        ledger.check_intruders();
        ledger.check_leftovers();
        for left in &soak.left {
            ledger.violate("a process", format!("left running: {left:?}"));
        }
        for broken in soak.slack.violations() {
            ledger.violate("the socket", broken);
        }
        ledger
    }

    /// Records a violation.
    pub fn violate(&mut self, about: &str, what: impl Into<String>) {
        self.violations.push(Violation { about: about.to_owned(), what: what.into() });
    }

    /// Counts an outcome for the table.
    pub fn count(&mut self, outcome: &str) {
        *self.outcomes.entry(outcome.to_owned()).or_default() += 1;
    }

    /// Returns the entries of all machines' agents about this turn or reply, with the machine.
    pub fn noted_of(&self, name: &str) -> Vec<(usize, AgentLogLine)> {
        let machines = self.noted.iter().enumerate();
        let of_machine = |(machine, noted): (usize, &Vec<AgentLogLine>)| {
            let own: Vec<_> = noted.iter().filter(|noted| noted.name == name).cloned().collect();
            own.into_iter().map(move |noted| (machine, noted))
        };
        machines.flat_map(of_machine).collect()
    }

    /// Checks that every message of the app is a part of a turn's notice, or a message about a
    /// reply of its thread; and that none is there twice.
    fn check_messages(&mut self) {
        let mut seen = BTreeMap::new();
        let mut wrong = Vec::new();
        for thread in &self.threads {
            let parent_id = thread.parent.payload_id().map(notice_of);
            for message in std::iter::once(&thread.parent).chain(&thread.replies) {
                if message.bot_id.as_deref() != Some("B0BOT") {
                    continue;
                }
                let Some(id) = message.payload_id() else {
                    wrong.push((message.text.clone(), "a message without an id".to_owned()));
                    continue;
                };
                if let Some(before) = seen.insert(id.to_owned(), message.ts.clone()) {
                    let about = self.subject(message);
                    wrong.push((
                        about,
                        format!("`{id}` was posted twice: {before}, {}", message.ts),
                    ));
                }
                let is_word = ThreadAnswer::read(message).is_some_and(|word| {
                    let said =
                        self.soak.said.iter().find(|it| it.id(&self.soak.channel) == word.reply);
                    said.is_some_and(|said| said.thread_ts == thread.parent.ts)
                });
                let is_part = !id.starts_with("word-") && Some(notice_of(id)) == parent_id;
                if !is_word && !is_part {
                    wrong.push((self.subject(message), format!("an unexpected word: {message:?}")));
                }
            }
        }
        for (about, what) in wrong {
            self.violate(&about, what);
        }
    }

    /// Returns the turn or reply of a message, as far as it can be determined.
    fn subject(&self, message: &SlackMessage) -> String {
        let word = ThreadAnswer::read(message);
        let of_word = word.and_then(|word| {
            self.soak.said.iter().find(|it| it.id(&self.soak.channel) == word.reply)
        });
        let name = of_word.map(|said| said.name.as_str()).or_else(|| name_in(&message.text));
        name.unwrap_or("nobody").to_owned()
    }

    fn check_intruders(&mut self) {
        let ran = self.noted.iter().flatten().find(|noted| noted.name.starts_with("intruder"));
        if let Some(name) = ran.map(|noted| noted.name.clone()) {
            self.violate(&name, "a stranger's text ran");
        }
    }

    fn check_leftovers(&mut self) {
        for (number, machine) in self.soak.machines.iter().enumerate() {
            for folder in ["inbox", "outbox"] {
                for name in machine.files(folder) {
                    let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
                    if ends(&[".json", ".progress"]) {
                        self.violate(&name, format!("left in the {folder} of machine {number}"));
                    } else if ends(&[".tmp", ".new"]) {
                        self.count("files of killed writers");
                    }
                }
            }
        }
    }

    /// Returns the messages about a reply in its thread, in order. A message of many parts counts
    /// once.
    pub fn words_of(&self, said: &PersonMessage) -> Vec<ThreadAnswer> {
        let id = said.id(&self.soak.channel);
        let mut words: Vec<ThreadAnswer> = Vec::new();
        let messages = self.threads.iter().flat_map(|thread| &thread.replies);
        for mut word in messages.filter_map(ThreadAnswer::read).filter(|word| word.reply == id) {
            word.at = self.soak.slack_clock.real(word.at);
            match words.iter_mut().find(|known| known.told == word.told) {
                Some(known) => known.text += &word.text,
                None => words.push(word),
            }
        }
        words
    }
}

/// Returns the id of the notice that a message belongs to.
fn notice_of(id: &str) -> &str {
    id.rsplit_once('/').map_or(id, |(notice, _)| notice)
}

/// A message in a thread about a reply.
#[derive(Clone, Debug)]
pub struct ThreadAnswer {
    pub reply: String,
    /// `receipt`, `failed`, …
    pub told: String,
    pub text: String,
    /// Microseconds since 1970: by Slack's clock after the read, by the real one in `words_of`.
    pub at: u64,
}

impl ThreadAnswer {
    fn read(message: &SlackMessage) -> Option<ThreadAnswer> {
        let id = notice_of(message.payload_id()?).strip_prefix("word-")?;
        let (reply, told) = id.rsplit_once('-')?;
        let (seconds, micros) = message.ts.split_once('.')?;
        let at = seconds.parse::<u64>().ok()? * 1_000_000 + micros.parse::<u64>().ok()?;
        let (reply, told) = (reply.to_owned(), told.to_owned());
        Some(ThreadAnswer { reply, told, text: message.text.clone(), at })
    }
}

/// The actions of an agent for one prompt.
pub struct PromptRun {
    pub machine: usize,
    pub began_at: u64,
    /// The time of its last known action.
    pub last_at: u64,
    noted: Vec<AgentLogLine>,
}

impl PromptRun {
    /// Returns the actions in these entries, or `None` if the agent never began.
    pub fn of(noted: &[(usize, AgentLogLine)]) -> Option<PromptRun> {
        let (machine, first) = noted.first()?;
        let last_at = noted.last()?.1.at;
        let noted = noted.iter().map(|(_, noted)| noted.clone()).collect();
        Some(PromptRun { machine: *machine, began_at: first.at, last_at, noted })
    }

    /// Returns whether the agent did this.
    pub fn did(&self, what: &AgentLogEntry) -> bool {
        self.noted.iter().any(|noted| noted.what == *what)
    }

    /// Returns the exit code of a hook, or `None` if it never returned.
    pub fn hook(&self, event: &str) -> Option<i32> {
        self.noted.iter().find_map(|noted| match &noted.what {
            AgentLogEntry::Hook(own, code) if own == event => Some(*code),
            _ => None,
        })
    }

    /// Returns the start and end of the hook at the turn's end.
    pub fn end_hook(&self) -> Option<(u64, u64)> {
        let is_end = |noted: &&AgentLogLine| {
            matches!(noted.what, AgentLogEntry::Ended | AgentLogEntry::Failed)
        };
        let from = self.noted.iter().find(is_end)?.at;
        let is_hook = |noted: &&AgentLogLine| matches!(&noted.what, AgentLogEntry::Hook(event, _) if event.starts_with("Stop"));
        let to = self.noted.iter().find(is_hook).map_or(from + 1_000_000, |noted| noted.at);
        Some((from, to))
    }

    /// Returns the agent's exit code, or `None` if it did not exit by itself.
    pub fn exit(&self) -> Option<i32> {
        self.noted.iter().find_map(|noted| match noted.what {
            AgentLogEntry::Exit(code) => Some(code),
            _ => None,
        })
    }
}
