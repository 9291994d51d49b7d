//! Decides from Claude Code's files whether a hook calls the Stop gate. If no hook does, every turn
//! ends, and the gate's switches have no effect.

use std::fmt;

/// The facts from Claude Code's files about the hooks that call the gate.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HookFacts {
    /// The file that sets `disableAllHooks`.
    pub all_off_in: Option<String>,
    /// The file that sets `allowManagedHooksOnly`.
    pub managed_only_in: Option<String>,
    /// Turnbridge's plugin, if it is installed, enabled and has its executables.
    pub plugin: Option<String>,
    /// A recent session had the plugin by `--plugin-dir`, which no file contains.
    pub is_plugin_dir_seen: bool,
    /// The calls of the gate in settings files, the highest file first.
    pub calls: Vec<GateCall>,
}

/// A call of `turnbridge-stop-gate` in a settings file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateCall {
    pub file: String,
    pub program: String,
    pub exists: bool,
    pub has_no_gate: bool,
}

/// The hook that calls the gate when a turn ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GateCaller {
    Plugin(String),
    PluginDir,
    /// The settings file.
    Settings(String),
}

impl GateCaller {
    pub const fn as_str(&self) -> &'static str {
        match self {
            GateCaller::Plugin(_) => "plugin",
            GateCaller::PluginDir => "plugin_dir",
            GateCaller::Settings(_) => "settings",
        }
    }
}

/// Why no hook calls the gate. Every turn ends then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GateBypass {
    AllOff(String),
    ManagedOnly(String),
    NoGate(String),
    ProgramMissing { file: String, program: String },
    NoHook,
}

impl GateBypass {
    /// Returns the file that is the reason, if one is.
    pub fn file(&self) -> Option<&str> {
        match self {
            GateBypass::AllOff(file) | GateBypass::ManagedOnly(file) | GateBypass::NoGate(file) => {
                Some(file)
            }
            GateBypass::ProgramMissing { file, .. } => Some(file),
            GateBypass::NoHook => None,
        }
    }
}

/// Returns the hook that calls the gate, or why none does. The plugin's hook precedes those in
/// settings; beside it `--no-gate` has no effect.
pub fn who_asks(facts: &HookFacts) -> Result<GateCaller, GateBypass> {
    if let Some(file) = &facts.all_off_in {
        return Err(GateBypass::AllOff(file.clone()));
    }
    if let Some(file) = &facts.managed_only_in {
        return Err(GateBypass::ManagedOnly(file.clone()));
    }
    if let Some(name) = &facts.plugin {
        return Ok(GateCaller::Plugin(name.clone()));
    }
    if let Some(call) = facts.calls.iter().find(|call| call.exists && !call.has_no_gate) {
        return Ok(GateCaller::Settings(call.file.clone()));
    }
    if facts.is_plugin_dir_seen {
        return Ok(GateCaller::PluginDir);
    }
    Err(match facts.calls.iter().find(|call| call.exists).or(facts.calls.first()) {
        None => GateBypass::NoHook,
        Some(call) if call.exists => GateBypass::NoGate(call.file.clone()),
        Some(call) => {
            GateBypass::ProgramMissing { file: call.file.clone(), program: call.program.clone() }
        }
    })
}

impl fmt::Display for GateCaller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GateCaller::Plugin(name) => write!(f, "the plugin `{name}`"),
            GateCaller::PluginDir => {
                f.write_str("the plugin, which a session lately had by `--plugin-dir`")
            }
            GateCaller::Settings(file) => write!(f, "`{file}`"),
        }
    }
}

impl fmt::Display for GateBypass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GateBypass::AllOff(file) => write!(f, "`disableAllHooks` is set in `{file}`"),
            GateBypass::ManagedOnly(file) => write!(f, "`allowManagedHooksOnly` is set in `{file}`"),
            GateBypass::NoGate(file) => write!(
                f,
                "the Stop hook in `{file}` has `--no-gate` (`turnbridge hooks apply --gate` takes it out)"
            ),
            GateBypass::ProgramMissing { file, program } => {
                write!(f, "the Stop hook in `{file}` calls `{program}`, which does not exist")
            }
            GateBypass::NoHook => f.write_str(
                "Claude Code calls no Stop hook of ours (no file names a plugin that `--plugin-dir` gives)",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(file: &str, exists: bool, has_no_gate: bool) -> GateCall {
        GateCall { file: file.to_owned(), program: "/p".to_owned(), exists, has_no_gate }
    }

    #[track_caller]
    fn check(facts: &HookFacts, expected: Result<GateCaller, GateBypass>) {
        assert_eq!(who_asks(facts), expected, "{facts:?}");
    }

    #[test]
    fn whoever_calls_the_gate_without_no_gate_asks_it() {
        let with = |calls: &[GateCall]| HookFacts { calls: calls.to_vec(), ..HookFacts::default() };
        check(&with(&[]), Err(GateBypass::NoHook));
        check(&with(&[call("a", true, true)]), Err(GateBypass::NoGate("a".to_owned())));
        check(&with(&[call("a", true, false)]), Ok(GateCaller::Settings("a".to_owned())));
        let both = with(&[call("a", true, true), call("b", true, false)]);
        check(&both, Ok(GateCaller::Settings("b".to_owned())));
        let gone = GateBypass::ProgramMissing { file: "a".to_owned(), program: "/p".to_owned() };
        check(&with(&[call("a", false, false)]), Err(gone));
        let both = with(&[call("a", false, false), call("b", true, true)]);
        check(&both, Err(GateBypass::NoGate("b".to_owned())));
    }

    #[test]
    fn the_plugin_asks_whatever_the_settings_say_unless_no_hook_runs() {
        let plugin = Some("turnbridge@m".to_owned());
        let facts =
            HookFacts { plugin, calls: vec![call("a", true, true)], ..HookFacts::default() };
        check(&facts, Ok(GateCaller::Plugin("turnbridge@m".to_owned())));
        let off = HookFacts { all_off_in: Some("s".to_owned()), ..facts.clone() };
        check(&off, Err(GateBypass::AllOff("s".to_owned())));
        let managed = HookFacts { managed_only_in: Some("m".to_owned()), ..facts };
        check(&managed, Err(GateBypass::ManagedOnly("m".to_owned())));
        let seen = HookFacts { is_plugin_dir_seen: true, ..HookFacts::default() };
        check(&seen, Ok(GateCaller::PluginDir));
    }
}
