//! Tests `turnbridge doctor`: it reports no problem in a working set-up, changes nothing unasked,
//! and `--fix` repairs without adding registrations. `faults` tests each fault.

mod agreement;
mod faults;
mod healthy_setup;
mod rough;

use std::fs;

use serde_json::{Value, json};

use crate::schemas;
use healthy_setup::HealthySetup;

#[test]
fn a_healthy_set_up_is_quiet() {
    let healthy = HealthySetup::new();
    let output = healthy.run(&["doctor"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
    insta::assert_snapshot!(healthy.without_figures(&output.stdout), @"
    ok       executables  VERSION, all four in `~/programs`
    ok       hooks        registered in `~/home/.claude/settings.json`; last seen: UserPromptSubmit just now
    ok       agents       Claude Code 2.1.197 (`~/bin/claude`); Codex 0.166.0 (`~/bin/codex`)
    ok       gate         off: [gate] enabled is off in `CONFIG/config.toml`
    ok       config       `CONFIG/config.toml` is valid
    ok       slack        `turnbridge` may post in `Loopback`; replies can arrive
    ok       daemon       none runs; the board and replies need one (`turnbridge daemon`)
    ok       queues       nothing waits
    ok       codex        calls Turnbridge when a turn has ended
    ok       voice        `spd-say` speaks
    ok       disk         `~/home/.local/state/turnbridge` is private and can be written to, SOME MB free

    all is well
    ");
}

#[test]
fn a_healthy_set_up_with_replies_is_quiet_too() {
    let healthy = HealthySetup::with_replies();
    healthy.turnbridge(&["daemon"]);
    assert_eq!(healthy.problems(&[]), [""; 0]);
    let report = healthy.report(&[]);
    let daemon = report.finding("daemon");
    assert!(daemon["what"].as_str().unwrap().ends_with("and hears replies"), "{daemon}");
}

#[test]
fn a_config_with_a_key_that_is_not_known_is_not_called_valid() {
    let healthy = HealthySetup::new();
    let is_called_valid = || {
        let said = String::from_utf8(healthy.run(&["doctor"]).stdout).unwrap();
        said.contains("config.toml` is valid")
    };
    assert!(is_called_valid());
    healthy.change_config(|text| format!("{text}[voice]\nspeed = 1\n"));
    assert!(!is_called_valid());
}

#[test]
fn without_network_slack_is_not_asked() {
    let healthy = HealthySetup::new();
    let before = healthy.slack.calls().len();
    assert_eq!(healthy.problems(&["--offline"]), [""; 0]);
    assert_eq!(healthy.slack.calls().len(), before);
    healthy.problems(&[]);
    let asked: Vec<_> = healthy.slack.calls().into_iter().skip(before).collect();
    let mut methods: Vec<_> = asked.iter().map(|call| call.method.as_str()).collect();
    methods.sort_unstable();
    assert_eq!(methods, ["apps.connections.open", "auth.test", "auth.test", "conversations.open"]);
}

#[test]
fn nothing_is_changed_without_being_asked_for() {
    let healthy = HealthySetup::new();
    let config = healthy.world.hermetic.config_dir().join("config.toml");
    fs::write(healthy.settings(), "{ // mine\n}").unwrap();
    fs::write(&config, "[voice]\nmute = 7\n").unwrap();
    let before = healthy.all_files();
    assert_eq!(healthy.run(&["doctor"]).status.code(), Some(2));
    assert_eq!(healthy.all_files(), before);
    // `--fix` does not touch foreign or unsafe things either.
    healthy.run(&["doctor", "--fix"]);
    assert_eq!(healthy.all_files(), before);
}

#[test]
fn a_registration_that_was_not_there_is_never_added() {
    let healthy = HealthySetup::new();
    healthy.turnbridge(&["hooks", "remove", "--yes"]);
    healthy.turnbridge(&["codex", "notify", "remove", "--yes"]);
    let before = healthy.all_files();
    assert_eq!(healthy.problems(&["--fix"]), ["hooks-none", "codex-unregistered"]);
    assert_eq!(healthy.all_files(), before);
}

#[test]
fn a_gate_that_was_asked_for_stays_when_the_hooks_are_updated() {
    let healthy = HealthySetup::new();
    healthy.turnbridge(&["hooks", "apply", "--gate", "--yes"]);
    assert_eq!(healthy.problems(&[]), [""; 0], "either gate is as it should be");
    healthy.change_settings(|text| text.replace("turnbridge-status", "x/turnbridge-status"));
    assert_eq!(healthy.problems(&[]), ["hooks-program-missing"]);
    assert_eq!(healthy.problems(&["--fix"]), [""; 0]);
    assert!(!fs::read_to_string(healthy.settings()).unwrap().contains("--no-gate"));
}

#[test]
fn hooks_in_a_form_that_claude_code_does_not_know_are_outdated() {
    let healthy = HealthySetup::new();
    healthy.turnbridge(&["hooks", "apply", "--form", "shell", "--yes"]);
    assert_eq!(healthy.problems(&[]), [""; 0], "a new one knows command lines too");
    healthy.turnbridge(&["hooks", "apply", "--form", "exec", "--yes"]);
    healthy.stand_in("claude", "echo '2.1.138 (Claude Code)'");
    assert_eq!(healthy.problems(&[]), ["hooks-outdated", "claude-old"]);
    assert_eq!(healthy.problems(&["--fix"]), ["claude-old"]);
}

#[test]
fn what_was_mended_is_told() {
    let healthy = HealthySetup::new();
    healthy.make_readable_by_all(&healthy.world.hermetic.config_dir().join("config.toml"));
    healthy.change_settings(|text| text.replace("turnbridge-status", "x/turnbridge-status"));
    let output = healthy.run(&["doctor", "--fix", "--offline"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = healthy.without_figures(&output.stdout);
    insta::assert_snapshot!(text.lines().take(2).collect::<Vec<_>>().join("\n"), @"
    fixed    `turnbridge hooks apply --yes`
    fixed    made private: `CONFIG/config.toml`
    ");
}

#[test]
fn the_schema_is_no_rubber_stamp() {
    let finding = json!({"id": "hooks", "area": "hooks", "severity": "ok", "what": "x", "why": null, "fix": null, "repairable": false});
    let report =
        |finding: Value| json!({"version": 1, "worst": "ok", "findings": [finding], "repairs": []});
    let with = |name: &str, value: Value| {
        let mut changed = finding.clone();
        changed[name] = value;
        report(changed)
    };
    assert!(schemas::is_valid("doctor", &report(finding.clone())));
    for wrong in [
        with("severity", json!("error")),
        with("area", json!("weather")),
        with("id", json!("Hooks")),
        with("what", json!("two\nlines")),
        with("fix", json!("x")),
        json!({"version": 1, "worst": "ok", "findings": []}),
    ] {
        assert!(!schemas::is_valid("doctor", &wrong), "{wrong}");
    }
}
