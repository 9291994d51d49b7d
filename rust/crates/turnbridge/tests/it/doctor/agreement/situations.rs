//! The situations and their truth.

use std::fs;
use std::net::TcpListener;
use std::process::Command;

use serde_json::{Value, json};
use testkit::wait_until;

use super::{PATIENCE, UNSAID, Words, daemon};
use crate::doctor::clinic::{CONFIG, Clinic};
use crate::doctor::faults::install_plugin;

/// No daemon, and a gate that no hook calls.
const NOTHING: Words = Words { daemon: "none", board: "none", gate: "off", ..UNSAID };
const RUNS: Words =
    Words { daemon: "runs", config: "file", board: "served", slack: "off", gate: "off" };
const ASKED: Words = Words { gate: "on", ..NOTHING };

pub struct Situation {
    pub name: &'static str,
    pub plant: fn(&Clinic) -> Option<TcpListener>,
    pub truth: Words,
}

const fn situation(
    name: &'static str,
    truth: Words,
    plant: fn(&Clinic) -> Option<TcpListener>,
) -> Situation {
    Situation { name, plant, truth }
}

/// Registers the gate, and does not switch it off.
fn open_gate(clinic: &Clinic) {
    clinic.change_config(|text| text.replace("[gate]\nenabled = false\n", ""));
    clinic.turnbridge(&["hooks", "apply", "--gate", "--yes"]);
}

fn want_replies(clinic: &Clinic) {
    clinic.change_config(|text| format!("{text}[features]\nreply_resume = true\n"));
}

fn start_until(clinic: &Clinic, slack: &str) {
    clinic.turnbridge(&["daemon"]);
    wait_until(PATIENCE, slack, || {
        (daemon(clinic)["daemon"]["slack"]["state"] == slack).then_some(())
    });
}

fn signal(clinic: &Clinic, signal: &str) {
    let pid = daemon(clinic)["daemon"]["pid"].to_string();
    assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
}

fn kill(clinic: &Clinic) {
    signal(clinic, "-KILL");
    wait_until(PATIENCE, "its end", || (daemon(clinic)["running"] == false).then_some(()));
    assert!(clinic.state("daemon.json").exists() && clinic.state("board.json").exists());
}

fn take_port(clinic: &Clinic) -> TcpListener {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    clinic.change_config(|text| format!("{text}[board]\nport = {port}\n"));
    taken
}

fn write_settings(clinic: &Clinic, key: &str, value: &Value) {
    clinic.change_settings(|text| {
        let mut settings: Value = serde_json::from_str(text).unwrap();
        settings[key] = value.clone();
        settings.to_string()
    });
}

