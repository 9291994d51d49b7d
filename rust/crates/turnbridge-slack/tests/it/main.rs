//! Tests the Web API and Socket Mode over real sockets of this machine. This file has the tokens
//! and clients that the modules share.

mod catching_up;
mod child;
mod classification;
mod finding;
mod keep_alive;
mod large_answers;
mod proxy;
mod requests;
mod secrets;
mod socket_mode;
mod socket_mode_cycles;
mod socket_mode_ways;
mod support;
mod tls;

use std::time::Duration;

use turnbridge_slack::{ApiConnection, CallError, Token, TokenIdentity, TokenKind, WebApi};

const SECRET: &str = "xoxb-12-veryverysecret";

fn bot_token() -> Token {
    Token::parse(TokenKind::Bot, SECRET).unwrap()
}

/// The token that the loopback Slack knows.
fn app_token() -> Token {
    Token::parse(TokenKind::App, "xapp-loopback-app").unwrap()
}

fn api(url: &str) -> WebApi {
    WebApi::new(ApiConnection { api_url: Some(url.to_owned()), ..ApiConnection::default() })
        .unwrap()
}

fn impatient_api(url: &str, timeout: Duration) -> WebApi {
    let api_url = Some(url.to_owned());
    WebApi::new(ApiConnection { api_url, timeout, ..ApiConnection::default() }).unwrap()
}

fn auth_test(url: &str) -> Result<TokenIdentity, CallError> {
    api(url).auth_test(&bot_token())
}
