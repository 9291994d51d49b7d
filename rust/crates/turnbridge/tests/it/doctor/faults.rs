//! Tests each fault alone in a set-up without other problems: doctor reports that fault and no
//! other, and `--fix` repairs those that it can.

use std::fs;
use std::process::Command;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use testkit::slack::{FaultMoment, SlackFault};

use super::healthy_setup::HealthySetup;

/// Whether `--fix` repairs it.
#[derive(Clone, Copy, PartialEq)]
enum RepairedProblem {
    Yes,
    No,
}
use RepairedProblem::{No, Yes};

struct PlantedProblem {
    id: &'static str,
    severity: &'static str,
    /// A part of the printed fix.
    fix: &'static str,
    mended: RepairedProblem,
    plant: fn(&HealthySetup),
}

const fn fault(
    id: &'static str,
    severity: &'static str,
    fix: &'static str,
    mended: RepairedProblem,
    plant: fn(&HealthySetup),
) -> PlantedProblem {
    PlantedProblem { id, severity, fix, mended, plant }
}

#[track_caller]
fn check(healthy: &HealthySetup, fault: &PlantedProblem) {
    let PlantedProblem { id, severity, fix, mended, plant } = fault;
    assert_eq!(healthy.problems(&[]), [""; 0], "before `{id}`");
    plant(healthy);
    let report = healthy.report(&[]);
    assert_eq!(report.problems(), [*id], "{:#}", report.0);
    let finding = report.finding(id);
    assert_eq!(finding["severity"], *severity, "{finding}");
    assert!(finding["fix"].as_str().unwrap().contains(fix), "{finding}");
    assert_eq!(finding["repairable"], *mended == Yes, "{finding}");
    if *mended == No {
        return;
    }
    let report = healthy.report(&["--fix"]);
    assert_eq!(report.0["repairs"][0]["findings"], json!([id]), "{:#}", report.0);
    assert_eq!(report.0["repairs"][0]["error"], Value::Null, "{:#}", report.0);
    assert_eq!(report.problems(), [""; 0], "{:#}", report.0);
    let report = healthy.report(&["--fix"]);
    assert_eq!((report.problems().len(), &report.0["repairs"]), (0, &json!([])));
}

fn check_each(faults: &[PlantedProblem]) {
    for fault in faults {
        check(&HealthySetup::new(), fault);
    }
}

