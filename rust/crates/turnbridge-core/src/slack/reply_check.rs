//! Decides whether a Slack message is a reply for an agent. Only the configured user can make an
//! agent run, in their direct message with the app, in a thread of Turnbridge.
//!
//! The checks are in the order of the requirements: an empty text is dropped before its author is
//! checked (SLV-45). Messages of other users are dropped without an answer; the owner receives one
//! if the thread has no route (SLV-85).

use crate::ids::is_safe_component;
use crate::notices::route::Route;
use crate::replies::reply::{Reply, is_slack_ts};
use crate::replies::reply_wire::Reported;
use crate::slack::slack_decode::decode;
use crate::slack::thread_marks::ThreadKey;

/// The user whose replies count, and where they count.
#[derive(Debug, Clone, Copy)]
pub struct ReplyOwner<'a> {
    pub user_id: &'a str,
    /// `D…`, from `conversations.open`. `None`: not known yet; any direct message is accepted.
    pub dm_channel: Option<&'a str>,
    pub workspace: BotWorkspace<'a>,
    /// This machine, as its routes name it. `None`: not known; routes of any machine are accepted.
    pub machine: Option<&'a str>,
}

/// The workspace of the bot, as far as Slack has named it.
#[derive(Debug, Clone, Copy, Default)]
pub struct BotWorkspace<'a> {
    pub team_id: Option<&'a str>,
    /// The organisation, in an Enterprise Grid.
    pub enterprise_id: Option<&'a str>,
}

impl BotWorkspace<'_> {
    /// Returns whether an event that names these is of another workspace. If Slack names no team,
    /// the event is not foreign. An app that is installed for a whole organisation receives the
    /// events of all its workspaces, or with the organisation in the team's place.
    fn is_foreign(&self, team_id: Option<&str>, enterprise_id: Option<&str>) -> bool {
        let (Some(own), Some(team)) = (self.team_id, team_id) else { return false };
        let of_organisation = |own: &str| enterprise_id == Some(own) || team == own;
        own != team && !self.enterprise_id.is_some_and(of_organisation)
    }
}

/// The verdict on a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Checked {
    /// The reply is to be run.
    Accepted { reply: Reply, route: Route },
    /// The owner's reply, but its session is not known: the owner receives a message (SLV-85).
    NoRoute(Reply),
    /// Only the log mentions it.
    Dropped(DropReason),
}

impl Checked {
    /// Returns the word for the log.
    pub const fn word(&self) -> &'static str {
        match self {
            Checked::Accepted { .. } => "accepted",
            Checked::NoRoute(_) => "no_route",
            Checked::Dropped(drop) => drop.as_str(),
        }
    }
}

/// Why a message is no reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DropReason {
    /// It is not a message, or a message without its time.
    NoMessage,
    Empty,
    Bot,
    Subtype,
    OtherUser,
    /// An event of a workspace that is not the bot's.
    OtherTeam,
    OtherChannel,
    NoThread,
}

impl DropReason {
    pub const fn as_str(self) -> &'static str {
        match self {
            DropReason::NoMessage => "no_message",
            DropReason::Empty => "empty_text",
            DropReason::Bot => "bot",
            DropReason::Subtype => "subtype",
            DropReason::OtherUser => "other_user",
            DropReason::OtherTeam => "other_team",
            DropReason::OtherChannel => "other_channel",
            DropReason::NoThread => "no_thread",
        }
    }
}

/// Subtypes of typed messages: "also send to channel", and a file with a text (X29).
const TYPED: [&str; 2] = ["thread_broadcast", "file_share"];

/// Returns the verdict on a message; `reported` is `None` if it was unreadable. `routes` are oldest
/// first.
pub fn check_reply(reported: Option<Reported>, owner: ReplyOwner<'_>, routes: &[Route]) -> Checked {
    let reply = match check_message(reported, owner) {
        Ok(reply) => reply,
        Err(drop) => return Checked::Dropped(drop),
    };
    let is_of_thread = |route: &&Route| {
        reply.thread.as_ref().is_some_and(|it| route.is_of(&it.channel, &it.thread_ts))
    };
    let is_here = |route: &&Route| {
        let is_elsewhere = route.machine.as_deref().zip(owner.machine);
        is_valid(route) && is_elsewhere.is_none_or(|(theirs, own)| theirs == own)
    };
    match routes.iter().rev().find(is_of_thread).filter(is_here) {
        Some(route) => Checked::Accepted { route: route.clone(), reply },
        None => Checked::NoRoute(reply),
    }
}

