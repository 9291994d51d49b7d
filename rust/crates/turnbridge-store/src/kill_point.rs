//! The places at which a test may kill the process, to check the files that such a kill leaves.

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
