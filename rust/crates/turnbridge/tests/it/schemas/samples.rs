//! Tests that each schema refuses a sample with a missing or an additional field, apart from listed
//! exceptions. The executables make the samples of all schemas except `common` and `config`.

// The engines of Linux; macOS looks for others.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

use serde_json::{Deserializer, Value, json};
use testkit::{StandIn, wait_until, write_program};
use turnbridge_core::ids::SessionKey;
use turnbridge_core::notices::notice::Notice;
use turnbridge_core::notices::route::Route;
use turnbridge_core::replies::reply::{Reply, ReplyTo};
use turnbridge_store::clock;
use turnbridge_store::paths::StatePaths;
use turnbridge_store::state::{inbox, outbox, routes, turn_store};

use super::{SCHEMAS, check, is_valid, schema_of};
use crate::support::engines::TIMEOUT;
use crate::support::world::{SESSION, World, feed, lines_of, payload, recordings};

const ROLLOUT: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../turnbridge-core/testdata/codex/rollouts/ask.jsonl");

/// A world with a sample of everything.
struct SampleWorld {
    world: World,
    samples: BTreeMap<&'static str, Vec<Value>>,
}

impl SampleWorld {
    fn set() -> SampleWorld {
        let world = World::new();
        let root = world.hermetic.root().to_owned();
        let bin = root.join("bin");
        StandIn::new(&bin, "systemctl", "echo 'Failed to connect to bus' >&2; exit 1");
        let voices = "test \"$1\" = --voices && \
            printf 'Pty Language Age/Gender VoiceName File\\n 5 ja --/M Japanese jpx/ja\\n'\nexit 0\n";
        write_program(&bin.join("espeak-ng"), &format!("#!/bin/sh\n{voices}"));
        let project = world.hermetic.project();
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let world = world
            .with("PATH", &format!("{}:/usr/bin:/bin", bin.display()))
            .with("KAWAII_NOTIFY_PATH", &text(&root.join("kawaii.jsonl")))
            .with("KAWAII_PANE_ID", "p1")
            .with("KAWAII_TERMINAL_INSTANCE_ID", "i1")
            .with("TVINE_PROJECT_DIR", &text(&root.join("tvine")))
            .with("TVINE_SESSION_ID", "t1")
            .with("CLAUDE_CODE_ENTRYPOINT", "cli")
            .with("CLAUDE_PROJECT_DIR", &text(&project))
            .with("CLAUDE_PLUGIN_ROOT", "/plugin");
        SampleWorld { world, samples: BTreeMap::new() }
    }

    fn paths(&self) -> StatePaths {
        StatePaths::below(&self.world.hermetic.state_dir())
    }

    fn add(&mut self, schema: &'static str, value: Value) {
        check(schema, &value);
        self.samples.entry(schema).or_default().push(value);
    }

    /// Adds a command's output, whatever its exit status.
    fn add_output(&mut self, arguments: &[&str], input: &[u8]) {
        let words = arguments.iter().copied().take_while(|word| !word.starts_with('-'));
        let schema = schema_of(&words.collect::<Vec<_>>()).unwrap();
        let mut command = self.world.command("turnbridge");
        command.args(arguments);
        let output = feed(command, input);
        assert!(!output.stdout.is_empty(), "{arguments:?}: {output:?}");
        for value in Deserializer::from_slice(&output.stdout).into_iter() {
            self.add(schema, value.unwrap());
        }
    }

    fn play_turns(&mut self) {
        let call =
            json!({"tool_name": "Bash", "tool_use_id": "c1", "tool_input": {"command": "x"}});
        let with = |more: Value| {
            let mut call = call.clone();
            call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            call
        };
        let project = self.world.hermetic.project();
        for (event, more) in [
            ("SessionStart", json!({"source": "startup", "model": "m"})),
            ("UserPromptSubmit", json!({"prompt": "x".repeat(5_000), "prompt_id": "q1"})),
            ("StopFailure", json!({"error": "server_error", "prompt_id": "q1"})),
            ("UserPromptSubmit", json!({"prompt": "go", "prompt_id": "q2"})),
            ("Stop", json!({"last_assistant_message": "done", "prompt_id": "q2"})),
            ("UserPromptSubmit", json!({"prompt": "again", "prompt_id": "q3"})),
            ("PreToolUse", call.clone()),
            ("PermissionRequest", with(json!({"permission_mode": "default"}))),
        ] {
            let mut payload = payload(event, more);
            payload["cwd"] = json!(project);
            self.world.status(&payload);
        }
    }

