//! Reads the environment variables by which tests steer the executables. No other module reads one.
//!
//! Only builds with `debug_assertions` know them. The profiles `release` and `dist` have none:
//! there every switch is off, and the executables do not even contain the names. Otherwise any
//! source of an agent's environment, such as a project's settings, would steer the executables of
//! users.

use std::str::FromStr;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestSwitch {
    /// The clock, as microseconds since 1970.
    Now,
    /// The place at which the process kills itself; see `kill_point`.
    KillAt,
    /// A file with the seconds that the clock is ahead of the system's. Tests change it while
    /// processes run.
    ClockAheadFile,
    /// Another address of Slack's Web API than the config names.
    SlackApiUrl,
    /// The factor by which calls are faster than the real Slack wants.
    SlackTimeScale,
    /// A shorter timeout for the checks of `doctor`.
    DoctorTimeout,
    /// The service manager that replaces the system's.
    ServiceManager,
    ServiceTimeout,
    /// The user's home according to the system.
    SystemHome,
    /// The milliseconds after which a running speech engine counts as speaking.
    SpeechMoment,
    /// `windows`, `inside` or `elsewhere`: the side on which this program seems to run.
    WslSide,
    /// The folder that replaces the distributions' files.
    WslRoot,
    WslTimeout,
}

/// Returns `None` if the variable is not set or empty, and in every build that ships.
#[cfg(debug_assertions)]
pub fn value(switch: TestSwitch) -> Option<String> {
    std::env::var(name(switch)).ok().filter(|value| !value.is_empty())
}

/// This build has no switches.
#[cfg(not(debug_assertions))]
pub fn value(_switch: TestSwitch) -> Option<String> {
    None
}

/// Returns all variables that are set, for a process that gets a clean environment.
#[cfg(debug_assertions)]
pub fn variables() -> Vec<(std::ffi::OsString, std::ffi::OsString)> {
    let is_ours = |name: &std::ffi::OsString| name.to_string_lossy().starts_with("TURNBRIDGE_");
    std::env::vars_os().filter(|(name, _)| is_ours(name)).collect()
}

/// This build has no switches.
#[cfg(not(debug_assertions))]
pub fn variables() -> [(&'static str, &'static str); 0] {
    []
}

/// Parses the value. Returns `None` also if it does not parse.
pub fn parsed<T: FromStr>(switch: TestSwitch) -> Option<T> {
    value(switch)?.parse().ok()
}

#[cfg(debug_assertions)]
const fn name(switch: TestSwitch) -> &'static str {
    match switch {
        TestSwitch::Now => "TURNBRIDGE_NOW",
        TestSwitch::KillAt => "TURNBRIDGE_TEST_KILL_AT",
        TestSwitch::ClockAheadFile => "TURNBRIDGE_CLOCK_AHEAD_FILE",
        TestSwitch::SlackApiUrl => "TURNBRIDGE_SLACK_API_URL",
        TestSwitch::SlackTimeScale => "TURNBRIDGE_SLACK_TIME_SCALE",
        TestSwitch::DoctorTimeout => "TURNBRIDGE_DOCTOR_TIMEOUT_MS",
        TestSwitch::ServiceManager => "TURNBRIDGE_SERVICE_MANAGER",
        TestSwitch::ServiceTimeout => "TURNBRIDGE_SERVICE_TIMEOUT_MS",
        TestSwitch::SystemHome => "TURNBRIDGE_SYSTEM_HOME",
        TestSwitch::SpeechMoment => "TURNBRIDGE_SPEECH_MOMENT_MS",
        TestSwitch::WslSide => "TURNBRIDGE_WSL_SIDE",
        TestSwitch::WslRoot => "TURNBRIDGE_WSL_ROOT",
        TestSwitch::WslTimeout => "TURNBRIDGE_WSL_TIMEOUT_MS",
    }
}
