//! Tests `turnbridge shell-init` in real shells, each in a real terminal: it reports agents, keeps
//! the user's own hooks and prompt, and starts no process for an ordinary prompt. A shell that is
//! not installed is skipped with a message.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use testkit::{
    Codex, Hermetic, ModelReply, ResponsesApi, StandIn, Tmux, read_rollout, skipped, wait_until,
};

use crate::support::world::World;

const TIMEOUT: Duration = Duration::from_secs(60);
const THREAD: &str = "925c8529-ee09-4cb8-8902-dd785b12ca0a";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TestShell {
    Bash,
    Zsh,
    Fish,
}

impl TestShell {
    const fn name(self) -> &'static str {
        match self {
            TestShell::Bash => "bash",
            TestShell::Zsh => "zsh",
            TestShell::Fish => "fish",
        }
    }

    fn is_here(self) -> bool {
        let is_here = Command::new(self.name()).arg("--version").output().is_ok()
            && Command::new("tmux").arg("-V").output().is_ok();
        if !is_here {
            skipped(&format!("`{}` or `tmux` is not installed", self.name()));
        }
        is_here
    }

    /// Starts it in a terminal, with the user's start-up file `before` followed by Turnbridge's.
    fn start(self, world: &World, before: &str, script: &str) -> Tmux {
        let root = world.hermetic.root();
        let startup = root.join("startup");
        fs::create_dir_all(&startup).unwrap();
        let ours = startup.join("ours");
        fs::write(&ours, script).unwrap();
        // Twice: a reload must not install it twice.
        let source = match self {
            TestShell::Fish => format!("cat '{}' | source\n", ours.display()),
            _ => format!("eval \"$(cat '{}')\"\n", ours.display()),
        };
        let text = format!("{before}\n{source}{source}");
        let mut command = world.hermetic.command(self.name());
        match self {
            TestShell::Bash => {
                let file = startup.join("bashrc");
                fs::write(&file, format!("PS1='ready> '\n{text}")).unwrap();
                command.arg("--noprofile").arg("--rcfile").arg(file).arg("-i");
            }
            TestShell::Zsh => {
                fs::write(startup.join(".zshrc"), format!("PS1='ready> '\n{text}")).unwrap();
                command.args(["-d", "-i"]).env("ZDOTDIR", &startup);
            }
            TestShell::Fish => {
                let folder = world.hermetic.home().join(".config/fish");
                fs::create_dir_all(&folder).unwrap();
                fs::write(folder.join("config.fish"), format!("set -g fish_greeting\n{text}"))
                    .unwrap();
                command.arg("-i");
            }
        }
        let path = std::env::var("PATH").unwrap();
        let own = PathBuf::from(env!("CARGO_BIN_EXE_turnbridge"));
        let own = own.parent().unwrap().display();
        command.env("PATH", format!("{}:{own}:{path}", root.join("bin").display()));
        let tmux = Tmux::start(&world.hermetic, &command);
        tmux.wait_for("ready>", TIMEOUT);
        tmux
    }
}

fn enter(tmux: &Tmux, line: &str) {
    tmux.send_text(line);
    tmux.send_key("Enter");
}

fn script(world: &World, shell: TestShell) -> String {
    world.turnbridge(&["shell-init", shell.name()])
}

/// Installs a Codex that begins a thread like the real one, calls the hook, and waits for input.
/// The hook finds no pane: only the launch binds it.
fn be_codex(hermetic: &Hermetic) {
    let answer = r#"
thread=$2
if [ -z "$thread" ]; then
  number=$(cat "$HOME/number" 2>/dev/null || echo 0)
  number=$((number + 1))
  echo $number > "$HOME/number"
  thread=a25c8529-ee09-4cb8-8902-00000000000$number
fi
folder=$CODEX_HOME/sessions/2026/11/16
mkdir -p "$folder"
file=$folder/rollout-2026-11-16T10-00-00-$thread.jsonl
# The moment of its launch: no `date` that is everywhere counts milliseconds.
at=$(sed 's/.*"launched_at":"\([^"]*\)".*/\1/' "$XDG_STATE_HOME/turnbridge/panes.json")
[ -e "$file" ] || printf '{"timestamp":"%s","type":"session_meta","payload":{"id":"%s","cwd":"%s","source":"cli"}}\n' "$at" "$thread" "$(pwd -P)" > "$file"
printf '{"session_id":"%s","transcript_path":"%s","hook_event_name":"UserPromptSubmit","prompt":"x"}' "$thread" "$file" |
  env -u TMUX -u TMUX_PANE turnbridge-status --tool codex --origin settings
echo "codex-$$-runs"
while read line; do
  if [ "$line" = exit ]; then exit 5; fi
done
"#;
    StandIn::new(&hermetic.root().join("bin"), "codex", answer);
}

