//! Kills this process at a named place if a test's switch names it, so that the test can check the
//! files that a crash leaves. Builds that ship have no such switch.

use crate::test_switch::{self, TestSwitch};

/// Kills this process if the test switch names the place. Builds that ship have no switches.
pub fn kill_point(place: &str) {
    if test_switch::value(TestSwitch::KillAt).is_some_and(|at| at == place) {
        die();
    }
}

/// Ends this process immediately, as SIGKILL does.
#[cfg(unix)]
pub(crate) fn die() {
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
}

#[cfg(not(unix))]
pub(crate) fn die() {
    std::process::abort();
}
