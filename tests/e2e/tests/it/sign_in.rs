//! Tests that a real browser signs in to the board: by the page in the state folder, and by the
//! code that the terminal shows. The program that opens addresses is a stand-in, which only records
//! them.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use serde_json::json;
use testkit::Hermetic;

use crate::board::{BoardDaemon, screenshot};
use crate::support::agent_home::{AgentHome, executable};
use crate::support::gates;
use crate::support::timeouts::wait_for;

/// Runs `turnbridge board --open`, with an opener that runs `script` at its end.
fn open_board(agent_home: &AgentHome, script: &str) -> Child {
    let bin = agent_home.hermetic.root().join("opener");
    fs::create_dir_all(&bin).expect("make a folder");
    let seen = agent_home.hermetic.root().join("opened");
    let _ = fs::remove_file(&seen);
    let path = bin.join(if cfg!(target_os = "macos") { "open" } else { "xdg-open" });
    let text = format!("#!/bin/sh\nprintf '%s\\n' \"$1\" >> '{}'\n{script}\n", seen.display());
    testkit::write_program(&path, &text);
    let mut command = agent_home.hermetic.command(executable("turnbridge"));
    command.args(["board", "--open"]).env("PATH", &bin).env("DISPLAY", ":99");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().expect("start turnbridge board")
}

/// Returns the address of the opener's `number`th call.
#[track_caller]
fn opened(agent_home: &AgentHome, number: usize) -> String {
    wait_for("an address", || {
        let text =
            fs::read_to_string(agent_home.hermetic.root().join("opened")).unwrap_or_default();
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        whole.lines().nth(number).map(str::to_owned).ok_or(text)
    })
}

/// Returns the code that the command shows.
#[track_caller]
fn shown_code(child: &mut Child) -> String {
    let mut errors = BufReader::new(child.stderr.take().expect("its errors"));
    let mut text = String::new();
    while !text.ends_with("cancels it.\n") {
        assert_ne!(errors.read_line(&mut text).expect("a line"), 0, "{text}");
    }
    child.stderr = Some(errors.into_inner());
    let mut words = text.split_whitespace();
    let code = words.find(|word| word.len() == 9 && word.as_bytes()[4] == b'-');
    code.expect("a code").to_owned()
}

#[test]
fn the_page_in_the_state_folder_signs_a_browser_in_once() {
    let Some(mut browser) = gates::browser() else { return };
    let agent_home = AgentHome::new(Hermetic::new());
    let board = BoardDaemon::start(&agent_home, None, "language = \"en\"\n");
    let token = board.url.split_once('#').expect("a token").1;
    let mut child = open_board(&agent_home, "exit 0");
    let address = opened(&agent_home, 0);
    let page = agent_home.hermetic.state_dir().join("board-open.html");
    assert_eq!(address, format!("file://{}", page.display()));
    let text = fs::read_to_string(&page).expect("the page");
    browser.open(&address);
    browser.wait_for("#connection", "Live");
    browser.wait_for("#sessions .empty", "No sessions yet");
    assert!(child.wait().expect("the end of the command").success());
    assert!(!page.exists(), "the page is left");
    assert_eq!(browser.run("location.href"), board.url.split_once('#').expect("a token").0);
    assert_eq!(browser.run("sessionStorage.getItem('turnbridge-token')"), token);
    // A reload comes from the same page as the first visit, and needs no ticket.
    browser.run("location.reload()");
    browser.wait_for("#connection", "Live");
    assert_eq!(browser.order("report", json!({}))["complaints"], json!([]));
    // A copy of the page leads to the form.
    let copy = agent_home.hermetic.root().join("copy.html");
    fs::write(&copy, text).expect("write a copy");
    browser.open(&format!("file://{}", copy.display()));
    browser.wait_for("#sign-in .why", "Type the code");
    assert_eq!(browser.run("location.hash"), "");
}

