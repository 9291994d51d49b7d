//! Tests `turnbridge service` with stand-ins for `launchctl`, `systemctl`, `loginctl` and
//! `schtasks`, which record their calls and keep state. The submodules test each manager and failed
//! installations.

mod launchd;
mod rollback;
mod systemd;
mod task_scheduler;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::{Value, json};
use testkit::StandIn;

use crate::support::world::World;

const CONFIG: &str = "# mine\n[features]\nreply_resume = true\n";

/// Files in `$state` are its memory, and the faults that it shall produce once.
const SYSTEMCTL: &str = r#"
[ -e "$state/$2.hangs" ] && exec sleep 600
[ -e "$state/$2.fails" ] && { rm "$state/$2.fails"; echo "$2: that did  not work" >&2; exit 4; }
case "$2" in
    enable) touch "$state/enabled" "$state/active" ;;
    disable) rm -f "$state/enabled" "$state/active" ;;
    show) if [ -e "$state/odd" ]; then cat "$state/odd"; exit; fi
        [ -e "$unit" ] && echo LoadState=loaded || echo LoadState=not-found
        [ -e "$state/enabled" ] && echo UnitFileState=enabled || echo UnitFileState=disabled
        [ -e "$state/active" ] && printf 'ActiveState=active\nMainPID=4711\n' || echo ActiveState=inactive ;;
esac"#;

/// A service that was booted out is `ending` for two more attempts, as launchd's are.
const LAUNCHCTL: &str = r#"
[ -e "$state/$1.fails" ] && { rm "$state/$1.fails"; echo "$1: that did not work" >&2; exit 112; }
case "$1" in
    bootstrap) [ -e "$state/ending" ] && { rm "$state/ending"; echo 'Bootstrap failed: 5: Input/output error' >&2; exit 5; }
        cp "$3" "$state/active" ;;
    bootout) [ -e "$state/active" ] || { echo 'Boot-out failed: 3: No such process' >&2; exit 3; }
        rm "$state/active"; touch "$state/ending"; exit 36 ;;
    print) [ -e "$state/odd" ] && { cat "$state/odd"; exit; }
        [ -e "$state/active" ] || { echo 'Could not find service' >&2; exit 113; }
        printf 'gui/x = {\n\tactive count = 1\n\tstate = running\n\n\tpid = 4711\n\tendpoints = {\n\t\tstate = idle\n\t}\n}\n' ;;
esac"#;

const SCHTASKS: &str = r#"
[ -e "$state/$1.fails" ] && { rm "$state/$1.fails"; echo "$1: that did not work" >&2; exit 1; }
[ "$1" = /Create ] && { cp "$5" "$state/task"; exit; }
[ -e "$state/task" ] || { echo 'FEHLER: Das System kann die angegebene Datei nicht finden.' >&2; exit 1; }
case "$1" in
    /Run) touch "$state/active" ;;
    /End) rm "$state/active" ;;
    /Delete) rm "$state/task" ;;
    /Query) [ -e "$state/active" ] && result=267009 || result=267011
        printf '"PC","\\Turnbridge\\Daemon","Nicht zutreffend","?","x, y","16.11.2026 18:00:00","%s","user"\r\n' "$result" ;;
esac"#;

struct Managed {
    world: World,
    programs: Vec<StandIn>,
}

