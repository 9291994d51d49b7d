//! Tests that every reply is accepted exactly once, in any order of socket, polling and kills.

use super::*;

fn ts(text: &str) -> SlackTs {
    SlackTs::parse(text).unwrap()
}

fn at(seconds: u64) -> SlackTs {
    ts(&format!("{seconds}.000100"))
}

fn thread() -> ThreadKey {
    ThreadKey::new("D1", "1000.000000")
}

fn taken(seconds: u64) -> MarkChange {
    MarkChange::Taken { thread: thread(), ts: at(seconds) }
}

fn read_to(seconds: u64) -> MarkChange {
    MarkChange::ReadTo { thread: thread(), ts: at(seconds) }
}

fn since(seconds: u64) -> MarkChange {
    MarkChange::Since { ts: at(seconds) }
}

fn marks(changes: impl IntoIterator<Item = MarkChange>) -> ThreadMarks {
    let mut marks = ThreadMarks::default();
    changes.into_iter().for_each(|change| marks.apply(change));
    marks
}

#[test]
fn a_new_thread_begins_with_its_parent_or_where_listening_began() {
    assert_eq!(marks([]).asked_from(&thread()), ts("1000.000000"));
    assert_eq!(marks([since(500)]).asked_from(&thread()), ts("1000.000000"));
    assert_eq!(marks([since(5_000)]).asked_from(&thread()), at(5_000));
    assert!(marks([since(5_000)]).is_read(&thread(), at(4_000)));
    assert!(!marks([since(500)]).is_read(&thread(), at(4_000)));
}

#[test]
fn what_a_socket_brings_never_moves_a_mark() {
    let marks = marks([taken(2_000), taken(3_000_000)]);
    assert_eq!(marks.asked_from(&thread()), ts("1000.000000"));
    assert!(marks.is_known(&thread(), at(2_000)) && marks.is_known(&thread(), at(3_000_000)));
    assert!(!marks.is_known(&thread(), at(2_001)), "what was missed in between is asked for");
    assert!(!marks.is_read(&thread(), at(3_000_000)));
}

#[test]
fn a_mark_that_has_passed_keeps_what_may_be_read_again() {
    let marks = marks([taken(2_000), taken(2_990), read_to(3_000)]);
    assert!(marks.is_read(&thread(), at(3_000)) && !marks.is_read(&thread(), at(3_001)));
    assert_eq!(marks.asked_from(&thread()), at(2_940));
    assert!(marks.is_known(&thread(), at(2_000)), "by the mark");
    assert!(marks.is_known(&thread(), at(2_990)), "by name");
    assert!(!marks.is_known(&thread(), at(2_991)), "Slack had not shown it yet");
    let late = MarkChange::ReadTo { thread: thread(), ts: at(10) };
    let mut again = marks.clone();
    again.apply(late);
    assert_eq!(again, marks, "a mark never goes back");
}

#[test]
fn marks_come_back_from_what_was_written() {
    let begun = MarkChange::Begun { wanted: at(6), newest_thread: Some(at(5)) };
    let all = [begun, since(7), taken(2_000), read_to(3_000), taken(2_999), taken(9_000)];
    let written = marks(all);
    assert_eq!(marks(written.changes()), written);
}

#[test]
fn listening_begins_where_0_1_would_have_asked_or_when_it_was_wanted() {
    let cases = [
        ((Some(10_000), Some(20_000), 30_000), 9_400),
        ((None, Some(20_000), 30_000), 20_000),
        ((None, Some(20_000), 19_000), 19_000),
        // A clock that is years behind.
        ((None, Some(20_000), 5), 16_400),
    ];
    for ((heard, newest, wanted), begin) in cases {
        let found = begin_listening(heard.map(at), newest.map(at), at(wanted));
        assert_eq!(found, at(begin), "{heard:?} {newest:?} {wanted}");
    }
    assert_eq!(begin_listening(None, None, at(5)), SlackTs::from_micros(0));
}

