//! Defines `--wsl DISTRO`, the option that applies a Windows command to a distribution's files.

use anyhow::Result;
use clap::Args;
use turnbridge_system::wsl::WslTarget;

use crate::failure::note;

#[derive(Debug, Clone, Default, Args)]
pub struct PlaceArgs {
    /// From Windows: that of this distribution of WSL, which is started if it does not run
    #[arg(long = "wsl", value_name = "DISTRO")]
    distribution: Option<String>,
}

impl PlaceArgs {
    pub fn target(&self) -> Result<WslTarget> {
        self.distribution
            .as_deref()
            .map_or(Ok(WslTarget::Here), |name| WslTarget::named(name, note))
    }
}
