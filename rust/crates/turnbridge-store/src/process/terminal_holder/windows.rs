//! Windows has no job control: a console program can neither be suspended by a key nor be put into
//! the background.

use turnbridge_core::session::event::ProcessKey;

use super::Held;
use crate::process::{Liveness, liveness};

pub fn held_by(process: ProcessKey) -> Option<Held> {
    (liveness(process) == Liveness::Alive).then_some(Held { name: None })
}