/// Returns the reply in a message if the owner wrote it in the direct message, else why not. The
/// thread's route is not checked.
pub fn check_message(
    reported: Option<Reported>,
    owner: ReplyOwner<'_>,
) -> Result<Reply, DropReason> {
    let reported = reported.filter(|reported| reported.is_message).ok_or(DropReason::NoMessage)?;
    let text = decode(&reported.text.unwrap_or_default());
    if text.trim().is_empty() {
        return Err(DropReason::Empty);
    }
    if reported.is_by_bot {
        return Err(DropReason::Bot);
    }
    if reported.subtype.is_some_and(|subtype| !TYPED.contains(&subtype.as_str())) {
        return Err(DropReason::Subtype);
    }
    let user = reported.user.filter(|user| user == owner.user_id).ok_or(DropReason::OtherUser)?;
    if owner.workspace.is_foreign(reported.team_id.as_deref(), reported.enterprise_id.as_deref()) {
        return Err(DropReason::OtherTeam);
    }
    let is_direct = reported.channel_type.as_deref() == Some("im");
    let is_channel = |channel: &String| {
        let is_direct = is_direct && channel.starts_with('D') && is_safe_component(channel);
        is_direct && owner.dm_channel.is_none_or(|own| own == channel)
    };
    let channel = reported.channel.filter(is_channel).ok_or(DropReason::OtherChannel)?;
    let ts = reported.ts.filter(|ts| is_slack_ts(ts)).ok_or(DropReason::NoMessage)?;
    let is_thread = |thread: &String| *thread != ts && is_slack_ts(thread);
    let thread_ts = reported.thread_ts.filter(is_thread).ok_or(DropReason::NoThread)?;
    let reply = Reply::from_slack(ThreadKey { channel, thread_ts }, ts, user, text);
    Ok(Reply { event_id: reported.event_id, ..reply })
}

