//! Plays one scene until its standard input ends, which happens however the demo ends. When the
//! user answers the session on the board, it stops and only stays alive.

use std::io::Read;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use turnbridge_core::ids::Agent;

use super::agent::{AgentEntrypoint, DemoAgent};
use super::part::DemoPart;
use super::scenes::{DemoScene, DemoStep};
use super::takeover;

/// The poll interval for a takeover of the session.
const LOOK: Duration = Duration::from_millis(100);

/// The pause between two steps.
const BREATH: Duration = Duration::from_millis(400);

/// The reason why a scene ends.
enum PlayEnd {
    Ended,
    TakenOver,
    Failed(anyhow::Error),
}

impl From<anyhow::Error> for PlayEnd {
    fn from(error: anyhow::Error) -> PlayEnd {
        PlayEnd::Failed(error)
    }
}

pub fn play(scene: &DemoScene) -> Result<()> {
    let cwd = std::env::current_dir().context("could not find the current folder")?;
    let mut player = DemoPlayer {
        scene,
        demo_agent: DemoAgent::new(scene.agent, scene.session_id, &cwd, AgentEntrypoint::Terminal)?,
        is_in_turn: false,
        ended: listen()?,
    };
    match player.play() {
        PlayEnd::Ended => Ok(()),
        PlayEnd::TakenOver => player.leave(),
        PlayEnd::Failed(error) => Err(error),
    }
}

/// Returns a channel without messages, which closes when standard input ends.
fn listen() -> Result<Receiver<()>> {
    let (sender, ended) = channel();
    let wait = move || {
        let _sender = sender;
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
    };
    let thread = std::thread::Builder::new().name("end".to_owned());
    thread.spawn(wait).context("no thread could be started")?;
    Ok(ended)
}

struct DemoPlayer<'a> {
    scene: &'a DemoScene,
    demo_agent: DemoAgent,
    is_in_turn: bool,
    ended: Receiver<()>,
}

impl DemoPlayer<'_> {
    fn play(&mut self) -> PlayEnd {
        match self.play_on() {
            Ok(never) => match never {},
            Err(end_reason) => end_reason,
        }
    }

    fn play_on(&mut self) -> Result<std::convert::Infallible, PlayEnd> {
        self.demo_agent.start("startup")?;
        for step in self.scene.before {
            self.step(*step)?;
        }
        loop {
            for step in self.scene.again {
                self.step(*step)?;
                self.pause(BREATH)?;
            }
        }
    }

    fn step(&mut self, step: DemoStep) -> Result<(), PlayEnd> {
        match step {
            DemoStep::Prompt(text) => {
                self.is_in_turn = true;
                self.demo_agent.prompt(text)?;
            }
            DemoStep::Run(command, tenths) => {
                let input = json!({ "command": command });
                self.demo_agent.begin_call("Bash", &input)?;
                self.pause(Duration::from_millis(100 * tenths))?;
                self.demo_agent.end_call("Bash", &input)?;
            }
            DemoStep::Permission(command, seconds) => {
                let input = json!({ "command": command });
                self.demo_agent.begin_call("Bash", &input)?;
                self.demo_agent.ask_for_permission("Bash", &input)?;
                self.pause(Duration::from_secs(seconds))?;
                self.demo_agent.end_call("Bash", &input)?;
            }
            DemoStep::Question(text, seconds) => {
                let (name, input) = question(self.scene.agent, text);
                self.demo_agent.begin_call(name, &input)?;
                self.pause(Duration::from_secs(seconds))?;
                self.demo_agent.end_call(name, &input)?;
            }
            DemoStep::Answer(text) => {
                self.demo_agent.answer(text)?;
                self.is_in_turn = false;
            }
            DemoStep::Fail => {
                self.demo_agent.fail("rate_limit", "API Error: Request rejected (429)")?;
                self.is_in_turn = false;
            }
            DemoStep::Interrupt => {
                self.demo_agent.be_interrupted()?;
                self.is_in_turn = false;
            }
            DemoStep::Rest(seconds) => self.pause(Duration::from_secs(seconds))?,
        }
        Ok(())
    }

    fn pause(&self, duration: Duration) -> Result<(), PlayEnd> {
        let until = Instant::now() + duration;
        loop {
            if takeover::is_taken(self.scene.session_id) {
                return Err(PlayEnd::TakenOver);
            }
            let rest = until.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                return Ok(());
            }
            if self.ended.recv_timeout(rest.min(LOOK)) == Err(RecvTimeoutError::Disconnected) {
                return Err(PlayEnd::Ended);
            }
        }
    }

    /// Stays alive without further steps.
    fn leave(&self) -> Result<()> {
        if self.is_in_turn {
            self.demo_agent
                .answer("I leave this here: you have written something else meanwhile.")?;
        }
        takeover::leave(self.scene.session_id);
        let _ = self.ended.recv();
        Ok(())
    }
}

fn question(agent: Agent, text: &str) -> (&'static str, Value) {
    let name = DemoPart::of(agent).question_tool;
    (name, json!({ "questions": [{ "id": "choice", "header": "Choice", "question": text }] }))
}
