//! Returns a terminal for every live process on Windows, which has no job control: no key can
//! suspend a console program, and it cannot be put into the background.

use turnbridge_core::session::event::ProcessKey;

use super::HeldTerminal;
use crate::process::{Liveness, liveness};

pub fn held_by(process: ProcessKey) -> Option<HeldTerminal> {
    (liveness(process) == Liveness::Alive).then_some(HeldTerminal { name: None })
}
