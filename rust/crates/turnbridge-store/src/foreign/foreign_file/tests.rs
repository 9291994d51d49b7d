//! Tests that a change keeps a backup and a removal restores every byte, also if a process is
//! killed at any step, another program writes at the same moment, or the disk is full.

#![cfg_attr(
    windows,
    allow(
        clippy::missing_const_for_thread_local,
        reason = "they are const; clippy does not see it where a thread's values are the system's"
    )
)]
use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::process::Command;

use super::*;

/// Every step at which a process may be killed. After "swapped" the file is the new one.
const CHECKPOINTS: [&str; 9] = [
    "locked",
    "planned",
    "backed up",
    "remembered",
    "written",
    "compared",
    "swapped",
    "synced",
    "done",
];
const KILL_AT: &str = "TURNBRIDGE_TEST_KILL_AT";
const CHILD: &str = "TURNBRIDGE_TEST_FOREIGN_FILE";
const OURS: &str = "ours\n";

type Disturbance = Box<dyn FnMut(&str)>;

thread_local! {
    /// The action of another program while this one is at a checkpoint.
    static DISTURBANCE: RefCell<Option<Disturbance>> = const { RefCell::new(None) };
    /// Whether names cannot be exchanged, as on a share of another system.
    pub(super) static HAS_OLD_FILE_SYSTEM: Cell<bool> =
        const { Cell::new(cfg!(not(any(target_os = "linux", target_vendor = "apple")))) };
}

pub(super) fn checkpoint(name: &'static str) {
    if std::env::var_os(KILL_AT).is_some_and(|at| at == name) {
        crate::kill_point::die();
    }
    let disturbance = DISTURBANCE.with_borrow_mut(Option::take);
    if let Some(mut disturbance) = disturbance {
        disturbance(name);
        DISTURBANCE.set(Some(disturbance));
    }
}

/// A folder with a file of another program, and a folder for Turnbridge's state.
struct ForeignFileWorld {
    folder: tempfile::TempDir,
}

impl ForeignFileWorld {
    fn new() -> ForeignFileWorld {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("theirs")).unwrap();
        ForeignFileWorld { folder }
    }

    fn with(text: &str) -> ForeignFileWorld {
        let world = ForeignFileWorld::new();
        fs::write(world.path(), text).unwrap();
        world
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("theirs/settings.json")
    }

    fn file(&self) -> ForeignFile {
        file_at(&self.path(), &self.folder.path().join("state"))
    }

    fn text(&self) -> Option<String> {
        fs::read_to_string(self.path()).ok()
    }

    /// Returns the names in the other program's folder.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path().join("theirs")).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

fn file_at(path: &Path, state: &Path) -> ForeignFile {
    ForeignFile::new(&StatePaths::below(state), path)
}

fn without_ours(text: &str) -> String {
    text.replace(OURS, "")
}

fn apply(file: &ForeignFile) -> Result<FileChange, Failure<Infallible>> {
    file.apply(|current| {
        let text = current.text_or_empty();
        let after = if text.contains(OURS) { text.to_owned() } else { format!("{text}{OURS}") };
        Ok(AppliedText { text: after, without_us: without_ours(text) })
    })
}

fn remove(file: &ForeignFile) -> Result<FileChange, Failure<Infallible>> {
    file.remove(|current| Ok(without_ours(current.text_or_empty())))
}

#[test]
fn kt_10_a_change_leaves_one_backup_and_removing_gives_every_byte_back() {
    let world = ForeignFileWorld::with("theirs\r\n");
    assert_eq!(apply(&world.file()).unwrap(), FileChange::Written);
    assert_eq!(world.text().unwrap(), "theirs\r\nours\n");
    assert_eq!(world.names(), ["settings.json", "settings.json.bak"]);
    let before = OriginalFile { text: Some("theirs\r\n".to_owned()), is_untouched: true };
    let current = world.file().current::<Infallible>().unwrap();
    assert_eq!(current, Current { text: world.text(), before: Some(before) });
    assert_eq!(apply(&world.file()).unwrap(), FileChange::Unchanged);
    // The original file returns, not the plan's result.
    let removed = world.file().remove::<Infallible>(|_| unreachable!("nobody else has changed it"));
    assert_eq!(removed.unwrap(), FileChange::Written);
    assert_eq!(world.text().unwrap(), "theirs\r\n");
    assert_eq!(remove(&world.file()).unwrap(), FileChange::Unchanged);
    assert_eq!(world.file().current::<Infallible>().unwrap().before, None);
}

