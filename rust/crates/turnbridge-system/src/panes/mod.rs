//! Records what shells and terminals report about panes: an agent starts, a pane is left, output
//! stops. `turnbridge_core::terminals::panes` decides which session a pane shows.

mod launch;
mod output;

use std::path::PathBuf;

use anyhow::{Context, Result};
use turnbridge_core::session::RunEnvironment;
use turnbridge_core::session::event::PaneEnd;
use turnbridge_core::terminals::pane_id::{PaneId, pane_of, resolve};
use turnbridge_core::terminals::panes::Panes;
use turnbridge_store::clock;
use turnbridge_store::paths::StatePaths;
use turnbridge_store::state::{pane_store, session_store};

use crate::failure::{Remark, hinted};
pub use launch::started;
pub use output::follow_output;

/// The registry of panes.
#[derive(Clone, Copy)]
pub struct Registry<'a> {
    pub paths: &'a StatePaths,
    /// The folders of Codex that are followed.
    pub codex_homes: fn() -> Vec<PathBuf>,
    pub remark: Remark,
}

impl Registry<'_> {
    /// Returns the panes as they are now. First binds the threads of Codex that have begun
    /// meanwhile, because no daemon may be running to do that.
    pub fn settled(&self) -> Result<Panes> {
        pane_store::settle(self.paths, &(self.codex_homes)())
            .context("could not write the registry of panes")
    }

    /// Records that the pane is left, and stops the session that it showed.
    pub fn leave(&self, pane: &PaneId, why: PaneEnd) -> Result<()> {
        let left = pane_store::leave(self.paths, &(self.codex_homes)(), pane, why, clock::now())
            .context("could not write down that the pane was left")?;
        left.problems.iter().for_each(|problem| (self.remark)(problem));
        Ok(())
    }

    /// Returns the pane of this name, or without a name the pane of `host`.
    pub fn find(&self, given: Option<&str>, host: &RunEnvironment) -> Result<PaneId> {
        let here = pane_of(|name| host.env(name));
        let Some(given) = given else {
            return here.ok_or_else(|| {
                let hint = "name it with `--pane ID`, or run this in tmux, Zellij, WezTerm, kitty, \
                            iTerm2 or Windows Terminal";
                hinted("this terminal does not say which pane this is", hint)
            });
        };
        let panes = pane_store::read(self.paths);
        let sessions = session_store::read_all(self.paths).unwrap_or_default();
        let mut known: Vec<PaneId> = panes.launches.keys().cloned().collect();
        known.extend(panes.bindings(&sessions).into_iter().map(|binding| binding.pane));
        known.extend(here);
        resolve(given, &known).ok_or_else(|| {
            let hint =
                "a pane's name is one line of printable characters; see `turnbridge pane list`";
            hinted(format!("{given:?} is no pane"), hint)
        })
    }
}