impl Managed {
    fn new(manager: &str) -> Managed {
        let world = World::new();
        world.configure(CONFIG);
        let root = world.hermetic.root().to_owned();
        let bin = root.join("bin");
        fs::create_dir_all(root.join("manager")).unwrap();
        // Every Mac has these folders.
        for folder in ["Library/LaunchAgents", "Library/Logs"] {
            fs::create_dir_all(world.hermetic.home().join(folder)).unwrap();
        }
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        let managed = Managed { world, programs: Vec::new() };
        let unit = managed.unit();
        let start = |script: &str| {
            let state = root.join("manager");
            format!("state='{}'; unit='{}'\n{script}", state.display(), unit.display())
        };
        let stand_in = |name: &str, script: &str| StandIn::new(&bin, name, &start(script));
        let programs = match manager {
            "systemd" => vec![
                stand_in("systemctl", SYSTEMCTL),
                stand_in("loginctl", "cat \"$state/linger\" 2>/dev/null || echo Linger=yes"),
            ],
            "launchd" => vec![stand_in("launchctl", LAUNCHCTL)],
            _ => vec![stand_in("schtasks", SCHTASKS)],
        };
        StandIn::new(&root.join("agents"), "claude", "");
        let path = format!("{path}:{}", root.join("agents").display());
        let world = managed
            .world
            .with("PATH", &path)
            .with("USERNAME", "user")
            .with("USERDOMAIN", "DESK&TOP")
            .with("TURNBRIDGE_SERVICE_MANAGER", manager);
        Managed { world, programs }
    }

    fn unit(&self) -> PathBuf {
        self.world.hermetic.home().join(".config/systemd/user/turnbridge.service")
    }

    fn plist(&self) -> PathBuf {
        self.world.hermetic.home().join("Library/LaunchAgents/dev.turnbridge.daemon.plist")
    }

    fn task(&self) -> PathBuf {
        self.world.hermetic.state_dir().join("daemon.task.xml")
    }

    /// Writes a file for the stand-ins.
    fn plant(&self, name: &str, text: &str) {
        fs::write(self.planted(name), text).unwrap();
    }

    fn planted(&self, name: &str) -> PathBuf {
        self.world.hermetic.root().join("manager").join(name)
    }

    #[track_caller]
    fn service(&self, action: &str) -> String {
        self.world.without_paths(&self.world.turnbridge(&["service", action]))
    }

    fn tried(&self, action: &str) -> Output {
        self.world.command("turnbridge").args(["service", action]).output().unwrap()
    }

    /// Returns the output of a command that must fail.
    #[track_caller]
    fn refused(&self, action: &str) -> String {
        let output = self.tried(action);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        self.world.without_paths(&String::from_utf8(output.stderr).unwrap())
    }

    #[track_caller]
    fn status(&self) -> Value {
        let shown = self.world.turnbridge(&["service", "status", "--json"]);
        let mut status: Value = serde_json::from_str(&shown).unwrap();
        status["definition"].take();
        status
    }

    /// Returns the manager's calls since the last query, without status queries.
    fn orders(&self) -> Vec<String> {
        let calls = self.calls().into_iter();
        calls
            .filter(|call| !["show", "print", "/Query"].iter().any(|word| call.contains(word)))
            .collect()
    }

    /// The same with the status queries.
    fn calls(&self) -> Vec<String> {
        let mut calls = Vec::new();
        for program in &self.programs {
            calls.extend(
                program.calls().iter().map(|call| self.world.without_paths(&call.join(" "))),
            );
            let record = program.program().with_extension("calls");
            let _ = fs::remove_file(record);
        }
        calls
    }

    fn config(&self) -> String {
        fs::read_to_string(self.world.hermetic.config_dir().join("config.toml")).unwrap()
    }

    /// Returns every file and folder of the home that a service could have left.
    fn home(&self) -> Vec<String> {
        let mut found = Vec::new();
        list(&self.world.hermetic.home(), &mut found);
        found.sort();
        let home = self.world.hermetic.home();
        let name = |path: &PathBuf| path.strip_prefix(&home).unwrap().display().to_string();
        let is_of_others = |name: &String| {
            let ours = [".config/turnbridge", ".local/state/turnbridge"];
            !ours.iter().any(|folder| name.starts_with(folder)) || name.contains("task")
        };
        found.iter().map(name).filter(is_of_others).collect()
    }

    fn is_daemon_running(&self) -> bool {
        let shown = self.world.turnbridge(&["daemon", "status", "--json"]);
        serde_json::from_str::<Value>(&shown).unwrap()["running"] == true
    }
}