#[test]
fn kt_13_a_missing_file_is_made_and_goes_again() {
    let world = ForeignFileWorld::new();
    fs::remove_dir(world.folder.path().join("theirs")).unwrap();
    assert_eq!(apply(&world.file()).unwrap(), FileChange::Written);
    assert_eq!(world.text().unwrap(), OURS);
    assert_eq!(world.names(), ["settings.json"]);
    assert_eq!(remove(&world.file()).unwrap(), FileChange::Deleted);
    assert_eq!(world.names(), [""; 0]);
    assert_eq!(remove(&world.file()).unwrap(), FileChange::Unchanged);
}

#[test]
fn after_somebody_elses_change_only_ours_is_taken_out() {
    for was_there in [true, false] {
        let world = if was_there { ForeignFileWorld::with("a\n") } else { ForeignFileWorld::new() };
        apply(&world.file()).unwrap();
        let edited = world.text().unwrap() + "b\n";
        fs::write(world.path(), edited).unwrap();
        // A second apply does not take their change for Turnbridge's.
        apply(&world.file()).unwrap();
        assert_eq!(remove(&world.file()).unwrap(), FileChange::Written);
        assert_eq!(world.text().unwrap(), if was_there { "a\nb\n" } else { "b\n" });
    }
}

#[test]
fn an_update_after_somebody_elses_change_remembers_the_file_without_us() {
    let world = ForeignFileWorld::with("a\n");
    apply(&world.file()).unwrap();
    fs::write(world.path(), "a\nours\nb\n").unwrap();
    let update = world.file().apply::<Infallible>(|current| {
        let text = current.text_or_empty();
        assert_eq!(current.before_text(), Some("a\n"));
        Ok(AppliedText { text: text.replace(OURS, "newer\n"), without_us: without_ours(text) })
    });
    assert_eq!(update.unwrap(), FileChange::Written);
    assert_eq!(world.text().unwrap(), "a\nnewer\nb\n");
    assert_eq!(remove(&world.file()).unwrap(), FileChange::Written);
    assert_eq!(world.text().unwrap(), "a\nb\n");
}

/// KT-T7, X16.
#[test]
fn kt_6_kt_14_the_backup_is_the_first_one_and_can_be_put_back() {
    let world = ForeignFileWorld::with("first\n");
    let restored = world.file().restore::<Infallible>();
    assert!(matches!(restored, Err(Failure::NoBackup { .. })));
    apply(&world.file()).unwrap();
    fs::write(world.path(), "second\n").unwrap();
    apply(&world.file()).unwrap();
    assert_eq!(fs::read_to_string(world.file().backup_path()).unwrap(), "first\n");
    assert_eq!(world.file().restore::<Infallible>().unwrap(), FileChange::Written);
    assert_eq!(world.text().unwrap(), "first\n");
    assert_eq!(world.names(), ["settings.json", "settings.json.bak"]);
}

#[test]
fn kt_8_what_is_refused_or_needs_no_change_leaves_no_trace() {
    let world = ForeignFileWorld::with("theirs\n");
    let modified = || fs::metadata(world.path()).unwrap().modified().unwrap();
    let before = modified();
    let refused = world.file().apply(|_| Err::<AppliedText, _>("no"));
    assert_eq!(refused.unwrap_err().to_string(), "no");
    let same = world.file().apply::<Infallible>(|current| {
        let text = current.text_or_empty().to_owned();
        Ok(AppliedText { without_us: text.clone(), text })
    });
    assert_eq!(same.unwrap(), FileChange::Unchanged);
    assert_eq!((modified(), world.names()), (before, vec!["settings.json".to_owned()]));
    fs::write(world.path(), b"\xff").unwrap();
    assert!(matches!(apply(&world.file()), Err(Failure::NotUtf8 { .. })));
    fs::remove_file(world.path()).unwrap();
    fs::create_dir(world.path()).unwrap();
    assert!(matches!(apply(&world.file()), Err(Failure::File { doing: "read", .. })));
}

