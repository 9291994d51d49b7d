//! Tests the installed folder of the plugin with the real Claude Code, on every system. `tests/e2e`
//! has more such tests, but needs tmux.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;
use testkit::{Claude, MessagesApi, ModelReply, skipped};

use crate::support::world::{PROGRAMS, World};

/// hooks.json names the executables without `.exe`. On Windows the marketplace's folder contains
/// both: a script for the other systems, and the executable beside it.
#[test]
fn a_hook_that_is_registered_without_exe_runs() {
    let Some(claude) = Claude::find() else {
        return skipped("no pinned `claude` under `tests/claude` (npm ci there)");
    };
    let world = World::new();
    let plugin = world.hermetic.root().join("plugin");
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    for file in [".claude-plugin/plugin.json", "hooks/hooks.json"] {
        fs::create_dir_all(plugin.join(file).parent().unwrap()).unwrap();
        fs::copy(repository.join(file), plugin.join(file)).unwrap();
    }
    let bin = plugin.join("bin");
    fs::create_dir_all(&bin).unwrap();
    for name in PROGRAMS {
        let built = world.command(name).get_program().to_owned();
        fs::copy(built, bin.join(format!("{name}{}", std::env::consts::EXE_SUFFIX))).unwrap();
        if cfg!(windows) {
            fs::write(bin.join(name), "#!/bin/sh\nexit 1\n").unwrap();
        }
    }
    let api = MessagesApi::start(vec![ModelReply::text("Done.")]);
    let mut command = claude.command(&world.hermetic, &api);
    command.args(["-p", "go", "--plugin-dir"]).arg(&plugin).stdin(Stdio::null());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let sessions = world.sessions();
    assert_eq!(sessions.len(), 1, "{sessions:#?}\n{output:?}");
    assert_eq!(sessions[0]["state"], "stopped");
    let id = sessions[0]["session_id"].as_str().unwrap();
    let shown = world.turnbridge(&["sessions", "show", id, "--json"]);
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown["turns"][0]["answer"], "Done.", "{shown:#}");
}