/// A daemon started by hand; a drop ends it.
struct ByHand<'a>(&'a Managed);

impl ByHand<'_> {
    #[track_caller]
    fn start(managed: &Managed) -> ByHand<'_> {
        managed.world.turnbridge(&["daemon"]);
        assert!(managed.is_daemon_running());
        ByHand(managed)
    }
}

impl Drop for ByHand<'_> {
    fn drop(&mut self) {
        let _ = self.0.world.command("turnbridge").args(["daemon", "stop"]).output();
    }
}

fn list(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            list(&path, found);
        }
        found.push(path);
    }
}

fn user_id() -> String {
    let output = std::process::Command::new("id").arg("-u").output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

const ALL: [&str; 3] = ["launchd", "systemd", "task-scheduler"];

#[test]
fn a_service_is_installed_once_and_leaves_nothing() {
    for manager in ALL {
        let managed = Managed::new(manager);
        let before = managed.home();
        assert_eq!(
            managed.status(),
            json!({"version": 1, "manager": manager, "definition": null, "installed": false, "current": false,
                "running": false, "pid": null, "note": null})
        );
        managed.service("install");
        let status = managed.status();
        for key in ["installed", "current", "running"] {
            assert_eq!(status[key], true, "{manager}: {key}");
        }
        let config = format!("{CONFIG}service_enabled = true\n");
        assert_eq!(managed.config(), config, "{manager}");

        // A second call writes nothing, and restarts no process.
        let home = managed.home();
        managed.orders();
        managed.service("install");
        assert_eq!(managed.orders(), Vec::<String>::new(), "{manager}");
        assert_eq!((managed.home(), managed.config()), (home, config), "{manager}");

        assert_eq!(managed.service("uninstall"), "the service is gone\n", "{manager}");
        assert_eq!(managed.home(), before, "{manager}");
        assert_eq!(managed.config(), format!("{CONFIG}service_enabled = false\n"));
        assert_eq!(managed.status()["installed"], false);
        managed.orders();
        assert_eq!(managed.service("uninstall"), "no service is installed\n");
        assert_eq!(managed.orders(), Vec::<String>::new(), "{manager}");
    }
}

#[test]
fn a_definition_is_private_and_without_tokens() {
    use std::os::unix::fs::PermissionsExt;
    for manager in ALL {
        let mut managed = Managed::new(manager);
        managed.world = managed
            .world
            .with("ANTHROPIC_API_KEY", "sk-secret")
            .with("SLACK_BOT_TOKEN", "xoxb-secret")
            .with("HTTPS_PROXY", "http://user:pass@proxy:8080");
        managed.service("install");
        let path = match manager {
            "systemd" => managed.unit(),
            "launchd" => managed.plist(),
            _ => managed.task(),
        };
        let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).replace('\0', "");
        assert!(!text.contains("secret"), "SLV-95: {text}");
        assert_eq!(text.contains("user:pass@proxy"), manager != "task-scheduler", "{text}");
        assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

/// SLV-25.
#[test]
fn slv_88_x25_a_service_that_could_not_work_is_refused() {
    for manager in ALL {
        let managed = Managed::new(manager);
        let before = managed.home();
        managed.world.configure("[features]\nreply_resume = false\n");
        insta::allow_duplicates! {
            insta::assert_snapshot!(managed.refused("install"), @"
            error: `features.reply_resume` is off
            hint: set `reply_resume = true` under `[features]` in `config.toml`: the service is there for replies, from Slack or from the board
            ");
        }
        managed.world.configure("[features]\nreply_resume = 7\n");
        insta::allow_duplicates! {
            insta::assert_snapshot!(managed.refused("install"), @"
            error: could not read `CONFIG/config.toml`: `features.reply_resume` must be `true` or `false` at line 2, column 16
            hint: the file was left as it was; repair that line
            ");
        }
        assert_eq!(managed.home(), before, "{manager}");
        assert_eq!(managed.orders(), Vec::<String>::new(), "{manager}");
    }
}

#[test]
fn slv_92_without_our_own_program_there_is_no_service() {
    let managed = Managed::new("systemd");
    // Under another name it does not find itself.
    let renamed = managed.world.hermetic.root().join("renamed");
    let program = env!("CARGO_BIN_EXE_turnbridge");
    fs::hard_link(program, &renamed).or_else(|_| fs::copy(program, &renamed).map(drop)).unwrap();
    let mut command = managed.world.command("turnbridge");
    let variables: Vec<_> = command
        .get_envs()
        .map(|(name, value)| (name.to_owned(), value.unwrap().to_owned()))
        .collect();
    command = managed.world.hermetic.command(&renamed);
    let output = command.envs(variables).args(["service", "install"]).output().unwrap();
    let said = managed.world.without_paths(&String::from_utf8(output.stderr).unwrap());
    insta::assert_snapshot!(said, @"
    error: `~/turnbridge` is missing
    hint: run `scripts/build`, or unpack a release over this folder
    ");
    assert!(!managed.unit().exists());
    assert_eq!(managed.config(), CONFIG);
}

#[test]
fn what_makes_the_config_invalid_is_switched_off_with_the_service() {
    for (key, after) in [("service_enabled", ""), ("launchd_enabled", "service_enabled = false\n")]
    {
        let managed = Managed::new("systemd");
        managed.service("install");
        managed.world.configure(&format!("[features]\nreply_resume = false\n{key} = true\n"));
        managed.service("uninstall");
        let value = if after.is_empty() { "false" } else { "true" };
        let expected = format!("[features]\nreply_resume = false\n{key} = {value}\n{after}");
        assert_eq!(managed.config(), expected);
        managed.world.turnbridge(&["gate", "on"]);
    }
}

#[test]
fn where_there_is_no_manager_the_daemon_is_started_by_hand() {
    let world = World::new();
    world.configure(CONFIG);
    let bin = world.hermetic.root().join("bin");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let world = world.with("PATH", &path);
    if !cfg!(target_os = "linux") {
        return testkit::skipped("only Linux may have no service manager");
    }
    StandIn::new(&bin, "systemctl", "echo 'Failed to connect to bus' >&2; exit 1");
    let status: Value = serde_json::from_str(&world.turnbridge(&["service", "--json"])).unwrap();
    assert_eq!((&status["manager"], &status["installed"]), (&Value::Null, &json!(false)));
    for action in ["install", "restart"] {
        let output = world.command("turnbridge").args(["service", action]).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        insta::allow_duplicates! {
            insta::assert_snapshot!(String::from_utf8(output.stderr).unwrap(), @"
            error: no systemd of yours answers here
            hint: `turnbridge daemon` starts it by hand, until you log out
            ");
        }
    }
    // A service installed earlier is still removed.
    let unit = world.hermetic.home().join(".config/systemd/user/turnbridge.service");
    fs::create_dir_all(unit.with_file_name("default.target.wants")).unwrap();
    fs::write(&unit, "[Service]\n").unwrap();
    let wanted = unit.with_file_name("default.target.wants").join("turnbridge.service");
    std::os::unix::fs::symlink(&unit, &wanted).unwrap();
    assert_eq!(world.turnbridge(&["service", "uninstall"]), "the service is gone\n");
    assert!(!world.hermetic.home().join(".config/systemd").exists());

    StandIn::new(&bin, "systemctl", "echo Version=252");
    let status: Value = serde_json::from_str(&world.turnbridge(&["launchd", "--json"])).unwrap();
    assert_eq!(status["manager"], "systemd", "`launchd` is another name of `service`");
}

#[test]
fn a_daemon_that_was_started_by_hand_makes_way() {
    for manager in ALL {
        let managed = Managed::new(manager);
        let _daemon = ByHand::start(&managed);
        let said = managed.service("install");
        assert!(said.starts_with("the daemon has stopped\ninstalled `~/home/"), "{said}");
        assert!(!managed.is_daemon_running(), "{manager}");
    }
}
