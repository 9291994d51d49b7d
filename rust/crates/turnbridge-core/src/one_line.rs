//! A prompt in one line, for tables and lists.

use crate::visible_text::visible_line;

/// White space becomes single blanks, and what terminals must not get is shown as an escape
/// (`visible_text`). The notice that Claude writes itself when a background task ends is shown by
/// its summary.
pub fn one_line(text: &str) -> String {
    let text = summary_of_task_notification(text).unwrap_or(text);
    visible_line(&text.split_whitespace().collect::<Vec<_>>().join(" ")).into_owned()
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
    }
}
