//! Finds out who calls the Stop gate in a folder: the plugin's hooks or a settings file. If none
//! does, it returns the reason.

use std::path::Path;

use turnbridge_core::agents::claude::settings_edit::own_calls;
use turnbridge_core::gate::gate_hooks::{GateBypass, GateCall, GateCaller, HookFacts, who_asks};
use turnbridge_store::clock;
use turnbridge_store::foreign::foreign_text::read_text;
use turnbridge_store::paths::{StatePaths, claude_config_dir};
use turnbridge_store::state::session_store;

use crate::registration::claude_plugin::{self, Layers, is_plugin_dir_seen};

/// Returns the caller of the gate, or the reason why none calls it.
pub fn callers_in(folder: &Path) -> Result<GateCaller, GateBypass> {
    let layers = Layers::read(Some(folder));
    let plugins = claude_config_dir().map(|dir| claude_plugin::find(&dir, &layers));
    let runs = |plugin: &claude_plugin::PluginInstallation| {
        plugin.is_enabled && plugin.is_installed && plugin.root.is_some()
    };
    let plugin = plugins.unwrap_or_default().into_iter().find(runs);
    let sessions = StatePaths::from_env().and_then(|paths| session_store::read_all(&paths).ok());
    let shown = |path: &Path| path.display().to_string();
    let all_off = layers.switch("disableAllHooks").filter(|(is_off, _)| *is_off);
    who_asks(&HookFacts {
        all_off_in: all_off.map(|(_, path)| shown(path)),
        managed_only_in: layers.managed("allowManagedHooksOnly").map(shown),
        plugin: plugin.map(|plugin| plugin.name),
        is_plugin_dir_seen: is_plugin_dir_seen(&sessions.unwrap_or_default(), clock::now()),
        calls: layers.paths().flat_map(calls_in).collect(),
    })
}

/// Returns the calls in a file. A file that cannot be read has none, because Claude ignores it too.
fn calls_in(path: &Path) -> Vec<GateCall> {
    let text = read_text(path).ok().flatten().unwrap_or_default();
    let calls = own_calls(&text).unwrap_or_default().into_iter();
    let calls = calls.filter(|call| call.is_stop_gate());
    calls
        .map(|call| GateCall {
            file: path.display().to_string(),
            exists: Path::new(&call.program).is_file(),
            has_no_gate: call.has_no_gate(),
            program: call.program,
        })
        .collect()
}