#[test]
fn a_thread_that_came_after_the_wish_to_listen_counts_whole_whatever_the_clock_says() {
    let begun = |newest_thread: Option<u64>| MarkChange::Begun {
        wanted: at(90_000),
        newest_thread: newest_thread.map(at),
    };
    let parent = ts("1000.000000");
    for (newest_thread, from) in [(None, parent), (Some(900), parent), (Some(1_000), at(50_000))] {
        let marks = marks([begun(newest_thread), since(50_000)]);
        assert_eq!(marks.asked_from(&thread()), from, "{newest_thread:?}");
    }
}

/// A daemon with its disk, a user who replies, a Slack that delivers at any time; the daemon is
/// killed between any two writes. At the end every reply was accepted exactly once.
#[test]
fn every_reply_is_accepted_exactly_once_in_whatever_order_it_is_heard_asked_for_and_killed() {
    for seed in 1..150_u64 {
        let mut rng = ThreadMarksRng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let mut model = MarksModel::default();
        for step in 0..120 {
            match rng.roll(6) {
                0 | 1 => model.said.push(1_100 + step * 20 + rng.roll(7)),
                2 => model.hear(&mut rng),
                3 => model.ask(&mut rng),
                // The socket works and the polling fails for weeks: only `taken` grows.
                4 => (0..rng.roll(4)).for_each(|_| model.hear(&mut rng)),
                _ => model.is_killed = true,
            }
            model.come_back();
        }
        model.ask_to_the_end();
        let mut accepted = model.accepted.clone();
        accepted.sort_unstable();
        let mut said = model.said.clone();
        said.sort_unstable();
        said.dedup();
        assert_eq!(accepted, said, "seed {seed}");
    }
}

#[derive(Default)]
struct MarksModel {
    said: Vec<u64>,
    /// Every acceptance, in order.
    accepted: Vec<u64>,
    /// The lines on the disk.
    lines: Vec<MarkChange>,
    marks: ThreadMarks,
    is_killed: bool,
}

impl MarksModel {
    /// Writes the reply's file, then its line. After a kill in between, the start finds the file.
    fn accept(&mut self, seconds: u64, rng: &mut ThreadMarksRng) {
        self.accepted.push(seconds);
        if rng.roll(9) == 0 {
            self.is_killed = true;
            return;
        }
        self.write(taken(seconds));
    }

    fn write(&mut self, change: MarkChange) {
        self.lines.push(change.clone());
        self.marks.apply(change);
    }

    fn hear(&mut self, rng: &mut ThreadMarksRng) {
        if self.said.is_empty() || self.is_killed {
            return;
        }
        // Slack delivers the messages of the last minutes again.
        let recent = self.said.len().min(4) as u64;
        let seconds = self.said[self.said.len() - 1 - rng.roll(recent) as usize];
        let is_in_inbox = self.accepted.contains(&seconds);
        if !self.marks.is_taken(&thread(), at(seconds)) && !is_in_inbox {
            self.accept(seconds, rng);
        }
    }

    fn ask(&mut self, rng: &mut ThreadMarksRng) {
        let from = self.marks.asked_from(&thread());
        let mut found: Vec<u64> = self.said.iter().copied().filter(|it| at(*it) > from).collect();
        found.sort_unstable();
        let Some(newest) = found.last().copied() else { return };
        for seconds in found {
            if self.is_killed || rng.roll(30) == 0 {
                // Killed, or a reply could not be stored: the mark stays.
                return;
            }
            if !self.marks.is_known(&thread(), at(seconds)) {
                self.accept(seconds, rng);
            }
        }
        if !self.is_killed {
            self.write(read_to(newest));
        }
    }

    fn come_back(&mut self) {
        if std::mem::take(&mut self.is_killed) {
            self.marks = marks(self.lines.clone());
            for seconds in self.accepted.clone() {
                if !self.marks.is_known(&thread(), at(seconds)) {
                    self.write(taken(seconds));
                }
            }
        }
    }

    fn ask_to_the_end(&mut self) {
        let mut calm = ThreadMarksRng(u64::MAX);
        for _ in 0..20 {
            self.come_back();
            self.ask(&mut calm);
        }
    }
}

struct ThreadMarksRng(u64);

impl ThreadMarksRng {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides.max(1)
    }
}
