//! Tests that hooks and rollouts can report the same turns in any order, and that a turn whose
//! process has died becomes stopped.

use turnbridge_core::session::RunEnvironment;
use turnbridge_core::session::event::{Event, EventFacts, EventKind, ProcessKey, ToolCall};
use turnbridge_store::files::file_lock::FileLock;

use super::*;

/// Records an event as Codex's hook would.
fn hook(world: &RolloutWorld, name: &str, number: u32, kind: EventKind) {
    let event = Event {
        session: SessionKey::new(Agent::Codex, SessionId::parse(THREAD).unwrap()),
        at: now(),
        process: ProcessKey::UNKNOWN,
        name: name.to_owned(),
        agent_id: None,
        facts: EventFacts { prompt_id: Some(turn_id(number)), ..EventFacts::default() },
        host: Some(RunEnvironment::default()),
        kind,
    };
    session_store::update(Some(&world.paths), &event, None).unwrap();
}

fn prompted(number: u32) -> EventKind {
    EventKind::PromptSubmitted { prompt: format!("ask {number}") }
}

fn stopped(number: u32) -> EventKind {
    EventKind::TurnEnded {
        answer: Some(format!("answer {number}")),
        background_tasks: Vec::new(),
        stop_hook_active: false,
    }
}

fn tool_call() -> ToolCall {
    ToolCall { tool: "Bash".to_owned(), id: Some("a".to_owned()), input: 0 }
}

#[test]
fn hooks_and_rollout_together_make_one_turn_and_one_state() {
    // The hooks precede the lines, or follow them.
    for lag in [0, 3] {
        let world = RolloutWorld::new();
        let mut follower = world.open();
        let path = world.rollout(THREAD);
        let mut unread = Vec::new();
        let mut told = Vec::new();
        let mut write = |follower: &mut Follower, text: String| {
            unread.push(text);
            if unread.len() > lag {
                append(&path, unread.remove(0));
                told.extend(notices(follower.changed(&path)));
            }
        };
        write(&mut follower, meta(THREAD));
        for number in 1..4 {
            pass(SECOND);
            write(&mut follower, started(number));
            pass(SECOND / 100);
            hook(&world, "UserPromptSubmit", number, prompted(number));
            pass(SECOND);
            write(&mut follower, call("shell", "a"));
            pass(SECOND / 100);
            hook(
                &world,
                "PreToolUse",
                number,
                EventKind::ToolStarting { call: tool_call(), skill: None, server: None },
            );
            assert_eq!(world.state(THREAD), "working");
            pass(SECOND);
            hook(
                &world,
                "PostToolUse",
                number,
                EventKind::ToolEnded { call: tool_call(), speak: None },
            );
            write(&mut follower, answered("a"));
            pass(SECOND);
            hook(&world, "Stop", number, stopped(number));
            assert_eq!(world.state(THREAD), "completed");
            pass(SECOND / 2);
            write(&mut follower, ended(number));
            assert_eq!(world.state(THREAD), "completed", "lag {lag}");
        }
        for _ in 0..lag {
            write(&mut follower, String::new());
            assert_eq!(world.state(THREAD), "completed", "lag {lag}");
        }
        assert_eq!(ids(&told), [1, 2, 3].map(|number| notice_id(THREAD, number)));
        assert_eq!(world.turns(THREAD).len(), 3, "lag {lag}: {:#?}", world.turns(THREAD));
    }
}

#[test]
fn turns_that_hooks_told_while_no_daemon_lived_do_not_turn_the_state_back() {
    let world = RolloutWorld::new();
    world.open().close().unwrap();
    let path = world.rollout(THREAD);
    append(&path, meta(THREAD));
    for number in 1..4 {
        append(&path, started(number));
        hook(&world, "UserPromptSubmit", number, prompted(number));
        pass(600 * SECOND);
        append(&path, call("request_user_input", "q") + &answered("q"));
        pass(600 * SECOND);
        if number < 3 {
            hook(&world, "Stop", number, stopped(number));
            append(&path, ended(number));
        }
    }
    hook(
        &world,
        "PreToolUse",
        3,
        EventKind::ToolStarting { call: tool_call(), skill: None, server: None },
    );
    let before = world.session(THREAD);
    let (mut follower, told) = world.open_telling();
    assert_eq!(ids(&told), [1, 2].map(|number| notice_id(THREAD, number)), "the outbox knows them");
    assert_eq!(world.session(THREAD), before);
    // Codex has no hook for a failed turn.
    let failed = ended(3).replacen("\"last", "\"error\":{\"message\":\"m\"},\"last", 1);
    append(&path, failed);
    let told = notices(follower.changed(&path));
    assert_eq!(ids(&told), [notice_id(THREAD, 3)]);
    assert_eq!(told[0].subject.as_deref(), Some("other"));
    assert_eq!(world.state(THREAD), "failed");
    assert_eq!(world.turns(THREAD).len(), 3);
}

