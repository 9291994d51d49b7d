//! Tests the board in a real browser, without Slack (X36). Some tests run the real agents and type
//! replies; the others call the hooks themselves and check layout, settings and errors.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use testkit::{Browser, Hermetic, ModelReply};

use crate::replies::{claude_prompts, codex_prompt, pwned};
use crate::support::agent_home::{AgentHome, executable, stdout_of};
use crate::support::codex_world::{CodexWorld, run};
use crate::support::gates;
use crate::support::timeouts::wait_for;
use crate::support::world::ApiWorld;

/// An answer with markup that a page could mistake for its own.
const ANSWER: &str = "## Result\n\n<script>document.title = 'pwned'</script> and \
                      <img src=x onerror=\"document.title='pwned'\"> stay text.\n\n\
                      - **bold** and `code`\n- [good](https://example.com/a?b=1&c=2)\n\
                      - [bad](javascript:document.title='pwned')\n\n\
                      ```html\n<script>document.title = 'pwned'</script>\n```\n\n\
                      | a | b |\n| --- | --- |\n| 1 | 2 |\n";

/// A running daemon with its board and without Slack. A drop stops it.
pub struct BoardDaemon<'scene> {
    agent_home: &'scene AgentHome,
    pub daemon: Child,
    pub url: String,
}

impl<'scene> BoardDaemon<'scene> {
    /// Starts the daemon with `agent`'s environment. `config` follows the common config.
    #[track_caller]
    pub fn start(
        agent_home: &'scene AgentHome,
        agent: Option<&Command>,
        config: &str,
    ) -> BoardDaemon<'scene> {
        agent_home.configure(&format!("{config}[gate]\nenabled = false\n"));
        let mut command = agent_home.hermetic.command(executable("turnbridge"));
        let variables = agent.into_iter().flat_map(Command::get_envs);
        command.envs(variables.filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(agent_home.hermetic.root());
        command.args(["daemon", "--foreground"]).stdin(Stdio::null());
        let daemon = command.spawn().expect("start the daemon");
        let mut board = BoardDaemon { agent_home, daemon, url: String::new() };
        board.url = wait_for("the board", || {
            let mut command = agent_home.hermetic.command(executable("turnbridge"));
            let output = command.arg("board").output().expect("run turnbridge");
            match output.status.success() {
                true => Ok(stdout_of(&output).trim().to_owned()),
                false => Err(format!("{output:?}")),
            }
        });
        board
    }

    /// Calls a hook as if this process were an agent in a pane.
    #[track_caller]
    pub fn hook(&self, payload: &Value) {
        self.hook_in(Some("%1"), payload);
    }

    #[track_caller]
    fn hook_in(&self, pane: Option<&str>, payload: &Value) {
        let name = match payload["hook_event_name"].as_str() {
            Some("Stop") => "turnbridge-stop-gate",
            _ => "turnbridge-status",
        };
        let mut command = self.agent_home.hermetic.command(executable(name));
        command.args(["--origin", "plugin"]).env("CLAUDE_CODE_ENTRYPOINT", "cli");
        command.envs(pane.map(|pane| ("TMUX_PANE", pane)));
        Self::call(command, payload);
    }

    #[cfg(not(windows))]
    #[track_caller]
    fn hook_of_codex(&self, payload: &Value) {
        let mut command = self.agent_home.hermetic.command(executable("turnbridge-status"));
        command.args(["--tool", "codex"]);
        Self::call(command, payload);
    }

    #[track_caller]
    fn call(mut command: Command, payload: &Value) {
        command.stdin(Stdio::piped());
        let mut child = command.spawn().expect("start the hook");
        let mut stdin = child.stdin.take().expect("its input");
        std::io::Write::write_all(&mut stdin, payload.to_string().as_bytes()).expect("its payload");
        drop(stdin);
        assert!(child.wait().expect("wait for the hook").success());
    }
}

impl Drop for BoardDaemon<'_> {
    fn drop(&mut self) {
        let mut command = self.agent_home.hermetic.command(executable("turnbridge"));
        let _ = command.args(["daemon", "stop"]).output();
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}

