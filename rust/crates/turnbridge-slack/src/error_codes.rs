//! Classifies Slack's error codes: those that last until the user acts, rate limits, and those
//! after which Slack may have acted. Also returns the remedy. A code that is not listed may pass by
//! itself.

/// The token or the app causes the error: no call with it will succeed.
const TOKEN: [&str; 19] = [
    "access_denied",
    "account_inactive",
    "ekm_access_denied",
    "enterprise_is_restricted",
    "forbidden_team",
    "invalid_auth",
    "missing_scope",
    "no_permission",
    "not_allowed_token_type",
    "not_authed",
    "org_login_required",
    "team_access_not_granted",
    "team_disabled",
    "team_not_found",
    "token_expired",
    "token_revoked",
    "two_factor_setup_required",
    "user_is_restricted",
    "user_removed_from_team",
];

/// This message or its place causes the error.
const CALL: [&str; 45] = [
    "as_user_not_supported",
    "cannot_dm_bot",
    "cannot_reply_to_message",
    "channel_not_found",
    "channel_type_not_supported",
    "deprecated_endpoint",
    "insecure_request",
    "invalid_arg_name",
    "invalid_arguments",
    "invalid_array_arg",
    "invalid_blocks",
    "invalid_blocks_format",
    "invalid_charset",
    "invalid_cursor",
    "invalid_form_data",
    "invalid_json",
    "invalid_limit",
    "invalid_metadata_format",
    "invalid_metadata_schema",
    "invalid_post_type",
    "invalid_ts_latest",
    "invalid_ts_oldest",
    "invalid_users",
    "is_archived",
    "json_not_object",
    "markdown_text_conflict",
    "messages_tab_disabled",
    "metadata_must_be_sent_from_app",
    "metadata_too_large",
    "method_deprecated",
    "method_not_supported_for_channel_type",
    "missing_post_type",
    "msg_blocks_too_long",
    "msg_too_long",
    "no_text",
    "not_in_channel",
    "superfluous_charset",
    "thread_not_found",
    "too_many_attachments",
    "too_many_users",
    "unknown_method",
    "user_disabled",
    "user_not_found",
    "user_not_visible",
    "users_not_found",
];

const RATE_LIMIT: [&str; 3] = ["message_limit_exceeded", "rate_limited", "ratelimited"];

/// Slack failed half-way, so it may have acted.
const HALF_WAY: [&str; 4] =
    ["fatal_error", "internal_error", "request_timeout", "service_unavailable"];

pub(crate) fn is_permanent(error: &str) -> bool {
    TOKEN.contains(&error) || CALL.contains(&error) || error.starts_with("restricted_action")
}

pub(crate) fn is_rate_limit(error: &str) -> bool {
    RATE_LIMIT.contains(&error)
}

pub(crate) fn is_half_way(error: &str) -> bool {
    HALF_WAY.contains(&error)
}

pub(crate) fn is_about_blocks(error: &str) -> bool {
    matches!(error, "invalid_blocks" | "invalid_blocks_format" | "msg_blocks_too_long")
}

pub(crate) fn hint(error: &str, needed: Option<&str>) -> Option<&'static str> {
    Some(match error {
        "invalid_auth" | "not_authed" | "token_revoked" | "token_expired" => {
            "copy the token anew from the app's page at api.slack.com/apps: `xoxb-` is under OAuth & Permissions, `xapp-` under Basic Information"
        }
        "account_inactive" | "user_removed_from_team" | "team_disabled" | "team_not_found" => {
            "the app, its workspace or who installed it is gone: install the app again and enter the new tokens"
        }
        "not_allowed_token_type" => {
            "the two tokens are mixed up: `xoxb-` is the bot token, `xapp-` the app-level token"
        }
        "missing_scope" if needed.is_some_and(|scopes| scopes.contains("connections:write")) => {
            "make an app-level token with the scope `connections:write` under Basic Information, App-Level Tokens"
        }
        "missing_scope" | "no_permission" => {
            "add the missing scope under OAuth & Permissions, Bot Token Scopes, and install the app again"
        }
        "org_login_required" | "two_factor_setup_required" => {
            "sign in to the workspace in a browser first: it asks for more than a token"
        }
        "access_denied"
        | "ekm_access_denied"
        | "enterprise_is_restricted"
        | "forbidden_team"
        | "team_access_not_granted"
        | "user_is_restricted" => "ask an administrator of the workspace to allow the app",
        "messages_tab_disabled" => {
            "switch on App Home, Messages Tab, and there \"Allow users to send messages\", on the app's page"
        }
        "channel_not_found" | "not_in_channel" | "is_archived" => {
            "this direct message is not the app's: check that the token and the user are of the same workspace"
        }
        "user_not_found" | "users_not_found" | "user_not_visible" | "invalid_users" => {
            "check the user's id: in Slack, profile, the three dots, Copy member ID (`U…`)"
        }
        "user_disabled" => "this user's account is deactivated: choose another user",
        "cannot_dm_bot" => "the id is a bot's: give the id of a person",
        "msg_too_long" | "msg_blocks_too_long" => "send the message in smaller parts",
        "thread_not_found" | "cannot_reply_to_message" => {
            "the thread's first message was deleted: start a new thread"
        }
        error if error.starts_with("restricted_action") => {
            "a setting of the workspace forbids this: ask an administrator"
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_of_one_kind_only() {
        let all = [&TOKEN[..], &CALL, &RATE_LIMIT, &HALF_WAY].concat();
        for (index, code) in all.iter().enumerate() {
            assert!(!all[..index].contains(code), "{code}");
        }
    }

    #[test]
    fn every_fault_of_the_token_says_what_to_do() {
        for code in TOKEN {
            assert!(hint(code, None).is_some(), "{code}");
        }
    }

    #[test]
    fn what_may_pass_by_itself_is_not_permanent() {
        for code in ["team_added_to_org", "accesslimited", "something_new", "ratelimited"] {
            assert!(!is_permanent(code), "{code}");
        }
        assert!(is_permanent("restricted_action_read_only_channel"));
    }
}
