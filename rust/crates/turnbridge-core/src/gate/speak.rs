//! Recognises the calls by which a turn's summary is spoken: `/cvi:speak` and Turnbridge's speak,
//! as a typed command, through the Skill tool, or as an MCP tool. The Stop gate uses their
//! outcomes.

use crate::timestamp::Timestamp;

/// A call that speaks, in the turn `prompt_id`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpeakCall {
    pub at: Timestamp,
    pub prompt_id: Option<String>,
    pub outcome: SpeakOutcome,
}

/// The result of a call that speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpeakOutcome {
    Spoken,
    /// The tool ran and failed.
    Failed,
    /// The call never ran, for lack of permission; a rule against a tool makes the tool unknown.
    /// Only `PostToolBatch` reports it.
    Refused,
}

/// Claude's words for a malformed call, and a server's for arguments that it cannot accept.
const WRONG_CALLS: [&str; 4] =
    ["Unknown skill", "Invalid skill format", "InputValidationError", "MCP error -32602"];
/// Claude's words for a missing permission: for a tool, for a skill, by a rule.
const REFUSALS: [&str; 4] = [
    "haven't granted it",
    "Execute skill:",
    "blocked by permission rules",
    "No such tool available",
];

impl SpeakOutcome {
    /// Returns the outcome of a call that ended with an error, by Claude's words for it. Returns
    /// `None` for a malformed call: it was no attempt, and the next one may succeed.
    pub fn of_error(error: &str) -> Option<SpeakOutcome> {
        let says = |words: &&str| error.contains(*words);
        if WRONG_CALLS.iter().any(says) {
            return None;
        }
        let is_refusal = REFUSALS.iter().any(says);
        Some(if is_refusal { SpeakOutcome::Refused } else { SpeakOutcome::Failed })
    }

    pub const ALL: [SpeakOutcome; 3] =
        [SpeakOutcome::Spoken, SpeakOutcome::Failed, SpeakOutcome::Refused];

    pub const fn as_str(self) -> &'static str {
        match self {
            SpeakOutcome::Spoken => "spoken",
            SpeakOutcome::Failed => "failed",
            SpeakOutcome::Refused => "refused",
        }
    }

    pub fn parse(text: &str) -> Option<SpeakOutcome> {
        SpeakOutcome::ALL.into_iter().find(|outcome| outcome.as_str() == text)
    }
}

/// The plugins whose `speak` counts: the original one and Turnbridge.
const PLUGINS: [&str; 2] = ["cvi", "turnbridge"];

/// Returns whether `tool` is a speak call; `skill` is `tool_input.skill` of the Skill tool.
pub fn is_speak_tool(tool: &str, skill: Option<&str>) -> bool {
    match tool {
        "Skill" => skill.is_some_and(is_speak_skill),
        _ => is_speak_mcp_tool(tool),
    }
}

/// The name of Turnbridge's plugin in its manifest.
pub const OWN_PLUGIN: &str = "turnbridge";

/// Returns whether Claude Code gives the tools of the MCP server `name` the same names as those of
/// Turnbridge's plugin: it replaces all but letters, digits, `_` and `-` by `_`.
pub fn is_own_voice_server(name: &str) -> bool {
    let is_kept = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let name: String = name.chars().map(|c| if is_kept(c) { c } else { '_' }).collect();
    name == "plugin_turnbridge_voice"
}

/// Returns whether the tool has the name of the speak tool of Turnbridge's plugin. Others may take
/// this name, so a caller that allows a call must check more. A skill never counts: a project may
/// give its skill any name, and any permission with it.
pub fn is_own_speak(tool: &str) -> bool {
    tool == "mcp__plugin_turnbridge_voice__speak"
}

/// Returns whether a key of `enabledPlugins` names Turnbridge, of any marketplace:
/// `turnbridge@team`.
pub fn is_own_plugin_key(key: &str) -> bool {
    let name = key.split('@').next().unwrap_or_default();
    name.trim().eq_ignore_ascii_case(OWN_PLUGIN)
}

