//! Runs a loopback Slack with Web API and Socket Mode. It is as strict as Slack is known to be, and
//! fails as a test demands. It records posts, calls, deliveries, and a client's violations of
//! Slack's rules. This module has the methods by which tests control it, except those of Socket
//! Mode (`socket_api.rs`).
//!
//! It was never compared with the real Slack. Slack's own SDK runs against it in `tests/slack-sdk`.

mod arguments;
mod blocks;
mod chat;
mod deliveries;
mod events;
mod exchange;
mod faults;
mod history;
mod methods;
mod server;
mod setup;
mod socket_api;
mod socket_session;
mod socket_wire;
mod sockets;
mod tls;
mod workspace;

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Map, json};

use crate::wait::wait_until;
use server::{Port, SlackServer};
use tls::LoopbackAuthority;
use workspace::SlackWorkspace;

pub use deliveries::{Ack, EnvelopeShape, EventDelivery, EventFate};
pub use exchange::{CallOutcome, SlackCall};
pub use faults::{FaultMix, FaultMoment, SlackFault};
pub use methods::CallToken;
pub use setup::SlackSetup;
pub use sockets::{Cut, Greeting, SlackSocket, SocketState};
pub use workspace::{SlackMessage, SlackThread};

/// A running loopback Slack. A drop stops it.
pub struct SlackApi {
    server: SlackServer,
    authority: Option<LoopbackAuthority>,
}

impl SlackApi {
    /// Starts a server without TLS on a free loopback port.
    #[track_caller]
    pub fn start(setup: SlackSetup) -> SlackApi {
        SlackApi { server: SlackServer::start(SlackWorkspace::new(setup), None), authority: None }
    }

    /// Starts a server with TLS. Its certificate is of an authority made for this server alone.
    #[track_caller]
    pub fn start_tls(setup: SlackSetup) -> SlackApi {
        let authority = LoopbackAuthority::new();
        let tls = Some(authority.server.clone());
        SlackApi {
            server: SlackServer::start(SlackWorkspace::new(setup), tls),
            authority: Some(authority),
        }
    }

    /// Returns the base URL. It ends with `/api/`; the method's name follows.
    pub fn base_url(&self) -> String {
        let scheme = if self.authority.is_some() { "https" } else { "http" };
        format!("{scheme}://{}/api/", self.server.address)
    }

    /// Writes the authority's certificate (PEM), which a client must trust.
    #[track_caller]
    pub fn ca_file(&self, path: &Path) {
        let authority = self.authority.as_ref().expect("only `start_tls` makes an authority");
        fs::write(path, &authority.pem)
            .unwrap_or_else(|error| panic!("write `{}`: {error}", path.display()));
    }

    /// Refuses connections and ends open ones. Posts stay.
    #[track_caller]
    pub fn down(&self) {
        self.set_port(Port::Down);
    }

    /// Accepts connections again at the same port.
    #[track_caller]
    pub fn up(&self) {
        self.set_port(Port::Up);
    }

    #[track_caller]
    fn set_port(&self, port: Port) {
        assert!(self.server.set_port(port), "the loopback Slack lost its port to another program");
    }

    /// Queues faults for the next calls of `method`, or of any method with `*`, one for each call.
    pub fn fail(&self, method: &str, faults: impl IntoIterator<Item = SlackFault>) {
        self.server.shared.lock().faults.push(method, faults);
    }

    /// Makes every later call of `method` fail whose argument has this value, or any value with
    /// `*`.
    pub fn fail_where(&self, method: &str, argument: &str, value: &str, fault: SlackFault) {
        self.server.shared.lock().faults.push_where(method, argument, value, fault);
    }

    /// Makes later calls of `method`, or of all methods with `*`, fail at random.
    pub fn fail_by_chance(&self, method: &str, mix: FaultMix) {
        self.server.shared.lock().faults.mix(method, mix);
    }

    /// Removes all faults, queued or random.
    pub fn heal(&self) {
        self.server.shared.lock().faults.clear();
    }

    /// Changes the setup of the running server: a revoked token, a missing scope.
    pub fn change(&self, change: impl FnOnce(&mut SlackSetup)) {
        change(&mut self.server.shared.lock().workspace.setup);
    }

    /// Returns the id of the direct message with the owner, and opens it if needed.
    pub fn direct_message(&self) -> String {
        let mut state = self.server.shared.lock();
        let owner = state.workspace.setup.owner.clone();
        state.workspace.open_direct_message(&owner).0
    }

