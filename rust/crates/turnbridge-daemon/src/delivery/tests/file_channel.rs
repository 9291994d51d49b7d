//! Tests deliveries to two channels that write their messages into files, which shows that a
//! channel needs nothing from Slack. Notices for both arrive once on each, whichever fails and
//! whichever process is killed.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;

use serde_json::{Value, json};
use turnbridge_store::paths::StatePaths;
use turnbridge_store::state::outbox::{self, NoticeOutcome};

use super::super::drain::drain;
use super::*;

/// A file with one line per message. Its response may be lost, like a service's.
struct FileChannel {
    name: ChannelName,
    path: PathBuf,
    is_down: bool,
    /// The number of failures in twelve calls.
    faults: u64,
    rng: DeliveryRng,
    /// The number of calls until the process is killed.
    life: u64,
}

impl FileChannel {
    fn lines(&self) -> Vec<Value> {
        let text = fs::read_to_string(&self.path).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn append(&self, post: &ChannelPost<'_>) {
        let line = json!({ "id": post.id, "parent": post.parent, "text": post.message.text });
        let file: std::io::Result<File> =
            OpenOptions::new().append(true).create(true).open(&self.path);
        writeln!(file.unwrap(), "{line}").unwrap();
    }

    /// Makes one call of the service.
    fn call(&mut self) -> Result<(), ChannelError> {
        if self.life == 0 {
            resume_unwind(Box::new(Killed));
        }
        self.life -= 1;
        let cause = || "the disk is away".to_owned();
        match self.rng.roll(12) {
            _ if self.is_down => Err(ChannelError::NotDone { cause: cause() }),
            face if face >= self.faults => Ok(()),
            0 => Err(ChannelError::NotDone { cause: cause() }),
            _ => Err(ChannelError::MayBeDone { cause: cause() }),
        }
    }
}

impl Channel for FileChannel {
    fn name(&self) -> ChannelName {
        self.name.clone()
    }

    fn render(&self, notice: &Notice, _: FoundTexts) -> Vec<NoticeMessage> {
        let text = notice.prompt.iter().chain(&notice.answers);
        text.map(|text| NoticeMessage { text: text.clone(), markdown: None }).collect()
    }

    fn begin(&mut self) -> Result<ThreadStart, ChannelError> {
        self.call()?;
        let newest = self.lines().len();
        let after = Some(newest).filter(|newest| *newest > 0);
        Ok(ThreadStart { place: "file".to_owned(), after: after.map(|line| line.to_string()) })
    }

    fn post(&mut self, post: &ChannelPost<'_>) -> Result<String, ChannelError> {
        let called = self.call();
        // An ambiguous call has posted in half of the cases.
        let is_unclear = matches!(called, Err(ChannelError::MayBeDone { .. }));
        if called.is_ok() || is_unclear && self.rng.roll(2) == 0 {
            self.append(post);
        }
        called?;
        // The process may be killed before it reads the response.
        let _ = self.call();
        Ok(self.lines().len().to_string())
    }

    fn update(&mut self, _: &str, _: &str, _: &NoticeMessage) -> Result<(), ChannelError> {
        unreachable!("a delivery changes nothing")
    }

    fn find(&mut self, wanted: &ChannelSearch<'_>) -> Result<Option<String>, ChannelError> {
        self.call()?;
        let oldest = wanted.oldest.map_or(1, |line| line.parse().unwrap());
        let at = self.lines().iter().position(|line| line["id"] == wanted.id);
        Ok(at.map(|at| at + 1).filter(|line| *line >= oldest).map(|line| line.to_string()))
    }
}

struct TwoChannels {
    _folder: tempfile::TempDir,
    paths: StatePaths,
    seed: u64,
}

const NAMES: [&str; 2] = ["mail", "slack"];

impl TwoChannels {
    fn new(seed: u64) -> TwoChannels {
        let folder = tempfile::tempdir().unwrap();
        let paths = StatePaths::below(&folder.path().join("state"));
        TwoChannels { _folder: folder, paths, seed }
    }

    fn channel(&self, name: &str, round: u64) -> FileChannel {
        let seed = (self.seed << 20 | round << 8 | name.len() as u64) + 1;
        let rng = DeliveryRng(Cell::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1));
        let is_calm = round > 30;
        FileChannel {
            name: ChannelName::parse(name).unwrap(),
            path: self.paths.state_dir().with_file_name(name),
            is_down: !is_calm && rng.roll(3) == 0,
            faults: if is_calm { 0 } else { rng.roll(9) },
            life: if is_calm { 1_000 } else { rng.roll(14) },
            rng,
        }
    }

