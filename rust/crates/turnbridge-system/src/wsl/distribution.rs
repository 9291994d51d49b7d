//! Reaches the files of one distribution of WSL from Windows, and finds Turnbridge and Claude Code
//! in it. The distribution's environment is read once.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::Result;
use turnbridge_core::system::wsl::{DistributionName, WslEnvironment, below};
use turnbridge_store::files::bounded_file;
use turnbridge_store::foreign::foreign_file::ForeignFile;
use turnbridge_store::paths::StatePaths;

use super::Distributions;
use super::distributions::reason_in;
use crate::failure::hinted;
use crate::programs;

/// The first bytes of a Windows program.
const OF_WINDOWS: &[u8] = b"MZ";

#[derive(Debug)]
pub struct Distribution {
    pub name: DistributionName,
    pub environment: WslEnvironment,
    root: PathBuf,
    distributions: Distributions,
}

/// The name and the mode of a file for Linux.
#[derive(Debug)]
pub struct LinuxFile {
    path: String,
    /// The mode as `stat` prints it; `None` if there is no file yet.
    mode: Option<String>,
}

/// The Turnbridge of a distribution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstalledTurnbridge {
    pub folder: String,
    pub version: [u32; 3],
}

impl InstalledTurnbridge {
    pub fn path_of(&self, program: &str) -> String {
        format!("{}/{program}", self.folder)
    }
}

impl Distribution {
    /// Reads the environment of the distribution. Starts it if it does not run.
    pub fn open(distributions: &Distributions, name: DistributionName) -> Result<Distribution> {
        let answer = distributions.ask(&name, &["env"])?;
        let environment = WslEnvironment::parse(&String::from_utf8_lossy(&answer.stdout));
        let Some(environment) = environment.filter(|_| answer.status.success()) else {
            let error = format!("`{name}` does not say where its user's home is");
            let hint = format!("see what `wsl.exe -d {name} --exec env` prints");
            return Err(hinted(error + &reason_in(&answer), hint));
        };
        let root = distributions.root(&name)?;
        Ok(Distribution { name, environment, root, distributions: distributions.clone() })
    }

    /// Returns the path by which this system names a path of the distribution.
    pub fn path(&self, linux: &str) -> Result<PathBuf> {
        below(&self.root, linux).ok_or_else(|| {
            let error = format!("`{linux}` of `{}` cannot be reached from Windows", self.name);
            hinted(error, "run Turnbridge inside that distribution instead")
        })
    }

    /// Returns Codex's folder there, as this system names it, or `None` if no Codex has been run
    /// there.
    pub fn codex_home(&self) -> Result<Option<PathBuf>> {
        let home = self.path(&self.environment.codex_home())?;
        Ok(Some(home).filter(|home| home.is_dir()))
    }

    /// Returns a file behind its links. Windows cannot follow links to a path of Linux, and would
    /// put the new file in the place of the link.
    pub fn file(&self, state: &StatePaths, linux: &str) -> Result<(ForeignFile, LinuxFile)> {
        let path = match self.line_of(&["readlink", "-f", linux])? {
            Some(real) if real.starts_with('/') => real,
            _ => linux.to_owned(),
        };
        let mode = self.line_of(&["stat", "-c", "%a", &path])?;
        let mode = mode.filter(|mode| mode.bytes().all(|digit| (b'0'..=b'7').contains(&digit)));
        Ok((ForeignFile::new(state, &self.path(&path)?), LinuxFile { path, mode }))
    }

    /// Restores the mode that the file had, because all users can read a file that Windows writes
    /// there.
    pub fn give_mode_back(&self, file: &ForeignFile, linux: &LinuxFile) -> Result<()> {
        let mode = linux.mode.as_deref().unwrap_or("600");
        let backup = format!("{}.bak", linux.path);
        let mut argv = vec!["chmod", mode, &linux.path];
        if file.backup_path().exists() {
            argv.push(&backup);
        }
        let answer = self.distributions.ask(&self.name, &argv)?;
        if !answer.status.success() {
            (self.distributions.remark)(&format!(
                "`{}` could not be given its mode {mode} back",
                linux.path
            ));
        }
        Ok(())
    }

