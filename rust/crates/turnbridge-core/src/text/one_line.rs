//! Shortens a prompt to one line for tables and lists, and replaces an internal note of Claude Code
//! by its summary.

use crate::text::visible_text::visible_line;

/// Returns the prompt on one line, with white space as single blanks, and with unsafe characters
/// for terminals as escapes (`visible_text`).
pub fn one_line(text: &str) -> String {
    let text = shown_prompt(text);
    visible_line(&text.split_whitespace().collect::<Vec<_>>().join(" ")).into_owned()
}

/// Returns the prompt as shown. Claude Code begins a turn with an internal note when a background
/// task has ended: its summary replaces it.
pub fn shown_prompt(text: &str) -> &str {
    summary_of_task_notification(text).map(str::trim).filter(|it| !it.is_empty()).unwrap_or(text)
}

fn summary_of_task_notification(text: &str) -> Option<&str> {
    let body = text.trim_start().strip_prefix("<task-notification>")?;
    let (_, rest) = body.split_once("<summary>")?;
    let (summary, _) = rest.split_once("</summary>")?;
    Some(summary)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_breaks_and_escape_codes_do_not_reach_the_terminal() {
        assert_eq!(one_line("  fix\r\n\tthe \u{1b}[31mtests \n"), "fix the \\u001b[31mtests");
        assert_eq!(one_line("a\u{2028}b\u{202e}c"), "a b\\u202ec");
        assert_eq!(one_line(""), "");
    }

    #[test]
    fn a_finished_background_task_is_shown_by_its_summary() {
        let text = "<task-notification>\n<status>completed</status>\n<summary>Background command \"t\" completed</summary>\n</task-notification>";
        assert_eq!(one_line(text), "Background command \"t\" completed");
        assert_eq!(shown_prompt(text), "Background command \"t\" completed");
        for other in ["fix\nit", "<task-notification>", "what is a <task-notification>?"] {
            assert_eq!(shown_prompt(other), other);
        }
        let empty = "<task-notification><summary> </summary></task-notification>";
        assert_eq!(shown_prompt(empty), empty);
    }
}
