//! Tests that Slack's own SDK for Node works with the loopback Slack: its Web API client with and
//! without TLS, and its Socket Mode client.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use testkit::slack::{FaultMoment, SlackFault, SocketState};
use testkit::{Hermetic, SlackApi, SlackSetup, skipped, wait_until};

use crate::support::slack_client::{APP, BOT};

fn find_script(name: &str, package: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/slack-sdk");
    if !folder.join("node_modules/@slack").join(package).is_dir() {
        skipped("Slack's SDK is not in `tests/slack-sdk`; `scripts/test` installs it");
        return None;
    }
    if Command::new("node").arg("--version").output().is_err() {
        skipped("there is no `node` to run Slack's SDK with");
        return None;
    }
    Some(folder.join(name))
}

/// Returns the SDK's results of this server's responses.
fn drive(api: &SlackApi, script: &Path, prepare: impl FnOnce(&mut Command, &Hermetic)) -> Value {
    let pass = SlackFault::Pass;
    let reset = SlackFault::Reset(FaultMoment::After);
    api.fail(
        "chat.postMessage",
        [pass.clone(), pass.clone(), SlackFault::RateLimited(1), pass, reset],
    );
    let hermetic = Hermetic::new();
    let mut command = hermetic.command("node");
    command.arg(script).args([api.base_url().as_str(), BOT, APP, "U0OWNER"]);
    prepare(&mut command, &hermetic);
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {errors}", output.status);
    serde_json::from_slice(&output.stdout).unwrap()
}

fn check(api: &SlackApi, seen: &Value) {
    assert_eq!(seen["auth"]["user_id"], "U0BOT");
    assert_eq!(seen["auth"]["response_metadata"]["scopes"][0], "chat:write");
    assert_eq!(seen["appAuth"]["app_id"], "A0LOOPBACK");
    assert_eq!(seen["channel"], *api.direct_message());
    assert_eq!(seen["parent"]["warning"], Value::Null);
    assert_eq!(seen["reply"]["message"]["thread_ts"], seen["parent"]["ts"]);
    assert_eq!(seen["rateLimited"], json!([1]));
    // The fourth post was executed before its reset, and the SDK repeated it.
    let pages = json!([
        [["parent", null], ["reply 0, changed", "part-0"]],
        [["reply 1", null], ["reply 2", null]],
        [["reply 2", null]],
    ]);
    assert_eq!(seen["pages"], pages);
    assert_eq!(seen["history"], json!([["parent", 4]]));
    let socket_base = api.base_url().replacen("http", "ws", 1).replace("/api/", "/link/?ticket=");
    assert!(seen["socket"].as_str().unwrap().starts_with(&socket_base), "{}", seen["socket"]);

    for (name, error) in [
        ("unfitBlocks", "invalid_blocks"),
        ("wrongToken", "invalid_auth"),
        ("missingScope", "missing_scope"),
    ] {
        assert_eq!(seen[name]["isPlatformError"], true, "{}", seen[name]);
        assert_eq!(seen[name]["code"], "slack_webapi_platform_error");
        assert_eq!(seen[name]["data"]["error"], error);
    }
    let explanation = &seen["unfitBlocks"]["data"]["response_metadata"]["messages"][0];
    assert_eq!(explanation, "[ERROR] unsupported type: mystery [json-pointer:/blocks/0/type]");
    assert_eq!(seen["missingScope"]["data"]["needed"], "users:read");

    let thread = &api.threads()[0];
    assert_eq!(thread.parent.unfurl_links, Some(false));
    assert_eq!(thread.replies[0].payload_id(), Some("part-0"));
    assert_eq!(thread.replies.len(), 4);
}

#[test]
fn slacks_sdk_is_content() {
    let Some(script) = find_script("drive.mjs", "web-api") else { return };
    let api = SlackApi::start(SlackSetup::default());
    let seen = drive(&api, &script, |_, _| {});
    check(&api, &seen);
}

#[test]
fn slacks_sdk_is_content_over_tls() {
    let Some(script) = find_script("drive.mjs", "web-api") else { return };
    let api = SlackApi::start_tls(SlackSetup::default());
    let seen = drive(&api, &script, |command, hermetic| {
        let file = hermetic.root().join("ca.pem");
        api.ca_file(&file);
        command.env("NODE_EXTRA_CA_CERTS", file);
    });
    check(&api, &seen);
}

#[test]
fn slacks_socket_mode_client_is_content() {
    let Some(script) = find_script("listen.mjs", "socket-mode") else { return };
    let timeout = Duration::from_secs(60);
    let api = SlackApi::start(SlackSetup::default());
    let root = api.post_as_user(None, "root");
    let hermetic = Hermetic::new();
    let mut command = hermetic.command("node");
    command.arg(script).args([api.base_url().as_str(), APP]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    api.wait_for_sockets(1, timeout);
    // Pings and pongs precede the first message.
    wait_until(timeout, "a ping and a pong of the client", || {
        let socket = api.sockets().pop()?;
        (socket.pings > 0 && socket.pongs > 0).then_some(())
    });
    let ts = api.say(Some(&root), "to the official client");
    let output = child.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {errors}", output.status);

    let seen: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(seen["states"], json!(["connecting", "connected", "disconnected"]), "{seen}");
    assert_eq!((&seen["type"], &seen["retry"]), (&json!("event_callback"), &json!(0)));
    assert_eq!(seen["appId"], "A0LOOPBACK");
    assert_eq!(seen["event"]["text"], "to the official client");
    assert_eq!(seen["event"]["thread_ts"], root);
    let events = api.events();
    assert_eq!(events.len(), 1);
    assert_eq!((events[0].ts.as_deref(), events[0].acked_attempt), (Some(ts.as_str()), Some(0)));
    assert_eq!(seen["eventId"], *events[0].event_id);
    assert_eq!(api.violations(), Vec::<String>::new());
    let sockets = api.sockets();
    assert_eq!((sockets.len(), sockets[0].state), (1, SocketState::Closed));
}
