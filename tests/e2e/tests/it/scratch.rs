use crate::gates::{self, note};
use crate::hosts::pairs;
use crate::terminal::*;
use crate::world::*;
use serde_json::json;
use std::time::{Duration, Instant};
use testkit::*;

fn monitor(w: &World, t: &Terminal, secs: f64, label: &str) {
    let begin = Instant::now();
    let mut last = String::new();
    while begin.elapsed().as_secs_f64() < secs {
        let s: Vec<String> = w
            .sessions(Which::All)
            .iter()
            .map(|s| format!("{} {} {}", state_of(s), s["waiting_for"], s["last_event"]))
            .collect();
        let pid = t.tmux.pid();
        let n = std::fs::read_to_string(
            w.hermetic.claude_config_dir().join(format!("sessions/{pid}.json")),
        )
        .unwrap_or_default();
        let n: serde_json::Value = serde_json::from_str(&n).unwrap_or_default();
        let s = format!("{} note={} tv={}", s.join("|"), n["status"], w.tvine.messages().len());
        if s != last {
            note(&format!("{label} {:.2} {s}", begin.elapsed().as_secs_f64()));
            last = s;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
fn dump(w: &World, t: &Terminal) {
    note(&format!("{:?}", pairs(&w.kawaii.lines(), "event", "hook")));
    note(&format!("{:?}", pairs(&w.tvine.messages(), "status", "event")));
    note(t.tmux.screen().trim_end());
}

#[test]
fn s_compact() {
    let w = World::new(gates::fast().unwrap(), vec![]);
    let t = Terminal::start(&w);
    for i in 0..4 {
        t.submit(&format!("hello {i}"));
        crate::patience::wait_for("x", || {
            if w.api.requests().len() > i
                && state_of(&w.only_session(Which::Live)) == "completed/ok"
            {
                Ok(())
            } else {
                Err(String::new())
            }
        });
    }
    t.submit("/compact");
    monitor(&w, &t, 4.0, "compact");
    dump(&w, &t);
}
#[test]
fn s_bang_turns() {
    let w = World::new(
        gates::fast().unwrap(),
        vec![
            Reply::text("first answer"),
            Reply::text("bang answer").delayed(Duration::from_secs(2)),
        ],
    );
    let t = Terminal::start(&w);
    t.submit("first");
    let s = t.wait_for_state("completed/ok");
    t.tmux.send_text("!");
    monitor(&w, &t, 0.5, "b0");
    t.tmux.send_text("sleep 1; echo hi");
    monitor(&w, &t, 0.5, "b0");
    t.tmux.send_key("Enter");
    monitor(&w, &t, 5.0, "bang");
    dump(&w, &t);
    note(&format!("{:#}", w.show(s["session_id"].as_str().unwrap())["turns"]));
}
#[test]
fn s_two_outside_reads() {
    let w = World::new(gates::fast().unwrap(), vec![]);
    std::fs::write(w.hermetic.root().join("a.txt"), "x").unwrap();
    std::fs::create_dir(w.hermetic.root().join("d")).unwrap();
    std::fs::write(w.hermetic.root().join("d/b.txt"), "x").unwrap();
    w.api.push(
        Reply::tool("Read", json!({"file_path": w.hermetic.root().join("a.txt")}))
            .and_tool("Read", json!({"file_path": w.hermetic.root().join("d/b.txt")})),
    );
    let t = Terminal::start(&w);
    t.submit("go");
    t.wait_for_dialog();
    monitor(&w, &t, 1.5, "two");
    note(t.tmux.screen().trim_end());
    t.tmux.send_key("Enter");
    monitor(&w, &t, 2.5, "after1");
    note(t.tmux.screen().trim_end());
    t.tmux.send_key("Enter");
    monitor(&w, &t, 2.0, "after2");
    dump(&w, &t);
}
#[test]
fn s_two_bash() {
    let w = World::new(
        gates::fast().unwrap(),
        vec![
            Reply::tool("Bash", json!({"command":"touch a; sleep 3"}))
                .and_tool("Bash", json!({"command":"touch b; sleep 3"})),
        ],
    );
    let t = Terminal::start(&w);
    t.submit("go");
    t.wait_for_dialog();
    t.tmux.send_key("Enter");
    monitor(&w, &t, 5.0, "first");
    note(t.tmux.screen().trim_end());
    t.tmux.send_key("Enter");
    monitor(&w, &t, 5.0, "second");
    dump(&w, &t);
}
#[test]
fn s_two_agents() {
    let a = |p: &str| json!({"description": p, "prompt": p, "subagent_type": "general-purpose"});
    let w = World::new(
        gates::fast().unwrap(),
        Script::new()
            .then(Reply::tool("Agent", a("sub-a")).and_tool("Agent", a("sub-b")))
            .on("sub-a", vec![Reply::tool("Bash", json!({"command":"touch a; sleep 3"}))])
            .on(
                "sub-b",
                vec![
                    Reply::tool("Bash", json!({"command":"sleep 1; echo b"})),
                    Reply::tool("Bash", json!({"command":"sleep 1; echo c"})),
                    Reply::tool("Bash", json!({"command":"sleep 4; echo d"})),
                ],
            ),
    );
    let t = Terminal::start(&w);
    t.submit("go");
    t.wait_for_dialog();
    monitor(&w, &t, 4.0, "agents");
    t.tmux.send_key("Enter");
    monitor(&w, &t, 7.0, "approved");
    dump(&w, &t);
}
#[test]
fn s_agent_esc() {
    let a = |p: &str| json!({"description": p, "prompt": p, "subagent_type": "general-purpose"});
    let w = World::new(
        gates::fast().unwrap(),
        Script::new()
            .then(Reply::tool("Agent", a("sub-a")))
            .on("sub-a", vec![Reply::tool("Bash", json!({"command":"touch a; sleep 3"}))]),
    );
    let t = Terminal::start(&w);
    t.submit("go");
    t.wait_for_dialog();
    t.tmux.send_key("Escape");
    monitor(&w, &t, 4.0, "esc");
    dump(&w, &t);
}
