//! The hook for Stop: decides whether the turn may end, then records it.

use std::process::ExitCode;

fn main() -> ExitCode {
    turnbridge_hooks::stop_gate()
}
