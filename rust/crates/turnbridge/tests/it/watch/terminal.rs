//! Tests `turnbridge watch` in a real terminal: its screen, its keys, and the restored terminal.

use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use testkit::{StandIn, Tmux, skipped, wait_until};

use super::{TIMEOUT, hook, id};
use crate::support::world::{SESSION, World, payload};

/// Returns `None` without tmux.
fn start(world: &World) -> Option<Tmux> {
    let mut command = world.command("turnbridge");
    command.arg("watch");
    start_command(world, &command)
}

/// Starts a script with the executable as `$0`.
fn start_in_shell(world: &World, script: &str) -> Option<Tmux> {
    let mut shell = world.hermetic.command("sh");
    shell.args(["-c", script, env!("CARGO_BIN_EXE_turnbridge")]);
    start_command(world, &shell)
}

fn start_command(world: &World, command: &Command) -> Option<Tmux> {
    if Command::new("tmux").arg("-V").output().is_err() {
        skipped("no tmux");
        return None;
    }
    Some(Tmux::start(&world.hermetic, command))
}

/// Creates one session that waits, one at work, one that has answered.
fn world() -> World {
    let world = World::new();
    hook(&world, 1, "alpha", "UserPromptSubmit", json!({"prompt": "first question"}));
    hook(&world, 1, "alpha", "Stop", json!({"last_assistant_message": "最初の答え"}));
    hook(&world, 2, "beta", "UserPromptSubmit", json!({"prompt": "second question"}));
    hook(&world, 3, "gamma", "UserPromptSubmit", json!({"prompt": "third question"}));
    hook(&world, 3, "gamma", "PermissionRequest", json!({"tool_name": "Bash"}));
    world
}

#[track_caller]
fn see(tmux: &Tmux, what: &str, holds: impl Fn(&str) -> bool) -> String {
    tmux.wait_for_screen(TIMEOUT, what, holds)
}

/// Returns the project names in the rows of the list.
fn rows(screen: &str) -> Vec<String> {
    let projects = ["alpha", "beta", "gamma"];
    let list = screen.lines().skip(1).filter_map(|line| line.split('│').next());
    list.filter_map(|row| projects.iter().find(|name| row.contains(**name)))
        .map(|name| (*name).to_owned())
        .collect()
}

fn inbox(world: &World) -> Vec<Value> {
    let files = std::fs::read_dir(world.hermetic.state_dir().join("inbox"));
    let paths = files.into_iter().flatten().flatten().map(|file| file.path());
    paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .map(|path| serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap())
        .collect()
}

#[test]
fn sessions_are_listed_and_change_while_one_looks() {
    let world = world();
    let Some(tmux) = start(&world) else { return };
    let screen = see(&tmux, "the list", |screen| rows(screen) == ["gamma", "beta", "alpha"]);
    assert!(screen.contains("1 waiting  1 working  1 completed"), "{screen}");
    assert!(screen.contains("third question"), "{screen}");
    hook(&world, 2, "beta", "PermissionRequest", json!({"tool_name": "Write"}));
    see(&tmux, "another that waits", |screen| screen.contains("waiting (Write)"));
    tmux.send_key("G");
    see(&tmux, "the answer", |screen| screen.contains("最初の答え"));
    hook(&world, 1, "alpha", "UserPromptSubmit", json!({"prompt": "fourth question"}));
    hook(&world, 1, "alpha", "Stop", json!({"last_assistant_message": "the newest answer"}));
    let screen = see(&tmux, "the new turn", |screen| screen.contains("the newest answer"));
    assert!(screen.contains("earlier turns"), "{screen}");
}

#[test]
fn a_filter_shows_what_matches() {
    let world = world();
    let Some(tmux) = start(&world) else { return };
    see(&tmux, "the list", |screen| rows(screen).len() == 3);
    tmux.send_key("/");
    tmux.send_text("working");
    see(&tmux, "the one at work", |screen| rows(screen) == ["beta"]);
    tmux.send_key("Enter");
    see(&tmux, "the filter on top", |screen| screen.lines().next().unwrap().contains("/working"));
    tmux.send_key("Escape");
    see(&tmux, "all of them", |screen| rows(screen).len() == 3);
}

#[test]
fn a_reply_lies_in_the_inbox_and_says_that_it_waits_for_a_daemon() {
    let world = world();
    let Some(tmux) = start(&world) else { return };
    see(&tmux, "the list", |screen| rows(screen).len() == 3);
    tmux.send_key("Down");
    tmux.send_key("r");
    tmux.wait_for("reply to beta", TIMEOUT);
    tmux.send_text("go on, 日本語で");
    tmux.send_key("M-Enter");
    tmux.send_text("and q");
    tmux.wait_for("and q", TIMEOUT);
    assert_eq!(inbox(&world), Vec::<Value>::new());
    tmux.send_key("Enter");
    tmux.wait_for("waits for the daemon; start it: turnbridge daemon", TIMEOUT);
    let replies = inbox(&world);
    let [reply] = replies.as_slice() else { panic!("{replies:?}") };
    assert_eq!(reply["text"], "go on, 日本語で\nand q");
    assert_eq!(reply["session_id"], id(2));
    assert_eq!(reply["source"], "board");
    assert_eq!(reply["cwd"], "/home/user/beta");
    assert!(world.turnbridge(&["inbox"]).contains("waiting go on, 日本語で"));
}