#[test]
fn a_browser_that_cannot_read_the_page_is_signed_in_by_the_code() {
    let Some(mut browser) = gates::browser() else { return };
    let agent_home = AgentHome::new(Hermetic::new());
    let board = BoardDaemon::start(&agent_home, None, "language = \"en\"\n");
    let plain = board.url.split_once('#').expect("a token").0.to_owned();
    // The opener accepts the address, but no browser opens the page.
    let mut child = open_board(&agent_home, "exit 0");
    let code = shown_code(&mut child);
    assert_eq!(opened(&agent_home, 1), plain);
    browser.open(&plain);
    browser.wait_for("#sign-in h2", "Sign in to the board");
    browser.wait_for("#code-hint", "turnbridge board --code");
    screenshot(&mut browser, "sign-in-light");
    assert_eq!(browser.run("document.activeElement.id"), "code");
    assert_eq!(
        browser.run("document.querySelector('label[for=code]').textContent"),
        "One-time code"
    );
    assert_eq!(browser.count(".card"), 0);
    // By keyboard alone, first a wrong code.
    browser.type_text("0000 0000");
    browser.press(&["Enter"]);
    browser.wait_for("#code-problem", "This code is not right. 4 more tries.");
    assert_eq!(browser.run("document.querySelector('#code').getAttribute('aria-invalid')"), "true");
    browser.type_text(&code.to_lowercase());
    browser.press(&["Enter"]);
    browser.wait_for("#connection", "Live");
    browser.wait_for("#sessions .empty", "No sessions yet");
    browser.order("hidden", json!({ "selector": "#sign-in" }));
    assert!(child.wait().expect("the end of the command").success());

    let dark = json!({ "url": plain, "width": 1280, "height": 800, "dark": true });
    browser.order("open", dark);
    browser.wait_for("#sign-in .why", "Type the code");
    browser.type_text(&code);
    browser.click("#sign-in button");
    browser.wait_for("#code-problem", "No code is waiting to be typed");
    screenshot(&mut browser, "sign-in-dark");
    let phone = json!({ "url": plain, "width": 360, "height": 740, "locale": "ja-JP" });
    browser.order("open", phone);
    browser.wait_for("#sign-in h2", "ボードにサインイン");
    assert_eq!(browser.run("document.documentElement.scrollWidth"), 360);
    screenshot(&mut browser, "sign-in-phone-japanese");
}

#[test]
fn five_wrong_codes_are_told_on_the_page_and_in_the_terminal() {
    let Some(mut browser) = gates::browser() else { return };
    let agent_home = AgentHome::new(Hermetic::new());
    let board = BoardDaemon::start(&agent_home, None, "language = \"en\"\n");
    let mut child = open_board(&agent_home, "exit 3");
    let code = shown_code(&mut child);
    browser.open(board.url.split_once('#').expect("a token").0);
    for told in
        ["4 more tries", "3 more tries", "2 more tries", "One more try", "Too many wrong codes"]
    {
        browser.order("fill", json!({ "selector": "#code", "text": "0000-0000" }));
        browser.press(&["Enter"]);
        browser.wait_for("#code-problem", told);
    }
    assert_eq!(child.wait().expect("the end of the command").code(), Some(1));
    browser.order("fill", json!({ "selector": "#code", "text": code }));
    browser.press(&["Enter"]);
    browser.wait_for("#code-problem", "Get a new one");
    browser.wait_for("#connection", "Not signed in");
}

/// Another page can lead to the board, like the one in the state folder, and learns nothing by it.
#[test]
fn a_page_of_somebody_else_can_neither_read_nor_frame_nor_sign_in() {
    let Some(mut browser) = gates::browser() else { return };
    let agent_home = AgentHome::new(Hermetic::new());
    let board = BoardDaemon::start(&agent_home, None, "language = \"en\"\n");
    let (plain, token) = board.url.split_once('#').expect("a token");
    let evil = agent_home.hermetic.root().join("evil.html");
    fs::write(&evil, "<!doctype html><title>evil</title>").expect("write a page");
    browser.open(&format!("file://{}", evil.display()));
    let script = format!(
        "(async () => {{
            const tries = [
                fetch('{plain}'),
                fetch('{plain}api/sessions', {{ headers: {{ Authorization: 'Bearer {token}' }} }}),
                fetch('{plain}enter', {{ method: 'POST', mode: 'no-cors', body: '{{\"code\":\"1\"}}' }})
                    .then((answer) => {{ if (answer.type === 'opaque') throw answer.type; }}),
                new Promise((resolve, reject) => {{
                    const frame = document.createElement('iframe');
                    frame.onload = () => {{
                        try {{ resolve(frame.contentDocument.title); }} catch {{ reject('framed'); }}
                    }};
                    frame.src = '{plain}';
                    document.body.append(frame);
                }}),
            ];
            const ended = await Promise.allSettled(tries);
            return ended.map((one) => one.status);
        }})()"
    );
    let ended = browser.run(&script);
    assert_eq!(ended, json!(["rejected", "rejected", "rejected", "rejected"]));
    browser.run(&format!("location.href = '{plain}'"));
    browser.wait_for("#sign-in .why", "Type the code");
}
