//! Tests which files are read, from which position, and how positions follow a moved file.

use std::collections::BTreeSet;

use turnbridge_store::state::codex_offsets;

use super::*;

#[test]
fn a_turn_is_told_with_its_prompt_and_answer() {
    let world = RolloutWorld::new();
    let mut follower = world.open();
    let path = world.rollout(THREAD);
    append(&path, meta(THREAD) + &started(1));
    assert_eq!(notices(follower.changed(&path)), []);
    assert_eq!(world.state(THREAD), "working");
    append(&path, ended(1));
    let told = notices(follower.changed(&path));
    assert_eq!(ids(&told), [notice_id(THREAD, 1)]);
    assert_eq!(told[0].prompt.as_deref(), Some("ask 1"));
    assert_eq!(told[0].answers, ["answer 1"]);
    assert_eq!(told[0].cwd.as_deref(), Some("/p"));
    assert_eq!(world.state(THREAD), "completed");
    let turns = world.turns(THREAD);
    assert_eq!((turns.len(), turns[0].prompt.as_deref()), (1, Some("ask 1")));
    assert_eq!(notices(follower.changed(&path)), []);
    assert_eq!(notices(follower.rescan()), []);
}

#[test]
fn slv_62_the_turn_in_which_codex_makes_a_title_is_not_told() {
    let world = RolloutWorld::new();
    let mut follower = world.open();
    let path = world.rollout(THREAD);
    let title = "Generate a concise, single-line task title of at most 36 characters";
    append(&path, meta(THREAD) + &started(1).replace("ask 1", title) + &ended(1));
    assert_eq!(notices(follower.changed(&path)), []);
    append(&path, started(2) + &ended(2));
    assert_eq!(ids(&notices(follower.changed(&path))), [notice_id(THREAD, 2)]);
}

#[test]
fn a_place_is_kept_across_a_restart_and_half_a_line_is_read_when_it_is_whole() {
    let world = RolloutWorld::new();
    let mut follower = world.open();
    let path = world.rollout(THREAD);
    let end = ended(2);
    let (first, second) = (meta(THREAD) + &turn(1), started(2));
    append(&path, first.clone() + &second + &end[..20]);
    assert_eq!(ids(&notices(follower.changed(&path))), [notice_id(THREAD, 1)]);
    follower.close().unwrap();
    let place = codex_offsets::read(&world.paths).unwrap().files.remove(0);
    assert_eq!(place.offset, (first.len() + second.len()) as u64, "half a line does not count");
    assert_eq!(place.turn_offset, first.len() as u64, "no more is read again than the last turn");
    let (mut follower, told) = world.open_telling();
    assert_eq!(told, []);
    append(&path, &end[20..end.len() - 1]);
    assert_eq!(notices(follower.changed(&path)), []);
    append(&path, "\n");
    let told = notices(follower.changed(&path));
    assert_eq!(ids(&told), [notice_id(THREAD, 2)]);
    assert_eq!(told[0].prompt.as_deref(), Some("ask 2"), "the thread was made from its last turn");
}

#[test]
fn after_a_crash_the_same_is_told_again_and_nothing_else_happens() {
    let world = RolloutWorld::new();
    let mut follower = world.open();
    let path = world.rollout(THREAD);
    let mut text = meta(THREAD) + &started(1);
    // All lines have the same time, and come in one write.
    text += &(call("shell", "a") + &answered("a") + &ended(1));
    append(&path, text);
    let told = notices(follower.changed(&path));
    let before = world.session(THREAD);
    drop(follower);
    let (_, again) = world.open_telling();
    assert_eq!(told, again);
    assert_eq!(world.session(THREAD), before);
    assert_eq!(world.turns(THREAD).len(), 1);
}

#[test]
fn what_happened_while_nobody_looked_is_told() {
    let world = RolloutWorld::new();
    world.open().close().unwrap();
    let path = world.rollout(THREAD);
    append(&path, meta(THREAD) + &turn(1));
    pass(SECOND);
    append(&path, turn(2));
    let (follower, told) = world.open_telling();
    assert_eq!(ids(&told), [notice_id(THREAD, 1), notice_id(THREAD, 2)]);
    assert_eq!(world.turns(THREAD).len(), 2);
    follower.close().unwrap();
    assert_eq!(world.open_telling().1, []);
}

#[test]
fn an_archived_file_is_followed_and_so_is_one_that_comes_back() {
    for by_rescan in [false, true] {
        let world = RolloutWorld::new();
        let mut follower = world.open();
        let path = world.rollout(THREAD);
        let archived = world.homes[0].join("archived_sessions").join(path.file_name().unwrap());
        append(&path, meta(THREAD) + &turn(1) + &started(2));
        follower.changed(&path);
        for (number, from, to) in [(2, &path, &archived), (3, &archived, &path)] {
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::rename(from, to).unwrap();
            let told = match by_rescan {
                true => follower.rescan(),
                false => follower.changed(from).into_iter().chain(follower.changed(to)).collect(),
            };
            assert_eq!(notices(told), [], "the same place");
            append(to, ended(number) + &started(number + 1));
            let told = notices(follower.changed(to));
            assert_eq!(ids(&told), [notice_id(THREAD, number)]);
        }
        assert_eq!(world.sessions(), 1);
        let session = world.session(THREAD).unwrap();
        assert_eq!(session.transcript_path.as_deref(), path.to_str());
    }
}

