//! Tests `turnbridge mcp` with the requests of an agent's client.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::support::world::{World, feed};

struct McpServer {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl McpServer {
    fn start(world: &World) -> McpServer {
        let mut command = world.command("turnbridge");
        command.arg("mcp").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        McpServer { child, stdin, stdout }
    }

    fn send(&mut self, line: &str) {
        writeln!(self.stdin, "{line}").unwrap();
    }

    #[track_caller]
    fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// Returns the result of a request, which must have one.
    #[track_caller]
    fn ask(&mut self, method: &str, parameters: Value) -> Value {
        let request = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": parameters});
        self.send(&request.to_string());
        let answer = self.receive();
        assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!(7)), "{answer}");
        assert!(answer.get("error").is_none(), "{answer}");
        answer["result"].clone()
    }

    #[track_caller]
    fn speak(&mut self, text: &str) -> Value {
        self.ask("tools/call", json!({"name": "speak", "arguments": {"text": text}}))
    }

    /// Ends the input, and asserts that there is no more output.
    #[track_caller]
    fn end(mut self) {
        drop(self.stdin);
        let mut rest = String::new();
        self.stdout.read_line(&mut rest).unwrap();
        assert_eq!(rest, "");
        assert!(self.child.wait().unwrap().success());
    }
}

#[test]
fn a_client_finds_one_tool() {
    let world = World::new();
    let mut server = McpServer::start(&world);
    let client = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}});
    let greeting = server.ask("initialize", client);
    assert_eq!(greeting["protocolVersion"], "2025-06-18");
    assert_eq!(greeting["capabilities"], json!({"tools": {}}));
    assert_eq!(greeting["serverInfo"]["name"], "turnbridge");
    server.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    let list = server.ask("tools/list", json!({}));
    let [tool] = list["tools"].as_array().unwrap().as_slice() else { panic!("{list}") };
    assert_eq!(tool["name"], "speak");
    assert_eq!(tool["inputSchema"]["required"], json!(["text"]));
    assert_eq!(tool["annotations"]["readOnlyHint"], true);
    let validator = jsonschema::validator_for(&tool["inputSchema"]).unwrap();
    assert!(validator.is_valid(&json!({"text": "Done."})));
    assert!(!validator.is_valid(&json!({"text": ""})));
    server.end();
}

