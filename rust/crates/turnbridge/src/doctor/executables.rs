//! Checks the four executables: present, working, of one version, and not older than the state
//! files.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use turnbridge_store::state::newer_files;
use turnbridge_system::programs::{CALLED_BY_AGENTS, version_of_ours};

use super::finding::{Area, Finding, counted, told};
use super::in_time::Pending;
use super::scene::{OWN_VERSION, Scene, beside_this};

const PATIENCE: Duration = Duration::from_secs(8);
const FIX: &str = "run `scripts/build`, or unpack a release over this folder";

struct Facts {
    folder: PathBuf,
    /// The other executables in this one's folder.
    others: Vec<(&'static str, Standing)>,
    /// State files that a newer version has written.
    newer_files: Vec<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Standing {
    Missing,
    Broken,
    Version(String),
}

pub fn check(scene: &Scene) -> Vec<Finding> {
    let deadline = Instant::now() + PATIENCE;
    let asked = CALLED_BY_AGENTS.map(|name| (name, Pending::start(move || look(name))));
    let others =
        asked.map(|(name, pending)| (name, pending.until(deadline).unwrap_or(Standing::Broken)));
    let folder = beside_this("turnbridge").parent().map(PathBuf::from).unwrap_or_default();
    let newer_files = scene.state().map(newer_files::find).unwrap_or_default();
    findings(&Facts { folder, others: others.to_vec(), newer_files })
}

fn look(name: &str) -> Standing {
    let path = beside_this(name);
    match path.exists() {
        false => Standing::Missing,
        true => version_of_ours(&path).map_or(Standing::Broken, Standing::Version),
    }
}

fn findings(facts: &Facts) -> Vec<Finding> {
    let folder = facts.folder.display();
    let mut findings = Vec::new();
    for (name, standing) in &facts.others {
        let why = match *name {
            "turnbridge-notify" => "without it notices wait until a daemon runs",
            _ => "without it the agents' hooks fail, and nothing is seen of them",
        };
        findings.extend(match standing {
            Standing::Missing => Some(Finding::error(
                Area::Executables,
                "executable-missing",
                told(format!("`{name}` is missing in `{folder}`"), why, FIX),
            )),
            Standing::Broken => Some(Finding::error(
                Area::Executables,
                "executable-broken",
                told(format!("`{name}` in `{folder}` does not run"), why, FIX),
            )),
            Standing::Version(version) if version != OWN_VERSION => Some(Finding::warning(
                Area::Executables,
                "executable-version",
                told(
                    format!("`{name}` in `{folder}` is {version}, this is {OWN_VERSION}"),
                    "they read and write the same files, each in its own way",
                    FIX,
                ),
            )),
            Standing::Version(_) => None,
        });
    }
    if let Some(first) = facts.newer_files.first() {
        let count = counted(facts.newer_files.len(), "file", "files");
        let what = format!("a newer version has written {count}: `{}` first", first.display());
        let why = "these executables leave them alone: such a session, notice or reply waits for the \
                   newer ones";
        let fix = "upgrade what is in this folder, and start agents and the daemon again";
        findings.push(Finding::warning(Area::Executables, "state-newer", told(what, why, fix)));
    }
    if findings.is_empty() {
        let what = format!("{OWN_VERSION}, all four in `{folder}`");
        findings.push(Finding::ok(Area::Executables, "executables", what));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_that_does_not_fit_is_named() {
        let others = vec![
            (CALLED_BY_AGENTS[0], Standing::Missing),
            (CALLED_BY_AGENTS[1], Standing::Broken),
            (CALLED_BY_AGENTS[2], Standing::Version("9.9.9".to_owned())),
        ];
        let newer_files = vec![PathBuf::from("/state/panes.json")];
        let found = findings(&Facts { folder: "/bin".into(), others, newer_files });
        let ids: Vec<_> = found.iter().map(|finding| finding.id).collect();
        let expected =
            ["executable-missing", "executable-broken", "executable-version", "state-newer"];
        assert_eq!(ids, expected);
        let others = CALLED_BY_AGENTS.map(|name| (name, Standing::Version(OWN_VERSION.to_owned())));
        let others = others.to_vec();
        let found = findings(&Facts { folder: "/bin".into(), others, newer_files: Vec::new() });
        assert_eq!(found[0].what, format!("{OWN_VERSION}, all four in `/bin`"));
    }
}
