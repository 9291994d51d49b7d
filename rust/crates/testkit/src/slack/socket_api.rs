//! Adds the methods of `SlackApi` by which tests control Socket Mode: they send messages as users,
//! break sockets, and return the records of sockets and events.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tungstenite::Message;

use super::deliveries::{Ack, EnvelopeShape, EventDelivery, EventFate};
use super::sockets::{Cut, Greeting, SlackSocket, SocketState};
use super::workspace::{AppEvent, SlackMessage};
use super::{SlackApi, escape, events};
use crate::wait::wait_until;

impl SlackApi {
    /// Posts a message of the owner and sends its event. Returns the `ts`.
    #[track_caller]
    pub fn say(&self, thread: Option<&str>, text: &str) -> String {
        let owner = self.server.shared.lock().workspace.setup.owner.clone();
        self.say_as(&owner, thread, text)
    }

    /// Posts a message of any user in their own direct message with the app, and sends its event.
    /// Returns the `ts`.
    #[track_caller]
    pub fn say_as(&self, user: &str, thread: Option<&str>, text: &str) -> String {
        let ts = self.post_as(user, thread, text);
        self.tell_of(&ts);
        ts
    }

    /// Posts a message of the owner with a file: such a message has a subtype, and perhaps no text.
    /// Returns the `ts`.
    #[track_caller]
    pub fn say_with_file(&self, thread: Option<&str>, text: &str, file: &str) -> String {
        let ts = self.post_as_user(thread, text);
        self.change_message(&ts, |message| {
            let id = format!("F0{}", file.len());
            let file = json!({"id": id, "name": file, "mode": "hosted", "user": message.user});
            message.extra.insert("subtype".to_owned(), "file_share".into());
            message.extra.insert("files".to_owned(), json!([file]));
        });
        self.tell_of(&ts);
        ts
    }

    /// Posts a reply of the owner that is also shown in the channel. Returns the `ts`.
    #[track_caller]
    pub fn broadcast_reply(&self, thread: &str, text: &str) -> String {
        let ts = self.post_as_user(Some(thread), text);
        self.change_message(&ts, |message| {
            message.extra.insert("subtype".to_owned(), "thread_broadcast".into());
        });
        self.tell_of(&ts);
        ts
    }

    /// Posts a message of another app into the owner's direct message. Returns the `ts`.
    #[track_caller]
    pub fn say_as_bot(&self, bot_id: &str, thread: Option<&str>, text: &str) -> String {
        let ts = self.post_as_user(thread, text);
        self.change_message(&ts, |message| {
            message.bot_id = Some(bot_id.to_owned());
            message.client_msg_id = None;
        });
        self.tell_of(&ts);
        ts
    }

    /// Edits a message as its author.
    #[track_caller]
    pub fn edit(&self, ts: &str, text: &str) {
        let edited_ts = self.server.shared.lock().workspace.next_ts();
        let (before, after) = self.change_message(ts, |message| {
            message.text = escape(text);
            message.edited_ts = Some(edited_ts.clone());
        });
        let mut state = self.server.shared.lock();
        let event = events::message_changed(&state.workspace, &before, &after, &edited_ts);
        state.workspace.raise(event);
        drop(state);
        self.server.shared.notify();
    }

    /// Deletes a message as its author.
    #[track_caller]
    pub fn delete(&self, ts: &str) {
        let mut state = self.server.shared.lock();
        let removed = state.workspace.remove(ts);
        let removed_ts = state.workspace.next_ts();
        let event =
            removed.map(|removed| events::message_deleted(&state.workspace, &removed, &removed_ts));
        let is_found = event.is_some();
        event.into_iter().for_each(|event| state.workspace.raise(event));
        drop(state);
        assert!(is_found, "there is no message `{ts}` to delete");
        self.server.shared.notify();
    }

    /// Sends any event, such as a forged one: `event` is the content of the callback.
    pub fn raise(&self, event: Value) {
        self.server.shared.lock().workspace.raise(event);
        self.server.shared.notify();
    }

    /// Sends a payload that is no event: a button click (`interactive`), a command
    /// (`slash_commands`).
    pub fn raise_other(&self, kind: &str, payload: Value) {
        let raised = AppEvent::Other { kind: kind.to_owned(), payload };
        self.server.shared.lock().workspace.raised.push(raised);
        self.server.shared.notify();
    }

    /// Sends a text that is no envelope to every open socket. Returns their number.
    pub fn send_text(&self, text: &str) -> usize {
        self.broadcast(Message::text(text.to_owned()))
    }

    /// Sends bytes that are no envelope to every open socket. Returns their number.
    pub fn send_binary(&self, bytes: &[u8]) -> usize {
        self.broadcast(Message::binary(bytes.to_vec()))
    }

