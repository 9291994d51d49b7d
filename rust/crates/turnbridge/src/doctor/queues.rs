//! Checks the queues: outgoing notices, incoming replies, and the routes that map replies to
//! sessions.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use turnbridge_core::notices::retry_plan::time_waited;
use turnbridge_core::replies::reply_plan::ReplyProgress;
use turnbridge_core::replies::run_result::RunOutcome;
use turnbridge_core::timestamp::Timestamp;
use turnbridge_store::files::bounded_file;
use turnbridge_store::paths::StatePaths;
use turnbridge_store::state::outbox::OutboxEntry;
use turnbridge_store::state::{inbox, newer_files, outbox, routes};

use super::check_context::CheckContext;
use super::finding::{Area, Finding, Repair, counted, problem_text};
use super::report::ago;

/// The age from which an entry counts as late.
const LATE: Duration = Duration::from_secs(10 * 60);
/// The limit of unreadable files that a finding names.
const NAMED: usize = 3;
/// The limit of the size of the routes' file.
const LONGEST: u64 = 256 << 20;

struct QueueFacts {
    outbox: OutboxFacts,
    inbox: InboxFacts,
    /// The number of invalid lines in `routes.jsonl`; `Err` if it is unreadable.
    broken_routes: Result<usize, String>,
}

#[derive(Default)]
struct OutboxFacts {
    waiting: usize,
    oldest: Duration,
    /// The number of waiting entries with a time in the future, whose age is unknown.
    from_future: usize,
    given_up: usize,
    last_error: Option<String>,
    /// The names of the files.
    unreadable: Vec<String>,
}

#[derive(Default)]
struct InboxFacts {
    waiting: usize,
    oldest: Duration,
    uncertain: usize,
    unreadable: usize,
}

pub fn check(context: &CheckContext) -> Vec<Finding> {
    context.state().map_or_else(Vec::new, |paths| findings(&queue_facts(paths, context.now)))
}

fn queue_facts(paths: &StatePaths, now: Timestamp) -> QueueFacts {
    QueueFacts {
        outbox: look_at_outbox(paths, now),
        inbox: look_at_inbox(paths, now),
        broken_routes: look_at_routes(paths),
    }
}

fn look_at_outbox(paths: &StatePaths, now: Timestamp) -> OutboxFacts {
    let unreadable = outbox::unreadable(paths).unwrap_or_default();
    let unreadable =
        unreadable.iter().filter_map(|path| path.file_name()).map(|name| name.display());
    let unreadable = unreadable.map(|name| name.to_string()).collect();
    let mut outbox = OutboxFacts { unreadable, ..OutboxFacts::default() };
    // A notice has one entry per channel on which it waits.
    let mut counted_last = None;
    for OutboxEntry { notice, progress, .. } in outbox::oldest_first(paths).into_iter().flatten() {
        if progress.held {
            outbox.given_up += 1;
            outbox.last_error = outbox.last_error.or(progress.last_error);
            continue;
        }
        if counted_last.as_ref() == Some(&notice.id) {
            continue;
        }
        outbox.waiting += 1;
        counted_last = Some(notice.id);
        match time_waited(notice.created_at, &progress, now, LATE) {
            Some(waited) => outbox.oldest = outbox.oldest.max(waited),
            None => outbox.from_future += 1,
        }
    }
    outbox
}

fn look_at_inbox(paths: &StatePaths, now: Timestamp) -> InboxFacts {
    let files = json_files(&paths.inbox_dir());
    let entries = inbox::entries(paths).unwrap_or_default();
    let waiting = entries.iter().filter(|entry| entry.progress == ReplyProgress::Waiting);
    let uncertain = entries.iter().filter(|entry| match &entry.progress {
        ReplyProgress::Lost => true,
        ReplyProgress::Ended(result) => result.outcome == RunOutcome::Uncertain,
        ReplyProgress::Waiting | ReplyProgress::Running | ReplyProgress::Unstopped => false,
    });
    InboxFacts {
        unreadable: files.saturating_sub(entries.len()),
        oldest: oldest(waiting.clone().filter_map(|entry| entry.reply.received_at), now),
        waiting: waiting.count(),
        uncertain: uncertain.count(),
    }
}

fn oldest(times: impl Iterator<Item = Timestamp>, now: Timestamp) -> Duration {
    times.map(|at| now.since(at)).max().unwrap_or_default()
}

fn json_files(folder: &Path) -> usize {
    let Ok(files) = fs::read_dir(folder) else { return 0 };
    let is_json = |path: &Path| path.extension().is_some_and(|extension| extension == "json");
    // Files of a newer version are another finding.
    let newer =
        newer_files::find_in(folder).iter().map(|path| path.with_extension("json")).collect();
    let newer: BTreeSet<PathBuf> = newer;
    let paths = files.flatten().map(|file| file.path());
    paths.filter(|path| is_json(path) && !newer.contains(path)).count()
}

fn look_at_routes(paths: &StatePaths) -> Result<usize, String> {
    let bytes = match bounded_file::read(&paths.routes_file(), LONGEST) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(0),
        bytes => bytes.map_err(|error| error.to_string())?,
    };
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    let known = routes::read(paths).map_err(|error| error.to_string())?;
    Ok(lines.count().saturating_sub(known.len()))
}

