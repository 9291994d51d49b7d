//! Checks the daemon and its service. One cause makes one finding: if an installed service has
//! stopped, the missing daemon has no finding of its own.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use turnbridge_core::ids::ChannelName;
use turnbridge_core::system::daemon_wire::{BoardStatus, DaemonStatus, ListenerStatus};
use turnbridge_system::daemon_control;

use super::check_context::{CheckContext, OWN_VERSION};
use super::finding::{Area, Finding, Repair, problem_text};
use super::service;

/// The timeout for a connection that is being opened.
const TIMEOUT: Duration = Duration::from_secs(4);
const PAUSE: Duration = Duration::from_millis(50);

struct DaemonFacts {
    is_running: bool,
    /// A signal has stopped its process.
    is_suspended: bool,
    status: Option<DaemonStatus>,
    wants_replies: bool,
    /// `features.service_enabled`.
    wants_service: bool,
    /// The service, or `None` without one. `Err` if its manager could not be queried.
    service: Result<Option<ServiceFacts>, String>,
}

/// An installed service.
struct ServiceFacts {
    definition: PathBuf,
    /// It equals the one that this Turnbridge would install.
    is_current: bool,
    is_running: bool,
    note: Option<String>,
}

pub fn check(context: &CheckContext) -> Vec<Finding> {
    let Some(paths) = &context.paths else { return Vec::new() };
    let is_running = daemon_control::is_running(paths);
    let deadline = Instant::now() + TIMEOUT;
    let mut status = daemon_control::read_status(paths);
    let is_suspended = is_running && status.as_ref().is_some_and(daemon_control::is_suspended);
    while is_running && !is_suspended && is_on_its_way(status.as_ref()) && Instant::now() < deadline
    {
        std::thread::sleep(PAUSE);
        status = daemon_control::read_status(paths);
    }
    findings(&DaemonFacts {
        is_running,
        is_suspended,
        status,
        wants_replies: context.wants_replies(),
        wants_service: context.config().features.service_enabled,
        service: look_at_service(),
    })
}

fn look_at_service() -> Result<Option<ServiceFacts>, String> {
    let state = service::state().map_err(|error| format!("{error:#}"))?;
    Ok(state.filter(|state| state.is_installed).map(|state| ServiceFacts {
        definition: state.definition,
        is_current: state.is_current,
        is_running: state.is_running,
        note: state.note,
    }))
}

fn is_on_its_way(status: Option<&DaemonStatus>) -> bool {
    status.is_none_or(|status| {
        status.listener(&ChannelName::SLACK) == Some(&ListenerStatus::Connecting)
            && !has_too_many(status)
    })
}

fn findings(facts: &DaemonFacts) -> Vec<Finding> {
    let mut findings = of_daemon(facts);
    findings.extend(of_service(facts));
    findings
}

fn installed(facts: &DaemonFacts) -> Option<&ServiceFacts> {
    facts.service.as_ref().ok()?.as_ref()
}

/// Returns the restart that fits the way the daemon is run.
fn restart(facts: &DaemonFacts) -> (Repair, &'static str) {
    match installed(facts) {
        Some(_) => (Repair::RestartService, "run `turnbridge service restart`"),
        None => (Repair::RestartDaemon, "run `turnbridge daemon stop`, then `turnbridge daemon`"),
    }
}

fn of_daemon(facts: &DaemonFacts) -> Vec<Finding> {
    let status = match (facts.is_running, &facts.status) {
        (false, _) => return not_running(facts),
        (true, None) => {
            let what = "a daemon runs, but says nothing of itself (`daemon.json`)";
            let why = "whether it receives replies is not known";
            let (repair, fix) = restart(facts);
            let finding =
                Finding::warning(Area::Daemon, "daemon-mute", problem_text(what, why, fix));
            return vec![finding.repaired_by(repair)];
        }
        (true, Some(status)) if facts.is_suspended => return vec![suspended(facts, status)],
        (true, Some(status)) => status,
    };
    let mut findings = Vec::new();
    if status.program_version != OWN_VERSION {
        let what = format!("the daemon is {}, this is {OWN_VERSION}", status.program_version);
        let why = "an update takes effect when the daemon is started anew";
        let (repair, fix) = restart(facts);
        let finding =
            Finding::warning(Area::Daemon, "daemon-version", problem_text(what, why, fix));
        findings.push(finding.repaired_by(repair));
    }
    findings.extend(deaf(facts, status));
    findings.extend(not_asked(facts, status));
    if findings.is_empty() {
        let what = format!("runs (pid {}) {}", status.pid, what_it_does(status));
        findings.push(Finding::ok(Area::Daemon, "daemon", what.trim_end()));
    }
    findings
}

