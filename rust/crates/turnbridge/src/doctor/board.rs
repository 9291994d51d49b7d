//! The board of the running daemon.

use super::finding::{Area, Finding, told};
use super::scene::Scene;
use crate::commands::board;

/// Warns of another program with the board's port at the other loopback address.
pub fn check(scene: &Scene) -> Vec<Finding> {
    let found = scene.paths.as_ref().and_then(|paths| board::find(paths).ok());
    let Some(taken) = found.filter(|board| board.is_ipv6_taken) else { return Vec::new() };
    let told = told(
        format!("another program listens at [::1]:{}, the board's port", taken.port),
        "a browser that is told `localhost` may show that program's page as the board",
        format!(
            "open {} only, or choose another `[board] port` in `config.toml`",
            taken.plain_url()
        ),
    );
    vec![Finding::warning(Area::Daemon, "board-port-shared", told)]
}