    /// Returns the state folder of the distribution's Turnbridge, which no other Turnbridge uses.
    pub fn state(&self) -> Result<StatePaths> {
        Ok(StatePaths::below(&self.path(&self.environment.state_dir())?))
    }

    /// Creates the state folder from inside, because all users can read a folder that Windows
    /// creates.
    pub fn make_state_folder(&self) -> Result<()> {
        let folder = self.environment.state_dir();
        let answer = self.distributions.ask(&self.name, &["mkdir", "-p", "-m", "700", &folder])?;
        if answer.status.success() {
            return Ok(());
        }
        let error = format!("could not make `{folder}` in `{}`", self.name);
        Err(hinted(error + &reason_in(&answer), "look at the owner and the mode of its parent"))
    }

    /// Returns the Turnbridge that is installed there, if it runs and prints its version.
    pub fn turnbridge(&self) -> Result<Option<InstalledTurnbridge>> {
        for folder in self.program_folders() {
            let installed = InstalledTurnbridge { folder, version: [0; 3] };
            // The programs to register, and the command line, which prints their version.
            let mut programs = programs::CALLED_BY_AGENTS.into_iter().chain(["turnbridge"]);
            if !programs.all(|program| self.is_for_linux(&installed.path_of(program))) {
                continue;
            }
            if let Some(version) = self.version_of(&installed.path_of("turnbridge"))? {
                return Ok(Some(InstalledTurnbridge { version, ..installed }));
            }
        }
        Ok(None)
    }

    /// Returns the installed Turnbridge, or an error if there is none.
    pub fn needed_turnbridge(&self) -> Result<InstalledTurnbridge> {
        self.turnbridge()?.ok_or_else(|| {
            let error = format!("there is no Turnbridge for Linux in `{}`", self.name);
            let hint = format!(
                "inside `{0}`, put the four programs of the Linux release into `~/.local/bin`, then run this again; \
                 a program of Windows cannot serve an agent of Linux",
                self.name
            );
            hinted(error, hint)
        })
    }

    /// Returns the version of the Claude Code there, or `None` if it prints none or is not found.
    pub fn claude_version(&self) -> Result<Option<[u32; 3]>> {
        for folder in self.program_folders() {
            let program = format!("{folder}/claude");
            if self.is_for_linux(&program) {
                return self.version_of(&program);
            }
        }
        Ok(None)
    }

    fn program_folders(&self) -> Vec<String> {
        let conf = fs::read(self.root.join("etc").join("wsl.conf")).unwrap_or_default();
        self.environment.program_folders(&String::from_utf8_lossy(&conf))
    }

    /// Returns whether the path exists and is no program of Windows. Only the distribution can
    /// resolve its links.
    fn is_for_linux(&self, linux: &str) -> bool {
        let Some(path) = below(&self.root, linux) else { return false };
        let Ok(metadata) = path.symlink_metadata() else { return false };
        !metadata.is_dir() && !begins_with(&path, OF_WINDOWS)
    }

    fn version_of(&self, linux: &str) -> Result<Option<[u32; 3]>> {
        let answer = self.distributions.ask(&self.name, &[linux, "--version"])?;
        Ok(answer.status.success().then(|| programs::version_in(&answer.text())).flatten())
    }

    /// Returns the one line that a program prints, or `None` if it fails or prints nothing.
    fn line_of(&self, argv: &[&str]) -> Result<Option<String>> {
        let answer = self.distributions.ask(&self.name, argv)?;
        let line = String::from_utf8_lossy(&answer.stdout).trim_end_matches('\n').to_owned();
        Ok(Some(line).filter(|line| answer.status.success() && !line.is_empty()))
    }
}

fn begins_with(path: &Path, start: &[u8]) -> bool {
    let mut bytes = Vec::new();
    let file = bounded_file::open(path);
    let read = file.and_then(|(file, _)| file.take(start.len() as u64).read_to_end(&mut bytes));
    read.is_ok() && bytes == start
}
