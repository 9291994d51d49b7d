//! Defines the details by which a playing agent resembles the real one: names, arguments, folders
//! and environment.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use turnbridge_core::ids::Agent;
use turnbridge_store::paths::{claude_config_dir, codex_home};

use super::agent::AgentEntrypoint;

pub struct DemoPart {
    agent: Agent,
    pub model: &'static str,
    pub call_id_prefix: &'static str,
    /// The tool that asks the user.
    pub question_tool: &'static str,
    /// The argument before the id of the session to resume.
    pub resume_word: &'static str,
    /// The argument which means that the prompt is in standard input.
    pub stdin_word: &'static str,
}

impl DemoPart {
    pub const fn of(agent: Agent) -> DemoPart {
        match agent {
            Agent::Claude => DemoPart {
                agent,
                model: "claude-opus-4-8",
                call_id_prefix: "toolu_demo",
                question_tool: "AskUserQuestion",
                resume_word: "-r",
                stdin_word: "-p",
            },
            Agent::Codex => DemoPart {
                agent,
                model: "gpt-5.5",
                call_id_prefix: "call_demo",
                question_tool: "request_user_input",
                resume_word: "resume",
                stdin_word: "-",
            },
        }
    }

    /// Returns the folder of the agent's own session records.
    pub fn records(&self) -> Option<PathBuf> {
        match self.agent {
            Agent::Claude => claude_config_dir().map(|home| home.join("projects").join("demo")),
            Agent::Codex => codex_home().map(|home| home.join("sessions")),
        }
    }

    /// Returns the environment of the agent's hooks.
    pub fn environment(&self, seat: AgentEntrypoint, cwd: &Path) -> Vec<(&'static str, OsString)> {
        match self.agent {
            Agent::Claude => {
                let entrypoint = if seat == AgentEntrypoint::Terminal { "cli" } else { "sdk-cli" };
                vec![
                    ("CLAUDE_CODE_ENTRYPOINT", entrypoint.into()),
                    ("CLAUDE_PROJECT_DIR", cwd.into()),
                ]
            }
            Agent::Codex => Vec::new(),
        }
    }
}
