//! Lists the situations in which the commands must agree: how each is constructed, and its true
//! state.

use std::fs;
use std::net::TcpListener;
use std::process::Command;

use serde_json::{Value, json};
use testkit::wait_until;

use super::{AgreementRow, TIMEOUT, UNSAID, daemon};
use crate::doctor::faults::install_plugin;
use crate::doctor::healthy_setup::{CONFIG, HealthySetup};

/// No daemon, and a gate that no hook calls.
const NOTHING: AgreementRow = AgreementRow { daemon: "none", board: "none", gate: "off", ..UNSAID };
const RUNS: AgreementRow =
    AgreementRow { daemon: "runs", config: "file", board: "served", slack: "off", gate: "off" };
const ASKED: AgreementRow = AgreementRow { gate: "on", ..NOTHING };

/// A situation, and its true state.
pub struct Situation {
    pub name: &'static str,
    /// Constructs it. Returns a port that must stay taken during the test, if there is one.
    pub plant: fn(&HealthySetup) -> Option<TcpListener>,
    pub truth: AgreementRow,
}

const fn situation(
    name: &'static str,
    truth: AgreementRow,
    plant: fn(&HealthySetup) -> Option<TcpListener>,
) -> Situation {
    Situation { name, plant, truth }
}

/// Registers the gate, and does not switch it off.
fn open_gate(healthy: &HealthySetup) {
    healthy.change_config(|text| text.replace("[gate]\nenabled = false\n", ""));
    healthy.turnbridge(&["hooks", "apply", "--gate", "--yes"]);
}

fn want_replies(healthy: &HealthySetup) {
    healthy.change_config(|text| format!("{text}[features]\nreply_resume = true\n"));
}

fn start_until(healthy: &HealthySetup, slack: &str) {
    healthy.turnbridge(&["daemon"]);
    wait_until(TIMEOUT, slack, || {
        (daemon(healthy)["daemon"]["slack"]["state"] == slack).then_some(())
    });
}

fn signal(healthy: &HealthySetup, signal: &str) {
    let pid = daemon(healthy)["daemon"]["pid"].to_string();
    assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
}

fn kill(healthy: &HealthySetup) {
    signal(healthy, "-KILL");
    wait_until(TIMEOUT, "its end", || (daemon(healthy)["running"] == false).then_some(()));
    assert!(healthy.state("daemon.json").exists() && healthy.state("board.json").exists());
}

fn take_port(healthy: &HealthySetup) -> TcpListener {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    healthy.change_config(|text| format!("{text}[board]\nport = {port}\n"));
    taken
}

fn write_settings(healthy: &HealthySetup, key: &str, value: &Value) {
    healthy.change_settings(|text| {
        let mut settings: Value = serde_json::from_str(text).unwrap();
        settings[key] = value.clone();
        settings.to_string()
    });
}

