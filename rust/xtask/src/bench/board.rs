//! Measures the board and `watch` in a real browser and a real terminal: the delay from a hook to
//! its card, and the cost of 500 sessions with 5,000 turns.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use testkit::{Browser, Hermetic, Tmux};

use super::daemon::client::{configure, memory_of};
use super::executable;

const SESSIONS: usize = 500;
const TURNS_EACH: usize = 10;
const ROUNDS: usize = 20;
const LOADS: usize = 5;
const IDLE: Duration = Duration::from_secs(15);
const TIMEOUT: Duration = Duration::from_secs(20);

/// Runs the bench and returns its table.
pub fn run() -> Result<String> {
    let mut browser = Browser::start();
    let mut text = String::new();
    let mut judge = |what: &str, value: f64, goal: f64| {
        let verdict = if value <= goal { "reached" } else { "MISSED" };
        let _ = writeln!(text, "{what:<56} {value:>8.1}; goal {goal}: {verdict}");
    };

    let lateness = hook_to_card(&mut browser)?;
    judge("hook's start to its card, ms, median", middle(&lateness), 200.0);
    judge("hook's start to its card, ms, the slowest", last(&lateness), 200.0);

    let site = BenchBoard::start()?;
    let before = memory_of(site.daemon.id())?;
    fill(&site)?;
    settle(&site)?;
    let loads = page_loads(&site, &mut browser);
    judge("500 sessions: page loaded, ms, median", middle(&loads), 1_000.0);
    judge("500 sessions: page loaded, ms, the slowest", last(&loads), 1_000.0);
    let grown = memory_of(site.daemon.id())? - before;
    judge("500 sessions, 5 pages: daemon's RSS grown by, MB", grown, 20.0);
    judge("500 sessions: `watch` at rest, % of a core", watch_at_rest(&site)?, 2.0);
    Ok(text)
}

/// A home with a daemon in it, without Slack.
struct BenchBoard {
    hermetic: Hermetic,
    daemon: Child,
    url: String,
}

impl BenchBoard {
    fn start() -> Result<BenchBoard> {
        let hermetic = Hermetic::new();
        configure(&hermetic, "[gate]\nenabled = false\n")?;
        let mut command = hermetic.command(executable("turnbridge")?);
        let daemon = command.args(["daemon", "--foreground"]).stdin(Stdio::null()).spawn()?;
        let mut site = BenchBoard { hermetic, daemon, url: String::new() };
        let deadline = Instant::now() + TIMEOUT;
        while Instant::now() < deadline {
            let mut command = site.hermetic.command(executable("turnbridge")?);
            let output = command.arg("board").output()?;
            if output.status.success() {
                site.url = String::from_utf8(output.stdout)?.trim().to_owned();
                return Ok(site);
            }
            thread::sleep(Duration::from_millis(20));
        }
        bail!("the daemon opened no board within {TIMEOUT:?}")
    }

    /// Calls the hook as Claude does.
    fn hook(&self, event: &str, more: &Value) -> Result<()> {
        let mut payload = json!({
            "session_id": id(0),
            "transcript_path": "/nowhere/transcript.jsonl",
            "cwd": self.hermetic.project(),
            "hook_event_name": event,
        });
        let fields = payload.as_object_mut().context("a payload is an object")?;
        fields.extend(more.as_object().cloned().unwrap_or_default());
        let name = if event == "Stop" { "turnbridge-stop-gate" } else { "turnbridge-status" };
        let mut command = self.hermetic.command(executable(name)?);
        command.args(["--origin", "plugin"]).env("CLAUDE_CODE_ENTRYPOINT", "cli");
        let mut hook = command.stdin(Stdio::piped()).spawn()?;
        hook.stdin.take().context("its input")?.write_all(payload.to_string().as_bytes())?;
        if !hook.wait()?.success() {
            bail!("`{name}` failed");
        }
        Ok(())
    }
}

