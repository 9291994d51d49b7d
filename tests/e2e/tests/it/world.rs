//! One test's world: a home of its own, a scripted model, the two host applications, and this
//! repository as the plugin. The tests in it run one after another, because they measure times
//! and a claude alone keeps a core busy while it starts.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use testkit::{Claude, Hermetic, MessagesApi, Script};

use crate::hosts::{Kawaii, Tvine};
use crate::patience::wait_for;

pub struct World {
    pub claude: Claude,
    pub api: MessagesApi,
    pub tvine: Tvine,
    pub kawaii: Kawaii,
    pub hermetic: Hermetic,
    _one_at_a_time: MutexGuard<'static, ()>,
}

impl World {
    /// The Stop gate is off in it: most tests are about something else.
    #[track_caller]
    pub fn new(claude: Claude, script: impl Into<Script>) -> World {
        let world = World::with_gate(claude, script);
        world.configure("[gate]\nenabled = false\n");
        world
    }

    /// As a user has it who has set nothing.
    #[track_caller]
    pub fn with_gate(claude: Claude, script: impl Into<Script>) -> World {
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        // A test that failed has poisoned it; that says nothing about the next one.
        let turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let program = executable("turnbridge");
        assert!(program.is_file(), "`{}` is missing\nhint: run `scripts/test`", program.display());
        let hermetic = Hermetic::new();
        World {
            api: MessagesApi::start(script),
            tvine: Tvine::start(hermetic.root()),
            kawaii: Kawaii::new(hermetic.root()),
            claude,
            hermetic,
            _one_at_a_time: turn,
        }
    }

    /// Makes this the whole `config.toml`.
    #[track_caller]
    pub fn configure(&self, config: &str) {
        let folder = self.hermetic.config_dir();
        fs::create_dir_all(&folder).expect("make the config folder");
        fs::write(folder.join("config.toml"), config).expect("write config.toml");
    }

    /// Claude with the plugin, started by both host applications at once.
    pub fn claude(&self) -> Command {
        let mut command = self.claude_without_plugin();
        command.arg("--plugin-dir").arg(repository());
        command
    }

    pub fn claude_without_plugin(&self) -> Command {
        let mut command = self.claude.command(&self.hermetic, &self.api);
        self.tvine.set_variables(&mut command);
        self.kawaii.set_variables(&mut command);
        command
    }

    /// `turnbridge sessions --json`, and `--all` when wanted.
    #[track_caller]
    pub fn sessions(&self, which: Which) -> Vec<Value> {
        let mut arguments = vec!["sessions", "--json"];
        if which == Which::All {
            arguments.push("--all");
        }
        let list = self.turnbridge(&arguments);
        assert_eq!(list["version"], 1, "{list}");
        list["sessions"].as_array().unwrap_or_else(|| panic!("no sessions in {list}")).clone()
    }

    /// The one session there is.
    #[track_caller]
    pub fn only_session(&self, which: Which) -> Value {
        let sessions = self.sessions(which);
        assert_eq!(sessions.len(), 1, "{sessions:#?}");
        sessions[0].clone()
    }

    /// `turnbridge sessions show ID --json`: the session, its runs and its turns.
    #[track_caller]
    pub fn show(&self, id: &str) -> Value {
        self.turnbridge(&["sessions", "show", id, "--json"])
    }

    /// The only turn record of a session.
    #[track_caller]
    pub fn only_turn(&self, session: &Value) -> Value {
        self.only_of(session, "turns")
    }

    /// The only run of a session.
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

    /// Notices that have not arrived.
    #[track_caller]
    pub fn outbox(&self) -> Vec<Value> {
        self.turnbridge(&["outbox", "--json"])["notices"].as_array().expect("notices").clone()
    }

    #[track_caller]
    pub fn routes(&self) -> Vec<Value> {
        self.turnbridge(&["routes", "--json"])["routes"].as_array().expect("routes").clone()
    }

    /// What a hook could not do stands in its log; in these tests there is nothing.
    #[track_caller]
    pub fn assert_no_problems(&self) {
        let is_problem = |entry: &&Value| entry["level"] != "info";
        let log = self.hooks_log();
        let problems: Vec<_> = log.iter().filter(is_problem).collect();
        assert!(problems.is_empty(), "the hooks had problems: {problems:#?}");
    }

    /// The rules by which the Stop gate has decided, in order.
    #[track_caller]
    pub fn decisions(&self) -> Vec<String> {
        let rule = |entry: Value| entry["rule"].as_str().map(str::to_owned);
        self.hooks_log().into_iter().filter_map(rule).collect()
    }

    /// A decision is logged a moment after the session shows it.
    #[track_caller]
    pub fn wait_for_decisions(&self, expected: &[&str]) {
        wait_for(&format!("the decisions {expected:?}"), || match self.decisions() {
            decisions if decisions == expected => Ok(()),
            others => Err(format!("{others:?}")),
        });
    }

    #[track_caller]
    pub fn hooks_log(&self) -> Vec<Value> {
        let on_macos = self.hermetic.home().join("Library/Logs/turnbridge");
        let folders = [self.hermetic.state_dir().join("logs"), on_macos];
        let logs = folders.map(|folder| fs::read_to_string(folder.join("hooks.log")));
        let text = logs.into_iter().flatten().collect::<String>();
        text.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
    }

    #[track_caller]
    fn turnbridge(&self, arguments: &[&str]) -> Value {
        let mut command = self.hermetic.command(executable("turnbridge"));
        let output = command.args(arguments).output().expect("run turnbridge");
        assert!(output.status.success(), "turnbridge {arguments:?}: {output:?}");
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    Live,
    All,
}

/// The top of the repository, which is the plugin.
pub fn repository() -> PathBuf {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    top.canonicalize().unwrap_or_else(|error| panic!("resolve `{}`: {error}", top.display()))
}

pub fn executable(name: &str) -> PathBuf {
    repository().join("bin").join(name)
}

/// The texts of a finished process; fails when the process did.
#[track_caller]
pub fn stdout_of(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}