#[cfg(unix)]
#[test]
fn links_stay_links_and_what_they_lead_to_is_changed() {
    use std::os::unix::fs::symlink;
    for is_there in [true, false] {
        let world = ForeignFileWorld::new();
        let real = world.folder.path().join("dotfiles/claude/real.json");
        fs::create_dir_all(real.parent().unwrap()).unwrap();
        symlink("../dotfiles/link.json", world.path()).unwrap();
        symlink("claude/real.json", world.folder.path().join("dotfiles/link.json")).unwrap();
        if is_there {
            fs::write(&real, "theirs\n").unwrap();
        }
        apply(&world.file()).unwrap();
        assert!(
            world.path().is_symlink()
                && world.folder.path().join("dotfiles/link.json").is_symlink()
        );
        let expected = if is_there { "theirs\nours\n" } else { OURS };
        assert_eq!(fs::read_to_string(&real).unwrap(), expected);
        assert_eq!(fs::read_dir(real.parent().unwrap()).unwrap().count(), 1);
        remove(&world.file()).unwrap();
        assert_eq!(fs::read_to_string(&real).ok().as_deref(), is_there.then_some("theirs\n"));
    }
    let world = ForeignFileWorld::new();
    symlink("settings.json", world.path()).unwrap();
    assert!(matches!(apply(&world.file()), Err(Failure::File { doing: "follow", .. })));
}

#[cfg(unix)]
#[test]
fn mode_and_owner_stay_and_the_backup_has_them_too() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
    for mode in [0o600, 0o640, 0o644, 0o664] {
        let world = ForeignFileWorld::with("theirs\n");
        fs::set_permissions(world.path(), fs::Permissions::from_mode(mode)).unwrap();
        let is_root = rustix::process::getuid().is_root();
        let owner = if is_root { (4321, 8765) } else { owner(&world.path()) };
        if is_root {
            chown(world.path(), Some(owner.0), Some(owner.1)).unwrap();
        }
        apply(&world.file()).unwrap();
        for path in [world.path(), world.file().backup_path()] {
            let metadata = fs::metadata(&path).unwrap();
            assert_eq!(metadata.mode() & 0o7777, mode, "{}", path.display());
            assert_eq!((metadata.uid(), metadata.gid()), owner, "{}", path.display());
        }
    }
    fn owner(path: &Path) -> (u32, u32) {
        let metadata = fs::metadata(path).unwrap();
        (metadata.uid(), metadata.gid())
    }
}

#[cfg(unix)]
#[test]
fn a_file_with_several_names_is_not_parted_from_them() {
    let world = ForeignFileWorld::with("theirs\n");
    fs::hard_link(world.path(), world.folder.path().join("other")).unwrap();
    assert!(matches!(apply(&world.file()), Err(Failure::HasOtherNames { .. })));
    assert_eq!(world.names(), ["settings.json"]);
}

