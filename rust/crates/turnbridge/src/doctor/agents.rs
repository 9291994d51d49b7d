//! Checks that each agent is found, and new enough for Turnbridge.

use turnbridge_core::ids::Agent;
use turnbridge_system::programs::FIRST_WITH_ARGS;

use super::check_context::{AgentProgram, CheckContext};
use super::finding::{Area, Finding, problem_text};

/// The first Claude Code whose Stop hook receives the answer.
const FIRST_WITH_ANSWER: [u32; 3] = [2, 1, 47];
/// The oldest Codex with everything that Turnbridge uses: its rollouts contain the starter of a
/// turn.
const OLDEST_CODEX: [u32; 3] = [0, 162, 0];
/// The gaps of older versions: the version that filled each, and the consequence before it.
const BROUGHT_BY_CODEX: [([u32; 3], &str); 3] = [
    (
        [0, 149, 0],
        "it has no `codex queue`, so a reply to a thread that is open in a terminal fails",
    ),
    ([0, 150, 0], "no hook tells of Esc, so only the daemon sees an interrupted turn"),
    (
        OLDEST_CODEX,
        "its rollouts do not say who has started a turn, so a reply waits for every turn that runs",
    ),
];

pub fn check(context: &CheckContext) -> Vec<Finding> {
    findings(&context.claude, &context.codex)
}

fn findings(claude: &AgentProgram, codex: &AgentProgram) -> Vec<Finding> {
    if (claude, codex) == (&AgentProgram::Absent, &AgentProgram::Absent) {
        let what = "neither `claude` nor `codex` is on the PATH";
        let why = "replies cannot be handed to an agent that is not found";
        let fix =
            "add its folder to PATH, or name it in config.toml (`resume.claude`, `resume.codex`)";
        return vec![Finding::warning(Area::Agents, "agents-absent", problem_text(what, why, fix))];
    }
    [of_claude(claude), of_codex(codex)].concat()
}

fn of_claude(claude: &AgentProgram) -> Vec<Finding> {
    let mut findings = general(Agent::Claude, claude);
    let Some(version) = claude.version() else { return findings };
    let shown = dotted(version);
    if version < FIRST_WITH_ANSWER {
        let what = format!("Claude Code {shown} is older than {}", dotted(FIRST_WITH_ANSWER));
        let why =
            "its Stop hook does not hand over the answer; notices are made from the transcript";
        let wording = problem_text(what, why, "update Claude Code: `claude update`");
        findings.push(Finding::warning(Area::Agents, "claude-too-old", wording));
    } else if version < FIRST_WITH_ARGS {
        let what = format!("Claude Code {shown} knows hooks as command lines only");
        let why = "the plugin's hooks need 2.1.139; `turnbridge hooks apply` registers command lines for this one";
        let wording = problem_text(what, why, "update Claude Code: `claude update`");
        findings.push(Finding::note(Area::Agents, "claude-old", wording));
    }
    findings
}

fn of_codex(codex: &AgentProgram) -> Vec<Finding> {
    let mut findings = general(Agent::Codex, codex);
    if let Some(version) = codex.version().filter(|version| *version < OLDEST_CODEX) {
        let what = format!("Codex {} is older than {}", dotted(version), dotted(OLDEST_CODEX));
        let missing = BROUGHT_BY_CODEX.iter().filter(|(first, _)| version < *first);
        let why = missing.map(|(_, lack)| *lack).collect::<Vec<_>>().join("; ");
        findings.push(Finding::note(
            Area::Agents,
            "codex-old",
            problem_text(what, why, "update Codex: `codex update`"),
        ));
    }
    findings
}

fn general(agent: Agent, program: &AgentProgram) -> Vec<Finding> {
    let (absent, no_program, silent) = match agent {
        Agent::Claude => ("claude-absent", "claude-no-program", "claude-silent"),
        Agent::Codex => ("codex-absent", "codex-no-program", "codex-silent"),
    };
    let (title, name) = (agent.product_name(), agent.as_str());
    vec![match program {
        // Few users have both agents.
        AgentProgram::Absent => Finding::ok(Area::Agents, absent, format!("no {title}")),
        AgentProgram::Found { path, version } => {
            let what = format!("{title} {} (`{}`)", dotted(*version), path.display());
            Finding::ok(Area::Agents, name, what)
        }
        AgentProgram::NoProgram(path) => {
            let what = format!("`resume.{name}` names `{}`, which is no program", path.display());
            let why = format!("replies to {title} cannot be run");
            let fix =
                format!("correct `resume.{name}` in config.toml, or take it out to use the PATH");
            Finding::error(Area::Agents, no_program, problem_text(what, why, fix))
        }
        AgentProgram::Silent(path) => {
            let what = format!("`{} --version` gives no version", path.display());
            let why = "it may not run at all, and what it supports is not known";
            let fix = format!("run `{name} --version` and see what it says");
            Finding::warning(Area::Agents, silent, problem_text(what, why, fix))
        }
    }]
}

fn dotted(version: [u32; 3]) -> String {
    version.map(|number| number.to_string()).join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(claude: &AgentProgram, codex: &AgentProgram) -> Vec<&'static str> {
        findings(claude, codex).iter().map(|finding| finding.id).collect()
    }

    fn found(version: [u32; 3]) -> AgentProgram {
        AgentProgram::Found { path: "/bin/x".into(), version }
    }

    #[test]
    fn an_agent_is_judged_by_its_version() {
        let none = AgentProgram::Absent;
        assert_eq!(ids(&none, &none), ["agents-absent"]);
        assert_eq!(ids(&found([2, 1, 197]), &none), ["claude", "codex-absent"]);
        assert_eq!(ids(&found([2, 1, 138]), &none), ["claude", "claude-old", "codex-absent"]);
        assert_eq!(ids(&found([2, 1, 46]), &none), ["claude", "claude-too-old", "codex-absent"]);
        assert_eq!(ids(&none, &found([0, 140, 0])), ["claude-absent", "codex", "codex-old"]);
        assert_eq!(ids(&none, &found([0, 162, 0])), ["claude-absent", "codex"]);
        let why = |version| {
            let found = findings(&none, &found(version)).pop();
            found.and_then(|finding| finding.why).unwrap_or_default()
        };
        insta::assert_snapshot!(why([0, 148, 0]), @"it has no `codex queue`, so a reply to a thread that is open in a terminal fails; no hook tells of Esc, so only the daemon sees an interrupted turn; its rollouts do not say who has started a turn, so a reply waits for every turn that runs");
        insta::assert_snapshot!(why([0, 161, 0]), @"its rollouts do not say who has started a turn, so a reply waits for every turn that runs");
        let silent = AgentProgram::Silent("/bin/x".into());
        assert_eq!(ids(&silent, &found([0, 166, 1])), ["claude-silent", "codex"]);
        assert_eq!(
            ids(&none, &AgentProgram::NoProgram("/x".into())),
            ["claude-absent", "codex-no-program"]
        );
    }
}
