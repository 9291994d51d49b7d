//! Decides whether a call is the speak tool of the calling plugin, so that the agent may use it
//! without asking.
//!
//! The worst result of a hook is to allow a call that the user never allowed, and names alone prove
//! nothing: a project may call its MCP server `plugin_turnbridge_voice`, bring another plugin by
//! Turnbridge's name, and set `CLAUDE_PLUGIN_ROOT`. In doubt the call is not allowed.

use std::path::{Path, PathBuf};

use turnbridge_core::gate::speak::{OWN_PLUGIN, is_own_speak};
use turnbridge_core::session::event::Event;
use turnbridge_store::foreign::plugin_files::{manifest_name, takes_our_names};

use crate::arguments::HookOptions;

/// The `--origin` of the plugin's registration. A user's settings have another one.
const PLUGIN_ORIGIN: &str = "plugin";

/// Claude Code's name for the source of a server that a plugin has brought.
const PLUGIN_SOURCE: &str = "plugin";

/// Returns whether the call is allowed. `server` is the source of the tool's server, if Claude Code
/// reports it.
pub fn is_allowed(options: &HookOptions, event: &Event, tool: &str, server: Option<&str>) -> bool {
    event.session.agent.has_voice_by_plugin()
        && options.origin == PLUGIN_ORIGIN
        && is_own_speak(tool)
        && server.is_none_or(|source| source == PLUGIN_SOURCE)
        && is_called_by_our_plugin(event)
        && !project_folders(event).iter().any(|folder| takes_our_names(folder))
}

/// Returns whether Turnbridge's plugin called this hook. The environment names the plugin, so it
/// counts only if its folder contains this very program.
fn is_called_by_our_plugin(event: &Event) -> bool {
    let plugin = event.host.as_ref().and_then(|host| host.plugin.as_ref());
    let root = plugin.and_then(|plugin| Path::new(&plugin.root).canonicalize().ok());
    let program = std::env::current_exe().and_then(|program| program.canonicalize()).ok();
    let (Some(root), Some(program)) = (root, program) else { return false };
    is_in_layout(&program, &root) && manifest_name(&root).is_some_and(|name| name == OWN_PLUGIN)
}

/// Returns whether the program is beside the manifests, in `bin/`, or in a folder of `bin/` for
/// each kind of machine.
fn is_in_layout(program: &Path, root: &Path) -> bool {
    let bin = root.join("bin");
    let folder = program.parent();
    folder == Some(root) || folder == Some(&bin) || folder.and_then(Path::parent) == Some(&bin)
}

/// Returns the folders in which Claude Code may search for files of a project.
fn project_folders(event: &Event) -> Vec<PathBuf> {
    let started_in = event.host.as_ref().and_then(|host| host.project_dir.as_deref());
    let told = [event.facts.cwd.as_deref(), started_in].into_iter().flatten().map(PathBuf::from);
    let folders: Vec<PathBuf> = told.chain(std::env::current_dir()).collect();
    let mut all: Vec<PathBuf> =
        folders.iter().flat_map(|folder| folder.ancestors()).map(Path::to_owned).collect();
    all.sort();
    all.dedup();
    all
}
