//! Runs as the hook of Stop: decides whether the turn may end, then records it.

#![cfg_attr(all(target_os = "linux", target_env = "gnu"), no_main)]

turnbridge_hooks::main!(turnbridge_hooks::stop_gate);
