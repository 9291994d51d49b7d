//! Handles WSL from both sides: from Windows, the distributions and their users' files; from inside
//! one, the parts that it shares with Windows.
//!
//! All of it is compiled on every system. Tests on any system put a fake `wsl.exe` on the PATH, and
//! set by switches the side on which the program seems to run, and the folder that replaces the
//! files of the distributions, or of the one around it.

mod distribution;
mod distributions;
mod inside;
mod survey;
mod target;

use std::path::PathBuf;

use turnbridge_core::system::wsl::merged_wslenv;
use turnbridge_store::test_switch::{self, TestSwitch};

pub use distribution::Distribution;
pub use distributions::Distributions;
pub use inside::InsideWsl;
pub use survey::{DistributionReport, DistributionState, Survey, is_one_of};
pub use target::{TargetFile, WslTarget};

/// The side on which this program runs.
#[derive(Debug)]
pub enum Side {
    Windows,
    Inside(InsideWsl),
    /// Neither Windows nor WSL.
    Elsewhere,
}

pub fn side() -> Side {
    match test_switch::value(TestSwitch::WslSide).as_deref() {
        Some("windows") => Side::Windows,
        Some("inside") => {
            Side::Inside(InsideWsl::read_system(&root_for_tests().unwrap_or("/".into())))
        }
        Some("elsewhere") => Side::Elsewhere,
        _ if cfg!(windows) => Side::Windows,
        _ => InsideWsl::recognise().map_or(Side::Elsewhere, Side::Inside),
    }
}

/// Returns the folders of Windows programs that the PATH may lack; empty outside of WSL.
pub fn windows_program_folders() -> Vec<PathBuf> {
    match side() {
        Side::Inside(inside) => vec![inside.powershell_folder()],
        _ => Vec::new(),
    }
}

/// Returns the merged `WSLENV` variable (KT-31).
pub fn wslenv() -> String {
    format!("WSLENV={}", merged_wslenv(&std::env::var("WSLENV").unwrap_or_default()))
}

fn root_for_tests() -> Option<PathBuf> {
    test_switch::value(TestSwitch::WslRoot).map(PathBuf::from).filter(|root| root.is_absolute())
}