pub fn daemons() -> Vec<Situation> {
    vec![
        situation("nothing runs", NOTHING, |_| None),
        situation("it runs without replies", RUNS, |clinic| {
            start_until(clinic, "off");
            None
        }),
        situation("it hears replies", Words { slack: "connected", ..RUNS }, |clinic| {
            want_replies(clinic);
            start_until(clinic, "connected");
            None
        }),
        situation(
            "suspended",
            Words { daemon: "suspended", config: "-", board: "none", slack: "-", gate: "off" },
            |clinic| {
                start_until(clinic, "off");
                signal(clinic, "-STOP");
                wait_until(PATIENCE, "it", || (daemon(clinic)["suspended"] == true).then_some(()));
                None
            },
        ),
        situation("started with a wrong config", Words { config: "none", ..RUNS }, |clinic| {
            clinic.change_config(|text| format!("{text}[voice]\nmute = 7\n"));
            start_until(clinic, "off");
            None
        }),
        situation("started with a config of others", Words { config: "none", ..RUNS }, |clinic| {
            let file = clinic.world.hermetic.config_dir().join("config.toml");
            fs::set_permissions(file, std::os::unix::fs::PermissionsExt::from_mode(0o666)).unwrap();
            start_until(clinic, "off");
            None
        }),
        situation(
            "the config has become wrong",
            Words { config: "older", slack: "connected", ..RUNS },
            |clinic| {
                want_replies(clinic);
                start_until(clinic, "connected");
                clinic.change_config(|text| format!("{text}[voice]\nmute = 7\n"));
                wait_until(PATIENCE, "the refusal", || {
                    daemon(clinic)["daemon"]["config_problem"].is_object().then_some(())
                });
                None
            },
        ),
        situation("a wrong config was mended", RUNS, |clinic| {
            clinic.change_config(|text| format!("{text}[voice]\nmute = 7\n"));
            start_until(clinic, "off");
            clinic.world.configure(CONFIG);
            wait_until(PATIENCE, "the config", || {
                daemon(clinic)["daemon"]["config_problem"].is_null().then_some(())
            });
            None
        }),
        situation("killed", NOTHING, |clinic| {
            start_until(clinic, "off");
            kill(clinic);
            None
        }),
        situation("the port is taken", Words { board: "none", ..RUNS }, |clinic| {
            let taken = take_port(clinic);
            start_until(clinic, "off");
            Some(taken)
        }),
        situation("killed, and the port is taken", Words { board: "none", ..RUNS }, |clinic| {
            start_until(clinic, "off");
            kill(clinic);
            let taken = take_port(clinic);
            start_until(clinic, "off");
            Some(taken)
        }),
        situation("Slack refuses it", Words { slack: "refused", ..RUNS }, |clinic| {
            want_replies(clinic);
            clinic.slack.change(|setup| setup.app_token = "xapp-new".to_owned());
            start_until(clinic, "refused");
            None
        }),
        situation("Slack is out of reach", Words { slack: "connecting", ..RUNS }, |clinic| {
            want_replies(clinic);
            clinic.slack.down();
            start_until(clinic, "connecting");
            None
        }),
        situation(
            "it says nothing of itself",
            Words { config: "-", slack: "-", ..RUNS },
            |clinic| {
                start_until(clinic, "off");
                fs::remove_file(clinic.state("daemon.json")).unwrap();
                None
            },
        ),
    ]
}

pub fn gates() -> Vec<Situation> {
    vec![
        situation("the hooks ask the gate", ASKED, |clinic| {
            open_gate(clinic);
            None
        }),
        situation("with `--no-gate`", NOTHING, |clinic| {
            open_gate(clinic);
            clinic.turnbridge(&["hooks", "apply", "--yes"]);
            None
        }),
        situation("no hook", NOTHING, |clinic| {
            open_gate(clinic);
            clinic.turnbridge(&["hooks", "remove", "--yes"]);
            None
        }),
        situation("the hook's program is gone", NOTHING, |clinic| {
            open_gate(clinic);
            clinic.change_settings(|text| text.replace("/programs/", "/elsewhere/"));
            None
        }),
        situation("all hooks are off", NOTHING, |clinic| {
            open_gate(clinic);
            write_settings(clinic, "disableAllHooks", &json!(true));
            None
        }),
        situation("the settings cannot be read", NOTHING, |clinic| {
            open_gate(clinic);
            clinic.change_settings(|text| text.replacen('{', "{ // mine\n", 1));
            None
        }),
        situation("off in config.toml", NOTHING, |clinic| {
            open_gate(clinic);
            clinic.turnbridge(&["gate", "off"]);
            None
        }),
        situation("off in cvi's config", NOTHING, |clinic| {
            open_gate(clinic);
            let folder = clinic.world.hermetic.home().join(".cvi");
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("config"), "CVI_ENABLED=off\n").unwrap();
            None
        }),
        situation("in the sandbox", NOTHING, |clinic| {
            open_gate(clinic);
            write_settings(clinic, "sandbox", &json!({"enabled": true}));
            None
        }),
        situation("by the plugin, and with `--no-gate`", ASKED, |clinic| {
            open_gate(clinic);
            clinic.turnbridge(&["hooks", "apply", "--yes"]);
            install_plugin(clinic, "echo turnbridge-status 0.1.0");
            None
        }),
        situation("off by the plugin's option", NOTHING, |clinic| {
            open_gate(clinic);
            clinic.turnbridge(&["hooks", "remove", "--yes"]);
            install_plugin(clinic, "echo turnbridge-status 0.1.0");
            let options = json!({"turnbridge@m": {"options": {"gate": false}}});
            write_settings(clinic, "pluginConfigs", &options);
            None
        }),
    ]
}
