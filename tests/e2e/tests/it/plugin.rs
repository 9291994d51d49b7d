//! The repository as a plugin, in the eyes of the real claude.

use crate::gates;
use crate::world::{World, repository};

#[test]
fn claude_finds_nothing_wrong_with_the_plugin() {
    let Some(claude) = gates::fast() else { return };
    let world = World::new(claude, vec![]);
    let mut command = world.hermetic.command(world.claude.program());
    let output =
        command.args(["plugin", "validate"]).arg(repository()).output().expect("run claude");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("Validation passed"), "{text}");
}