    /// Queues the forms of the next envelopes, one for each.
    pub fn shape(&self, shapes: impl IntoIterator<Item = EnvelopeShape>) {
        self.server.shared.lock().sockets.shapes.extend(shapes);
    }

    /// Queues the greetings of the next sockets, one for each.
    pub fn greet(&self, greetings: impl IntoIterator<Item = Greeting>) {
        self.server.shared.lock().sockets.greetings.extend(greetings);
    }

    /// Breaks every open socket in this way. Returns their number.
    pub fn kill(&self, cut: Cut) -> usize {
        let lines = self.server.shared.lock().sockets.cut(cut);
        for line in &lines {
            match cut {
                Cut::Reset | Cut::HalfOpen => line.wake_reader(),
                Cut::Fin => line.finish_writing(),
                Cut::Close(code) => line.close(code),
            }
        }
        lines.len()
    }

    /// Sends `disconnect` to every open socket and ends it after `disconnect_grace`. Returns their
    /// number.
    pub fn disconnect(&self, reason: &str) -> usize {
        let mut state = self.server.shared.lock();
        let close_at = Instant::now() + state.workspace.setup.disconnect_grace;
        let count = state.sockets.tell(reason, close_at);
        drop(state);
        self.server.shared.notify();
        count
    }

    /// Requests new connections in place of the open ones, as Slack does every few hours. Returns
    /// the number of open ones.
    pub fn refresh(&self) -> usize {
        self.disconnect("refresh_requested")
    }

    /// Returns every socket so far, in order.
    pub fn sockets(&self) -> Vec<SlackSocket> {
        self.server.shared.lock().sockets.all()
    }

    /// Returns the sockets that Slack counts as connected, after `hello`.
    pub fn open_sockets(&self) -> Vec<SlackSocket> {
        let is_open = |socket: &SlackSocket| socket.state == SocketState::Open;
        self.sockets().into_iter().filter(is_open).collect()
    }

    /// Returns every ack so far, in order.
    pub fn acks(&self) -> Vec<Ack> {
        self.server.shared.lock().sockets.deliveries.acks()
    }

    /// Returns every attempt to deliver an event, in order.
    pub fn deliveries(&self) -> Vec<EventDelivery> {
        self.server.shared.lock().sockets.deliveries.log()
    }

    /// Returns every event so far, in order.
    pub fn events(&self) -> Vec<EventFate> {
        self.server.shared.lock().sockets.deliveries.fates()
    }

    /// Returns the client's violations of Slack's rules.
    pub fn violations(&self) -> Vec<String> {
        self.server.shared.lock().sockets.violations.clone()
    }

    /// Waits until exactly `count` sockets are open, after `hello` and without a `disconnect`.
    /// Returns them.
    #[track_caller]
    pub fn wait_for_sockets(&self, count: usize, timeout: Duration) -> Vec<SlackSocket> {
        wait_until(timeout, &format!("{count} open sockets"), || {
            let mut open = self.open_sockets();
            open.retain(|socket| socket.told.is_none());
            Some(open).filter(|open| open.len() == count)
        })
    }

    /// Waits until every event so far was acked. Returns them.
    #[track_caller]
    pub fn wait_for_all_acked(&self, timeout: Duration) -> Vec<EventFate> {
        wait_until(timeout, "an ack for every event", || {
            let is_quiet = self.server.shared.lock().workspace.raised.is_empty();
            let events = self.events();
            let is_acked = events.iter().all(|event| event.acked_attempt.is_some());
            (is_quiet && is_acked).then_some(events)
        })
    }

    fn broadcast(&self, message: Message) -> usize {
        let count = self.server.shared.lock().sockets.broadcast(&[message]);
        self.server.shared.notify();
        count
    }

    /// Raises the event of an existing message.
    #[track_caller]
    fn tell_of(&self, ts: &str) {
        let mut state = self.server.shared.lock();
        let message = state.workspace.find_by_ts(ts).cloned();
        let event = message.map(|message| events::message_posted(&state.workspace, &message));
        event.into_iter().for_each(|event| state.workspace.raise(event));
        drop(state);
        self.server.shared.notify();
    }

    /// Changes a message. Returns it before and after.
    #[track_caller]
    fn change_message(
        &self,
        ts: &str,
        change: impl FnOnce(&mut SlackMessage),
    ) -> (SlackMessage, SlackMessage) {
        let mut state = self.server.shared.lock();
        let found = state.workspace.find_by_ts_mut(ts).map(|message| {
            let before = message.clone();
            change(message);
            (before, message.clone())
        });
        drop(state);
        found.unwrap_or_else(|| panic!("there is no message `{ts}`"))
    }
}
