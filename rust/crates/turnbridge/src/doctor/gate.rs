//! Reports the Stop gate's effect in this folder in one line; `turnbridge gate explain` shows the
//! details.

use turnbridge_system::gate::gate_explanation::Explanation;

use super::check_context::CheckContext;
use super::finding::{Area, Finding, problem_text};

pub fn check(_scene: &CheckContext) -> Vec<Finding> {
    vec![match std::env::current_dir() {
        Ok(folder) => Finding::ok(Area::Gate, "gate", Explanation::of(&folder).summary()),
        Err(error) => Finding::note(
            Area::Gate,
            "folder-gone",
            problem_text(
                format!("this folder cannot be looked at: {error}"),
                "what the gate and the sandbox do depends on the folder",
                "change to a folder that exists",
            ),
        ),
    }]
}