#[test]
fn a_reply_becomes_the_next_prompt_when_a_daemon_runs() {
    let world = World::new();
    let bin = world.hermetic.root().join("bin");
    let claude = StandIn::new(&bin, "claude", "exit 0");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let world = world.with("PATH", &path);
    let mut prompt = payload("UserPromptSubmit", json!({"prompt": "x"}));
    prompt["cwd"] = json!(world.hermetic.project());
    world.status(&prompt);
    let Some(tmux) = start(&world) else { return };
    let mut daemon = world.command("turnbridge");
    daemon.args(["daemon", "--foreground"]).stdin(Stdio::null());
    let _daemon = KillOnDrop(daemon.spawn().unwrap());
    wait_until(TIMEOUT, "the daemon", || {
        world.turnbridge(&["daemon", "status"]).starts_with("running").then_some(())
    });
    tmux.wait_for("1 working", TIMEOUT);
    tmux.send_key("r");
    tmux.wait_for("reply to project", TIMEOUT);
    tmux.send_text("go on");
    tmux.send_key("Enter");
    tmux.wait_for("the reply to project was run", TIMEOUT);
    assert_eq!(claude.calls(), [["-r", SESSION, "-p"]]);
}

/// Killed at the end of the test, however it ends.
struct KillOnDrop(Child);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn what_is_pasted_is_not_sent_by_its_line_ends() {
    let world = world();
    let Some(tmux) = start(&world) else { return };
    see(&tmux, "the list", |screen| rows(screen).len() == 3);
    tmux.send_key("r");
    tmux.wait_for("reply to gamma", TIMEOUT);
    tmux.run(&["set-buffer", "one\ntwo\nthree"]);
    tmux.run(&["paste-buffer", "-p"]);
    tmux.wait_for("three", TIMEOUT);
    assert_eq!(inbox(&world), Vec::<Value>::new());
    tmux.send_key("Enter");
    tmux.wait_for("waits for the daemon", TIMEOUT);
    assert_eq!(inbox(&world)[0]["text"], "one\ntwo\nthree");
}

#[test]
fn the_resume_command_is_copied_and_shown() {
    let world = world();
    let Some(tmux) = start(&world) else { return };
    tmux.run(&["set-option", "-g", "set-clipboard", "on"]);
    see(&tmux, "the list", |screen| rows(screen).len() == 3);
    tmux.send_key("y");
    let home = world.hermetic.claude_config_dir();
    let command = format!("CLAUDE_CONFIG_DIR={} claude -r {}", home.display(), id(3));
    let command = format!("cd /home/user/gamma && {command}");
    tmux.wait_for("copied: cd /home/user/gamma && CLAUDE_CONFIG_DIR=", TIMEOUT);
    wait_until(TIMEOUT, "the clipboard", || {
        (tmux.run(&["list-buffers", "-F", "#{buffer_sample}"]).trim() == command).then_some(())
    });
}

#[test]
fn a_terminal_may_be_made_tiny_and_large_again() {
    let world = world();
    let Some(tmux) = start(&world) else { return };
    see(&tmux, "the list", |screen| rows(screen).len() == 3);
    for (width, height) in [("20", "5"), ("1", "1"), ("60", "20"), ("20", "5")] {
        tmux.run(&["resize-window", "-x", width, "-y", height]);
    }
    let screen = see(&tmux, "a small list", |screen| {
        screen.lines().nth(1).is_some_and(|line| line.starts_with('>') && line.contains("gamma"))
    });
    assert!(screen.contains("waiting"), "{screen}");
    tmux.run(&["resize-window", "-x", "100", "-y", "30"]);
    see(&tmux, "all of it", |screen| rows(screen).len() == 3 && screen.contains("third question"));
}

#[test]
fn quitting_gives_the_terminal_back() {
    let world = world();
    for end in ["q", "C-c", "SIGTERM"] {
        // tmux does not always know the exit code of its own program.
        let script = "\"$0\" watch; echo \"exit code $?\"; stty -a; read line";
        let Some(tmux) = start_in_shell(&world, script) else { return };
        see(&tmux, "the list", |screen| rows(screen).len() == 3);
        let mode = || tmux.run(&["display-message", "-p", "#{alternate_on}"]).trim().to_owned();
        assert_eq!(mode(), "1");
        match end {
            "SIGTERM" => {
                let children = Command::new("pgrep").args(["-P", &tmux.pid().to_string()]).output();
                let child = String::from_utf8(children.unwrap().stdout).unwrap();
                let sent = Command::new("kill").args(["-TERM", child.trim()]).status();
                assert!(sent.unwrap().success(), "{child}");
            }
            key => tmux.send_key(key),
        }
        let screen = tmux.wait_for(" icanon", TIMEOUT);
        assert!(screen.contains("exit code 0"), "{end}: {screen}");
        assert!(screen.contains(" echo "), "{end}: {screen}");
        assert_eq!(mode(), "0", "{end}");
    }
}

#[test]
fn x27_no_color_has_marks_and_a_dumb_terminal_a_refusal() {
    let plain = world().with("NO_COLOR", "1");
    let Some(tmux) = start(&plain) else { return };
    see(&tmux, "the list", |screen| rows(screen).len() == 3);
    let marks = |screen: &str| {
        let list = screen.lines().skip(1).take(3);
        list.filter_map(|line| line.chars().nth(1)).collect::<String>()
    };
    assert_eq!(marks(&tmux.screen()), "!*-");
    let dumb = World::new();
    // tmux sets TERM for its panes itself; and it may lose the output of a program that ends
    // immediately.
    let script = "TERM=dumb \"$0\" watch; read line";
    let Some(tmux) = start_in_shell(&dumb, script) else { return };
    tmux.wait_for("error: this is no terminal to draw on", TIMEOUT);
}