/// Returns whether the user typed the command that speaks: `/cvi:speak All done.`
pub fn is_speak_prompt(prompt: &str) -> bool {
    let command = prompt.split_whitespace().next().unwrap_or_default();
    command.starts_with('/') && is_speak_skill(command)
}

/// Matches `cvi:speak`, `/turnbridge:speak`, or the bare name, which Claude also accepts.
fn is_speak_skill(skill: &str) -> bool {
    let name = skill.strip_prefix('/').unwrap_or(skill);
    match name.split_once(':') {
        Some((plugin, command)) => PLUGINS.contains(&plugin) && command == "speak",
        None => name == "speak",
    }
}

/// Matches `mcp__plugin_<plugin>_<server>__speak` (plugin), `mcp__<server>__speak` (by hand).
fn is_speak_mcp_tool(tool: &str) -> bool {
    let Some(server) = tool.strip_prefix("mcp__").and_then(|rest| rest.strip_suffix("__speak"))
    else {
        return false;
    };
    PLUGINS.iter().any(|plugin| {
        server == *plugin
            || server
                .strip_prefix("plugin_")
                .and_then(|rest| rest.strip_prefix(plugin))
                .is_some_and(|rest| rest.starts_with('_'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speak_calls_are_known_by_every_name_claude_uses() {
        for skill in ["cvi:speak", "/cvi:speak", "turnbridge:speak", "speak", "/speak"] {
            assert!(is_speak_tool("Skill", Some(skill)), "{skill}");
        }
        for skill in ["other:speak", "cvi:speak-test", "speaker", "", "/"] {
            assert!(!is_speak_tool("Skill", Some(skill)), "{skill}");
        }
        assert!(!is_speak_tool("Skill", None));
        assert!(is_speak_tool("mcp__plugin_turnbridge_voice__speak", None));
        assert!(is_speak_tool("mcp__plugin_cvi_voice__speak", None));
        assert!(is_speak_tool("mcp__turnbridge__speak", None));
        for tool in ["Bash", "mcp__plugin_probe_voice__speak", "mcp__plugin_cvix__speak", "speak"] {
            assert!(!is_speak_tool(tool, Some("cvi:speak")), "{tool}");
        }
    }

    #[test]
    fn exactly_the_plugins_tool_has_our_name() {
        assert!(is_own_speak("mcp__plugin_turnbridge_voice__speak"));
        for tool in [
            "Skill",
            "turnbridge:speak",
            "mcp__turnbridge__speak",
            "mcp__plugin_turnbridge_voice__speak_more",
            "Bash",
            "",
        ] {
            assert!(!is_own_speak(tool), "{tool}");
        }
    }

    #[test]
    fn a_plugin_has_our_name_from_every_marketplace() {
        for key in ["turnbridge@market", "Turnbridge@m", "turnbridge", " turnbridge @m"] {
            assert!(is_own_plugin_key(key), "{key}");
        }
        for key in ["other@turnbridge", "turnbridge-2@m", ""] {
            assert!(!is_own_plugin_key(key), "{key}");
        }
    }

    #[test]
    fn a_server_takes_our_name_by_any_sign_that_claude_replaces() {
        for name in
            ["plugin_turnbridge_voice", "plugin:turnbridge:voice", "plugin turnbridge.voice"]
        {
            assert!(is_own_voice_server(name), "{name}");
        }
        for name in ["turnbridge", "plugin-turnbridge-voice", "plugin_turnbridge_voice2", ""] {
            assert!(!is_own_voice_server(name), "{name}");
        }
    }

    #[test]
    fn a_typed_command_is_known_by_its_first_word() {
        assert!(is_speak_prompt("/cvi:speak done"));
        assert!(is_speak_prompt("/turnbridge:speak"));
        assert!(!is_speak_prompt("please /cvi:speak"));
        assert!(!is_speak_prompt("speak up"));
        assert!(!is_speak_prompt(""));
    }
}