/// Saves a screenshot beside other test output.
#[track_caller]
pub fn screenshot(browser: &mut Browser, name: &str) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("board");
    fs::create_dir_all(&folder).expect("make the folder for screenshots");
    browser.screenshot(&folder.join(format!("{name}.png")));
}

/// Opens the thread of the only session, by keyboard once it is visible.
#[track_caller]
fn open_only_thread(browser: &mut Browser, answer: &str) {
    browser.order("wait", json!({ "selector": ".group:not([hidden]) .count", "text": "1" }));
    // This works also if its process has ended: a single stopped session is not folded.
    browser.order("wait", json!({ "selector": ".card" }));
    browser.press(&["j", "Enter"]);
    browser.wait_for(".turn .answer", answer);
}

#[test]
fn a_reply_typed_on_the_page_goes_on_with_the_claude_session_and_its_turn_appears() {
    let Some(claude) = gates::fast() else { return };
    let Some(mut browser) = gates::browser() else { return };
    let world = ApiWorld::with_gate(
        claude,
        vec![ModelReply::text(ANSWER), ModelReply::text("Two **now**.")],
    );
    let agent = world.claude.command(&world.hermetic, &world.api);
    let program = format!("[resume]\nclaude = '{}'\n", world.claude.program().display());
    let board = BoardDaemon::start(&world, Some(&agent), &program);
    browser.open(&board.url);
    browser.wait_for("#sessions .empty", "No sessions yet");
    stdout_of(&world.claude().args(["-p", "first"]).output().expect("run claude"));
    open_only_thread(&mut browser, "Result");
    check_nothing_is_markup(&mut browser);

    let typed = "now the \"tests\", $(touch pwned) <b>please</b>";
    browser.press(&["r"]);
    browser.type_text(typed);
    browser.press(&["Control+Enter"]);
    browser.wait_for(".turn .answer", "Two now.");
    let prompts = claude_prompts(&world.api.requests()[1]);
    assert!(prompts.iter().any(|prompt| prompt == typed), "{prompts:#?}");
    wait_for("a reply that is shown as its turn alone", || match browser.count(".turn") {
        2 => Ok(()),
        count => Err(count.to_string()),
    });
    browser.wait_for(".said .words", typed);
    browser.press(&["Escape", "Escape"]);
    browser.wait_for("#thread .empty", "Choose a session");
    browser.assert_quiet(&board.url);
    assert!(!pwned(world.hermetic.root()), "a shell has run it");
    world.assert_no_problems();
}

/// KT-45: the rollout is the only source.
#[test]
fn a_reply_typed_on_the_page_goes_on_with_the_codex_thread_and_its_turn_appears() {
    let Some(codex) = gates::fast() else { return };
    let Some(mut browser) = gates::browser() else { return };
    let world =
        CodexWorld::bare(codex, vec![ModelReply::text(ANSWER), ModelReply::text("Two **now**.")]);
    let agent = world.codex.command(&world.hermetic, &world.api);
    let program = format!("[resume]\ncodex = '{}'\n", world.codex.program().display());
    let board = BoardDaemon::start(&world, Some(&agent), &program);
    browser.open(&board.url);
    stdout_of(&run(&mut world.exec("first")));
    open_only_thread(&mut browser, "Result");
    check_nothing_is_markup(&mut browser);
    let typed = "--yolo\n$(touch pwned) & go on";
    browser.order("fill", json!({ "selector": "#reply", "text": typed }));
    browser.click(".reply button.primary");
    browser.wait_for(".turn .answer", "Two now.");
    assert_eq!(codex_prompt(&world.api.requests()[1]).trim_end(), typed);
    browser.assert_quiet(&board.url);
    assert!(!pwned(world.hermetic.root()), "a shell has run it");
}