    /// Runs one delivering process to its end. Returns whether it was killed.
    fn deliver(&self, round: u64) -> bool {
        let open = |name| Box::new(self.channel(name, round)) as OpenChannel;
        let mut channels = NAMES.map(open);
        for entry in NOTICES.iter().flat_map(|id| outbox::read(&self.paths, id)) {
            let mut progress = entry.progress;
            progress.retry_now();
            outbox::save_progress(&self.paths, &entry.notice.id, &entry.channel, &progress)
                .unwrap();
        }
        let run = AssertUnwindSafe(|| drain(&self.paths, &mut channels, &NoPause).unwrap());
        match catch_unwind(run) {
            Ok(_) => false,
            Err(cause) if cause.is::<Killed>() => true,
            Err(cause) => resume_unwind(cause),
        }
    }

    fn arrived(&self, name: &str) -> Vec<String> {
        let lines = self.channel(name, 99).lines();
        let shown = |line: &Value| format!("{} {}", line["id"].as_str().unwrap(), line["text"]);
        lines.iter().map(shown).collect()
    }
}

const NOTICES: [&str; 3] = ["claude-a", "claude-b", "claude-c"];

/// Returns the notices. The last is for only one of the two channels.
fn notices() -> Vec<Notice> {
    let both = || NAMES.iter().map(|name| ChannelName::parse(name).unwrap());
    let notice = |id: &&str| Notice {
        id: (*id).to_owned(),
        prompt: Some("go".to_owned()),
        answers: vec!["one".to_owned(), "two".to_owned()],
        ..notice()
    };
    let mut all: Vec<_> = NOTICES.iter().map(notice).collect();
    for (number, notice) in all.iter_mut().enumerate() {
        *notice = notice.sent_to(both().take(if number == 2 { 1 } else { 2 }).collect());
    }
    all
}

fn expected(ids: &[&str]) -> Vec<String> {
    let parts = |id: &&str| {
        let texts = ["go", "one", "two"].iter().enumerate();
        texts.map(|(number, text)| format!("{id}/{number} \"{text}\"")).collect::<Vec<_>>()
    };
    let mut expected: Vec<_> = ids.iter().flat_map(parts).collect();
    expected.sort();
    expected
}

#[test]
fn notices_for_two_channels_arrive_once_on_each_with_one_down_and_kills_between() {
    let mut kills = 0;
    for seed in 1..150 {
        let two = TwoChannels::new(seed);
        for notice in notices() {
            outbox::queue(&two.paths, &notice).unwrap();
        }
        let mut round = 0;
        while !outbox::ids(&two.paths).unwrap().is_empty() {
            assert!(round < 60, "seed {seed}: they never arrive");
            kills += usize::from(two.deliver(round));
            round += 1;
        }
        for (name, ids) in [("mail", &NOTICES[..]), ("slack", &NOTICES[..2])] {
            let mut arrived = two.arrived(name);
            arrived.sort();
            assert_eq!(arrived, expected(ids), "seed {seed}, {name}");
        }
        for id in NOTICES {
            assert_eq!(
                outbox::notice_outcome(&two.paths, id).unwrap(),
                NoticeOutcome::Arrived,
                "seed {seed}"
            );
        }
    }
    assert!(kills > 100, "only {kills} kills");
}

#[test]
fn what_has_arrived_on_one_channel_waits_for_the_other_alone() {
    let two = TwoChannels::new(7);
    let notice = notices().remove(0);
    outbox::queue(&two.paths, &notice).unwrap();
    let down = || Box::new(FileChannel { is_down: true, ..two.channel("slack", 99) });
    let mut channels: [OpenChannel; 2] = [Box::new(two.channel("mail", 99)), down()];
    let drained = drain(&two.paths, &mut channels, &NoPause).unwrap();
    assert_eq!((drained.arrived, drained.failed), (1, 1));
    let waiting = outbox::read(&two.paths, &notice.id);
    assert_eq!(waiting.iter().map(|entry| entry.channel.as_str()).collect::<Vec<_>>(), ["slack"]);
    assert_eq!(outbox::notice_outcome(&two.paths, &notice.id).unwrap(), NoticeOutcome::Waiting);
    assert_eq!(two.arrived("mail").len(), 3);
    assert_eq!(two.arrived("slack"), [""; 0]);
    // A channel without replies leads to no session.
    assert!(turnbridge_store::state::routes::read(&two.paths).unwrap().is_empty());
}

