//! Asks for Slack's settings during the set-up, and tests them: two tokens, and the user whose
//! messages count. It writes no file.

use std::io::{self, BufRead};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use anyhow::Result;
use turnbridge_config::slack_connection::{speed_up, web_api};
use turnbridge_config::{SlackConfig, check_user_id};
use turnbridge_core::replies::reply_wire::{Reported, read_event};
use turnbridge_core::slack::owner_code::{CodeVerdict, OwnerCode};
use turnbridge_core::system::setup_texts::{SetupText, slack_advice};
use turnbridge_slack::{
    Accept, CallError, ConnectObstacle, Envelope, Post, SocketEvent, SocketMode, Timing, Token,
    TokenKind, WebApi,
};
use turnbridge_system::config_file::explain;
use turnbridge_system::random;

use super::SetupOptions;
use super::dialogue::Dialogue;
use super::slack_app::{self, BOT_SCOPES};

/// The timeout, long enough to find the app in Slack.
const WAIT_FOR_OWNER: Duration = Duration::from_secs(300);
/// The poll interval, alternately for Enter and for Slack.
const LOOK: Duration = Duration::from_millis(100);

/// The entered settings, which were tested.
pub struct SlackEntries {
    pub bot_token: Token,
    pub app_token: Token,
    pub user_id: String,
}

pub struct SlackStep<'a> {
    pub dialogue: &'a Dialogue,
    pub options: &'a SetupOptions,
    /// The settings in the config, if there are any.
    pub before: Option<&'a SlackConfig>,
    /// Another API address than Slack's.
    pub api_url: Option<&'a str>,
    /// A daemon listens with the old tokens, and may receive the messages to the app.
    pub daemon_listens: bool,
}

