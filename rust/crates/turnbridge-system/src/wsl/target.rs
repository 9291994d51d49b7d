//! Defines the system whose files a command changes: this one, or a distribution of WSL.

use anyhow::Result;
use turnbridge_core::system::wsl::WslEnvironment;
use turnbridge_store::foreign::foreign_file::{FileChange, ForeignFile};
use turnbridge_store::paths::StatePaths;

use super::distribution::LinuxFile;
use super::{Distribution, Distributions};
use crate::failure::Remark;

#[derive(Debug)]
pub enum WslTarget {
    Here,
    Wsl(Box<Distribution>),
}

/// A file of another program on a target.
#[derive(Debug)]
pub struct TargetFile<'a> {
    pub file: ForeignFile,
    shared_with: Option<(&'a Distribution, LinuxFile)>,
}

impl TargetFile<'_> {
    /// Restores the file's mode after a change, if the file is in a distribution.
    pub fn settle(&self, change: FileChange) -> Result<()> {
        match &self.shared_with {
            Some((distribution, linux)) if change == FileChange::Written => {
                distribution.give_mode_back(&self.file, linux)
            }
            _ => Ok(()),
        }
    }
}

impl WslTarget {
    /// Returns the distribution of that name. Starts it if it does not run.
    pub fn named(distribution: &str, remark: Remark) -> Result<WslTarget> {
        let distributions = Distributions::find(remark)?;
        let name = distributions.named(distribution)?;
        Ok(WslTarget::Wsl(Box::new(Distribution::open(&distributions, name)?)))
    }

    /// Returns a file of the target. `here` is the file on this system, `there` its path in a
    /// distribution.
    pub fn file(
        &self,
        state: &StatePaths,
        here: impl FnOnce() -> Result<ForeignFile>,
        there: impl FnOnce(&WslEnvironment) -> String,
    ) -> Result<TargetFile<'_>> {
        match self {
            WslTarget::Here => Ok(TargetFile { file: here()?, shared_with: None }),
            WslTarget::Wsl(distribution) => {
                let (file, linux) = distribution.file(state, &there(&distribution.environment))?;
                Ok(TargetFile { file, shared_with: Some((&**distribution, linux)) })
            }
        }
    }

    /// Returns the option that selects the same target again.
    pub fn option(&self) -> String {
        match self {
            WslTarget::Here => String::new(),
            // A name may contain blanks.
            WslTarget::Wsl(distribution) => format!(" --wsl \"{}\"", distribution.name),
        }
    }
}
