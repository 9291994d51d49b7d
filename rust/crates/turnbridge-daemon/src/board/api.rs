//! Routes the board's HTTP requests to the modules that answer them. The server has already checked
//! the token of every path under `/api/`; the static files and `/enter` need none.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use turnbridge_core::ids::SessionKey;
use turnbridge_core::session::turn_wire::turn_json;
use turnbridge_core::text::texts::Language;
use turnbridge_store::paths::StatePaths;
use turnbridge_store::state::{pane_store, session_store};

use super::guard::Address;
use super::http::{HttpResponse, RequestHead};
use super::live::LiveUpdates;
use super::peer::PeerRefusal;
use super::sign_in::SignIn;
use super::{board_replies, cards, go_to_terminal, settings, static_files, turns};

/// The state shared by the board's threads.
pub struct BoardState {
    pub paths: StatePaths,
    pub address: Address,
    pub token: String,
    pub sign_in: SignIn,
    pub is_japanese: AtomicBool,
    pub live: LiveUpdates,
    /// The callback after a reply was stored.
    pub tell: Box<dyn Fn() + Send + Sync>,
    /// The callback after a connection was refused because of its user.
    pub refused: Box<dyn Fn(PeerRefusal) + Send + Sync>,
}

/// The answer to a request.
pub enum BoardAnswer {
    Whole(HttpResponse),
    /// A stream of changes.
    Stream,
}

impl BoardState {
    pub fn language(&self) -> Language {
        match self.is_japanese.load(Ordering::Relaxed) {
            true => Language::Japanese,
            false => Language::English,
        }
    }

    /// Returns the answer to an accepted request.
    pub fn answer(&self, head: &RequestHead, body: &[u8]) -> BoardAnswer {
        if head.path == "/api/events" && head.method == "GET" {
            return BoardAnswer::Stream;
        }
        BoardAnswer::Whole(self.respond(head, body))
    }

    fn respond(&self, head: &RequestHead, body: &[u8]) -> HttpResponse {
        let parts: Vec<&str> = head.path.split('/').skip(1).collect();
        match (head.method.as_str(), parts.as_slice()) {
            ("GET", ["api", "sessions"]) => ok(&cards::snapshot(&self.paths, self.language())),
            ("GET", ["api", "sessions", agent, id]) => self.session(head, agent, id),
            ("GET", ["api", "settings"]) => ok(&settings::settings(&self.paths, self.language())),
            ("POST", action) => self.act(head, action, body),
            ("GET", _) => static_files::find(&head.path)
                .unwrap_or_else(|| HttpResponse::error(404, "there is no such page")),
            _ => HttpResponse::of_status(405),
        }
    }

    fn session(&self, head: &RequestHead, agent: &str, id: &str) -> HttpResponse {
        let key = session_key(Some(agent), Some(id));
        let Some(session) = key.and_then(|key| session_store::read(&self.paths, &key)) else {
            return no_session();
        };
        let page = turns::page(&self.paths, &session, head.number("before"), head.number("limit"));
        ok(&json!({
            "version": 1,
            "session": cards::card(&self.paths, &pane_store::read(&self.paths), &session),
            "open_turn": turns::open_turn(&self.paths, &session),
            "turns": page.turns.iter().map(turn_json).collect::<Vec<_>>(),
            "first": page.first,
            "total": page.total,
            "replies": board_replies::of_session(&self.paths, &session.key),
        }))
    }

    fn act(&self, head: &RequestHead, action: &[&str], body: &[u8]) -> HttpResponse {
        // Another site's form cannot send this content type without a CORS preflight.
        let content_type = head.only("content-type").unwrap_or_default();
        let media_type = content_type.split(';').next().unwrap_or_default().trim();
        if !media_type.eq_ignore_ascii_case("application/json") {
            return HttpResponse::error(415, "the body has to be `application/json`");
        }
        let Some(order) = serde_json::from_slice::<Value>(body).ok().filter(Value::is_object)
        else {
            return HttpResponse::error(400, "the body is no JSON object");
        };
        match action {
            ["enter"] => self.sign_in.exchange(&self.paths, &order, &self.token),
            ["api", "replies"] => board_replies::accept(self, &order),
            ["api", "settings", "claude-hooks"] => match order["enabled"].as_bool() {
                Some(enabled) => settings::set_claude_hooks(enabled, self.language()),
                None => HttpResponse::error(422, "`enabled` has to be `true` or `false`"),
            },
            ["api", "focus"] => {
                let key = session_key(order["tool"].as_str(), order["session_id"].as_str());
                let gone = key.and_then(|key| go_to_terminal::go(&self.paths, &key));
                gone.unwrap_or_else(no_session)
            }
            _ => HttpResponse::error(404, "there is no such thing to do"),
        }
    }
}

/// Returns the key of a session, or `None` if the agent or the id is not valid.
pub fn session_key(agent: Option<&str>, id: Option<&str>) -> Option<SessionKey> {
    SessionKey::of(agent?, id?)
}

pub fn no_session() -> HttpResponse {
    HttpResponse::error(404, "there is no such session")
}

fn ok(value: &Value) -> HttpResponse {
    HttpResponse::json(200, value)
}
