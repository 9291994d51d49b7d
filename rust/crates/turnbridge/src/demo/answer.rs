//! The agent that answers replies: this program, called by the name of an agent within a demo. The
//! runner calls it as it calls the real ones (`resume`), and so that is all it understands.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::json;
use turnbridge_core::ids::Tool;

use super::agent::{Agent, Seat};
use super::{home, takeover};
use crate::failure::{Silent, hinted};
use crate::output;

/// So that one sees it work.
const THOUGHT: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(50);

static IS_STOPPED: AtomicBool = AtomicBool::new(false);

/// Which agent this process is to be. `None`: it is itself, as everywhere but in a demo.
pub fn part() -> Option<Tool> {
    std::env::var_os(home::VARIABLE).filter(|folder| !folder.is_empty())?;
    let called = std::env::args_os().next()?;
    Tool::parse(Path::new(&called).file_stem()?.to_str()?)
}

pub fn run(tool: Tool) -> Result<()> {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let Some(order) = read_order(tool, &arguments) else {
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
    takeover::take(&order.session_id);
    let cwd = std::env::current_dir().context("could not find the current folder")?;
    let mut agent = Agent::new(tool, &order.session_id, &cwd, Seat::Headless)?;
    agent.start("resume")?;
    agent.prompt(&prompt)?;
    let input = json!({ "command": "echo thinking" });
    think(&agent)?;
    agent.begin_call("Bash", &input)?;
    think(&agent)?;
    agent.end_call("Bash", &input)?;
    let answer = answer(tool, &prompt);
    agent.answer(&answer)?;
    // All that Codex does on a thread counts as one process, which its terminal still is.
    if tool == Tool::Claude {
        agent.end()?;
    }
    writeln!(output::raw_stdout(), "{answer}")?;
    Ok(())
}

struct Order {
    session_id: String,
    /// `None`: it stands in standard input.
    prompt: Option<String>,
}

/// `claude … -r ID PROMPT`, `claude … -r ID -p`, `codex exec … resume ID -`.
fn read_order(tool: Tool, arguments: &[OsString]) -> Option<Order> {
    let word = match tool {
        Tool::Claude => "-r",
        Tool::Codex => "resume",
    };
    let position = arguments.iter().position(|argument| argument == word)?;
    let [session_id, prompt] = arguments.get(position + 1..)? else { return None };
    let is_in_stdin = match tool {
        Tool::Claude => prompt == "-p",
        Tool::Codex => prompt == "-",
    };
    let prompt = (!is_in_stdin).then(|| prompt.to_string_lossy().into_owned());
    Some(Order { session_id: session_id.to_str()?.to_owned(), prompt })
}

/// A while, unless it is told to stop.
fn think(agent: &Agent) -> Result<()> {
    let until = Instant::now() + THOUGHT;
    while Instant::now() < until {
        if IS_STOPPED.load(Ordering::Relaxed) {
            agent.be_interrupted()?;
            return Err(Silent(130).into());
        }
        std::thread::sleep(LOOK);
    }
    Ok(())
}

fn answer(tool: Tool, prompt: &str) -> String {
    let quoted: Vec<_> = prompt.trim_end().lines().map(|line| format!("> {line}")).collect();
    format!(
        "You wrote:\n\n{}\n\nI am a **demo agent** and can do nothing but answer. The way of your \
         words was the real one, though:\n\n\
         1. the board gave them to the daemon\n\
         2. the daemon resumed this very session with them\n\
         3. its hooks told of the turn that you are reading\n\n\
         With your own {tool} it is the same:\n\n```sh\nturnbridge setup\n```",
        quoted.join("\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(tool: Tool, arguments: &[&str], expected: Option<(&str, Option<&str>)>) {
        let arguments: Vec<_> = arguments.iter().map(OsString::from).collect();
        let order = read_order(tool, &arguments);
        let order =
            order.as_ref().map(|order| (order.session_id.as_str(), order.prompt.as_deref()));
        assert_eq!(order, expected, "{arguments:?}");
    }

    #[test]
    fn it_is_called_as_the_runner_calls_agents() {
        let mode = ["--permission-mode", "default", "-r", "ID", "go on"];
        check(Tool::Claude, &mode, Some(("ID", Some("go on"))));
        check(Tool::Claude, &["-r", "ID", "-p"], Some(("ID", None)));
        let exec = ["exec", "-C", "/x", "--skip-git-repo-check", "resume", "ID", "-"];
        check(Tool::Codex, &exec, Some(("ID", None)));
        check(Tool::Claude, &["--version"], None);
        check(Tool::Claude, &["-r", "ID"], None);
        check(Tool::Codex, &["queue", "--thread", "ID", "--message=x"], None);
    }

    #[test]
    fn every_line_of_the_prompt_is_quoted() {
        let answer = answer(Tool::Claude, "one\n\n<b>two\n");
        assert!(answer.starts_with("You wrote:\n\n> one\n> \n> <b>two\n\nI am a **demo agent**"));
    }
}
