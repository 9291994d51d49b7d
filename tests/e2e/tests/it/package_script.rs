//! Tests `scripts/package-plugin`, which makes a complete tree from complete archives of one
//! version, or none, and two other scripts of the release: the commit of the branch `plugin`, and
//! the check for test switches.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::SystemTime;

use testkit::Hermetic;

use crate::support::agent_home::{repository, stdout_of};
use crate::support::packages::{self, NAMES, package_plugin};

const VERSION: &str = env!("CARGO_PKG_VERSION");

const TARGETS: [&str; 5] = [
    "x86_64-unknown-linux-musl",
    "aarch64-unknown-linux-musl",
    "x86_64-apple-darwin",
    "aarch64-apple-darwin",
    "x86_64-pc-windows-msvc",
];

struct Release {
    hermetic: Hermetic,
}

impl Release {
    /// Returns `None` if the packing programs are missing, which it has reported.
    fn new() -> Option<Release> {
        let has_all = packages::has(&["zip", "unzip", "xz", "shasum"]);
        has_all.then(|| Release { hermetic: Hermetic::new() })
    }

    fn out(&self) -> PathBuf {
        self.hermetic.root().join("the tree")
    }

    /// Packs an archive like dist: a folder in a .tar.xz, a flat .zip for Windows. The executables
    /// print their target.
    fn archive(&self, target: &str, version: &str) -> PathBuf {
        let name = format!("turnbridge-{target}");
        let parent = self.hermetic.root().join(format!("release {version}"));
        let folder = parent.join(&name);
        fs::create_dir_all(folder.join(".claude-plugin")).unwrap();
        let manifest = repository().join("packaging/archive/.claude-plugin/plugin.json");
        let manifest = fs::read_to_string(manifest).unwrap().replace(VERSION, version);
        fs::write(folder.join(".claude-plugin/plugin.json"), manifest).unwrap();
        let is_windows = target.contains("windows");
        for name in NAMES {
            let file = if is_windows { format!("{name}.exe") } else { name.to_owned() };
            fs::write(folder.join(file), format!("{name} {target} {version}")).unwrap();
        }
        let archive = parent.join(format!("{name}{}", if is_windows { ".zip" } else { ".tar.xz" }));
        let mut command = match is_windows {
            true => Command::new("zip"),
            false => Command::new("tar"),
        };
        match is_windows {
            true => command.arg("-qr").arg(&archive).arg(".").current_dir(&folder),
            false => command.arg("-cJf").arg(&archive).arg("-C").arg(&parent).arg(&name),
        };
        packages::run(&mut command);
        write_sum(&archive);
        archive
    }

    fn package(&self, options: &[&str], archives: &[PathBuf]) -> Output {
        package_plugin(&self.out()).args(options).args(archives).output().unwrap()
    }

    /// Checks a refusal, which changes no file.
    #[track_caller]
    fn refuses(&self, options: &[&str], archives: &[PathBuf], because: &str) {
        let before = self.listing();
        let output = self.package(options, archives);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{errors}");
        assert!(errors.contains("error: ") && errors.contains(because), "{errors}");
        assert!(errors.contains("hint: "), "{errors}");
        assert!(
            self.listing() == before,
            "{because}: it has left something: {:#?}",
            self.listing()
        );
    }

    /// Returns all files with their times.
    fn listing(&self) -> Vec<(PathBuf, SystemTime)> {
        let mut listing = Vec::new();
        let mut folders = vec![self.hermetic.root().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let metadata = path.symlink_metadata().unwrap();
                listing.push((path.clone(), metadata.modified().unwrap()));
                folders.extend(metadata.is_dir().then_some(path));
            }
        }
        listing.sort();
        listing
    }
}

fn sums_of(archive: &Path) -> PathBuf {
    PathBuf::from(format!("{}.sha256", archive.display()))
}

/// Writes the checksum like dist.
fn write_sum(archive: &Path) {
    let sum = packages::run(Command::new("shasum").args(["-a", "256", "-b"]).arg(archive));
    let sum = sum.split(' ').next().unwrap();
    let name = archive.file_name().unwrap().to_str().unwrap();
    fs::write(sums_of(archive), format!("{sum} *{name}\n")).unwrap();
}