#[test]
fn the_end_of_the_turn_that_the_session_is_in_is_never_late() {
    let world = RolloutWorld::new();
    let mut follower = world.open();
    let path = world.rollout(THREAD);
    append(&path, meta(THREAD) + &started(1));
    follower.changed(&path);
    pass(SECOND);
    let failed = ended(1).replacen("\"last", "\"error\":{\"message\":\"m\"},\"last", 1);
    append(&path, failed);
    pass(SECOND);
    hook(&world, "PostToolUse", 1, EventKind::ToolEnded { call: tool_call(), speak: None });
    follower.changed(&path);
    assert_eq!(world.state(THREAD), "failed");
}

#[test]
fn a_turn_that_hooks_told_two_days_ago_is_not_told_again() {
    let world = RolloutWorld::new();
    world.open().close().unwrap();
    let path = world.rollout(THREAD);
    append(&path, meta(THREAD) + &started(1));
    hook(&world, "UserPromptSubmit", 1, prompted(1));
    hook(&world, "Stop", 1, stopped(1));
    // No hook has reported the second turn.
    append(&path, ended(1) + &turn(2));
    pass(Duration::from_secs(48 * 3_600));
    assert_eq!(ids(&world.open_telling().1), [notice_id(THREAD, 2)]);
}

#[test]
fn after_the_clock_was_set_back_lines_count_again() {
    let world = RolloutWorld::new();
    let mut follower = world.open();
    let path = world.rollout(THREAD);
    append(&path, meta(THREAD) + &turn(1));
    follower.changed(&path);
    NOW.set(now().minus(Duration::from_secs(3_600)));
    append(&path, started(2));
    follower.changed(&path);
    assert_eq!(world.state(THREAD), "working");
}

#[test]
fn kt_47_a_question_is_told_only_while_it_is_open_and_if_that_is_wanted() {
    for (is_wanted, is_answered_at_once) in [(true, false), (true, true), (false, false)] {
        let mut world = RolloutWorld::new();
        world.waiting = is_wanted;
        let mut follower = world.open();
        let path = world.rollout(THREAD);
        append(&path, meta(THREAD) + &started(1) + &call("request_user_input", "call_1"));
        assert_eq!(notices(follower.changed(&path)), []);
        assert_eq!(world.state(THREAD), "waiting_user");
        if is_answered_at_once {
            append(&path, answered("call_1"));
            assert_eq!(notices(follower.changed(&path)), []);
            assert_eq!(world.state(THREAD), "working");
        }
        // A held notice survives a restart.
        follower.close().unwrap();
        let mut follower = world.open();
        pass(3 * SECOND);
        let told = notices(follower.check_liveness());
        let expected = format!("{}-waiting-call_1", notice_id(THREAD, 1));
        match is_wanted && !is_answered_at_once {
            true => assert_eq!(ids(&told), [expected]),
            false => assert_eq!(told, []),
        }
        assert_eq!(notices(follower.check_liveness()), []);
        append(&path, ended(1));
        assert_eq!(ids(&notices(follower.changed(&path))), [notice_id(THREAD, 1)]);
    }
}