/// Returns the situations that differ in the daemon.
pub fn daemons() -> Vec<Situation> {
    vec![
        situation("nothing runs", NOTHING, |_| None),
        situation("it runs without replies", RUNS, |healthy| {
            start_until(healthy, "off");
            None
        }),
        situation("it hears replies", AgreementRow { slack: "connected", ..RUNS }, |healthy| {
            want_replies(healthy);
            start_until(healthy, "connected");
            None
        }),
        situation(
            "suspended",
            AgreementRow {
                daemon: "suspended",
                config: "-",
                board: "none",
                slack: "-",
                gate: "off",
            },
            |healthy| {
                start_until(healthy, "off");
                signal(healthy, "-STOP");
                wait_until(TIMEOUT, "it", || (daemon(healthy)["suspended"] == true).then_some(()));
                None
            },
        ),
        situation(
            "started with a wrong config",
            AgreementRow { config: "none", ..RUNS },
            |healthy| {
                healthy.change_config(|text| format!("{text}[voice]\nmute = 7\n"));
                start_until(healthy, "off");
                None
            },
        ),
        situation(
            "started with a config of others",
            AgreementRow { config: "none", ..RUNS },
            |healthy| {
                let file = healthy.world.hermetic.config_dir().join("config.toml");
                fs::set_permissions(file, std::os::unix::fs::PermissionsExt::from_mode(0o666))
                    .unwrap();
                start_until(healthy, "off");
                None
            },
        ),
        situation(
            "the config has become wrong",
            AgreementRow { config: "older", slack: "connected", ..RUNS },
            |healthy| {
                want_replies(healthy);
                start_until(healthy, "connected");
                healthy.change_config(|text| format!("{text}[voice]\nmute = 7\n"));
                wait_until(TIMEOUT, "the refusal", || {
                    daemon(healthy)["daemon"]["config_problem"].is_object().then_some(())
                });
                None
            },
        ),
        situation("a wrong config was mended", RUNS, |healthy| {
            healthy.change_config(|text| format!("{text}[voice]\nmute = 7\n"));
            start_until(healthy, "off");
            healthy.world.configure(CONFIG);
            wait_until(TIMEOUT, "the config", || {
                daemon(healthy)["daemon"]["config_problem"].is_null().then_some(())
            });
            None
        }),
        situation("killed", NOTHING, |healthy| {
            start_until(healthy, "off");
            kill(healthy);
            None
        }),
        situation("the port is taken", AgreementRow { board: "none", ..RUNS }, |healthy| {
            let taken = take_port(healthy);
            start_until(healthy, "off");
            Some(taken)
        }),
        situation(
            "killed, and the port is taken",
            AgreementRow { board: "none", ..RUNS },
            |healthy| {
                start_until(healthy, "off");
                kill(healthy);
                let taken = take_port(healthy);
                start_until(healthy, "off");
                Some(taken)
            },
        ),
        situation("Slack refuses it", AgreementRow { slack: "refused", ..RUNS }, |healthy| {
            want_replies(healthy);
            healthy.slack.change(|setup| setup.app_token = "xapp-new".to_owned());
            start_until(healthy, "refused");
            None
        }),
        situation(
            "Slack is out of reach",
            AgreementRow { slack: "connecting", ..RUNS },
            |healthy| {
                want_replies(healthy);
                healthy.slack.down();
                start_until(healthy, "connecting");
                None
            },
        ),
        situation(
            "it says nothing of itself",
            AgreementRow { config: "-", slack: "-", ..RUNS },
            |healthy| {
                start_until(healthy, "off");
                fs::remove_file(healthy.state("daemon.json")).unwrap();
                None
            },
        ),
    ]
}

/// Returns the situations that differ in the gate.
pub fn gates() -> Vec<Situation> {
    vec![
        situation("the hooks ask the gate", ASKED, |healthy| {
            open_gate(healthy);
            None
        }),
        situation("with `--no-gate`", NOTHING, |healthy| {
            open_gate(healthy);
            healthy.turnbridge(&["hooks", "apply", "--yes"]);
            None
        }),
        situation("no hook", NOTHING, |healthy| {
            open_gate(healthy);
            healthy.turnbridge(&["hooks", "remove", "--yes"]);
            None
        }),
        situation("the hook's program is gone", NOTHING, |healthy| {
            open_gate(healthy);
            healthy.change_settings(|text| text.replace("/programs/", "/elsewhere/"));
            None
        }),
        situation("all hooks are off", NOTHING, |healthy| {
            open_gate(healthy);
            write_settings(healthy, "disableAllHooks", &json!(true));
            None
        }),
        situation("the settings cannot be read", NOTHING, |healthy| {
            open_gate(healthy);
            healthy.change_settings(|text| text.replacen('{', "{ // mine\n", 1));
            None
        }),
        situation("off in config.toml", NOTHING, |healthy| {
            open_gate(healthy);
            healthy.turnbridge(&["gate", "off"]);
            None
        }),
        situation("off in cvi's config", NOTHING, |healthy| {
            open_gate(healthy);
            let folder = healthy.world.hermetic.home().join(".cvi");
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("config"), "CVI_ENABLED=off\n").unwrap();
            None
        }),
        situation("in the sandbox", NOTHING, |healthy| {
            open_gate(healthy);
            write_settings(healthy, "sandbox", &json!({"enabled": true}));
            None
        }),
        situation("by the plugin, and with `--no-gate`", ASKED, |healthy| {
            open_gate(healthy);
            healthy.turnbridge(&["hooks", "apply", "--yes"]);
            install_plugin(healthy, "echo turnbridge-status 0.1.0");
            None
        }),
        situation("off by the plugin's option", NOTHING, |healthy| {
            open_gate(healthy);
            healthy.turnbridge(&["hooks", "remove", "--yes"]);
            install_plugin(healthy, "echo turnbridge-status 0.1.0");
            let options = json!({"turnbridge@m": {"options": {"gate": false}}});
            write_settings(healthy, "pluginConfigs", &options);
            None
        }),
    ]
}
