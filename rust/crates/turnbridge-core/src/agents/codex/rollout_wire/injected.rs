//! Recognises texts that Codex inserts into a conversation as if the user had typed them.

/// The beginnings of such texts, in every version seen or read.
const OPENINGS: [&str; 17] = [
    "<environment_context>",
    "<user_instructions>",
    "<turn_aborted>",
    "<user_action>",
    "<user_shell_command>",
    "<hook_prompt",
    "<permissions instructions>",
    "<collaboration_mode>",
    "<model_switch>",
    "<personality_spec>",
    "<subagent_notification>",
    "<skill>",
    "<skills_instructions>",
    "<plugins_instructions>",
    "<INSTRUCTIONS>",
    "# AGENTS.md instructions for ",
    "Another language model started to solve this problem",
];

/// Returns whether it is one of two inserted texts that early versions reported as the user's even
/// in their events.
pub fn is_surroundings(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with("<environment_context>") || text.starts_with("<user_instructions>")
}

/// Returns the parts of a message that the user typed, if any. `kinds` is the kind of each part in
/// newer versions: `user.text`, `environments.environment_context`.
pub fn without_injected<'a>(
    parts: impl Iterator<Item = &'a str>,
    kinds: &[&str],
) -> Option<String> {
    let may_be_typed = |kind: &&str| kind.starts_with("user.") || *kind == "unknown";
    if !kinds.is_empty() && !kinds.iter().any(may_be_typed) {
        return None;
    }
    let typed: Vec<_> = parts.filter(|part| !is_injected(part)).collect();
    (!typed.is_empty()).then(|| typed.join("\n"))
}

fn is_injected(text: &str) -> bool {
    let text = text.trim_start();
    OPENINGS.iter().any(|opening| text.starts_with(opening))
}
