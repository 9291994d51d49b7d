//! The methods of the Web API and their requirements: token, scope, GET or POST, JSON or not. Slack
//! responds with status 200 and `ok: false` to every error except the rate limit.

use serde_json::{Map, Value, json};

use super::arguments::{ApiCall, Arguments, TokenPlace};
use super::workspace::{Opened, Workspace};
use super::{chat, history};

/// The result of a method, before `ok` and warnings are added.
#[derive(Default)]
pub(super) struct Success {
    pub(super) fields: Map<String, Value>,
    pub(super) warnings: Vec<&'static str>,
}

impl From<Value> for Success {
    fn from(fields: Value) -> Success {
        let Value::Object(fields) = fields else { unreachable!("an answer is an object") };
        Success { fields, warnings: Vec::new() }
    }
}

pub(super) struct Refusal {
    pub(super) error: String,
    /// The fields beside `ok` and `error`.
    pub(super) fields: Map<String, Value>,
    pub(super) retry_after_seconds: Option<u64>,
}

impl Refusal {
    pub(super) fn new(error: &str) -> Refusal {
        Refusal { error: error.to_owned(), fields: Map::new(), retry_after_seconds: None }
    }

    /// Returns a refusal with a detail in Slack's form, `response_metadata.messages`.
    pub(super) fn explained(error: &str, message: &str) -> Refusal {
        let mut refusal = Refusal::new(error);
        let messages = json!({"messages": [format!("[ERROR] {message}")]});
        refusal.fields.insert("response_metadata".to_owned(), messages);
        refusal
    }

    pub(super) fn missing(argument: &str) -> Refusal {
        Refusal::explained("invalid_arguments", &format!("missing required field: {argument}"))
    }

    pub(super) fn rate_limited(seconds: u64) -> Refusal {
        Refusal { retry_after_seconds: Some(seconds), ..Refusal::new("ratelimited") }
    }

    fn with(mut self, name: &str, value: impl Into<Value>) -> Refusal {
        self.fields.insert(name.to_owned(), value.into());
        self
    }
}

pub(super) type Answer = Result<Success, Refusal>;

/// The kind of a call's token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    Bot,
    App,
    Unknown,
    Missing,
}

#[derive(PartialEq)]
enum Wants {
    Any,
    Bot,
    App,
}

#[derive(PartialEq)]
enum Takes {
    /// POST only, arguments also as JSON.
    PostAndJson,
    /// GET too, arguments in the query or as a form; JSON is ignored.
    GetAndForm,
}

struct Method {
    name: &'static str,
    wants: Wants,
    scope: Option<&'static str>,
    takes: Takes,
    run: fn(&mut Workspace, &ApiCall) -> Answer,
}

const METHODS: [Method; 8] = [
    Method {
        name: "auth.test",
        wants: Wants::Any,
        scope: None,
        takes: Takes::GetAndForm,
        run: test_auth,
    },
    Method {
        name: "apps.connections.open",
        wants: Wants::App,
        scope: Some("connections:write"),
        takes: Takes::PostAndJson,
        run: open_socket,
    },
    Method {
        name: "conversations.open",
        wants: Wants::Bot,
        scope: Some("im:write"),
        takes: Takes::PostAndJson,
        run: open_conversation,
    },
    Method {
        name: "conversations.history",
        wants: Wants::Bot,
        scope: Some("im:history"),
        takes: Takes::GetAndForm,
        run: history::list_history,
    },
    Method {
        name: "conversations.replies",
        wants: Wants::Bot,
        scope: Some("im:history"),
        takes: Takes::GetAndForm,
        run: history::list_replies,
    },
    Method {
        name: "chat.postMessage",
        wants: Wants::Bot,
        scope: Some("chat:write"),
        takes: Takes::PostAndJson,
        run: chat::post_message,
    },
    Method {
        name: "chat.update",
        wants: Wants::Bot,
        scope: Some("chat:write"),
        takes: Takes::PostAndJson,
        run: chat::update_message,
    },
    Method {
        name: "users.info",
        wants: Wants::Bot,
        scope: Some("users:read"),
        takes: Takes::GetAndForm,
        run: show_user,
    },
];

pub(super) fn token_kind(workspace: &Workspace, call: &ApiCall) -> TokenKind {
    match &call.token {
        None => TokenKind::Missing,
        Some((token, _)) if *token == workspace.setup.bot_token => TokenKind::Bot,
        Some((token, _)) if *token == workspace.setup.app_token => TokenKind::App,
        Some(_) => TokenKind::Unknown,
    }
}

