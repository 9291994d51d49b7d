//! Tests `turnbridge codex state` beside the real Codex, which runs against the loopback Responses
//! API: whether a Codex has the thread open, until it ends or is killed.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::{Codex, ModelReply, ResponsesApi, read_rollout, skipped, wait_until};

use crate::support::world::World;

const TIMEOUT: Duration = Duration::from_secs(30);

#[test]
fn the_real_codex_holds_its_thread_until_it_ends_in_whatever_way() {
    let Some(codex) = Codex::find() else {
        return skipped("the pinned `codex` is not in `tests/codex`; `scripts/test` installs it");
    };
    for is_killed in [false, true] {
        let world = World::new();
        let started = world.hermetic.project().join("started");
        let go_on = world.hermetic.project().join("go-on");
        let wait = "echo > started; until [ -e go-on ]; do sleep 0.05; done";
        let input = json!({"cmd": wait, "yield_time_ms": 30_000});
        let script = vec![ModelReply::tool("exec_command", input), ModelReply::text("Done.")];
        let api = ResponsesApi::start(script);
        let mut command = codex.exec(&world.hermetic, &api, "wait for me");
        let mut process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        wait_until(TIMEOUT, "the command", || started.exists().then_some(()));

        let rollouts = codex.rollouts(&world.hermetic);
        let id = read_rollout(&rollouts[0])[0]["payload"]["id"].as_str().unwrap().to_owned();
        let shown = || -> Value {
            let shown = world.turnbridge(&["codex", "state", "--json", &id]);
            serde_json::from_str(&shown).unwrap()
        };
        let state = shown();
        assert_eq!((&state["live"], &state["state"]), (&json!(true), &json!("working")));
        let lock = world.hermetic.codex_home().join(format!("thread-writer-locks/{id}.lock"));
        assert_eq!(fs::metadata(&lock).unwrap().len(), 0);

        if is_killed {
            process.kill().unwrap();
        }
        fs::write(&go_on, "").unwrap();
        assert_eq!(process.wait().unwrap().success(), !is_killed);
        let state = shown();
        let expected = if is_killed { "working" } else { "completed" };
        assert_eq!((&state["live"], &state["state"]), (&json!(false), &json!(expected)));
        assert_eq!(lock.exists(), is_killed, "only one that was killed leaves it behind");
        assert_eq!(api.strays(), Vec::<String>::new());
    }
}
