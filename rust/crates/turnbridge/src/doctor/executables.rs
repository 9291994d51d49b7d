//! Checks that the four executables are present, work, have one version, and are not older than the
//! state files.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use turnbridge_store::state::newer_files;
use turnbridge_system::programs::{CALLED_BY_AGENTS, version_of_ours};

use super::check_context::{CheckContext, OWN_VERSION, beside_this};
use super::deadline::BackgroundWork;
use super::finding::{Area, Finding, counted, problem_text};

const TIMEOUT: Duration = Duration::from_secs(8);
const FIX: &str = "run `scripts/build`, or unpack a release over this folder";

struct ExecutableFacts {
    folder: PathBuf,
    /// The other executables in this one's folder.
    others: Vec<(&'static str, ExecutableStatus)>,
    /// State files that a newer version has written.
    newer_files: Vec<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum ExecutableStatus {
    Missing,
    Broken,
    Version(String),
}

pub fn check(context: &CheckContext) -> Vec<Finding> {
    let deadline = Instant::now() + TIMEOUT;
    let asked =
        CALLED_BY_AGENTS.map(|name| (name, BackgroundWork::start(move || check_executable(name))));
    let others = asked
        .map(|(name, pending)| (name, pending.until(deadline).unwrap_or(ExecutableStatus::Broken)));
    let folder = beside_this("turnbridge").parent().map(PathBuf::from).unwrap_or_default();
    let newer_files = context.state().map(newer_files::find).unwrap_or_default();
    findings(&ExecutableFacts { folder, others: others.to_vec(), newer_files })
}

fn check_executable(name: &str) -> ExecutableStatus {
    let path = beside_this(name);
    match path.exists() {
        false => ExecutableStatus::Missing,
        true => version_of_ours(&path).map_or(ExecutableStatus::Broken, ExecutableStatus::Version),
    }
}

fn findings(facts: &ExecutableFacts) -> Vec<Finding> {
    let folder = facts.folder.display();
    let mut findings = Vec::new();
    for (name, standing) in &facts.others {
        let why = match *name {
            "turnbridge-notify" => "without it notices wait until a daemon runs",
            _ => "without it the agents' hooks fail, and nothing is seen of them",
        };
        findings.extend(match standing {
            ExecutableStatus::Missing => Some(Finding::error(
                Area::Executables,
                "executable-missing",
                problem_text(format!("`{name}` is missing in `{folder}`"), why, FIX),
            )),
            ExecutableStatus::Broken => Some(Finding::error(
                Area::Executables,
                "executable-broken",
                problem_text(format!("`{name}` in `{folder}` does not run"), why, FIX),
            )),
            ExecutableStatus::Version(version) if version != OWN_VERSION => Some(Finding::warning(
                Area::Executables,
                "executable-version",
                problem_text(
                    format!("`{name}` in `{folder}` is {version}, this is {OWN_VERSION}"),
                    "they read and write the same files, each in its own way",
                    FIX,
                ),
            )),
            ExecutableStatus::Version(_) => None,
        });
    }
    if let Some(first) = facts.newer_files.first() {
        let count = counted(facts.newer_files.len(), "file", "files");
        let what = format!("a newer version has written {count}: `{}` first", first.display());
        let why = "these executables leave them alone: such a session, notice or reply waits for the \
                   newer ones";
        let fix = "upgrade what is in this folder, and start agents and the daemon again";
        findings.push(Finding::warning(
            Area::Executables,
            "state-newer",
            problem_text(what, why, fix),
        ));
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
            (CALLED_BY_AGENTS[0], ExecutableStatus::Missing),
            (CALLED_BY_AGENTS[1], ExecutableStatus::Broken),
            (CALLED_BY_AGENTS[2], ExecutableStatus::Version("9.9.9".to_owned())),
        ];
        let newer_files = vec![PathBuf::from("/state/panes.json")];
        let found = findings(&ExecutableFacts { folder: "/bin".into(), others, newer_files });
        let ids: Vec<_> = found.iter().map(|finding| finding.id).collect();
        let expected =
            ["executable-missing", "executable-broken", "executable-version", "state-newer"];
        assert_eq!(ids, expected);
        let others =
            CALLED_BY_AGENTS.map(|name| (name, ExecutableStatus::Version(OWN_VERSION.to_owned())));
        let others = others.to_vec();
        let found =
            findings(&ExecutableFacts { folder: "/bin".into(), others, newer_files: Vec::new() });
        assert_eq!(found[0].what, format!("{OWN_VERSION}, all four in `/bin`"));
    }
}
