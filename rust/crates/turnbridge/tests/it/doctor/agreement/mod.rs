//! Tests that `doctor`, `daemon status`, `gate explain` and `board` agree in constructed
//! situations. Each situation names the true state. A command may not contradict it, and may not
//! omit the facts that it must report. The same holds for the behaviour of the registered Stop
//! hooks and the response at the board's port.

mod situations;
mod truth;

use std::time::Duration;

use serde_json::Value;

use super::healthy_setup::HealthySetup;
use crate::schemas;
use situations::{Situation, daemons, gates};
use truth::seen;

const TIMEOUT: Duration = Duration::from_secs(30);

/// One word for each fact; `-`: not applicable, or no statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct AgreementRow {
    /// `none`, `runs`, `suspended`.
    daemon: &'static str,
    /// The config in force: `file`, `older`, `none`.
    config: &'static str,
    /// `served`, `none`.
    board: &'static str,
    /// `off`, `connecting`, `connected`, `refused`.
    slack: &'static str,
    /// `on`, `off`.
    gate: &'static str,
}

const UNSAID: AgreementRow =
    AgreementRow { daemon: "-", config: "-", board: "-", slack: "-", gate: "-" };

#[test]
fn all_say_the_same_of_the_daemon_and_it_is_true() {
    check_each(&daemons());
}

#[test]
fn all_say_the_same_of_the_gate_and_it_is_true() {
    check_each(&gates());
}

fn check_each(situations: &[Situation]) {
    let wrong: Vec<_> = situations.iter().flat_map(wrong_words).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the false statements and the missing ones.
fn wrong_words(Situation { name, plant, truth }: &Situation) -> Vec<String> {
    let healthy = HealthySetup::new();
    let _taken = plant(&healthy);
    let [doctor, status, gate, board] =
        [of_doctor(&healthy), of_status(&healthy), of_gate(&healthy), of_board(&healthy)];
    let said = [
        ("doctor", doctor),
        ("daemon status", status),
        ("gate explain", gate),
        ("board", board),
        ("what is seen", seen(&healthy)),
    ];
    let mut wrong = Vec::new();
    for (who, words) in said {
        for (what, word, expected) in pairs(words, *truth) {
            if word != "-" && word != expected {
                wrong.push(format!("{name}: {who} says that the {what} is `{word}`: {truth:?}"));
            }
        }
    }
    // A missing statement does not count as right.
    let must_say = [
        ("doctor", AgreementRow { board: "-", config: "-", slack: "-", ..*truth }, doctor),
        ("daemon status", AgreementRow { board: "-", config: "-", gate: "-", ..*truth }, status),
        ("gate explain", AgreementRow { gate: truth.gate, ..UNSAID }, gate),
        ("board", AgreementRow { daemon: truth.daemon, board: truth.board, ..UNSAID }, board),
    ];
    for (who, needed, words) in must_say {
        for (what, needed, word) in pairs(needed, words) {
            if needed != "-" && word == "-" {
                wrong.push(format!("{name}: {who} says nothing of the {what}"));
            }
        }
    }
    wrong
}

fn pairs(
    one: AgreementRow,
    other: AgreementRow,
) -> [(&'static str, &'static str, &'static str); 5] {
    [
        ("daemon", one.daemon, other.daemon),
        ("config", one.config, other.config),
        ("board", one.board, other.board),
        ("slack", one.slack, other.slack),
        ("gate", one.gate, other.gate),
    ]
}

fn of_doctor(healthy: &HealthySetup) -> AgreementRow {
    let report = healthy.report(&["--offline"]);
    let has = |id: &str| report.findings().iter().any(|finding| finding["id"] == id);
    let said = |id: &str| {
        let found = report.findings().iter().find(|finding| finding["id"] == id);
        found.and_then(|finding| finding["what"].as_str()).unwrap_or_default().to_owned()
    };
    let daemon = said("daemon");
    let words = AgreementRow { gate: on_or_off(&said("gate")), ..UNSAID };
    if has("daemon-suspended") {
        return AgreementRow { daemon: "suspended", ..words };
    }
    if daemon.starts_with("none runs") {
        return AgreementRow { daemon: "none", ..words };
    }
    // A finding about a running daemon's problem replaces the word.
    let ill = ["daemon-mute", "daemon-refused", "daemon-connecting"];
    if !daemon.starts_with("runs") && !ill.into_iter().any(has) {
        return words;
    }
    let is_wrong = has("config-invalid") || has("config-untrusted");
    AgreementRow {
        daemon: "runs",
        config: match () {
            () if has("daemon-mute") => "-",
            () if daemon.contains("with the config of before") => "older",
            () if is_wrong => "none",
            () => "file",
        },
        board: if has("board-not-served") { "none" } else { "served" },
        slack: match () {
            () if has("daemon-refused") => "refused",
            () if has("daemon-connecting") => "connecting",
            () if daemon.contains("hears replies") => "connected",
            () if daemon.contains("without Slack") => "off",
            () => "-",
        },
        ..words
    }
}

fn of_status(healthy: &HealthySetup) -> AgreementRow {
    let said = daemon(healthy);
    if said["running"] == false {
        assert!(said["daemon"].is_null(), "{said}");
        return AgreementRow { daemon: "none", ..UNSAID };
    }
    if said["suspended"] == true {
        return AgreementRow { daemon: "suspended", ..UNSAID };
    }
    let told = &said["daemon"];
    if told.is_null() {
        return AgreementRow { daemon: "runs", ..UNSAID };
    }
    AgreementRow {
        daemon: "runs",
        config: match told["config_problem"]["is_older_in_force"].as_bool() {
            None => "file",
            Some(true) => "older",
            Some(false) => "none",
        },
        board: if told["board"]["state"] == "served" { "served" } else { "none" },
        slack: match told["slack"]["state"].as_str().unwrap() {
            "off" => "off",
            "connecting" => "connecting",
            "connected" => "connected",
            _ => "refused",
        },
        gate: "-",
    }
}

fn of_gate(healthy: &HealthySetup) -> AgreementRow {
    let output = healthy.run(&["gate", "explain", "--json"]);
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    schemas::check("gate", &said);
    let gate = on_or_off(said["gate"].as_str().unwrap());
    assert!(said["summary"].as_str().unwrap().starts_with(gate), "{said}");
    AgreementRow { gate, ..UNSAID }
}

fn of_board(healthy: &HealthySetup) -> AgreementRow {
    let output = healthy.run(&["board", "--json"]);
    let board = if output.status.success() { "served" } else { "none" };
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.success(), error.is_empty(), "{error}");
    let daemon = match () {
        () if error.contains("no daemon runs") => "none",
        () if error.contains("suspended") => "suspended",
        () if board == "served" || error.contains("the daemon serves no board") => "runs",
        () => "-",
    };
    AgreementRow { daemon, board, ..UNSAID }
}

fn on_or_off(said: &str) -> &'static str {
    match said.split([':', ' ']).next() {
        Some("on") => "on",
        Some("off") => "off",
        _ => "-",
    }
}

fn daemon(healthy: &HealthySetup) -> Value {
    let output = healthy.run(&["daemon", "status", "--json"]);
    let said = serde_json::from_slice(&output.stdout).unwrap();
    schemas::check("daemon-status", &said);
    said
}
