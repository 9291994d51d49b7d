//! The four executables: there, running, and of one version.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::finding::{Area, Finding, told};
use super::in_time::Pending;
use super::scene::{OWN_VERSION, Scene, beside_this, version_of_ours};
use crate::programs::CALLED_BY_AGENTS;

const PATIENCE: Duration = Duration::from_secs(8);
const FIX: &str = "run `scripts/build`, or unpack a release over this folder";

struct Facts {
    folder: PathBuf,
    /// Those beside this one.
    others: Vec<(&'static str, Standing)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Standing {
    Missing,
    Broken,
    Version(String),
}

pub fn check(_scene: &Scene) -> Vec<Finding> {
    let deadline = Instant::now() + PATIENCE;
    let asked = CALLED_BY_AGENTS.map(|name| (name, Pending::start(move || look(name))));
    let others =
        asked.map(|(name, pending)| (name, pending.until(deadline).unwrap_or(Standing::Broken)));
    let folder = beside_this("turnbridge").parent().map(PathBuf::from).unwrap_or_default();
    findings(&Facts { folder, others: others.to_vec() })
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
        let found = findings(&Facts { folder: "/bin".into(), others });
        let ids: Vec<_> = found.iter().map(|finding| finding.id).collect();
        assert_eq!(ids, ["executable-missing", "executable-broken", "executable-version"]);
        let others = CALLED_BY_AGENTS.map(|name| (name, Standing::Version(OWN_VERSION.to_owned())));
        let found = findings(&Facts { folder: "/bin".into(), others: others.to_vec() });
        assert_eq!(found[0].what, format!("{OWN_VERSION}, all four in `/bin`"));
    }
}
