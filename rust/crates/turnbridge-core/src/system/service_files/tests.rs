//! Tests the definitions for launchd, systemd and Windows, and that odd values are read back
//! unchanged or refused.

use super::*;

/// A valid folder name with characters that have a meaning in some format.
const ODD: &str = "/a b/%h%%/$HOME/${x}/$$/it's \"so\"/back\\slash/&amp;/<key>/#;!@:-=/日本語 ";

fn job(program: &str, value: &str) -> Job {
    Job {
        program: program.to_owned(),
        arguments: ["daemon", "--foreground"].map(str::to_owned).to_vec(),
        environment: vec![
            ("PATH".to_owned(), "/usr/bin:/bin".to_owned()),
            ("CODEX_HOME".to_owned(), value.to_owned()),
        ],
    }
}

fn usual() -> Job {
    job("/home/user/.local/bin/turnbridge", "/home/user/.codex")
}

/// X46.
#[test]
fn slv_90_91_93_94_96_a_property_list_says_what_to_run_and_to_keep_it_running() {
    let text = launchd::render(&usual(), "/Users/user/Library/Logs/turnbridge/daemon.out.log");
    insta::assert_snapshot!(text.unwrap(), @r#"
    <?xml version="1.0" encoding="UTF-8"?>
    <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
    <plist version="1.0">
    <dict>
    	<key>Label</key>
    	<string>dev.turnbridge.daemon</string>
    	<key>ProgramArguments</key>
    	<array>
    		<string>/home/user/.local/bin/turnbridge</string>
    		<string>daemon</string>
    		<string>--foreground</string>
    	</array>
    	<key>EnvironmentVariables</key>
    	<dict>
    		<key>PATH</key>
    		<string>/usr/bin:/bin</string>
    		<key>CODEX_HOME</key>
    		<string>/home/user/.codex</string>
    	</dict>
    	<key>RunAtLoad</key>
    	<true/>
    	<key>KeepAlive</key>
    	<true/>
    	<key>ThrottleInterval</key>
    	<integer>10</integer>
    	<key>StandardOutPath</key>
    	<string>/Users/user/Library/Logs/turnbridge/daemon.out.log</string>
    	<key>StandardErrorPath</key>
    	<string>/Users/user/Library/Logs/turnbridge/daemon.out.log</string>
    </dict>
    </plist>
    "#);
}

#[test]
fn a_property_list_is_read_back_as_it_was_meant() {
    let text = launchd::render(&job(ODD, ODD), ODD).unwrap();
    let list = plist::Value::from_reader_xml(text.as_bytes()).unwrap();
    let list = list.as_dictionary().unwrap();
    let arguments: Vec<_> =
        list["ProgramArguments"].as_array().unwrap().iter().map(|word| word.as_string()).collect();
    assert_eq!(arguments, [Some(ODD), Some("daemon"), Some("--foreground")]);
    let environment = list["EnvironmentVariables"].as_dictionary().unwrap();
    assert_eq!(environment["CODEX_HOME"].as_string(), Some(ODD));
    for key in ["StandardOutPath", "StandardErrorPath"] {
        assert_eq!(list[key].as_string(), Some(ODD));
    }
    for key in ["RunAtLoad", "KeepAlive"] {
        assert_eq!(list[key].as_boolean(), Some(true), "SLV-93: {key}");
    }
    assert_eq!(list["ThrottleInterval"].as_signed_integer(), Some(10), "SLV-93");
    assert_eq!(list["Label"].as_string(), Some("dev.turnbridge.daemon"), "SLV-90");
}

#[test]
fn a_unit_says_what_to_run_and_to_start_it_again() {
    insta::assert_snapshot!(systemd::render(&usual()).unwrap(), @"
    [Unit]
    Description=Turnbridge: replies to coding agents
    # Whatever it was that failed may be mended by tomorrow: it never gives up.
    StartLimitIntervalSec=0

    [Service]
    Type=exec
    ExecStart=/home/user/.local/bin/turnbridge daemon --foreground
    Environment=PATH=/usr/bin:/bin
    Environment=CODEX_HOME=/home/user/.codex
    Restart=always
    RestartSec=5
    # It answers SIGTERM at once, unless Slack is slow.
    TimeoutStopSec=30
    # Agents that answer a reply outlive a restart of the daemon.
    KillMode=process
    # An agent that takes all memory is ended alone.
    OOMPolicy=continue
    # Tokens do not go into core files; an agent's own shell may ask for them (ulimit -c).
    LimitCORE=0:infinity

    [Install]
    WantedBy=default.target
    ");
}

#[test]
fn a_unit_quotes_what_systemd_would_take_for_its_own() {
    let line = |job: &Job, start: &str| {
        let text = systemd::render(job).unwrap();
        text.lines().find(|line| line.starts_with(start)).unwrap().to_owned()
    };
    // Variables are not expanded in the program, but in an argument.
    let plain = job("/a b/%h/$HOME/turnbridge", "");
    assert_eq!(
        line(&plain, "ExecStart="),
        r#"ExecStart="/a b/%%h/$HOME/turnbridge" daemon --foreground"#
    );
    let through_env = job(r#"/it's/$x\"/turnbridge"#, "");
    assert_eq!(
        line(&through_env, "ExecStart="),
        r#"ExecStart=/usr/bin/env "/it's/$$x\\\"/turnbridge" daemon --foreground"#
    );
    let text = systemd::render(&job("/x", r#"50% of $x "\" 日本"#)).unwrap();
    let environment = r#"Environment="CODEX_HOME=50%% of $x \"\\\" 日本""#;
    assert!(text.lines().any(|line| line == environment), "{text}");
}

#[test]
fn the_environment_is_read_back_as_it_was_written() {
    let job = job("/x", ODD);
    assert_eq!(systemd::environment_in(&systemd::render(&job).unwrap()), job.environment);
    assert_eq!(launchd::environment_in(&launchd::render(&job, "/y").unwrap()), job.environment);
    for text in ["", "Environment=", "Environment=\"", "<key>EnvironmentVariables</key>\n<dict>\nx"]
    {
        assert_eq!(systemd::environment_in(text), []);
        assert_eq!(launchd::environment_in(text), []);
    }
}

#[test]
fn a_task_is_well_formed_and_in_the_order_of_the_schema() {
    const PROGRAM: &str = r"C:\Users\ann & <b>\it's 50% $x\日本\turnbridge.exe";
    let text = task_scheduler::render(&job(PROGRAM, ""), r"DESK&TOP\アン").unwrap();
    let document = roxmltree::Document::parse(&text).unwrap();
    let root = document.root_element();
    assert_eq!(
        root.tag_name().namespace(),
        Some("http://schemas.microsoft.com/windows/2004/02/mit/task")
    );
    let children = |name: &str| {
        let node = root.descendants().find(|node| node.has_tag_name(name)).unwrap();
        node.children()
            .filter(|node| node.is_element())
            .map(|node| node.tag_name().name().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        children("Task"),
        ["RegistrationInfo", "Triggers", "Principals", "Settings", "Actions"]
    );
    assert_eq!(children("LogonTrigger"), ["Enabled", "UserId"]);
    assert_eq!(children("TimeTrigger"), ["Enabled", "StartBoundary", "Repetition"]);
    assert_eq!(children("Repetition"), ["Interval", "StopAtDurationEnd"]);
    assert_eq!(children("Principal"), ["UserId", "LogonType", "RunLevel"]);
    assert_eq!(children("RestartOnFailure"), ["Interval", "Count"]);
    assert_eq!(children("Exec"), ["Command", "Arguments"]);
    let texts = |name: &str| {
        let nodes = root.descendants().filter(|node| node.has_tag_name(name));
        nodes.map(|node| node.text().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(texts("UserId"), [r"DESK&TOP\アン"; 2]);
    assert_eq!(texts("Arguments"), [format!("--headless \"{PROGRAM}\" daemon --foreground")]);
    let expected = [
        ("MultipleInstancesPolicy", "IgnoreNew"),
        ("DisallowStartIfOnBatteries", "false"),
        ("StopIfGoingOnBatteries", "false"),
        ("Hidden", "true"),
        ("ExecutionTimeLimit", "PT0S"),
        ("LogonType", "InteractiveToken"),
    ];
    for (name, value) in expected {
        assert_eq!(texts(name), [value], "{name}");
    }
}

#[test]
fn a_task_is_utf_16_with_a_mark() {
    let bytes = task_scheduler::encode("<日>");
    assert_eq!(bytes, [0xff, 0xfe, b'<', 0, 0xe5, 0x65, b'>', 0]);
}

#[test]
fn a_running_task_is_known_by_a_number_in_every_language() {
    let line = |status: &str, result: &str| {
        format!(
            "\"PC\",\"\\Turnbridge\\Daemon\",\"N/A\",\"{status}\",\"x, y\",\"16.11.2026\",\"{result}\",\"ann\"\r\n"
        )
    };
    assert!(task_scheduler::is_running(&line("実行中", "267009")));
    assert!(task_scheduler::is_running(
        &(line("Bereit", "0") + &line("Wird ausgeführt", "267009"))
    ));
    assert!(!task_scheduler::is_running(&line("Ready", "267011")));
    for text in ["", "\r\n", "267009", "\"a\",\"b\"", "\u{fffd},,,,,,"] {
        assert!(!task_scheduler::is_running(text), "{text}");
    }
}

#[test]
fn what_a_format_cannot_say_is_refused() {
    for bad in ["/a\nExecStart=/evil", "/a\0", "/a\u{1b}[0m", "/a\u{ffff}", "/a\u{85}"] {
        for job in [job(bad, ""), job("/x", bad)] {
            assert!(launchd::render(&job, "/y").is_err(), "{bad:?}");
            assert!(systemd::render(&job).is_err(), "{bad:?}");
            assert!(task_scheduler::render(&job, "ann").is_err(), "{bad:?}");
        }
        assert!(launchd::render(&usual(), bad).is_err(), "{bad:?}");
        assert!(task_scheduler::render(&usual(), bad).is_err(), "{bad:?}");
    }
    let refusal = |program: &str| {
        let job = job(program, "");
        [systemd::render(&job), task_scheduler::render(&job, "ann")]
            .map(|text| text.err().map(|refusal| refusal.to_string()))
    };
    let broken = "`/a\\nb` has a control character";
    assert_eq!(refusal("/a\nb"), [broken, broken].map(|text| Some(text.to_owned())));
    let is_refused = |program: &str| refusal(program).map(|refusal| refusal.is_some());
    assert_eq!(is_refused("/it's=so"), [true, false], "`env` would take it for an assignment");
    assert_eq!(is_refused("/its=so"), [false, false]);
    assert_eq!(is_refused(r"C:\%x%\a.exe"), [false, true], "a variable");
    assert_eq!(is_refused(r"C:\$(x)\a.exe"), [false, true], "a variable of the scheduler's");
    assert_eq!(is_refused(r#"C:\"x"\a.exe"#), [false, true], "no path on Windows");
}
