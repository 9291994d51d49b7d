//! Tests that panes are bound to threads by launches, shell prompts and rollouts, with examples and
//! with random sequences.

use std::collections::BTreeSet;

use super::*;
use crate::agents::codex::codex_launch::classify;
use crate::agents::codex::rollout_wire::{RolloutRecord, parse_line};

const OLD: &str = "0199a213-81c0-7800-8aa1-bbab2a035a53";

fn pane(name: &str) -> PaneId {
    PaneId::new(name)
}

fn thread(id: &str) -> SessionId {
    SessionId::parse(id).unwrap()
}

fn second(number: i64) -> Timestamp {
    Timestamp::from_micros(number * 1_000_000)
}

/// Spaces separate the words; `_` is a space inside one.
fn launched(pane: &str, line: &str, cwd: &str, at: i64) -> BindingInput {
    let words: Vec<String> = line.split(' ').map(|word| word.replace('_', " ")).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let launch = classify(&words).expect("a launch of Codex");
    BindingInput::Launched { pane: PaneId::new(pane), launch, cwd: cwd.to_owned(), at: second(at) }
}

fn rollout(id: &str, cwd: &str, created_at: i64) -> Rollout {
    Rollout {
        thread: thread(id),
        origin: ThreadOrigin::Interface,
        cwd: Some(cwd.to_owned()),
        created_at: second(created_at),
    }
}

fn appeared(id: &str, cwd: &str, created_at: i64) -> BindingInput {
    BindingInput::RolloutAppeared(rollout(id, cwd, created_at))
}

/// The state of the panes `1` to `3`: a thread, `?` while one waits, `-` for none.
fn shown(bindings: &Bindings) -> String {
    let show = |name| {
        let pane = pane(name);
        match bindings.thread_of(&pane) {
            Some(thread) => thread.as_str().to_owned(),
            None if bindings.is_waiting(&pane) => "?".to_owned(),
            None => "-".to_owned(),
        }
    };
    ["1", "2", "3"].map(show).join(" ")
}

#[track_caller]
fn check(inputs: impl IntoIterator<Item = BindingInput>, expected: &str) -> Bindings {
    let mut bindings = Bindings::default();
    inputs.into_iter().for_each(|input| bindings.apply(input));
    assert_eq!(shown(&bindings), expected);
    bindings
}

fn returned(name: &str) -> BindingInput {
    BindingInput::PromptReturned { pane: pane(name) }
}

#[test]
fn kt_67_resume_binds_its_id_at_once_and_shows_it_once_it_is_known() {
    let resume = || launched("1", &format!("codex resume {OLD}"), "/elsewhere", 100);
    check([resume()], "- - -");
    check([appeared(OLD, "/p", 1), resume()], &format!("{OLD} - -"));
    check([resume(), appeared(OLD, "/p", 1)], &format!("{OLD} - -"));
    let shouted = launched("1", &format!("codex resume {}", OLD.to_uppercase()), "/p", 100);
    check([appeared(OLD, "/p", 1), shouted], &format!("{OLD} - -"));
}

#[test]
fn kt_67_a_thread_of_codex_exec_can_be_resumed_and_one_of_a_sub_agent_is_none() {
    let resume = launched("1", &format!("codex resume {OLD}"), "/p", 100);
    for (origin, expected) in
        [(ThreadOrigin::Exec, format!("{OLD} - -")), (ThreadOrigin::Thread, "- - -".to_owned())]
    {
        let seen = BindingInput::RolloutAppeared(Rollout { origin, ..rollout(OLD, "/p", 1) });
        check([seen, resume.clone()], &expected);
    }
}

#[test]
fn kt_68_69_a_launch_without_an_id_waits_for_the_next_new_thread() {
    for line in [
        "codex",
        "codex fix_the_bug",
        "codex -- exec",
        &format!("codex fork {OLD}"),
        "codex resume",
        "codex resume --last",
        "codex resume my-name",
        "codex agents",
    ] {
        let old = appeared(OLD, "/p", 1);
        check([old.clone(), launched("1", line, "/p", 10)], "? - -");
        check([old, launched("1", line, "/p", 10), appeared("new", "/p", 11)], "new - -");
    }
}

