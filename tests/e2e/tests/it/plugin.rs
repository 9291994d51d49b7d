//! Tests that the real claude finds no error in the plugin's manifests.

use crate::support::gates;
use crate::support::packages;
use crate::support::world::{ApiWorld, repository};

/// Validates each manifest alone: with a folder, claude would validate only the marketplace (TV-5).
#[test]
fn claude_finds_nothing_wrong_with_the_plugin_in_any_of_its_layouts() {
    let Some(claude) = gates::fast() else { return };
    let world = ApiWorld::new(claude, vec![]);
    let [tree, archive] = ["tree", "archive"].map(|name| world.hermetic.root().join(name));
    for folder in [&tree, &archive] {
        std::fs::create_dir(folder).expect("make a folder");
    }
    let layouts = [repository(), packages::tree(&tree), packages::archive(&archive)];
    for manifest in layouts.iter().flat_map(|root| {
        ["plugin.json", "marketplace.json"].map(|name| root.join(".claude-plugin").join(name))
    }) {
        let mut command = world.hermetic.command(world.claude.program());
        let command = command.args(["plugin", "validate", "--strict"]).arg(&manifest);
        let output = command.output().expect("run claude");
        let text = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {text}{errors}", manifest.display());
        assert!(text.contains("Validation passed"), "{text}");
    }
}
