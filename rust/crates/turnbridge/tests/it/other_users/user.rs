//! Acts as another user of this machine: a uid without an account. The kernel identifies users by
//! uid alone, so that the test adds no account.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};
use std::thread;

use rustix::process::{Gid, Uid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

/// Another user with a home. A drop removes the home.
pub struct OtherUser {
    pub user: u32,
    home: PathBuf,
}

impl OtherUser {
    /// Creates the user and its home below `folder`. Returns `None`, and reports it, if this
    /// process is not root.
    pub fn make(folder: &Path) -> Option<OtherUser> {
        if !rustix::process::geteuid().is_root() {
            testkit::skipped("only root can become another user");
            return None;
        }
        let accounts = fs::read_to_string("/etc/passwd").unwrap_or_default();
        let has_account = |user: &u32| accounts.contains(&format!(":{user}:"));
        let first = 61_000 + std::process::id() % 3_000;
        let is_free = |user: &u32| !has_account(user) && processes_of(*user).is_empty();
        let user = (first..first + 1_000).find(is_free).expect("a number that nobody has");
        let home = folder.join("stranger");
        fs::create_dir(&home).unwrap();
        chown(&home, Some(user), Some(user)).unwrap();
        Some(OtherUser { user, home })
    }

    /// Runs `act` in a thread of this user, without any rights of root.
    pub fn act<T: Send>(&self, act: impl FnOnce(&OtherUser) -> T + Send) -> T {
        thread::scope(|scope| {
            let acting = scope.spawn(|| {
                let (user, group) = (Uid::from_raw(self.user), Gid::from_raw(self.user));
                set_thread_groups(&[]).unwrap();
                set_thread_res_gid(group, group, group).unwrap();
                set_thread_res_uid(user, user, user).unwrap();
                // Checks the thread's user.
                let own = self.own_file();
                fs::write(&own, "").unwrap();
                assert_eq!(fs::metadata(&own).unwrap().uid(), self.user);
                assert!(fs::read("/etc/shadow").is_err(), "it has kept a right of root");
                act(self)
            });
            acting.join().expect("the stranger's thread")
        })
    }

    /// Returns the path of a file of this user.
    pub fn own_file(&self) -> PathBuf {
        self.home.join("own")
    }

    /// Returns the user's files below `folder`, outside of the home.
    pub fn files_below(&self, folder: &Path) -> Vec<PathBuf> {
        let is_own = |path: &PathBuf| {
            fs::symlink_metadata(path).is_ok_and(|file| file.uid() == self.user)
                && !path.starts_with(&self.home)
        };
        all_below(folder).into_iter().filter(is_own).collect()
    }

    /// Removes the user's home, and asserts that the user has no other file below `folder` and no
    /// process.
    #[track_caller]
    pub fn leave(self, folder: &Path) {
        assert_eq!(self.files_below(folder), [""; 0].map(PathBuf::from));
        assert_eq!(processes_of(self.user), [0; 0]);
        let (user, home) = (self.user, self.home.clone());
        drop(self);
        assert!(!home.exists());
        assert!(all_below(folder).iter().all(|path| {
            fs::symlink_metadata(path).is_ok_and(|file| file.uid() != user && file.gid() != user)
        }));
    }
}

/// Also runs after a failed test.
impl Drop for OtherUser {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.home);
    }
}

/// Returns a folder and all paths below it.
pub fn all_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![folder.to_owned()];
    let mut at = 0;
    while let Some(path) = found.get(at).cloned() {
        at += 1;
        if fs::symlink_metadata(&path).is_ok_and(|file| file.is_dir()) {
            found.extend(
                fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()),
            );
        }
    }
    found
}

fn processes_of(user: u32) -> Vec<u32> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let own = processes.filter(|process| process.metadata().is_ok_and(|file| file.uid() == user));
    own.filter_map(|process| process.file_name().to_str()?.parse().ok()).collect()
}
