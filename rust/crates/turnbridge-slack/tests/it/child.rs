//! Runs one Web API call, or one socket, in a separate process. Environment variables set the
//! proxies and certificates, and a test can choose those only for a process of its own.

use std::path::Path;
use std::process::Command;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use turnbridge_slack::{Accept, ApiConnection, SocketMode, Timing, WebApi};

use crate::{app_token, bot_token};

/// Returns the result of `auth.test` at `url` with these environment variables and no others.
pub fn call_in_child(folder: &Path, url: &str, variables: &[(&str, &str)]) -> String {
    run_in_child("child::calls_auth_test", folder, url, variables)
}

/// Returns the result of a socket that is stopped after its first envelope.
pub fn listen_in_child(folder: &Path, url: &str, variables: &[(&str, &str)]) -> String {
    run_in_child("child::listens", folder, url, variables)
}

fn run_in_child(test: &str, folder: &Path, url: &str, variables: &[(&str, &str)]) -> String {
    let outcome = folder.join("outcome");
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([test, "--exact", "--ignored"])
        .env_clear()
        .env("TEST_URL", url)
        .env("TEST_OUTCOME", &outcome)
        .envs(variables.iter().copied());
    for name in ["SystemRoot", "WINEPREFIX"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    std::fs::read_to_string(outcome).unwrap()
}

#[test]
#[ignore = "run by the tests of proxies and TLS"]
fn calls_auth_test() {
    let Ok(outcome) = std::env::var("TEST_OUTCOME") else { return };
    let api_url = Some(std::env::var("TEST_URL").unwrap());
    let mut connection = ApiConnection { api_url, ..ApiConnection::default() };
    if let Ok(milliseconds) = std::env::var("TEST_CONNECT_TIMEOUT") {
        connection.connect_timeout = Duration::from_millis(milliseconds.parse().unwrap());
    }
    let text = match WebApi::new(connection) {
        Err(error) => error.to_string(),
        Ok(api) => match api.auth_test(&bot_token()) {
            Ok(identity) => format!("hello {}", identity.team.unwrap_or_default()),
            Err(error) => format!("{error}\nhint: {}", error.hint().unwrap_or("-")),
        },
    };
    std::fs::write(outcome, text).unwrap();
}

#[test]
#[ignore = "run by the tests of proxies and TLS"]
fn listens() {
    let Ok(outcome) = std::env::var("TEST_OUTCOME") else { return };
    let api_url = Some(std::env::var("TEST_URL").unwrap());
    let api = Arc::new(WebApi::new(ApiConnection { api_url, ..ApiConnection::default() }).unwrap());
    let (sender, kinds) = mpsc::channel();
    let keep = move |envelope: &turnbridge_slack::Envelope<'_>| {
        sender.send(envelope.kind.clone()).unwrap();
        Accept::Kept
    };
    let timing = Timing::scaled(10);
    let (socket_mode, events) = SocketMode::start(api, app_token(), timing, keep).unwrap();
    let text = match kinds.recv_timeout(Duration::from_secs(30)) {
        Ok(kind) => kind,
        Err(_) => format!("{:?}", events.try_iter().collect::<Vec<_>>()),
    };
    socket_mode.stop();
    std::fs::write(outcome, text).unwrap();
}