/// Processes take turns: no change is lost to another one of Turnbridge's.
#[test]
fn several_of_us_at_once_lose_nothing() {
    let world = ForeignFileWorld::with("");
    let threads: Vec<_> = (0..6)
        .map(|number| {
            let file = world.file();
            std::thread::spawn(move || {
                let line = format!("line {number}\n");
                file.apply::<Infallible>(|current| {
                    let text = current.text_or_empty().to_owned();
                    Ok(AppliedText { text: text.clone() + &line, without_us: text })
                })
                .unwrap()
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| assert_eq!(thread.join().unwrap(), FileChange::Written));
    assert_eq!(world.text().unwrap().lines().count(), 6);
}

/// Claude saves its settings while Turnbridge is at any step of it: in place, or by a rename.
#[test]
fn what_somebody_else_writes_at_the_same_moment_is_not_lost() {
    for step in &CHECKPOINTS[..8] {
        for renames in [false, true] {
            for old in [Some("old\n"), None] {
                check_disturbed_at(step, renames, old);
            }
        }
    }
}

/// On such a system, a change between the last check and the rename cannot be seen.
#[test]
fn on_an_old_file_system_it_is_lost_in_the_very_last_moment_only() {
    HAS_OLD_FILE_SYSTEM.set(true);
    for step in CHECKPOINTS[..8].iter().filter(|step| **step != "compared") {
        for renames in [false, true] {
            for old in [Some("old\n"), None] {
                check_disturbed_at(step, renames, old);
            }
        }
    }
    let world = ForeignFileWorld::with("theirs\n");
    apply(&world.file()).unwrap();
    assert_eq!(world.names(), ["settings.json", "settings.json.bak"]);
    remove(&world.file()).unwrap();
    assert_eq!(world.text().unwrap(), "theirs\n");
}

#[track_caller]
fn check_disturbed_at(step: &'static str, renames: bool, old: Option<&str>) {
    if HAS_OLD_FILE_SYSTEM.get() && step == "compared" {
        return;
    }
    let world = old.map_or_else(ForeignFileWorld::new, ForeignFileWorld::with);
    let path = world.path();
    let mut is_done = false;
    let disturbance = move |at: &str| {
        if at != step || std::mem::replace(&mut is_done, true) {
            return;
        }
        let saved = if renames { path.with_extension("theirs") } else { path.clone() };
        fs::write(&saved, "their new one\n").unwrap();
        if renames {
            fs::rename(&saved, &path).unwrap();
        }
    };
    DISTURBANCE.set(Some(Box::new(disturbance)));
    let change = apply(&world.file());
    DISTURBANCE.set(None);
    let place = format!("{step}, renames {renames}, from {old:?}");
    assert_eq!(change.unwrap(), FileChange::Written, "{place}");
    // A change after the last check belongs to the other program alone, which has the last word.
    let expected = if step == "synced" { "their new one\n" } else { "their new one\nours\n" };
    assert_eq!(world.text().unwrap(), expected, "{place}");
    apply(&world.file()).unwrap();
    remove(&world.file()).unwrap();
    assert_eq!(world.text().unwrap(), "their new one\n", "{place}");
}

#[cfg(any(target_os = "linux", target_vendor = "apple"))]
#[test]
fn somebody_who_never_stops_writing_is_left_in_peace() {
    let world = ForeignFileWorld::with("0\n");
    let (path, mut count) = (world.path(), 0);
    DISTURBANCE.set(Some(Box::new(move |at| {
        if at == "compared" {
            count += 1;
            fs::write(&path, format!("{count}\n")).unwrap();
        }
    })));
    let change = apply(&world.file());
    DISTURBANCE.set(None);
    assert!(matches!(change, Err(Failure::NoPeace { .. })));
    assert_eq!(world.text().unwrap(), "8\n");
    assert_eq!(world.names(), ["settings.json", "settings.json.bak"]);
}

/// This is no test: the other tests start it to be killed, or to act as another program.
#[test]
fn child() {
    let Some(folder) = std::env::var_os(CHILD).map(PathBuf::from) else { return };
    let file = file_at(&folder.join("theirs/settings.json"), &folder.join("state"));
    let change = match std::env::var("TURNBRIDGE_TEST_ACTION").as_deref() {
        Ok("remove") => remove(&file),
        _ => apply(&file),
    };
    std::process::exit(match change {
        Ok(_) => 0,
        Err(Failure::File { error, .. }) if error.kind() == io::ErrorKind::PermissionDenied => 13,
        Err(_) => 1,
    });
}

fn child_in(folder: &Path, action: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([
        "--exact",
        "foreign::foreign_file::tests::child",
        "--nocapture",
        "--test-threads=1",
    ]);
    command.env(CHILD, folder).env("TURNBRIDGE_TEST_ACTION", action);
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    command
}

/// KT-10.
#[test]
fn whoever_is_killed_at_whatever_step_leaves_the_old_file_or_the_new_one() {
    for step in CHECKPOINTS {
        for (old, action) in
            [(Some("a\n"), "apply"), (None, "apply"), (Some("a\n"), "remove"), (None, "remove")]
        {
            // A removal makes no backup and writes no record, but passes the same steps.
            let world = old.map_or_else(ForeignFileWorld::new, ForeignFileWorld::with);
            let new = old.unwrap_or_default().to_owned() + OURS;
            let (mut from, mut to) = (old.map(str::to_owned), Some(new.clone()));
            if action == "remove" {
                apply(&world.file()).unwrap();
                std::mem::swap(&mut from, &mut to);
            }
            let status = child_in(world.folder.path(), action).env(KILL_AT, step).status().unwrap();
            let place = format!("{action} killed at {step:?}, from {from:?}");
            assert!(
                !status.success() && status.code().is_none_or(|code| code != 1),
                "{place}: {status}"
            );
            let is_new = CHECKPOINTS.iter().position(|at| *at == step) >= Some(6);
            assert_eq!(world.text(), if is_new { to } else { from }, "{place}");
            apply(&world.file()).unwrap();
            assert_eq!(world.text().as_deref(), Some(new.as_str()), "{place}");
            remove(&world.file()).unwrap();
            assert_eq!(world.text().as_deref(), old, "{place}");
            let left: Vec<_> = world.names();
            assert!(left.iter().all(|name| !name.starts_with('.')), "{place}: {left:?}");
        }
    }
}

#[cfg(unix)]
#[expect(clippy::print_stderr, reason = "a test that is skipped has to say so")]
fn skipped(why: &str) {
    eprintln!("skipped: {why}");
}

/// KT-12. Root may do everything, so it starts a process as another user.
#[cfg(unix)]
#[test]
fn a_folder_or_a_file_that_may_not_be_written_is_left_alone() {
    use std::os::unix::fs::{PermissionsExt, chown};
    use std::os::unix::process::CommandExt;
    const NOBODY: u32 = 65534;
    let is_root = rustix::process::getuid().is_root();
    for (folder_mode, file_mode, expected) in
        [(0o755, 0o644, 0), (0o555, 0o644, 13), (0o755, 0o444, 13)]
    {
        let world = ForeignFileWorld::with("theirs\n");
        let set = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        let theirs = world.folder.path().join("theirs");
        let mut child = child_in(world.folder.path(), "apply");
        if is_root {
            for path in [world.folder.path(), &theirs, &world.path()] {
                chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
            }
            child.uid(NOBODY).gid(NOBODY);
        }
        set(&world.path(), file_mode);
        set(&theirs, folder_mode);
        let status = child.status();
        set(&theirs, 0o755);
        let Ok(status) = status else {
            return skipped("another user may not run this test's executable");
        };
        assert_eq!(status.code(), Some(expected));
        if expected != 0 {
            assert_eq!(world.text().unwrap(), "theirs\n");
            assert_eq!(world.names(), ["settings.json"]);
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_leaves_the_old_file_and_the_next_time_it_works() {
    struct Mounted(PathBuf);
    impl Drop for Mounted {
        fn drop(&mut self) {
            let _ = Command::new("umount").arg("-l").arg(&self.0).status();
        }
    }
    fn mount(options: &str, folder: &Path) -> bool {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(folder);
        mount.stderr(std::process::Stdio::null());
        mount.status().is_ok_and(|status| status.success())
    }
    let world = ForeignFileWorld::new();
    let folder = world.folder.path().join("theirs");
    if !mount("size=64k", &folder) {
        return skipped("only root can mount a small disk");
    }
    let _mounted = Mounted(folder.clone());
    // One page is free: neither the backup nor the new file fits.
    let text = "x".repeat(60 << 10) + "\n";
    fs::write(world.path(), &text).unwrap();
    let Err(Failure::File { error, .. }) = apply(&world.file()) else {
        panic!("there was room for it");
    };
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    assert_eq!(world.text().as_ref(), Some(&text));
    assert_eq!(world.names(), ["settings.json"]);
    assert!(mount("remount,size=1m", &folder));
    apply(&world.file()).unwrap();
    assert_eq!(world.text().unwrap(), text.clone() + OURS);
    remove(&world.file()).unwrap();
    assert_eq!(world.text().unwrap(), text);
}
