//! Reads and writes a line of `routes.jsonl` (SLV-22).

use serde::{Deserialize, Serialize};

use crate::ids::NamedSession;
use crate::notices::route::Route;
use crate::timestamp::{Timestamp, time_text};

#[derive(Debug, Serialize, Deserialize)]
struct RouteLine {
    /// When the line was written.
    ts: String,
    channel: String,
    thread_ts: String,
    #[serde(rename = "tool")]
    agent: String,
    session_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    turn_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cwd: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    machine: Option<String>,
}

/// Reads a line. Returns `None` if it is no route.
pub fn read_route(line: &[u8]) -> Option<Route> {
    let line: RouteLine = serde_json::from_slice(line).ok()?;
    Some(Route {
        written_at: Timestamp::parse(&line.ts),
        channel: line.channel,
        thread_ts: line.thread_ts,
        session: NamedSession::of(&line.agent, &line.session_id),
        turn_id: line.turn_id,
        cwd: line.cwd,
        machine: line.machine,
    })
}

/// Writes the line without its line break.
pub fn write_route(route: &Route) -> Vec<u8> {
    // A struct of strings always serialises.
    serde_json::to_vec(&to_wire(route)).unwrap_or_default()
}

/// Returns the route as JSON for other programs, the same as in the file.
pub fn route_json(route: &Route) -> impl Serialize + use<> {
    to_wire(route)
}

fn to_wire(route: &Route) -> RouteLine {
    let Route { written_at, channel, thread_ts, session, turn_id, cwd, machine } = route.clone();
    RouteLine {
        ts: time_text(written_at),
        channel,
        thread_ts,
        agent: session.agent_text().to_owned(),
        session_id: session.id_text().to_owned(),
        turn_id,
        cwd,
        machine,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::SessionKey;

    const LINE_OF_0_1_0: &str =
        include_str!("../../../turnbridge/testdata/state-0.1.0/routes.jsonl");

    fn read(line: &str) -> Route {
        read_route(line.as_bytes()).unwrap()
    }

    fn written(route: &Route) -> String {
        String::from_utf8(write_route(route)).unwrap()
    }

    #[test]
    fn a_line_of_0_1_0_is_read_and_written_to_the_letter() {
        let line = LINE_OF_0_1_0.trim_end();
        assert_eq!(written(&read(line)), line);
    }

    #[test]
    fn a_route_reads_back_as_the_same_route() {
        let key = SessionKey::of("codex", "01a1e18e-2062-79f1-b187-979e8f997b9c").unwrap();
        let bare = Route::new("D1", "1.5", key, Timestamp::from_millis(1_700_000_000_000));
        let more = |text: &str| Some(text.to_owned());
        let full =
            Route { turn_id: more("t"), cwd: more("/w"), machine: more("m"), ..bare.clone() };
        for route in [bare, full] {
            assert_eq!(read(&written(&route)), route);
        }
    }

    /// A newer version may write them.
    #[test]
    fn an_agent_that_is_not_known_and_an_id_that_is_not_safe_are_kept_as_they_stand() {
        for (agent, id) in [("gemini", "s"), ("claude", "../x"), ("", "")] {
            let line = LINE_OF_0_1_0.trim_end().replace("claude", agent);
            let line = line.replace("825c8529-ee09-4cb8-8902-dd785b12ca0a", id);
            let route = read(&line);
            assert_eq!(route.session.key(), None);
            assert_eq!(written(&route), line);
        }
    }

    #[test]
    fn a_time_that_is_none_loses_no_route() {
        let line = LINE_OF_0_1_0.replace("2026-11-17T20:52:00.000000Z", "yesterday");
        let route = read(&line);
        assert_eq!(route.written_at, None);
        assert_eq!(route.session, read(LINE_OF_0_1_0).session);
        assert_eq!(read(&written(&route)), route);
    }

    #[test]
    fn what_is_no_route_is_none() {
        let whole = LINE_OF_0_1_0.trim_end();
        let without_id = whole.replace("\"session_id\"", "\"x\"");
        for line in ["", "{broken", "[]", &whole[..whole.len() - 1], &without_id] {
            assert_eq!(read_route(line.as_bytes()), None, "{line}");
        }
    }
}