/// Returns whether the route's id is a UUID, as both agents' are: it becomes an argument (SLV-48).
pub fn is_valid(route: &Route) -> bool {
    route.session.resumable().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::NamedSession;
    use crate::replies::reply_wire::{read_event, read_fetched};
    use crate::timestamp::Timestamp;
    use serde_json::{Value, json};

    const ID: &str = "825c8529-ee09-4cb8-8902-dd785b12ca0a";

    fn route(agent: &str, session_id: &str) -> Route {
        let session = NamedSession::of(agent, session_id);
        Route {
            cwd: Some("/home/user/project".into()),
            ..Route::new("D1", "1700000000.000100", session, Timestamp::default())
        }
    }

    /// A thread reply as Slack sends it (facts: rule 24), with some fields replaced; null removes.
    fn payload(changes: Value) -> Vec<u8> {
        let mut event = json!({
            "user": "U1", "type": "message", "ts": "1700000001.000200", "client_msg_id": "c",
            "text": "go on", "team": "T1", "thread_ts": "1700000000.000100", "parent_user_id": "U9",
            "blocks": [{"type": "rich_text"}], "channel": "D1", "event_ts": "1700000001.000200",
            "channel_type": "im",
        });
        for (key, value) in changes.as_object().unwrap() {
            if value.is_null() {
                event.as_object_mut().unwrap().remove(key);
            } else {
                event[key] = value.clone();
            }
        }
        let payload = json!({
            "token": "x", "team_id": "T1", "api_app_id": "A1", "event": event,
            "type": "event_callback", "event_id": "Ev1", "event_time": 1_700_000_001,
        });
        payload.to_string().into_bytes()
    }

    const OWNER: ReplyOwner<'static> = ReplyOwner {
        user_id: "U1",
        dm_channel: Some("D1"),
        workspace: BotWorkspace { team_id: Some("T1"), enterprise_id: None },
        machine: Some("m1"),
    };

    fn check(changes: Value) -> Checked {
        check_reply(read_event(&payload(changes)), OWNER, &[route("claude", ID)])
    }

    #[track_caller]
    fn dropped(changes: Value, drop: DropReason) {
        assert_eq!(check(changes.clone()), Checked::Dropped(drop), "{changes}");
    }

    /// SLV-43, X29.
    #[test]
    fn slv_23_41_47_the_owners_reply_in_a_thread_of_ours_is_accepted() {
        let Checked::Accepted { reply: said, route } = check(json!({
            "text": "a &lt; b <@U2>", "blocks": [{"type": "markdown", "text": "other words"}],
            "attachments": [{"text": "other words"}], "files": [{"title": "other words"}],
        })) else {
            panic!("not accepted")
        };
        assert_eq!(said.text, "a < b @U2");
        assert_eq!(route.session.id_text(), ID);
        let reply = said.addressed(Some(&route), Timestamp::default());
        assert_eq!(reply.id, "slack-D1-1700000001.000200");
        assert!(crate::replies::reply::is_reply_id(&reply.id));
        assert_eq!(reply.event_id.as_deref(), Some("Ev1"));
        assert_eq!(reply.cwd.as_deref(), Some("/home/user/project"));
        for subtype in ["thread_broadcast", "file_share"] {
            assert_eq!(check(json!({"subtype": subtype})).word(), "accepted", "{subtype}");
        }
    }

    #[test]
    fn slv_45_an_empty_text_is_nothing_whoever_wrote_it() {
        for text in [json!(""), json!(" \n\t"), json!("\u{a0}\u{3000}"), Value::Null, json!(7)] {
            dropped(json!({"text": text}), DropReason::Empty);
            let worse = json!({"text": text, "user": "U2", "bot_id": "B1", "subtype": "x"});
            dropped(worse, DropReason::Empty);
        }
    }

    #[test]
    fn slv_42_44_bots_edits_and_other_subtypes_are_out() {
        dropped(json!({"bot_id": "B1"}), DropReason::Bot);
        dropped(json!({"bot_profile": {"id": "B1"}}), DropReason::Bot);
        dropped(json!({"app_id": "A1"}), DropReason::Bot);
        for subtype in [
            json!("message_changed"),
            json!("message_deleted"),
            json!("bot_message"),
            json!("me_message"),
            json!("assistant_app_thread"),
            json!(""),
            json!(1),
        ] {
            dropped(json!({"subtype": subtype}), DropReason::Subtype);
        }
    }

    /// SLV-2, SLV-17.
    #[test]
    fn strangers_other_channels_and_messages_outside_threads_are_out() {
        dropped(json!({"user": "U2"}), DropReason::OtherUser);
        dropped(json!({"user": null}), DropReason::OtherUser);
        dropped(json!({"channel": "D2"}), DropReason::OtherChannel);
        dropped(json!({"channel_type": "channel"}), DropReason::OtherChannel);
        dropped(json!({"channel_type": null}), DropReason::OtherChannel);
        dropped(json!({"thread_ts": null}), DropReason::NoThread);
        dropped(json!({"thread_ts": "1700000001.000200"}), DropReason::NoThread);
        dropped(json!({"thread_ts": "../../x"}), DropReason::NoThread);
        dropped(json!({"type": "reaction_added"}), DropReason::NoMessage);
        dropped(json!({"ts": "../x"}), DropReason::NoMessage);
        for junk in [&b""[..], b"{", b"[]", b"{\"event\":1}", b"\xff\xfe", b"null"] {
            let checked = check_reply(read_event(junk), OWNER, &[]);
            assert_eq!(checked, Checked::Dropped(DropReason::NoMessage));
        }
    }

    #[test]
    fn the_order_of_the_checks_is_fixed() {
        let mut changes = json!({
            "text": "", "bot_id": "B1", "subtype": "x", "user": "U2", "channel": "D2", "thread_ts": null,
        });
        for (key, drop) in [
            ("text", DropReason::Empty),
            ("bot_id", DropReason::Bot),
            ("subtype", DropReason::Subtype),
            ("user", DropReason::OtherUser),
            ("channel", DropReason::OtherChannel),
            ("thread_ts", DropReason::NoThread),
        ] {
            dropped(changes.clone(), drop);
            changes.as_object_mut().unwrap().remove(key);
        }
        assert_eq!(check(changes).word(), "accepted");
    }

    #[test]
    fn slv_48_79_a_route_that_is_missing_or_invalid_is_none() {
        let with = |routes: &[Route]| check_reply(read_event(&payload(json!({}))), OWNER, routes);
        let other = |channel: &str, thread_ts: &str| Route {
            channel: channel.into(),
            thread_ts: thread_ts.into(),
            ..route("claude", ID)
        };
        for routes in [
            vec![],
            vec![route("rm", ID)],
            vec![route("claude", "../../x")],
            vec![route("claude", "")],
            vec![route("codex", "last")],
            vec![other("D2", "1700000000.000100")],
            vec![other("D1", "1700000000.0001")],
            // The last line counts.
            vec![route("claude", ID), route("rm", ID)],
        ] {
            assert_eq!(with(&routes).word(), "no_route", "{routes:?}");
        }
        assert_eq!(with(&[route("rm", ID), route("codex", ID)]).word(), "accepted");
    }

    #[test]
    fn a_route_of_another_machine_leads_to_nothing_here() {
        let with = |machine: Option<&str>| {
            let route = Route { machine: machine.map(str::to_owned), ..route("claude", ID) };
            check_reply(read_event(&payload(json!({}))), OWNER, &[route]).word()
        };
        assert_eq!(
            [with(None), with(Some("m1")), with(Some("m2"))],
            ["accepted", "accepted", "no_route"]
        );
    }

    #[test]
    fn an_event_of_another_workspace_is_out_and_one_that_names_none_is_not() {
        let said = |team: Value, enterprise: Value, owner: ReplyOwner<'_>| {
            let mut payload: Value = serde_json::from_slice(&payload(json!({}))).unwrap();
            payload["team_id"] = team;
            payload["context_enterprise_id"] = enterprise;
            let reported = read_event(payload.to_string().as_bytes());
            check_reply(reported, owner, &[route("claude", ID)]).word()
        };
        let null = || Value::Null;
        assert_eq!(said(json!("T1"), null(), OWNER), "accepted");
        assert_eq!(said(json!("T2"), null(), OWNER), "other_team");
        assert_eq!(said(json!("T2"), json!("E1"), OWNER), "other_team");
        assert_eq!(said(null(), null(), OWNER), "accepted");
        let unknown = ReplyOwner { workspace: BotWorkspace::default(), ..OWNER };
        assert_eq!(said(json!("T2"), null(), unknown), "accepted");
        let workspace = BotWorkspace { team_id: Some("T1"), enterprise_id: Some("E1") };
        let grid = ReplyOwner { workspace, ..OWNER };
        assert_eq!(said(json!("T2"), json!("E1"), grid), "accepted");
        assert_eq!(said(json!("E1"), null(), grid), "accepted");
        assert_eq!(said(json!("T2"), json!("E2"), grid), "other_team");
        assert_eq!(said(json!("T2"), null(), grid), "other_team");
    }

    #[test]
    fn until_the_direct_message_is_known_any_may_be_it_but_no_channel() {
        let early = |changes: Value| {
            let owner = ReplyOwner { dm_channel: None, ..OWNER };
            check_message(read_event(&payload(changes)), owner)
                .map(|reply| reply.thread.unwrap().channel)
        };
        assert_eq!(early(json!({"channel": "D2"})), Ok("D2".to_owned()));
        assert_eq!(early(json!({"channel": "C2"})), Err(DropReason::OtherChannel));
        assert_eq!(early(json!({"channel": "D/../x"})), Err(DropReason::OtherChannel));
        assert_eq!(early(json!({"user": "U2"})), Err(DropReason::OtherUser));
        assert_eq!(early(json!({"thread_ts": null})), Err(DropReason::NoThread));
    }

    #[test]
    fn what_is_fetched_after_a_gap_is_checked_alike() {
        let message = json!({
            "user": "U1", "type": "message", "ts": "1700000001.000200", "text": "go on",
            "thread_ts": "1700000000.000100",
        });
        let fetched = |message: &Value| {
            let reported = read_fetched(message.to_string().as_bytes(), "D1");
            check_reply(reported, OWNER, &[route("claude", ID)])
        };
        assert_eq!(fetched(&message).word(), "accepted");
        let mut own = message.clone();
        own["bot_id"] = json!("B1");
        assert_eq!(fetched(&own).word(), "bot");
    }
}
