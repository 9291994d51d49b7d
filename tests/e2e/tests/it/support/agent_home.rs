//! Sets up the parts of a test that do not depend on the agent: a separate home, the two host
//! applications, and commands that read Turnbridge's output. Only one home exists at a time,
//! because the tests measure times and a starting agent occupies a core.

use std::fmt::Write;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use testkit::{Hermetic, Tmux};

use crate::support::hosts::{Kawaii, Tvine, pairs};
use crate::support::terminal::state_of;
use crate::support::timeouts::wait_for;

/// A separate home with both host applications. Only one exists at a time.
pub struct AgentHome {
    pub tvine: Tvine,
    pub kawaii: Kawaii,
    pub hermetic: Hermetic,
    _one_at_a_time: MutexGuard<'static, ()>,
}

impl AgentHome {
    /// Creates the home, after the end of another test's.
    #[track_caller]
    pub fn new(hermetic: Hermetic) -> AgentHome {
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        // A failed test poisons the lock, which does not affect the next one.
        let turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let program = executable("turnbridge");
        assert!(program.is_file(), "`{}` is missing\nhint: run `scripts/test`", program.display());
        AgentHome {
            tvine: Tvine::start(hermetic.root()),
            kawaii: Kawaii::new(hermetic.root()),
            hermetic,
            _one_at_a_time: turn,
        }
    }

    /// Replaces the whole `config.toml`, which may contain tokens.
    #[track_caller]
    pub fn configure(&self, config: &str) {
        let folder = self.hermetic.config_dir();
        fs::create_dir_all(&folder).expect("make the config folder");
        let path = folder.join("config.toml");
        fs::write(&path, config).expect("write config.toml");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("make it private");
    }

    /// Runs `turnbridge sessions --json`, optionally with `--all`.
    #[track_caller]
    pub fn sessions(&self, which: SessionSelection) -> Vec<Value> {
        let mut arguments = vec!["sessions", "--json"];
        if which == SessionSelection::All {
            arguments.push("--all");
        }
        let list = self.turnbridge(&arguments);
        assert_eq!(list["version"], 1, "{list}");
        list["sessions"].as_array().unwrap_or_else(|| panic!("no sessions in {list}")).clone()
    }

    /// Returns the only session.
    #[track_caller]
    pub fn only_session(&self, which: SessionSelection) -> Value {
        let sessions = self.sessions(which);
        assert_eq!(sessions.len(), 1, "{sessions:#?}");
        sessions[0].clone()
    }

    /// Runs `turnbridge sessions show ID --json`: the session, its runs and its turns.
    #[track_caller]
    pub fn show(&self, id: &str) -> Value {
        self.turnbridge(&["sessions", "show", id, "--json"])
    }

    /// Returns the only turn record of a session.
    #[track_caller]
    pub fn only_turn(&self, session: &Value) -> Value {
        self.only_of(session, "turns")
    }

    /// Returns the only run of a session.
    #[track_caller]
    pub fn only_run(&self, session: &Value) -> Value {
        self.only_of(session, "runs")
    }

    #[track_caller]
    fn only_of(&self, session: &Value, list: &str) -> Value {
        let shown = self.show(session["session_id"].as_str().expect("an id"));
        match shown[list].as_array().map(Vec::as_slice) {
            Some([one]) => one.clone(),
            _ => panic!("not one in `{list}`: {shown:#}"),
        }
    }

    /// Returns the notices that have not arrived.
    #[track_caller]
    pub fn outbox(&self) -> Vec<Value> {
        self.turnbridge(&["outbox", "--json"])["notices"].as_array().expect("notices").clone()
    }

    /// Returns the routes from threads to sessions.
    #[track_caller]
    pub fn routes(&self) -> Vec<Value> {
        self.turnbridge(&["routes", "--json"])["routes"].as_array().expect("routes").clone()
    }

    /// Asserts that the hooks' log contains no problem.
    #[track_caller]
    pub fn assert_no_problems(&self) {
        let is_problem = |entry: &&Value| entry["level"] != "info";
        let log = self.hooks_log();
        let problems: Vec<_> = log.iter().filter(is_problem).collect();
        assert!(problems.is_empty(), "the hooks had problems: {problems:#?}");
    }

    /// Returns the rules by which the Stop gate has decided, in order.
    #[track_caller]
    pub fn decisions(&self) -> Vec<String> {
        let rule = |entry: Value| entry["rule"].as_str().map(str::to_owned);
        self.hooks_log().into_iter().filter_map(rule).collect()
    }

    /// Waits for the decisions: each is logged a moment after the session shows it.
    #[track_caller]
    pub fn wait_for_decisions(&self, expected: &[&str]) {
        wait_for(&format!("the decisions {expected:?}"), || match self.decisions() {
            decisions if decisions == expected => Ok(()),
            others => Err(format!("{others:?}")),
        });
    }

    /// Returns all entries of the hooks' log.
    #[track_caller]
    pub fn hooks_log(&self) -> Vec<Value> {
        let on_macos = self.hermetic.home().join("Library/Logs/turnbridge");
        let folders = [self.hermetic.state_dir().join("logs"), on_macos];
        let logs = folders.map(|folder| fs::read_to_string(folder.join("hooks.log")));
        let text = logs.into_iter().flatten().collect::<String>();
        text.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
    }

    /// Waits until the only live session has this state (`working`) or state and detail
    /// (`completed/ok`), and returns it. The agent runs in `tmux`.
    #[track_caller]
    pub fn wait_for_state(&self, tmux: &Tmux, state: &str) -> Value {
        wait_for(&format!("a session that is {state}"), || {
            match self.sessions(SessionSelection::Live).as_slice() {
                [session] if state_of(session) == state => Ok(session.clone()),
                others => Err(self.describe(others, tmux)),
            }
        })
    }

    /// Describes these sessions for the message of a failed test.
    pub fn describe(&self, sessions: &[Value], tmux: &Tmux) -> String {
        let mut text = String::new();
        for session in sessions {
            let _ = writeln!(
                text,
                "{} {} (last event {}, pid {})",
                session["session_id"],
                state_of(session),
                session["last_event"],
                session["pid"]
            );
        }
        let _ = writeln!(text, "tvine: {:?}", pairs(&self.tvine.messages(), "status", "event"));
        let _ = writeln!(text, "kawaii: {:?}", pairs(&self.kawaii.lines(), "event", "hook"));
        let _ = write!(text, "{}", tmux.screen().trim_end());
        text
    }

    /// Returns the JSON output of a `turnbridge` command.
    #[track_caller]
    pub fn turnbridge(&self, arguments: &[&str]) -> Value {
        let mut command = self.hermetic.command(executable("turnbridge"));
        let output = command.args(arguments).output().expect("run turnbridge");
        assert!(output.status.success(), "turnbridge {arguments:?}: {output:?}");
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
    }
}

/// The sessions that a query returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionSelection {
    Live,
    All,
}

/// Returns the top of the repository, which is the plugin.
pub fn repository() -> PathBuf {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    top.canonicalize().unwrap_or_else(|error| panic!("resolve `{}`: {error}", top.display()))
}

/// Returns the path of an executable in `bin/`.
pub fn executable(name: &str) -> PathBuf {
    repository().join("bin").join(name)
}

/// Returns the output of a finished process; panics if the process failed.
#[track_caller]
pub fn stdout_of(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}