fn panes(world: &World) -> Vec<(String, String)> {
    let list: Value = serde_json::from_str(&world.turnbridge(&["pane", "list", "--json"])).unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let row = |pane: &Value| (text(&pane["pane"]), text(&pane["session_id"]));
    list["panes"].as_array().unwrap().iter().map(row).collect()
}

fn wait_for_thread(world: &World, thread: &str) {
    let (pane, _) = wait_until(TIMEOUT, &format!("{thread} in its pane"), || {
        panes(world).into_iter().find(|(_, session)| session == thread)
    });
    // The server's socket is part of the name.
    let root = world.hermetic.root().display().to_string();
    assert!(pane.starts_with(&format!("tmux:{root}/")) && pane.ends_with(":%0"), "{pane}");
    assert_eq!(state(world, thread), "working");
}

fn wait_for_nothing(world: &World, thread: &str) {
    wait_until(TIMEOUT, "an empty registry", || panes(world).is_empty().then_some(()));
    assert_eq!(state(world, thread), "stopped");
}

fn state(world: &World, thread: &str) -> Value {
    let sessions = world.sessions();
    let session = sessions.iter().find(|session| session["session_id"] == thread);
    session.map_or(Value::Null, |session| session["state"].clone())
}

/// Returns the pid of the Codex on the screen.
fn codex_pid(tmux: &Tmux, is_other: impl Fn(&str) -> bool) -> String {
    let found = |screen: &str| {
        let pids = screen.split("codex-").filter_map(|rest| Some(rest.split_once("-runs")?.0));
        pids.filter(|pid| is_other(pid)).last().map(str::to_owned)
    };
    let screen = tmux.wait_for_screen(TIMEOUT, "a codex", |screen| found(screen).is_some());
    found(&screen).unwrap()
}

fn agents_are_bound_and_stopped(shell: TestShell) {
    if !shell.is_here() {
        return;
    }
    let world = World::new();
    be_codex(&world.hermetic);
    let before = match shell {
        TestShell::Fish => "function fish_prompt; echo 'ready> '; end",
        _ => "",
    };
    let tmux = shell.start(&world, before, &script(&world, shell));
    let is_new = |seen: Vec<String>| move |pid: &str| !seen.iter().any(|old| old == pid);
    let mut seen = Vec::new();

    // Ctrl-C.
    enter(&tmux, &format!("codex resume {THREAD}"));
    seen.push(codex_pid(&tmux, is_new(seen.clone())));
    wait_for_thread(&world, THREAD);
    tmux.send_key("C-c");
    wait_for_nothing(&world, THREAD);

    // It is killed.
    let thread = "a25c8529-ee09-4cb8-8902-000000000001";
    enter(&tmux, "A=1 command codex");
    seen.push(codex_pid(&tmux, is_new(seen.clone())));
    wait_for_thread(&world, thread);
    let pid = seen.last().unwrap();
    kill(pid);
    wait_for_nothing(&world, thread);

    // It ends by itself.
    let thread = "a25c8529-ee09-4cb8-8902-000000000002";
    enter(&tmux, "codex");
    seen.push(codex_pid(&tmux, is_new(seen.clone())));
    wait_for_thread(&world, thread);
    enter(&tmux, "exit");
    wait_for_nothing(&world, thread);

    // Its terminal is closed.
    let thread = "a25c8529-ee09-4cb8-8902-000000000003";
    enter(&tmux, "codex");
    codex_pid(&tmux, is_new(seen.clone()));
    wait_for_thread(&world, thread);
    drop(tmux);
    wait_for_nothing(&world, thread);
}

#[test]
fn kt_55_67_72_bash_tells_of_agents() {
    agents_are_bound_and_stopped(TestShell::Bash);
}

#[test]
fn kt_55_67_72_zsh_tells_of_agents() {
    agents_are_bound_and_stopped(TestShell::Zsh);
}

