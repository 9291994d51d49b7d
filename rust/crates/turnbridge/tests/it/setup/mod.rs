//! Tests `turnbridge setup` without a terminal: options and defaults decide, it never waits for
//! input, and a refused set-up writes no file. `setup/terminal` tests it at a terminal.

mod terminal;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Output;

use serde_json::Value;
use testkit::{SlackApi, SlackSetup, StandIn};

use crate::support::world::{World, feed};

const TOKENS: &str = "xoxb-loopback-bot\nxapp-loopback-app\n";
const BOTH: [&str; 2] = ["--bot-token-stdin", "--app-token-stdin"];

/// A home with a Slack to set up, and agents that act like the real ones at their ends.
struct SetupWorld {
    slack: SlackApi,
    world: World,
}

impl SetupWorld {
    fn new() -> SetupWorld {
        SetupWorld::with(SlackSetup::default())
    }

    fn with(setup: SlackSetup) -> SetupWorld {
        let slack = SlackApi::start(setup);
        let world = World::with_gate();
        let programs = world.hermetic.root().join("bin");
        StandIn::new(&programs, "claude", &claude());
        StandIn::new(&programs, "codex", "echo 'codex-cli 0.166.0'");
        let world = world
            .with("PATH", &format!("{}:/usr/bin:/bin", programs.display()))
            .with("TURNBRIDGE_SLACK_API_URL", &slack.base_url())
            .with("TURNBRIDGE_SLACK_TIME_SCALE", "20");
        SetupWorld { slack, world }
    }

    fn config(&self) -> PathBuf {
        self.world.hermetic.config_dir().join("config.toml")
    }

    fn setup(&self, arguments: &[&str], stdin: &str) -> Output {
        let mut command = self.world.command("turnbridge");
        command.arg("setup").args(arguments);
        feed(command, stdin.as_bytes())
    }

    /// Returns the output of a set-up that must succeed.
    #[track_caller]
    fn done(&self, arguments: &[&str], stdin: &str) -> String {
        let output = self.setup(arguments, stdin);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        self.world.without_paths(&String::from_utf8(output.stdout).unwrap())
    }

    /// Returns the error; asserts that no file of Turnbridge or the agents was written.
    #[track_caller]
    fn refused(&self, arguments: &[&str], stdin: &str) -> String {
        let output = self.setup(arguments, stdin);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(!self.config().exists(), "{}", fs::read_to_string(self.config()).unwrap());
        assert!(!self.world.hermetic.claude_config_dir().join("settings.json").exists());
        let said = [output.stdout, output.stderr.clone()].concat();
        let said = String::from_utf8(said).unwrap();
        assert!(!said.contains("loopback-"), "a token was shown: {said}");
        self.world.without_paths(&String::from_utf8(output.stderr).unwrap())
    }

    fn daemon(&self) -> Value {
        serde_json::from_str(&self.world.turnbridge(&["daemon", "status", "--json"])).unwrap()
    }
}

impl Drop for SetupWorld {
    fn drop(&mut self) {
        let _ = self.world.command("turnbridge").args(["daemon", "stop"]).output();
    }
}

