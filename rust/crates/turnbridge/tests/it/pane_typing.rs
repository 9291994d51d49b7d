//! Tests `resume.live = "pane"`: a reply is typed into the terminal of an open Claude, and never
//! into another program, such as the shell behind a suspended Claude or an editor that it has
//! opened. tmux and the shell are real; Claude is a script that calls the hooks and reads lines.

#![cfg(unix)]

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use testkit::{StandIn, Tmux, skipped, wait_until};
use turnbridge_store::process::identify;

use crate::support::world::{SESSION, World, payload};

const TIMEOUT: Duration = Duration::from_secs(60);
const REPLY: &str = "01a1e18e-2062-79f1-b187-979e8f997b9c";

/// A terminal in which a shell has started the agent.
struct AgentPane {
    world: World,
    tmux: Tmux,
    daemon: Child,
}

impl AgentPane {
    fn start() -> Option<AgentPane> {
        AgentPane::start_with("claude")
    }

    /// Starts it. `line` is the shell's command.
    fn start_with(line: &str) -> Option<AgentPane> {
        if Command::new("tmux").arg("-V").output().is_err()
            || Command::new("bash").arg("--version").output().is_err()
        {
            skipped("`tmux` or `bash` is not installed");
            return None;
        }
        let world = World::new();
        world.configure("[resume]\nlive = \"pane\"\n[gate]\nenabled = false\n");
        let bin = world.hermetic.root().join("bin");
        StandIn::new(&bin, "claude", &agent(&world));
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        let mut shell = world.hermetic.command("bash");
        shell.args(["--norc", "--noprofile", "-i"]).env("PATH", &path).env("PS1", "shell> ");
        let tmux = Tmux::start(&world.hermetic, &shell);
        tmux.wait_for("shell>", TIMEOUT);
        tmux.send_text(line);
        tmux.send_key("Enter");
        tmux.wait_for("agent is ready", TIMEOUT);
        let mut daemon = world.command("turnbridge");
        daemon.env("PATH", path).args(["daemon", "--foreground"]).stdin(Stdio::null());
        let daemon = daemon.spawn().unwrap();
        Some(AgentPane { world, tmux, daemon })
    }

    fn file(&self, name: &str) -> PathBuf {
        self.world.hermetic.project().join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).unwrap_or_default()
    }

    /// Presses Ctrl-Z. The terminal is then as a real Claude leaves it: Ctrl-S, which is pressed
    /// before a reply is pasted, only stops the shell's output.
    fn suspend(&self) {
        self.tmux.send_key("C-z");
        self.tmux.wait_for("Stopped", TIMEOUT);
        self.tmux.send_text("stty ixon; touch suspended");
        self.tmux.send_key("Enter");
        wait_until(TIMEOUT, "the shell", || self.file("suspended").exists().then_some(()));
    }

    /// Types a command for the shell, which it runs behind earlier input. Ctrl-Q first resumes an
    /// output that Ctrl-S has stopped.
    fn ask_shell(&self, command: &str) {
        self.tmux.send_key("C-q");
        self.tmux.send_text(&format!("{command}; touch asked"));
        self.tmux.send_key("Enter");
        wait_until(TIMEOUT, "the shell", || self.file("asked").exists().then_some(()));
        fs::remove_file(self.file("asked")).unwrap();
    }

    fn bin(&self) -> PathBuf {
        self.world.hermetic.root().join("bin")
    }

    /// Returns tmux's data about the agent's pane.
    fn tmux_says(&self, format: &str) -> String {
        self.tmux.run(&["display-message", "-p", format]).trim().to_owned()
    }

    /// Waits until the runner has queried `terminal` so often that it would have typed the reply.
    fn wait_until_asked(&self, terminal: &StandIn, word: &str) {
        wait_until(TIMEOUT, "the runner's questions", || {
            let calls = terminal.calls();
            let asked = calls.iter().filter(|call| call.iter().any(|one| one == word)).count();
            (asked > 4 || self.shown()["state"] == "finished").then_some(())
        });
    }

    /// Replies, and waits until the runner has read the screen so often that it would have typed.
    fn wait_while_it_looks(&self, text: &str) {
        let program = tmux_program();
        let asked = StandIn::new(&self.bin(), "tmux", &format!("exec '{program}' \"$@\""));
        self.reply(text);
        self.wait_until_asked(&asked, "capture-pane");
        assert_ne!(self.shown()["state"], "finished", "{}", self.tmux.screen());
    }

    /// Sends a reply like the board.
    fn reply(&self, text: &str) {
        let reply = json!({
            "version": 1, "id": REPLY, "source": "board", "ts": "1700000001.000200", "text": text,
            "received_at": "2026-01-01T00:00:00.000000Z", "tool": "claude",
            "session_id": SESSION, "cwd": self.world.hermetic.project(),
        });
        let folder = self.world.hermetic.state_dir().join("inbox");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("new"), reply.to_string()).unwrap();
        fs::rename(folder.join("new"), folder.join(format!("{REPLY}.json"))).unwrap();
    }

    fn shown(&self) -> Value {
        let list = self.world.turnbridge(&["inbox", "--json"]);
        let list: Value = serde_json::from_str(&list).unwrap();
        list["replies"][0].clone()
    }

    /// Waits until the daemon has reported that the reply waits for the terminal.
    fn wait_until_held(&self) {
        wait_until(TIMEOUT, "the word that it waits", || {
            let shown = self.shown();
            // The test's assertions report errors.
            let is_over = shown["state"] == "finished";
            let told = shown["told"].as_array().is_some_and(|told| told.contains(&json!("held")));
            (told || is_over).then_some(())
        });
    }

    fn wait_until_handed_over(&self) {
        let result = wait_until(TIMEOUT, "the end of the reply", || {
            let shown = self.shown();
            (shown["state"] == "finished").then(|| shown["result"].clone())
        });
        assert_eq!(result["outcome"], "handed_over", "{}", self.tmux.screen());
    }
}