#[test]
fn kt_55_67_72_fish_tells_of_agents() {
    agents_are_bound_and_stopped(TestShell::Fish);
}

fn kill(pid: &str) {
    assert!(Command::new("kill").args(["-9", pid]).status().unwrap().success());
}

/// Returns the foreground process of a shell.
fn child_of(parent: u32) -> String {
    let listed = Command::new("ps").args(["-axo", "ppid=,pid="]).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let parent = parent.to_string();
    let pid = |line: &str| {
        let mut words = line.split_whitespace();
        words.next().filter(|of| *of == parent).and(words.next()).map(str::to_owned)
    };
    listed.lines().find_map(pid).expect("a child of the shell")
}

#[test]
fn kt_69_the_real_codex_is_bound_to_the_pane_that_it_was_launched_in() {
    let Some(codex) = Codex::find() else {
        return skipped("the pinned `codex` is not in `tests/codex`; `scripts/test` installs it");
    };
    if !TestShell::Bash.is_here() {
        return;
    }
    let world = World::new();
    let api = ResponsesApi::start(vec![ModelReply::text("It is done.")]);
    let command = codex.command(&world.hermetic, &api);
    let is_proxy = |name: &str| name.ends_with("_PROXY");
    let variables = command.get_envs().filter_map(|(name, value)| {
        let (name, value) = (name.to_str()?, value?.to_str()?);
        is_proxy(name).then(|| format!("export {name}='{value}'\n"))
    });
    let before: String = variables.collect();
    let bin = world.hermetic.root().join("bin");
    fs::create_dir_all(&bin).unwrap();
    std::os::unix::fs::symlink(codex.program(), bin.join("codex")).unwrap();
    let tmux = TestShell::Bash.start(&world, &before, &script(&world, TestShell::Bash));
    enter(&tmux, "codex 'look around'");
    tmux.wait_for("It is done.", TIMEOUT);
    let rollouts = codex.rollouts(&world.hermetic);
    let thread = read_rollout(&rollouts[0])[0]["payload"]["id"].as_str().unwrap().to_owned();
    let shown = wait_until(TIMEOUT, "its thread in the pane", || {
        Some(panes(&world)).filter(|panes| panes.iter().any(|(_, id)| *id == thread))
    });
    assert_eq!(shown.len(), 1, "{shown:?}");
    // Not by typing: Codex treats fast input as pasted text, and its line break too.
    kill(&child_of(tmux.pid()));
    wait_until(TIMEOUT, "an empty registry", || panes(&world).is_empty().then_some(()));
    // Its update check, which the loopback proxy refused.
    let is_stray = |stray: &String| *stray != "CONNECT raw.githubusercontent.com:443";
    assert_eq!(api.strays().into_iter().find(is_stray), None);
}

/// Uses a stand-in for Turnbridge: an ordinary prompt starts no process, and the user's own hooks
/// still run.
fn users_own_hooks_go_on(shell: TestShell, before: &str, alias: &str) {
    if !shell.is_here() {
        return;
    }
    let world = World::new();
    let bin = world.hermetic.root().join("bin");
    let turnbridge = StandIn::new(&bin, "stand in", "exit 0");
    StandIn::new(&bin, "codex", "echo codex-ran; exit 3");
    let script = script(&world, shell).replace(
        &format!("'{}'", env!("CARGO_BIN_EXE_turnbridge")),
        &format!("'{}'", turnbridge.program().display()),
    );
    let folder = world.hermetic.project().join("d é%x");
    fs::create_dir(&folder).unwrap();
    let tmux = shell.start(&world, before, &script);
    enter(&tmux, "sh -c 'exit 7'");
    tmux.wait_for("user-prompt 7", TIMEOUT);
    let status = if shell == TestShell::Fish { "$status" } else { "$?" };
    enter(&tmux, &format!("echo \"status <{status}>\""));
    tmux.wait_for("status <7>", TIMEOUT);
    enter(&tmux, "cd 'd é%x'");
    enter(&tmux, "echo codex-in-a-word codexx > /dev/null");
    enter(&tmux, "echo done-$PWD");
    let screen = tmux.wait_for("done-/", TIMEOUT);
    assert!(shell == TestShell::Fish || screen.contains("user-preexec"), "{screen}");
    assert!(turnbridge.calls().is_empty(), "{:?}", turnbridge.calls());
    wait_until(TIMEOUT, "the folder, as the shell tells it", || {
        let told = tmux.run(&["display-message", "-p", "#{pane_path}"]);
        told.trim().ends_with("/project/d%20%C3%A9%25x").then_some(())
    });
    // An agent by another name, in shells that resolve aliases.
    enter(&tmux, alias);
    tmux.wait_for("codex-ran", TIMEOUT);
    tmux.wait_for("user-prompt 3", TIMEOUT);
    enter(&tmux, "echo after-$PWD");
    tmux.wait_for("after-/", TIMEOUT);
    let calls = turnbridge.calls();
    assert_eq!(calls.len(), 2, "{calls:?}");
    assert_eq!(calls[0][..3], ["pane", "launch", "--line"]);
    assert_eq!(calls[0][3].trim(), "codex resume 'a b'");
    assert_eq!(calls[1], ["pane", "prompt"]);
}

