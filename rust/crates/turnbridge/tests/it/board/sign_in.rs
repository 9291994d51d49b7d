//! Tests how a browser signs in to the board: by a page that only its user can read, or by a typed
//! code. No secret is in the arguments of a program, which all users of the machine can read.

use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::json;
use testkit::wait_until;

#[cfg(target_os = "linux")]
use super::process_list::Watcher;
use super::site::{BoardSite, SiteResponse, TIMEOUT, WITHOUT_SLACK};
use crate::support::world::World;

/// An opener that opens nothing and succeeds.
const DOES_NOTHING: &str = "exit 0";
/// An opener that fails, as on a machine without one.
const FAILS: &str = "exit 3";

/// Installs a stand-in for the program that opens addresses. It records its arguments and runs
/// `script`.
pub fn be_opener(site: &BoardSite, script: &str) {
    for name in ["xdg-open", "wslview", "open"] {
        let path = site.world.hermetic.root().join("bin").join(name);
        let seen = site.world.hermetic.root().join("seen");
        let text = format!("#!/bin/sh\nprintf '%s\\n' \"$@\" >> '{}'\n{script}\n", seen.display());
        testkit::write_program(&path, &text);
    }
}

/// Returns the arguments of the opener, a line per call.
pub fn opened(site: &BoardSite) -> Vec<String> {
    let seen = fs::read_to_string(site.world.hermetic.root().join("seen")).unwrap_or_default();
    seen.lines().map(str::to_owned).collect()
}