/// Claude builds the tool's name from those of the plugin, the server and the tool.
#[test]
fn the_plugin_and_its_skill_name_this_tool() {
    let read = |path: &str| {
        let path = format!("{}/../../../{path}", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(path).unwrap()
    };
    let plugin: Value = serde_json::from_str(&read(".claude-plugin/plugin.json")).unwrap();
    let servers = plugin["mcpServers"].as_object().unwrap();
    let [(name, server)] = servers.iter().collect::<Vec<_>>()[..] else { panic!("{plugin}") };
    assert_eq!(server["command"], "${CLAUDE_PLUGIN_ROOT}/bin/turnbridge");
    assert_eq!(server["args"], json!(["mcp"]));
    let tool = format!("mcp__plugin_{}_{name}__speak", plugin["name"].as_str().unwrap());
    assert!(turnbridge_core::gate::speak::is_own_speak(&tool), "{tool}");
    assert!(turnbridge_core::gate::reminder(true).contains(&tool), "{tool}");
    let skill = read("skills/speak/SKILL.md");
    // With `allowed-tools` Claude would ask before it uses the skill at all.
    assert!(!skill.contains("allowed-tools"), "{skill}");
    assert!(skill.contains(&format!("`{tool}`")), "{skill}");
}

#[test]
fn a_broken_line_ends_nothing() {
    let world = World::new();
    let mut server = McpServer::start(&world);
    server.send("{\"jsonrpc\": nonsense");
    assert_eq!(server.receive()["error"]["code"], -32700);
    server.stdin.write_all(b"\xff\xfe\n").unwrap();
    assert_eq!(server.receive()["error"]["code"], -32700);
    server.send(&"[".repeat(100_000));
    assert_eq!(server.receive()["error"]["code"], -32700);
    server.send(&"x".repeat((16 << 20) + 1));
    assert_eq!(server.receive()["error"]["code"], -32600);
    server.send(r#"{"jsonrpc":"2.0","id":"y","method":"resources/list"}"#);
    assert_eq!(server.receive()["error"]["code"], -32601);
    assert_eq!(server.ask("ping", json!({})), json!({}));
    server.end();
}

#[test]
fn a_machine_that_cannot_speak_tells_the_model_so() {
    let world = World::new().with("PATH", "/nonexistent");
    let mut server = McpServer::start(&world);
    insta::assert_snapshot!(server.speak("Done."), @r#"{"content":[{"text":"This machine cannot speak: there is no speech engine on it. The turn may end without it.","type":"text"}],"isError":true}"#);
    server.end();
}

#[test]
fn a_last_line_without_its_end_is_answered() {
    let world = World::new();
    let mut command = world.command("turnbridge");
    command.arg("mcp");
    let output = feed(command, br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    assert!(output.status.success(), "{output:?}");
    insta::assert_snapshot!(String::from_utf8_lossy(&output.stdout), @r#"{"id":1,"jsonrpc":"2.0","result":{}}"#);
}

// The engines of Linux; macOS looks for others.
#[cfg(all(unix, not(target_os = "macos")))]
mod stub {
    use super::*;

    use crate::support::engines::{
        cut_off, has_ended, notes, pids, wait_for_end, with_time_to_fail, world_with,
    };

    #[test]
    fn a_speech_goes_on_when_the_server_has_ended() {
        let world = world_with("espeak-ng", "sleep 60");
        let mut server = McpServer::start(&world);
        insta::assert_snapshot!(server.speak("**Done**."), @r#"{"content":[{"text":"Speaking.","type":"text"}],"isError":false}"#);
        let pids = pids(&world);
        server.end();
        assert!(!has_ended(pids.0) && !has_ended(pids.1));
        cut_off(&world);
        wait_for_end(pids);
    }

    #[test]
    fn a_server_leaves_no_dead_players_behind() {
        let world = world_with("espeak-ng", "true");
        let mut server = McpServer::start(&world);
        for times in 1..=3 {
            server.speak("Done.");
            notes(&world, times);
            let player = pids(&world).1;
            testkit::wait_until(crate::support::engines::TIMEOUT, "the player's end", || {
                (!std::path::Path::new(&format!("/proc/{player}")).exists()).then_some(())
            });
        }
        server.end();
    }

    #[test]
    fn who_mutes_while_the_server_runs_is_heeded() {
        let world = world_with("espeak-ng", "true");
        let mut server = McpServer::start(&world);
        world.turnbridge(&["voice", "mute"]);
        insta::assert_snapshot!(server.speak("Done."), @r#"{"content":[{"text":"The user has muted the voice, so nothing was said. That is fine.","type":"text"}],"isError":false}"#);
        world.turnbridge(&["voice", "unmute"]);
        assert_eq!(server.speak("Done.")["content"][0]["text"], "Speaking.");
        notes(&world, 1);
        server.end();
    }

    #[test]
    fn an_engine_that_fails_is_told() {
        let world = with_time_to_fail(world_with("espeak-ng", "echo 'error: no card' >&2; exit 0"));
        let mut server = McpServer::start(&world);
        insta::assert_snapshot!(server.speak("Done."), @r#"{"content":[{"text":"This machine cannot speak: it cannot play sound (`espeak-ng` says `error: no card`). The turn may end without it.","type":"text"}],"isError":true}"#);
        server.end();
        let world =
            with_time_to_fail(world_with("espeak-ng", "echo 'Error: no voice' >&2; exit 1"));
        let mut server = McpServer::start(&world);
        insta::assert_snapshot!(server.speak("Done."), @r#"{"content":[{"text":"This machine cannot speak: `espeak-ng` failed (exit status: 1): Error: no voice. The turn may end without it.","type":"text"}],"isError":true}"#);
        insta::assert_snapshot!(server.speak("```\nls\n```"), @r#"{"content":[{"text":"Nothing was said: the text has no words outside of code.","type":"text"}],"isError":false}"#);
        server.end();
    }
}
