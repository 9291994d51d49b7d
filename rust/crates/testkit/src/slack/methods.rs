//! Lists the methods of the Web API with their requirements (token, scope, GET or POST, JSON or
//! not), checks a call against them and runs it. Slack responds with status 200 and `ok: false` to
//! every error except the rate limit.

use serde_json::{Map, Value, json};

use super::arguments::{ApiCall, CallArguments, TokenPlace};
use super::workspace::{Opened, SlackWorkspace};
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

/// A refused call, before `ok` is added.
pub(super) struct MethodError {
    pub(super) error: String,
    /// The fields beside `ok` and `error`.
    pub(super) fields: Map<String, Value>,
    pub(super) retry_after_seconds: Option<u64>,
}

impl MethodError {
    pub(super) fn new(error: &str) -> MethodError {
        MethodError { error: error.to_owned(), fields: Map::new(), retry_after_seconds: None }
    }

    /// Returns a refusal with a detail in Slack's form, `response_metadata.messages`.
    pub(super) fn explained(error: &str, message: &str) -> MethodError {
        let mut refusal = MethodError::new(error);
        let messages = json!({"messages": [format!("[ERROR] {message}")]});
        refusal.fields.insert("response_metadata".to_owned(), messages);
        refusal
    }

    /// Returns the error for a missing argument.
    pub(super) fn missing(argument: &str) -> MethodError {
        MethodError::explained("invalid_arguments", &format!("missing required field: {argument}"))
    }

    /// Returns the error for a call that must wait this long.
    pub(super) fn rate_limited(seconds: u64) -> MethodError {
        MethodError { retry_after_seconds: Some(seconds), ..MethodError::new("ratelimited") }
    }

    fn with(mut self, name: &str, value: impl Into<Value>) -> MethodError {
        self.fields.insert(name.to_owned(), value.into());
        self
    }
}

pub(super) type MethodResult = Result<Success, MethodError>;

/// The kind of a call's token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallToken {
    Bot,
    App,
    Unknown,
    Missing,
}

#[derive(PartialEq)]
enum RequiredToken {
    Any,
    Bot,
    App,
}

#[derive(PartialEq)]
enum ArgumentForms {
    /// POST only, arguments also as JSON.
    PostAndJson,
    /// GET too, arguments in the query or as a form; JSON is ignored.
    GetAndForm,
}

struct Method {
    name: &'static str,
    wants: RequiredToken,
    scope: Option<&'static str>,
    takes: ArgumentForms,
    run: fn(&mut SlackWorkspace, &ApiCall) -> MethodResult,
}

const METHODS: [Method; 8] = [
    Method {
        name: "auth.test",
        wants: RequiredToken::Any,
        scope: None,
        takes: ArgumentForms::GetAndForm,
        run: test_auth,
    },
    Method {
        name: "apps.connections.open",
        wants: RequiredToken::App,
        scope: Some("connections:write"),
        takes: ArgumentForms::PostAndJson,
        run: open_socket,
    },
    Method {
        name: "conversations.open",
        wants: RequiredToken::Bot,
        scope: Some("im:write"),
        takes: ArgumentForms::PostAndJson,
        run: open_conversation,
    },
    Method {
        name: "conversations.history",
        wants: RequiredToken::Bot,
        scope: Some("im:history"),
        takes: ArgumentForms::GetAndForm,
        run: history::list_history,
    },
    Method {
        name: "conversations.replies",
        wants: RequiredToken::Bot,
        scope: Some("im:history"),
        takes: ArgumentForms::GetAndForm,
        run: history::list_replies,
    },
    Method {
        name: "chat.postMessage",
        wants: RequiredToken::Bot,
        scope: Some("chat:write"),
        takes: ArgumentForms::PostAndJson,
        run: chat::post_message,
    },
    Method {
        name: "chat.update",
        wants: RequiredToken::Bot,
        scope: Some("chat:write"),
        takes: ArgumentForms::PostAndJson,
        run: chat::update_message,
    },
    Method {
        name: "users.info",
        wants: RequiredToken::Bot,
        scope: Some("users:read"),
        takes: ArgumentForms::GetAndForm,
        run: show_user,
    },
];

/// Returns the kind of the token in a call.
pub(super) fn token_kind(workspace: &SlackWorkspace, call: &ApiCall) -> CallToken {
    match &call.token {
        None => CallToken::Missing,
        Some((token, _)) if *token == workspace.setup.bot_token => CallToken::Bot,
        Some((token, _)) if *token == workspace.setup.app_token => CallToken::App,
        Some(_) => CallToken::Unknown,
    }
}

