//! Plays one scene until its standard input ends, which happens when the demo ends for whatever
//! reason.

use std::io::Read;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use turnbridge_core::ids::Agent;

use super::agent::{DemoAgent, Seat};
use super::part::Part;
use super::scenes::{Scene, Step};
use super::takeover;

/// The poll interval for a takeover of the session.
const LOOK: Duration = Duration::from_millis(100);

/// The pause between two steps.
const BREATH: Duration = Duration::from_millis(400);

/// The reason why a scene ends.
enum Curtain {
    Ended,
    TakenOver,
    Failed(anyhow::Error),
}

impl From<anyhow::Error> for Curtain {
    fn from(error: anyhow::Error) -> Curtain {
        Curtain::Failed(error)
    }
}

pub fn play(scene: &Scene) -> Result<()> {
    let cwd = std::env::current_dir().context("could not find the current folder")?;
    let mut player = Player {
        scene,
        demo_agent: DemoAgent::new(scene.agent, scene.session_id, &cwd, Seat::Terminal)?,
        is_in_turn: false,
        ended: listen()?,
    };
    match player.play() {
        Curtain::Ended => Ok(()),
        Curtain::TakenOver => player.leave(),
        Curtain::Failed(error) => Err(error),
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

struct Player<'a> {
    scene: &'a Scene,
    demo_agent: DemoAgent,
    is_in_turn: bool,
    ended: Receiver<()>,
}

impl Player<'_> {
    fn play(&mut self) -> Curtain {
        match self.play_on() {
            Ok(never) => match never {},
            Err(curtain) => curtain,
        }
    }

    fn play_on(&mut self) -> Result<std::convert::Infallible, Curtain> {
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

    fn step(&mut self, step: Step) -> Result<(), Curtain> {
        match step {
            Step::Prompt(text) => {
                self.is_in_turn = true;
                self.demo_agent.prompt(text)?;
            }
            Step::Run(command, tenths) => {
                let input = json!({ "command": command });
                self.demo_agent.begin_call("Bash", &input)?;
                self.pause(Duration::from_millis(100 * tenths))?;
                self.demo_agent.end_call("Bash", &input)?;
            }
            Step::Permission(command, seconds) => {
                let input = json!({ "command": command });
                self.demo_agent.begin_call("Bash", &input)?;
                self.demo_agent.ask_for_permission("Bash", &input)?;
                self.pause(Duration::from_secs(seconds))?;
                self.demo_agent.end_call("Bash", &input)?;
            }
            Step::Question(text, seconds) => {
                let (name, input) = question(self.scene.agent, text);
                self.demo_agent.begin_call(name, &input)?;
                self.pause(Duration::from_secs(seconds))?;
                self.demo_agent.end_call(name, &input)?;
            }
            Step::Answer(text) => {
                self.demo_agent.answer(text)?;
                self.is_in_turn = false;
            }
            Step::Fail => {
                self.demo_agent.fail("rate_limit", "API Error: Request rejected (429)")?;
                self.is_in_turn = false;
            }
            Step::Interrupt => {
                self.demo_agent.be_interrupted()?;
                self.is_in_turn = false;
            }
            Step::Rest(seconds) => self.pause(Duration::from_secs(seconds))?,
        }
        Ok(())
    }

    fn pause(&self, duration: Duration) -> Result<(), Curtain> {
        let until = Instant::now() + duration;
        loop {
            if takeover::is_taken(self.scene.session_id) {
                return Err(Curtain::TakenOver);
            }
            let rest = until.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                return Ok(());
            }
            if self.ended.recv_timeout(rest.min(LOOK)) == Err(RecvTimeoutError::Disconnected) {
                return Err(Curtain::Ended);
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
    let name = Part::of(agent).question_tool;
    (name, json!({ "questions": [{ "id": "choice", "header": "Choice", "question": text }] }))
}