impl SlackStep<'_> {
    /// Returns the settings, after each has passed its test.
    pub fn run(&self) -> Result<SlackEntries> {
        let piped = self.tokens_from_stdin()?;
        let kept = |token: Option<&Token>| token.filter(|_| self.keeps()).cloned();
        let bot = piped
            .bot
            .or_else(|| kept(self.before.map(|slack| &slack.bot_token)).map(TokenInput::Kept));
        let before_app = self.before.and_then(|slack| slack.app_token.as_ref());
        let app = piped.app.or_else(|| kept(before_app).map(TokenInput::Kept));
        if self.dialogue.is_interactive && (bot.is_none() || app.is_none()) {
            self.dialogue.say(SetupText::MakeTheApp, &[&slack_app::link()])?;
        }
        let (bot_token, (api, app_name)) =
            self.token(bot, TokenKind::Bot, |token| self.try_bot(token))?;
        let (app_token, ()) = self.token(app, TokenKind::App, |token| self.try_app(&api, token))?;
        let user_id = self.owner(&api, &bot_token, &app_token, &app_name)?;
        Ok(SlackEntries { bot_token, app_token, user_id })
    }

    /// Returns whether existing settings stay: without questions they do unless a flag replaces
    /// them.
    fn keeps(&self) -> bool {
        !self.dialogue.is_interactive
    }

    /// Reads the tokens: the bot's is the first line, or the app's if only that is announced.
    fn tokens_from_stdin(&self) -> Result<PipedTokens> {
        let next = |is_wanted: bool| -> Result<Option<TokenInput>> {
            if !is_wanted {
                return Ok(None);
            }
            let mut line = String::new();
            io::stdin().lock().read_line(&mut line)?;
            Ok(Some(TokenInput::Text(line.trim().to_owned())))
        };
        let bot = next(self.options.bot_token_stdin)?;
        Ok(PipedTokens { bot, app: next(self.options.app_token_stdin)? })
    }

    /// Accepts the given token, or asks until one works.
    fn token<T>(
        &self,
        given: Option<TokenInput>,
        kind: TokenKind,
        attempt: impl Fn(&Token) -> Result<T>,
    ) -> Result<(Token, T)> {
        let tried = |token: Token| attempt(&token).map(|found| (token, found));
        match given {
            Some(TokenInput::Kept(token)) => return tried(token),
            Some(TokenInput::Text(text)) => return tried(self.parse(kind, &text)?),
            None => {}
        }
        let (question, flag) = match kind {
            TokenKind::Bot => (SetupText::BotTokenQuestion, "--bot-token-stdin"),
            TokenKind::App => (SetupText::AppTokenQuestion, "--app-token-stdin"),
        };
        let before = self.before.and_then(|slack| match kind {
            TokenKind::Bot => Some(&slack.bot_token),
            TokenKind::App => slack.app_token.as_ref(),
        });
        loop {
            let text = self.dialogue.ask_secret(&self.dialogue.text(question, &[]), flag)?;
            // Enter keeps the existing token.
            let token = match before.filter(|_| text.is_empty()) {
                Some(before) => Ok(before.clone()),
                None => self.parse(kind, &text),
            };
            match token.and_then(tried) {
                Ok(found) => return Ok(found),
                Err(trouble) => self.dialogue.warn(&trouble)?,
            }
        }
    }

    fn parse(&self, kind: TokenKind, text: &str) -> Result<Token> {
        let (wrong, place) = match kind {
            TokenKind::Bot => (SetupText::NotABotToken, SetupText::BotTokenPlace),
            TokenKind::App => (SetupText::NotAnAppToken, SetupText::AppTokenPlace),
        };
        let is_empty = text.is_empty();
        let what = if is_empty { SetupText::EmptyAnswer } else { wrong };
        Token::parse(kind, text).ok_or_else(|| self.dialogue.trouble((what, &[]), (place, &[])))
    }

    /// Calls `auth.test`, and checks that all needed scopes are granted.
    fn try_bot(&self, token: &Token) -> Result<(Arc<WebApi>, String)> {
        let slack = SlackConfig {
            bot_token: token.clone(),
            app_token: None,
            api_url: self.api_url.map(str::to_owned),
            target_user_id: None,
        };
        let api = web_api(&slack).map_err(explain)?;
        let identity = api.auth_test(token).map_err(|error| self.explain(&error))?;
        let granted = identity.scopes.unwrap_or_default();
        let is_missing = |scope: &&str| !granted.iter().any(|granted| granted == scope);
        let missing: Vec<_> = BOT_SCOPES.into_iter().filter(is_missing).collect();
        // If a server returns no scopes, the later calls that need them will show it.
        if !granted.is_empty() && !missing.is_empty() {
            let missing = missing.join(", ");
            return Err(self
                .dialogue
                .trouble((SetupText::ScopesMissing, &[&missing]), (SetupText::ScopesAdvice, &[])));
        }
        let name = identity.user.unwrap_or_default();
        let team = identity.team.unwrap_or_default();
        self.dialogue.say(SetupText::BotTokenIsGood, &[&name, &team])?;
        Ok((Arc::new(api), name))
    }

    fn try_app(&self, api: &WebApi, token: &Token) -> Result<()> {
        api.open_socket(token).map_err(|error| self.explain(&error))?;
        self.dialogue.say(SetupText::AppTokenIsGood, &[])
    }

    fn owner(&self, api: &Arc<WebApi>, bot: &Token, app: &Token, app_name: &str) -> Result<String> {
        let before = self.before.and_then(|slack| slack.target_user_id.clone());
        let given = self.options.user.clone().or(before.filter(|_| self.keeps()));
        if let Some(user) = given {
            return self.checked_user(api, bot, &user);
        }
        if self.dialogue.is_interactive {
            self.dialogue.say(SetupText::OwnerAbout, &[])?;
            if !self.daemon_listens
                && let Some(user) = self.owner_who_writes(api, app, app_name)?
                && self.is_confirmed(api, bot, &user)?
            {
                return self.checked_user(api, bot, &user);
            }
        }
        loop {
            let question = self.dialogue.text(SetupText::OwnerQuestion, &[]);
            let user = self.dialogue.ask_line(&question, "--user")?;
            match self.checked_user(api, bot, &user) {
                Ok(user) => return Ok(user),
                Err(trouble) => self.dialogue.warn(&trouble)?,
            }
        }
    }

    /// Checks that the app can write to this user.
    fn checked_user(&self, api: &WebApi, bot: &Token, user: &str) -> Result<String> {
        if check_user_id(user).is_err() {
            let what = if user.is_empty() { SetupText::EmptyAnswer } else { SetupText::NotAUserId };
            return Err(self.dialogue.trouble((what, &[user]), (SetupText::UserIdForm, &[])));
        }
        api.open_dm(bot, user).map_err(|error| self.explain(&error))?;
        Ok(user.to_owned())
    }

    /// Finds the user as the author of words that only this terminal shows. This also proves the
    /// whole path back. Returns `None` if no message came, or if the user prefers to type.
    fn owner_who_writes(
        &self,
        api: &Arc<WebApi>,
        app: &Token,
        app_name: &str,
    ) -> Result<Option<String>> {
        let code = OwnerCode::new(random::six_digits()?);
        let (sender, messages) = channel();
        let keep = move |envelope: &Envelope<'_>| {
            pass_on(envelope, &sender);
            Accept::Kept
        };
        let timing = Timing::scaled(speed_up());
        let (socket, events) = SocketMode::start(Arc::clone(api), app.clone(), timing, keep)?;
        self.dialogue.say(SetupText::WriteToTheApp, &[app_name, &code.words()])?;
        let found = self.wait_for_owner(code, &messages, &events);
        socket.stop();
        match found? {
            CodeReply::Owner(user) => Ok(Some(user)),
            CodeReply::Enter => Ok(None),
            CodeReply::Guesses => {
                self.dialogue.say(SetupText::TooManyCodes, &[])?;
                Ok(None)
            }
            CodeReply::NoAnswer => {
                self.dialogue.say(SetupText::NothingHeard, &[])?;
                Ok(None)
            }
        }
    }

    /// Sends the member a message, and asks the user whether it arrived. The app cannot read names
    /// (`users:read`), but Slack shows a mention's name to its reader.
    fn is_confirmed(&self, api: &WebApi, bot: &Token, user: &str) -> Result<bool> {
        let channel = api.open_dm(bot, user).map_err(|error| self.explain(&error))?;
        let text = self.dialogue.text(SetupText::OwnerGreeting, &[&format!("<@{user}>")]);
        let id = random::uuid()?;
        let post = Post {
            channel: &channel,
            thread_ts: None,
            text: &text,
            markdown: None,
            id: &id,
            machine: None,
        };
        api.post_message(bot, &post).map_err(|error| self.explain(&error))?;
        self.dialogue.say(SetupText::OwnerIs, &[user])?;
        let question = self.dialogue.text(SetupText::OwnerConfirmation, &[]);
        let is_confirmed = self.dialogue.ask_yes(&question, false)?;
        if !is_confirmed {
            self.dialogue.say(SetupText::OwnerDenied, &[])?;
        }
        Ok(is_confirmed)
    }

    fn wait_for_owner(
        &self,
        mut code: OwnerCode,
        messages: &Receiver<DirectMessage>,
        events: &Receiver<SocketEvent>,
    ) -> Result<CodeReply> {
        let deadline = Instant::now() + WAIT_FOR_OWNER;
        while Instant::now() < deadline {
            while let Ok(DirectMessage { user, text }) = messages.try_recv() {
                match code.check(&text) {
                    CodeVerdict::Right => return Ok(CodeReply::Owner(user)),
                    CodeVerdict::Other | CodeVerdict::Wrong => {}
                    CodeVerdict::Void => {
                        code.renew(random::six_digits()?);
                        self.dialogue.say(SetupText::CodeIsVoid, &[&code.words()])?;
                    }
                    CodeVerdict::Over => return Ok(CodeReply::Guesses),
                }
            }
            if let Some(SocketEvent::Fatal { error, .. }) = events.try_iter().last() {
                return Err(self.explain(&error));
            }
            if self.dialogue.enter_within(LOOK)? {
                return Ok(CodeReply::Enter);
            }
        }
        Ok(CodeReply::NoAnswer)
    }

    /// Returns the error in the user's language.
    fn explain(&self, error: &CallError) -> anyhow::Error {
        let seconds;
        let cause;
        let (what, advice): ((SetupText, &[&str]), _) = match error {
            CallError::Refused { error, needed, .. } => {
                cause = match needed {
                    Some(needed) => format!("{error}: {needed}"),
                    None => error.clone(),
                };
                ((SetupText::SlackRefused, &[&cause]), slack_advice(error, needed.as_deref()))
            }
            CallError::RateLimited { after } => {
                seconds = after.as_secs().to_string();
                ((SetupText::SlackBusy, &[&seconds]), SetupText::TryAgainLater)
            }
            CallError::NotSent { cause: obstacle } => {
                cause = obstacle.to_string();
                let advice = match obstacle {
                    ConnectObstacle::Certificate(_) => SetupText::CertificateAdvice,
                    _ => SetupText::NetworkAdvice,
                };
                ((SetupText::SlackUnreachable, &[&cause]), advice)
            }
            CallError::Invalid { .. } | CallError::Ambiguous { .. } => {
                cause = error.to_string();
                ((SetupText::SlackUnreachable, &[&cause]), SetupText::NetworkAdvice)
            }
        };
        self.dialogue.trouble(what, (advice, &[]))
    }
}