/// Checks the common requirements of a method, then runs it.
pub(super) fn run(workspace: &mut SlackWorkspace, call: &ApiCall) -> MethodResult {
    let Some(method) = METHODS.iter().find(|method| method.name == call.method) else {
        return Err(MethodError::new("unknown_method").with("req_method", call.method.as_str()));
    };
    if let Some(error) = call.malformed {
        return Err(MethodError::new(error));
    }
    if call.is_get && method.takes == ArgumentForms::PostAndJson {
        return Err(MethodError::new("insecure_request"));
    }
    check_token(workspace, method, call)?;
    if method.takes == ArgumentForms::GetAndForm && call.is_json {
        let arguments = CallArguments::default();
        return (method.run)(workspace, &ApiCall { arguments, ..call.clone() });
    }
    (method.run)(workspace, call)
}

fn check_token(
    workspace: &SlackWorkspace,
    method: &Method,
    call: &ApiCall,
) -> Result<(), MethodError> {
    let kind = token_kind(workspace, call);
    let is_in_form = call.token.as_ref().is_some_and(|(_, place)| *place == TokenPlace::Form);
    let setup = &workspace.setup;
    let granted = match kind {
        CallToken::Missing => return Err(MethodError::new("not_authed")),
        CallToken::Unknown => return Err(MethodError::new("invalid_auth")),
        // An app-level token is read only from the header.
        CallToken::App if is_in_form => return Err(MethodError::new("not_authed")),
        CallToken::Bot if method.wants == RequiredToken::App => {
            return Err(MethodError::new("not_allowed_token_type"));
        }
        CallToken::App if method.wants == RequiredToken::Bot => {
            return Err(MethodError::new("not_allowed_token_type"));
        }
        CallToken::Bot => &setup.bot_scopes,
        CallToken::App => &setup.app_scopes,
    };
    match method.scope {
        Some(needed) if !granted.iter().any(|scope| scope == needed) => {
            Err(MethodError::new("missing_scope")
                .with("needed", needed)
                .with("provided", granted.join(",")))
        }
        _ => Ok(()),
    }
}

fn test_auth(workspace: &mut SlackWorkspace, call: &ApiCall) -> MethodResult {
    let setup = &workspace.setup;
    if token_kind(workspace, call) == CallToken::App {
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
fn open_socket(workspace: &mut SlackWorkspace, _call: &ApiCall) -> MethodResult {
    let ticket = workspace.next_ticket();
    let setup = &workspace.setup;
    let host = setup.socket_host.as_ref().map(|host| format!("wss://{host}")).unwrap_or_default();
    let app_id = &setup.app_id;
    Ok(json!({"url": format!("{host}/link/?ticket={ticket}&app_id={app_id}")}).into())
}

fn open_conversation(workspace: &mut SlackWorkspace, call: &ApiCall) -> MethodResult {
    let opened = match (call.arguments.text("channel"), call.arguments.text("users")) {
        (Some(channel), _) if workspace.has_channel(&channel) => (channel, Opened::Before),
        (Some(_), _) => return Err(MethodError::new("channel_not_found")),
        (None, None) => return Err(MethodError::new("users_list_not_supplied")),
        // Several users make a group message, which needs another scope and is out of scope here.
        (None, Some(users)) if users.contains(',') => {
            let provided = workspace.setup.bot_scopes.join(",");
            return Err(MethodError::new("missing_scope")
                .with("needed", "mpim:write")
                .with("provided", provided));
        }
        (None, Some(user)) if workspace.setup.users.contains(&user) => {
            workspace.open_direct_message(&user)
        }
        (None, Some(_)) => return Err(MethodError::new("user_not_found")),
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

fn show_user(workspace: &mut SlackWorkspace, call: &ApiCall) -> MethodResult {
    let setup = &workspace.setup;
    let user = call.arguments.text("user").unwrap_or_default();
    let is_bot = user == setup.bot_user;
    if !is_bot && !setup.users.contains(&user) {
        return Err(MethodError::new("user_not_found"));
    }
    let name = if is_bot { setup.app_name.clone() } else { user.clone() }.to_lowercase();
    Ok(json!({"user": {
        "id": user, "team_id": setup.team_id, "name": name, "real_name": name,
        "deleted": false, "is_bot": is_bot,
    }})
    .into())
}