#[test]
fn a_file_that_shrank_or_was_replaced_is_read_anew_and_old_turns_are_not_told_again() {
    let world = RolloutWorld::new();
    let mut follower = world.open();
    let path = world.rollout(THREAD);
    let old = meta(THREAD) + &turn(1) + &turn(2);
    append(&path, old.clone() + &turn(3));
    assert_eq!(notices(follower.changed(&path)).len(), 3);
    pass(SECOND);
    // The file became shorter.
    let longer = old.clone() + &turn(4);
    fs::write(&path, &longer[..old.len() + 300]).unwrap();
    assert_eq!(notices(follower.changed(&path)), []);
    fs::write(&path, &longer).unwrap();
    assert_eq!(ids(&notices(follower.changed(&path))), [notice_id(THREAD, 4)]);
    // Another, longer file replaced it.
    pass(SECOND);
    let beside = path.with_extension("new");
    fs::write(&beside, longer + &turn(5)).unwrap();
    fs::rename(&beside, &path).unwrap();
    assert_eq!(ids(&notices(follower.rescan())), [notice_id(THREAD, 5)]);
    assert_eq!(world.state(THREAD), "completed");
    assert_eq!(world.turns(THREAD).len(), 5);
}

#[test]
fn what_is_no_rollout_is_ignored() {
    let world = RolloutWorld::new();
    let mut follower = world.open();
    let folder = world.rollout(THREAD).parent().unwrap().to_owned();
    let text = meta(THREAD) + &turn(1);
    let name = format!("rollout-2026-11-15T18-22-08-{THREAD}");
    for name in
        [format!("{name}.jsonl.zst"), format!("{name}.jsonl.tmp"), format!("{THREAD}.jsonl")]
    {
        append(&folder.join(&name), &text);
        assert_eq!(notices(follower.changed(&folder.join(name))), []);
    }
    let path = folder.join(format!("{name}.jsonl"));
    fs::create_dir_all(path.join("x")).unwrap();
    append(&world.homes[0].join(format!("{name}.jsonl")), &text);
    append(&folder.join(format!("rollout-x-{OTHER}.jsonl")), b"\xff\0{]\n\n{\"a\n[1,2]\n\"x\"\n");
    for path in [path, folder, world.homes[0].join(format!("{name}.jsonl")), world.root.clone()] {
        assert_eq!(notices(follower.changed(&path)), []);
    }
    assert_eq!(notices(follower.rescan()), []);
    assert_eq!(world.sessions(), 0);
}

#[cfg(unix)]
#[test]
fn a_pipe_or_a_link_to_nowhere_holds_nobody_up() {
    let world = RolloutWorld::new();
    let path = world.rollout(THREAD);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink("/nowhere", &path).unwrap();
    let mut follower = world.open();
    assert_eq!(follower.changed(&path), []);
    assert_eq!(follower.rescan(), []);
}

#[test]
fn several_homes_are_followed_and_a_new_one_is_old() {
    let mut world = RolloutWorld::new();
    world.open().close().unwrap();
    let path = world.rollout(THREAD);
    append(&path, meta(THREAD) + &turn(1));
    let other = world.root.join("windows");
    let in_other = other.join(world.rollout(OTHER).strip_prefix(&world.homes[0]).unwrap());
    append(&in_other, meta(OTHER) + &turn(7));
    world.homes.push(other);
    let (mut follower, told) = world.open_telling();
    assert_eq!(ids(&told), [notice_id(THREAD, 1)], "the other home is new to us");
    assert_eq!(world.state(OTHER), "completed", "its state is not");
    append(&in_other, turn(8));
    assert_eq!(ids(&notices(follower.rescan())), [notice_id(OTHER, 8)]);
}

#[test]
fn a_folder_that_is_made_at_midnight_is_looked_into() {
    let world = RolloutWorld::new();
    let mut follower = world.open();
    let path = world.rollout_on("2026/12/01", THREAD);
    append(&path, meta(THREAD) + &turn(1));
    let month = path.parent().unwrap().parent().unwrap();
    assert_eq!(ids(&notices(follower.changed(month))), [notice_id(THREAD, 1)]);
}

