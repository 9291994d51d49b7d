//! A prompt in one line, for tables and lists.

/// White space and control characters become single spaces. The notice that Claude writes
/// itself when a background task ends is shown by its summary.
pub fn one_line(text: &str) -> String {
    let text = summary_of_task_notification(text).unwrap_or(text);
    let mut line = String::new();
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()) {
        if !word.is_empty() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    line
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
        assert_eq!(one_line("  fix\r\n\tthe \u{1b}[31mtests \n"), "fix the [31mtests");
        assert_eq!(one_line(""), "");
    }

    #[test]
    fn a_finished_background_task_is_shown_by_its_summary() {
        let text = "<task-notification>\n<status>completed</status>\n<summary>Background command \"t\" completed</summary>\n</task-notification>";
        assert_eq!(one_line(text), "Background command \"t\" completed");
    }
}
