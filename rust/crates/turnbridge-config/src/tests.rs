//! Tests that a config is parsed into its values, and that unknown keys and problems are reported
//! with their place and without tokens.

use super::*;

/// Returns the result of parsing `text`: values and unknown keys, or the problem.
fn shown(text: &str) -> String {
    match parse(text) {
        Ok(config) => format!("{:?} {:?} {}", config.gate, config.voice, unknown(&config)),
        Err(problem) => problem.to_string(),
    }
}

fn unknown(config: &Config) -> String {
    config.unknown.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

#[test]
fn what_is_not_known_is_named_wherever_it_stands_with_the_name_that_may_be_meant() {
    let of = |text: &str| unknown(&parse(text).unwrap());
    assert_eq!(of("lang = 'ja'\nlangauge = 'ja'"), "`lang`, `langauge` (did you mean `language`?)");
    assert_eq!(of("[bord]\nport = 4711"), "`bord` (did you mean `board`?)");
    assert_eq!(of("[[later]]\nx = 1"), "`later`");
    assert_eq!(
        of("[slack]\nbot_tokn = 'xoxb-1'"),
        "`slack.bot_tokn` (did you mean `slack.bot_token`?)"
    );
    assert_eq!(of("[slack]\nxoxb-1-secret = 1"), "`slack.xoxb-***`");
    let dm = "[destinations.dm]\ntarget_user = 'U1'";
    assert_eq!(
        of(dm),
        "`destinations.dm.target_user` (did you mean `destinations.dm.target_user_id`?)"
    );
    assert_eq!(of("[destinations.channel]\nid = 'C1'"), "`destinations.channel`");
    assert_eq!(
        of(
            "[slack]\nbot_token = 'xoxb-1'\napi_url = 'https://x'\n[destinations.dm]\nenabled = true"
        ),
        ""
    );
}

#[test]
fn what_is_there_is_read_and_the_rest_is_as_if_there_were_no_file() {
    assert_eq!(parse("").unwrap(), Config::default());
    let text = "\u{feff}[voice] # mine\r\nmute = true\r\nja = 'Kyoko'\r\n[later]\r\nx = 1\r\n";
    insta::assert_snapshot!(shown(text), @r#"GateConfig { enabled: None, headless: None } VoiceConfig { mute: true, rate: None, en: None, ja: Some("Kyoko") } `later`"#);
    let text = "gate.enabled = false\nvoice = { rate = 200, en = \"Bad News\" }\n";
    insta::assert_snapshot!(shown(text), @r#"GateConfig { enabled: Some(false), headless: None } VoiceConfig { mute: false, rate: Some(200), en: Some("Bad News"), ja: None } "#);
    insta::assert_snapshot!(shown("[gate]\nenable = 1\n[voice]\nspeed = 3"), @r#"GateConfig { enabled: None, headless: None } VoiceConfig { mute: false, rate: None, en: None, ja: None } `gate.enable` (did you mean `gate.enabled`?), `voice.speed`"#);
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    insta::assert_snapshot!(shown("[voice]\nrate = \n"), @"string values must be quoted, expected literal string at line 2, column 8");
    insta::assert_snapshot!(shown("\u{feff}[voice\n"), @"unclosed table, expected `]` at line 1, column 7");
    insta::assert_snapshot!(shown("# あ\n[voice]\nen = \"あ\" x\n"), @"unexpected key or value, expected newline, `#` at line 3, column 10");
    insta::assert_snapshot!(shown("[voice]\nrate = 49"), @"`voice.rate` must be a number from 50 to 600 at line 2, column 8");
    insta::assert_snapshot!(shown("[voice]\r\n  rate = '200'"), @"`voice.rate` must be a number from 50 to 600 at line 2, column 10");
    insta::assert_snapshot!(shown("[voice]\nja = '-x'"), @"`voice.ja` must be the name of a voice at line 2, column 6");
    insta::assert_snapshot!(shown("[gate]\nenabled = 'no'"), @"`gate.enabled` must be `true` or `false` at line 2, column 11");
    insta::assert_snapshot!(shown("x = 1\ngate = true"), @"`gate` must be a section, `[gate]` at line 2, column 8");
    insta::assert_snapshot!(shown("[[voice]]\nmute = true"), @"`voice` must be a section, `[voice]` at line 1, column 1");
    insta::assert_snapshot!(shown("[voice]\nmute = true\nmute = true"), @"duplicate key at line 3, column 1");
    insta::assert_snapshot!(shown("language = 'fr'"), @r#"`language` must be `"ja"` or `"en"` at line 1, column 12"#);
    insta::assert_snapshot!(shown("[slack]\nbot_token = 'xapp-1'"), @"`slack.bot_token` must be a token `xoxb-…` at line 2, column 13");
    insta::assert_snapshot!(shown("[destinations.dm]\ntarget_user_id = 'C1'"), @"`destinations.dm.target_user_id` must be a user's id `U…` at line 2, column 18");
    insta::assert_snapshot!(shown("[destinations]\ndm = 1"), @"`destinations.dm` must be a section, `[destinations.dm]` at line 2, column 6");
    insta::assert_snapshot!(shown("[features]\nlaunchd_enabled = true"), @"`features.launchd_enabled` must be `false` while `features.reply_resume` is at line 2, column 19");
}

#[test]
fn a_second_byte_order_mark_is_told_and_nothing_is_changed() {
    let marks = "\u{feff}".repeat(20);
    for text in [marks.clone(), format!("{marks}[voice]\nmute = true\n")] {
        insta::allow_duplicates! {
            insta::assert_snapshot!(shown(&text), @"a second byte order mark (U+FEFF), which no reader takes at line 1, column 1");
        }
    }
}

/// Covers every place in which a typing mistake can put a token.
#[test]
fn a_token_is_never_repeated_wherever_it_stands() {
    for token in ["xoxb-12-secret", "xapp-1-A1-secret", "xoxp-1-secret", "xoxe.xoxb-1-secret"] {
        for text in [
            format!("{token} = 1\n"),
            format!("[{token}]\nx = 1\n"),
            format!("[slack]\n{token} = 1\n"),
            format!("[gate]\n\"{token}\" = 1\n"),
            format!("[voice]\n\"{}\" = 1\n", token.replacen('x', "\\u0078", 1)),
            format!("[gate.{token}]\n"),
            format!("gate.{token}.x = 1\n"),
            format!("[gate]\n{token} = 1\n{token} = 2\n"),
            format!("[slack]\nbot_token = {token}\n"),
            format!("[slack]\nbot_token = \"{token}\n"),
            format!("[slack]\nbot_token = ['{token}']\n"),
            format!("[slack]\nbot_token = {{ x = '{token}' }}\n"),
            format!("[slack]\nbot_token = 'Bearer {token}'\n"),
            format!("[slack]\napp_token = '{token} '\n"),
            format!("[slack.{token}]\n[slack.{token}]\n"),
            format!("# {token}\n[slack\n"),
            format!("[slack]\nbot_token '{token}'\n"),
            format!("{token}\n"),
            format!("[destinations.dm]\ntarget_user_id = '{token}'\n"),
            format!("[voice]\nen = ['{token}']\n"),
            format!("language = '{token}'\n"),
            format!("[resume]\nclaude = '{token}'\n"),
            format!("[board]\nport = '{token}'\n"),
            format!("[codex]\nhomes = ['{token}']\n"),
        ] {
            let all = match parse(&text) {
                Ok(config) => format!("{config:?}"),
                Err(problem) => format!("{problem} {}", problem.hint),
            };
            assert!(!all.contains("secret"), "{text}\n{all}");
        }
    }
}

/// SLV-26.
#[test]
fn slv_25_slack_is_read_and_its_tokens_are_never_shown() {
    let text = "language = 'ja'\n[slack]\nbot_token = 'xoxb-12-secret'\napp_token = 'xapp-1-secret'\n\
                [destinations.dm]\nenabled = true\ntarget_user_id = 'U123'\n\
                [features]\nreply_resume = true\nlaunchd_enabled = true\n[notify]\nwaiting = true\n";
    let config = parse(text).unwrap();
    assert!(!format!("{config:?}").contains("secret"), "{config:?}");
    let slack = config.slack().unwrap();
    assert_eq!(slack.bot_token.expose(), "xoxb-12-secret");
    assert_eq!(slack.target_user_id.as_deref(), Some("U123"));
    assert_eq!(config.features, Features { reply_resume: true, service_enabled: true });
    assert!(config.notify.waiting);
    assert_eq!(unknown(&config), "");
}

#[test]
fn x36_a_token_without_anybody_to_write_to_is_told_from_no_slack_at_all() {
    assert_eq!(parse("[destinations.dm]\ntarget_user_id = 'U1'").unwrap().slack(), None);
    let token = "[slack]\nbot_token = 'xoxb-1'\n";
    assert_eq!(parse(token).unwrap().slack().unwrap().target_user_id, None);
    let off = format!("{token}[destinations.dm]\nenabled = false\ntarget_user_id = 'U1'");
    assert_eq!(parse(&off).unwrap().slack().unwrap().target_user_id, None);
}

#[test]
fn how_replies_are_resumed_is_read_and_checked() {
    let program = if cfg!(windows) { r"C:\bin\claude.exe" } else { "/opt/bin/claude" };
    let text = format!(
        "[resume]\nlive = 'hold'\nclaude_newlines = 'literal'\nallow_bypass = true\nclaude = '{program}'\n"
    );
    let expected = ResumeConfig {
        live: LiveSession::Hold,
        claude_newlines: ClaudeNewlines::Literal,
        allow_bypass: true,
        claude: Some(program.into()),
        codex: None,
    };
    assert_eq!(parse(&text).unwrap().resume, expected);
    assert_eq!(parse("[resume]\nlive = 'pane'").unwrap().resume.live, LiveSession::Pane);
    let default = parse("[resume]\nlive = 'run'\nclaude_newlines = 'keep'").unwrap().resume;
    assert_eq!(default, ResumeConfig::default());
    insta::assert_snapshot!(shown("[resume]\nlive = 'window'"), @r#"`resume.live` must be `"run"`, `"hold"` or `"pane"` at line 2, column 8"#);
    insta::assert_snapshot!(shown("[resume]\ncodex = 'bin/codex'"), @"`resume.codex` must be the whole path of a program at line 2, column 9");
    let config = parse("[resume]\nlife = 1").unwrap();
    assert_eq!(unknown(&config), "`resume.life` (did you mean `resume.live`?)");
}

#[test]
fn kt_18_further_folders_of_codex_are_absolute_paths() {
    let absolute = if cfg!(windows) { r"C:\codex" } else { "/mnt/c/Users/u/.codex" };
    let config = parse(&format!("[codex]\nhomes = ['{absolute}']\nhome = 'x'")).unwrap();
    assert_eq!(config.codex.homes, [PathBuf::from(absolute)]);
    assert_eq!(unknown(&config), "`codex.home` (did you mean `codex.homes`?)");
    for wrong in ["['codex']", "'/codex'", "[1]", "['']"] {
        let problem = parse(&format!("[codex]\nhomes = {wrong}")).unwrap_err().to_string();
        assert_eq!(
            problem, "`codex.homes` must be a list of absolute paths at line 2, column 9",
            "{wrong}"
        );
    }
}

#[test]
fn the_board_has_any_free_port_or_one_that_a_browser_names() {
    let port = |text: &str| match parse(text) {
        Ok(config) => config.board.port.to_string(),
        Err(problem) => problem.to_string(),
    };
    assert_eq!(port(""), "0");
    assert_eq!(port("[board]\nport = 0"), "0");
    assert_eq!(port("[board]\nport = 4711"), "4711");
    for wrong in ["80", "-1", "65536", "'4711'"] {
        insta::allow_duplicates! {
            insta::assert_snapshot!(port(&format!("[board]\nport = {wrong}")), @"`board.port` must be 0 or a port from 1024 to 65535 at line 2, column 8");
        }
    }
}