/// Starts `turnbridge board` with that program on its PATH.
pub fn start(site: &BoardSite, arguments: &[&str], variables: &[(&str, &str)]) -> Child {
    let mut command = site.world.command("turnbridge");
    let bin = site.world.hermetic.root().join("bin");
    let path = std::env::var("PATH").unwrap();
    command.env("PATH", format!("{}:{path}", bin.display())).env("DISPLAY", ":99");
    command.envs(variables.iter().copied()).arg("board").args(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Reads the command's standard error until it contains a code. Returns the text and the code.
pub fn wait_for_code(child: &mut Child) -> (String, String) {
    let mut errors = child.stderr.take().unwrap();
    let mut text = Vec::new();
    let mut byte = [0];
    loop {
        assert_eq!(errors.read(&mut byte).unwrap(), 1, "{}", String::from_utf8_lossy(&text));
        text.push(byte[0]);
        if text.ends_with(b"cancels it.\n") {
            break;
        }
    }
    child.stderr = Some(errors);
    let text = String::from_utf8(text).unwrap();
    let is_code = |word: &&str| word.len() == 9 && word.as_bytes()[4] == b'-';
    let code = text.lines().map(str::trim).find(is_code).expect(&text).to_owned();
    (text, code)
}

fn enter(site: &BoardSite, order: &serde_json::Value) -> SiteResponse {
    let headers = format!(
        "Host: {0}\r\nOrigin: http://{0}\r\nContent-Type: application/json\r\n",
        site.host()
    );
    site.request("POST", "/enter", &headers, &order.to_string())
}

/// Returns the path of the page that signs a browser in.
pub fn page(site: &BoardSite) -> PathBuf {
    site.world.hermetic.state_dir().join("board-open.html")
}

/// Returns the ticket in the content of that page.
pub fn ticket_of(page: &str) -> String {
    let (_, rest) = page.split_once("#ticket=").expect(page);
    rest.chars().take_while(char::is_ascii_hexdigit).collect()
}

#[track_caller]
fn assert_nothing_is_left(site: &BoardSite) {
    for name in ["board-open.html", "board-ticket", "board-code"] {
        assert!(!site.world.hermetic.state_dir().join(name).exists(), "{name} is left");
    }
}

#[track_caller]
fn assert_success(child: Child) -> String {
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn no_process_has_a_ticket_a_code_or_the_token_in_its_arguments() {
    use std::os::unix::fs::PermissionsExt;
    let site = BoardSite::start();
    let go = site.world.hermetic.root().join("go");
    // The process stays in the process list until the watcher has seen it.
    be_opener(&site, &format!("while [ ! -e '{}' ]; do sleep 0.02; done", go.display()));
    let watcher = Watcher::start();
    let mut child = start(&site, &["--open"], &[]);
    let path = page(&site);
    wait_until(TIMEOUT, "the opener", || (!opened(&site).is_empty()).then_some(()));
    assert_eq!(opened(&site), [format!("file://{}", path.display())]);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let ticket = ticket_of(&fs::read_to_string(&path).unwrap());
    assert_eq!(ticket.len(), 64);
    // No browser signs in, so that there is a code too.
    let (_, code) = wait_for_code(&mut child);
    wait_until(TIMEOUT, "the plain address", || (opened(&site).len() == 2).then_some(()));
    assert_eq!(opened(&site)[1], format!("http://{}/", site.host()));
    // The page still signs in, while there is a code.
    assert_eq!(enter(&site, &json!({ "ticket": ticket })).json()["token"], site.token);
    assert_eq!(assert_success(child), "Signed in.\n");
    fs::write(go, "").unwrap();
    let seen = watcher.seen();
    let opener = path.to_str().unwrap().as_bytes();
    let has = |cmdline: &[u8], text: &[u8]| cmdline.windows(text.len()).any(|part| part == text);
    assert!(seen.iter().any(|cmdline| has(cmdline, opener)), "the opener was not seen");
    for cmdline in &seen {
        for secret in [&ticket, &site.token, &code, &code.replace('-', "")] {
            assert!(!has(cmdline, secret.as_bytes()), "{}", String::from_utf8_lossy(cmdline));
        }
    }
    assert_nothing_is_left(&site);
}

#[test]
fn a_ticket_lets_one_browser_in_and_the_command_ends_with_it() {
    let site = BoardSite::start();
    be_opener(&site, DOES_NOTHING);
    let child = start(&site, &["--open"], &[]);
    let text = wait_until(TIMEOUT, "the page", || fs::read_to_string(page(&site)).ok());
    let order = json!({ "ticket": ticket_of(&text) });
    assert_eq!(enter(&site, &json!({ "ticket": "0".repeat(64) })).status, 403);
    let headers = format!("Host: {}\r\nContent-Type: application/json\r\n", site.host());
    for other in
        ["Origin: http://evil.example\r\n", "Origin: null\r\n", "Sec-Fetch-Site: cross-site\r\n"]
    {
        let answer =
            site.request("POST", "/enter", &format!("{headers}{other}"), &order.to_string());
        assert_eq!(answer.status, 403, "{other}");
    }
    assert_eq!(enter(&site, &order).json()["token"], site.token);
    assert_eq!(enter(&site, &order).status, 403);
    assert_success(child);
    assert_nothing_is_left(&site);
}

#[test]
fn a_code_is_typed_where_no_browser_opens_and_is_good_once() {
    let site = BoardSite::start();
    be_opener(&site, FAILS);
    let mut child = start(&site, &["--open"], &[]);
    let (text, code) = wait_for_code(&mut child);
    let text = text.replace(&site.port.to_string(), "PORT").replace(&code, "CODE");
    insta::assert_snapshot!(text, @"
    No browser can be opened here.

    Open http://127.0.0.1:PORT/ and type this code:

        CODE

    It is good once, for 5 minutes, while this command runs. Ctrl-C cancels it.
    ");
    let wrong = enter(&site, &json!({ "code": "0000-0000" }));
    assert_eq!(wrong.status, 403);
    assert_eq!(wrong.body, r#"{"error":"Forbidden","reason":{"wrong_code":4}}"#);
    // A page of another origin cannot even try.
    let headers = format!("Host: {}\r\nContent-Type: application/json\r\n", site.host());
    let order = json!({ "code": code });
    let other = format!("{headers}Origin: http://evil.example\r\n");
    assert_eq!(site.request("POST", "/enter", &other, &order.to_string()).status, 403);
    assert_eq!(site.request("GET", &format!("/enter?code={code}"), &headers, "").status, 404);
    let typed = json!({ "code": code.to_lowercase().replace('-', " ") });
    assert_eq!(enter(&site, &typed).json()["token"], site.token);
    assert_eq!(assert_success(child), "Signed in.\n");
    let again = enter(&site, &order);
    assert_eq!(
        (again.status, again.body.as_str()),
        (403, r#"{"error":"Forbidden","reason":"no_code"}"#)
    );
    assert_nothing_is_left(&site);
}

#[test]
fn five_wrong_codes_end_the_code_and_the_command_says_so() {
    let site = BoardSite::with(World::new(), &WITHOUT_SLACK.replace("\"en\"", "\"ja\""));
    let mut child = start(&site, &["--code"], &[]);
    let code_file = site.world.hermetic.state_dir().join("board-code");
    let text = wait_until(TIMEOUT, "the code", || fs::read_to_string(&code_file).ok());
    let file: serde_json::Value = serde_json::from_str(&text).unwrap();
    for _ in 0..5 {
        assert_eq!(enter(&site, &json!({ "code": "00000000" })).status, 403);
    }
    let answer = enter(&site, &json!({ "code": file["code"] }));
    // The command may have noticed, and removed it.
    assert_eq!(answer.status, 403);
    let reasons = [r#""reason":"void_code""#, r#""reason":"no_code""#];
    assert!(reasons.iter().any(|reason| answer.body.contains(reason)), "{}", answer.body);
    let mut errors = String::new();
    child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let (_, end) = errors.rsplit_once("取り消せます。\n").expect(&errors);
    insta::assert_snapshot!(end, @"
    error: 間違ったコードが 5 回入力されたため、コードを無効にしました
    hint: 新しいコードは `turnbridge board --code` で表示できます
    ");
    assert_nothing_is_left(&site);
}

#[test]
fn ctrl_c_leaves_nothing_that_lets_anybody_in() {
    let site = BoardSite::start();
    be_opener(&site, DOES_NOTHING);
    for is_shown in [false, true] {
        be_opener(&site, if is_shown { FAILS } else { DOES_NOTHING });
        let mut child = start(&site, &["--open"], &[]);
        let text = wait_until(TIMEOUT, "the page", || fs::read_to_string(page(&site)).ok());
        let code = is_shown.then(|| wait_for_code(&mut child).1);
        let pid = child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        let status = child.wait().unwrap();
        assert!(status.code().is_some(), "it was killed by the signal: {status:?}");
        assert_nothing_is_left(&site);
        assert_eq!(enter(&site, &json!({ "ticket": ticket_of(&text) })).status, 403);
        assert_eq!(enter(&site, &json!({ "code": code.unwrap_or_default() })).status, 403);
    }
}

#[test]
fn whoever_came_by_ssh_is_told_how_to_get_there() {
    let site = BoardSite::start();
    be_opener(&site, FAILS);
    let remote = [("SSH_CONNECTION", "192.0.2.7 40000 192.0.2.8 22"), ("DISPLAY", "")];
    let bin = site.world.hermetic.root().join("bin");
    fs::remove_file(bin.join("wslview")).unwrap();
    let mut child = start(&site, &["--open"], &remote);
    let (text, code) = wait_for_code(&mut child);
    let text = text.replace(&site.port.to_string(), "PORT").replace(&code, "CODE");
    insta::assert_snapshot!(text, @"
    No browser can be opened here.

    On the machine with the browser, run this (HOST is this machine's name):

        ssh -L PORT:127.0.0.1:PORT HOST

    Open http://127.0.0.1:PORT/ and type this code:

        CODE

    It is good once, for 5 minutes, while this command runs. Ctrl-C cancels it.
    ");
    assert_eq!(opened(&site), [""; 0], "there is no display");
    assert_eq!(enter(&site, &json!({ "code": code })).json()["token"], site.token);
    assert_success(child);
}

#[test]
fn a_state_folder_of_any_name_has_an_address() {
    let world = World::new();
    let folder = world.hermetic.root().join("100% #1 ?状態");
    fs::create_dir(&folder).unwrap();
    let world = world.with("XDG_STATE_HOME", folder.to_str().unwrap());
    let site = BoardSite::with(world, WITHOUT_SLACK);
    be_opener(&site, DOES_NOTHING);
    let child = start(&site, &["--open"], &[]);
    let opened = wait_until(TIMEOUT, "the opener", || opened(&site).first().cloned());
    let root = site.world.hermetic.root().display();
    let name = "100%25%20%231%20%3F%E7%8A%B6%E6%85%8B/turnbridge/board-open.html";
    assert_eq!(opened, format!("file://{root}/{name}"));
    let text = fs::read_to_string(folder.join("turnbridge/board-open.html")).unwrap();
    assert_eq!(enter(&site, &json!({ "ticket": ticket_of(&text) })).status, 200);
    assert_success(child);
}

#[test]
fn a_daemon_that_ends_is_no_sign_in() {
    let mut site = BoardSite::start();
    be_opener(&site, DOES_NOTHING);
    let child = start(&site, &["--open"], &[]);
    wait_until(TIMEOUT, "the page", || page(&site).exists().then_some(()));
    site.stop_daemon();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    insta::assert_snapshot!(String::from_utf8(output.stderr).unwrap(), @"
    error: the daemon stopped before you signed in
    hint: start it with `turnbridge daemon`, then run this again
    ");
    assert_nothing_is_left(&site);
}

#[test]
fn what_a_killed_command_leaves_is_removed_with_the_daemon() {
    let mut site = BoardSite::start();
    be_opener(&site, DOES_NOTHING);
    let mut child = start(&site, &["--open"], &[]);
    wait_until(TIMEOUT, "the page", || page(&site).exists().then_some(()));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(page(&site).exists());
    site.stop_daemon();
    assert_nothing_is_left(&site);
}
