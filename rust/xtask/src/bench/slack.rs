//! Measures the cost of a Stop hook with Slack up, refusing, silent, or not configured. Also
//! measures a bridge in Node that posts from the hook itself, with Slack's own SDK.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::spawn::{Candidate, Measured, measure};
use crate::metadata::repository;

const NODE: &str = r#"
const { WebClient } = require(process.env.SDK);
const input = JSON.parse(require("fs").readFileSync(0, "utf8"));
(async () => {
  const slack = new WebClient("xoxb-1", { slackApiUrl: process.env.URL });
  const { channel } = await slack.conversations.open({ users: "U1" });
  const parent = await slack.chat.postMessage({ channel: channel.id, text: "prompt" });
  const text = input.last_assistant_message;
  await slack.chat.postMessage({ channel: channel.id, thread_ts: parent.ts, text });
})();
"#;

/// Runs the bench and returns its table.
pub fn run(runs: usize) -> Result<String> {
    let gate = super::executable("turnbridge-stop-gate")?;
    let folder = tempfile::tempdir()?;
    let up = answering()?;
    let silent = TcpListener::bind("127.0.0.1:0")?;
    let refusing = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let addresses = [
        ("none", None),
        ("up", Some(up.clone())),
        ("refusing", Some(format!("http://{refusing}/api/"))),
        ("silent", Some(format!("http://{}/api/", silent.local_addr()?))),
    ];
    let mut candidates = Vec::new();
    for (name, url) in addresses {
        candidates.push(stop(folder.path(), name, url.as_deref(), &gate)?);
    }
    let sdk = repository().join("tests/slack-sdk/node_modules/@slack/web-api");
    if sdk.exists() {
        candidates.push(node(folder.path(), &sdk, &up)?);
    }
    let measured = measure(&candidates, runs)?;
    Ok(report(&measured, runs))
}

fn stop(folder: &Path, name: &'static str, url: Option<&str>, gate: &Path) -> Result<Candidate> {
    let home = folder.join(name);
    let config = home.join(".config/turnbridge");
    std::fs::create_dir_all(&config)?;
    let slack = url.map_or_else(String::new, |url| {
        format!(
            "[slack]\nbot_token = \"xoxb-1\"\napi_url = \"{url}\"\n\
             [destinations.dm]\ntarget_user_id = \"U1\"\n"
        )
    });
    std::fs::write(config.join("config.toml"), format!("{slack}[gate]\nenabled = false\n"))?;
    let payload = super::payload("Stop", "last_assistant_message", 2_000);
    // Each run is another turn, and so another notice.
    let payload = payload.replacen("ls -l", "@N@", 1);
    Ok(Candidate::new(name, gate, &["--origin", "plugin"], payload.into_bytes())
        .env("HOME", &home)
        .varied())
}

fn node(folder: &Path, sdk: &Path, url: &str) -> Result<Candidate> {
    let script = folder.join("bridge.js");
    std::fs::write(&script, NODE)?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let node = std::env::split_paths(&path).map(|folder| folder.join("node"));
    let node: PathBuf = node.into_iter().find(|path| path.is_file()).context("no `node`")?;
    let payload = super::payload("Stop", "last_assistant_message", 2_000);
    let script = script.to_string_lossy().into_owned();
    Ok(Candidate::new("node bridge", &node, &[&script], payload.into_bytes())
        .env("SDK", sdk)
        .env("URL", url)
        .rarely())
}

fn report(measured: &[Measured], runs: usize) -> String {
    let find = |name: &str| measured.iter().find(|one| one.name == name);
    let mut text = super::table(measured, runs);
    let Some(up) = find("up") else { return text };
    for name in ["none", "refusing", "silent"] {
        if let Some(one) = find(name) {
            let ratio = one.quartile / up.quartile;
            let _ = writeln!(text, "{name:<16} {ratio:>5.2} x Slack up, by quartile");
        }
    }
    if let Some(node) = find("node bridge") {
        let wall = node.quartile / up.quartile;
        let memory = node.rss_kib as f64 / up.rss_kib.max(1) as f64;
        let verdict = if wall >= 100.0 && memory >= 10.0 { "reached" } else { "MISSED" };
        let _ = writeln!(
            text,
            "node bridge      {wall:>5.0} x our hook in time, {memory:.0} x in memory; goal 100 x and 10 x: {verdict}"
        );
    }
    text
}

/// Starts a server that accepts every call as Slack would, and returns its base URL.
fn answering() -> Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://{}/api/", listener.local_addr()?);
    std::thread::Builder::new().name("slack".to_owned()).spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || answer(&stream));
        }
    })?;
    Ok(url)
}

fn answer(stream: &TcpStream) -> Option<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            let line = line.trim().to_ascii_lowercase();
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().ok()?;
            }
            if line.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let body = r#"{"ok":true,"channel":{"id":"D1"},"ts":"1.000001","messages":[]}"#;
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\n";
        let mut stream = stream;
        write!(stream, "{head}Content-Length: {}\r\n\r\n{body}", body.len()).ok()?;
    }
}