#[track_caller]
fn check_nothing_is_markup(browser: &mut Browser) {
    let shown = browser.wait_for(".turn .answer", "Result");
    for text in [
        "<script>document.title = 'pwned'</script> and <img src=x",
        "[bad](javascript:document.title='pwned')",
    ] {
        assert!(shown.contains(text), "{shown}");
    }
    assert_eq!(browser.count("#thread script, #thread img, #thread iframe"), 0);
    assert_eq!(browser.count("#thread .answer a"), 1);
    let link = "(({href, rel}) => [href, rel])(document.querySelector('#thread .answer a'))";
    let link = browser.run(link);
    assert_eq!(link, json!(["https://example.com/a?b=1&c=2", "noreferrer noopener"]));
    assert_eq!(browser.count("#thread .answer td"), 2);
    assert_eq!(browser.count("#thread .answer strong"), 1);
    assert!(!browser.run("document.title").as_str().unwrap_or_default().contains("pwned"));
}

/// Unknown syntax stays as it was typed, and no other text becomes markup.
#[test]
fn markdown_becomes_what_it_means_and_nothing_else() {
    let Some(mut browser) = gates::browser() else { return };
    let agent_home = AgentHome::new(Hermetic::new());
    let board = BoardDaemon::start(&agent_home, None, "");
    browser.open(&board.url);
    browser.wait_for("#connection", "Live");
    for (source, expected) in [
        ("plain\ntwo", "<p>plain\ntwo</p>"),
        ("a **b *c* d** e", "<p>a <strong>b <em>c</em> d</strong> e</p>"),
        ("**bold *both***", "<p><strong>bold <em>both</em></strong></p>"),
        ("snake_case_name 2*3*4 * 5", "<p>snake_case_name 2<em>3</em>4 * 5</p>"),
        ("``a ` b`` and `<i>`", "<p><code>a ` b</code> and <code>&lt;i&gt;</code></p>"),
        ("~~old~~ \\*no\\*", "<p><del>old</del> *no*</p>"),
        ("# One\n## Two", "<h3>One</h3><h4>Two</h4>"),
        ("1. a\n2. b\n   - c\n\nend", "<ol><li>a</li><li>b<ul><li>c</li></ul></li></ol><p>end</p>"),
        ("- [x] done\n- [ ] open", "<ul><li>☑ done</li><li>☐ open</li></ul>"),
        ("> a\n> > b", "<blockquote><p>a</p><blockquote><p>b</p></blockquote></blockquote>"),
        ("a\n\n---\nb", "<p>a</p><hr><p>b</p>"),
        (
            "```js\n**not** <b>\n",
            "<pre tabindex=\"0\"><span class=\"language\">js</span><code>**not** &lt;b&gt;\n</code></pre>",
        ),
        (
            "see https://a.example/x_y_z. And <http://b.example>",
            "<p>see <a href=\"https://a.example/x_y_z\">https://a.example/x_y_z</a>. And \
             <a href=\"http://b.example/\">http://b.example</a></p>",
        ),
        ("[x](data:text/html,1) [y](//z) [z](/q)", "<p>[x](data:text/html,1) [y](//z) [z](/q)</p>"),
        (
            "[a](JaVaScRiPt:alert(1)) ![i](vbscript:x)",
            "<p>[a](JaVaScRiPt:alert(1)) ![i](vbscript:x)</p>",
        ),
        ("![i](https://a.example/i.png)", "<p><a href=\"https://a.example/i.png\">i</a></p>"),
        (
            "[\"><b>](https://a.example/\"onx=1)",
            "<p><a href=\"https://a.example/%22onx=1\">\"&gt;&lt;b&gt;</a></p>",
        ),
        (
            "日本語の**強調**です。https://a.example/。",
            "<p>日本語の<strong>強調</strong>です。<a href=\"https://a.example/\">https://a.example/</a>。</p>",
        ),
    ] {
        let script = format!(
            "import('/markdown.js').then(({{ render }}) => render({}).innerHTML)",
            json!(source)
        );
        let made = browser.run(&script).as_str().expect("markup").to_owned();
        let made = made.replace(" rel=\"noreferrer noopener\" target=\"_blank\"", "");
        assert_eq!(made, expected, "{source}");
    }
}

