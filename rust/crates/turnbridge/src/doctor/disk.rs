//! Checks the state folder: a home exists, the folder is writable, the disk has space, and other
//! users can neither read nor change it. It also reports old temporary files and large logs.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use turnbridge_store::state::folder_trust::{Untrusted, all_untrusted};

use super::check_context::CheckContext;
use super::finding::{Area, Finding, Repair, counted, problem_text};
use super::state_files::{self, StateFiles};

const LITTLE: u64 = 100_000_000;
const NOTHING: u64 = 10_000_000;
/// The limit of the logs' size. Rotation keeps each at about a megabyte, plus one old one.
const LARGE_LOGS: u64 = 50_000_000;

struct DiskFacts {
    folder: PathBuf,
    /// The error of a test write.
    obstacle: Option<String>,
    /// The free space, or `None` if the system does not return it.
    free: Option<u64>,
    files: StateFiles,
    untrusted: Vec<Untrusted>,
}

pub fn check(context: &CheckContext) -> Vec<Finding> {
    let Some(paths) = &context.paths else { return vec![no_home()] };
    let folder = paths.state_dir();
    let untrusted = all_untrusted(paths);
    let mut files = state_files::find_state_files(paths);
    // A path that others can write to is not listed again as readable.
    files.exposed.retain(|path| untrusted.iter().all(|untrusted| untrusted.path != *path));
    findings(&DiskFacts {
        obstacle: try_writing(&folder).err().map(|error| error.to_string()),
        free: existing(&folder).and_then(|folder| fs4::available_space(folder).ok()),
        files,
        untrusted,
        folder,
    })
}

fn no_home() -> Finding {
    let variable = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
    let why = "hooks record nothing, and nothing is found again";
    let wording =
        problem_text("could not find your home folder", why, format!("set {variable} to it"));
    Finding::error(Area::Disk, "no-home", wording)
}

/// Tests a write, because permissions do not show a full or read-only disk or another owner. It
/// creates no folder: it tests the nearest existing one.
fn try_writing(folder: &Path) -> io::Result<()> {
    let folder = existing(folder).ok_or(ErrorKind::NotFound)?;
    if !folder.is_dir() {
        return Err(io::Error::new(
            ErrorKind::NotADirectory,
            "there is something that is no folder",
        ));
    }
    let probe = folder.join(format!(".turnbridge-doctor.{}.tmp", std::process::id()));
    let written = fs::write(&probe, b"x");
    let _ = fs::remove_file(&probe);
    written
}

fn existing(folder: &Path) -> Option<&Path> {
    folder.ancestors().find(|folder| folder.symlink_metadata().is_ok())
}

fn findings(facts: &DiskFacts) -> Vec<Finding> {
    let folder = facts.folder.display();
    let mut findings = Vec::new();
    if let Some(obstacle) = &facts.obstacle {
        let what = format!("`{folder}` cannot be written to: {obstacle}");
        let why = "no session is recorded, and no notice is kept";
        let wording = problem_text(
            what,
            why,
            "look at its owner, its mode and its disk; it should be a folder of yours, 0700",
        );
        findings.push(Finding::error(Area::Disk, "state-unwritable", wording));
    }
    findings.extend(facts.untrusted.iter().map(untrusted));
    findings.extend(room(facts.free));
    let StateFiles { exposed, stale, log_bytes } = &facts.files;
    if !exposed.is_empty() {
        let count = counted(exposed.len(), "file or folder", "files and folders");
        let what =
            format!("others can read {count} in `{folder}`: `{}` first", exposed[0].display());
        let why = "prompts and answers are kept there";
        let wording =
            problem_text(what, why, "run `turnbridge doctor --fix`: folders 0700, files 0600");
        let finding = Finding::warning(Area::Disk, "state-exposed", wording);
        findings.push(finding.repaired_by(Repair::MakePrivate(exposed.clone())));
    }
    if !stale.is_empty() {
        let what = counted(
            stale.len(),
            "temporary file was left behind",
            "temporary files were left behind",
        );
        let why = "a killed process left them; they only take space";
        let wording = problem_text(what, why, "run `turnbridge doctor --fix`: they are removed");
        let finding = Finding::note(Area::Disk, "stale-files", wording);
        findings.push(finding.repaired_by(Repair::Remove(stale.clone())));
    }
    if *log_bytes > LARGE_LOGS {
        let what = format!("the logs take {} MB", log_bytes / 1_000_000);
        let why = "they should be rotated at one megabyte each";
        let wording =
            problem_text(what, why, "look at the folder of the logs, and remove what is large");
        findings.push(Finding::note(Area::Disk, "logs-large", wording));
    }
    if findings.is_empty() {
        let free = facts.free.map(|free| format!(", {} MB free", free / 1_000_000));
        let what =
            format!("`{folder}` is private and can be written to{}", free.unwrap_or_default());
        findings.push(Finding::ok(Area::Disk, "disk", what));
    }
    findings
}

fn untrusted(untrusted: &Untrusted) -> Finding {
    let why = "others could have put there what would be acted on: no session is recorded, nothing is sent, and no \
               reply is run";
    let wording = problem_text(untrusted.to_string(), why, untrusted.hint());
    let finding = Finding::error(Area::Disk, "state-untrusted", wording);
    match untrusted.is_ours_to_mend() {
        true => finding.repaired_by(Repair::MakePrivate(vec![untrusted.path.clone()])),
        false => finding,
    }
}

fn room(free: Option<u64>) -> Option<Finding> {
    let free = free.filter(|free| *free < LITTLE)?;
    let what = format!("{} MB are free where the state lies", free / 1_000_000);
    let why = "when the disk is full, sessions and notices are lost";
    let wording = problem_text(what, why, "make room on that disk");
    Some(match free < NOTHING {
        true => Finding::error(Area::Disk, "disk-full", wording),
        false => Finding::warning(Area::Disk, "disk-low", wording),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_told_by_how_little_there_is() {
        let id = |free| room(free).map(|finding| finding.id);
        assert_eq!(id(None), None);
        assert_eq!(id(Some(LITTLE)), None);
        assert_eq!(id(Some(LITTLE - 1)), Some("disk-low"));
        assert_eq!(id(Some(NOTHING - 1)), Some("disk-full"));
    }

    #[test]
    fn what_is_left_behind_and_what_has_grown_are_notes() {
        let files = StateFiles {
            exposed: vec![],
            stale: vec!["/s/.a.tmp".into()],
            log_bytes: LARGE_LOGS + 1,
        };
        let facts =
            DiskFacts { folder: "/s".into(), obstacle: None, free: None, files, untrusted: vec![] };
        let ids: Vec<_> = findings(&facts).iter().map(|finding| finding.id).collect();
        assert_eq!(ids, ["stale-files", "logs-large"]);
    }
}
