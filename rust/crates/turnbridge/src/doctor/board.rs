//! Checks the board of the running daemon.

use turnbridge_system::daemon_control;

use super::check_context::CheckContext;
use super::finding::{Area, Finding, problem_text};

/// Reports a board that is not served, and another program with its port at the other loopback
/// address.
pub fn check(context: &CheckContext) -> Vec<Finding> {
    let Some(paths) = &context.paths else { return Vec::new() };
    let status = daemon_control::read_status(paths).filter(|_| daemon_control::is_running(paths));
    // A suspended daemon gets no other finding.
    let status = status.filter(|status| !daemon_control::is_suspended(status));
    let not_served = status.and_then(|status| daemon_control::not_served(&status.board?));
    if let Some((what, fix)) = not_served {
        let why = "sessions cannot be looked at in a browser, nor answered there";
        return vec![Finding::error(
            Area::Daemon,
            "board-not-served",
            problem_text(what, why, fix),
        )];
    }
    let Some(taken) = daemon_control::find_board(paths).ok().filter(|board| board.is_ipv6_taken)
    else {
        return Vec::new();
    };
    let wording = problem_text(
        format!("another program listens at [::1]:{}, the board's port", taken.port),
        "a browser that opens `localhost` may show that program's page as the board",
        format!(
            "open {} only, or choose another `[board] port` in `config.toml`",
            taken.plain_url()
        ),
    );
    vec![Finding::warning(Area::Daemon, "board-port-shared", wording)]
}