/// The answer has more pieces than a function can have arguments.
#[test]
fn an_answer_of_a_hundred_thousand_pieces_is_shown_and_hides_no_other() {
    let Some(mut browser) = gates::browser() else { return };
    let agent_home = AgentHome::new(Hermetic::new());
    let board = BoardDaemon::start(&agent_home, None, "language = \"en\"\n");
    let hook = |event: &str, more: Value| board.hook(&payload(&agent_home, 1, "huge", event, more));
    let answers = ["the first answer".to_owned(), "`a` ".repeat(75_000)];
    for answer in &answers {
        hook("UserPromptSubmit", json!({ "prompt": "go on" }));
        hook("Stop", json!({ "last_assistant_message": answer }));
    }
    browser.open(&board.url);
    browser.order("wait", json!({ "selector": ".card" }));
    browser.press(&["j", "Enter"]);
    browser.wait_for(".turn .answer", "the first answer");
    wait_for("the answer", || match browser.count(".turn .answer code") {
        75_000 => Ok(()),
        count => Err(count.to_string()),
    });
    assert_eq!(browser.order("report", json!({}))["complaints"], json!([]));
    // The pieces are blocks, items of a list, cells of a table, and unrenderable text.
    for (source, selector, count) in [
        ("'# a\\n'.repeat(150_000)", "h3", 150_000),
        ("'- ' + '`a` '.repeat(150_000)", "li code", 150_000),
        ("'|' + 'a|'.repeat(1_500) + '\\n|' + '-|'.repeat(1_500)", "th", 1_500),
        ("'> ' + '`a` '.repeat(150_000)", "blockquote code", 150_000),
        ("'**`a` b** '.repeat(60_000)", "strong code", 60_000),
    ] {
        let script = format!(
            "import('/markdown.js').then(({{ render }}) => render({source}).querySelectorAll('{selector}').length)"
        );
        assert_eq!(browser.run(&script), count, "{source}");
    }
}

fn payload(agent_home: &AgentHome, number: u32, project: &str, event: &str, more: Value) -> Value {
    let mut payload = json!({
        "session_id": format!("00000000-0000-4000-8000-{number:012}"),
        "transcript_path": "/nowhere/transcript.jsonl",
        "cwd": agent_home.hermetic.root().join("work").join(project),
        "hook_event_name": event,
    });
    payload.as_object_mut().expect("an object").extend(more.as_object().expect("more").clone());
    payload
}

