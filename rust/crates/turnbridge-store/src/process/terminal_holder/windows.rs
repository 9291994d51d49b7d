//! Windows has no job control: no key can suspend a console program, and it cannot be put into the
//! background.

use turnbridge_core::session::event::ProcessKey;

use super::Held;
use crate::process::{Liveness, liveness};

pub fn held_by(process: ProcessKey) -> Option<Held> {
    (liveness(process) == Liveness::Alive).then_some(Held { name: None })
}
