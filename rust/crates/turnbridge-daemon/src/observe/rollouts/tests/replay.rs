//! Tests the follower with every recording of the real Codex. Each is written again in random
//! pieces, while the follower is killed and restarted.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::*;

const RECORDINGS: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../turnbridge-core/testdata/codex/rollouts");

/// A random generator with the same sequence on every machine.
struct ReplayRng(u64);

impl ReplayRng {
    fn roll(&mut self, below: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % below.max(1)
    }
}

/// A recording with its times moved to now.
struct Recording {
    name: String,
    thread: String,
    is_user: bool,
    final_state: String,
    lines: Vec<(Timestamp, String)>,
    /// The ids of the turns with a notice, computed without Turnbridge's code.
    told: BTreeSet<String>,
}

fn recordings() -> Vec<Recording> {
    let states = fs::read_to_string(format!("{RECORDINGS}/FINAL-STATES.txt")).unwrap();
    states.lines().map(|line| recording(line.split_once(' ').unwrap())).collect()
}

fn recording((name, final_state): (&str, &str)) -> Recording {
    let text = fs::read_to_string(format!("{RECORDINGS}/{name}")).unwrap();
    let time = |value: &Value| Timestamp::parse(value["timestamp"].as_str().unwrap()).unwrap();
    let values: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let begin = real_now().minus(Duration::from_secs(1_800));
    let shifted = |value: &Value| begin.plus(time(value).since(time(&values[0])));
    let meta = &values[0]["payload"];
    let thread = meta["id"].as_str().unwrap().to_owned();
    let is_user = meta["source"]["subagent"].is_null();
    let lines = text.lines().zip(&values).map(|(line, value)| {
        let old = value["timestamp"].as_str().unwrap();
        (shifted(value), line.replacen(old, &shifted(value).to_string(), 1) + "\n")
    });
    let mut told = BTreeSet::new();
    let mut said_at = None;
    for value in &values {
        let payload = &value["payload"];
        match (payload["type"].as_str(), payload["item"]["type"].as_str()) {
            (Some("task_started"), _) => said_at = None,
            (Some("user_message"), _) | (_, Some("UserMessage")) => said_at = Some(shifted(value)),
            (Some("task_complete"), _) if said_at.is_some() && is_user => {
                let turn = payload["turn_id"].as_str().unwrap();
                told.insert(format!("codex-{thread}-{turn}"));
            }
            _ => {}
        }
    }
    // Before about 0.100 no record ends a turn; the agent's last message must suffice.
    if name.starts_with("legacy-0.98") && final_state == "completed" {
        told.insert(format!("codex-{thread}-{:x}", said_at.unwrap().as_micros()));
    }
    Recording {
        name: name.to_owned(),
        is_user,
        final_state: final_state.to_owned(),
        lines: lines.collect(),
        told,
        thread,
    }
}

/// Returns whether a turn is open, by the records alone, or `None` before the first one.
fn is_open(lines: &[(Timestamp, String)]) -> Option<bool> {
    let kind = |line: &str| {
        let value: Value = serde_json::from_str(line).unwrap();
        value["payload"]["type"].as_str().map(str::to_owned)
    };
    lines.iter().rev().find_map(|(_, line)| match kind(line)?.as_str() {
        "task_started" => Some(true),
        "task_complete" | "turn_aborted" => Some(false),
        _ => None,
    })
}

fn replay(recording: &Recording, seed: u64) {
    let world = RolloutWorld::new();
    let path = world.rollout(&recording.thread);
    let mut rng = ReplayRng(seed);
    let mut told: BTreeMap<String, Notice> = BTreeMap::new();
    let mut keep = |notices: Vec<Notice>| {
        for notice in notices {
            let known = told.entry(notice.id.clone()).or_insert_with(|| notice.clone());
            assert_eq!(*known, notice, "{} {seed}: told differently", recording.name);
        }
    };
    NOW.set(recording.lines[0].0);
    let mut follower = world.open();
    let whole: String = recording.lines.iter().map(|(_, line)| line.as_str()).collect();
    let (mut written, mut whole_lines, mut begin_of_line) = (0, 0, 0);
    while written < whole.len() {
        let most = [1, 40, 400, 4_000, 40_000][rng.roll(5)];
        let next = (written + 1 + rng.roll(most)).min(whole.len());
        append(&path, &whole.as_bytes()[written..next]);
        written = next;
        while let Some((at, line)) = recording.lines.get(whole_lines)
            && begin_of_line + line.len() <= written
        {
            (whole_lines, begin_of_line) = (whole_lines + 1, begin_of_line + line.len());
            NOW.set(*at);
        }
        if rng.roll(8) == 0 {
            // The follower ends, with or without a final save.
            match rng.roll(3) {
                0 => follower.close().unwrap(),
                _ => drop(follower),
            }
            let (opened, notices) = world.open_telling();
            keep(notices);
            follower = opened;
        }
        match rng.roll(6) {
            0 => keep(notices(follower.rescan())),
            1 => keep(notices(follower.check_liveness())),
            2 => continue,
            _ => keep(notices(follower.changed(&path))),
        }
        if rng.roll(3) == 0 {
            follower.save().unwrap();
        }
        keep(notices(follower.changed(&path)));
        if recording.is_user
            && let Some(is_open) = is_open(&recording.lines[..whole_lines])
        {
            let state = world.state(&recording.thread);
            let is_over = ["completed", "failed", "aborted"].contains(&state);
            assert_eq!(is_over, !is_open, "{} {seed}: {state} at {whole_lines}", recording.name);
        }
    }
    keep(notices(follower.changed(&path)));
    pass(3 * SECOND);
    keep(notices(follower.check_liveness()));
    let told: BTreeSet<String> = told.into_keys().collect();
    assert_eq!(told, recording.told, "{} {seed}", recording.name);
    if recording.is_user {
        assert_eq!(
            world.state(&recording.thread),
            recording.final_state,
            "{} {seed}",
            recording.name
        );
        let turns: Vec<_> = world.turns(&recording.thread);
        let distinct: BTreeSet<_> = turns.iter().map(|turn| &turn.turn_id).collect();
        let is_exact = !recording.name.starts_with("legacy-0.98");
        assert!(
            !is_exact || distinct.len() == turns.len(),
            "{} {seed}: {turns:#?}",
            recording.name
        );
        let session = world.session(&recording.thread).unwrap();
        assert_eq!(session.transcript_path.as_deref(), path.to_str(), "{}", recording.name);
    } else {
        assert_eq!(world.sessions(), 0, "{}", recording.name);
    }
}

/// KT-86.
#[test]
fn kt_45_every_recording_ends_in_its_state_in_whatever_pieces_it_comes() {
    let recordings = recordings();
    assert!(recordings.len() >= 60, "{}", recordings.len());
    assert!(recordings.iter().map(|recording| recording.told.len()).sum::<usize>() > 50);
    let is_slow = testkit::is_slow();
    for (index, recording) in recordings.iter().enumerate() {
        // Long recordings have more pieces per round.
        let rounds = match recording.lines.len() {
            _ if is_slow => 60,
            0..=40 => 3,
            _ => 1,
        };
        for round in 0..rounds {
            replay(recording, index as u64 * 1_000 + round);
        }
    }
}