/// KT-76..82, X27; the screenshots are for review.
#[test]
fn cards_stand_in_order_with_their_dots_on_a_screen_and_on_a_phone() {
    let Some(mut browser) = gates::browser() else { return };
    let agent_home = AgentHome::new(Hermetic::new());
    let board = BoardDaemon::start(&agent_home, None, "language = \"en\"\n");
    let hook = |number: u32, project: &str, event: &str, more: Value| {
        board.hook(&payload(&agent_home, number, project, event, more));
    };
    for (number, project) in [(1, "stopped"), (2, "completed"), (3, "waiting"), (4, "working")] {
        hook(number, project, "UserPromptSubmit", json!({ "prompt": format!("do {project}") }));
    }
    hook(1, "stopped", "SessionEnd", json!({ "reason": "other" }));
    hook(2, "completed", "Stop", json!({ "last_assistant_message": ANSWER }));
    hook(3, "waiting", "PermissionRequest", json!({ "tool_name": "Bash", "tool_input": {} }));

    browser.open(&board.url);
    browser.wait_for(".card", "working");
    let projects = browser.order("texts", json!({ "selector": ".card .project" }));
    assert_eq!(projects["texts"], json!(["waiting", "working", "completed"]));
    let labels = "[...document.querySelectorAll('.card .dot')].map((dot) => dot.ariaLabel)";
    assert_eq!(browser.run(labels), json!(["waiting for you", "working", "completed"]));
    let look = "[...document.querySelectorAll('.card .dot')].map((dot) => {
        const own = getComputedStyle(dot), mark = getComputedStyle(dot, '::after');
        return [own.animationName, mark.content !== 'none', own.outlineStyle].join(' ');
    })";
    assert_eq!(browser.run(look), json!(["none true none", "blink false none", "none false none"]));
    // Colours are compared by their channels.
    let colours = "[...document.querySelectorAll('.card .dot')].map((dot) => {
        // Blinking mixes the colour with the background.
        dot.style.animation = 'none';
        const [r, g, b] = getComputedStyle(dot).backgroundColor.match(/[\\d.]+/g).map(Number);
        dot.style.animation = '';
        if (g > r && g > b) return 'green';
        if (b > r && b > g) return 'blue';
        return r > g && g > r / 3 && b < g ? 'orange' : `${r} ${g} ${b}`;
    })";
    assert_eq!(
        browser.run(colours),
        json!(["orange", "green", "blue"]),
        "KT-77, KT-78, KT-79, TV-29"
    );
    assert_eq!(browser.run("document.title"), "(1) Turnbridge");

    // The filter finds the stopped session, which is also unfolded and folded by hand.
    browser.order("fill", json!({ "selector": "#filter", "text": "do stopped" }));
    browser.wait_for(".card .project", "stopped");
    assert_eq!(browser.count(".card"), 1);
    browser.order("fill", json!({ "selector": "#filter", "text": "" }));
    browser.wait_for(".card", "working");
    assert_eq!(browser.count(".card"), 3);
    browser.click("summary");
    browser.wait_for(".card .project", "stopped");
    assert_eq!(browser.count(".card"), 4);
    browser.click("summary");
    assert_eq!(browser.count(".card"), 3);

    // By keyboard to the last card, and no further.
    browser.press(&["j", "j", "j", "j", "Enter"]);
    browser.wait_for(".thread-head h2", "completed");
    browser.wait_for(".turn .answer", "Result");
    check_nothing_is_markup(&mut browser);
    screenshot(&mut browser, "desktop-light");
    browser.press(&["Escape", "k", "Enter"]);
    browser.wait_for(".thread-head h2", "working");
    // An unsent draft is restored.
    browser.press(&["r"]);
    browser.type_text("half a thought about j and k");
    browser.press(&["Escape", "Escape", "/"]);
    browser.type_text("COMPL");
    browser.order("hidden", json!({ "selector": ".card[data-state=working]" }));
    assert_eq!(browser.count(".card"), 1);
    browser.order("fill", json!({ "selector": "#filter", "text": "" }));
    browser.order("click", json!({ "selector": ".card", "text": "working" }));
    let kept = browser.run("document.querySelector('#reply').value");
    assert_eq!(kept, "half a thought about j and k");
    // Screen readers get an announcement of a changed state.
    hook(4, "working", "Stop", json!({ "last_assistant_message": "All done." }));
    browser.wait_for(".turn .answer", "All done.");
    let said = browser.run("document.querySelector('#announcer').textContent");
    assert_eq!(said, "working: completed");

    let phone = json!({ "url": board.url, "width": 390, "height": 844, "dark": true });
    browser.order("open", phone);
    browser.wait_for(".card", "waiting");
    let width = "document.documentElement.scrollWidth";
    assert_eq!(browser.run(width), 390);
    screenshot(&mut browser, "phone-dark-cards");
    browser.order("click", json!({ "selector": ".card", "text": "completed" }));
    browser.wait_for(".turn .answer", "Result");
    assert_eq!(browser.run(width), 390);
    screenshot(&mut browser, "phone-dark-thread");
    browser.click(".back");
    browser.wait_for(".card", "waiting");
    browser.assert_quiet(&board.url);
}

