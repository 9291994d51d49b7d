//! Tests `turnbridge setup` at a terminal: its questions, its output, and the state after Ctrl-C.

use std::fs;
use std::time::{Duration, Instant};

use testkit::{Tmux, skipped, wait_until};

use super::SetupWorld;
use crate::board::site as board;
use crate::support::world::World;

const TIMEOUT: Duration = Duration::from_secs(60);

/// Returns `None` without tmux.
fn terminal(site: &SetupWorld, arguments: &[&str]) -> Option<Tmux> {
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

/// Waits until this text was printed, on any number of lines.
#[track_caller]
fn see(tmux: &Tmux, text: &str) {
    let deadline = Instant::now() + TIMEOUT;
    while !all(tmux).contains(text.trim_end()) {
        assert!(Instant::now() < deadline, "never said `{text}`:\n{}", all(tmux));
        std::thread::sleep(Duration::from_millis(40));
    }
}

/// Returns all output, without the line breaks of a narrow terminal.
fn all(tmux: &Tmux) -> String {
    tmux.run(&["capture-pane", "-p", "-J", "-S", "-"])
}

#[test]
fn slv_6_x35_bare_turnbridge_sets_up_and_a_reply_runs() {
    let site = SetupWorld::new();
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
    site.slack.wait_for_sockets(1, TIMEOUT);
    // First a message of another user, and another text.
    site.slack.say_as("U0STRANGER", None, "turnbridge 1");
    site.slack.say(None, &words);
    see(&tmux, "It has come from U0OWNER.");
    // Slack shows the mention as the member's name.
    let told =
        site.slack.threads().into_iter().find(|thread| thread.parent.text.contains("U0OWNER"));
    assert!(told.unwrap().parent.text.starts_with("<@U0OWNER> is about to be set up"));
    answer(&tmux, "with your own name in it? [y/N]", "y");
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
    wait_until(TIMEOUT, "its end", || (!tmux.is_running()).then_some(()));
    let said = all(&tmux);
    assert!(!said.contains("loopback-"), "a token was shown: {said}");
    let config = fs::read_to_string(site.config()).unwrap();
    assert!(config.contains("target_user_id = \"U0OWNER\""), "{config}");
    assert_eq!(site.slack.violations(), Vec::<String>::new());
}

/// Any member of the workspace can write to the app.
#[test]
fn who_guesses_the_code_gets_few_attempts_and_the_user_has_the_last_word() {
    let site = SetupWorld::new();
    let Some(tmux) = terminal(&site, &["setup"]) else { return };
    answer(&tmux, "Set up Slack? [Y/n]", "");
    answer(&tmux, "Bot token (xoxb-..., it is not shown): ", "xoxb-loopback-bot");
    answer(&tmux, "App-level token (xapp-..., it is not shown): ", "xapp-loopback-app");
    see(&tmux, "Waiting for it (Enter: type your member id instead)");
    site.slack.wait_for_sockets(1, TIMEOUT);
    let words = |tmux: &Tmux| {
        let said = all(tmux);
        let mut shown = said.lines().filter_map(|line| line.trim().strip_prefix("turnbridge "));
        format!("turnbridge {}", shown.next_back().unwrap())
    };
    let first = words(&tmux);
    for guess in 0..5 {
        site.slack.say_as("U0STRANGER", None, &format!("turnbridge {guess}"));
    }
    see(&tmux, "so the code has changed");
    let second = words(&tmux);
    assert_ne!(first, second);
    // The void code is one more guess.
    site.slack.say_as("U0STRANGER", None, &first);
    site.slack.say_as("U0STRANGER", None, &second);
    see(&tmux, "It has come from U0STRANGER.");
    answer(&tmux, "with your own name in it? [y/N]", "");
    see(&tmux, "Then it was somebody else.");
    see(&tmux, "Your member id");
    tmux.send_key("C-c");
    wait_until(TIMEOUT, "its end", || (!tmux.is_running()).then_some(()));
    assert!(!site.config().exists());
}

#[test]
fn wrong_codes_without_end_end_the_waiting() {
    let site = SetupWorld::new();
    let Some(tmux) = terminal(&site, &["setup", "--language", "ja"]) else { return };
    answer(&tmux, "Slack を設定しますか？ [Y/n]", "");
    answer(&tmux, "ボットトークン（xoxb-…、表示されません）：", "xoxb-loopback-bot");
    answer(&tmux, "アプリレベルトークン（xapp-…、表示されません）：", "xapp-loopback-app");
    see(&tmux, "受信を待っています");
    site.slack.wait_for_sockets(1, TIMEOUT);
    for guess in 0..15 {
        site.slack.say_as("U0STRANGER", None, &format!("turnbridge {guess}"));
    }
    see(&tmux, "誤ったコードが多すぎます");
    see(&tmux, "メンバー ID（Slack のプロフィール");
    tmux.send_key("C-c");
    wait_until(TIMEOUT, "its end", || (!tmux.is_running()).then_some(()));
    assert!(!site.config().exists());
}

#[test]
fn x36_without_slack_a_reply_on_the_board_runs() {
    let site = SetupWorld::new();
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
    let board = board::BoardSite::at(World::new(), &address);
    board.reply("11111111-2222-4333-8444-555555555551", "OK").json();
    see(&tmux, "ok: the reply was run, and its turn is on the board");
    see(&tmux, "All is set up.");
    wait_until(TIMEOUT, "its end", || (!tmux.is_running()).then_some(()));
    assert!(site.slack.calls().is_empty(), "{:?}", site.slack.calls());
}

/// Returns the service question if this machine has a service manager.
fn service_question(tmux: &Tmux) -> Option<String> {
    let offer = "whenever you log in";
    wait_until(TIMEOUT, "the daemon's step", || {
        let said = all(tmux);
        let is_offered = said.contains(offer).then(|| Some(offer.to_owned()));
        is_offered.or(said.contains("the daemon runs").then_some(None))
    })
}

#[test]
fn ctrl_c_leaves_nothing_behind_and_the_terminal_as_it_was() {
    let site = SetupWorld::new();
    let Some(tmux) = terminal(&site, &["setup", "--language", "ja"]) else { return };
    answer(&tmux, "Slack を設定しますか？ [Y/n]", "y");
    see(&tmux, "ボットトークン（xoxb-…、表示されません）：");
    tmux.send_text("xoxb-loop");
    tmux.send_key("C-c");
    see(&tmux, "error: 中止しました");
    wait_until(TIMEOUT, "its end", || (!tmux.is_running()).then_some(()));
    assert!(!site.config().exists());
    assert!(!all(&tmux).contains("xoxb-loop"));
}