#[test]
fn an_archive_without_its_checksum_is_refused() {
    let Some(release) = Release::new() else { return };
    let archive = release.archive(TARGETS[0], VERSION);
    let sums = sums_of(&archive);
    fs::remove_file(&sums).unwrap();
    release.refuses(&[], std::slice::from_ref(&archive), "has no checksum");
    fs::write(&sums, "").unwrap();
    release.refuses(&[], std::slice::from_ref(&archive), "is not what");
    fs::remove_file(&sums).unwrap();
    fs::create_dir(&sums).unwrap();
    release.refuses(&[], &[archive], "has no checksum");
}

#[test]
fn a_tree_holds_every_target_of_a_release_and_what_is_needed_around() {
    let Some(release) = Release::new() else { return };
    let mut archives: Vec<_> = TARGETS.map(|target| release.archive(target, VERSION)).into();
    for left_out in ["x86_64-unknown-linux-gnu", "aarch64-pc-windows-msvc"] {
        archives.push(release.archive(left_out, VERSION));
    }
    let told = stdout_of(&release.package(&["--require-all"], &archives));
    assert_eq!(told.matches("left out: ").count(), 2, "{told}");

    let tree = release.out();
    for target in TARGETS {
        for name in NAMES {
            let path = match target.contains("windows") {
                true => format!("bin/{name}.exe"),
                false => format!("bin/{target}/{name}"),
            };
            let path = tree.join(path);
            let text = fs::read_to_string(&path).unwrap_or_default();
            assert_eq!(text, format!("{name} {target} {VERSION}"), "{}", path.display());
            assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o755);
        }
    }
    let same_as = |name: &str, original: &str| {
        let original = fs::read_to_string(repository().join(original)).unwrap();
        assert_eq!(fs::read_to_string(tree.join(name)).unwrap(), original, "{name}");
    };
    for name in NAMES {
        same_as(&format!("bin/{name}"), "packaging/dispatch");
    }
    for name in [
        ".claude-plugin/plugin.json",
        ".codex-plugin/plugin.json",
        "hooks/hooks.json",
        "hooks/codex.json",
        "skills/speak/SKILL.md",
        "LICENSE-MIT",
    ] {
        same_as(name, name);
    }
    same_as(".claude-plugin/marketplace.json", "packaging/archive/.claude-plugin/marketplace.json");
}

#[test]
fn missing_targets_are_named_and_refused_when_all_are_required() {
    let Some(release) = Release::new() else { return };
    let archives: Vec<_> =
        TARGETS[..3].iter().map(|target| release.archive(target, VERSION)).collect();
    let missing = "no executables for aarch64-apple-darwin x86_64-pc-windows-msvc";
    release.refuses(&["--require-all"], &archives, missing);
    let output = release.package(&[], &archives);
    assert!(String::from_utf8_lossy(&output.stderr).contains(missing), "{output:?}");
    stdout_of(&output);
}

#[test]
fn archives_of_another_version_and_damaged_ones_leave_the_old_tree_as_it_was() {
    let Some(release) = Release::new() else { return };
    let good = release.archive(TARGETS[0], VERSION);
    stdout_of(&release.package(&[], std::slice::from_ref(&good)));
    let old = release.archive(TARGETS[1], "0.0.9");
    release.refuses(
        &[],
        &[good.clone(), old],
        &format!("is version 0.0.9, this checkout is {VERSION}"),
    );

    let incomplete = release.archive(TARGETS[2], VERSION);
    let folder = incomplete.with_file_name(format!("turnbridge-{}", TARGETS[2]));
    fs::remove_file(folder.join("turnbridge-notify")).unwrap();
    let mut tar = Command::new("tar");
    tar.arg("-cJf").arg(&incomplete).arg("-C").arg(folder.parent().unwrap());
    packages::run(tar.arg(folder.file_name().unwrap()));
    release.refuses(&[], std::slice::from_ref(&incomplete), "is not what");
    write_sum(&incomplete);
    release.refuses(&[], &[incomplete], "`turnbridge-notify` is missing for x86_64-apple-darwin");

    let cut = release.archive(TARGETS[3], VERSION);
    let bytes = fs::read(&cut).unwrap();
    fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
    write_sum(&cut);
    release.refuses(&[], &[cut], "could not unpack");
    release.refuses(&[], &[release.out().join("nothing")], "there is no");
}

