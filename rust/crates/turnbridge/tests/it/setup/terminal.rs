//! The wizard at a terminal: what it asks, what it shows, and what Ctrl-C leaves behind.

use std::fs;
use std::time::{Duration, Instant};

use testkit::{Tmux, skipped, wait_until};

use super::Site;
use crate::board::site as board;
use crate::world::World;

const PATIENCE: Duration = Duration::from_secs(60);

/// `None`: there is no tmux here.
fn terminal(site: &Site, arguments: &[&str]) -> Option<Tmux> {
    if std::process::Command::new("tmux").arg("-V").output().is_err() {
        skipped("no tmux");
        return None;
    }
    let mut command = site.world.command("turnbridge");
    command.args(arguments);
    Some(Tmux::start(&site.world.hermetic, &command))
}

fn answer(tmux: &Tmux, question: &str, text: &str) {
    see(tmux, question);
    tmux.send_text(text);
    tmux.send_key("Enter");
}

/// Waits until this has been said, on however many lines.
#[track_caller]
fn see(tmux: &Tmux, text: &str) {
    let deadline = Instant::now() + PATIENCE;
    while !all(tmux).contains(text.trim_end()) {
        assert!(Instant::now() < deadline, "never said `{text}`:\n{}", all(tmux));
        std::thread::sleep(Duration::from_millis(40));
    }
}

/// All that was said, without what a narrow terminal has broken.
fn all(tmux: &Tmux) -> String {
    tmux.run(&["capture-pane", "-p", "-J", "-S", "-"])
}

#[test]
fn slv_6_x35_bare_turnbridge_sets_up_and_a_reply_runs() {
    let site = Site::new();
    fs::remove_file(site.world.hermetic.root().join("bin/codex")).unwrap();
    fs::write(site.world.hermetic.claude_config_dir().join("settings.json"), "{}").unwrap();
    let Some(tmux) = terminal(&site, &[]) else { return };
    answer(&tmux, "Set up Slack? [Y/n]", "");
    answer(&tmux, "Bot token (xoxb-..., it is not shown): ", "xapp-loopback-app");
    answer(&tmux, "it must begin with `xoxb-`", "xoxb-loopback-bot");
    answer(&tmux, "App-level token (xapp-..., it is not shown): ", "xapp-loopback-app");
    see(&tmux, "Waiting for it (Enter: type your member id instead)");
    let screen = tmux.screen();
    let words = screen.lines().find_map(|line| line.trim().strip_prefix("turnbridge ")).unwrap();
    let words = format!("turnbridge {words}");
    site.slack.wait_for_sockets(1, PATIENCE);
    // Somebody else, and something else, first.
    site.slack.say_as("U0STRANGER", None, "turnbridge 1");
    site.slack.say(None, &words);
    see(&tmux, "ok: it has come from U0OWNER");
    answer(&tmux, "so that Claude Code tells Turnbridge of its turns? [Y/n]", "");
    answer(&tmux, "like this? [y/N]", "y");
    if let Some(service) = service_question(&tmux) {
        answer(&tmux, &service, "n");
    }
    answer(&tmux, "Try it with Claude Code?", "");
    see(&tmux, "ok: the notice has arrived in Slack");
    see(&tmux, "Waiting for it (Enter skips this)");
    let threads = site.slack.threads();
    let thread = threads.iter().find(|thread| thread.parent.text == "the test").unwrap();
    site.slack.say(Some(&thread.parent.ts), "OK");
    see(&tmux, "ok: the reply was run, and its turn is a new thread");
    see(&tmux, "All is set up.");
    wait_until(PATIENCE, "its end", || (!tmux.is_running()).then_some(()));
    let said = all(&tmux);
    assert!(!said.contains("loopback-"), "a token was shown: {said}");
    let config = fs::read_to_string(site.config()).unwrap();
    assert!(config.contains("target_user_id = \"U0OWNER\""), "{config}");
    assert_eq!(site.slack.violations(), Vec::<String>::new());
}

#[test]
fn x36_without_slack_a_reply_on_the_board_runs() {
    let site = Site::new();
    fs::remove_file(site.world.hermetic.root().join("bin/codex")).unwrap();
    fs::write(site.world.hermetic.claude_config_dir().join("settings.json"), "{}").unwrap();
    let Some(tmux) = terminal(&site, &["setup"]) else { return };
    answer(&tmux, "Set up Slack? [Y/n]", "n");
    answer(&tmux, "so that Claude Code tells Turnbridge of its turns? [Y/n]", "");
    answer(&tmux, "like this? [y/N]", "y");
    if let Some(service) = service_question(&tmux) {
        answer(&tmux, &service, "n");
    }
    see(&tmux, "ok: the board is there (`turnbridge board --open` opens it)");
    answer(&tmux, "Try it with Claude Code?", "");
    see(&tmux, "ok: the turn is on the board");
    see(&tmux, "Waiting for it (Enter skips this)");
    let address = site.world.turnbridge(&["board"]);
    // Only its address is used.
    let board = board::Site::at(World::new(), &address);
    board.reply("11111111-2222-4333-8444-555555555551", "OK").json();
    see(&tmux, "ok: the reply was run, and its turn is on the board");
    see(&tmux, "All is set up.");
    wait_until(PATIENCE, "its end", || (!tmux.is_running()).then_some(()));
    assert!(site.slack.calls().is_empty(), "{:?}", site.slack.calls());
}

/// Where this machine has a service manager, it is offered.
fn service_question(tmux: &Tmux) -> Option<String> {
    let offer = "whenever you log in";
    wait_until(PATIENCE, "the daemon's step", || {
        let said = all(tmux);
        let is_offered = said.contains(offer).then(|| Some(offer.to_owned()));
        is_offered.or(said.contains("the daemon runs").then_some(None))
    })
}

#[test]
fn ctrl_c_leaves_nothing_behind_and_the_terminal_as_it_was() {
    let site = Site::new();
    let Some(tmux) = terminal(&site, &["setup", "--language", "ja"]) else { return };
    answer(&tmux, "Slack を設定しますか？ [Y/n]", "y");
    see(&tmux, "ボットトークン（xoxb-…、表示されません）：");
    tmux.send_text("xoxb-loop");
    tmux.send_key("C-c");
    see(&tmux, "error: 中止しました");
    wait_until(PATIENCE, "its end", || (!tmux.is_running()).then_some(()));
    assert!(!site.config().exists());
    assert!(!all(&tmux).contains("xoxb-loop"));
}
