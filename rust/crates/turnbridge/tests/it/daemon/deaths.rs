//! Tests replies whose runner or agent dies during the run: the thread gets one true message, and
//! the reply does not run again.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};
use testkit::slack::SlackThread;
use testkit::wait_until;

use super::{DaemonFixture, SESSION, TIMEOUT};
use crate::support::world::payload;

const CUT_OFF: &str = "The run of this reply was cut off";

/// Returns a hook call of the agent, as a line of its script.
fn hook(service: &DaemonFixture, event: &str, more: Value) -> String {
    let program = match event {
        "Stop" => env!("CARGO_BIN_EXE_turnbridge-stop-gate"),
        _ => env!("CARGO_BIN_EXE_turnbridge-status"),
    };
    let mut payload = payload(event, more);
    payload["session_id"] = json!(SESSION);
    payload["cwd"] = json!(service.world.hermetic.project());
    format!("printf '%s' '{payload}' | '{program}' --origin plugin\n")
}

struct Death {
    service: DaemonFixture,
    thread: SlackThread,
    reply: String,
}

impl Death {
    /// Starts an agent in its turn, after its hook has seen the prompt. It continues with `rest`
    /// when allowed.
    fn in_a_turn(event: &str, more: Value) -> Death {
        let service = DaemonFixture::start();
        let thread = service.turn("fix it");
        let root = service.world.hermetic.root();
        let script = format!(
            "{}echo $$ > '{root}/agent.new' && mv '{root}/agent.new' '{root}/agent'\n\
             while [ -e '{root}/agent' ] && [ ! -e '{root}/go' ]; do sleep 0.05; done\n{}",
            hook(&service, "UserPromptSubmit", json!({"prompt": "go on"})),
            hook(&service, event, more),
            root = root.display(),
        );
        service.be_agent("claude", &script);
        let ts = service.slack.say(Some(&thread.parent.ts), "go on");
        let reply = format!("slack-{}-{ts}", thread.parent.channel);
        let death = Death { service, thread, reply };
        wait_until(TIMEOUT, "the agent's turn", || death.file("agent").exists().then_some(()));
        death
    }

    fn file(&self, name: &str) -> PathBuf {
        self.service.world.hermetic.root().join(name)
    }

    fn agent(&self) -> String {
        fs::read_to_string(self.file("agent")).unwrap().trim().to_owned()
    }

    fn runner(&self) -> String {
        let inbox = self.service.world.hermetic.state_dir().join("inbox");
        let claim = fs::read(inbox.join(format!("{}.run", self.reply))).unwrap();
        serde_json::from_slice::<Value>(&claim).unwrap()["pid"].to_string()
    }

    fn let_go_on(&self) {
        fs::write(self.file("go"), "").unwrap();
    }

    /// Returns the inbox's result of the finished reply.
    fn outcome(&self) -> Value {
        wait_until(TIMEOUT, "the end of the reply", || {
            let shown = self.service.world.turnbridge(&["inbox", "--json"]);
            let shown: Value = serde_json::from_str(&shown).unwrap();
            let all = shown["replies"].as_array().unwrap().clone();
            let own = all.into_iter().find(|reply| reply["id"] == self.reply.as_str())?;
            (own["state"] == "finished").then(|| own["result"].clone())
        })
    }

    /// Returns the app's messages in the thread without the turn's own answer.
    fn said(&self) -> Vec<String> {
        let threads = self.service.slack.threads();
        let own = threads.iter().find(|seen| seen.parent.ts == self.thread.parent.ts).unwrap();
        let ours = own.replies.iter().skip(1).filter(|reply| reply.bot_id.is_some());
        ours.map(|reply| reply.text.clone()).collect()
    }