/// A token and its source.
enum TokenInput {
    Kept(Token),
    Text(String),
}

struct PipedTokens {
    bot: Option<TokenInput>,
    app: Option<TokenInput>,
}

enum CodeReply {
    Owner(String),
    Enter,
    NoAnswer,
    /// There were too many wrong ones.
    Guesses,
}

/// A message of a person in the direct messages with the app.
#[derive(Debug, PartialEq, Eq)]
struct DirectMessage {
    user: String,
    text: String,
}

fn pass_on(envelope: &Envelope<'_>, sender: &Sender<DirectMessage>) {
    if let Some(message) = read_event(envelope.payload.as_bytes()).and_then(message_of_person) {
        // The question may have been answered in another way.
        let _ = sender.send(message);
    }
}

fn message_of_person(reported: Reported) -> Option<DirectMessage> {
    let is_person = reported.is_message
        && !reported.is_by_bot
        && reported.subtype.is_none()
        && reported.channel_type.as_deref() == Some("im");
    let (user, text) = (reported.user?, reported.text?);
    is_person.then_some(DirectMessage { user, text })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_person_writes_to_the_app_counts() {
        let message = || Reported {
            is_message: true,
            channel_type: Some("im".to_owned()),
            user: Some("U1".to_owned()),
            text: Some("turnbridge 123456".to_owned()),
            ..Reported::default()
        };
        let found = message_of_person(message()).unwrap();
        assert_eq!((found.user.as_str(), found.text.as_str()), ("U1", "turnbridge 123456"));
        let others = [
            Reported { is_by_bot: true, ..message() },
            Reported { subtype: Some("message_changed".to_owned()), ..message() },
            Reported { channel_type: Some("channel".to_owned()), ..message() },
            Reported { text: None, ..message() },
            Reported { is_message: false, ..message() },
            Reported { user: None, ..message() },
        ];
        for other in others {
            assert_eq!(message_of_person(other.clone()), None, "{other:?}");
        }
    }
}
