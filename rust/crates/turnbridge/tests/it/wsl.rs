//! Tests `turnbridge wsl` and the options for WSL, from Windows and from inside a distribution. A
//! stand-in replaces `wsl.exe`, and folders of the test replace the distributions; Turnbridge's
//! commands are the real ones.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::{Value, json};
use testkit::{StandIn, write_program};

use crate::support::world::{World, feed, lines_of, payload};

const SETTINGS: &str = "{\r\n\t\"model\": \"opus\"\r\n}";
const OURS: [&str; 4] =
    ["turnbridge", "turnbridge-status", "turnbridge-stop-gate", "turnbridge-notify"];

/// The stand-in for `wsl.exe`: `LIST` and `RUNNING` are files with its output, `FILES` is the
/// folder of the distributions.
const WSL: &str = r#"
case "$*" in
'-l -q') exec cat 'LIST' ;;
'-l -q --running') test -s 'RUNNING' || { printf 'N\0o\0n\0e\0.\0'; exit 255; }; exec cat 'RUNNING' ;;
esac
test "$1 $3" = '-d --exec' || exit 255
files="FILES/$2"; shift 3
case $1 in
env) printf 'SHELL=/bin/sh\nHOME=/home/kim\nPATH=/opt/tools:/mnt/c/Windows\n' ;;
readlink) readlink "$files$3" || echo "$3" ;;
stat) exec stat -c %a "$files$4" ;;
chmod) mode=$2; shift 2; for file; do chmod "$mode" "$files$file" || exit; done ;;
mkdir) exec mkdir -p -m 700 "$files$5" ;;
*) program=$files$1; shift; exec "$program" "$@" ;;
esac
"#;

/// A Windows with distributions.
struct WindowsWorld {
    world: World,
    wsl: StandIn,
    files: PathBuf,
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

impl WindowsWorld {
    /// Creates a Windows: `Ubuntu` runs, `日本語` does not, and a program for containers has its own
    /// distribution.
    fn new() -> WindowsWorld {
        let world = World::new();
        let root = world.hermetic.root().to_owned();
        let (list, running, files) = (root.join("list"), root.join("running"), root.join("files"));
        fs::write(&list, utf16("\u{feff}Ubuntu\r\n日本語\r\ndocker-desktop\r\n")).unwrap();
        fs::write(&running, utf16("Ubuntu\r\ndocker-desktop\r\n")).unwrap();
        let script = WSL
            .replace("LIST", list.to_str().unwrap())
            .replace("RUNNING", running.to_str().unwrap())
            .replace("FILES", files.to_str().unwrap());
        let wsl = StandIn::new(&root.join("system32"), "wsl.exe", &script);
        let path = format!("{}:/usr/bin:/bin", root.join("system32").display());
        let world = world
            .with("PATH", &path)
            .with("TURNBRIDGE_WSL_SIDE", "windows")
            .with("TURNBRIDGE_WSL_ROOT", files.to_str().unwrap());
        let windows = WindowsWorld { world, wsl, files };
        for name in ["Ubuntu", "日本語"] {
            fs::create_dir_all(windows.file(name, "/home/kim/.claude")).unwrap();
            fs::write(windows.settings(name), SETTINGS).unwrap();
            fs::set_permissions(windows.settings(name), fs::Permissions::from_mode(0o600)).unwrap();
        }
        windows
    }

    fn with_turnbridge(self) -> WindowsWorld {
        for program in OURS {
            self.install("/home/kim/.local/bin", program, "turnbridge 0.1.0");
        }
        self
    }

    fn with(self, name: &str, value: &str) -> WindowsWorld {
        WindowsWorld { world: self.world.with(name, value), ..self }
    }

    fn file(&self, distribution: &str, path: &str) -> PathBuf {
        self.files.join(distribution).join(path.trim_start_matches('/'))
    }

    fn settings(&self, distribution: &str) -> PathBuf {
        self.file(distribution, "/home/kim/.claude/settings.json")
    }

    /// Installs a program in both distributions that prints its version.
    fn install(&self, folder: &str, name: &str, version: &str) {
        for distribution in ["Ubuntu", "日本語"] {
            let folder = self.file(distribution, folder);
            fs::create_dir_all(&folder).unwrap();
            write_program(&folder.join(name), &format!("#!/bin/sh\necho '{version}'\n"));
        }
    }

