//! Finds the user's home according to the system. On Linux the environment does not matter.
//! Elsewhere a home in the environment takes precedence over the system's.

use std::path::PathBuf;

use crate::test_switch::{self, TestSwitch};

pub fn system_home() -> Option<PathBuf> {
    let home = test_switch::value(TestSwitch::SystemHome).map(PathBuf::from);
    home.or_else(known_home).filter(|home| home.is_absolute())
}

/// Reads `/etc/passwd` by hand: the hooks are static, and glibc's lookup needs its shared
/// libraries. Returns `None` if the user is in another directory, such as LDAP.
#[cfg(target_os = "linux")]
fn known_home() -> Option<PathBuf> {
    let users = std::fs::read_to_string("/etc/passwd").ok()?;
    home_in(&users, rustix::process::getuid().as_raw())
}

#[cfg(target_os = "linux")]
fn home_in(users: &str, user: u32) -> Option<PathBuf> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':').skip(2);
        let is_user = fields.next()?.parse() == Ok(user);
        is_user.then(|| fields.nth(2).map(PathBuf::from))?
    })
}

/// Returns the standard library's home: that of the environment, or the system's if no variable is
/// set.
#[cfg(not(target_os = "linux"))]
fn known_home() -> Option<PathBuf> {
    std::env::home_dir()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_home_is_that_of_the_user_with_this_number() {
        let users =
            "root:x:0:0:root:/root:/bin/bash\nbroken\nuser:x:1000:1000:,,,:/home/user:/bin/sh\n";
        assert_eq!(home_in(users, 1000), Some(PathBuf::from("/home/user")));
        assert_eq!(home_in(users, 0), Some(PathBuf::from("/root")));
        assert_eq!(home_in(users, 7), None);
    }
}