    fn add_files(&mut self) {
        let root = self.world.hermetic.root().to_owned();
        for line in lines_of(&fs::read_to_string(root.join("kawaii.jsonl")).unwrap()) {
            self.add("kawaii-line", line);
        }
        let status = fs::read(root.join("tvine/sessions/t1/status.json")).unwrap();
        self.add("tvine-status", serde_json::from_slice(&status).unwrap());
        for value in state_files(&self.world, "sessions", "json") {
            self.add("session-file", value);
        }
        for value in state_files(&self.world, "turns", "jsonl") {
            self.add("turn-record", value);
        }
    }

    fn add_watch(&mut self) {
        let mut command = self.world.command("turnbridge");
        command.args(["watch", "--json"]).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().take(2);
        for line in lines.collect::<Vec<_>>() {
            self.add("watch", serde_json::from_str(&line.unwrap()).unwrap());
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }

    fn fill_queues(&self) {
        let paths = self.paths();
        let now = clock::now();
        let key = SessionKey::of("claude", SESSION).unwrap();
        let record = turn_store::read_turns(&paths, &key);
        let notice = Notice::of_turn("claude-n1".to_owned(), &record[0], Some("/t".to_owned()));
        outbox::queue(&paths, &notice).unwrap();
        let uuid = "0b7c4e6a-51a5-4d0e-9c3e-3f1f8f2f5a01".to_owned();
        let to = ReplyTo { key: key.clone(), cwd: None };
        inbox::accept(&paths, &Reply::from_board(uuid, "go on".to_owned(), to, now), now).unwrap();
        let route = Route {
            turn_id: Some("q2".to_owned()),
            cwd: Some("/w".to_owned()),
            ..Route::new("D1", "1700000000.000100", key, now)
        };
        routes::append(&paths, &route).unwrap();
    }

    fn add_daemon(&mut self) {
        let mut command = self.world.command("turnbridge");
        command.args(["daemon", "--foreground"]).stdin(Stdio::null()).stderr(Stdio::null());
        let mut daemon = command.spawn().unwrap();
        wait_until(TIMEOUT, "the board", || {
            let output = self.world.command("turnbridge").arg("board").output().unwrap();
            output.status.success().then_some(())
        });
        self.add_output(&["daemon", "status", "--json"], b"");
        self.add_output(&["board", "--json"], b"");
        self.world.turnbridge(&["daemon", "stop"]);
        daemon.wait().unwrap();
    }
}

/// Returns every value in the files of a state folder, some of which contain several.
fn state_files(world: &World, folder: &str, extension: &str) -> Vec<Value> {
    let files = fs::read_dir(world.hermetic.state_dir().join(folder)).unwrap();
    let files = files.map(|entry| entry.unwrap().path());
    files
        .filter(|path| path.extension().is_some_and(|own| own == extension))
        .flat_map(|path| {
            let bytes = fs::read(path).unwrap();
            Deserializer::from_slice(&bytes).into_iter().map(Result::unwrap).collect::<Vec<_>>()
        })
        .collect()
}

fn samples() -> BTreeMap<&'static str, Vec<Value>> {
    let mut scene = SampleWorld::set();
    scene.play_turns();
    scene.fill_queues();
    scene.world.turnbridge(&["pane", "launch", "--pane", "kitty:1", "--", "codex"]);
    scene.add_files();
    scene.add_watch();
    scene.add_output(&["outbox", "show", "n1", "--json"], b"");
    scene.add_output(&["outbox", "--json"], b"");
    scene.world.turnbridge(&["inbox", "drop", "0b7c"]);
    let stream = b"\x1b]7;file://host/a%20b\x1b\\$ \x1b]0;t\x07";
    scene.add_output(&["pane", "scan"], stream);
    for arguments in [
        &["--version", "--json"][..],
        &["sessions", "--json"],
        &["sessions", "show", &SESSION[..8], "--json"],
        &["inbox", "--json"],
        &["routes", "--json"],
        &["pane", "list", "--json"],
        &["service", "--json"],
        &["hooks", "status", "--form", "exec", "--json"],
        &["codex", "notify", "--json"],
        &["codex", "state", ROLLOUT, "--json", "--trace"],
        &["codex", "classify", "--json", "--", "codex", "resume", SESSION],
        &["focus", &SESSION[..8], "--print", "--json"],
        &["gate", "explain", "--json"],
        &["voice", "--json"],
        &["voice", "list", "--json"],
        &["doctor", "--json", "--offline"],
    ] {
        scene.add_output(arguments, b"");
    }
    scene.world.turnbridge(&["voice", "mute"]);
    scene.add_output(&["speak", "--json", "Two."], b"");
    scene.add_daemon();
    scene.add_output(&["logs", "--json"], b"");
    scene.world = scene.world.with("TURNBRIDGE_WSL_SIDE", "inside");
    scene.add_output(&["wsl", "--json"], b"");
    scene.samples
}