    /// Asserts that the thread got one message, that the reply never runs again, and that the
    /// session accepts the next one.
    fn assert_told_and_over(&self, words: &str) {
        self.service.wait_for_words(&self.thread, &["Your reply was received.", words]);
        self.service.be_agent("claude", "exit 0");
        self.service.slack.say(Some(&self.thread.parent.ts), "the next one");
        let calls = wait_until(TIMEOUT, "the next run", || {
            Some(self.service.calls()).filter(|calls| calls.len() > 1)
        });
        assert!(calls.len() == 2 && calls[1].ends_with("the next one"), "{calls:?}");
        let told = self.said().iter().filter(|text| text.contains(words)).count();
        assert_eq!(told, 1, "{:?}", self.said());
    }
}

fn kill(signal: &str, pid: &str) {
    let kill = Command::new("kill").args([signal, pid]).status().unwrap();
    assert!(kill.success(), "kill {signal} {pid}");
}

#[test]
fn a_run_whose_runner_and_agent_were_killed_in_its_turn_is_told_as_cut_off() {
    let death = Death::in_a_turn("Stop", json!({"last_assistant_message": "done"}));
    kill("-KILL", &death.runner());
    kill("-KILL", &death.agent());
    death.assert_told_and_over(CUT_OFF);
    assert_eq!(death.outcome()["outcome"], "interrupted");
}

/// A reboot, or the OOM killer.
#[test]
fn a_run_that_died_together_with_the_daemon_is_told_as_cut_off_when_that_is_back() {
    let mut death = Death::in_a_turn("Stop", json!({"last_assistant_message": "done"}));
    let mut daemon = death.service.daemon.take().unwrap();
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    kill("-KILL", &death.runner());
    kill("-KILL", &death.agent());
    death.service.start_daemon();
    death.assert_told_and_over(CUT_OFF);
}

#[test]
fn an_agent_that_was_killed_in_its_turn_is_told_as_cut_off_with_the_signal() {
    let death = Death::in_a_turn("Stop", json!({"last_assistant_message": "done"}));
    kill("-KILL", &death.agent());
    death.assert_told_and_over(CUT_OFF);
    let result = death.outcome();
    assert_eq!((&result["outcome"], &result["code"]), (&json!("interrupted"), &json!(9)));
    assert!(death.said().iter().any(|text| text.contains("ended by signal: `9`")));
}

#[test]
fn an_agent_that_outlives_its_runner_and_fails_is_told_as_failed() {
    let death = Death::in_a_turn("StopFailure", json!({"error": "server_error"}));
    kill("-KILL", &death.runner());
    death.let_go_on();
    death.assert_told_and_over("The `resume` failed.");
    let result = death.outcome();
    assert_eq!((&result["outcome"], &result["reason"]), (&json!("failed"), &json!("turn_failed")));
}

#[test]
fn an_agent_that_outlives_its_runner_and_ends_its_turn_is_done() {
    let death = Death::in_a_turn("Stop", json!({"last_assistant_message": "done after all"}));
    kill("-KILL", &death.runner());
    death.let_go_on();
    assert_eq!(death.outcome()["outcome"], "done");
    death.service.slack.wait_for_thread("the turn", TIMEOUT, |seen| {
        seen.replies.iter().any(|reply| reply.text.contains("done after all"))
    });
    assert_eq!(death.said().len(), 1, "only the receipt: {:?}", death.said());
}

/// The runner is killed after the stop request, before it could end the agent.
#[test]
fn an_agent_that_outlives_its_runner_is_stopped_when_that_was_asked_for() {
    let death = Death::in_a_turn("Stop", json!({"last_assistant_message": "done"}));
    let runner = death.runner();
    kill("-STOP", &runner);
    death.service.slack.say(Some(&death.thread.parent.ts), "stop");
    let inbox = death.service.world.hermetic.state_dir().join("inbox");
    let asked = inbox.join(format!("{}.stop", death.reply));
    wait_until(TIMEOUT, "the request", || asked.exists().then_some(()));
    kill("-KILL", &runner);
    death.assert_told_and_over("The run of this reply was stopped.");
    assert_eq!(death.outcome()["outcome"], "stopped");
}
