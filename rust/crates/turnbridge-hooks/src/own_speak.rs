//! Whether a call is the speak tool of the plugin that called us, so that the agent may use it without asking.
//!
//! An allow that nobody gave is the worst thing that a hook could do, and names alone prove nothing: a project may call
//! its own MCP server `plugin_turnbridge_voice`, bring another plugin by our name, and set `CLAUDE_PLUGIN_ROOT`. In doubt
//! the answer is no.

use std::path::{Path, PathBuf};

use turnbridge_core::gate::speak::{OWN_PLUGIN, is_own_speak};
use turnbridge_core::session::event::Event;
use turnbridge_store::foreign::plugin_files::{manifest_name, takes_our_names};

use crate::arguments::Options;

/// What the plugin's own registration says of itself. A user's settings say something else.
const PLUGIN_ORIGIN: &str = "plugin";

/// What Claude Code says of a server that a plugin has brought.
const PLUGIN_SOURCE: &str = "plugin";

/// `server` is who has brought the tool's server, where Claude Code tells.
pub fn is_allowed(options: &Options, event: &Event, tool: &str, server: Option<&str>) -> bool {
    event.session.agent.has_voice_by_plugin()
        && options.origin == PLUGIN_ORIGIN
        && is_own_speak(tool)
        && server.is_none_or(|source| source == PLUGIN_SOURCE)
        && is_called_by_our_plugin(event)
        && !project_folders(event).iter().any(|folder| takes_our_names(folder))
}

/// The environment names the plugin, so that it counts only if this very program lies in it.
fn is_called_by_our_plugin(event: &Event) -> bool {
    let plugin = event.host.as_ref().and_then(|host| host.plugin.as_ref());
    let root = plugin.and_then(|plugin| Path::new(&plugin.root).canonicalize().ok());
    let program = std::env::current_exe().and_then(|program| program.canonicalize()).ok();
    let (Some(root), Some(program)) = (root, program) else { return false };
    is_in_layout(&program, &root) && manifest_name(&root).is_some_and(|name| name == OWN_PLUGIN)
}

/// Beside the manifests, in `bin/`, or in a folder of `bin/` for each kind of machine.
fn is_in_layout(program: &Path, root: &Path) -> bool {
    let bin = root.join("bin");
    let folder = program.parent();
    folder == Some(root) || folder == Some(&bin) || folder.and_then(Path::parent) == Some(&bin)
}

/// Where Claude Code may look for what a project brings along.
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