/// Returns a stand-in that calls the hooks at both ends of a turn, like Claude Code.
fn claude() -> String {
    let hook = |program: &str, event: &str, more: &str| {
        format!(
            r#"printf '{{"session_id":"825c8529-ee09-4cb8-8902-dd785b12ca0a","cwd":"%s","prompt_id":"%s","hook_event_name":"{event}",{more}}}' "$PWD" "$$" | '{program}' --origin settings --no-gate"#,
        )
    };
    let (status, gate) =
        (env!("CARGO_BIN_EXE_turnbridge-status"), env!("CARGO_BIN_EXE_turnbridge-stop-gate"));
    let prompt =
        hook(status, "UserPromptSubmit", r#""prompt":"the test""#).replace(" --no-gate", "");
    let stop = hook(gate, "Stop", r#""last_assistant_message":"This is a test run.""#);
    format!("[ \"$1\" = --version ] && {{ echo '2.1.197 (Claude Code)'; exit; }}\n{prompt}\n{stop}")
}

#[test]
fn slv_6_slv_10_unattended_it_ends_after_the_notice_has_arrived() {
    let site = SetupWorld::new();
    fs::write(site.world.hermetic.claude_config_dir().join("settings.json"), "{}").unwrap();
    let mut arguments = vec!["--user", "U0OWNER", "--no-service", "--codex", "none"];
    arguments.extend(BOTH);
    // The stand-in for Codex answers no prompt.
    let programs = site.world.hermetic.root().join("bin");
    fs::remove_file(programs.join("codex")).unwrap();
    let said = site.done(&arguments, TOKENS);
    insta::assert_snapshot!(without_diff(&said), @"

    Turnbridge 0.1.0: set-up. Nothing is changed without your answer, and Ctrl-C ends it at any time.

    Agents
      Claude Code 2.1.197 (`~/bin/claude`)
      Codex: not found on the PATH

    Slack
      Every finished turn becomes a new thread in your direct messages with the app.
      What you reply there is the next prompt of that session.
      ok: the app `turnbridge` in the workspace `Loopback`
      ok: Socket Mode can be used
      saved `CONFIG/config.toml`

    Claude Code
    / No newline at end of file
    / No newline at end of file
    changed `~/home/.claude/settings.json`
    sessions that run already take it up after `/hooks` or a restart

    Daemon
      the daemon runs
      connecting to Slack
      ok: the daemon is connected to Slack

    End-to-end test
      Claude Code is working
      waiting for the notice in Slack
      ok: the notice has arrived in Slack

    All is set up. `turnbridge doctor` checks it, `turnbridge uninstall` undoes it.
    ");

    let config = fs::read_to_string(site.config()).unwrap();
    insta::assert_snapshot!(config, @r#"
    language = "en"

    [slack]
    bot_token = "xoxb-loopback-bot"
    app_token = "xapp-loopback-app"

    [destinations.dm]
    enabled = true
    target_user_id = "U0OWNER"

    [features]
    reply_resume = true
    "#);
    assert_eq!(fs::metadata(site.config()).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(site.slack.threads().len(), 1);
    assert_eq!(site.slack.threads()[0].parent.text, "the test");
    let settings = site.world.hermetic.claude_config_dir().join("settings.json");
    assert!(fs::read_to_string(settings).unwrap().contains("turnbridge-stop-gate"), "SLV-70");
    assert_eq!(site.daemon()["daemon"]["slack"]["state"], "connected", "SLV-11");
}

/// Another test checks the diff of `settings.json`.
#[test]
fn slv_9_an_agent_with_a_settings_file_is_connected_unasked_and_one_without_is_not() {
    for is_there in [true, false] {
        let site = SetupWorld::new();
        let settings = site.world.hermetic.claude_config_dir().join("settings.json");
        let codex = site.world.hermetic.codex_home().join("config.toml");
        for file in [&settings, &codex] {
            let _ = fs::remove_file(file);
            if is_there {
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, if file == &settings { "{}" } else { "" }).unwrap();
            }
        }
        let output = site.setup(&["--no-slack", "--no-service", "--no-test"], "");
        let text = |file| fs::read_to_string(file).unwrap_or_default();
        assert_eq!(text(&settings).contains("turnbridge-stop-gate"), is_there, "{output:?}");
        assert_eq!(text(&codex).contains("notify"), is_there, "{output:?}");
    }
}

fn without_diff(said: &str) -> String {
    let is_diff = |line: &&str| !line.starts_with(['+', '-', '@', ' ']) || line.starts_with("  ");
    said.lines().filter(is_diff).collect::<Vec<_>>().join("\n")
}

#[test]
fn what_is_set_stays_when_it_is_run_again() {
    let site = SetupWorld::new();
    let mut arguments = vec!["--user", "U0OWNER", "--no-service", "--no-test"];
    arguments.extend(["--claude", "none", "--codex", "none", "--language", "ja"]);
    let first = site.done(&[&arguments[..], &BOTH].concat(), TOKENS);
    assert!(first.contains("保存しました：`CONFIG/config.toml`"), "{first}");
    let before = fs::read_to_string(site.config()).unwrap() + "# mine\n[gate]\nenabled = false\n";
    fs::write(site.config(), &before).unwrap();
    let arguments = ["--yes", "--no-service", "--no-test", "--claude", "none", "--codex", "none"];
    let again = site.done(&arguments, "");
    assert!(again.contains("Slack は設定済みです（トークンあり、利用者 U0OWNER）。"), "{again}");
    assert!(!again.contains("保存しました"), "{again}");
    assert_eq!(fs::read_to_string(site.config()).unwrap(), before);
}

#[test]
fn slv_16_a_token_of_another_kind_is_told_apart() {
    let site = SetupWorld::new();
    let swapped = "xapp-loopback-app\nxoxb-loopback-bot\n";
    let arguments = [&BOTH[..], &["--user", "U0OWNER"]].concat();
    insta::assert_snapshot!(site.refused(&arguments, swapped), @"
    error: this is no bot token: it must begin with `xoxb-`
    hint: the bot token is on the app's page under OAuth & Permissions (Install App)
    ");
    insta::assert_snapshot!(site.refused(&arguments, "xoxb-loopback-bot\nxoxb-x\n"), @"
    error: this is no app-level token: it must begin with `xapp-`
    hint: the app-level token is on the app's page under Basic Information > App-Level Tokens
    ");
    insta::assert_snapshot!(site.refused(&arguments, ""), @"
    error: nothing was entered
    hint: the bot token is on the app's page under OAuth & Permissions (Install App)
    ");
    insta::assert_snapshot!(site.refused(&arguments, "xoxb-revoked\nxapp-loopback-app\n"), @"
    error: Slack refused it (`invalid_auth`)
    hint: copy the token anew from the app's page at api.slack.com/apps
    ");
    insta::assert_snapshot!(site.refused(&arguments, "xoxb-loopback-bot\nxapp-other\n"), @"
    error: Slack refused it (`invalid_auth`)
    hint: copy the token anew from the app's page at api.slack.com/apps
    ");
}

#[test]
fn missing_scopes_are_named_before_anything_is_written() {
    let arguments = [&BOTH[..], &["--user", "U0OWNER"]].concat();
    let bot_scopes = vec!["chat:write".to_owned()];
    let site = SetupWorld::with(SlackSetup { bot_scopes, ..SlackSetup::default() });
    insta::assert_snapshot!(site.refused(&arguments, TOKENS), @"
    error: the app lacks these scopes: im:history, im:write
    hint: add them under OAuth & Permissions > Bot Token Scopes, install the app again, and enter the token anew
    ");
    let site = SetupWorld::with(SlackSetup { app_scopes: Vec::new(), ..SlackSetup::default() });
    insta::assert_snapshot!(site.refused(&arguments, TOKENS), @"
    error: Slack refused it (`missing_scope: connections:write`)
    hint: make an app-level token with the scope `connections:write` under Basic Information > App-Level Tokens
    ");
}

#[test]
fn a_user_who_does_not_exist_is_not_written_down() {
    let site = SetupWorld::new();
    let with = |user: &str| site.refused(&[&BOTH[..], &["--user", user]].concat(), TOKENS);
    insta::assert_snapshot!(with("U0NOBODY"), @"
    error: Slack refused it (`user_not_found`)
    hint: check the member id: in Slack, profile > the three dots > Copy member ID (`U...`)
    ");
    insta::assert_snapshot!(with("someone"), @"
    error: `someone` is no member id
    hint: a member id begins with U or W, followed by capital letters and digits
    ");
}

#[test]
fn without_a_network_it_says_so() {
    let site = SetupWorld::new();
    site.slack.down();
    let arguments = [&BOTH[..], &["--user", "U0OWNER"]].concat();
    let said = site.refused(&arguments, TOKENS);
    let (first, rest) = said.split_once('(').unwrap();
    assert_eq!(first, "error: Slack could not be reached ");
    assert!(
        rest.ends_with(
            "hint: check the network connection, and `HTTPS_PROXY` if there is a proxy\n"
        )
    );
    let japanese = site.refused(&[&arguments[..], &["--language", "ja"]].concat(), TOKENS);
    assert!(japanese.starts_with("error: Slack に接続できません（"), "{japanese}");
}

#[test]
fn without_a_terminal_no_question_waits() {
    let site = SetupWorld::new();
    insta::assert_snapshot!(site.refused(&[], ""), @"
    error: there is no terminal to ask at: Bot token (xoxb-..., it is not shown)
    hint: `--bot-token-stdin` answers it
    ");
    insta::assert_snapshot!(site.refused(&["--bot-token-stdin"], TOKENS), @"
    error: there is no terminal to ask at: App-level token (xapp-..., it is not shown)
    hint: `--app-token-stdin` answers it
    ");
    insta::assert_snapshot!(site.refused(&BOTH, TOKENS), @"
    error: there is no terminal to ask at: Your member id (in Slack: profile > the three dots > Copy member ID)
    hint: `--user` answers it
    ");
    // X35.
    let output = feed(site.world.command("turnbridge"), b"");
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("Usage: turnbridge [OPTIONS]\n       turnbridge <COMMAND>"), "{said}");
}

#[test]
fn slv_18_20_what_the_app_is_made_from_can_be_printed() {
    let site = SetupWorld::new();
    let manifest: Value = serde_json::from_str(&site.done(&["--print-manifest"], "")).unwrap();
    assert_eq!(manifest["settings"]["socket_mode_enabled"], true);
    let events = &manifest["settings"]["event_subscriptions"]["bot_events"];
    assert_eq!(events, &serde_json::json!(["message.im"]));
    let link = site.done(&["--print-link"], "");
    assert!(
        link.starts_with("https://api.slack.com/apps?new_app=1&manifest_json=%7B%22"),
        "{link}"
    );
}

#[test]
fn a_broken_config_is_refused_and_left_alone() {
    let site = SetupWorld::new();
    site.world.configure("[slack\n");
    let output = site.setup(&[&BOTH[..], &["--user", "U0OWNER"]].concat(), TOKENS);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert_eq!(fs::read_to_string(site.config()).unwrap(), "[slack\n");
    assert!(site.slack.calls().is_empty());
}

#[test]
fn a_failed_test_run_says_what_to_do() {
    let site = SetupWorld::new();
    let programs = site.world.hermetic.root().join("bin");
    StandIn::new(
        &programs,
        "claude",
        "echo 2.1.197; [ \"$1\" = --version ] || { echo 'Not logged in' >&2; exit 1; }",
    );
    let mut arguments = vec!["--user", "U0OWNER", "--no-service", "--claude", "settings"];
    arguments.extend(BOTH);
    arguments.extend(["--codex", "none"]);
    let output = site.setup(&arguments, TOKENS);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = site.world.without_paths(&String::from_utf8(output.stderr).unwrap());
    insta::assert_snapshot!(said, @"
    error: the test run of Claude Code failed: exit status: 1: 2.1.197 / Not logged in
    hint: try Claude Code by itself in that folder: `~/home/.local/state/turnbridge/setup-test/claude`
    ");
    // The steps before it are done, and stay.
    assert!(site.config().exists());
}

#[test]
fn x36_without_slack_the_board_takes_its_place() {
    let site = SetupWorld::new();
    fs::remove_file(site.world.hermetic.root().join("bin/codex")).unwrap();
    let said = site.done(&["--no-slack", "--no-service", "--claude", "settings"], "");
    insta::assert_snapshot!(without_diff(&said), @"

    Turnbridge 0.1.0: set-up. Nothing is changed without your answer, and Ctrl-C ends it at any time.

    Agents
      Claude Code 2.1.197 (`~/bin/claude`)
      Codex: not found on the PATH

    Slack
      Going on without Slack: the board shows your turns and takes your replies. `turnbridge setup` can add Slack later.
      saved `CONFIG/config.toml`

    Claude Code
    changed `~/home/.claude/settings.json`
    sessions that run already take it up after `/hooks` or a restart

    Daemon
      the daemon runs
      ok: the board is there (`turnbridge board --open` opens it)

    End-to-end test
      Claude Code is working
      waiting for the turn on the board
      ok: the turn is on the board

    All is set up. `turnbridge doctor` checks it, `turnbridge uninstall` undoes it.
    ");
    insta::assert_snapshot!(fs::read_to_string(site.config()).unwrap(), @r#"
    language = "en"

    [features]
    reply_resume = true
    "#);
    assert_eq!(site.daemon()["daemon"]["slack"]["state"], "off");
    assert!(site.slack.calls().is_empty(), "{:?}", site.slack.calls());
    let arguments = ["--no-slack", "--no-service", "--claude", "settings", "--language", "ja"];
    let again = site.done(&arguments, "");
    assert!(again.contains("OK：ターンがボードに表示されました"), "{again}");
}

#[test]
fn it_does_not_say_that_all_is_set_up_while_claude_does_not_call_us() {
    let site = SetupWorld::new();
    let arguments = ["--no-slack", "--no-service", "--no-test", "--codex", "none"];
    let end = |more: &[&str]| {
        let said = site.done(&[&arguments, more].concat(), "");
        said.trim_end().rsplit_once("\n\n").unwrap().1.to_owned()
    };
    insta::assert_snapshot!(end(&["--claude", "none"]), @"
    Set up, but Claude Code does not call Turnbridge yet: nothing is seen of its turns.
    Install the plugin, or run `turnbridge hooks apply`. `turnbridge doctor` checks it, `turnbridge uninstall` undoes it.
    ");
    // Without a settings file the hooks are registered only on request.
    assert!(end(&[]).starts_with("Set up, but Claude Code does not call"));
    assert!(end(&["--claude", "plugin"]).starts_with("Set up, but Claude Code does not call"));
    insta::assert_snapshot!(end(&["--claude", "none", "--language", "ja"]), @"
    設定は終わりましたが、Claude Code はまだ Turnbridge を呼び出す設定になっていません。そのターンは表示も通知もされません。
    プラグインをインストールするか、`turnbridge hooks apply` を実行してください。確認は `turnbridge doctor`、解除は `turnbridge uninstall`。
    ");
    insta::assert_snapshot!(end(&["--claude", "settings", "--language", "en"]), @"
    Set up, and nothing was tried: `turnbridge setup --only-test` runs a turn of each agent.
    `turnbridge doctor` checks it, `turnbridge uninstall` undoes it.
    ");
    // The existing registration counts, not this run's options.
    insta::assert_snapshot!(end(&["--claude", "none", "--language", "ja"]), @"
    設定は終わりましたが、動作は試していません。`turnbridge setup --only-test` で試せます。
    確認は `turnbridge doctor`、解除は `turnbridge uninstall`。
    ");
    assert!(end(&["--claude", "none", "--language", "en"]).starts_with("Set up, and nothing was"));
    let settings = site.world.hermetic.claude_config_dir().join("settings.json");
    let text = fs::read_to_string(&settings).unwrap();
    fs::write(&settings, text.replacen('{', "{\"disableAllHooks\": true, ", 1)).unwrap();
    assert!(end(&["--claude", "none"]).starts_with("Set up, but Claude Code does not call"));
    for program in ["claude", "codex"] {
        fs::remove_file(site.world.hermetic.root().join("bin").join(program)).unwrap();
    }
    insta::assert_snapshot!(end(&[]), @"Set up, but there is no agent yet. Install `claude` or `codex`, then run `turnbridge setup` again.");
}

#[test]
fn x36_slv_88_without_slack_a_service_keeps_the_board() {
    let site = SetupWorld::new();
    let programs = site.world.hermetic.root().join("bin");
    StandIn::new(&programs, "systemctl", SYSTEMCTL);
    StandIn::new(&programs, "loginctl", "echo Linger=yes");
    let mut command = site.world.command("turnbridge");
    command.args(["setup", "--no-slack", "--no-test", "--claude", "none", "--codex", "none"]);
    command.env("TURNBRIDGE_SERVICE_MANAGER", "systemd");
    let output = feed(command, b"");
    let said = site.world.without_paths(&String::from_utf8(output.stdout).unwrap());
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("the service is installed: `~/home/.config/systemd/user/"), "{said}");
    assert!(said.contains("ok: the board is there"), "{said}");
    let config = fs::read_to_string(site.config()).unwrap();
    assert!(config.contains("reply_resume = true\nservice_enabled = true"), "{config}");
}

#[test]
fn a_slack_that_is_to_be_left_alone_stays_as_it_is() {
    let site = SetupWorld::new();
    let before = "language = \"en\"\n[slack]\nbot_token = \"xoxb-loopback-bot\"\n\
                  [destinations.dm]\ntarget_user_id = \"U0OWNER\"\n";
    site.world.configure(before);
    let arguments = ["--no-slack", "--no-service", "--no-test", "--claude", "none"];
    let said = site.done(&[&arguments[..], &["--codex", "none"]].concat(), "");
    assert!(said.contains("Slack\n  Slack stays as it is.\n\n"), "{said}");
    assert!(said.contains("ok: the board is there"), "{said}");
    assert_eq!(fs::read_to_string(site.config()).unwrap(), before);
}

/// Runs the unit's command like systemd, in the environment that the unit names and no other.
const SYSTEMCTL: &str = r#"
unit="$XDG_CONFIG_HOME/systemd/user/turnbridge.service"
case "$2" in
    enable) touch "$unit.enabled"
        sed -n 's/^Environment=//p' "$unit" | sed 's/^"\(.*\)"$/\1/' > "$unit.env"
        env -i HOME="$HOME" $(cat "$unit.env") TURNBRIDGE_SLACK_API_URL="$TURNBRIDGE_SLACK_API_URL" \
            TURNBRIDGE_SLACK_TIME_SCALE=20 $(sed -n 's/^ExecStart=//p' "$unit") </dev/null >/dev/null 2>&1 & ;;
    disable) rm -f "$unit.enabled" ;;
    show) [ -e "$unit" ] && echo LoadState=loaded || echo LoadState=not-found
        [ -e "$unit.enabled" ] && printf 'UnitFileState=enabled\nActiveState=active\nMainPID=4711\n'
        true ;;
esac"#;

#[test]
fn slv_11_a_service_runs_the_daemon_where_there_is_a_manager() {
    let site = SetupWorld::new();
    let programs = site.world.hermetic.root().join("bin");
    fs::remove_file(programs.join("codex")).unwrap();
    let systemctl = StandIn::new(&programs, "systemctl", SYSTEMCTL);
    StandIn::new(&programs, "loginctl", "echo Linger=no");
    let mut command = site.world.command("turnbridge");
    command.args(["setup", "--user", "U0OWNER", "--claude", "settings"]).args(BOTH);
    command.env("TURNBRIDGE_SERVICE_MANAGER", "systemd");
    let output = feed(command, TOKENS.as_bytes());
    let said = site.world.without_paths(&String::from_utf8(output.stdout).unwrap());
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("the service is installed: `~/home/.config/systemd/user/"), "{said}");
    assert!(said.contains("loginctl enable-linger"), "{said}");
    assert!(said.contains("ok: the notice has arrived in Slack"), "{said}");
    assert!(systemctl.calls().contains(
        &["--user", "enable", "--now", "turnbridge.service"].map(str::to_owned).to_vec()
    ));
    let config = fs::read_to_string(site.config()).unwrap();
    assert!(config.contains("service_enabled = true"), "SLV-25: {config}");
}

#[test]
fn slv_11_a_service_that_cannot_be_had_is_no_reason_to_give_up() {
    let site = SetupWorld::new();
    let programs = site.world.hermetic.root().join("bin");
    fs::remove_file(programs.join("codex")).unwrap();
    StandIn::new(
        &programs,
        "systemctl",
        "[ \"$2\" = show ] && exit; echo 'Access denied' >&2; exit 1",
    );
    let mut command = site.world.command("turnbridge");
    command.args(["setup", "--user", "U0OWNER", "--claude", "settings"]).args(BOTH);
    command.env("TURNBRIDGE_SERVICE_MANAGER", "systemd");
    let output = feed(command, TOKENS.as_bytes());
    let said = site.world.without_paths(&String::from_utf8(output.stdout).unwrap());
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("the service could not be installed: "), "{said}");
    assert!(said.contains("  the daemon runs\n"), "{said}");
    assert!(said.contains("ok: the notice has arrived in Slack"), "{said}");
    let unit = site.world.hermetic.home().join(".config/systemd/user/turnbridge.service");
    assert!(!unit.exists());
}
