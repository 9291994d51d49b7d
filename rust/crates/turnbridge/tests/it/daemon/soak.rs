//! Daemon and runners killed at any moment, sockets killed and refreshed, while people go on
//! replying: a reply runs at most once, and one that did not run is told of in its thread.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use testkit::slack::Cut;

use super::*;

const SLOW: &str = "TURNBRIDGE_TEST_SLOW";
const SESSIONS: [&str; 3] =
    [SESSION, "01a1e18e-2062-79f1-b187-979e8f997b9c", "01a1e18e-2062-79f1-b187-979e8f997b9d"];

/// Everything that has to be brought to its end, on a machine that others use too.
const LONG_PATIENCE: Duration = Duration::from_secs(240);

fn is_slow() -> bool {
    std::env::var(SLOW).is_ok_and(|value| value == "1")
}

/// The same numbers each time, unless `TURNBRIDGE_TEST_SEED` says otherwise; what happens at the same
/// moment is the machine's.
struct Random(u64);

impl Random {
    fn new() -> Random {
        let seed = std::env::var("TURNBRIDGE_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
        Random(0x9e37_79b9_7f4a_7c15 ^ seed.unwrap_or(0_u64))
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    fn pause(&mut self, milliseconds: u64) {
        thread::sleep(Duration::from_millis(self.below(milliseconds)));
    }
}

/// One reply, as a person sent it.
struct Said {
    session: usize,
    text: String,
    ts: String,
    at: Instant,
}

struct Soak {
    service: Service,
    threads: Vec<SlackThread>,
    said: Vec<Said>,
}

impl Soak {
    fn start(setup: SlackSetup) -> Soak {
        let mut service = Service::with_slack(setup, CONFIG);
        service.start_daemon();
        service.slack.wait_for_sockets(1, PATIENCE);
        let soak = Soak { service, threads: Vec::new(), said: Vec::new() };
        soak.be_agent();
        let turn =
            |(number, id): (usize, &&str)| soak.service.turn_of(id, &format!("turn {number}"));
        let threads = SESSIONS.iter().enumerate().map(turn).collect();
        Soak { threads, ..soak }
    }

    /// It writes its prompt down first. What else it does is for the words of the prompt to say.
    fn be_agent(&self) {
        let payload = json!({
            "session_id": "@", "cwd": self.service.world.hermetic.project(),
            "transcript_path": "/nowhere/transcript.jsonl",
            "hook_event_name": "UserPromptSubmit", "prompt": "x",
        });
        let hook = self.service.world.command("turnbridge-status");
        let script = format!(
            "printf '%s\\n' \"$prompt\" >> '{runs}'\n\
             case \"$prompt\" in *acknowledged*)\n  \
               printf '%s' '{payload}' | sed \"s/@/$2/\" | '{hook}' --origin plugin;;\nesac\n\
             case \"$prompt\" in *slow*) sleep 0.4;; esac\n\
             case \"$prompt\" in *fails*) exit 3;; esac\n",
            runs = self.runs_file().display(),
            hook = hook.get_program().to_string_lossy(),
        );
        self.service.be_agent("claude", &script);
    }

    fn runs_file(&self) -> PathBuf {
        self.service.world.hermetic.root().join("runs")
    }

    /// The prompts that agents were started with, in that order.
    fn runs(&self) -> Vec<String> {
        let text = fs::read_to_string(self.runs_file()).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn say(&mut self, random: &mut Random) {
        let session = random.below(SESSIONS.len() as u64) as usize;
        let manner = ["", " slow", " acknowledged", " slow acknowledged", " fails"];
        let manner = manner[random.below(manner.len() as u64) as usize];
        self.say_to(session, manner);
    }

    fn say_to(&mut self, session: usize, manner: &str) {
        let text = format!("reply {}{manner}", self.said.len());
        let ts = self.service.slack.say(Some(&self.threads[session].parent.ts), &text);
        self.said.push(Said { session, text, ts, at: Instant::now() });
    }

    fn id_of(&self, said: &Said) -> String {
        format!("slack-{}-{}", self.threads[said.session].parent.channel, said.ts)
    }

    /// Runners of our replies that live.
    fn runners(&self) -> Vec<String> {
        let shown = Command::new("ps").args(["-axo", "pid=,args="]).output().unwrap();
        let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
        let ids: BTreeSet<_> = self.said.iter().map(|said| self.id_of(said)).collect();
        let runner = |line: &str| {
            let (process, call) = line.trim().split_once(' ')?;
            let (_, id) = call.split_once(" run-reply -- ")?;
            ids.contains(id.trim()).then(|| process.to_owned())
        };
        shown.lines().filter_map(runner).collect()
    }

    /// Waits a while for one, and then for any moment of its life.
    fn kill_a_runner(&self, random: &mut Random) -> bool {
        for _ in 0..50 {
            let runners = self.runners();
            if runners.is_empty() {
                thread::sleep(Duration::from_millis(20));
                continue;
            }
            random.pause(100);
            let victim = &runners[random.below(runners.len() as u64) as usize];
            let killed = Command::new("kill").args(["-9", victim]).stderr(Stdio::null()).status();
            return killed.unwrap().success();
        }
        false
    }

    fn kill_the_daemon(&mut self) {
        let mut daemon = self.service.daemon.take().unwrap();
        daemon.kill().unwrap();
        daemon.wait().unwrap();
    }

    /// Waits until nothing is left to do for any reply.
    fn settle(&self) {
        let state = self.service.world.hermetic.state_dir();
        let is_open = |folder: &str| {
            let files = fs::read_dir(state.join(folder)).unwrap();
            let mut names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
            names.any(|name| name.ends_with(".json"))
        };
        let is_done = |said: &Said| state.join("inbox").join(self.id_of(said) + ".done").exists();
        wait_until(LONG_PATIENCE, "the end of every reply", || {
            let is_settled =
                self.said.iter().all(is_done) && !is_open("inbox") && !is_open("outbox");
            is_settled.then_some(())
        });
    }

    /// How often each of our messages is in Slack, by the id that it carries.
    fn posted(&self) -> BTreeMap<String, usize> {
        let channel = &self.threads[0].parent.channel;
        let messages = self.service.slack.messages(channel);
        let ids = messages.iter().filter_map(|message| {
            let metadata = message.metadata.as_ref()?;
            metadata["event_payload"]["id"].as_str().map(str::to_owned)
        });
        ids.fold(BTreeMap::new(), |mut counts, id| {
            *counts.entry(id).or_default() += 1;
            counts
        })
    }

    /// What must hold, whatever was killed.
    fn check(&self) {
        let runs = self.runs();
        let posted = self.posted();
        let twice: Vec<_> = posted.iter().filter(|(_, count)| **count > 1).collect();
        assert!(twice.is_empty(), "said twice: {twice:?}");
        for said in &self.said {
            let words = format!("word-{}-", self.id_of(said));
            let words: Vec<_> = posted.keys().filter_map(|id| id.strip_prefix(&words)).collect();
            let was_told = |word: &str| words.iter().any(|told| told.starts_with(word));
            let count = runs.iter().filter(|run| **run == said.text).count();
            assert!(count <= 1, "`{}` ran {count} times", said.text);
            let is_told = ["uncertain", "failed", "interrupted"].into_iter().any(was_told);
            assert!(count == 1 || is_told, "`{}` neither ran nor was told: {words:?}", said.text);
            assert!(was_told("receipt"), "`{}` has no receipt: {words:?}", said.text);
        }
        self.check_order(&runs, &posted);
        assert_eq!(self.service.slack.violations(), Vec::<String>::new());
    }

    /// A reply that Slack knew to be with us when the next one of its session was sent, ran before it.
    /// Slack itself keeps no order among what it has to send again. And of an agent whose runner was
    /// killed nobody may know for a moment.
    fn check_order(&self, runs: &[String], posted: &BTreeMap<String, usize>) {
        let deliveries = self.service.slack.deliveries();
        let acked_at = |said: &Said| {
            let own = deliveries.iter().filter(|it| it.ts.as_ref() == Some(&said.ts));
            own.filter_map(|delivery| delivery.acked_at).min()
        };
        let place = |said: &Said| runs.iter().position(|run| *run == said.text);
        let is_uncertain = |said: &Said| {
            let word = format!("word-{}-uncertain", self.id_of(said));
            posted.keys().any(|id| id.starts_with(&word))
        };
        let mut compared = 0;
        for (index, earlier) in self.said.iter().enumerate() {
            let (Some(acked_at), Some(first)) = (acked_at(earlier), place(earlier)) else {
                continue;
            };
            if is_uncertain(earlier) {
                continue;
            }
            for later in self.said[index + 1..].iter().filter(|it| it.session == earlier.session) {
                if let Some(second) = place(later).filter(|_| acked_at < later.at) {
                    compared += 1;
                    assert!(first < second, "`{}` ran after `{}`", earlier.text, later.text);
                }
            }
        }
        assert!(compared > 0, "no two replies could be compared");
    }
}

/// X12, DESIGN 10.7, with the whole daemon.
#[test]
fn daemon_and_runners_are_killed_at_any_moment_and_no_reply_runs_twice_or_is_forgotten() {
    let (replies, kills) = if is_slow() { (100, 30) } else { (30, 10) };
    let mut soak = Soak::start(SlackSetup::default());
    let mut random = Random::new();
    let (mut daemons, mut runners) = (0, 0);
    while soak.said.len() < replies || daemons + runners < kills {
        random.pause(120);
        if soak.said.len() < replies {
            soak.say(&mut random);
        }
        // Spread over the replies.
        let kills_left = kills - daemons - runners;
        let replies_left = replies - soak.said.len();
        if kills_left == 0 || random.below((replies_left / kills_left + 1) as u64) > 0 {
            continue;
        }
        if random.below(3) > 0 && soak.kill_a_runner(&mut random) {
            runners += 1;
            continue;
        }
        soak.kill_the_daemon();
        daemons += 1;
        if soak.said.len() < replies && random.below(2) == 0 {
            // Nobody listens.
            soak.say(&mut random);
            random.pause(200);
        }
        soak.service.spawn_daemon();
    }
    soak.settle();
    soak.check();
    assert!(daemons > 0 && runners > 0, "killed: {daemons} daemons, {runners} runners");
}

/// DESIGN 11: nothing late, nothing lost, nothing run twice.
#[test]
fn sockets_are_killed_and_refreshed_under_traffic_and_every_event_is_heard_in_time() {
    let cycles = if is_slow() { 50 } else { 5 };
    let interval = Duration::from_millis(50);
    // Slack's second retry comes after a minute: whatever needs it is late.
    let setup = SlackSetup {
        retry_after: [if is_slow() { 1 } else { 3 }, 60, 300].map(Duration::from_secs),
        disconnect_grace: Duration::from_secs(3),
        ..SlackSetup::default()
    };
    let mut soak = Soak::start(setup);
    let is_over = AtomicBool::new(false);
    let service = &soak.service;
    let parents: Vec<_> = soak.threads.iter().map(|thread| thread.parent.ts.clone()).collect();
    let said = thread::scope(|scope| {
        let talk = scope.spawn(|| {
            let mut said = Vec::new();
            for number in 0.. {
                if is_over.load(Ordering::SeqCst) {
                    break;
                }
                // One in five is a reply, and has to be run.
                let (session, text) = (number % parents.len(), format!("reply {number}"));
                let thread = (number % 5 == 0).then(|| parents[session].as_str());
                let ts = service.slack.say(thread, &text);
                if thread.is_some() {
                    said.push(Said { session, text, ts, at: Instant::now() });
                }
                thread::sleep(interval);
            }
            said
        });
        for number in 0..cycles {
            service.slack.wait_for_sockets(1, PATIENCE);
            thread::sleep(interval * 7);
            match number % 4 {
                0 => service.slack.kill(Cut::Reset),
                1 => service.slack.refresh(),
                2 => service.slack.kill(Cut::Fin),
                _ => service.slack.disconnect("warning"),
            };
            thread::sleep(interval * 7);
        }
        service.slack.wait_for_sockets(1, PATIENCE);
        is_over.store(true, Ordering::SeqCst);
        talk.join().unwrap()
    });
    let events = service.slack.wait_for_all_acked(PATIENCE);
    let late: Vec<_> = events.iter().filter(|event| event.acked_attempt > Some(1)).collect();
    assert!(late.is_empty(), "{late:?}");
    soak.said = said;
    soak.settle();
    soak.check();
    let runs = soak.runs();
    assert_eq!(runs.len(), soak.said.len(), "nobody was killed, so all have run: {runs:?}");
}