/// An unresponsive service costs a minute of timeouts.
#[test]
fn a_channel_whose_calls_fail_comes_after_the_others() {
    let two = TwoChannels::new(7);
    let [first, second, _] = <[Notice; 3]>::try_from(notices()).unwrap();
    outbox::queue(&two.paths, &first).unwrap();
    let dead = || FileChannel { is_down: true, ..two.channel("mail", 99) };
    let mut channels: [OpenChannel; 2] = [Box::new(dead()), Box::new(two.channel("slack", 99))];
    drain(&two.paths, &mut channels, &NoPause).unwrap();
    outbox::queue(&two.paths, &second).unwrap();
    channels[0] = Box::new(FileChannel { life: 0, ..dead() });
    let run = AssertUnwindSafe(|| drain(&two.paths, &mut channels, &NoPause));
    assert!(catch_unwind(run).is_err_and(|cause| cause.is::<Killed>()));
    assert_eq!(two.arrived("slack"), expected(&NOTICES[..2]));
}

/// A rollout may be deleted between two attempts.
#[test]
fn a_channel_that_finds_nothing_to_say_takes_nothing_from_another_one() {
    let two = TwoChannels::new(7);
    let notice =
        Notice { session: NamedSession::of("codex", "s"), prompt: None, ..notices().remove(0) };
    outbox::queue(&two.paths, &notice).unwrap();
    let slack = ChannelName::SLACK;
    let messages =
        ["go", "one"].map(|text| NoticeMessage { text: text.to_owned(), markdown: None });
    let begun = NoticeProgress { messages: messages.to_vec(), ..NoticeProgress::default() };
    outbox::save_progress(&two.paths, &notice.id, &slack, &begun).unwrap();
    let mut channels: [OpenChannel; 2] =
        [Box::new(two.channel("mail", 99)), Box::new(two.channel("slack", 99))];
    drain(&two.paths, &mut channels, &NoPause).unwrap();
    assert_eq!((two.arrived("mail").len(), two.arrived("slack").len()), (0, 2));
    assert_eq!(outbox::notice_outcome(&two.paths, &notice.id).unwrap(), NoticeOutcome::Arrived);
}

/// The text of a progress file was not on the disk when the power failed.
#[test]
fn what_has_arrived_of_a_notice_whose_progress_is_lost_does_not_arrive_again() {
    let two = TwoChannels::new(7);
    let [first, second, _] = <[Notice; 3]>::try_from(notices()).unwrap();
    let only_slack = |notice: &Notice| notice.sent_to(vec![ChannelName::SLACK]);
    outbox::queue(&two.paths, &only_slack(&first)).unwrap();
    // It is killed when two of three messages are there.
    let mut channels: [OpenChannel; 1] =
        [Box::new(FileChannel { life: 5, ..two.channel("slack", 99) })];
    let run = AssertUnwindSafe(|| drain(&two.paths, &mut channels, &NoPause));
    assert!(catch_unwind(run).is_err_and(|cause| cause.is::<Killed>()));
    assert_eq!(two.arrived("slack").len(), 2);
    fs::write(two.paths.outbox_dir().join("claude-a.slack.progress"), "").unwrap();
    // Something newer is there before it is looked for.
    fs::rename(two.paths.outbox_dir().join("claude-a.json"), two.paths.state_dir().join("away"))
        .unwrap();
    outbox::queue(&two.paths, &only_slack(&second)).unwrap();
    let mut channels: [OpenChannel; 1] = [Box::new(two.channel("slack", 99))];
    drain(&two.paths, &mut channels, &NoPause).unwrap();
    fs::rename(two.paths.state_dir().join("away"), two.paths.outbox_dir().join("claude-a.json"))
        .unwrap();
    drain(&two.paths, &mut channels, &NoPause).unwrap();
    let mut arrived = two.arrived("slack");
    arrived.sort();
    assert_eq!(arrived, expected(&NOTICES[..2]));
    assert_eq!(outbox::notice_outcome(&two.paths, &first.id).unwrap(), NoticeOutcome::Arrived);
}
