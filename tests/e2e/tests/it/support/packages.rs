//! Builds the packages that are shipped: the marketplace's tree, and an unpacked release archive.
//! Both are made of the executables in `bin/`; `TURNBRIDGE_TEST_ARCHIVE` names an archive of
//! cargo-dist to test instead.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use testkit::Hermetic;

use crate::support::agent_home::{executable, repository, stdout_of};

/// The names of the executables.
pub const NAMES: [&str; 4] =
    ["turnbridge", "turnbridge-notify", "turnbridge-status", "turnbridge-stop-gate"];

const ARCHIVE_VARIABLE: &str = "TURNBRIDGE_TEST_ARCHIVE";

/// A folder name that breaks careless shell scripts.
pub const AWKWARD: &str = "it's a $HOME \"of\" plugins";

/// Creates the tree of the branch `plugin` with the executables of this machine only.
#[track_caller]
pub fn tree(folder: &Path) -> PathBuf {
    let tree = folder.join(AWKWARD);
    let mut command = package_plugin(&tree);
    run(command.arg("--from-bin"));
    tree
}

/// Creates such a tree with the executables of another machine only.
#[track_caller]
pub fn tree_of_another_machine(folder: &Path) -> PathBuf {
    let tree = tree(folder);
    let own = executables_in(&tree);
    fs::rename(&own, own.with_file_name("riscv64-unknown-linux-musl")).expect("rename a folder");
    tree
}

/// Returns the folder of the executables in a tree of one target.
#[track_caller]
pub fn executables_in(tree: &Path) -> PathBuf {
    let entries = fs::read_dir(tree.join("bin")).expect("read `bin/`");
    let folders = entries.map(|entry| entry.expect("an entry").path()).filter(|path| path.is_dir());
    match folders.collect::<Vec<_>>().as_slice() {
        [one] => one.clone(),
        others => panic!("not one target: {others:?}"),
    }
}

/// Returns a call of `scripts/package-plugin` that writes to `tree`.
pub fn package_plugin(tree: &Path) -> Command {
    let mut command = Command::new(repository().join("scripts/package-plugin"));
    command.arg("--out").arg(tree);
    command
}

/// Returns an unpacked release archive.
#[track_caller]
pub fn archive(folder: &Path) -> PathBuf {
    let unpacked = folder.join(AWKWARD);
    fs::create_dir(&unpacked).expect("make a folder");
    if let Some(archive) = std::env::var_os(ARCHIVE_VARIABLE) {
        let mut tar = Command::new("tar");
        run(tar.arg("-xJf").arg(archive).arg("--strip-components=1").arg("-C").arg(&unpacked));
        return unpacked;
    }
    for name in NAMES {
        fs::copy(executable(name), unpacked.join(name)).expect("copy an executable");
    }
    let manifests = repository().join("packaging/archive/.");
    for part in [manifests, repository().join("skills")] {
        run(Command::new("cp").arg("-R").arg(part).arg(&unpacked));
    }
    unpacked
}

/// Replaces GitHub by git's own settings in this home: the project's address leads to a repository
/// with the marketplace on its main branch and a release on the other.
#[track_caller]
pub fn serve_as_github(hermetic: &Hermetic) {
    let root = hermetic.root().join("github");
    let (main, served) = (root.join("main"), root.join("served.git"));
    fs::create_dir_all(&main).expect("make a folder");
    let git = |folder: &Path, arguments: &[&str]| {
        let mut command = hermetic.command("git");
        let identity = ["-c", "user.name=x", "-c", "user.email=x@localhost"];
        run(command.args(identity).args(arguments).current_dir(folder));
    };
    git(&root, &["init", "-q", "--bare", "-b", "main", "served.git"]);
    run(Command::new("cp").arg("-R").arg(repository().join(".claude-plugin")).arg(&main));
    for (folder, branch) in [(main, "main"), (tree(&root), "plugin")] {
        git(&folder, &["init", "-q", "-b", branch]);
        git(&folder, &["add", "-A"]);
        git(&folder, &["commit", "-q", "-m", "x"]);
        git(&folder, &["push", "-q", served.to_str().expect("UTF-8"), branch]);
        fs::remove_dir_all(folder).expect("remove what has been pushed");
    }
    let key = format!("url.file://{}.insteadOf", served.display());
    let address = env!("CARGO_PKG_REPOSITORY");
    let by_ssh = address.replace("https://github.com/", "git@github.com:");
    for address in [address, &by_ssh] {
        for ending in [".git", ""] {
            git(&root, &["config", "--global", "--add", &key, &format!("{address}{ending}")]);
        }
    }
}

/// Returns whether these programs exist. If not, it has reported that the test is skipped.
pub fn has(programs: &[&str]) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there =
        |program: &&&str| std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    let missing: Vec<_> = programs.iter().filter(|program| !is_there(program)).collect();
    if !missing.is_empty() {
        let test = std::thread::current().name().unwrap_or("a test").to_owned();
        testkit::skipped(&format!("{test}: these are not installed: {missing:?}"));
    }
    missing.is_empty()
}

/// Runs a command, which must succeed, and returns its output.
#[track_caller]
pub fn run(command: &mut Command) -> String {
    stdout_of(&command.output().unwrap_or_else(|error| panic!("run {command:?}: {error}")))
}
