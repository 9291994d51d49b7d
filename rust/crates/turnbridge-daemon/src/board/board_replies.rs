//! Replies on the board: one that is typed there goes into the inbox (X36), and how each one stands is
//! shown from the inbox, wherever it came from. Nothing about it is posted anywhere else.

use serde_json::{Value, json};
use turnbridge_core::agents::resume;
use turnbridge_core::ids::{Agent, SessionId, is_uuid};
use turnbridge_core::replies::reply_plan::{Progress, Told, is_stop};
use turnbridge_core::replies::reply_wire::{Outcome, Reply, ReplySource, ReplyTo, RunResult};
use turnbridge_store::clock;
use turnbridge_store::paths::StatePaths;
use turnbridge_store::state::inbox::{self, Accepted, Entry};
use turnbridge_store::state::session_store;

use super::api::{Desk, no_session, session_key};
use super::http::Response;

/// As long as a message in Slack can be, in characters.
const LONGEST: usize = 40_000;

/// Takes `{id, tool, session_id, text}`. The same id twice is one reply.
pub fn accept(desk: &Desk, order: &Value) -> Response {
    let text = order["text"].as_str().unwrap_or_default();
    let Some(id) = order["id"].as_str().filter(|id| is_uuid(id)) else {
        return Response::error(422, "`id` has to be a UUID");
    };
    if text.trim().is_empty() {
        return Response::error(422, "there is nothing in the reply");
    }
    if text.chars().nth(LONGEST).is_some() {
        return Response::error(413, "a reply has 40,000 characters at most");
    }
    let Some((agent, session_id)) =
        session_key(order["tool"].as_str(), order["session_id"].as_str())
    else {
        return no_session();
    };
    let Some(session) = session_store::read(&desk.paths, agent, &session_id) else {
        return no_session();
    };
    let cwd = session.project_dir().map(str::to_owned);
    let now = clock::now();
    let to = ReplyTo { agent, id: session_id, cwd };
    let reply = Reply::from_board(id.to_ascii_lowercase(), text.to_owned(), to, now);
    if reply.session().is_none() {
        return Response::error(422, "a session without a UUID cannot be resumed");
    }
    match inbox::accept(&desk.paths, &reply, now) {
        Ok(accepted) => {
            (desk.tell)();
            let is_new = accepted == Accepted::New;
            Response::json(202, &json!({ "accepted": true, "is_new": is_new, "id": reply.id }))
        }
        Err(error) => Response::error(500, &format!("the reply could not be kept: {error}")),
    }
}

/// All that are not finished, of every session.
pub fn pending(paths: &StatePaths) -> Vec<Value> {
    let entries = inbox::entries(paths).unwrap_or_default();
    entries.iter().map(|entry| shown(&entry.reply, &standing(entry))).collect()
}

/// All of the last week, of every session, in the order in which they were sent.
pub fn all(paths: &StatePaths) -> Vec<Value> {
    let done = inbox::finished(paths).unwrap_or_default();
    let done = done.iter().map(|(reply, result)| shown(reply, &end(reply, result.as_ref())));
    done.chain(pending(paths)).collect()
}

pub fn of_session(paths: &StatePaths, agent: Agent, id: &SessionId) -> Vec<Value> {
    let is_own =
        |reply: &Value| reply["tool"] == agent.as_str() && reply["session_id"] == id.as_str();
    all(paths).into_iter().filter(is_own).collect()
}

/// How far a reply has come, in a word that the page has a sentence for.
struct Standing {
    word: &'static str,
    result: Option<RunResult>,
}

fn standing(entry: &Entry) -> Standing {
    let word = match &entry.progress {
        Progress::Ended(result) => return end(&entry.reply, Some(result)),
        Progress::Running | Progress::Unstopped | Progress::Lost => "running",
        Progress::Waiting => {
            let last = entry.told.iter().rev().find_map(|told| match told {
                Told::Held => Some("held"),
                Told::Queued => Some("queued"),
                Told::BehindExec => Some("behind_exec"),
                Told::AfterAbort => Some("after_abort"),
                _ => None,
            });
            last.unwrap_or("received")
        }
    };
    Standing { word, result: None }
}

/// One without a result was no prompt, or is of 0.1, which wrote none for a run whose runner was killed.
fn end(reply: &Reply, result: Option<&RunResult>) -> Standing {
    let is_refused =
        || reply.session().is_some_and(|(agent, _)| resume::is_refused(agent, &reply.text));
    let word = match result {
        Some(result) => result.outcome.as_str(),
        None if is_refused() => "refused",
        None if reply.session().is_none() => "no_route",
        None if is_stop(&reply.text) => "stop",
        None => Outcome::Uncertain.as_str(),
    };
    Standing { word, result: result.cloned() }
}

fn shown(reply: &Reply, standing: &Standing) -> Value {
    let result = standing.result.as_ref();
    json!({
        "id": reply.id,
        "source": match reply.source { ReplySource::Slack => "slack", ReplySource::Board => "board" },
        "tool": reply.agent,
        "session_id": reply.session_id,
        "text": reply.text,
        "received_at": reply.received_at,
        "state": standing.word,
        "reason": result.and_then(|result| result.reason).map(|reason| reason.as_str()),
        "code": result.and_then(|result| result.code),
        "output": result.and_then(|result| result.output.as_deref()),
        "ended_at": result.map(|result| result.ended_at.as_str()),
    })
}