#[test]
fn a_folder_that_is_something_else_is_never_replaced() {
    let Some(release) = Release::new() else { return };
    let archive = release.archive(TARGETS[0], VERSION);
    fs::create_dir(release.out()).unwrap();
    fs::write(release.out().join("thesis.txt"), "mine").unwrap();
    release.refuses(&[], &[archive], "is no tree of this script");
}

#[test]
fn it_says_how_it_is_used() {
    let mut command = Command::new(repository().join("scripts/package-plugin"));
    assert!(stdout_of(&command.arg("--help").output().unwrap()).starts_with("Usage: "));
    for arguments in [&[][..], &["--out"], &["--out", "x"], &["--from-bin"], &["--what"]] {
        let mut command = Command::new(repository().join("scripts/package-plugin"));
        assert_eq!(
            command.args(arguments).output().unwrap().status.code(),
            Some(2),
            "{arguments:?}"
        );
    }
}

/// The branch gets a commit for each version, and the source repository stays unchanged.
#[test]
fn a_tree_becomes_the_next_commit_of_the_branch_plugin() {
    let Some(release) = Release::new() else { return };
    let root = release.hermetic.root();
    let git = |arguments: &[&str]| {
        let mut command = release.hermetic.command("git");
        packages::run(command.args(arguments).current_dir(root.join("checkout")))
    };
    fs::create_dir(root.join("checkout")).unwrap();
    git(&["init", "-q", "--bare", "../served.git"]);
    git(&["init", "-q", "-b", "main"]);
    git(&["remote", "add", "origin", "../served.git"]);
    fs::write(root.join("checkout/.gitignore"), "/bin/\n").unwrap();
    let push = || {
        let mut command = release.hermetic.command(repository().join("scripts/push-plugin-branch"));
        for role in ["AUTHOR", "COMMITTER"] {
            command
                .env(format!("GIT_{role}_NAME"), "x")
                .env(format!("GIT_{role}_EMAIL"), "x@localhost");
        }
        packages::run(command.arg(release.out()).current_dir(root.join("checkout")))
    };
    stdout_of(&release.package(&[], &[release.archive(TARGETS[0], VERSION)]));
    assert!(push().starts_with(&format!("pushed version {VERSION} ")));
    assert_eq!(push(), format!("the branch `plugin` is version {VERSION} already\n"));
    stdout_of(&release.package(&[], &[release.archive(TARGETS[1], VERSION)]));
    push();
    let served = |arguments: &[&str]| {
        let mut command = release.hermetic.command("git");
        packages::run(command.args(arguments).current_dir(root.join("served.git")))
    };
    assert_eq!(
        served(&["log", "--format=%s", "plugin"]),
        format!("turnbridge {VERSION}\n").repeat(2)
    );
    let listing = served(&["ls-tree", "-r", "plugin", "--", "bin"]);
    assert_eq!(listing.lines().filter(|line| line.starts_with("100755 ")).count(), 8, "{listing}");
    assert!(listing.contains(TARGETS[1]) && !listing.contains(TARGETS[0]), "{listing}");
    assert_eq!(git(&["status", "--short"]), "?? .gitignore\n");
}

/// A missing or unreadable file fails, because it was not checked.
#[test]
fn an_executable_that_knows_a_switch_of_the_tests_or_is_missing_does_not_pass() {
    let hermetic = Hermetic::new();
    let check = |name: &str, text: Option<&str>| {
        let path = hermetic.root().join(name);
        if let Some(text) = text {
            fs::write(&path, text).unwrap();
        }
        let script = repository().join("scripts/check-no-switches");
        let output = Command::new(script).arg(path).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, said) = check("test-build", Some("\0\x7fELF TURNBRIDGE_NOW\0"));
    assert!(code == Some(1) && said.contains("which only test builds may know"), "{said}");
    let (code, said) = check("missing", None);
    assert!(code == Some(1) && said.contains("error: cannot read"), "{said}");
    assert_eq!(check("release-build", Some("\0TURNBRIDGE_REPLY_ID")), (Some(0), String::new()));
}
