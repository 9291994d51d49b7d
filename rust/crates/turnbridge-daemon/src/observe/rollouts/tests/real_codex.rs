//! Tests the follower with the real Codex, without hooks and without `notify`: the rollout is the
//! only source.

use std::process::Stdio;
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use testkit::{Codex, Hermetic, ModelReply, ResponsesApi, skipped};
use turnbridge_core::notices::notice::NoticeKind;

use super::super::{RolloutChange, RolloutWatch, watch};
use super::*;

const TIMEOUT: Duration = Duration::from_secs(60);

/// The follower with its watcher, as in the daemon's loop.
struct WatchedFollower {
    follower: Follower,
    sights: Receiver<RolloutChange>,
    _watch: RolloutWatch,
    told: Vec<Notice>,
}

impl WatchedFollower {
    fn new(world: &RolloutWorld) -> WatchedFollower {
        let (send, sights) = channel();
        let watch = watch(world.homes.clone(), move |sight| send.send(sight).is_ok()).unwrap();
        WatchedFollower { follower: world.open(), sights, _watch: watch, told: Vec::new() }
    }

    #[track_caller]
    fn run_until(&mut self, what: &str, is_so: impl Fn(&WatchedFollower) -> bool) {
        let deadline = Instant::now() + TIMEOUT;
        while !is_so(self) {
            assert!(Instant::now() < deadline, "{what}; told: {:#?}", self.told);
            let sight = self.sights.recv_timeout(Duration::from_millis(50));
            NOW.set(real_now());
            let happenings = match sight {
                Ok(RolloutChange::Changed(path)) => self.follower.changed(&path),
                Ok(RolloutChange::Rescan) => self.follower.rescan(),
                Ok(RolloutChange::Blind(reason)) => panic!("{reason}"),
                Err(_) => self.follower.check_liveness(),
            };
            self.told.extend(notices(happenings));
            self.follower.save().unwrap();
        }
    }

    #[track_caller]
    fn wait_for_notice(&mut self, number: usize) -> Notice {
        self.run_until("a notice", |daemon| daemon.told.len() == number);
        self.told[number - 1].clone()
    }
}

#[test]
fn turns_of_the_real_codex_are_told_by_its_rollout_alone() {
    let Some(codex) = Codex::find() else {
        return skipped("the pinned `codex` is not in `tests/codex`; `scripts/test` installs it");
    };
    let hermetic = Hermetic::new();
    let api = ResponsesApi::start(vec![
        // The delay is long enough to find its folder.
        ModelReply::text("It is done.").delayed(3 * SECOND),
        ModelReply::error(400, "invalid_request_error", "no such thing"),
        ModelReply::text("Never heard.").delayed(TIMEOUT),
    ]);
    let mut world = RolloutWorld::new();
    world.homes = vec![hermetic.codex_home()];
    let mut daemon = WatchedFollower::new(&world);

    let mut command = codex.exec(&hermetic, &api, "do it, \"please\"\n$(x)");
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let notice = daemon.wait_for_notice(1);
    assert_eq!(notice.kind, NoticeKind::Turn);
    assert_eq!(notice.prompt.as_deref(), Some("do it, \"please\"\n$(x)"));
    assert_eq!(notice.answers, ["It is done."]);
    assert_eq!(notice.cwd.as_deref(), hermetic.project().to_str());
    let turns = world.turns(notice.session.id_text());
    assert_eq!(turns.len(), 1, "{turns:#?}");
    assert_eq!(turns[0].answer.as_deref(), Some("It is done."));
    child.wait().unwrap();
    // Codex has exited and removed its lock.
    daemon.run_until("stopped", |_| world.state(notice.session.id_text()) == "stopped");

    codex.exec(&hermetic, &api, "fail").output().unwrap();
    let notice = daemon.wait_for_notice(2);
    assert_eq!((notice.kind, notice.prompt.as_deref()), (NoticeKind::Failed, Some("fail")));
    assert!(notice.subject.is_some(), "{notice:#?}");
    // No check happened while it held its lock.
    assert_eq!(world.state(notice.session.id_text()), "failed");

    let mut command = codex.exec(&hermetic, &api, "take long");
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let working = || {
        let sessions = session_store::read_all(&world.paths).unwrap();
        let mut working = sessions.iter().filter(|it| ThreadState::of(it).as_str() == "working");
        working.next().map(|session| session.key.id.to_string())
    };
    daemon.run_until("working", |_| working().is_some());
    daemon.follower.check_liveness();
    let thread = working().expect("it works on");
    child.kill().unwrap();
    child.wait().unwrap();
    // Only this thread is checked: the failed one may have been seen while its child held the lock.
    daemon.run_until("stopped after a kill", |_| world.state(&thread) == "stopped");
    assert_eq!(daemon.told.len(), 2, "{:#?}", daemon.told);
    assert_eq!(api.strays(), Vec::<String>::new());
}