/// Describes a working daemon. A wrong config file and a board that is not served have their own
/// findings.
fn what_it_does(status: &DaemonStatus) -> String {
    let is_served = !matches!(status.board, Some(BoardStatus::NotServed { .. }));
    let does = match status.listener(&ChannelName::SLACK) {
        Some(ListenerStatus::Connected { .. }) => "and hears replies".to_owned(),
        Some(ListenerStatus::Off { reason }) if is_served => {
            format!("and serves the board, without Slack ({reason})")
        }
        Some(ListenerStatus::Off { reason }) => {
            format!("without a board and without Slack ({reason})")
        }
        _ => String::new(),
    };
    match &status.config_problem {
        Some(problem) if problem.is_older_in_force => format!("{does}, with the config of before"),
        _ => does,
    }
}

/// Reports a suspended daemon, whose last status is stale.
fn suspended(facts: &DaemonFacts, status: &DaemonStatus) -> Finding {
    let what = format!("the daemon (pid {}) was suspended by a signal", status.pid);
    let why = "it does nothing: replies do not arrive, notices wait, the board does not answer";
    let (repair, _) = restart(facts);
    let wording = problem_text(what, why, daemon_control::how_to_let_go_on(status));
    Finding::error(Area::Daemon, "daemon-suspended", wording).repaired_by(repair)
}

fn not_running(facts: &DaemonFacts) -> Vec<Finding> {
    if !facts.wants_replies {
        let what = "none runs; the board and replies need one (`turnbridge daemon`)";
        return vec![Finding::ok(Area::Daemon, "daemon", what)];
    }
    if installed(facts).is_some_and(|service| !service.is_running) {
        // The service has its own finding.
        return Vec::new();
    }
    let (repair, fix) = match installed(facts) {
        Some(_) => restart(facts),
        None => (Repair::StartDaemon, "run `turnbridge daemon`"),
    };
    let wording = problem_text("none runs", "replies in Slack do not arrive", fix);
    vec![Finding::error(Area::Daemon, "daemon-off", wording).repaired_by(repair)]
}

/// Returns why the daemon receives no replies although the config enables them.
fn deaf(facts: &DaemonFacts, status: &DaemonStatus) -> Option<Finding> {
    let why = "replies in Slack do not arrive";
    match status.listener(&ChannelName::SLACK)? {
        _ if !facts.wants_replies => None,
        ListenerStatus::Connected { .. } => None,
        // Slack's check reports this, and the daemon polls for replies instead.
        ListenerStatus::Connecting if has_too_many(status) => None,
        ListenerStatus::Connecting => {
            let fix = "`turnbridge logs daemon` says what is in the way";
            let wording = problem_text("the daemon is not connected to Slack", why, fix);
            Some(Finding::warning(Area::Daemon, "daemon-connecting", wording))
        }
        ListenerStatus::Refused { error, hint, is_local } => {
            let fix = hint.as_deref().unwrap_or("`turnbridge logs daemon` says more");
            if *is_local {
                let what = format!("the daemon cannot listen to Slack: {error}");
                let why = "replies in Slack do not arrive; it is tried again every 30 seconds";
                let wording = problem_text(what, why, fix);
                return Some(Finding::error(Area::Daemon, "daemon-obstructed", wording));
            }
            let what = format!("Slack has refused the daemon: {error}");
            let why = "replies in Slack do not arrive; it is tried again every five minutes";
            Some(Finding::error(Area::Daemon, "daemon-refused", problem_text(what, why, fix)))
        }
        ListenerStatus::Off { reason } => {
            let what = format!("the daemon does not listen to Slack: {reason}");
            let (repair, fix) = restart(facts);
            let finding =
                Finding::warning(Area::Daemon, "daemon-deaf", problem_text(what, why, fix));
            Some(finding.repaired_by(repair))
        }
    }
}

fn has_too_many(status: &DaemonStatus) -> bool {
    status.replies(&ChannelName::SLACK).is_some_and(|replies| replies.too_many_listeners)
}

/// Returns why missed replies cannot be polled.
fn not_asked(facts: &DaemonFacts, status: &DaemonStatus) -> Option<Finding> {
    let replies = status.replies(&ChannelName::SLACK).filter(|_| facts.wants_replies)?;
    let what = format!("replies cannot be asked for: {}", replies.problem.as_ref()?);
    let why = "a reply that reached no listener here runs only when that works again; it is tried for ever";
    let fix = replies.hint.as_deref().unwrap_or("`turnbridge logs daemon` says more");
    Some(Finding::warning(Area::Daemon, "replies-not-asked", problem_text(what, why, fix)))
}