/// KT-83, KT-84.
#[test]
fn the_settings_have_their_japanese_words_and_change_claudes_hooks() {
    let Some(mut browser) = gates::browser() else { return };
    let agent_home = AgentHome::new(Hermetic::new());
    let board = BoardDaemon::start(&agent_home, None, "language = \"ja\"\n");
    browser.open(&board.url);
    browser.wait_for("#sessions .empty", "セッションはまだありません");
    browser.click("#open-settings");
    browser.wait_for("dialog label", "Claude hooks 自動設定");
    browser.wait_for("dialog button", "今すぐ適用");
    browser.wait_for(".hooks-state", "未登録");
    browser.click("#hooks-toggle");
    browser.wait_for(".hooks-state", "登録済み");
    let path = agent_home.hermetic.claude_config_dir().join("settings.json");
    assert!(fs::read_to_string(&path).expect("settings.json").contains("turnbridge-status"));
    screenshot(&mut browser, "settings-japanese");
    browser.click("#hooks-toggle");
    browser.wait_for(".hooks-state", "未登録");
    fs::write(&path, "{ // mine\n}").expect("write settings.json");
    browser.order("click", json!({ "selector": "dialog button", "text": "今すぐ適用" }));
    let problem = browser.wait_for("dialog .problem", "失敗");
    assert!(problem.contains("settings.json") && problem.contains("対処方法"), "{problem}");
    browser.press(&["Escape"]);
    browser.order("hidden", json!({ "selector": "dialog" }));
}

#[test]
fn the_settings_show_what_is_wrong_with_the_config_on_a_screen_and_on_a_phone() {
    let Some(mut browser) = gates::browser() else { return };
    let agent_home = AgentHome::new(Hermetic::new());
    let file = agent_home.hermetic.config_dir().join("config.toml");
    for (language, expected, hint) in [
        ("en", "The config file cannot be used. The one from before stays", "What you can do:"),
        ("ja", "設定ファイルに問題があるため、以前の設定のまま動作しています。", "対処方法："),
    ] {
        let config = format!("language = \"{language}\"\n");
        let board = BoardDaemon::start(&agent_home, None, &config);
        browser.open(&board.url);
        browser.click("#open-settings");
        browser.wait_for(".hooks-state", if language == "en" { "Not reg" } else { "未登録" });
        assert_eq!(browser.run("document.querySelector('.config-problem').hidden"), json!(true));
        fs::write(&file, format!("{config}[board]\nport = one\n")).expect("write config.toml");
        let is_told = || {
            let mut command = agent_home.hermetic.command(executable("turnbridge"));
            let output = command.args(["daemon", "status"]).output().expect("run turnbridge");
            String::from_utf8_lossy(&output.stdout).contains("config:").then_some(())
        };
        testkit::wait_until(std::time::Duration::from_secs(30), "the problem", is_told);
        for (name, width) in [("light", 1280), ("phone", 390)] {
            browser.order("open", json!({"url": board.url, "width": width, "height": 800}));
            browser.click("#open-settings");
            let shown = browser.wait_for(".config-problem", expected);
            assert!(shown.contains("line 3"), "{shown}");
            assert!(shown.contains(hint), "{shown}");
            screenshot(&mut browser, &format!("config-problem-{language}-{name}"));
            let script = "[...document.querySelectorAll('dialog *')].some((it) => it.scrollWidth > it.clientWidth + 1 && it.clientWidth > 0 && it.tagName === 'P')";
            assert_eq!(browser.run(script), json!(false));
        }
    }
}

/// The address of a stopped daemon, and the one of the next.
#[test]
fn a_page_finds_the_daemon_again_and_says_when_its_address_is_no_longer_valid() {
    let Some(mut browser) = gates::browser() else { return };
    let agent_home = AgentHome::new(Hermetic::new());
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = free.local_addr().expect("its address").port();
    drop(free);
    let config = format!("language = \"en\"\n[board]\nport = {port}\n");
    let board = BoardDaemon::start(&agent_home, None, &config);
    browser.open(&board.url);
    browser.wait_for("#connection", "Live");
    drop(board);
    browser.wait_for("#connection", "Reconnecting");
    let board = BoardDaemon::start(&agent_home, None, &config);
    browser.wait_for("#sign-in .why", "The daemon was started anew");
    browser.run(&format!("location.hash = '{}'", board.url.split_once('#').expect("a token").1));
    browser.wait_for("#connection", "Live");
    browser.order("hidden", json!({ "selector": "#sign-in" }));
    let without = board.url.split_once('#').expect("a token").0;
    browser.open(without);
    browser.wait_for("#sign-in .why", "Type the code that your terminal shows");
}