    /// Adds a message of the owner to the app, in the thread of the message `thread` or outside of
    /// threads. Returns the `ts`. It sends no event: [`SlackApi::say`] does, with Socket Mode.
    #[track_caller]
    pub fn post_as_user(&self, thread: Option<&str>, text: &str) -> String {
        let owner = self.server.shared.lock().workspace.setup.owner.clone();
        self.post_as(&owner, thread, text)
    }

    /// Adds a message of any user in their own direct message with the app. Returns the `ts`.
    #[track_caller]
    pub fn post_as(&self, user: &str, thread: Option<&str>, text: &str) -> String {
        let mut state = self.server.shared.lock();
        let (channel, _) = state.workspace.open_direct_message(user);
        if let Some(thread) = thread {
            let parent = state.workspace.find(&channel, thread);
            let is_parent = parent.is_some_and(|parent| parent.thread_ts.is_none());
            if !is_parent {
                drop(state);
                panic!("`{thread}` is no parent in {channel}");
            }
        }
        let ts = state.workspace.next_ts();
        // A typed message also has blocks with the same text.
        let text_element = json!({"type": "text", "text": text});
        let section = json!({"type": "rich_text_section", "elements": [text_element]});
        state.workspace.add(SlackMessage {
            channel,
            ts: ts.clone(),
            thread_ts: thread.map(str::to_owned),
            user: user.to_owned(),
            bot_id: None,
            text: escape(text),
            blocks: Some(json!([{"type": "rich_text", "block_id": "b1", "elements": [section]}])),
            metadata: None,
            unfurl_links: None,
            unfurl_media: None,
            client_msg_id: Some(format!("loopback-{ts}")),
            edited_ts: None,
            extra: Map::new(),
        });
        ts
    }

    /// Adds a reply of the owner that is a moment older than the thread's newest one. Returns the
    /// `ts`.
    #[track_caller]
    pub fn show_late(&self, thread: &str, text: &str) -> String {
        let ts = self.post_as_user(Some(thread), text);
        let mut state = self.server.shared.lock();
        let mut late = state.workspace.remove(&ts).expect("it was said just now");
        let parent = state.workspace.find_by_ts(thread).expect("a parent").clone();
        let newest = state.workspace.replies(&parent).last().expect("a reply").ts.clone();
        let (seconds, micros) = newest.split_once('.').expect("a time");
        let micros: u64 = micros.parse().expect("microseconds");
        let micros = micros.checked_sub(1).expect("some microseconds");
        late.ts = format!("{seconds}.{micros:06}");
        let ts = late.ts.clone();
        state.workspace.add_before(&newest, late);
        ts
    }

    /// Returns all messages in a channel, replies too, in order.
    pub fn messages(&self, channel: &str) -> Vec<SlackMessage> {
        let state = self.server.shared.lock();
        state.workspace.messages(channel).into_iter().cloned().collect()
    }

    /// Returns every message that is no reply, with its replies, of all channels, in order.
    pub fn threads(&self) -> Vec<SlackThread> {
        self.server.shared.lock().workspace.threads()
    }

    /// Returns all calls so far, in the order of their effect.
    pub fn calls(&self) -> Vec<SlackCall> {
        self.server.shared.lock().calls.clone()
    }

    /// Returns all calls of this method so far, in the order of their effect.
    pub fn calls_of(&self, method: &str) -> Vec<SlackCall> {
        self.calls().into_iter().filter(|call| call.method == method).collect()
    }

    /// Waits until there are `count` calls of `method`, and returns all of them. The client may not
    /// have the last response yet.
    #[track_caller]
    pub fn wait_for_calls(&self, method: &str, count: usize, timeout: Duration) -> Vec<SlackCall> {
        wait_until(timeout, &format!("call number {count} of `{method}`"), || {
            Some(self.calls_of(method)).filter(|calls| calls.len() >= count)
        })
    }

    /// Waits until the channel has `count` messages, replies too, and returns all of them.
    #[track_caller]
    pub fn wait_for_messages(
        &self,
        channel: &str,
        count: usize,
        timeout: Duration,
    ) -> Vec<SlackMessage> {
        wait_until(timeout, &format!("message number {count} in {channel}"), || {
            Some(self.messages(channel)).filter(|messages| messages.len() >= count)
        })
    }

    /// Waits until a thread satisfies `wanted`, and returns it; `what` describes it in the error.
    #[track_caller]
    pub fn wait_for_thread(
        &self,
        what: &str,
        timeout: Duration,
        wanted: impl Fn(&SlackThread) -> bool,
    ) -> SlackThread {
        wait_until(timeout, what, || self.threads().into_iter().find(|thread| wanted(thread)))
    }
}

/// Escapes typed text in Slack's way.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