#[test]
fn faults_of_our_executables_are_found() {
    check_each(&[
        fault("executable-missing", "error", "scripts/build", No, |healthy| {
            fs::remove_file(healthy.programs().join("turnbridge-status")).unwrap();
        }),
        fault("executable-broken", "error", "scripts/build", No, |healthy| {
            healthy.replace_program(&healthy.programs().join("turnbridge-stop-gate"), "exit 1");
        }),
        fault("executable-version", "warning", "scripts/build", No, |healthy| {
            let script = "echo turnbridge-notify 9.9.9";
            healthy.replace_program(&healthy.programs().join("turnbridge-notify"), script);
        }),
        fault("state-newer", "warning", "upgrade", No, |healthy| {
            healthy.write_state("outbox/x.json", r#"{"version":2,"id":7}"#);
        }),
    ]);
}

#[test]
fn faults_of_the_hooks_are_found() {
    check_each(&[
        fault("settings-invalid", "error", "repair", No, |healthy| {
            healthy.change_settings(|text| text.replacen('{', "{ // mine\n", 1));
        }),
        fault("hooks-switched-off", "error", "disableAllHooks", No, |healthy| {
            healthy.change_settings(|text| text.replacen('{', "{\"disableAllHooks\": true, ", 1));
        }),
        fault("hooks-none", "warning", "hooks apply", No, |healthy| {
            healthy.turnbridge(&["hooks", "remove", "--yes"]);
        }),
        fault("hooks-program-missing", "error", "turnbridge hooks apply", Yes, |healthy| {
            healthy.change_settings(|text| text.replace("/programs/", "/elsewhere/"));
        }),
        fault("hooks-outdated", "warning", "turnbridge hooks apply", Yes, |healthy| {
            healthy.change_settings(|text| {
                let mut settings: Value = serde_json::from_str(text).unwrap();
                settings["hooks"].as_object_mut().unwrap().remove("Stop").unwrap();
                settings.to_string()
            });
        }),
        fault("hooks-outdated", "warning", "turnbridge hooks apply", Yes, |healthy| {
            let other = healthy.world.hermetic.root().join("elsewhere/turnbridge-status");
            healthy.replace_program(&other, "echo turnbridge-status 0.0.1");
            healthy.change_settings(|text| {
                text.replace("/programs/turnbridge-status", "/elsewhere/turnbridge-status")
            });
        }),
        fault("hooks-unseen", "note", "/hooks", No, |healthy| {
            fs::remove_dir_all(healthy.state("sessions")).unwrap();
        }),
        fault("hooks-twice", "note", "turnbridge hooks remove", No, |healthy| {
            install_plugin(healthy, "echo turnbridge-status 0.1.0");
        }),
        fault("plugin-executables-missing", "error", "scripts/build", No, |healthy| {
            healthy.turnbridge(&["hooks", "remove", "--yes"]);
            let root = install_plugin(healthy, "exit 0");
            fs::remove_dir_all(root.join("bin")).unwrap();
        }),
        fault("plugin-version", "warning", "claude plugin update turnbridge@m", No, |healthy| {
            healthy.turnbridge(&["hooks", "remove", "--yes"]);
            install_plugin(healthy, "echo turnbridge-status 0.0.9");
        }),
    ]);
}

/// Installs the plugin's files as Claude Code 2.1.197 does.
pub fn install_plugin(healthy: &HealthySetup, executable: &str) -> std::path::PathBuf {
    let folder = healthy.world.hermetic.claude_config_dir();
    let root = folder.join("plugins/cache/m/turnbridge/0.1.0");
    healthy.replace_program(&root.join("bin/turnbridge-status"), executable);
    let installed = json!({"version": 2, "plugins": {"turnbridge@m": [{"scope": "user", "installPath": root, "version": "0.1.0"}]}});
    fs::write(folder.join("plugins/installed_plugins.json"), installed.to_string()).unwrap();
    let text = fs::read_to_string(healthy.settings()).unwrap_or("{}".to_owned());
    let mut settings: Value = serde_json::from_str(&text).unwrap();
    settings["enabledPlugins"] = json!({"turnbridge@m": true});
    fs::write(healthy.settings(), settings.to_string()).unwrap();
    root
}

#[test]
fn faults_of_the_agents_and_the_voice_are_found() {
    check_each(&[
        fault("claude-too-old", "warning", "claude update", No, |healthy| {
            healthy.stand_in("claude", "echo '2.1.40 (Claude Code)'");
            healthy.turnbridge(&["hooks", "apply", "--yes"]);
        }),
        fault("claude-old", "note", "claude update", No, |healthy| {
            healthy.stand_in("claude", "echo '2.1.138 (Claude Code)'");
            healthy.turnbridge(&["hooks", "apply", "--yes"]);
        }),
        fault("claude-silent", "warning", "claude --version", No, |healthy| {
            healthy.stand_in("claude", "exit 1");
        }),
        fault("codex-no-program", "error", "resume.codex", No, |healthy| {
            healthy.change_config(|text| format!("{text}[resume]\ncodex = '/nowhere/codex'\n"));
        }),
        fault("voice-muted", "note", "voice unmute", No, |healthy| {
            healthy.turnbridge(&["voice", "mute"]);
        }),
        fault("voice-none", "note", "docs/voice.md", No, |healthy| {
            for engine in ["say", "spd-say"] {
                fs::remove_file(healthy.world.hermetic.root().join("bin").join(engine)).unwrap();
            }
        }),
    ]);
}

#[test]
fn faults_of_the_config_are_found() {
    check_each(&[
        fault("config-invalid", "error", "repair that line", No, |healthy| {
            healthy.change_config(|text| format!("{text}[voice]\nmute = yes\n"));
        }),
        fault("config-invalid", "error", "repair that line", No, |healthy| {
            healthy.change_config(|text| text.replace("xoxb-loopback-bot", "xapp-loopback-app"));
        }),
        fault("config-unknown-key", "warning", "correct the key", No, |healthy| {
            healthy.change_config(|text| format!("{text}[voice]\nspeed = 1\n"));
        }),
        fault("config-unknown-key", "warning", "correct the key", No, |healthy| {
            healthy.change_config(|text| format!("lang = \"ja\"\n{text}"));
        }),
        fault("config-exposed", "warning", "chmod 600", Yes, |healthy| {
            healthy.make_readable_by_all(&healthy.world.hermetic.config_dir().join("config.toml"));
        }),
        fault("config-untrusted", "error", "chmod 600", Yes, |healthy| {
            let file = healthy.world.hermetic.config_dir().join("config.toml");
            fs::set_permissions(file, std::os::unix::fs::PermissionsExt::from_mode(0o666)).unwrap();
        }),
        fault("slack-absent", "note", "slack.bot_token", No, |healthy| {
            healthy.world.configure("[gate]\nenabled = false\n");
        }),
        fault("slack-no-recipient", "warning", "target_user_id", No, |healthy| {
            healthy.change_config(|text| {
                text.replace("target_user_id", "enabled = false\ntarget_user_id")
            });
        }),
        fault("replies-without-token", "error", "slack.app_token", No, |healthy| {
            healthy.change_config(|text| {
                let text = text.replace("app_token = \"xapp-loopback-app\"\n", "");
                format!("{text}[features]\nreply_resume = true\n")
            });
        }),
    ]);
}

#[test]
fn faults_of_slack_are_found() {
    check_each(&[
        fault("slack-bot-token", "error", "copy the token anew", No, |healthy| {
            healthy.slack.change(|setup| setup.bot_token = "xoxb-new".to_owned());
        }),
        fault("slack-app-token", "error", "copy the token anew", No, |healthy| {
            healthy.slack.change(|setup| setup.app_token = "xapp-new".to_owned());
        }),
        fault("slack-scope", "error", "OAuth & Permissions", No, |healthy| {
            healthy.slack.change(|setup| setup.bot_scopes.retain(|scope| scope != "im:history"));
        }),
        fault("slack-scope", "error", "OAuth & Permissions", No, |healthy| {
            healthy.slack.change(|setup| setup.bot_scopes.retain(|scope| scope != "im:write"));
        }),
        fault("slack-app-scope", "error", "connections:write", No, |healthy| {
            healthy.slack.change(|setup| setup.app_scopes.clear());
        }),
        fault("slack-recipient", "error", "check the user's id", No, |healthy| {
            healthy.slack.change(|setup| setup.users.clear());
        }),
        fault("slack-messages-tab", "error", "Messages Tab", No, |healthy| {
            let error = SlackFault::Error(FaultMoment::Before, "messages_tab_disabled".to_owned());
            healthy.slack.fail("conversations.open", [error]);
        }),
        fault("slack-unreachable", "warning", "network", No, |healthy| healthy.slack.down()),
        fault("slack-unreachable", "warning", "network", No, |healthy| {
            healthy.slack.fail("*", vec![SlackFault::Hang(FaultMoment::Before); 4]);
        }),
        fault("slack-unreachable", "warning", "network", No, |healthy| {
            healthy.slack.fail("*", vec![SlackFault::Html; 4]);
        }),
    ]);
}

#[test]
fn faults_of_the_queues_are_found() {
    check_each(&[
        fault("outbox-given-up", "warning", "turnbridge outbox retry", Yes, |healthy| {
            queue_notice(healthy, "2026-01-01T00:00:00Z");
            let progress = json!({"version": 1, "held": true, "last_error": "no such user"});
            healthy.write_state("outbox/n1.progress", progress.to_string());
        }),
        fault("outbox-late", "warning", "turnbridge outbox retry", Yes, |healthy| {
            queue_notice(healthy, "2026-01-01T00:00:00Z");
        }),
        // The file of a clock that was ahead; its next attempt would be in 2038, too.
        fault("outbox-from-future", "warning", "turnbridge outbox retry", Yes, |healthy| {
            queue_notice(healthy, "2038-01-19T03:14:07Z");
            let progress = json!({"version": 1, "next_attempt_at": "2038-01-19T03:44:07Z"});
            healthy.write_state("outbox/n1.progress", progress.to_string());
        }),
        fault("outbox-unreadable", "warning", "`outbox`", No, |healthy| {
            healthy.write_state("outbox/n1.json", "{");
        }),
        fault("inbox-uncertain", "warning", "turnbridge inbox", No, |healthy| {
            receive_reply(healthy);
            healthy.write_state("inbox/r1.run", "{}");
        }),
        fault("inbox-late", "warning", "turnbridge inbox", No, receive_reply),
        fault("inbox-unreadable", "warning", "`inbox`", No, |healthy| {
            healthy.write_state("inbox/r1.json", "[]");
        }),
        fault("routes-broken", "warning", "turnbridge routes", No, |healthy| {
            healthy.write_state("routes.jsonl", "{broken\n\n");
        }),
        fault("routes-unreadable", "error", "state folder", No, |healthy| {
            healthy.write_state("routes.jsonl/x", "");
        }),
    ]);
}

fn queue_notice(healthy: &HealthySetup, created_at: &str) {
    let notice = json!({
        "version": 1, "id": "n1", "kind": "turn", "created_at": created_at, "tool": "claude",
        "session_id": "s", "prompt": "go", "answers": ["done"],
    });
    healthy.write_state("outbox/n1.json", notice.to_string());
}

fn receive_reply(healthy: &HealthySetup) {
    let reply = json!({
        "version": 1, "id": "r1", "source": "board", "ts": "1.0", "text": "go on",
        "received_at": "2026-01-01T00:00:00Z", "tool": "claude", "session_id": "s",
    });
    healthy.write_state("inbox/r1.json", reply.to_string());
}

#[test]
fn faults_of_codex_are_found() {
    check_each(&[
        fault("codex-notify-missing", "error", "codex notify apply", Yes, |healthy| {
            change_codex(healthy, |text| text.replace("/programs/", "/elsewhere/"));
        }),
        fault("codex-notify-outdated", "warning", "codex notify apply", Yes, |healthy| {
            healthy.replace_program(
                &healthy.world.hermetic.root().join("elsewhere/turnbridge"),
                "exit 0",
            );
            change_codex(healthy, |text| text.replace("/programs/", "/elsewhere/"));
        }),
        fault("codex-notify-foreign", "note", "--chain", No, |healthy| {
            fs::write(healthy.codex_config(), "notify = ['other']\n").unwrap();
        }),
        fault("codex-notify-unusable", "error", "--replace", No, |healthy| {
            fs::write(healthy.codex_config(), "notify = 'turnbridge'\n").unwrap();
        }),
        fault("codex-config-invalid", "error", "repair", No, |healthy| {
            fs::write(healthy.codex_config(), "notify = [\n").unwrap();
        }),
        fault("codex-unregistered", "note", "codex notify apply", No, |healthy| {
            healthy.turnbridge(&["codex", "notify", "remove", "--yes"]);
        }),
        fault("codex-untrusted", "warning", "/hooks", No, |healthy| {
            install_codex_plugin(healthy);
            let key = "turnbridge@m:hooks/codex.json:session_start:0:0";
            change_codex(healthy, |text| {
                format!("{text}[hooks.state.\"{key}\"]\ntrusted_hash = \"sha256:0\"\n")
            });
        }),
        fault(
            "codex-plugin-executables",
            "error",
            "codex plugin add turnbridge@m",
            No,
            |healthy| {
                fs::remove_dir_all(install_codex_plugin(healthy).join("bin")).unwrap();
            },
        ),
        fault("codex-home-missing", "warning", "codex.homes", No, |healthy| {
            healthy.change_config(|text| format!("{text}[codex]\nhomes = ['/nowhere/.codex']\n"));
        }),
        fault("codex-rollouts-unreadable", "warning", "owner", No, |healthy| {
            fs::write(healthy.world.hermetic.codex_home().join("sessions"), "").unwrap();
        }),
    ]);
}

fn change_codex(healthy: &HealthySetup, change: impl Fn(&str) -> String) {
    let text = fs::read_to_string(healthy.codex_config()).unwrap();
    let changed = change(&text);
    assert_ne!(changed, text);
    fs::write(healthy.codex_config(), changed).unwrap();
}

/// Installs the plugin's files as Codex 0.166.0 does.
fn install_codex_plugin(healthy: &HealthySetup) -> std::path::PathBuf {
    let root = healthy.world.hermetic.codex_home().join("plugins/cache/m/turnbridge/0.1.0");
    healthy.replace_program(&root.join("bin/turnbridge-status"), "exit 0");
    let repository = concat!(env!("CARGO_MANIFEST_DIR"), "/../../..");
    for file in [".codex-plugin/plugin.json", "hooks/codex.json"] {
        fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
        fs::copy(format!("{repository}/{file}"), root.join(file)).unwrap();
    }
    change_codex(healthy, |text| format!("{text}[plugins.\"turnbridge@m\"]\nenabled = true\n"));
    root
}

#[test]
fn faults_of_the_state_folder_are_found() {
    check_each(&[
        fault("state-unwritable", "error", "0700", No, |healthy| {
            fs::remove_dir_all(healthy.state("")).unwrap();
            fs::write(healthy.world.hermetic.state_dir(), "").unwrap();
            // The file's mode is a different fault.
            fs::set_permissions(
                healthy.world.hermetic.state_dir(),
                std::os::unix::fs::PermissionsExt::from_mode(0o600),
            )
            .unwrap();
        }),
        fault("state-exposed", "warning", "doctor --fix", Yes, |healthy| {
            healthy
                .make_readable_by_all(&healthy.world.session_file(crate::support::world::SESSION));
            let folder = healthy.state("sessions");
            fs::set_permissions(folder, std::os::unix::fs::PermissionsExt::from_mode(0o755))
                .unwrap();
        }),
        fault("state-untrusted", "error", "chmod -R go-rwx", Yes, |healthy| {
            let folder = healthy.state("sessions");
            fs::set_permissions(folder, std::os::unix::fs::PermissionsExt::from_mode(0o777))
                .unwrap();
        }),
        fault("state-untrusted", "error", "chmod go-w", No, |healthy| {
            let above = healthy.world.hermetic.home().join(".local");
            fs::set_permissions(above, std::os::unix::fs::PermissionsExt::from_mode(0o777))
                .unwrap();
        }),
        fault("stale-files", "note", "doctor --fix", Yes, |healthy| {
            let path = healthy.write_state("sessions/.claude-x.json.1.tmp", "");
            let file = fs::File::options().write(true).open(path).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(2 * 24 * 60 * 60)).unwrap();
            healthy.write_state("sessions/.claude-y.json.1.tmp", "still being written");
        }),
    ]);
}