/// The page's messages about an impossible action, in both languages.
#[test]
fn where_no_pane_is_known_the_page_shows_the_command_with_a_button_that_copies_it() {
    let Some(mut browser) = gates::browser() else { return };
    let agent_home = AgentHome::new(Hermetic::new());
    let id = "825c8529-ee09-4cb8-8902-dd785b12ca0a";
    let folder = agent_home.hermetic.project();
    let home = agent_home.hermetic.claude_config_dir();
    let command = format!("CLAUDE_CONFIG_DIR={} claude -r {id}", home.display());
    let command = format!("cd {} && {command}", folder.display());
    for (language, focus, why, copy, copied) in [
        ("en", "Go to terminal", "The terminal of this session is not known.", "Copy", "Copied"),
        (
            "ja",
            "ターミナルへ移動",
            "このセッションのターミナルは特定できません。",
            "コピー",
            "コピーしました",
        ),
    ] {
        let board = BoardDaemon::start(&agent_home, None, &format!("language = \"{language}\"\n"));
        let prompt = json!({
            "session_id": id, "cwd": folder, "hook_event_name": "UserPromptSubmit",
            "prompt": "Mend the retry policy.",
        });
        board.hook_in(None, &prompt);
        for (name, width, dark) in
            [("light", 1280, false), ("dark", 1280, true), ("phone", 390, true)]
        {
            let view = json!({"url": board.url, "width": width, "height": 800, "dark": dark});
            browser.order("open", view);
            browser.order("run", json!({"script": "navigator.clipboard.writeText = (text) => { window.kept = text; return Promise.resolve(); }"}));
            browser.order("wait", json!({ "selector": ".card" }));
            browser.press(&["j", "Enter"]);
            browser.order("click", json!({"selector": ".focus", "text": focus}));
            browser.wait_for(".command p", why);
            assert_eq!(browser.wait_for(".command code", "claude -r"), command);
            assert_eq!(browser.wait_for(".command .copy", copy), copy);
            screenshot(&mut browser, &format!("command-{language}-{name}"));
            browser.click(".command .copy");
            browser.wait_for(".command .copy", copied);
            assert_eq!(browser.run("window.kept"), json!(command));
            // No element overflows a narrow page.
            let is_wide = browser.run("document.documentElement.scrollWidth > innerWidth");
            assert_eq!(is_wide, json!(false));
        }
        browser.assert_quiet(&board.url);
    }
}

/// A browser's own words for it are English, whatever the language of the page.
#[test]
fn what_cannot_be_sent_is_explained_in_the_language_of_the_page() {
    let Some(mut browser) = gates::browser() else { return };
    let agent_home = AgentHome::new(Hermetic::new());
    for (language, project, expected) in [
        (
            "en",
            "first",
            "Not sent: the daemon does not answer. Your text is still here; send it again.",
        ),
        (
            "ja",
            "second",
            "送信できませんでした：デーモンが応答しません。入力内容は残っています。もう一度送信してください。",
        ),
    ] {
        let board = BoardDaemon::start(&agent_home, None, &format!("language = \"{language}\"\n"));
        let more = json!({ "prompt": "Mend it." });
        board.hook(&payload(&agent_home, 1, project, "UserPromptSubmit", more));
        browser.open(&board.url);
        browser.wait_for(".card", project);
        browser.press(&["j", "Enter"]);
        browser.wait_for(".turn", "Mend it.");
        drop(board);
        browser.order("fill", json!({ "selector": "#reply", "text": "go on" }));
        browser.click(".reply button");
        browser.wait_for(".send-state", expected);
        assert_eq!(browser.run("document.querySelector('#reply').value"), "go on");
    }
}

