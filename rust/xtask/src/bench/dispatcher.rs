//! Measures the cost that the dispatcher script of the marketplace's tree adds to a hook: on a
//! current Linux; on a Linux before 6.1, whose kernel has no file with the machine's name; and
//! where the script must start `uname`.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::spawn::{Candidate, Measured, measure};
use super::{payload, table};
use crate::metadata::repository;

const GOAL_MILLISECONDS: f64 = 2.0;
const ARCH_FILE: &str = "/proc/sys/kernel/arch";
const LOADER: &str = "/lib64/ld-linux-x86-64.so.2";

/// Runs the bench and returns its table.
pub fn run(runs: usize) -> Result<String> {
    let folder = tempfile::tempdir()?;
    let tree = package(folder.path())?;
    let direct = repository().join("bin/turnbridge-status").canonicalize();
    let direct = direct.context("could not find `bin/turnbridge-status`; run `scripts/build`")?;
    let dispatched = tree.join("bin/turnbridge-status");
    let [old_kernel, with_uname] =
        ["old-kernel", "with-uname"].map(|name| tree.join("bin").join(name));
    pretend_there_is_no(&[ARCH_FILE], &dispatched, &old_kernel)?;
    pretend_there_is_no(&[ARCH_FILE, LOADER], &dispatched, &with_uname)?;

    let small = payload("PreToolUse", "x", 300).into_bytes();
    let hook = |name: &'static str, program: &Path| {
        let candidate = Candidate::new(name, program, &["--origin", "plugin"], small.clone());
        candidate.env("HOME", folder.path()).env("PATH", "/usr/bin:/bin")
    };
    let candidates = [
        Candidate::new("true", Path::new("/bin/true"), &[], small.clone()),
        hook("status", &direct),
        hook("dispatched", &dispatched),
        hook("old kernel", &old_kernel),
        hook("with uname", &with_uname),
    ];
    Ok(report(&measure(&candidates, runs)?, runs))
}

fn package(folder: &Path) -> Result<PathBuf> {
    let tree = folder.join("tree");
    let script = repository().join("scripts/package-plugin");
    let output = Command::new(script).arg("--out").arg(&tree).arg("--from-bin").output()?;
    if !output.status.success() {
        bail!(
            "`scripts/package-plugin` failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(tree)
}

/// Writes a copy of the dispatcher that finds none of these files, and that starts
/// `turnbridge-status` whatever its own name.
fn pretend_there_is_no(files: &[&str], dispatcher: &Path, to: &Path) -> Result<()> {
    let script = fs::read_to_string(dispatcher)?.replace("${0##*/}", "turnbridge-status");
    let script = files.iter().fold(script, |script, file| script.replace(file, "/nowhere"));
    fs::copy(dispatcher, to)?;
    Ok(fs::write(to, script)?)
}

fn report(measured: &[Measured], runs: usize) -> String {
    let mut text = table(measured, runs);
    let [true_, direct, others @ ..] = measured else { return text };
    for other in others {
        let added = |of: fn(&Measured) -> f64| (of(other) - of(direct)) / 1000.0;
        let (min, quartile) = (added(|one| one.min), added(|one| one.quartile));
        let verdict = if quartile <= GOAL_MILLISECONDS { "reached" } else { "MISSED" };
        let _ = writeln!(
            text,
            "{:<12} adds {min:.2} ms by min, {quartile:.2} ms by quartile ({:.2} x the hook itself, {:.2} x true); \
             goal {GOAL_MILLISECONDS} ms: {verdict}",
            other.name,
            other.quartile / direct.quartile,
            other.quartile / true_.quartile,
        );
    }
    text
}
