//! Delivers what is queued and exits; with `--hook`, the hook of PermissionRequest, which only
//! queues.

use std::process::ExitCode;

fn main() -> ExitCode {
    if std::env::args_os().skip(1).any(|argument| argument != "--deliver") {
        return ExitCode::from(turnbridge_hooks::waiting());
    }
    turnbridge_daemon::notifier::run();
    ExitCode::SUCCESS
}
