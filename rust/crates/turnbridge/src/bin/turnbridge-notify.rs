//! Delivers queued notices and exits. With `--prune` it deletes old files. With `--hook` it is the
//! hook that only queues a notice when an agent waits for its user: at PermissionRequest, and at
//! the tool call by which Codex asks a question.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1).peekable();
    if arguments.peek().is_some_and(|argument| argument == "--prune") {
        turnbridge_daemon::delivery::notifier::prune();
        return ExitCode::SUCCESS;
    }
    if arguments.any(|argument| argument != "--deliver") {
        return ExitCode::from(turnbridge_hooks::waiting());
    }
    turnbridge_daemon::delivery::notifier::run();
    ExitCode::SUCCESS
}
