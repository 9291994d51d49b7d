//! Starts the clients of Socket Mode that the bench compares: Turnbridge's daemon, and Slack's own
//! for Node and Python if they are installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use testkit::{Hermetic, SlackApi, SlackSetup};

use crate::metadata::repository;

const CONFIG: &str = "language = \"en\"
[slack]
bot_token = \"xoxb-loopback-bot\"
app_token = \"xapp-loopback-app\"
[destinations.dm]
target_user_id = \"U0OWNER\"
[features]
reply_resume = true
";

/// Acks every event, like the SDK's own examples.
const NODE: &str = r#"
const { SocketModeClient } = require(process.env.SDK);
const client = new SocketModeClient({
  appToken: "xapp-loopback-app", logLevel: "error", clientOptions: { slackApiUrl: process.env.URL },
});
client.on("slack_event", async ({ ack }) => { try { await ack(); } catch {} });
client.start();
"#;

const PYTHON: &str = r#"
import os, threading
from slack_sdk.socket_mode import SocketModeClient
from slack_sdk.socket_mode.response import SocketModeResponse
from slack_sdk.web import WebClient

def ack(client, request):
    client.send_socket_mode_response(SocketModeResponse(envelope_id=request.envelope_id))

client = SocketModeClient(
    app_token="xapp-loopback-app", web_client=WebClient(base_url=os.environ["URL"])
)
client.socket_mode_request_listeners.append(ack)
client.connect()
threading.Event().wait()
"#;

/// The environment variable with the path of a Python with `slack_sdk`, if not the first on the
/// PATH.
const PYTHON_VARIABLE: &str = "TURNBRIDGE_BENCH_PYTHON";

/// A client of Socket Mode that a bench can start.
pub struct BenchClient {
    pub name: &'static str,
    pub is_ours: bool,
    program: PathBuf,
    script: Option<&'static str>,
    sdk: Option<PathBuf>,
}

/// Returns Turnbridge's daemon as a client.
pub fn daemon(program: &Path) -> BenchClient {
    let program = program.to_owned();
    BenchClient { name: "turnbridge", is_ours: true, program, script: None, sdk: None }
}

/// Returns Slack's client for Node, or the reason why it is missing.
pub fn node() -> Result<BenchClient> {
    let sdk = repository().join("tests/slack-sdk/node_modules/@slack/socket-mode");
    let sdk = sdk.canonicalize().context("`@slack/socket-mode` (npm ci in tests/slack-sdk)")?;
    let program = super::super::alternatives::find_program("node").context("`node`")?;
    Ok(BenchClient { name: "Node", is_ours: false, program, script: Some(NODE), sdk: Some(sdk) })
}

/// Returns Slack's client for Python, or the reason why it is missing.
pub fn python() -> Result<BenchClient> {
    let chosen = std::env::var_os(PYTHON_VARIABLE).map(PathBuf::from);
    let found = chosen.or_else(|| super::super::alternatives::find_program("python3"));
    let program = found.context("`python3`")?;
    let imported = Command::new(&program).args(["-c", "import slack_sdk"]).output()?;
    if !imported.status.success() {
        bail!("`slack_sdk` for Python ({PYTHON_VARIABLE} names one that has it)");
    }
    Ok(BenchClient { name: "Python", is_ours: false, program, script: Some(PYTHON), sdk: None })
}

impl BenchClient {
    /// Starts the client with a new loopback Slack.
    pub fn start(&self, setup: SlackSetup) -> Result<RunningClient> {
        self.start_with(SlackApi::start(setup), &[])
    }

    /// Starts the client with this Slack and with more environment variables.
    pub fn start_with(&self, slack: SlackApi, more: &[(&str, PathBuf)]) -> Result<RunningClient> {
        let hermetic = Hermetic::new();
        let mut command = hermetic.command(&self.program);
        match self.script {
            Some(script) => {
                let path = hermetic.root().join("client");
                fs::write(&path, script)?;
                command.arg(path).env("URL", slack.base_url());
            }
            None => {
                let address = format!("api_url = \"{}\"", slack.base_url());
                configure(&hermetic, &CONFIG.replace("[slack]", &format!("[slack]\n{address}")))?;
                command.args(["daemon", "--foreground"]);
            }
        }
        command.envs(self.sdk.iter().map(|sdk| ("SDK", sdk)));
        command.envs(more.iter().map(|(name, value)| (name, value)));
        let said = fs::File::create(said_file(&hermetic))?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said);
        let spawned = Instant::now();
        let child = command.spawn().with_context(|| format!("could not start {}", self.name))?;
        Ok(RunningClient { slack, spawned, child, hermetic })
    }
}

/// Returns the file of a client's error output.
fn said_file(hermetic: &Hermetic) -> PathBuf {
    hermetic.root().join("said")
}

/// Writes Turnbridge's `config.toml`, which only the user can read.
pub fn configure(hermetic: &Hermetic, config: &str) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::create_dir_all(hermetic.config_dir())?;
    let path = hermetic.config_dir().join("config.toml");
    fs::write(&path, config)?;
    Ok(fs::set_permissions(path, fs::Permissions::from_mode(0o600))?)
}

/// A running client and its loopback Slack. A drop kills the client.
pub struct RunningClient {
    pub slack: SlackApi,
    pub spawned: Instant,
    child: Child,
    hermetic: Hermetic,
}

impl RunningClient {
    /// Waits until a socket was opened after `since`. Returns the delay in seconds.
    pub fn back(&self, since: Instant, timeout: Duration) -> Result<f64> {
        let deadline = Instant::now() + timeout;
        loop {
            let open = self.slack.open_sockets();
            let new = open.iter().find(|socket| socket.opened_at > since && socket.told.is_none());
            if let Some(new) = new {
                return Ok(new.opened_at.duration_since(since).as_secs_f64());
            }
            if Instant::now() >= deadline {
                let said = fs::read_to_string(said_file(&self.hermetic)).unwrap_or_default();
                bail!("no new socket within {timeout:?}\n{}", said.trim());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Returns the client's resident memory in MB.
    pub fn memory(&self) -> Result<f64> {
        memory_of(self.child.id())
    }
}

impl Drop for RunningClient {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the resident memory in MB (of a million bytes).
pub fn memory_of(process: u32) -> Result<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))
        .context("memory is known on Linux only")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    let kib: f64 = number.and_then(|number| number.parse().ok()).context("no VmRSS")?;
    Ok(kib * 1024.0 / 1e6)
}