#[test]
fn a_thread_from_before_the_launch_is_not_the_new_one() {
    let launch = || launched("1", "codex", "/p", 10);
    check([launch(), appeared("found-late", "/p", 9)], "? - -");
    check([launch(), appeared("at-once", "/p", 10)], "at-once - -");
    check([appeared("seen", "/p", 11), launch(), appeared("seen", "/p", 11)], "? - -");
}

#[test]
fn only_a_new_thread_of_the_same_folder_that_an_interface_began_is_bound() {
    let launch = || launched("1", "codex", "/p", 10);
    check([launch(), appeared("a", "/p/inner", 11), appeared("b", "/", 12)], "? - -");
    check([launch(), appeared("a", "/p/", 11)], "a - -");
    for origin in [ThreadOrigin::Exec, ThreadOrigin::Thread] {
        let other = BindingInput::RolloutAppeared(Rollout { origin, ..rollout("a", "/p", 11) });
        check([launch(), other, appeared("b", "/p", 12)], "b - -");
    }
    let nowhere = BindingInput::RolloutAppeared(Rollout { cwd: None, ..rollout("a", "/p", 11) });
    check([launch(), nowhere], "? - -");
    let origin = |recording: &str| {
        let path =
            format!("{}/testdata/codex/rollouts/{recording}.jsonl", env!("CARGO_MANIFEST_DIR"));
        #[expect(clippy::disallowed_methods, reason = "a test reads its recordings")]
        let text = std::fs::read_to_string(path).unwrap();
        match parse_line(text.lines().next().unwrap().as_bytes()).record {
            RolloutRecord::SessionMeta(meta) => ThreadOrigin::of(&meta),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(origin("plain"), ThreadOrigin::Exec);
    assert_eq!(origin("tui-long"), ThreadOrigin::Interface);
    assert_eq!(origin("spawn-sub1"), ThreadOrigin::Thread);
}

/// X45.
#[test]
fn a_thread_began_when_its_id_says_and_not_when_it_was_first_spoken_to() {
    let began = |id: &str, written_at: Option<i64>| {
        let meta = format!(r#"{{"type":"session_meta","payload":{{"id":"{id}","cwd":"/p"}}}}"#);
        let RolloutRecord::SessionMeta(meta) = parse_line(meta.as_bytes()).record else {
            panic!("{meta}")
        };
        Rollout::of(&meta, written_at.map(second)).map(|rollout| rollout.created_at.to_string())
    };
    let version_7 = "01a1e17a-547e-7c90-8512-de702bb13cae";
    assert_eq!(began(version_7, Some(1)).as_deref(), Some("2026-11-15T23:10:53.054000Z"));
    let version_4 = "825c8529-ee09-4cb8-8902-dd785b12ca0a";
    assert_eq!(began(version_4, Some(0)).as_deref(), Some("1970-01-01T00:00:00.000000Z"));
    assert_eq!(began(version_4, None), None);
    assert_eq!(began("../x", Some(0)), None);
}

#[test]
fn the_folder_that_the_launch_names_counts_instead_of_the_panes() {
    for line in ["codex -C /q", "codex --cd ../q", "codex -C./../q fork"] {
        let launch = || launched("1", line, "/p", 10);
        check([launch(), appeared("a", "/p", 11)], "? - -");
        check([launch(), appeared("a", "/q", 11)], "a - -");
    }
}

/// KT-52.
#[test]
fn kt_70_x15_a_marker_outlives_years_and_everything_that_happens_elsewhere() {
    let years = 10 * 365 * 86_400;
    check(
        [
            launched("1", "codex", "/p", 10),
            launched("2", "codex", "/q", 11),
            appeared("q", "/q", 12),
            returned("2"),
            BindingInput::PaneClosed { pane: pane("2") },
            appeared("p", "/p", years),
        ],
        "p - -",
    );
}

#[test]
fn kt_70_72_the_prompt_the_panes_end_and_the_next_launch_take_a_marker_or_a_binding_away() {
    let resume = format!("codex resume {OLD}");
    for line in ["codex", &resume] {
        let before = || [appeared(OLD, "/p", 1), launched("1", line, "/p", 10)];
        let new = || appeared("new", "/p", 30);
        let after = |input: BindingInput| before().into_iter().chain([input, new()]);
        check(after(returned("1")), "- - -");
        check(after(BindingInput::PaneClosed { pane: pane("1") }), "- - -");
        check(after(launched("1", "codex", "/q", 20)), "? - -");
        check(after(launched("1", "codex fork", "/p", 20)), "new - -");
        check(after(launched("1", &resume, "/p", 20)), &format!("{OLD} - -"));
    }
}

#[test]
fn kt_72_a_resume_that_failed_leaves_nothing_behind() {
    let id = "01a1e18e-2062-79f1-b187-979e8f997b9c";
    let launch = launched("1", &format!("codex resume {id}"), "/p", 10);
    check([launch, returned("1"), appeared(id, "/p", 20)], "- - -");
}

#[test]
fn kt_66_what_brings_no_interface_binds_nothing_and_shows_that_the_shell_was_back() {
    for line in ["codex exec hi", &format!("codex exec resume {OLD}"), "codex --help", "codex mcp"]
    {
        let other = launched("1", line, "/p", 20);
        check([other.clone(), appeared("new", "/p", 21)], "- - -");
        let before = [launched("1", "codex", "/p", 10), appeared("a", "/p", 11)];
        check(before.into_iter().chain([other]), "- - -");
    }
}

/// X45.
#[test]
fn kt_71_a_bound_pane_keeps_its_thread_whatever_else_begins() {
    check(
        [
            launched("1", "codex", "/p", 10),
            appeared("first", "/p", 11),
            appeared("second", "/p", 12),
            appeared("first", "/p", 11),
        ],
        "first - -",
    );
}

#[test]
fn of_two_that_wait_in_one_folder_the_older_one_gets_the_first_thread() {
    let wait = || [launched("2", "codex", "/p", 10), launched("1", "codex", "/p", 11)];
    check(wait().into_iter().chain([appeared("a", "/p", 12)]), "? a -");
    check(wait().into_iter().chain([appeared("a", "/p", 12), appeared("b", "/p", 13)]), "b a -");
    let again = [appeared("a", "/p", 12), appeared("a", "/p", 12)];
    check(wait().into_iter().chain(again), "? a -");
    // Its thread is from before the younger one's launch, whenever it is seen.
    check(wait().into_iter().chain([appeared("a", "/p", 10)]), "? a -");
}

#[test]
fn a_resume_that_may_go_on_with_an_old_thread_waits_behind_the_others() {
    let wait = || [launched("1", "codex resume", "/p", 10), launched("2", "codex", "/p", 11)];
    check(wait().into_iter().chain([appeared("a", "/p", 12)]), "? a -");
    check(wait().into_iter().chain([appeared("a", "/p", 12), appeared("b", "/p", 13)]), "b a -");
}

#[test]
fn kt_53_two_panes_may_show_one_thread() {
    let resume = |name| launched(name, &format!("codex resume {OLD}"), "/p", 10);
    let bindings =
        check([appeared(OLD, "/p", 1), resume("1"), resume("3")], &format!("{OLD} - {OLD}"));
    let panes: Vec<_> = bindings.panes_of(&thread(OLD)).map(PaneId::as_str).collect();
    assert_eq!(panes, ["1", "3"]);
}

#[test]
fn a_thread_that_was_resumed_before_it_was_seen_is_not_given_to_a_marker() {
    let resume = launched("2", &format!("codex resume {OLD}"), "/p", 20);
    let wait = launched("1", "codex", "/p", 10);
    check([wait, resume, appeared(OLD, "/p", 15)], &format!("? {OLD} -"));
}

/// A pseudo-random sequence, the same for the same seed.
struct BindingRng(u64);

impl BindingRng {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.roll(of.len())]
    }
}

const PANES: [&str; 4] = ["1", "2", "3", "4"];
const FOLDERS: [&str; 2] = ["/p", "/q"];
const LINES: [&str; 6] =
    ["codex", "codex resume", "codex fork", "codex -C /q", "codex exec hi", "codex resume ID"];

fn random_id(rng: &mut BindingRng) -> String {
    format!("00000000-0000-4000-8000-{:012}", rng.roll(60))
}

fn random_input(rng: &mut BindingRng, now: i64) -> BindingInput {
    let pane = PaneId::new(rng.pick(&PANES));
    match rng.roll(10) {
        0 => BindingInput::PromptReturned { pane },
        1 => BindingInput::PaneClosed { pane },
        2..=5 => {
            let line = rng.pick(&LINES).replace("ID", &random_id(rng));
            launched(pane.as_str(), &line, rng.pick(&FOLDERS), now)
        }
        _ => {
            let id = random_id(rng);
            let mut rollout = rollout(&id, rng.pick(&FOLDERS), now - rng.roll(6) as i64);
            rollout.origin = [ThreadOrigin::Interface, ThreadOrigin::Exec, ThreadOrigin::Thread]
                [rng.roll(4).min(2)];
            BindingInput::RolloutAppeared(rollout)
        }
    }
}

#[test]
fn a_binding_is_explained_by_its_launch_or_by_one_new_thread_over_any_sequence() {
    let mut bound_by_markers = 0;
    for seed in 1..400_u64 {
        let mut rng = BindingRng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let mut bindings = Bindings::default();
        let mut given_out = BTreeSet::new();
        for now in 0..120 {
            let input = random_input(&mut rng, now);
            let before = bindings.clone();
            bindings.apply(input.clone());
            if let Some(thread) = check_step(&before, &input, &bindings, seed) {
                assert!(given_out.insert(thread), "seed {seed}: given out twice: {input:?}");
            }
        }
        bound_by_markers += given_out.len();
    }
    assert!(bound_by_markers > 1_000, "the walk hardly binds anything: {bound_by_markers}");
}

/// Returns the thread that the step has assigned to a marker.
#[track_caller]
fn check_step(
    before: &Bindings,
    input: &BindingInput,
    after: &Bindings,
    seed: u64,
) -> Option<SessionId> {
    let context = format!("seed {seed}: {input:?}\n{before:?}\n{after:?}");
    let changed: Vec<PaneId> = PANES
        .map(PaneId::new)
        .into_iter()
        .filter(|pane| before.panes.get(pane) != after.panes.get(pane))
        .collect();
    for pane in PANES.map(PaneId::new) {
        if let Some(thread) = after.thread_of(&pane) {
            assert!(after.panes_of(thread).any(|other| *other == pane), "{context}");
            assert!(!after.is_waiting(&pane), "{context}");
        }
    }
    match input {
        BindingInput::PromptReturned { pane } | BindingInput::PaneClosed { pane } => {
            assert!(changed.iter().all(|other| other == pane), "{context}");
            assert!(!after.panes.contains_key(pane), "{context}");
        }
        BindingInput::Launched { pane, launch, .. } => {
            assert!(changed.iter().all(|other| other == pane), "{context}");
            let waits = launch.tui && launch.session_id.is_none();
            assert_eq!(after.is_waiting(pane), waits, "{context}");
            assert_eq!(after.panes.contains_key(pane), launch.tui, "{context}");
        }
        BindingInput::RolloutAppeared(rollout) => {
            let may_bind = rollout.origin == ThreadOrigin::Interface
                && !before.visible.contains_key(&rollout.thread)
                && !before.panes.values().any(|p| *p == CodexPane::Bound(rollout.thread.clone()));
            let fits = |marker: &Marker| {
                may_bind
                    && marker.at <= rollout.created_at
                    && rollout.cwd.as_deref().map(Path::new) == Some(&*marker.folder)
            };
            let markers = before.panes.iter().filter_map(|(pane, state)| match state {
                CodexPane::Waiting(marker) if fits(marker) => Some((marker, pane)),
                _ => None,
            });
            let next: Vec<PaneId> =
                markers.min().map(|(_, pane)| pane.clone()).into_iter().collect();
            assert_eq!(changed, next, "{context}");
            for pane in &changed {
                assert_eq!(after.thread_of(pane), Some(&rollout.thread), "{context}");
            }
            return next.first().map(|_| rollout.thread.clone());
        }
    }
    None
}