/// Changes `daemon.json` as another daemon would have written it.
fn change_status(healthy: &HealthySetup, change: impl Fn(&mut Value)) {
    let mut status: Value =
        serde_json::from_slice(&fs::read(healthy.state("daemon.json")).unwrap()).unwrap();
    change(&mut status);
    healthy.write_state("daemon.json", status.to_string());
}

#[test]
fn faults_of_the_daemon_are_found() {
    let faults = [
        fault("daemon-off", "error", "turnbridge daemon", Yes, |healthy| {
            healthy.turnbridge(&["daemon", "stop"]);
        }),
        fault("daemon-version", "warning", "turnbridge daemon stop", Yes, |healthy| {
            change_status(healthy, |status| status["program_version"] = json!("0.0.1"));
        }),
        fault("daemon-mute", "warning", "turnbridge daemon stop", Yes, |healthy| {
            fs::remove_file(healthy.state("daemon.json")).unwrap();
        }),
        fault("daemon-suspended", "error", "kill -CONT", Yes, |healthy| {
            let status: Value =
                serde_json::from_slice(&fs::read(healthy.state("daemon.json")).unwrap()).unwrap();
            let pid = status["pid"].to_string();
            let stop = Command::new("kill").args(["-STOP", &pid]).status().unwrap();
            assert!(stop.success());
        }),
        fault("daemon-deaf", "warning", "turnbridge daemon stop", Yes, |healthy| {
            let off = json!({"state": "off", "reason": "no config has been read"});
            change_status(healthy, |status| status["slack"] = off.clone());
        }),
        fault("daemon-connecting", "warning", "logs daemon", No, |healthy| {
            change_status(healthy, |status| status["slack"] = json!({"state": "connecting"}));
        }),
        fault("daemon-refused", "error", "copy it", No, |healthy| {
            let refused = json!({"state": "refused", "error": "invalid_auth", "hint": "copy it"});
            change_status(healthy, |status| status["slack"] = refused.clone());
        }),
        fault("daemon-obstructed", "error", "move it away", No, |healthy| {
            let (error, hint) = ("machine.json: it is damaged", "move it away");
            let refused =
                json!({"state": "refused", "error": error, "hint": hint, "is_local": true});
            change_status(healthy, |status| status["slack"] = refused.clone());
        }),
        fault("board-port-shared", "warning", "[board] port", No, |healthy| {
            let board = fs::read(healthy.state("board.json")).unwrap();
            let mut board: Value = serde_json::from_slice(&board).unwrap();
            board["is_ipv6_taken"] = json!(true);
            healthy.write_state("board.json", board.to_string());
        }),
        fault("board-not-served", "error", "[board] port", No, |healthy| {
            let board = json!({"state": "not_served", "port": 4711, "error": "it is in use"});
            change_status(healthy, |status| status["board"] = board.clone());
        }),
        fault("slack-too-many-listeners", "warning", "an app of their own", No, |healthy| {
            change_status(healthy, |status| {
                status["slack"] = json!({"state": "connecting"});
                status["replies"] = replies(json!({"too_many_listeners": true}));
            });
        }),
        fault("replies-not-asked", "warning", "add the scope", No, |healthy| {
            let problem = json!({"problem": "missing_scope", "hint": "add the scope"});
            change_status(healthy, |status| status["replies"] = replies(problem.clone()));
        }),
    ];
    for fault in &faults {
        let healthy = HealthySetup::with_replies();
        healthy.turnbridge(&["daemon"]);
        wait_until_settled(&healthy);
        check(&healthy, fault);
    }
}

/// Waits until the daemon's status is final: it would overwrite a planted one.
#[track_caller]
fn wait_until_settled(healthy: &HealthySetup) {
    testkit::wait_until(Duration::from_secs(60), "a daemon that has caught up", || {
        let status: Value =
            serde_json::from_slice(&fs::read(healthy.state("daemon.json")).ok()?).ok()?;
        let is_connected = status["slack"]["state"] == "connected";
        let is_settled =
            status["replies"]["caught_up_at"].is_string() && status["board"].is_object();
        (is_connected && is_settled).then_some(())
    });
}

fn replies(changes: Value) -> Value {
    let machines = json!([{"name": "desk", "is_this": true}]);
    let mut status = json!({
        "machines": machines, "listeners": 1, "too_many_listeners": false,
        "asks_every_seconds": 12, "unjudged": 0,
    });
    for (name, value) in changes.as_object().unwrap() {
        status[name] = value.clone();
    }
    status
}