#[test]
fn bash_keeps_the_users_prompt_command_and_debug_trap() {
    let before = "set -u
alias cx=\"codex resume\"
PROMPT_COMMAND='echo \"user-prompt $?\"'
trap 'echo \"user-preexec $BASH_COMMAND\" >> \"$HOME/trapped\"; [ -s \"$HOME/trapped\" ] && echo user-preexec' DEBUG";
    users_own_hooks_go_on(TestShell::Bash, before, "cx 'a b'");
}

#[test]
fn bash_without_hooks_of_the_users_own_keeps_its_status() {
    let before = "PROMPT_COMMAND=('echo \"user-prompt $?\"'); alias cx='codex resume'
PS0='user-preexec '";
    users_own_hooks_go_on(TestShell::Bash, before, "cx 'a b'");
}

#[test]
fn zsh_keeps_the_users_hooks() {
    let before = "setopt nounset
alias cx='codex resume'
precmd() { echo \"user-prompt $?\" }
preexec() { echo \"user-preexec $1\" }";
    users_own_hooks_go_on(TestShell::Zsh, before, "cx 'a b'");
}

#[test]
fn fish_keeps_the_users_prompt() {
    let before = "function fish_prompt; echo \"user-prompt $status\"; echo 'ready> '; end";
    users_own_hooks_go_on(TestShell::Fish, before, "codex resume 'a b'");
}

#[test]
fn a_shell_that_runs_a_script_gets_nothing() {
    let world = World::new();
    for (shell, test) in [
        (TestShell::Bash, "source ./ours; type __turnbridge_prompt 2>/dev/null || echo nothing"),
        (TestShell::Zsh, "source ./ours; whence -w __turnbridge_precmd >/dev/null || echo nothing"),
        (TestShell::Fish, "source ./ours; functions -q __turnbridge_prompt; or echo nothing"),
    ] {
        if !shell.is_here() {
            continue;
        }
        fs::write(world.hermetic.project().join("ours"), script(&world, shell)).unwrap();
        let output = world.hermetic.command(shell.name()).args(["-c", test]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "nothing\n", "{shell:?}: {output:?}");
    }
}

#[test]
fn powershell_tells_of_agents_where_it_exists() {
    if Command::new("pwsh").arg("-Version").output().is_err() {
        skipped("`pwsh` is not installed");
        return;
    }
    let world = World::new();
    let bin = world.hermetic.root().join("bin");
    let turnbridge = StandIn::new(&bin, "stand in", "exit 0");
    let script = world.turnbridge(&["shell-init", "powershell"]).replace(
        &format!("'{}'", env!("CARGO_BIN_EXE_turnbridge")),
        &format!("'{}'", turnbridge.program().display()),
    );
    let ours = world.hermetic.root().join("ours.ps1");
    let test =
        "__TurnbridgeLaunch 'vim x'; __TurnbridgeLaunch 'codex \"a b\"'; $null = prompt; prompt";
    fs::write(&ours, format!("{script}\n{script}\n{test}\n")).unwrap();
    let output =
        world.hermetic.command("pwsh").args(["-NoProfile", "-File"]).arg(&ours).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let calls = turnbridge.calls();
    assert_eq!(calls[0], ["pane", "launch", "--syntax", "powershell", "--line", "-"]);
    assert_eq!(calls[1..], [["pane", "prompt"]]);
}
