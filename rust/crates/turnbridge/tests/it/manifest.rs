//! The plugin's manifests and the code agree.

use std::collections::BTreeSet;

use serde_json::Value;
use turnbridge_core::event::HookEventName;

fn read(path: &str) -> Value {
    let path = format!("{}/../../../{path}", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn hooks_json_registers_exactly_the_events_that_the_code_knows_x5() {
    let manifest = read("hooks/hooks.json");
    let hooks = manifest["hooks"].as_object().unwrap();
    let registered: BTreeSet<&str> = hooks.keys().map(String::as_str).collect();
    let known: BTreeSet<&str> = HookEventName::ALL.iter().map(|name| name.as_str()).collect();
    assert_eq!(registered, known);
    // A hook on it would have to make the worktree.
    assert!(!registered.contains("WorktreeCreate"));
    for (event, rules) in hooks {
        let mut programs = Vec::new();
        for rule in rules.as_array().unwrap() {
            let [hook] = rule["hooks"].as_array().unwrap().as_slice() else { panic!("{event}") };
            assert_eq!(hook["type"], "command", "{event}");
            // Async hooks overtake each other and die with `claude -p` (X26).
            assert_eq!(hook.get("async"), None, "{event}");
            assert!(rule.get("matcher").is_none(), "{event}");
            assert!(hook["timeout"].as_u64().is_some_and(|seconds| seconds <= 10), "{event}");
            let command = hook["command"].as_str().unwrap();
            programs.push(command.strip_prefix("${CLAUDE_PLUGIN_ROOT}/bin/").unwrap());
            let is_notifier = command.ends_with("notify");
            let args = if is_notifier { "--hook --origin plugin" } else { "--origin plugin" };
            let args: Vec<_> = args.split(' ').collect();
            assert_eq!(hook["args"], serde_json::json!(args), "{event}");
        }
        let expected: &[&str] = match event.as_str() {
            "Stop" => &["turnbridge-stop-gate"],
            "PermissionRequest" => &["turnbridge-status", "turnbridge-notify"],
            _ => &["turnbridge-status"],
        };
        assert_eq!(programs, expected, "{event}");
    }
}

#[test]
fn the_plugin_has_the_version_of_the_executables() {
    let plugin = read(".claude-plugin/plugin.json");
    assert_eq!(plugin["name"], "turnbridge");
    assert_eq!(plugin["version"], env!("CARGO_PKG_VERSION"));
    let marketplace = read(".claude-plugin/marketplace.json");
    assert_eq!(marketplace["plugins"][0]["name"], "turnbridge");
}
