//! Plays the agent that answers replies in a demo: this executable, started under the name of an
//! agent. It accepts only the arguments with which the runner resumes a session of the real agents.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::json;
use turnbridge_core::agents::agent_differences::LifeSign;
use turnbridge_core::ids::Agent;

use super::agent::{AgentEntrypoint, DemoAgent};
use super::part::DemoPart;
use super::{home, takeover};
use crate::failure::{SilentFailure, hinted};
use crate::output;

/// The length of an answer's turn, so that the user sees it work.
const THOUGHT: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(50);

static IS_STOPPED: AtomicBool = AtomicBool::new(false);

/// Returns the agent that this process plays, or `None` outside a demo.
pub fn part() -> Option<Agent> {
    std::env::var_os(home::VARIABLE).filter(|folder| !folder.is_empty())?;
    let called = std::env::args_os().next()?;
    Agent::parse(Path::new(&called).file_stem()?.to_str()?)
}

pub fn run(agent: Agent) -> Result<()> {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let Some(order) = read_order(agent, &arguments) else {
        let hint = "within `turnbridge demo`, answer a session on its board";
        return Err(hinted("this is a demo agent, which only answers replies", hint));
    };
    let prompt = match order.prompt {
        Some(prompt) => prompt,
        None => {
            let mut prompt = Vec::new();
            std::io::stdin().read_to_end(&mut prompt).context("could not read the prompt")?;
            String::from_utf8_lossy(&prompt).into_owned()
        }
    };
    let _ = ctrlc::set_handler(|| IS_STOPPED.store(true, Ordering::Relaxed));
    takeover::begin(&order.session_id);
    let cwd = std::env::current_dir().context("could not find the current folder")?;
    let mut demo_agent = DemoAgent::new(agent, &order.session_id, &cwd, AgentEntrypoint::Headless)?;
    demo_agent.start("resume")?;
    demo_agent.prompt(&prompt)?;
    let input = json!({ "command": "echo thinking" });
    think(&demo_agent)?;
    demo_agent.begin_call("Bash", &input)?;
    think(&demo_agent)?;
    demo_agent.end_call("Bash", &input)?;
    let answer = answer(agent, &prompt);
    demo_agent.answer(&answer)?;
    // If all events of a session share one run, its terminal still carries that run.
    match agent.life_sign() {
        LifeSign::Process => demo_agent.end()?,
        LifeSign::WriterLock => {}
    }
    writeln!(output::raw_stdout(), "{answer}")?;
    Ok(())
}

struct DemoPrompt {
    session_id: String,
    /// The prompt, or `None` if it is in standard input.
    prompt: Option<String>,
}

/// Parses `claude … -r ID PROMPT`, `claude … -r ID -p`, `codex exec … resume ID -`.
fn read_order(agent: Agent, arguments: &[OsString]) -> Option<DemoPrompt> {
    let part = DemoPart::of(agent);
    let position = arguments.iter().position(|argument| argument == part.resume_word)?;
    let [session_id, prompt] = arguments.get(position + 1..)? else { return None };
    let prompt = (prompt != part.stdin_word).then(|| prompt.to_string_lossy().into_owned());
    Some(DemoPrompt { session_id: session_id.to_str()?.to_owned(), prompt })
}

/// Waits a moment, or returns an error when it is stopped.
fn think(demo_agent: &DemoAgent) -> Result<()> {
    let until = Instant::now() + THOUGHT;
    while Instant::now() < until {
        if IS_STOPPED.load(Ordering::Relaxed) {
            demo_agent.be_interrupted()?;
            return Err(SilentFailure(130).into());
        }
        std::thread::sleep(LOOK);
    }
    Ok(())
}

fn answer(agent: Agent, prompt: &str) -> String {
    let quoted: Vec<_> = prompt.trim_end().lines().map(|line| format!("> {line}")).collect();
    format!(
        "You wrote:\n\n{}\n\nI am a **demo agent** and can do nothing but answer. The way of your \
         words was the real one, though:\n\n\
         1. the board gave them to the daemon\n\
         2. the daemon resumed this very session with them\n\
         3. its hooks told of the turn that you are reading\n\n\
         With your own {agent} it is the same:\n\n```sh\nturnbridge setup\n```",
        quoted.join("\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(agent: Agent, arguments: &[&str], expected: Option<(&str, Option<&str>)>) {
        let arguments: Vec<_> = arguments.iter().map(OsString::from).collect();
        let order = read_order(agent, &arguments);
        let order =
            order.as_ref().map(|order| (order.session_id.as_str(), order.prompt.as_deref()));
        assert_eq!(order, expected, "{arguments:?}");
    }

    #[test]
    fn it_is_called_as_the_runner_calls_agents() {
        let mode = ["--permission-mode", "default", "-r", "ID", "go on"];
        check(Agent::Claude, &mode, Some(("ID", Some("go on"))));
        check(Agent::Claude, &["-r", "ID", "-p"], Some(("ID", None)));
        let exec = ["exec", "-C", "/x", "--skip-git-repo-check", "resume", "ID", "-"];
        check(Agent::Codex, &exec, Some(("ID", None)));
        check(Agent::Claude, &["--version"], None);
        check(Agent::Claude, &["-r", "ID"], None);
        check(Agent::Codex, &["queue", "--thread", "ID", "--message=x"], None);
    }

    #[test]
    fn every_line_of_the_prompt_is_quoted() {
        let answer = answer(Agent::Claude, "one\n\n<b>two\n");
        assert!(answer.starts_with("You wrote:\n\n> one\n> \n> <b>two\n\nI am a **demo agent**"));
    }
}
