//! The system whose files a command changes: this one, or a distribution.

use anyhow::Result;
use turnbridge_core::system::wsl::Environment;
use turnbridge_store::foreign::foreign_file::{Change, ForeignFile};
use turnbridge_store::paths::StatePaths;

use super::distribution::LinuxFile;
use super::{Distribution, Distributions};
use crate::failure::Remark;

#[derive(Debug)]
pub enum Target {
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
    pub fn settle(&self, change: Change) -> Result<()> {
        match &self.shared_with {
            Some((distribution, linux)) if change == Change::Written => {
                distribution.give_mode_back(&self.file, linux)
            }
            _ => Ok(()),
        }
    }
}

impl Target {
    /// Returns the distribution of that name. Starts it if it does not run.
    pub fn named(distribution: &str, remark: Remark) -> Result<Target> {
        let distributions = Distributions::find(remark)?;
        let name = distributions.named(distribution)?;
        Ok(Target::Wsl(Box::new(Distribution::open(&distributions, name)?)))
    }

    /// Returns a file of the target. `here` is the file on this system, `there` its path in a
    /// distribution.
    pub fn file(
        &self,
        state: &StatePaths,
        here: impl FnOnce() -> Result<ForeignFile>,
        there: impl FnOnce(&Environment) -> String,
    ) -> Result<TargetFile<'_>> {
        match self {
            Target::Here => Ok(TargetFile { file: here()?, shared_with: None }),
            Target::Wsl(distribution) => {
                let (file, linux) = distribution.file(state, &there(&distribution.environment))?;
                Ok(TargetFile { file, shared_with: Some((&**distribution, linux)) })
            }
        }
    }

    /// Returns the option that selects the same target again.
    pub fn option(&self) -> String {
        match self {
            Target::Here => String::new(),
            // A name may contain blanks.
            Target::Wsl(distribution) => format!(" --wsl \"{}\"", distribution.name),
        }
    }
}
