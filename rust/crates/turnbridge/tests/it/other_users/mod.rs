//! Tests that another user of the machine gets no data from the board, the state folder and the
//! list of processes. The test gives that user the right token, ticket and code, so that it does
//! not depend on luck: the user gets no response with them either.

mod flood;
mod user;

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use testkit::wait_until;

use crate::board::sign_in::{be_opener, opened, page, start, ticket_of, wait_for_code};
use crate::board::site::{BoardSite, SESSION, TIMEOUT};
use user::{OtherUser, all_below};

const REPLY: &str = "11111111-2222-4333-8444-555555555551";

/// Opens the folders as on most machines: all users can pass through them, and only Turnbridge's
/// own modes keep others out.
fn open_folders(site: &BoardSite) {
    let hermetic = &site.world.hermetic;
    let state = hermetic.state_dir();
    let config = hermetic.config_dir();
    let above = state.ancestors().skip(1).chain(config.ancestors().skip(1));
    for folder in above.filter(|folder| folder.starts_with(hermetic.root())) {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

/// Returns the response to these bytes, which may be empty.
fn ask(host: &str, port: u16, bytes: &[u8]) -> String {
    let Ok(mut stream) = TcpStream::connect((host, port)) else { return String::new() };
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(Shutdown::Write);
    let mut answer = Vec::new();
    let mut chunk = [0; 4_096];
    while let Ok(count @ 1..) = stream.read(&mut chunk) {
        answer.extend_from_slice(&chunk[..count]);
        // The stream of events has no end.
        stream.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    }
    String::from_utf8_lossy(&answer).into_owned()
}

/// Returns every request with an effect, with the right token.
fn requests(site: &BoardSite, more: &[(&str, Value)]) -> Vec<Vec<u8>> {
    let right = site.right();
    let reply =
        json!({ "id": REPLY, "tool": "claude", "session_id": SESSION, "text": "let me in" });
    let posted = [("/api/replies", reply)].into_iter().chain(more.iter().cloned());
    let posts = posted.map(|(path, body)| {
        let body = body.to_string();
        format!("POST {path} HTTP/1.1\r\n{right}Content-Length: {}\r\n\r\n{body}", body.len())
    });
    let gets = ["/", "/board.js", "/api/sessions", "/api/events", "/api/settings"]
        .map(|path| format!("GET {path} HTTP/1.1\r\n{right}\r\n"));
    posts.chain(gets).map(String::into_bytes).collect()
}

#[track_caller]
fn assert_refused(other_user: &OtherUser, site: &BoardSite, requests: &[Vec<u8>]) {
    let answers: Vec<String> = other_user.act(|_| {
        let hosts = ["127.0.0.1", "::1"];
        let pairs = requests.iter().flat_map(|request| hosts.map(|host| (host, request)));
        pairs.map(|(host, request)| ask(host, site.port, request)).collect()
    });
    assert!(answers.iter().all(String::is_empty), "{answers:#?}");
}

/// Sends all of it and closes: its row in the system's table is root's then.
fn send_and_leave(other_user: &OtherUser, site: &BoardSite, requests: &[Vec<u8>]) {
    other_user.act(|_| {
        for request in requests {
            let mut stream = TcpStream::connect(("127.0.0.1", site.port)).unwrap();
            let _ = stream.write_all(request);
        }
    });
}

#[test]
fn another_user_of_the_machine_gets_no_answer_even_with_the_token() {
    let site = BoardSite::start();
    let Some(other_user) = OtherUser::make(site.world.hermetic.root()) else { return };
    site.turn("fix it");
    let requests = requests(&site, &[]);
    assert_refused(&other_user, &site, &requests);
    for _ in 0..20 {
        send_and_leave(&other_user, &site, &requests[..1]);
    }
    // The owner's requests still succeed, and no reply has arrived.
    assert_eq!(site.session()["replies"], json!([]));
    let log = fs::read_to_string(site.world.hermetic.state_dir().join("logs/daemon.log")).unwrap();
    assert_eq!(log.matches("another user of this machine tried to reach the board").count(), 1);
    assert!(log.contains(&other_user.user.to_string()), "{log}");
    other_user.leave(site.world.hermetic.root());
}

#[test]
fn a_second_user_attacks_board_state_folder_and_process_list_and_gets_nothing() {
    if testkit::skipped_as_slow() {
        return;
    }
    let site = BoardSite::start();
    let root = site.world.hermetic.root().to_owned();
    open_folders(&site);
    let Some(other_user) = OtherUser::make(&root) else { return };
    site.turn("fix it");
    let is_over = AtomicBool::new(false);
    let (secrets, seen) = std::thread::scope(|scope| {
        let polling = scope.spawn(|| other_user.act(|_| poll_processes(&site, &is_over)));
        // Ends the poll also when this panics.
        let over = SetWhenDropped(&is_over);
        let secrets = sign_in_under_attack(&site, &other_user);
        reply_under_attack(&site, &other_user);
        drop(over);
        let seen = polling.join().expect("the poll");
        (
            secrets
                .into_iter()
                .chain([site.token.clone(), OWNERS_TEXT.to_owned()])
                .collect::<Vec<_>>(),
            seen,
        )
    });
    assert_eq!(seen.redeemed, [""; 0], "a ticket from the list of processes was good");
    let opener = page(&site).display().to_string();
    assert!(seen.arguments.iter().any(|arguments| arguments.contains(&opener)), "nothing was seen");
    for arguments in &seen.arguments {
        for secret in &secrets {
            assert!(!arguments.contains(secret.as_str()), "{arguments}");
        }
    }
    hold_connections(&site, &other_user);
    flood::flood(&site, &other_user);
    attack_files(&site, &other_user);
    attack_process(&site, &other_user);
    let replies = site.session()["replies"].clone();
    let replies: Vec<&Value> =
        replies.as_array().unwrap().iter().map(|reply| &reply["text"]).collect();
    assert_eq!(replies, [OWNERS_TEXT]);
    assert_eq!(site.calls().len(), 1, "{:?}", site.calls());
    other_user.leave(&root);
}

/// The owner's reply; no argument of any process may contain it.
const OWNERS_TEXT: &str = "by the owner";

struct SetWhenDropped<'a>(&'a AtomicBool);

impl Drop for SetWhenDropped<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

struct SeenProcesses {
    arguments: BTreeSet<String>,
    /// Tickets that were exchanged for the token.
    redeemed: Vec<String>,
}

/// Reads the arguments of all processes as fast as possible, and immediately tries everything that
/// looks like a secret.
fn poll_processes(site: &BoardSite, is_over: &AtomicBool) -> SeenProcesses {
    let mut seen = SeenProcesses { arguments: BTreeSet::new(), redeemed: Vec::new() };
    while !is_over.load(Ordering::SeqCst) {
        for process in fs::read_dir("/proc").unwrap().flatten() {
            let Ok(arguments) = fs::read(process.path().join("cmdline")) else { continue };
            let arguments = String::from_utf8_lossy(&arguments).into_owned();
            if !seen.arguments.insert(arguments.clone()) {
                continue;
            }
            if let Some((_, ticket)) = arguments.split_once("#ticket=") {
                let ticket = ticket.chars().take_while(char::is_ascii_hexdigit).collect::<String>();
                if enter(site, &json!({ "ticket": ticket })).contains("\"token\"") {
                    seen.redeemed.push(ticket);
                }
            }
        }
    }
    seen
}

fn enter(site: &BoardSite, order: &Value) -> String {
    let (host, body) = (site.host(), order.to_string());
    let request = format!(
        "POST /enter HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    ask("127.0.0.1", site.port, request.as_bytes())
}

/// Runs `board --open` as the owner, with a slow browser. Returns the sign-in's secrets.
fn sign_in_under_attack(site: &BoardSite, other_user: &OtherUser) -> Vec<String> {
    be_opener(site, "sleep 1");
    let mut child = start(site, &["--open"], &[]);
    wait_until(TIMEOUT, "the opener", || (!opened(site).is_empty()).then_some(()));
    let ticket = ticket_of(&fs::read_to_string(page(site)).unwrap());
    let (_, code) = wait_for_code(&mut child);
    let (by_ticket, by_code) = (json!({ "ticket": ticket }), json!({ "code": code }));
    let tries = [("/enter", by_ticket.clone()), ("/enter", by_code.clone())];
    assert_refused(other_user, site, &requests(site, &tries));
    send_and_leave(other_user, site, &requests(site, &tries)[..3]);
    // More wrong codes than there are tries, none of which count.
    let wrong = vec![("/enter", json!({ "code": "00000000" })); 8];
    assert_refused(other_user, site, &requests(site, &wrong));
    for file in ["board-open.html", "board-ticket", "board-code", "board.json"] {
        let path = site.world.hermetic.state_dir().join(file);
        assert!(path.exists(), "{file}");
        assert!(other_user.act(|_| fs::read(&path)).is_err(), "{file} was read");
    }
    assert!(enter(site, &by_code).contains(&site.token), "the owner was kept out");
    assert!(child.wait_with_output().unwrap().status.success());
    vec![ticket, code.replace('-', ""), code, site.token.clone()]
}

/// Runs a reply of the owner. Returns its text.
fn reply_under_attack(site: &BoardSite, other_user: &OtherUser) {
    site.be_agent("cat > /dev/null; sleep 1");
    let id = "11111111-2222-4333-8444-555555555552";
    site.reply(id, OWNERS_TEXT).json();
    site.wait_for_reply(id, "running");
    assert_refused(other_user, site, &requests(site, &[]));
    site.wait_for_reply(id, "done");
}

/// Holds as many connections as possible, without an effect on the owner.
fn hold_connections(site: &BoardSite, other_user: &OtherUser) {
    let held: Vec<TcpStream> = other_user.act(|_| {
        let connect = |_| {
            let mut stream = TcpStream::connect(("127.0.0.1", site.port)).ok()?;
            let _ = stream.write_all(b"GET / HTTP/1.1\r\nHost: ");
            Some(stream)
        };
        (0..300).filter_map(connect).collect()
    });
    for _ in 0..20 {
        assert_eq!(site.get("/api/sessions").status, 200);
    }
    drop(held);
}

/// Tries to read, write, replace and remove every existing and possible file of the owner's.
fn attack_files(site: &BoardSite, other_user: &OtherUser) {
    let hermetic = &site.world.hermetic;
    let mut paths = all_below(&hermetic.state_dir());
    paths.extend(all_below(&hermetic.config_dir()));
    assert!(paths.len() > 10, "{paths:#?}");
    let before = contents(&paths);
    let done: Vec<String> = other_user.act(|other_user| {
        let paths = paths.iter().flat_map(|path| attack_path(path, other_user));
        let inbox = hermetic.state_dir().join("inbox");
        let names = ["inbox", "inbox/x.json", "outbox/x.json", "daemon.stop", "board-code"];
        let made = names.map(|name| hermetic.state_dir().join(name));
        let config = hermetic.config_dir().join("other.toml");
        let written = made.iter().chain([&config]).filter(|path| fs::write(path, "{}").is_ok());
        let written = written.map(|path| format!("wrote {}", path.display()));
        let listed = fs::read_dir(inbox).is_ok().then(|| "listed the inbox".to_owned());
        paths.chain(written).chain(listed).collect()
    });
    // Exempt: the list of the config folder, which every user can enter.
    let is_config_folder =
        |line: &String| *line == format!("listed {}", hermetic.config_dir().display());
    let done: Vec<String> = done.into_iter().filter(|line| !is_config_folder(line)).collect();
    assert_eq!(done, [""; 0]);
    assert_eq!(contents(&paths), before);
}

/// Returns everything except files that change by themselves.
fn contents(paths: &[PathBuf]) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    let is_stable = |path: &&PathBuf| !path.to_string_lossy().contains("/logs");
    paths.iter().filter(is_stable).map(|path| (path.clone(), fs::read(path).ok())).collect()
}

/// Returns the actions that have succeeded, as text.
fn attack_path(path: &Path, other_user: &OtherUser) -> Vec<String> {
    let own = other_user.own_file();
    let mode = fs::Permissions::from_mode(0o777);
    let append = || fs::OpenOptions::new().append(true).open(path).map(drop);
    let tries: [(&str, std::io::Result<()>); 9] = [
        ("listed", fs::read_dir(path).map(drop)),
        ("read", fs::read(path).map(drop)),
        ("appended to", append()),
        ("made", fs::write(path.join("x"), "x")),
        ("linked into", symlink("/etc/passwd", path.join("y"))),
        ("removed", fs::remove_file(path)),
        ("replaced", fs::rename(&own, path)),
        ("took", fs::hard_link(path, own.with_extension("taken"))),
        ("opened", fs::set_permissions(path, mode)),
    ];
    let worked = tries.iter().filter(|(_, tried)| tried.is_ok());
    worked.map(|(what, _)| format!("{what} {}", path.display())).collect()
}

/// The daemon's own process can neither be ended nor read.
fn attack_process(site: &BoardSite, other_user: &OtherUser) {
    let pid = site.board().unwrap()["pid"].as_u64().unwrap();
    let process = PathBuf::from(format!("/proc/{pid}"));
    let is_done = other_user.act(|_| {
        let read = ["environ", "maps", "mem", "fd", "cwd"].map(|name| {
            let path = process.join(name);
            fs::read(&path).is_ok() || fs::read_dir(&path).is_ok() || fs::read_link(&path).is_ok()
        });
        let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw).unwrap();
        let ended = rustix::process::kill_process(pid, rustix::process::Signal::TERM).is_ok();
        read.contains(&true) || ended
    });
    assert!(!is_done, "the daemon's process was reached");
    assert_eq!(site.get("/api/sessions").status, 200);
}
