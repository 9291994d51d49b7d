//! Finds the real Codex and returns commands that run it offline: against a loopback model, and
//! without questions at its start. Also reads the files of its threads (rollouts). The test adds
//! the prompt and other configuration.
//!
//! A provider on loopback does not keep Codex from the network: it also looks for plugins at GitHub
//! and chatgpt.com. These are switched off here. All remaining requests (the terminal's update
//! check at GitHub) go to the loopback model as proxy, which refuses them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::hermetic::Hermetic;
use crate::pinned::{WantedVersion, version_in};
use crate::responses_api::ResponsesApi;

/// The environment variable that names the `codex` to test: a program, a version, or `oldest`.
const VARIABLE: &str = "TURNBRIDGE_TEST_CODEX";

/// A model that the pinned version knows and that calls its tools by name. Later models write code
/// that does.
const MODEL: &str = "gpt-5.5";

/// The model that the terminal would propose at its start if it had not been declined.
const NEXT_MODEL: &str = "gpt-6-sol";

/// An installed Codex.
pub struct Codex {
    program: PathBuf,
}

impl Codex {
    /// Finds the program of `TURNBRIDGE_TEST_CODEX`, else the one that `npm ci` put into
    /// `tests/codex`. Returns `None` if the latter does not exist: the caller then skips its test,
    /// or fails. Panics if the variable names one that does not exist.
    #[track_caller]
    pub fn find() -> Option<Codex> {
        let wanted = WantedVersion::by(VARIABLE);
        let program = match (&wanted, wanted.modules("codex")) {
            (WantedVersion::Program(program), _) => program.is_file().then(|| program.clone()),
            (_, Some(modules)) => installed(&modules),
            (_, None) => None,
        };
        let is_there = program.is_some() || wanted == WantedVersion::Newest;
        assert!(is_there, "{VARIABLE}: no {wanted:?}\nhint: {}", wanted.hint("codex"));
        program.map(|program| Codex { program })
    }

    /// Returns the version that `--version` prints.
    #[track_caller]
    pub fn version(&self) -> [u32; 3] {
        let output = Command::new(&self.program).arg("--version").output().expect("run codex");
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        version_in(&printed).unwrap_or_else(|| panic!("no version: {output:?}"))
    }

    /// Returns the path of the executable.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Returns a command for Codex in the hermetic environment and project folder, which calls only
    /// `api`. Without more arguments it needs a terminal. It is never a client of a daemon, which
    /// would outlive the test (`--enable daemon_auto_start`). It writes `config.toml` unless one
    /// exists, which must then name `api`; see [`Codex::configure`].
    #[track_caller]
    pub fn command(&self, hermetic: &Hermetic, api: &ResponsesApi) -> Command {
        let path = config_path(hermetic);
        if !path.exists() {
            self.configure(hermetic, api, "");
        }
        let config = fs::read_to_string(&path).expect("read Codex's config.toml");
        assert!(config.contains(&api.base_url()), "config.toml names another model:\n{config}");

        let mut command = hermetic.command(&self.program);
        for variable in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
            command.env(variable, api.origin());
        }
        command.env("NO_PROXY", "127.0.0.1,localhost");
        command
    }

    /// Returns `codex exec` with its events as JSON lines on standard output, and empty input.
    #[track_caller]
    pub fn exec(&self, hermetic: &Hermetic, api: &ResponsesApi, prompt: &str) -> Command {
        let mut command = self.command(hermetic, api);
        command.args(["exec", "--skip-git-repo-check", "--json", prompt]).stdin(Stdio::null());
        command
    }

    /// Writes a complete new `config.toml` that begins with `top`: keys such as `notify` outside of
    /// any table. The test can append tables.
    #[track_caller]
    pub fn configure(&self, hermetic: &Hermetic, api: &ResponsesApi, top: &str) {
        let base_url = api.base_url();
        let project = hermetic.project();
        let project = project.display();
        // A literal key, because a Windows path contains backslashes.
        let config = format!(
            r#"{top}
model = "{MODEL}"
model_provider = "loopback"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
[model_providers.loopback]
name = "loopback"
base_url = "{base_url}"
wire_api = "responses"
requires_openai_auth = false
request_max_retries = 0
stream_max_retries = 0
[features]
plugins = false
apps = false
daemon_auto_start = false
[analytics]
enabled = false
[notice.model_migrations]
"{MODEL}" = "{NEXT_MODEL}"
[projects.'{project}']
trust_level = "trusted"
"#
        );
        let path = config_path(hermetic);
        fs::write(&path, config)
            .unwrap_or_else(|error| panic!("write `{}`: {error}", path.display()));
    }

    /// Returns the files of all threads, oldest first.
    pub fn rollouts(&self, hermetic: &Hermetic) -> Vec<PathBuf> {
        let mut folders = vec![hermetic.codex_home().join("sessions")];
        for _year_month_day in 0..3 {
            folders = folders.iter().flat_map(|folder| folders_in(folder)).collect();
        }
        let mut files: Vec<_> = folders.iter().flat_map(|folder| entries_of(folder)).collect();
        files.sort();
        files
    }
}

/// Reads the records of one thread, without an incomplete last line.
#[track_caller]
pub fn read_rollout(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path)
        .unwrap_or_else(|error| panic!("read `{}`: {error}", path.display()));
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let parse = |line: &str| {
        serde_json::from_str(line).unwrap_or_else(|error| panic!("parse `{line}`: {error}"))
    };
    whole.lines().map(parse).collect()
}

/// Finds the executable. `.bin/codex` is a script for Node, and a test's signals and process ids
/// would be Node's. npm installs only the package of this machine's system, so there is only one.
fn installed(modules: &Path) -> Option<PathBuf> {
    let name = format!("bin/codex{}", std::env::consts::EXE_SUFFIX);
    let systems = folders_in(&modules.join("@openai")).into_iter();
    let targets = systems.flat_map(|package| folders_in(&package.join("vendor")));
    let program = targets.map(|target| target.join(&name)).find(|path| path.is_file())?;
    program.canonicalize().ok()
}

fn config_path(hermetic: &Hermetic) -> PathBuf {
    hermetic.codex_home().join("config.toml")
}

fn folders_in(folder: &Path) -> Vec<PathBuf> {
    entries_of(folder).into_iter().filter(|path| path.is_dir()).collect()
}

/// Returns the entries of a folder, or none if it does not exist (yet).
fn entries_of(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}