/// A second `codex resume` would get in the way of the first.
#[cfg(not(windows))]
#[test]
fn while_a_codex_has_a_thread_open_in_an_unknown_pane_the_page_shows_no_command() {
    let Some(mut browser) = gates::browser() else { return };
    let agent_home = AgentHome::new(Hermetic::new());
    let thread = "01a1e176-ae20-78d1-8f3a-b37611a5645c";
    let locks = agent_home.hermetic.codex_home().join("thread-writer-locks");
    fs::create_dir_all(&locks).expect("make the folder of locks");
    let lock = locks.join(format!("{thread}.lock"));
    for (language, focus, is_open, why) in [
        ("en", "Go to terminal", "Go there, or close it there first", "Run this in one"),
        ("ja", "ターミナルへ移動", "先にそこで終了してください", "次のコマンドを実行してください"),
    ] {
        let board = BoardDaemon::start(&agent_home, None, &format!("language = \"{language}\"\n"));
        for event in ["SessionStart", "SessionEnd"] {
            let payload = json!({
                "session_id": thread, "cwd": agent_home.hermetic.project(), "hook_event_name": event,
                "reason": "other",
            });
            board.hook_of_codex(&payload);
        }
        let terminal = fs::File::create(&lock).expect("make the lock");
        terminal.try_lock().expect("take the lock");
        browser.open(&board.url);
        browser.order("wait", json!({ "selector": ".card" }));
        browser.press(&["j", "Enter"]);
        browser.order("click", json!({"selector": ".focus", "text": focus}));
        browser.wait_for(".command p", is_open);
        assert_eq!(browser.order("count", json!({"selector": ".command code"}))["count"], 0);
        screenshot(&mut browser, &format!("open-elsewhere-{language}"));
        drop(terminal);
        browser.order("click", json!({"selector": ".focus", "text": focus}));
        browser.wait_for(".command p", why);
        browser.wait_for(".command code", "codex resume");
        browser.assert_quiet(&board.url);
    }
}

#[test]
fn without_a_token_and_without_a_daemon_the_page_says_what_to_do() {
    let Some(mut browser) = gates::browser() else { return };
    let agent_home = AgentHome::new(Hermetic::new());
    for (language, locale, sign_in, signed_out, none, lost, gone) in [
        (
            "en",
            "en-US",
            "Sign in to the board",
            "Sign in to see your sessions.",
            "No sessions yet",
            "The daemon does not answer",
            "The sessions cannot be read",
        ),
        (
            "ja",
            "ja-JP",
            "ボードにサインイン",
            "サインインすると",
            "セッションはまだありません",
            "デーモンが応答しません",
            "セッションを読み取れません",
        ),
    ] {
        let mut board =
            BoardDaemon::start(&agent_home, None, &format!("language = \"{language}\"\n"));
        let empty = "document.querySelector('#sessions .empty').textContent";
        let address = board.url.split_once('#').expect("a token").0.to_owned();
        browser.order("open", json!({"url": address, "locale": locale}));
        browser.wait_for("#sign-in h2", sign_in);
        let said = browser.run(empty);
        assert!(said.as_str().expect("words").contains(signed_out), "{said}");
        browser.order("open", json!({"url": board.url, "locale": locale}));
        browser.wait_for("#sessions .empty", none);
        board.daemon.kill().expect("end the daemon");
        board.daemon.wait().expect("its end");
        browser.wait_for("#lost", lost);
        let commands = browser.order("texts", json!({"selector": "#lost code"}));
        assert_eq!(commands["texts"], json!(["turnbridge daemon", "turnbridge board --open"]));
        browser.wait_for("#sessions .empty", gone);
        for (name, width, height) in [("wide", 1280, 800), ("phone", 390, 800)] {
            browser.order("resize", json!({"width": width, "height": height}));
            screenshot(&mut browser, &format!("lost-{language}-{name}"));
            let is_cut = browser.run(
                "(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)\
                 (document.querySelector('#connection'))",
            );
            assert_eq!(is_cut, json!(false), "{language} {name}");
        }
    }
}