#[test]
fn sub_agents_and_reviews_make_neither_sessions_nor_notices() {
    let world = RolloutWorld::new();
    let mut follower = world.open();
    let child = |source: &str| {
        meta(OTHER).replace("\"exec\"", source).replacen(
            &format!("\"session_id\":\"{OTHER}\""),
            &format!("\"session_id\":\"{THREAD}\""),
            1,
        )
    };
    let path = world.rollout(OTHER);
    for source in [r#"{"subagent":"review"}"#, r#"{"subagent":{"thread_spawn":{}}}"#] {
        let _ = fs::remove_file(&path);
        append(&path, child(source) + &turn(1));
        assert_eq!(notices(follower.changed(&path)), []);
        assert_eq!(world.sessions(), 0);
    }
    // They neither end nor revive the thread that they work for.
    let parent = world.rollout(THREAD);
    append(&parent, meta(THREAD) + &started(2));
    follower.changed(&parent);
    pass(SECOND);
    append(&path, turn(3));
    assert_eq!(notices(follower.changed(&path)), []);
    assert_eq!((world.sessions(), world.state(THREAD)), (1, "working"));
}

#[test]
fn a_line_of_fifty_megabytes_streams() {
    let world = RolloutWorld::new();
    let mut follower = world.open();
    let path = world.rollout(THREAD);
    append(&path, meta(THREAD) + &started(1));
    let output = r#"{"type":"function_call_output","call_id":"a","output":""#;
    let long = line("response_item", &format!("{output}{}\"}}", "x".repeat(50 << 20)));
    append(&path, long);
    append(&path, ended(1));
    assert_eq!(ids(&notices(follower.changed(&path))), [notice_id(THREAD, 1)]);
    // A follower without positions must find the turn behind it.
    drop(follower);
    fs::remove_file(world.paths.codex_offsets()).unwrap();
    let mut follower = world.open();
    append(&path, turn(2));
    assert_eq!(ids(&notices(follower.changed(&path))), [notice_id(THREAD, 2)]);
}

#[test]
fn an_old_thread_that_is_resumed_tells_only_what_is_new() {
    let world = RolloutWorld::new();
    let path = world.rollout(THREAD);
    let start = now();
    NOW.set(start.minus(Duration::from_secs(40 * 24 * 3_600)));
    append(&path, meta(THREAD) + &turn(1) + &turn(2));
    set_age(&path, Duration::from_secs(40 * 24 * 3_600));
    NOW.set(start);
    let mut follower = world.open();
    assert_eq!(world.sessions(), 0, "it is not read");
    append(&path, turn(3));
    assert_eq!(ids(&notices(follower.changed(&path))), [notice_id(THREAD, 3)]);
    assert_eq!(world.turns(THREAD).len(), 1);
    // The same holds if the thread was resumed while no follower ran.
    let other = world.rollout(OTHER);
    NOW.set(start.minus(Duration::from_secs(40 * 24 * 3_600)));
    append(&other, meta(OTHER) + &turn(4));
    set_age(&other, Duration::from_secs(40 * 24 * 3_600));
    NOW.set(start);
    follower.close().unwrap();
    append(&other, turn(5));
    assert_eq!(ids(&world.open_telling().1), [notice_id(OTHER, 5)]);
}

#[test]
fn a_thread_that_was_silent_for_a_day_is_forgotten_and_its_turns_are_not_told_again() {
    let world = RolloutWorld::new();
    let mut follower = world.open();
    let path = world.rollout(THREAD);
    append(&path, meta(THREAD) + &turn(1));
    follower.changed(&path);
    pass(Duration::from_secs(25 * 3_600));
    follower.rescan();
    follower.close().unwrap();
    let remembered = fs::read_to_string(world.paths.codex_offsets()).unwrap();
    assert!(!remembered.contains(THREAD), "{remembered}");
    let (mut follower, told) = world.open_telling();
    assert_eq!(told, []);
    append(&path, turn(2));
    assert_eq!(ids(&notices(follower.changed(&path))), [notice_id(THREAD, 2)]);
}

#[test]
fn the_first_follower_ever_notes_states_and_tells_nothing() {
    let world = RolloutWorld::new();
    append(&world.rollout(THREAD), meta(THREAD) + &turn(1) + &started(2) + &call("shell", "a"));
    append(&world.rollout(OTHER), meta(OTHER) + &turn(3));
    let (mut follower, told) = world.open_telling();
    assert_eq!(told, []);
    assert_eq!((world.state(THREAD), world.state(OTHER)), ("working", "completed"));
    append(&world.rollout(THREAD), ended(2));
    let told = notices(follower.rescan());
    assert_eq!(ids(&told), [notice_id(THREAD, 2)]);
    assert_eq!(told[0].prompt.as_deref(), Some("ask 2"));
    let states: BTreeSet<_> = [world.state(THREAD), world.state(OTHER)].into();
    assert_eq!(states, ["completed"].into());
}

pub fn set_age(path: &Path, age: Duration) {
    let file = OpenOptions::new().append(true).open(path).unwrap();
    file.set_modified(SystemTime::now() - age).unwrap();
}