    fn tried(&self, arguments: &[&str]) -> Output {
        let mut command = self.world.command("turnbridge");
        command.args(arguments);
        feed(command, b"")
    }

    #[track_caller]
    fn refused(&self, arguments: &[&str]) -> String {
        let output = self.tried(arguments);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(output.stdout.is_empty(), "{output:?}");
        self.world.without_paths(&String::from_utf8(output.stderr).unwrap())
    }

    #[track_caller]
    fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.world.turnbridge(arguments)).unwrap()
    }

    /// Returns whether a command has run inside a distribution.
    fn has_been_asked(&self, distribution: &str) -> bool {
        self.wsl.calls().iter().any(|call| call[0] == "-d" && call[1] == distribution)
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn kt_19_distributions_are_shown_and_none_is_started_for_it() {
    let windows = WindowsWorld::new().with_turnbridge();
    let output = windows.tried(&["wsl"]);
    insta::assert_snapshot!(String::from_utf8_lossy(&output.stdout), @"
    Ubuntu: running, home `/home/kim`
      Turnbridge 0.1.0 in `/home/kim/.local/bin`
      hooks not registered in `/home/kim/.claude/settings.json`
      no Codex
    日本語: stopped, and not started to look into it
    for a terminal of Windows to hear of agents in WSL, set this variable:
      WSLENV=KAWAII_PANE_ID/u:KAWAII_NOTIFY_PATH/p:KAWAII_NOTIFY_DEBUG_PATH/p:KAWAII_TERMINAL_INSTANCE_ID/u
    ");
    let notes = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        notes,
        "note: `docker-desktop` belongs to a program for containers and is left out\n"
    );
    assert!(!windows.has_been_asked("日本語") && !windows.has_been_asked("docker-desktop"));
    windows.world.turnbridge(&["hooks", "apply", "--wsl", "Ubuntu", "--yes"]);
    fs::create_dir(windows.file("Ubuntu", "/home/kim/.codex")).unwrap();
    let shown = windows.json(&["wsl", "status", "--json"]);
    assert_eq!(shown["side"], "windows");
    assert_eq!(shown["distributions"][0]["hooks"], "yes");
    assert_eq!(shown["distributions"][0]["codex_home"], "/home/kim/.codex");
    assert_eq!(shown["distributions"][1], json!({"name": "日本語", "running": false}));

    // `wsl.exe` fails if none runs, which is no error of Turnbridge.
    fs::write(windows.world.hermetic.root().join("running"), "").unwrap();
    let shown = windows.json(&["wsl", "--json"]);
    assert_eq!(shown["distributions"][0], json!({"name": "Ubuntu", "running": false}));
}

#[test]
fn kt_19_kt_t1_hooks_are_applied_in_a_distribution_and_given_back_byte_for_byte() {
    let windows = WindowsWorld::new().with_turnbridge();
    let hooks = |action: &[&str]| {
        let arguments = [&["hooks"], action, &["--wsl", "日本語"]].concat();
        windows.world.turnbridge(&arguments)
    };
    let said = hooks(&["apply", "--yes"]);
    assert!(said.ends_with("take it up after `/hooks` or a restart\n"), "{said}");
    let text = fs::read_to_string(windows.settings("日本語")).unwrap();
    let applied: Value = serde_json::from_str(&text).unwrap();
    let hook = &applied["hooks"]["SessionStart"][0]["hooks"][0];
    assert_eq!(hook["command"], "/home/kim/.local/bin/turnbridge-status");
    assert_eq!(hook["args"], json!(["--origin", "settings"]));
    let gate = &applied["hooks"]["Stop"][0]["hooks"][0]["command"];
    assert_eq!(gate, "/home/kim/.local/bin/turnbridge-stop-gate");
    assert!(!text.contains(".exe") && !text.contains(windows.files.to_str().unwrap()));

    assert!(hooks(&["status"]).starts_with("registered in "));
    assert!(hooks(&[]).starts_with("registered in "), "without a command");
    assert!(hooks(&["apply", "--yes"]).ends_with("is as it should be\n"));
    hooks(&["remove", "--yes"]);
    assert_eq!(fs::read_to_string(windows.settings("日本語")).unwrap(), SETTINGS);
    fs::write(windows.settings("日本語"), "{}").unwrap();
    hooks(&["restore", "--yes"]);
    assert_eq!(fs::read_to_string(windows.settings("日本語")).unwrap(), SETTINGS);

    // No other settings were touched.
    assert_eq!(fs::read_to_string(windows.settings("Ubuntu")).unwrap(), SETTINGS);
    assert!(!windows.world.hermetic.claude_config_dir().join("settings.json").exists());
}

/// Files that Windows creates there are readable by all users.
#[test]
fn a_file_of_a_distribution_gets_its_mode_from_inside() {
    let windows = WindowsWorld::new().with_turnbridge();
    windows.world.turnbridge(&["hooks", "apply", "--wsl", "ubuntu", "--yes"]);
    let backup = windows.settings("Ubuntu").with_file_name("settings.json.bak");
    assert_eq!((mode(&windows.settings("Ubuntu")), mode(&backup)), (0o600, 0o600));
    let settings = "/home/kim/.claude/settings.json";
    let expected = ["-d", "Ubuntu", "--exec", "chmod", "600", settings];
    let backup = format!("{settings}.bak");
    let expected: Vec<&str> = expected.into_iter().chain([backup.as_str()]).collect();
    assert!(windows.wsl.calls().iter().any(|call| *call == expected), "{:?}", windows.wsl.calls());
    let calls = windows.wsl.calls().len();
    windows.world.turnbridge(&["hooks", "remove", "--wsl", "Ubuntu", "--dry-run"]);
    let later = windows.wsl.calls().split_off(calls);
    assert!(later.iter().all(|call| !call.contains(&"chmod".to_owned())), "{later:?}");
}

/// Windows cannot follow a link to a path of Linux.
#[test]
fn a_link_in_a_distribution_is_followed_from_inside_and_stays_one() {
    let windows = WindowsWorld::new().with_turnbridge();
    let real = windows.file("Ubuntu", "/home/kim/dotfiles/settings.json");
    fs::create_dir(real.parent().unwrap()).unwrap();
    fs::rename(windows.settings("Ubuntu"), &real).unwrap();
    symlink("/home/kim/dotfiles/settings.json", windows.settings("Ubuntu")).unwrap();
    windows.world.turnbridge(&["hooks", "apply", "--wsl", "Ubuntu", "--yes"]);
    assert!(fs::read_to_string(&real).unwrap().contains("turnbridge-status"));
    assert!(windows.settings("Ubuntu").is_symlink());
    windows.world.turnbridge(&["hooks", "remove", "--wsl", "Ubuntu", "--yes"]);
    assert_eq!(fs::read_to_string(&real).unwrap(), SETTINGS);
}

#[test]
fn without_our_linux_programs_nothing_is_registered_in_a_distribution() {
    let windows = WindowsWorld::new();
    let apply = ["hooks", "apply", "--wsl", "Ubuntu", "--yes"];
    insta::assert_snapshot!(windows.refused(&apply), @"
    error: there is no Turnbridge for Linux in `Ubuntu`
    hint: inside `Ubuntu`, put the four programs of the Linux release into `~/.local/bin`, then run this again; a program of Windows cannot serve an agent of Linux
    ");
    // Executables of Windows do not count, under any name; an incomplete set does not count either.
    for program in OURS {
        windows.install("/home/kim/bin", &format!("{program}.exe"), "turnbridge 0.1.0");
        let folder = windows.file("Ubuntu", "/opt/tools");
        fs::create_dir_all(&folder).unwrap();
        // This file could even be executed.
        write_program(&folder.join(program), "MZ=1; echo 'turnbridge 0.1.0'\n");
    }
    windows.install("/home/kim/.local/bin", "turnbridge-status", "turnbridge 0.1.0");
    windows.refused(&apply);
    windows.refused(&["codex", "notify", "apply", "--wsl", "Ubuntu", "--yes"]);
    assert_eq!(fs::read_to_string(windows.settings("Ubuntu")).unwrap(), SETTINGS);
    assert!(!windows.file("Ubuntu", "/home/kim/.codex").exists());

    // The programs are found elsewhere on the distribution's PATH.
    OURS.iter().for_each(|program| windows.install("/opt/tools", program, "turnbridge 9.8.7"));
    let output = windows.tried(&apply);
    let notes = String::from_utf8_lossy(&output.stderr);
    assert_eq!(notes, "note: the Turnbridge in `Ubuntu` is another one: 9.8.7\n");
    assert!(fs::read_to_string(windows.settings("Ubuntu")).unwrap().contains("\"/opt/tools/turnb"));
}

#[test]
fn an_older_claude_code_in_a_distribution_gets_command_lines() {
    let windows = WindowsWorld::new().with_turnbridge();
    windows.install("/usr/local/bin", "claude", "2.1.138 (Claude Code)");
    windows.world.turnbridge(&["hooks", "apply", "--wsl", "Ubuntu", "--yes"]);
    let text = fs::read_to_string(windows.settings("Ubuntu")).unwrap();
    assert!(text.contains("turnbridge-status --origin settings\"") && !text.contains("\"args\""));
}

#[test]
fn slv_64_codex_of_a_distribution_calls_the_turnbridge_there_and_the_one_behind_it() {
    let windows = WindowsWorld::new().with_turnbridge();
    let config = windows.file("Ubuntu", "/home/kim/.codex/config.toml");
    let before = "notify = ['beep'] # mine\n";
    fs::create_dir(config.parent().unwrap()).unwrap();
    fs::write(&config, before).unwrap();
    let notify = |action: &[&str]| {
        let arguments = [&["codex", "notify"], action, &["--wsl", "Ubuntu"]].concat();
        windows.world.turnbridge(&arguments)
    };
    notify(&["apply", "--chain", "--yes"]);
    assert_eq!(
        fs::read_to_string(&config).unwrap(),
        "notify = [\"/home/kim/.local/bin/turnbridge\", \"notify\", \"--tool\", \"codex\"] # mine\n"
    );
    // The file is where the distribution's Turnbridge looks for it, and closed to its other users.
    let state = windows.file("Ubuntu", "/home/kim/.local/state/turnbridge");
    let chain: Value =
        serde_json::from_slice(&fs::read(state.join("codex-notify.json")).unwrap()).unwrap();
    assert_eq!((&chain["argv"], mode(&state)), (&json!(["beep"]), 0o700));
    assert!(!windows.world.hermetic.state_dir().join("codex-notify.json").exists());
    let shown: Value = serde_json::from_str(&notify(&["status", "--json"])).unwrap();
    assert_eq!((&shown["notify"], &shown["chained"]), (&json!("registered"), &json!(["beep"])));
    notify(&["remove", "--yes"]);
    assert_eq!(fs::read_to_string(&config).unwrap(), before);
    assert!(!state.join("codex-notify.json").exists());
}

#[test]
fn kt_18_the_codex_of_distributions_joins_the_homes_once_and_no_token_is_shown() {
    let windows = WindowsWorld::new();
    let config = windows.world.hermetic.config_dir().join("config.toml");
    let before =
        "[codex]\nhomes = [\n  '/srv/codex', # mine\n]\n\n[slack]\nbot_token = 'xoxb-1-2-abc'\n";
    windows.world.configure(before);
    for name in ["Ubuntu", "日本語"] {
        fs::create_dir(windows.file(name, "/home/kim/.codex")).unwrap();
    }
    let shown = windows.tried(&["wsl", "codex-homes", "--dry-run"]);
    let notes = String::from_utf8_lossy(&shown.stderr);
    assert_eq!(notes, "note: `日本語` is stopped and was not asked; name it to have it started\n");
    let shown = windows.world.without_paths(&String::from_utf8(shown.stdout).unwrap());
    assert!(shown.contains("\n+[codex] homes: ~/files/Ubuntu/home/kim/.codex\n"), "{shown}");
    assert!(!shown.contains("xoxb") && !windows.has_been_asked("日本語"));
    assert_eq!(fs::read_to_string(&config).unwrap(), before);
    let output = windows.tried(&["wsl", "codex-homes"]);
    assert_eq!(output.status.code(), Some(1), "nobody was there to ask");
    assert_eq!(fs::read_to_string(&config).unwrap(), before);

    windows.world.turnbridge(&["wsl", "codex-homes", "--yes"]);
    windows.world.turnbridge(&["wsl", "codex-homes", "日本語", "Ubuntu", "--yes"]);
    let text = windows.world.without_paths(&fs::read_to_string(&config).unwrap());
    insta::assert_snapshot!(text, @r#"
    [codex]
    homes = [
      '/srv/codex', # mine
      "~/files/Ubuntu/home/kim/.codex",
      "~/files/日本語/home/kim/.codex",
    ]

    [slack]
    bot_token = 'xoxb-1-2-abc'
    "#);
    let said = windows.world.turnbridge(&["wsl", "codex-homes", "Ubuntu", "--yes"]);
    assert!(said.ends_with("is as it should be\n"), "{said}");
    let shown = windows.json(&["wsl", "--json"]);
    assert_eq!(shown["distributions"][0]["codex_followed"], true);
}

#[test]
fn a_name_that_could_lead_elsewhere_reaches_no_program_and_no_path() {
    let windows = WindowsWorld::new().with_turnbridge();
    for name in ["../Ubuntu", "a\\b", "--shutdown", "..", "a\nb", ""] {
        let option = format!("--wsl={name}");
        let said = windows.refused(&["hooks", "apply", &option, "--yes"]);
        assert!(said.contains("is no name of a distribution"), "{said}");
    }
    assert!(windows.wsl.calls().is_empty());
    insta::assert_snapshot!(windows.refused(&["hooks", "--wsl", "Debian"]), @"
    error: there is no distribution `Debian`
    hint: there are `Ubuntu`, `日本語`, `docker-desktop`
    ");
    insta::assert_snapshot!(windows.refused(&["hooks", "--wsl", "docker-desktop"]), @"
    error: `docker-desktop` belongs to a program for containers
    hint: name the distribution that you work in; `turnbridge wsl` lists them
    ");
    // The output of `wsl.exe` is not trusted either.
    fs::write(windows.world.hermetic.root().join("list"), utf16("..\r\nUbuntu\r\n")).unwrap();
    let output = windows.tried(&["wsl"]);
    assert!(output.status.success());
    let notes = String::from_utf8_lossy(&output.stderr);
    assert_eq!(notes, "note: \"..\" is no name of a distribution; it is left out\n");
}

#[test]
fn a_wsl_exe_that_hangs_fails_or_is_missing_is_told() {
    let windows = WindowsWorld::new().with("TURNBRIDGE_WSL_TIMEOUT_MS", "300");
    let script = |answer: &str| {
        StandIn::new(windows.wsl.program().parent().unwrap(), "wsl.exe", answer);
    };
    script("exec sleep 600");
    insta::assert_snapshot!(windows.refused(&["wsl"]), @"
    error: `wsl.exe` did not answer within 300ms
    hint: `wsl --shutdown` ends a WSL that hangs, with all that runs in it
    ");
    let windows = windows.with("TURNBRIDGE_WSL_TIMEOUT_MS", "30000");
    StandIn::new(
        windows.wsl.program().parent().unwrap(),
        "wsl.exe",
        r"printf 'N\0o\0t\0 \0h\0e\0r\0e\0.\0\r\0\r\0\n\0'; exit 255",
    );
    insta::assert_snapshot!(windows.refused(&["wsl"]), @"
    error: `wsl.exe` lists no distribution: Not here.
    hint: `wsl --install` adds a distribution, `wsl --status` says more
    ");
    fs::remove_file(windows.wsl.program()).unwrap();
    for arguments in [&["wsl"][..], &["hooks", "--wsl", "Ubuntu"], &["wsl", "codex-homes"]] {
        insta::allow_duplicates! {
            insta::assert_snapshot!(windows.refused(arguments), @"
            error: there is no `wsl.exe` on this machine
            hint: `wsl --install` in Windows adds WSL
            ");
        }
    }
}

/// A distribution that does not start gives no data.
#[test]
fn a_distribution_that_does_not_answer_does_not_hide_the_others() {
    let windows = WindowsWorld::new().with_turnbridge();
    fs::write(windows.world.hermetic.root().join("running"), utf16("Ubuntu\n日本語\n")).unwrap();
    fs::remove_dir_all(windows.files.join("Ubuntu")).unwrap();
    let shown = windows.json(&["wsl", "--json"]);
    let problem = "the files of `Ubuntu` cannot be reached";
    assert_eq!(shown["distributions"][0]["problem"], problem);
    assert_eq!(shown["distributions"][1]["home"], "/home/kim");
}

/// Creates a world inside a distribution whose files are in a folder of the test.
fn inside(wsl_conf: &str) -> (World, PathBuf) {
    let world = World::new();
    let root = world.hermetic.root().join("distribution");
    for folder in ["etc", "proc/sys/fs/binfmt_misc"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    fs::write(root.join("etc/wsl.conf"), wsl_conf).unwrap();
    let binfmt = "enabled\ninterpreter /init\nflags: PF\n";
    fs::write(root.join("proc/sys/fs/binfmt_misc/WSLInterop"), binfmt).unwrap();
    let world = world
        .with("PATH", "/nowhere")
        .with("TURNBRIDGE_WSL_SIDE", "inside")
        .with("TURNBRIDGE_WSL_ROOT", root.to_str().unwrap())
        .with("WSL_DISTRO_NAME", "Ubuntu")
        .with("WSLENV", "WT_SESSION::KAWAII_NOTIFY_PATH/up");
    (world, root)
}

#[test]
fn kt_31_x44_inside_wsl_the_line_for_windows_is_printed_with_what_is_there() {
    let (world, _) = inside("");
    insta::assert_snapshot!(world.turnbridge(&["wsl"]), @"
    inside WSL, distribution `Ubuntu`
    programs of Windows can be run
    nothing here can speak
    for a terminal of Windows to hear of agents here, set this in Windows:
      WSLENV=WT_SESSION:KAWAII_NOTIFY_PATH/up:KAWAII_PANE_ID/u:KAWAII_NOTIFY_DEBUG_PATH/p:KAWAII_TERMINAL_INSTANCE_ID/u
    ");
    let line = "WSLENV=KAWAII_PANE_ID/u:KAWAII_NOTIFY_PATH/p:KAWAII_NOTIFY_DEBUG_PATH/p\
        :KAWAII_TERMINAL_INSTANCE_ID/u\n";
    let world = world.with("WSLENV", "");
    assert_eq!(world.turnbridge(&["wsl", "wslenv"]), line);
    assert_eq!(world.with("TURNBRIDGE_WSL_SIDE", "windows").turnbridge(&["wsl", "wslenv"]), line);
}

/// `appendWindowsPath=false` keeps the folders of Windows out of the PATH.
#[cfg(not(target_os = "macos"))]
#[test]
fn inside_wsl_windows_speaks_also_when_the_path_does_not_lead_there() {
    for (wsl_conf, drives) in [("", "mnt"), ("[automount]\nroot = /windir\n", "windir")] {
        let (world, root) = inside(wsl_conf);
        let folder = root.join(drives).join("c/Windows/System32/WindowsPowerShell/v1.0");
        fs::create_dir_all(&folder).unwrap();
        write_program(&folder.join("powershell.exe"), "#!/bin/sh\n");
        let shown: Value = serde_json::from_str(&world.turnbridge(&["wsl", "--json"])).unwrap();
        assert_eq!(shown["engine"]["name"], "powershell.exe");
        assert_eq!(shown["engine"]["path"], folder.join("powershell.exe").to_str().unwrap());
        let voice: Value =
            serde_json::from_str(&world.turnbridge(&["voice", "status", "--json"])).unwrap();
        assert_eq!(voice["engine"], shown["engine"]);
    }
}

#[test]
fn other_distributions_are_for_windows_to_reach() {
    let (world, _) = inside("");
    let world = world.with("TURNBRIDGE_WSL_SIDE", "elsewhere");
    let output = world.command("turnbridge").arg("wsl").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    insta::assert_snapshot!(String::from_utf8_lossy(&output.stderr), @"
    error: this is neither Windows nor WSL
    hint: run it in Windows, or inside a distribution
    ");
    let world = world.with("TURNBRIDGE_WSL_SIDE", "inside");
    let output = world.command("turnbridge").args(["hooks", "--wsl", "Debian"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    insta::assert_snapshot!(String::from_utf8_lossy(&output.stderr), @"
    error: distributions of WSL are reached from Windows only
    hint: inside a distribution, run the command without `--wsl` for that one
    ");
}

/// `WSLENV` has changed `C:\…` to `/mnt/c/…` before a hook reads it (KT-20): a path like any other.
#[test]
fn kt_t4_a_path_that_wslenv_has_changed_is_appended_to() {
    let world = World::new();
    let folder = world.hermetic.root().join("mnt/c/Users/Kim K/AppData/Local/Kawaii Terminal");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("notify-1.jsonl");
    fs::write(&path, "{\"before\":1}\n").unwrap();
    let world = world
        .with("KAWAII_NOTIFY_PATH", path.to_str().unwrap())
        .with("KAWAII_PANE_ID", "pane-1")
        .with("WSL_DISTRO_NAME", "Ubuntu");
    world.status(&payload("UserPromptSubmit", json!({"prompt": "x"})));
    let lines = lines_of(&fs::read_to_string(&path).unwrap());
    assert_eq!((lines.len(), &lines[0]["before"]), (2, &json!(1)));
    assert_eq!((&lines[1]["event"], &lines[1]["pane_id"]), (&json!("working"), &json!("pane-1")));
}