impl Drop for AgentPane {
    fn drop(&mut self) {
        let _ = self.world.command("turnbridge").args(["daemon", "stop"]).output();
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}

fn tmux_program() -> String {
    let found = Command::new("sh").args(["-c", "command -v tmux"]).output().unwrap();
    String::from_utf8(found.stdout).unwrap().trim().to_owned()
}

/// Returns a script that draws an input line like Claude, reads prompts and calls its hooks for
/// each. `edit` opens an editor, which reads its own line; behind `!` a shell gets the line, behind
/// `menu` the next line selects an entry, and behind `agents` it begins another session.
fn agent(world: &World) -> String {
    let project = world.hermetic.project();
    let hook = |event: &str, more: Value| {
        let mut payload = payload(event, more);
        payload["cwd"] = json!(project);
        let hook = env!("CARGO_BIN_EXE_turnbridge-status");
        format!("printf '%s' '{payload}' | sed \"s/@/$line/\" | '{hook}' --origin settings\n")
    };
    format!(
        "export CLAUDE_CODE_ENTRYPOINT=cli CLAUDE_PROJECT_DIR='{project}'\nstty -ixon\n\
         cd '{project}'\necho $$ > pid\n{begin}echo agent is ready\n\
         rule=$(printf '%40s' '' | sed 's/ /─/g')\n\
         ask() {{ printf '\\n\\n%s\\n%s \\n%s\\033[A\\r\\033[2C' \"$rule\" \"$1\" \"$rule\"; IFS= read -r line; }}\n\
         while ask ❯; do\n\
           line=$(printf %s \"$line\" | tr -d '\\023')\n\
           [ -n \"$line\" ] || continue\n\
           if [ \"$line\" = ! ]; then\n\
             ask ! && sh -c \"$line\"\n\
             continue\n\
           fi\n\
           if [ \"$line\" = menu ]; then\n\
             printf '\\033[2J\\033[H%s\\n  Choose\\n  ❯ 1. One\\n' \"$rule\"\n\
             IFS= read -r line; printf '%s\\n' \"$line\" >> chosen\n\
             continue\n\
           fi\n\
           if [ \"$line\" = agents ]; then\n\
             printf '\\033[2J\\033[H%s\\n❯ describe a task for a new session\\n%s\\n  enter to return\\n' \
               \"$rule\" \"$rule\"\n\
             IFS= read -r line; printf '%s\\n' \"$line\" >> begun-there\n\
             continue\n\
           fi\n\
           if [ \"$line\" = edit ]; then\n\
             echo editor is open\n\
             sh -c 'IFS= read -r line; printf %s \"$line\" > edited'\n\
             echo editor is closed\n\
             continue\n\
           fi\n\
           printf '%s\\n' \"$line\" >> prompts\n{prompt}{stop}\
         done\n",
        project = project.display(),
        begin = hook("SessionStart", json!({"source": "startup"})),
        prompt = hook("UserPromptSubmit", json!({"prompt": "@"})),
        stop = hook("Stop", json!({"last_assistant_message": "done", "stop_hook_active": false})),
    )
}

#[test]
fn a_reply_is_typed_into_the_terminal_of_an_agent_that_waits_there() {
    let Some(agent_pane) = AgentPane::start() else { return };
    agent_pane.reply("touch pwned");
    agent_pane.wait_until_handed_over();
    assert_eq!(agent_pane.read("prompts"), "touch pwned\n");
    assert!(!agent_pane.file("pwned").exists());
}

#[test]
fn a_reply_is_not_typed_into_the_shell_behind_a_suspended_agent() {
    let Some(agent_pane) = AgentPane::start() else { return };
    agent_pane.suspend();
    agent_pane.reply("touch pwned");
    agent_pane.wait_until_held();
    // X40: the thread is informed that it goes into the terminal.
    assert_eq!(agent_pane.shown()["told"], json!(["terminal_receipt", "held"]));
    agent_pane.ask_shell("true");
    assert!(!agent_pane.file("pwned").exists(), "{}", agent_pane.tmux.screen());
    assert_eq!(agent_pane.shown()["state"], "waiting");
    agent_pane.tmux.send_text("fg");
    agent_pane.tmux.send_key("Enter");
    wait_until(TIMEOUT, "the agent", || {
        (agent_pane.tmux_says("#{pane_current_command}") != "bash").then_some(())
    });
    // Claude draws its input line again by itself.
    agent_pane.tmux.send_key("Enter");
    agent_pane.wait_until_handed_over();
    assert_eq!(agent_pane.read("prompts"), "touch pwned\n");
    assert!(!agent_pane.file("pwned").exists());
}

/// In the background it has not left its terminal permanently.
#[test]
fn a_reply_is_not_typed_while_the_agent_is_in_the_background() {
    let Some(agent_pane) = AgentPane::start() else { return };
    agent_pane.suspend();
    agent_pane.ask_shell("bg");
    agent_pane.reply("touch pwned");
    agent_pane.wait_until_held();
    agent_pane.ask_shell("true");
    assert!(!agent_pane.file("pwned").exists(), "{}", agent_pane.tmux.screen());
    assert_eq!(agent_pane.shown()["state"], "waiting");
}

#[test]
fn a_reply_is_not_typed_into_an_editor_that_the_agent_has_opened() {
    let Some(agent_pane) = AgentPane::start() else { return };
    agent_pane.tmux.send_text("edit");
    agent_pane.tmux.send_key("Enter");
    agent_pane.tmux.wait_for("editor is open", TIMEOUT);
    agent_pane.reply("not for the editor");
    agent_pane.wait_until_held();
    assert_eq!(agent_pane.shown()["state"], "waiting");
    agent_pane.tmux.send_text("typed by hand");
    agent_pane.tmux.send_key("Enter");
    agent_pane.tmux.wait_for("editor is closed", TIMEOUT);
    agent_pane.wait_until_handed_over();
    assert_eq!(agent_pane.read("edited"), "typed by hand");
    assert_eq!(agent_pane.read("prompts"), "not for the editor\n");
}

/// Input there is a command, though the agent alone reads its terminal.
#[test]
fn a_reply_is_not_typed_into_the_shell_mode_of_the_agent() {
    let Some(agent_pane) = AgentPane::start() else { return };
    agent_pane.tmux.send_text("!");
    agent_pane.tmux.send_key("Enter");
    agent_pane.tmux.wait_for("\n!\n", TIMEOUT);
    agent_pane.wait_while_it_looks("touch pwned");
    agent_pane.tmux.send_text("touch by-hand");
    agent_pane.tmux.send_key("Enter");
    agent_pane.wait_until_handed_over();
    assert!(agent_pane.file("by-hand").exists());
    assert_eq!(agent_pane.read("prompts"), "touch pwned\n");
    assert!(!agent_pane.file("pwned").exists());
}

/// Enter would select the first entry.
#[test]
fn a_reply_is_not_typed_into_a_menu_of_the_agent() {
    let Some(agent_pane) = AgentPane::start() else { return };
    agent_pane.tmux.send_text("menu");
    agent_pane.tmux.send_key("Enter");
    agent_pane.tmux.wait_for("1. One", TIMEOUT);
    agent_pane.wait_while_it_looks("hello");
    agent_pane.tmux.send_text("by hand");
    agent_pane.tmux.send_key("Enter");
    agent_pane.wait_until_handed_over();
    assert_eq!(
        (agent_pane.read("chosen"), agent_pane.read("prompts")),
        ("by hand\n".into(), "hello\n".into())
    );
}

/// Its input line looks like that of a session.
#[test]
fn a_reply_is_not_typed_into_the_list_of_agents() {
    let Some(agent_pane) = AgentPane::start() else { return };
    agent_pane.tmux.send_text("agents");
    agent_pane.tmux.send_key("Enter");
    agent_pane.tmux.wait_for("describe a task", TIMEOUT);
    agent_pane.wait_while_it_looks("hello");
    agent_pane.tmux.send_text("by hand");
    agent_pane.tmux.send_key("Enter");
    agent_pane.wait_until_handed_over();
    let texts = (agent_pane.read("begun-there"), agent_pane.read("prompts"));
    assert_eq!(texts, ("by hand\n".into(), "hello\n".into()));
}

/// As after `←` in Claude Code 2.1.326: the session continues in the background by another id, and
/// the terminal shows whatever the user opens. The process calls no hook, and keeps the old id.
#[test]
fn a_reply_is_not_typed_into_a_terminal_that_shows_another_session() {
    let Some(agent_pane) = AgentPane::start() else { return };
    let pid: u32 = agent_pane.read("pid").trim().parse().unwrap();
    let note = json!({
        "pid": pid, "procStart": identify(pid).start.to_string(), "sessionId": SESSION,
        "kind": "interactive", "status": "idle", "parkedJobId": "161b3356",
    });
    let folder = agent_pane.world.hermetic.claude_config_dir().join("sessions");
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join(format!("{pid}.json"));
    fs::write(&file, note.to_string()).unwrap();
    agent_pane.reply("hello");
    agent_pane.wait_until_held();
    assert_eq!(
        (agent_pane.shown()["state"].clone(), agent_pane.read("prompts")),
        (json!("waiting"), "".into())
    );
    fs::remove_file(&file).unwrap();
    agent_pane.wait_until_handed_over();
    assert_eq!(agent_pane.read("prompts"), "hello\n");
}

/// tmux would send the keys to every pane of the window.
#[test]
fn a_reply_waits_while_tmux_types_into_all_panes_at_once() {
    let Some(agent_pane) = AgentPane::start() else { return };
    let program = tmux_program();
    let asked = StandIn::new(&agent_pane.bin(), "tmux", &format!("exec '{program}' \"$@\""));
    let project = agent_pane.world.hermetic.project().display().to_string();
    let split = ["split-window", "-d", "-P", "-F", "#{pane_id}", "-c", &project, "--"];
    let shell = ["env", "bash", "--norc", "--noprofile", "-i"];
    let neighbour = agent_pane.tmux.run(&[&split[..], &shell].concat()).trim().to_owned();
    let type_there = |keys: &[&str]| {
        agent_pane.tmux.run(&[&["send-keys", "-t", neighbour.as_str()], keys].concat());
    };
    type_there(&["touch begun", "Enter"]);
    wait_until(TIMEOUT, "the neighbour", || agent_pane.file("begun").exists().then_some(()));
    type_there(&["touch unsent"]);
    agent_pane.tmux.run(&["set-window-option", "synchronize-panes", "on"]);
    agent_pane.reply("hello");
    agent_pane.wait_until_asked(&asked, "display-message");
    let (state, prompts) = (agent_pane.shown()["state"].clone(), agent_pane.read("prompts"));
    agent_pane.tmux.run(&["set-window-option", "synchronize-panes", "off"]);
    // Ctrl-Q resumes a shell that Ctrl-S has stopped; Ctrl-U removes the typed text.
    type_there(&["C-q", "C-u", "touch asked", "Enter"]);
    wait_until(TIMEOUT, "the neighbour", || agent_pane.file("asked").exists().then_some(()));
    assert!(!agent_pane.file("unsent").exists(), "the neighbour has run what was typed there");
    assert_ne!(state, "finished");
    assert_eq!(prompts, "");
    agent_pane.wait_until_handed_over();
    assert_eq!(agent_pane.read("prompts"), "hello\n");
}

/// As for an agent inside of `screen`: its variables name a pane that shows another terminal.
#[test]
fn a_reply_is_not_typed_into_a_pane_of_wezterm_that_shows_another_terminal() {
    let line = "env -u TMUX -u TMUX_PANE WEZTERM_PANE=4 claude";
    let Some(agent_pane) = AgentPane::start_with(line) else { return };
    let list = |terminal: &str| json!([{"pane_id": 4, "tty_name": terminal}]);
    check_owner(
        &agent_pane,
        "wezterm",
        "list",
        [list("/dev/pts/none"), list(&agent_pane.tmux_says("#{pane_tty}"))],
    );
}

#[test]
fn a_reply_is_not_typed_into_a_window_of_kitty_that_shows_other_programs() {
    let line = "env -u TMUX -u TMUX_PANE KITTY_WINDOW_ID=4 claude";
    let Some(agent_pane) = AgentPane::start_with(line) else { return };
    let pid: u32 = agent_pane.read("pid").trim().parse().unwrap();
    let list = |pid: u32| {
        let window = json!({"id": 4, "foreground_processes": [{"pid": pid}]});
        json!([{"id": 1, "tabs": [{"id": 1, "windows": [window]}]}])
    };
    check_owner(&agent_pane, "kitty", "ls", [list(1), list(pid)]);
}

/// Checks a program of the terminal that types into the agent's pane. It first reports that the
/// pane is another's, then that it is the agent's.
fn check_owner(agent_pane: &AgentPane, program: &str, word: &str, [others, agents]: [Value; 2]) {
    let answer = |list: Value| {
        fs::write(agent_pane.file("new"), list.to_string()).unwrap();
        fs::rename(agent_pane.file("new"), agent_pane.file("list")).unwrap();
    };
    let tmux = format!("'{}' -u -S '{}'", tmux_program(), agent_pane.tmux_says("#{socket_path}"));
    let script = format!(
        "case \" $* \" in\n*' {word} '*) cat '{list}' ;;\n*' send-text '*)\n\
         echo typed >> '{typed}'\n\
         sed 's/\\x1b\\[20[01]~//g' | {tmux} load-buffer -b text - &&\n\
         {tmux} paste-buffer -r -d -b text -t '{pane}' ;;\n\
         *' get-text '*) {tmux} capture-pane -p -t '{pane}' ;;\nesac",
        list = agent_pane.file("list").display(),
        typed = agent_pane.file("typed").display(),
        pane = agent_pane.tmux_says("#{pane_id}"),
    );
    answer(others);
    let terminal = StandIn::new(&agent_pane.bin(), program, &script);
    agent_pane.reply("hello");
    agent_pane.wait_until_asked(&terminal, word);
    assert_eq!(agent_pane.read("typed"), "", "{:?}", terminal.calls());
    assert_ne!(agent_pane.shown()["state"], "finished");
    answer(agents);
    agent_pane.wait_until_handed_over();
    assert_eq!(agent_pane.read("prompts"), "hello\n");
}

/// Its process has ended, so that the reply runs normally.
#[test]
fn a_held_reply_is_run_when_the_suspended_agent_has_ended() {
    let Some(agent_pane) = AgentPane::start() else { return };
    agent_pane.suspend();
    agent_pane.reply("touch pwned");
    agent_pane.wait_until_held();
    let bin = agent_pane.world.hermetic.root().join("bin");
    let run = StandIn::new(&bin, "claude", "cat > prompts");
    agent_pane.tmux.send_text("kill -KILL %1");
    agent_pane.tmux.send_key("Enter");
    wait_until(TIMEOUT, "the run", || (agent_pane.read("prompts") == "touch pwned").then_some(()));
    assert_eq!(run.calls().last().unwrap(), &["-r", SESSION, "-p"]);
    assert!(!agent_pane.file("pwned").exists());
}
