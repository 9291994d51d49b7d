//! The hook for every event but Stop: records the session's state.

use std::process::ExitCode;

fn main() -> ExitCode {
    turnbridge_hooks::status()
}