fn findings(facts: &QueueFacts) -> Vec<Finding> {
    let mut findings = of_outbox(&facts.outbox);
    findings.extend(of_inbox(&facts.inbox));
    let path = "`routes.jsonl`";
    let why = "a reply in a thread whose line is lost cannot be brought to its session";
    let fix = "`turnbridge routes` shows what is known; answer in a newer thread";
    match &facts.broken_routes {
        Ok(0) => {}
        Ok(broken) => {
            let what = format!("{path} has {}", counted(*broken, "broken line", "broken lines"));
            findings.push(Finding::warning(
                Area::Queues,
                "routes-broken",
                problem_text(what, why, fix),
            ));
        }
        Err(error) => {
            let what = format!("{path} cannot be read: {error}");
            let fix = "look at its owner and mode in the state folder";
            findings.push(Finding::error(
                Area::Queues,
                "routes-unreadable",
                problem_text(what, why, fix),
            ));
        }
    }
    if findings.is_empty() {
        let on_their_way = match (facts.outbox.waiting, facts.inbox.waiting) {
            (0, 0) => "nothing waits".to_owned(),
            (out, 0) => counted(out, "notice is on its way", "notices are on their way"),
            (0, inn) => counted(inn, "reply is on its way", "replies are on their way"),
            (out, inn) => format!("{out} out and {inn} in are on their way"),
        };
        findings.push(Finding::ok(Area::Queues, "queues", on_their_way));
    }
    findings
}

fn of_outbox(outbox: &OutboxFacts) -> Vec<Finding> {
    let retry = "run `turnbridge outbox retry`; `turnbridge outbox` lists them";
    let mut findings = Vec::new();
    if outbox.given_up > 0 {
        let count = counted(outbox.given_up, "notice was given up", "notices were given up");
        let error =
            outbox.last_error.as_ref().map(|error| format!(": {error}")).unwrap_or_default();
        let wording = problem_text(
            format!("{count}{error}"),
            "what the agents had to say has not arrived",
            retry,
        );
        let finding = Finding::warning(Area::Queues, "outbox-given-up", wording);
        findings.push(finding.repaired_by(Repair::RetryNotices));
    }
    if outbox.waiting > 0 && outbox.oldest >= LATE {
        let count = counted(outbox.waiting, "notice waits", "notices wait");
        let what = format!("{count} to be delivered, the oldest from {}", ago(outbox.oldest));
        let wording = problem_text(what, "what the agents had to say has not arrived", retry);
        let finding = Finding::warning(Area::Queues, "outbox-late", wording);
        findings.push(finding.repaired_by(Repair::RetryNotices));
    }
    if outbox.from_future > 0 {
        let count = counted(outbox.from_future, "notice waits", "notices wait");
        let what = format!("{count} to be delivered with a time that lies in the future");
        let why = "the clock was ahead when it was written, so it is not known how long it waits";
        let wording = problem_text(what, why, retry);
        let finding = Finding::warning(Area::Queues, "outbox-from-future", wording);
        findings.push(finding.repaired_by(Repair::RetryNotices));
    }
    let named = outbox.unreadable.iter().take(NAMED).map(|name| format!("`{name}`"));
    let named = named.collect::<Vec<_>>().join(", ");
    let count = outbox.unreadable.len();
    findings.extend(unreadable("outbox", "outbox-unreadable", count, &named));
    findings
}

fn of_inbox(inbox: &InboxFacts) -> Vec<Finding> {
    let mut findings = Vec::new();
    if inbox.uncertain > 0 {
        let count = counted(inbox.uncertain, "reply may", "replies may");
        let what = format!("{count} have reached the agent or not");
        let why = "a reply is never run twice; its sender is asked to check";
        let fix = "`turnbridge inbox` lists it; send it again, or `turnbridge inbox drop ID`";
        findings.push(Finding::warning(
            Area::Queues,
            "inbox-uncertain",
            problem_text(what, why, fix),
        ));
    }
    if inbox.waiting > 0 && inbox.oldest >= LATE {
        let count = counted(inbox.waiting, "reply waits", "replies wait");
        let what = format!("{count} to be run, the oldest from {}", ago(inbox.oldest));
        let why = "the agent has not received your answer";
        let fix = "`turnbridge inbox` lists it; it runs when its session is free and a daemon runs";
        findings.push(Finding::warning(Area::Queues, "inbox-late", problem_text(what, why, fix)));
    }
    findings.extend(unreadable("inbox", "inbox-unreadable", inbox.unreadable, "the `.json` files"));
    findings
}

fn unreadable(folder: &str, id: &'static str, count: usize, files: &str) -> Option<Finding> {
    let what = format!("{} in `{folder}` cannot be read", counted(count, "file", "files"));
    let why = "what is in them is neither delivered nor run; they are left where they are";
    let fix =
        format!("look at {files} in the folder `{folder}` of the state, and remove what is broken");
    (count > 0).then(|| Finding::warning(Area::Queues, id, problem_text(what, why, fix)))
}
