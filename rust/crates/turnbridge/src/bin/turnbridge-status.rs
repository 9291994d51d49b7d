//! Runs as the hook of every event but Stop, and records the session's state.

#![cfg_attr(all(target_os = "linux", target_env = "gnu"), no_main)]

turnbridge_hooks::main!(turnbridge_hooks::status);
