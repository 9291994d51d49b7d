//! Defines the scripted replies of a model, `ModelReply`, and their queues, `Script`: one for the
//! main conversation and one per marked conversation. `Script::next` takes the next reply of a
//! conversation. `message_wire.rs` and `response_wire.rs` write the replies in the wire formats.

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::Value;

/// One reply of the model, or one failure of the API.
#[derive(Clone, Debug)]
pub struct ModelReply {
    pub(crate) body: ReplyBody,
    pub(crate) before_first_byte: Duration,
    pub(crate) after_first_text: Duration,
}

/// The content of a reply.
#[derive(Clone, Debug)]
pub(crate) enum ReplyBody {
    Message(Vec<ReplyBlock>),
    Error { status: u16, kind: String, message: String },
}

/// A part of a message.
#[derive(Clone, Debug)]
pub(crate) enum ReplyBlock {
    Text(String),
    ToolUse { name: String, input: Value },
}

impl ModelReply {
    /// Returns a message of one text block. It ends the turn unless a tool call is added.
    pub fn text(text: &str) -> ModelReply {
        ModelReply::of(ReplyBody::Message(vec![ReplyBlock::Text(text.to_owned())]))
    }

    /// Returns a message of one tool call.
    pub fn tool(name: &str, input: Value) -> ModelReply {
        ModelReply::of(ReplyBody::Message(vec![ReplyBlock::ToolUse {
            name: name.to_owned(),
            input,
        }]))
    }

    /// Returns a reply that fails the request, for example `(529, "overloaded_error",
    /// "Overloaded")`.
    pub fn error(status: u16, kind: &str, message: &str) -> ModelReply {
        ModelReply::of(ReplyBody::Error {
            status,
            kind: kind.to_owned(),
            message: message.to_owned(),
        })
    }

    /// Adds a text block to the same message.
    #[track_caller]
    pub fn and_text(self, text: &str) -> ModelReply {
        self.with_block(ReplyBlock::Text(text.to_owned()))
    }

    /// Adds a tool call to the same message: the agent gets them together and may run them in
    /// parallel.
    #[track_caller]
    pub fn and_tool(self, name: &str, input: Value) -> ModelReply {
        self.with_block(ReplyBlock::ToolUse { name: name.to_owned(), input })
    }

    /// Delays the whole response, even the status line, so that a test can press Esc before the
    /// first token.
    pub fn delayed(mut self, before_first_byte: Duration) -> ModelReply {
        self.before_first_byte = before_first_byte;
        self
    }

    /// Pauses the stream after the first paragraph of the first text (if it has several) or after
    /// its first word, so that a test can press Esc meanwhile. Claude shows only whole lines, so a
    /// test that waits for the screen needs two paragraphs. Has no effect on a request that does
    /// not stream.
    pub fn pausing(mut self, after_first_text: Duration) -> ModelReply {
        self.after_first_text = after_first_text;
        self
    }

    fn of(body: ReplyBody) -> ModelReply {
        ModelReply { body, before_first_byte: Duration::ZERO, after_first_text: Duration::ZERO }
    }

    #[track_caller]
    fn with_block(mut self, block: ReplyBlock) -> ModelReply {
        match &mut self.body {
            ReplyBody::Message(blocks) => blocks.push(block),
            ReplyBody::Error { .. } => panic!("an API error has no content blocks"),
        }
        self
    }
}

/// The replies of a whole test: a queue for the main conversation, and one per marked conversation.
#[derive(Clone, Debug, Default)]
pub struct Script {
    main: VecDeque<ModelReply>,
    marked: Vec<(String, VecDeque<ModelReply>)>,
}

impl Script {
    pub fn new() -> Script {
        Script::default()
    }

    /// Queues a reply for the main conversation.
    pub fn then(mut self, reply: ModelReply) -> Script {
        self.push(reply);
        self
    }

    /// Queues replies for the conversation whose first user message contains `marker`. A
    /// sub-agent's first message is the prompt from the main conversation.
    pub fn on(mut self, marker: &str, replies: Vec<ModelReply>) -> Script {
        self.push_on(marker, replies);
        self
    }

    pub(crate) fn push(&mut self, reply: ModelReply) {
        self.main.push_back(reply);
    }

    pub(crate) fn push_on(&mut self, marker: &str, replies: Vec<ModelReply>) {
        match self.marked.iter_mut().find(|(known, _)| known == marker) {
            Some((_, queue)) => queue.extend(replies),
            None => self.marked.push((marker.to_owned(), replies.into())),
        }
    }

    /// Returns the reply for a conversation that began with `first_user_text`; `ok.` if its queue
    /// is empty.
    pub(crate) fn next(&mut self, first_user_text: &str) -> ModelReply {
        let marked = self.next_marked(first_user_text);
        marked.unwrap_or_else(|| self.main.pop_front().unwrap_or_else(ok))
    }

    /// Returns the reply for a marked conversation, or `None` for any other.
    pub(crate) fn next_marked(&mut self, first_user_text: &str) -> Option<ModelReply> {
        let mut marked = self.marked.iter_mut();
        let (_, queue) = marked.find(|(marker, _)| first_user_text.contains(marker.as_str()))?;
        Some(queue.pop_front().unwrap_or_else(ok))
    }
}

fn ok() -> ModelReply {
    ModelReply::text("ok.")
}

impl From<Vec<ModelReply>> for Script {
    fn from(replies: Vec<ModelReply>) -> Script {
        Script { main: replies.into(), marked: Vec::new() }
    }
}
