//! Reads the workspace's packages and their dependencies by `cargo metadata`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// The packages of the workspace and their dependencies.
pub struct CargoWorkspace {
    /// The repository's web address from the manifest of the shipped package.
    pub address: String,
    /// For each package of the workspace all packages that it links, without itself and without
    /// dev-dependencies.
    pub links: BTreeMap<String, BTreeSet<String>>,
    /// For each package of the workspace the names in its manifest, without dev-dependencies.
    pub names: BTreeMap<String, BTreeSet<String>>,
}

/// Returns the top of the repository.
pub fn repository() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Reads the workspace by `cargo metadata`.
pub fn load() -> Result<CargoWorkspace> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked"])
        .current_dir(repository().join("rust"))
        .output()
        .context("could not run `cargo metadata`")?;
    if !output.status.success() {
        bail!("`cargo metadata` failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let array = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let name_of: BTreeMap<String, String> = array(&metadata["packages"])
        .iter()
        .map(|package| (text(&package["id"]), text(&package["name"])))
        .collect();
    let edges: BTreeMap<String, Vec<String>> = array(&metadata["resolve"]["nodes"])
        .iter()
        .map(|node| {
            let is_normal = |dependency: &&Value| {
                array(&dependency["dep_kinds"]).iter().any(|kind| kind["kind"].is_null())
            };
            let dependencies = array(&node["deps"]);
            let targets =
                dependencies.iter().filter(is_normal).map(|dependency| text(&dependency["pkg"]));
            (text(&node["id"]), targets.collect())
        })
        .collect();
    let packages = array(&metadata["packages"]);
    let shipped = packages.iter().find(|package| package["name"] == "turnbridge");
    let address = shipped.map(|package| text(&package["repository"])).unwrap_or_default();
    let mut workspace = CargoWorkspace { address, links: BTreeMap::new(), names: BTreeMap::new() };
    for member in array(&metadata["workspace_members"]) {
        let id = text(&member);
        let names = edges[&id].iter().map(|target| name_of[target].clone()).collect();
        workspace.names.insert(name_of[&id].clone(), names);
        let mut links = BTreeSet::new();
        let mut todo = edges[&id].clone();
        while let Some(next) = todo.pop() {
            if links.insert(name_of[&next].clone()) {
                todo.extend(edges[&next].iter().cloned());
            }
        }
        workspace.links.insert(name_of[&id].clone(), links);
    }
    Ok(workspace)
}
