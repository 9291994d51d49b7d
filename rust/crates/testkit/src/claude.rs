//! Finds the real Claude Code and returns commands that run it offline: against a loopback model,
//! and without questions at its start. The test adds the plugin and the prompt; `tmux.rs` provides
//! the terminal.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::hermetic::Hermetic;
use crate::messages_api::MessagesApi;
use crate::pinned::{WantedVersion, version_in};

/// The environment variable that names the `claude` to test: a program, a version, or `oldest`.
const VARIABLE: &str = "TURNBRIDGE_TEST_CLAUDE";

/// Claude asks before it uses an API key from the environment, unless the key's last 20 characters
/// are approved.
const API_KEY: &str = "dummy";

/// An installed Claude Code.
pub struct Claude {
    program: PathBuf,
}

impl Claude {
    /// Finds the program of `TURNBRIDGE_TEST_CLAUDE`, else the one that `npm ci` put into
    /// `tests/claude`. Returns `None` if the latter does not exist: the caller then skips its test,
    /// or fails. Panics if the variable names one that does not exist.
    #[track_caller]
    pub fn find() -> Option<Claude> {
        let wanted = WantedVersion::by(VARIABLE);
        let program = match (&wanted, wanted.modules("claude")) {
            (WantedVersion::Program(program), _) => program.is_file().then(|| program.clone()),
            (_, Some(modules)) => installed(&modules),
            (_, None) => None,
        };
        let is_there = program.is_some() || wanted == WantedVersion::Newest;
        assert!(is_there, "{VARIABLE}: no {wanted:?}\nhint: {}", wanted.hint("claude"));
        program.map(|program| Claude { program })
    }

    /// Returns the version that `--version` prints.
    #[track_caller]
    pub fn version(&self) -> [u32; 3] {
        let output = Command::new(&self.program).arg("--version").output().expect("run claude");
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        version_in(&printed).unwrap_or_else(|| panic!("no version: {output:?}"))
    }

    /// Returns the path of the executable.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Returns a command for Claude in the hermetic environment and project folder. It calls only
    /// `api` and never retries.
    pub fn command(&self, hermetic: &Hermetic, api: &MessagesApi) -> Command {
        let mut command = hermetic.command(&self.program);
        command.env("ANTHROPIC_BASE_URL", api.base_url()).env("ANTHROPIC_API_KEY", API_KEY);
        for switch in [
            "DISABLE_TELEMETRY",
            "DISABLE_AUTOUPDATER",
            "DISABLE_ERROR_REPORTING",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
        ] {
            command.env(switch, "1");
        }
        command.env("CLAUDE_CODE_MAX_RETRIES", "0");
        command
    }

    /// Stores the answers for `project` to all questions of an interactive claude's first start:
    /// theme, key and trust. If `CLAUDE_CONFIG_DIR` is set, as in a `Hermetic`, claude reads
    /// `.claude.json` from that folder.
    #[track_caller]
    pub fn accept_first_start(&self, hermetic: &Hermetic, project: &Path) {
        let path = hermetic.claude_config_dir().join(".claude.json");
        let mut settings: Value = match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).expect("parse `.claude.json`"),
            Err(_) => json!({}),
        };
        settings["hasCompletedOnboarding"] = true.into();
        settings["lastOnboardingVersion"] = "2.1.326".into();
        settings["theme"] = "dark".into();
        for seen in ["hasSeenAutoDefaultNotice", "hasSeenAutoDefaultNudge"] {
            settings[seen] = true.into();
        }
        settings["customApiKeyResponses"] = json!({"approved": [API_KEY], "rejected": []});
        let project = project.to_str().expect("a project path in UTF-8");
        settings["projects"][project]["hasTrustDialogAccepted"] = true.into();
        fs::write(&path, settings.to_string())
            .unwrap_or_else(|error| panic!("write `{}`: {error}", path.display()));
        self.ask_for_permissions(hermetic);
    }

    /// Makes an interactive claude ask before it runs something, unless the user's settings decide.
    /// By default a later one lets a model decide, which a loopback API does not have.
    fn ask_for_permissions(&self, hermetic: &Hermetic) {
        let path = hermetic.claude_config_dir().join("settings.json");
        let mut settings: Value = match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).expect("parse `settings.json`"),
            Err(_) => json!({}),
        };
        if settings["permissions"]["defaultMode"].is_null() {
            settings["permissions"]["defaultMode"] = "default".into();
            fs::write(&path, settings.to_string())
                .unwrap_or_else(|error| panic!("write `{}`: {error}", path.display()));
        }
    }
}

/// Finds the executable. npm's `.bin` contains a script on Windows; the executable itself has this
/// name on every system.
fn installed(modules: &Path) -> Option<PathBuf> {
    let program = match cfg!(windows) {
        true => modules.join("@anthropic-ai/claude-code/bin/claude.exe"),
        false => modules.join(".bin/claude"),
    };
    program.canonicalize().ok()
}
