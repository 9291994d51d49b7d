//! Names a terminal pane by its terminal's variables, so that a hook, a shell and a host
//! application use the same name.
//!
//! Each terminal counts its own panes, so a name begins with the program's: `tmux:/tmp/s:%3`,
//! `kitty:1`. A program inside a terminal inherits its variables, so the innermost known program
//! counts: two panes of tmux in one window of kitty have one `KITTY_WINDOW_ID`.

use std::fmt;

use super::terminal_table::{TERMINALS, TerminalVariables};

/// The limit of a name. No terminal's own name is longer, paths of sockets included.
const MAX_LENGTH: usize = 512;

/// A pane's name from its terminal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PaneId(String);

impl PaneId {
    /// Returns a name that has been checked, or is Turnbridge's own.
    pub fn new(id: impl Into<String>) -> PaneId {
        PaneId(id.into())
    }

    /// Parses a name from outside: one line of printable characters that is no option.
    pub fn parse(text: &str) -> Option<PaneId> {
        let is_name = !text.is_empty()
            && text.len() <= MAX_LENGTH
            && !text.starts_with('-')
            && text.trim() == text
            && !text.chars().any(is_unprintable);
        is_name.then(|| PaneId(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether `given` is the terminal's own name of the pane: `%3` for `tmux:/tmp/s:%3`.
    pub fn is_called(&self, given: &str) -> bool {
        self.0.strip_suffix(given).is_some_and(|before| before.ends_with(':'))
    }
}

impl fmt::Display for PaneId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Matches control characters, and those that change the direction of text on a screen.
fn is_unprintable(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The variable that `turnbridge run` sets to its own `TVINE_SESSION_ID`: such an id names no pane.
pub const OWN_SESSION: &str = "TURNBRIDGE_RUN";

/// Returns the pane that an environment belongs to, or `None` if its variables name none.
pub fn pane_of<'a>(variable: impl Fn(&str) -> Option<&'a str>) -> Option<PaneId> {
    let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
    let tmux = variable("TMUX_PANE").map(|pane| {
        // `socket,pid,session`: two servers may have equal numbers.
        let socket = variable("TMUX").and_then(|tmux| tmux.rsplitn(3, ',').nth(2));
        joined("tmux", socket, pane)
    });
    let zellij = variable("ZELLIJ_PANE_ID")
        .map(|pane| joined("zellij", variable("ZELLIJ_SESSION_NAME"), pane));
    let name = match (tmux, zellij) {
        // No variable shows which of them runs inside the other.
        (Some(tmux), Some(zellij)) => Some(format!("{tmux}+{zellij}")),
        (tmux, zellij) => tmux.or(zellij),
    };
    let host = || {
        let is_own = |value: &&str| variable(OWN_SESSION) == Some(*value);
        let named = |terminal: &TerminalVariables| {
            let pane = variable(terminal.pane?).filter(|value| !is_own(value))?;
            Some(joined(terminal.name, None, pane))
        };
        TERMINALS.iter().find_map(named)
    };
    PaneId::parse(&name.or_else(host)?)
}

fn joined(program: &str, within: Option<&str>, pane: &str) -> String {
    match within {
        Some(within) => format!("{program}:{within}:{pane}"),
        None => format!("{program}:{pane}"),
    }
}

/// Returns the pane for the value of `--pane`: a known name, or the end of exactly one (`%3`); else
/// a new name. Returns `None` if it cannot be a name.
pub fn resolve<'a>(given: &str, known: impl IntoIterator<Item = &'a PaneId>) -> Option<PaneId> {
    let given = PaneId::parse(given)?;
    let mut called: Vec<&PaneId> = Vec::new();
    for pane in known {
        if *pane == given {
            return Some(given);
        }
        if pane.is_called(given.as_str()) && !called.contains(&pane) {
            called.push(pane);
        }
    }
    match called.as_slice() {
        [pane] => Some((*pane).clone()),
        _ => Some(given),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(variables: &[(&str, &str)], expected: Option<&str>) {
        let variable = |name: &str| {
            variables.iter().find(|(variable, _)| *variable == name).map(|(_, value)| *value)
        };
        assert_eq!(pane_of(variable).as_ref().map(PaneId::as_str), expected, "{variables:?}");
    }

    #[test]
    fn kt_73_a_pane_is_named_by_the_innermost_program() {
        let tmux = [("TMUX", "/tmp/tmux-0/a,b,77,0"), ("TMUX_PANE", "%3")];
        check(&tmux, Some("tmux:/tmp/tmux-0/a,b:%3"));
        check(&tmux[1..], Some("tmux:%3"));
        check(&[("KITTY_WINDOW_ID", "1"), tmux[1]], Some("tmux:%3"));
        check(&[("KITTY_WINDOW_ID", "1"), ("KAWAII_PANE_ID", "p1")], Some("kawaii:p1"));
        check(&[("ZELLIJ_PANE_ID", "5"), ("KITTY_WINDOW_ID", "1")], Some("zellij:5"));
        check(
            &[("ZELLIJ_PANE_ID", "5"), ("ZELLIJ_SESSION_NAME", "nice-cat"), tmux[1]],
            Some("tmux:%3+zellij:nice-cat:5"),
        );
        check(&[("TVINE_SESSION_ID", "s"), ("WT_SESSION", "w")], Some("tvine:s"));
        let own = [("TVINE_SESSION_ID", "s"), (OWN_SESSION, "s"), ("KITTY_WINDOW_ID", "1")];
        check(&own, Some("kitty:1"));
        check(&own[..2], None);
        check(&[("TVINE_SESSION_ID", "s"), (OWN_SESSION, "older")], Some("tvine:s"));
        check(&[("WEZTERM_PANE", "0"), ("ITERM_SESSION_ID", "")], Some("wezterm:0"));
        check(&[("ITERM_SESSION_ID", "w0t0p0:E1")], Some("iterm:w0t0p0:E1"));
        check(&[("WT_SESSION", "g")], Some("wt:g"));
        check(&[], None);
        check(&[("TMUX_PANE", "")], None);
        check(&[("KITTY_WINDOW_ID", "1\n2")], None);
    }

    #[test]
    fn names_that_could_draw_on_a_screen_or_look_like_options_are_refused() {
        let long = "x".repeat(513);
        for bad in ["", " ", "-x", " a", "a\n", "a\u{1b}[0m", "a\u{7f}", "a\u{202e}b", "a\0", &long]
        {
            assert_eq!(PaneId::parse(bad), None, "{bad:?}");
        }
        for good in ["%3", "tmux:/tmp/with space/s:%3", "窓:1"] {
            assert!(PaneId::parse(good).is_some(), "{good}");
        }
    }

    #[test]
    fn a_pane_may_be_given_by_the_name_that_its_terminal_has_for_it() {
        let known = ["tmux:/a:%3", "tmux:/b:%3", "kitty:7"].map(PaneId::new);
        let resolved = |given| resolve(given, &known).map(|pane| pane.as_str().to_owned());
        assert_eq!(resolved("7").as_deref(), Some("kitty:7"));
        assert_eq!(resolved("%3").as_deref(), Some("%3"), "two have it");
        assert_eq!(resolved("tmux:/b:%3").as_deref(), Some("tmux:/b:%3"));
        assert_eq!(resolved("8").as_deref(), Some("8"));
        assert_eq!(resolved("\u{7}"), None);
    }
}