fn of_service(facts: &DaemonFacts) -> Vec<Finding> {
    let why = "the daemon does not come back after a restart of the machine";
    let service = match &facts.service {
        Err(error) => {
            let fix = "run `turnbridge service status`";
            return vec![Finding::warning(
                Area::Service,
                "service-unknown",
                problem_text(error, "whether the daemon is kept running is not known", fix),
            )];
        }
        Ok(service) => service.as_ref(),
    };
    let Some(service) = service else {
        if !facts.wants_service {
            return Vec::new();
        }
        let what = "`features.service_enabled` is on, but no service is installed";
        let wording = problem_text(what, why, "run `turnbridge service install`");
        return vec![Finding::warning(Area::Service, "service-missing", wording)];
    };
    let definition = service.definition.display();
    if !service.is_running && !facts.is_running {
        let wording = problem_text(
            format!("the service is installed (`{definition}`), but does not run"),
            "no daemon runs: replies do not arrive, and Codex is not followed",
            "run `turnbridge service restart`",
        );
        let finding = Finding::error(Area::Service, "service-stopped", wording);
        return vec![finding.repaired_by(Repair::RestartService)];
    }
    if !service.is_current {
        let what = format!("`{definition}` is not what this Turnbridge would install");
        let why = "it may run another executable, or without the PATH that the agents need";
        let wording = problem_text(what, why, "run `turnbridge service install`");
        return vec![Finding::warning(Area::Service, "service-outdated", wording)];
    }
    let note = service.note.as_ref().map(|note| format!("; {note}")).unwrap_or_default();
    vec![Finding::ok(Area::Service, "service", format!("installed (`{definition}`){note}"))]
}

#[cfg(test)]
mod tests {
    use turnbridge_core::system::daemon_wire::ChannelStatus;

    use super::*;

    fn status(listener: ListenerStatus) -> Option<DaemonStatus> {
        let slack = ChannelStatus { listener, replies: None };
        Some(DaemonStatus {
            version: 1,
            pid: 7,
            program_version: OWN_VERSION.to_owned(),
            started_at: String::new(),
            channels: [(ChannelName::SLACK, slack)].into(),
            config_problem: None,
            board: None,
        })
    }

    fn healthy() -> DaemonFacts {
        let slack = ListenerStatus::Connected { since: String::new(), num_connections: 1 };
        DaemonFacts {
            is_running: true,
            is_suspended: false,
            status: status(slack),
            wants_replies: true,
            wants_service: false,
            service: Ok(None),
        }
    }

    fn service() -> ServiceFacts {
        ServiceFacts { definition: "/unit".into(), is_current: true, is_running: true, note: None }
    }

    #[track_caller]
    fn check(facts: DaemonFacts, expected: &[&str]) -> Vec<Finding> {
        let found = findings(&facts);
        let ids: Vec<_> = found.iter().map(|finding| finding.id).collect();
        assert_eq!(ids, expected, "{found:#?}");
        found
    }

    #[test]
    fn a_daemon_is_needed_for_replies_only() {
        check(healthy(), &["daemon"]);
        check(DaemonFacts { is_running: false, ..healthy() }, &["daemon-off"]);
        check(DaemonFacts { is_running: false, wants_replies: false, ..healthy() }, &["daemon"]);
        check(DaemonFacts { status: None, ..healthy() }, &["daemon-mute"]);
        check(DaemonFacts { is_suspended: true, ..healthy() }, &["daemon-suspended"]);
        check(
            DaemonFacts { status: status(ListenerStatus::Connecting), ..healthy() },
            &["daemon-connecting"],
        );
        let off = || status(ListenerStatus::Off { reason: "x".to_owned() });
        check(DaemonFacts { status: off(), ..healthy() }, &["daemon-deaf"]);
        check(DaemonFacts { status: off(), wants_replies: false, ..healthy() }, &["daemon"]);
        let refused =
            |is_local| ListenerStatus::Refused { error: "no".to_owned(), hint: None, is_local };
        check(DaemonFacts { status: status(refused(false)), ..healthy() }, &["daemon-refused"]);
        check(DaemonFacts { status: status(refused(true)), ..healthy() }, &["daemon-obstructed"]);
    }

    #[test]
    fn whoever_runs_the_daemon_restarts_it() {
        let old = || {
            healthy()
                .status
                .map(|status| DaemonStatus { program_version: "0.0.1".to_owned(), ..status })
        };
        let found = check(DaemonFacts { status: old(), ..healthy() }, &["daemon-version"]);
        assert_eq!(found[0].repair, Some(Repair::RestartDaemon));
        let facts = DaemonFacts { status: old(), service: Ok(Some(service())), ..healthy() };
        let found = check(facts, &["daemon-version", "service"]);
        assert_eq!(found[0].repair, Some(Repair::RestartService));
    }

    #[test]
    fn a_service_that_does_not_run_is_the_one_cause() {
        let stopped = ServiceFacts { is_running: false, ..service() };
        let facts = DaemonFacts { is_running: false, service: Ok(Some(stopped)), ..healthy() };
        check(facts, &["service-stopped"]);
        let other = ServiceFacts { is_current: false, ..service() };
        check(
            DaemonFacts { service: Ok(Some(other)), ..healthy() },
            &["daemon", "service-outdated"],
        );
        let facts = DaemonFacts { is_running: false, service: Ok(Some(service())), ..healthy() };
        check(facts, &["daemon-off", "service"]);
        check(DaemonFacts { wants_service: true, ..healthy() }, &["daemon", "service-missing"]);
        check(
            DaemonFacts { service: Err("x".to_owned()), ..healthy() },
            &["daemon", "service-unknown"],
        );
    }
}
