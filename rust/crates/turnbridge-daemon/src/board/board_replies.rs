//! Stores replies typed on the board in the inbox (X36), and renders the replies in the inbox,
//! whatever their source, with their progress. No other channel gets messages about a reply from
//! the board.

use serde_json::{Value, json};
use turnbridge_core::ids::{SessionKey, is_uuid};
use turnbridge_core::replies::reply::{Reply, ReplyTo};
use turnbridge_core::replies::reply_plan::{PendingReply, ReplyProgress};
use turnbridge_core::replies::run_result::RunResult;
use turnbridge_core::replies::standing;
use turnbridge_core::timestamp::time_text;
use turnbridge_store::clock;
use turnbridge_store::paths::StatePaths;
use turnbridge_store::state::inbox::{self, Accepted};
use turnbridge_store::state::session_store;

use super::api::{BoardState, no_session, session_key};
use super::http::HttpResponse;

/// The limit of a reply in characters, the same as for a message in Slack.
const LONGEST: usize = 40_000;

/// Stores the reply `{id, tool, session_id, text}` in the inbox, and returns the response. The id
/// deduplicates replies.
pub fn accept(board: &BoardState, order: &Value) -> HttpResponse {
    let text = order["text"].as_str().unwrap_or_default();
    let Some(id) = order["id"].as_str().filter(|id| is_uuid(id)) else {
        return HttpResponse::error(422, "`id` has to be a UUID");
    };
    if text.trim().is_empty() {
        return HttpResponse::error(422, "there is nothing in the reply");
    }
    if text.chars().nth(LONGEST).is_some() {
        return HttpResponse::error(413, "a reply has 40,000 characters at most");
    }
    let key = session_key(order["tool"].as_str(), order["session_id"].as_str());
    let Some(session) = key.and_then(|key| session_store::read(&board.paths, &key)) else {
        return no_session();
    };
    let cwd = session.project_dir().map(str::to_owned);
    let now = clock::now();
    let to = ReplyTo { key: session.key, cwd };
    let reply = Reply::from_board(id.to_ascii_lowercase(), text.to_owned(), to, now);
    if reply.session().is_none() {
        return HttpResponse::error(422, "a session without a UUID cannot be resumed");
    }
    match inbox::accept(&board.paths, &reply, now) {
        Ok(accepted) => {
            (board.tell)();
            let is_new = accepted == Accepted::New;
            HttpResponse::json(202, &json!({ "accepted": true, "is_new": is_new, "id": reply.id }))
        }
        Err(error) => HttpResponse::error(500, &format!("the reply could not be kept: {error}")),
    }
}

/// Returns all unfinished replies of every session.
pub fn pending(paths: &StatePaths) -> Vec<Value> {
    pending_where(paths, |_| true)
}

/// Returns all replies of the last week of every session, in the order of their receipt.
pub fn all(paths: &StatePaths) -> Vec<Value> {
    all_where(paths, |_| true)
}

/// Returns the replies of the last week of one session, in the order of their receipt.
pub fn of_session(paths: &StatePaths, key: &SessionKey) -> Vec<Value> {
    all_where(paths, |reply| reply.to.key() == Some(key))
}

fn all_where(paths: &StatePaths, is_wanted: impl Fn(&Reply) -> bool) -> Vec<Value> {
    let done = inbox::finished(paths).unwrap_or_default();
    let done = done.iter().filter(|(reply, _)| is_wanted(reply));
    let done = done.map(|(reply, result)| {
        let result = result.as_ref();
        shown(reply, standing::of_finished(reply, result), result)
    });
    done.chain(pending_where(paths, &is_wanted)).collect()
}

fn pending_where(paths: &StatePaths, is_wanted: impl Fn(&Reply) -> bool) -> Vec<Value> {
    let entries = inbox::entries(paths).unwrap_or_default();
    let wanted = entries.iter().filter(|entry| is_wanted(&entry.reply));
    let shown = |entry: &PendingReply| {
        let result = match &entry.progress {
            ReplyProgress::Ended(result) => Some(result),
            _ => None,
        };
        shown(&entry.reply, standing::of_pending(entry), result)
    };
    wanted.map(shown).collect()
}

/// Returns a reply as the page reads it. `state` is a word for which the page has a sentence.
fn shown(reply: &Reply, state: &str, result: Option<&RunResult>) -> Value {
    let [agent, session_id] = reply.to.words();
    json!({
        "id": reply.id,
        "source": reply.source.as_str(),
        "tool": agent,
        "session_id": session_id,
        "text": reply.text,
        "received_at": time_text(reply.received_at),
        "state": state,
        "reason": result.and_then(|result| result.reason).map(|reason| reason.as_str()),
        "code": result.and_then(|result| result.code),
        "output": result.and_then(|result| result.output.as_deref()),
        "ended_at": result.map(|result| time_text(result.ended_at)),
    })
}