impl Drop for BenchBoard {
    fn drop(&mut self) {
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}

fn id(number: usize) -> String {
    format!("00000000-0000-4000-8000-{number:012}")
}

/// Returns the delays in milliseconds, sorted. The page itself records when it shows a card.
fn hook_to_card(browser: &mut Browser) -> Result<Vec<f64>> {
    let site = BenchBoard::start()?;
    browser.open(&site.url);
    browser.wait_for("#connection", "Live");
    browser.order("observe", json!({}));
    let mut called = Vec::new();
    for _ in 0..ROUNDS {
        for (event, state, more) in [
            ("UserPromptSubmit", "working", json!({ "prompt": "again" })),
            ("PermissionRequest", "waiting_user", json!({ "tool_name": "Bash", "tool_input": {} })),
            ("Stop", "completed", json!({ "last_assistant_message": "done" })),
        ] {
            called.push(SystemTime::now().duration_since(UNIX_EPOCH)?);
            site.hook(event, &more)?;
            browser.order("wait", json!({ "selector": format!(".card[data-state={state}]") }));
        }
    }
    let seen = browser.order("seen", json!({}))["seen"].clone();
    let shown: Vec<_> =
        seen.as_array().into_iter().flatten().flat_map(|one| one["at"].as_u64()).collect();
    if shown.len() != called.len() {
        bail!("{} hooks were called, {} changes seen", called.len(), shown.len());
    }
    let late = shown.iter().map(|at| Duration::from_millis(*at)).zip(&called);
    Ok(sorted(late.map(|(shown, called)| shown.saturating_sub(*called).as_secs_f64() * 1e3)))
}

/// Fills the state: all sessions are copies of one that hooks have made.
fn fill(site: &BenchBoard) -> Result<()> {
    let answer = "A paragraph of an answer, with `code` and **more**.\n\n".repeat(40);
    site.hook("UserPromptSubmit", &json!({ "prompt": "what is going on here?" }))?;
    site.hook("Stop", &json!({ "last_assistant_message": answer }))?;
    let state = site.hermetic.state_dir();
    let session = fs::read_to_string(state.join(format!("sessions/claude-{}.json", id(0))))?;
    let turns = state.join(format!("turns/claude-{}.jsonl", id(0)));
    let turn = fs::read_to_string(&turns)?;
    fs::write(turns, turn.repeat(TURNS_EACH))?;
    for number in 1..SESSIONS {
        let own = |text: &str| text.replace(&id(0), &id(number));
        let name = format!("claude-{}", id(number));
        fs::write(state.join(format!("turns/{name}.jsonl")), own(&turn).repeat(TURNS_EACH))?;
        fs::write(state.join(format!("sessions/{name}.json")), own(&session))?;
    }
    Ok(())
}

/// Waits until the daemon has processed all new files.
fn settle(site: &BenchBoard) -> Result<()> {
    let deadline = Instant::now() + TIMEOUT;
    let mut before = processor_time(site.daemon.id())?;
    while Instant::now() < deadline {
        thread::sleep(Duration::from_secs(2));
        let now = processor_time(site.daemon.id())?;
        if now - before < 0.05 {
            return Ok(());
        }
        before = now;
    }
    bail!("the daemon did not come to rest within {TIMEOUT:?}")
}

/// Returns the milliseconds until all cards are painted, sorted. Each page also opens a thread.
fn page_loads(site: &BenchBoard, browser: &mut Browser) -> Vec<f64> {
    let load = |_| {
        let last = format!("li:nth-child({SESSIONS}) .card");
        browser.order("open", json!({ "url": site.url, "until": last }));
        let loaded = browser.order("loaded", json!({}));
        browser.press(&["j", "j", "Enter"]);
        browser.wait_for(".turn .answer", "A paragraph");
        loaded["milliseconds"].as_f64().unwrap_or(f64::INFINITY)
    };
    sorted((0..LOADS).map(load))
}

fn watch_at_rest(site: &BenchBoard) -> Result<f64> {
    let mut command = site.hermetic.command(executable("turnbridge")?);
    command.arg("watch");
    let tmux = Tmux::start(&site.hermetic, &command);
    tmux.wait_for("what is going on here?", TIMEOUT);
    thread::sleep(Duration::from_secs(2));
    let before = processor_time(tmux.pid())?;
    thread::sleep(IDLE);
    let spent = processor_time(tmux.pid())? - before;
    Ok(spent / IDLE.as_secs_f64() * 100.0)
}

/// Returns the processor time of a process in seconds, the kernel's included.
fn processor_time(pid: u32) -> Result<f64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))
        .context("processor time is known on Linux only")?;
    // The name, in brackets, may contain any character.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let ticks = fields.split_whitespace().skip(11).take(2).map(str::parse::<f64>);
    Ok(ticks.sum::<Result<f64, _>>()? / 100.0)
}

fn sorted(figures: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut figures: Vec<f64> = figures.collect();
    figures.sort_by(f64::total_cmp);
    figures
}

fn middle(sorted: &[f64]) -> f64 {
    sorted[sorted.len() / 2]
}

fn last(sorted: &[f64]) -> f64 {
    sorted[sorted.len() - 1]
}