/// Checks the common requirements of a method, then runs it.
pub(super) fn run(workspace: &mut Workspace, call: &ApiCall) -> Answer {
    let Some(method) = METHODS.iter().find(|method| method.name == call.method) else {
        return Err(Refusal::new("unknown_method").with("req_method", call.method.as_str()));
    };
    if let Some(error) = call.malformed {
        return Err(Refusal::new(error));
    }
    if call.is_get && method.takes == Takes::PostAndJson {
        return Err(Refusal::new("insecure_request"));
    }
    check_token(workspace, method, call)?;
    if method.takes == Takes::GetAndForm && call.is_json {
        let arguments = Arguments::default();
        return (method.run)(workspace, &ApiCall { arguments, ..call.clone() });
    }
    (method.run)(workspace, call)
}

fn check_token(workspace: &Workspace, method: &Method, call: &ApiCall) -> Result<(), Refusal> {
    let kind = token_kind(workspace, call);
    let is_in_form = call.token.as_ref().is_some_and(|(_, place)| *place == TokenPlace::Form);
    let setup = &workspace.setup;
    let granted = match kind {
        TokenKind::Missing => return Err(Refusal::new("not_authed")),
        TokenKind::Unknown => return Err(Refusal::new("invalid_auth")),
        // An app-level token is read only from the header.
        TokenKind::App if is_in_form => return Err(Refusal::new("not_authed")),
        TokenKind::Bot if method.wants == Wants::App => {
            return Err(Refusal::new("not_allowed_token_type"));
        }
        TokenKind::App if method.wants == Wants::Bot => {
            return Err(Refusal::new("not_allowed_token_type"));
        }
        TokenKind::Bot => &setup.bot_scopes,
        TokenKind::App => &setup.app_scopes,
    };
    match method.scope {
        Some(needed) if !granted.iter().any(|scope| scope == needed) => {
            Err(Refusal::new("missing_scope")
                .with("needed", needed)
                .with("provided", granted.join(",")))
        }
        _ => Ok(()),
    }
}

fn test_auth(workspace: &mut Workspace, call: &ApiCall) -> Answer {
    let setup = &workspace.setup;
    if token_kind(workspace, call) == TokenKind::App {
        return Ok(json!({"app_name": setup.app_name, "app_id": setup.app_id}).into());
    }
    Ok(json!({
        "url": format!("https://{}.slack.com/", setup.team_name.to_lowercase()),
        "team": setup.team_name, "user": setup.app_name.to_lowercase(),
        "team_id": setup.team_id, "user_id": setup.bot_user, "bot_id": setup.bot_id,
        "is_enterprise_install": false,
    })
    .into())
}

/// Returns the path of a socket. The server prepends its address, which only the server knows.
fn open_socket(workspace: &mut Workspace, _call: &ApiCall) -> Answer {
    let ticket = workspace.next_ticket();
    let setup = &workspace.setup;
    let host = setup.socket_host.as_ref().map(|host| format!("wss://{host}")).unwrap_or_default();
    let app_id = &setup.app_id;
    Ok(json!({"url": format!("{host}/link/?ticket={ticket}&app_id={app_id}")}).into())
}

fn open_conversation(workspace: &mut Workspace, call: &ApiCall) -> Answer {
    let opened = match (call.arguments.text("channel"), call.arguments.text("users")) {
        (Some(channel), _) if workspace.has_channel(&channel) => (channel, Opened::Before),
        (Some(_), _) => return Err(Refusal::new("channel_not_found")),
        (None, None) => return Err(Refusal::new("users_list_not_supplied")),
        // Several users make a group message, which needs another scope and is out of scope here.
        (None, Some(users)) if users.contains(',') => {
            let provided = workspace.setup.bot_scopes.join(",");
            return Err(Refusal::new("missing_scope")
                .with("needed", "mpim:write")
                .with("provided", provided));
        }
        (None, Some(user)) if workspace.setup.users.contains(&user) => {
            workspace.open_direct_message(&user)
        }
        (None, Some(_)) => return Err(Refusal::new("user_not_found")),
    };
    let (channel, opened) = opened;
    let mut answer = json!({"channel": {"id": channel}});
    if call.arguments.flag("return_im") == Some(true) {
        answer["channel"]["is_im"] = true.into();
        answer["channel"]["is_open"] = true.into();
        answer["channel"]["user"] = workspace.other_end(&channel).into();
    }
    if opened == Opened::Before {
        answer["no_op"] = true.into();
        answer["already_open"] = true.into();
    }
    Ok(answer.into())
}

fn show_user(workspace: &mut Workspace, call: &ApiCall) -> Answer {
    let setup = &workspace.setup;
    let user = call.arguments.text("user").unwrap_or_default();
    let is_bot = user == setup.bot_user;
    if !is_bot && !setup.users.contains(&user) {
        return Err(Refusal::new("user_not_found"));
    }
    let name = if is_bot { setup.app_name.clone() } else { user.clone() }.to_lowercase();
    Ok(json!({"user": {
        "id": user, "team_id": setup.team_id, "name": name, "real_name": name,
        "deleted": false, "is_bot": is_bot,
    }})
    .into())
}
