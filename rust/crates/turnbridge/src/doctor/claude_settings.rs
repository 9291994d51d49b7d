//! Reads which programs of Turnbridge Claude Code's `settings.json` calls, and whether they are
//! this Turnbridge's.

use std::path::Path;

use turnbridge_core::agents::claude::settings_edit::{
    EventRegistration, Form, OwnCall, Registration, StopGate, inspect, own_calls,
};
use turnbridge_core::agents::hook_table::HookEventName;
use turnbridge_store::foreign::foreign_text::read_text;
use turnbridge_system::programs::{FIRST_WITH_ARGS, version_of_ours};

use super::check_context::own_path;

/// The state of the registration in `settings.json`.
#[derive(Debug, PartialEq, Eq)]
pub enum ClaudeSettings {
    Invalid(String),
    NotRegistered,
    Registered,
    /// Some calls differ from those that this Turnbridge would register.
    Outdated {
        gate: StopGate,
        /// Named programs that are not this Turnbridge's and do not exist.
        gone: Vec<String>,
        /// Named programs that exist, with their version.
        others: Vec<(String, Option<String>)>,
    },
}

/// Reads the settings. `claude` is the version of the installed Claude Code.
pub fn read_settings(path: &Path, claude: Option<[u32; 3]>) -> ClaudeSettings {
    let text = match read_text(path) {
        Ok(text) => text.unwrap_or_default(),
        Err(reason) => return ClaudeSettings::Invalid(reason),
    };
    let calls = match own_calls(&text) {
        Ok(calls) => calls,
        Err(refusal) => return ClaudeSettings::Invalid(refusal.to_string()),
    };
    let gate = gate_of(&calls);
    let [status, stop_gate, notify] = ["status", "stop-gate", "notify"]
        .map(|name| own_path(&format!("turnbridge-{name}")).to_string_lossy().into_owned());
    // A new Claude Code accepts command lines too.
    let forms: &[Form] = match claude {
        Some(version) if version < FIRST_WITH_ARGS => &[Form::Shell],
        _ => &[Form::Exec, Form::Shell],
    };
    let own = [&status, &stop_gate, &notify].map(Clone::clone);
    let mut standings = forms.iter().map(|form| {
        let registration = Registration {
            status: status.clone(),
            stop_gate: stop_gate.clone(),
            notify: notify.clone(),
            form: *form,
            stop_gate_is: gate,
        };
        inspect(&text, &registration)
    });
    let is_current = |events: &[(HookEventName, EventRegistration)]| {
        events.iter().all(|(_, registered)| *registered == EventRegistration::Yes)
    };
    if standings.any(|standing| standing.is_ok_and(|events| is_current(&events))) {
        return ClaudeSettings::Registered;
    }
    if calls.is_empty() {
        return ClaudeSettings::NotRegistered;
    }
    let mut programs: Vec<_> = calls.into_iter().map(|call| call.program).collect();
    programs.sort();
    programs.dedup();
    programs.retain(|program| !own.contains(program));
    let (others, gone): (Vec<_>, Vec<_>) =
        programs.into_iter().partition(|program| Path::new(program).is_file());
    let others = others.into_iter().map(|program| {
        let version = version_of_ours(Path::new(&program));
        (program, version)
    });
    ClaudeSettings::Outdated { gate, gone, others: others.collect() }
}

/// Returns the user's current choice: a repair updates a registration and does not change it.
fn gate_of(calls: &[OwnCall]) -> StopGate {
    let mut gates = calls.iter().filter(|call| call.is_stop_gate());
    if gates.next().is_some_and(|call| !call.has_no_gate()) { StopGate::On } else { StopGate::Off }
}