#[test]
fn an_aborted_turn_is_not_told() {
    let world = RolloutWorld::new();
    let mut follower = world.open();
    let path = world.rollout(THREAD);
    let aborted = line("event_msg", r#"{"type":"turn_aborted","reason":"interrupted"}"#);
    append(&path, meta(THREAD) + &started(1) + &aborted);
    assert_eq!(notices(follower.changed(&path)), []);
    assert_eq!(world.state(THREAD), "aborted");
}

/// Holds the lock as a Codex that opened the thread at this time.
fn hold(world: &RolloutWorld, opened_at: Timestamp) -> FileLock {
    let path = lock_path(&world.homes[0], THREAD);
    let lock = FileLock::acquire(&path, SECOND).unwrap();
    let micros = u64::try_from(opened_at.as_micros()).unwrap();
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    file.set_modified(UNIX_EPOCH + Duration::from_micros(micros)).unwrap();
    lock
}

/// The writer was killed, and a terminal opened the thread, between two checks.
#[cfg(not(windows))]
#[test]
fn x31_a_turn_that_is_older_than_what_holds_its_thread_has_stopped() {
    let world = RolloutWorld::new();
    let mut follower = world.open();
    let path = world.rollout(THREAD);
    let killed = hold(&world, now());
    append(&path, meta(THREAD) + &started(1));
    follower.changed(&path);
    follower.check_liveness();
    assert_eq!(world.state(THREAD), "working");
    drop(killed);
    pass(2 * SECOND);
    let _terminal = hold(&world, now());
    follower.check_liveness();
    assert_eq!(world.state(THREAD), "stopped");
    pass(SECOND);
    append(&path, started(2));
    follower.changed(&path);
    follower.check_liveness();
    assert_eq!(world.state(THREAD), "working");
    append(&path, ended(2));
    assert_eq!(ids(&notices(follower.changed(&path))), [notice_id(THREAD, 2)]);
    follower.check_liveness();
    assert_eq!(world.state(THREAD), "completed");
}

#[test]
fn x31_a_turn_whose_writer_is_gone_has_stopped_and_silence_means_nothing() {
    let world = RolloutWorld::new();
    let mut follower = world.open();
    let path = world.rollout(THREAD);
    let opened_at = now();
    append(&path, meta(THREAD) + &started(1));
    follower.changed(&path);
    // Without a lock the end is unknown, and no end is recorded (KT-51, KT-52).
    pass(Duration::from_secs(20 * 3_600));
    follower.check_liveness();
    assert_eq!(world.state(THREAD), "working");
    let lock = hold(&world, opened_at);
    follower.check_liveness();
    assert_eq!(world.state(THREAD), "working");
    // The last lines are read before the writer counts as dead.
    append(&path, ended(1) + &started(2));
    drop(lock);
    let told = notices(follower.check_liveness());
    assert_eq!(ids(&told), [notice_id(THREAD, 1)]);
    assert_eq!(world.state(THREAD), "stopped");
    assert_eq!(notices(follower.check_liveness()), []);
    // The next writer continues.
    pass(SECOND);
    let lock = hold(&world, now());
    append(&path, started(3));
    follower.changed(&path);
    follower.check_liveness();
    assert_eq!(world.state(THREAD), "working");
    // A writer that ended while no daemon ran; it removes its lock.
    follower.close().unwrap();
    fs::remove_file(lock_path(&world.homes[0], THREAD)).unwrap();
    drop(lock);
    let mut follower = world.open();
    follower.check_liveness();
    assert_eq!(world.state(THREAD), "stopped");
}

#[test]
fn a_session_that_cannot_be_had_loses_no_line() {
    let world = RolloutWorld::new();
    let mut follower = world.open();
    let path = world.rollout(THREAD);
    append(&path, meta(THREAD) + &started(1));
    follower.changed(&path);
    let id = SessionId::parse(THREAD).unwrap();
    let lock = FileLock::acquire(
        &world.paths.session_lock(&SessionKey::new(Agent::Codex, id.clone())),
        SECOND,
    )
    .unwrap();
    append(&path, call("shell", "a") + &ended(1));
    let happenings = follower.changed(&path);
    assert!(matches!(&happenings[..], [RolloutEffect::Problem(_)]), "{happenings:?}");
    drop(lock);
    let told = notices(follower.rescan());
    assert_eq!(ids(&told), [notice_id(THREAD, 1)]);
    assert_eq!(world.state(THREAD), "completed");
}

#[test]
fn x31_a_thread_that_has_rested_for_days_is_followed_while_somebody_holds_it() {
    let world = RolloutWorld::new();
    let path = world.rollout(THREAD);
    let days = Duration::from_secs(3 * 24 * 3_600);
    let start = now();
    NOW.set(start.minus(days));
    append(&path, meta(THREAD) + &turn(1));
    super::places::set_age(&path, days);
    NOW.set(start);
    let lock = FileLock::acquire(&lock_path(&world.homes[0], THREAD), SECOND).unwrap();
    // Another thread, whose lock is free.
    let other = world.rollout(OTHER);
    append(&other, meta(OTHER) + &turn(2));
    super::places::set_age(&other, days);
    let mut follower = world.open();
    assert_eq!((world.state(THREAD), world.state(OTHER)), ("completed", "none"));
    follower.check_liveness();
    follower.close().unwrap();
    let mut follower = world.open();
    follower.check_liveness();
    assert_eq!(world.state(THREAD), "completed");
    fs::remove_file(lock_path(&world.homes[0], THREAD)).unwrap();
    drop(lock);
    follower.rescan();
    follower.check_liveness();
    assert_eq!(world.state(THREAD), "stopped");
    // Afterwards the thread counts as old.
    follower.rescan();
    follower.close().unwrap();
    let remembered = fs::read_to_string(world.paths.codex_offsets()).unwrap();
    assert!(!remembered.contains(THREAD), "{remembered}");
}