#[test]
fn a_field_that_is_missing_or_too_much_is_refused_but_for_these() {
    let samples = samples();
    let has_no_sample = |name: &&String| !samples.contains_key(name.as_str());
    let without: Vec<_> = SCHEMAS.keys().filter(has_no_sample).collect();
    // One contains only definitions; the other is for users' files, and all of its fields are
    // optional.
    assert_eq!(without, ["common", "config"]);
    let mut optional = BTreeSet::new();
    for (name, values) in &samples {
        for value in values {
            try_without(value, value, "", &mut |field, changed| {
                if is_valid(name, changed) {
                    optional.insert(format!("{name}: {field}"));
                }
            });
        }
    }
    // Environment variables, and further fields of a log line.
    optional.retain(|field| !field.contains(" runs.env.") && !field.starts_with("logs:"));
    for field in ["ts", "level", "message"] {
        let mut line = samples["logs"][0].clone();
        line.as_object_mut().unwrap().remove(field).unwrap();
        assert!(!is_valid("logs", &line), "{field}");
    }
    insta::assert_snapshot!(Vec::from_iter(optional).join("\n"), @"
    daemon-status: daemon.board
    focus: environment.CLAUDE_CONFIG_DIR
    kawaii-line: cwd
    kawaii-line: detail
    kawaii-line: error
    kawaii-line: instance_id
    outbox-show: notice.cwd
    outbox-show: notice.prompt
    outbox-show: notice.subject
    outbox-show: notice.transcript_path
    outbox-show: notice.turn_id
    routes: routes.cwd
    routes: routes.turn_id
    session-file: cwd
    session-file: model
    session-file: permission_mode
    session-file: runs.calls
    session-file: runs.config_dir
    session-file: runs.entrypoint
    session-file: runs.env
    session-file: runs.plugin_root
    session-file: runs.project_dir
    session-file: runs.turn.prompt
    session-file: runs.turn.prompt_id
    session-file: runs.turn.started_at
    session-file: runs.waits
    session-file: runs.waits.call_id
    session-file: runs.waits.tool
    session-file: transcript_path
    sessions-show: turns.notice_id
    turn-record: notice_id
    ");
}

/// Calls `with` for every object without each one of its fields; and once for every object with an
/// additional field (`+`).
fn try_without(whole: &Value, part: &Value, at: &str, with: &mut impl FnMut(String, &Value)) {
    match part {
        Value::Object(fields) => {
            let changed = |change: &dyn Fn(&mut serde_json::Map<String, Value>)| {
                let mut changed = whole.clone();
                change(changed.pointer_mut(at).unwrap().as_object_mut().unwrap());
                changed
            };
            with(named(at, "+"), &changed(&|fields| drop(fields.insert("+".into(), json!(1)))));
            for (name, value) in fields {
                with(named(at, name), &changed(&|fields| drop(fields.remove(name))));
                try_without(whole, value, &format!("{at}/{name}"), with);
            }
        }
        Value::Array(items) => {
            for (number, item) in items.iter().enumerate() {
                try_without(whole, item, &format!("{at}/{number}"), with);
            }
        }
        _ => {}
    }
}

/// Indexes of items are left out.
fn named(at: &str, field: &str) -> String {
    let parts = at.split('/').skip(1).filter(|part| part.parse::<usize>().is_err());
    parts.chain([field]).collect::<Vec<_>>().join(".")
}

#[test]
fn what_recorded_events_leave_in_the_state_folder_keeps_to_its_schemas() {
    let world = World::new();
    for (_, bytes) in recordings() {
        world.status(&serde_json::from_slice(&bytes).unwrap());
    }
    let sessions = state_files(&world, "sessions", "json");
    let turns = state_files(&world, "turns", "jsonl");
    assert!(!sessions.is_empty() && !turns.is_empty());
    sessions.iter().for_each(|session| check("session-file", session));
    turns.iter().for_each(|turn| check("turn-record", turn));
}
