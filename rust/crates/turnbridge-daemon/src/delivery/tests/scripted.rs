//! Helpers of the delivery tests: a channel that refuses a given list of posts and accepts all
//! later ones, and a record of pauses.

use std::collections::VecDeque;

use super::*;

#[derive(Default)]
pub struct Scripted {
    pub name: Option<ChannelName>,
    pub refusals: VecDeque<ChannelError>,
    /// The texts of all posts, including refused ones.
    pub posts: Vec<String>,
    /// The parents of the threads that lead to a session.
    pub routes: Vec<String>,
    /// Takes the parent only.
    pub refuses_answers: bool,
}

impl Scripted {
    pub fn refusing(refusals: impl IntoIterator<Item = ChannelError>) -> Scripted {
        Scripted { refusals: refusals.into_iter().collect(), ..Scripted::default() }
    }
}

impl Channel for Scripted {
    fn name(&self) -> ChannelName {
        self.name.clone().unwrap_or(ChannelName::SLACK)
    }

    fn render(&self, _: &Notice, _: FoundTexts) -> Vec<NoticeMessage> {
        messages()
    }

    fn begin(&mut self) -> Result<ThreadStart, ChannelError> {
        Ok(ThreadStart { place: "D1".to_owned(), after: None })
    }

    fn post(&mut self, post: &ChannelPost<'_>) -> Result<String, ChannelError> {
        if self.refuses_answers && post.parent.is_some() {
            return Err(ChannelError::Permanent { cause: "is_archived".to_owned(), hint: None });
        }
        self.posts.push(post.message.text.clone());
        let refusal = self.refusals.pop_front();
        refusal.map_or_else(|| Ok(format!("{}.000000", self.posts.len())), Err)
    }

    fn update(&mut self, _: &str, _: &str, _: &NoticeMessage) -> Result<(), ChannelError> {
        unreachable!("a delivery changes nothing")
    }

    fn find(&mut self, _: &ChannelSearch<'_>) -> Result<Option<String>, ChannelError> {
        Ok(None)
    }

    fn keep_route(&mut self, _: &Notice, _: &str, parent: &str) -> std::io::Result<()> {
        self.routes.push(parent.to_owned());
        Ok(())
    }
}

/// Records sleeps instead of sleeping.
#[derive(Default)]
pub struct RecordedPauses(pub RefCell<Vec<Duration>>);

impl Pace for RecordedPauses {
    fn sleep(&self, time: Duration) {
        self.0.borrow_mut().push(time);
    }
}
