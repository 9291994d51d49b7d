//! Lists the known terminals and host applications with their environment variables: those that
//! hooks store, and those that hooks drop. An agent that Turnbridge starts elsewhere inherits
//! neither. The calls of a terminal are in `terminal_calls`.

/// The environment variables of one terminal.
#[derive(Debug)]
pub struct TerminalVariables {
    /// The prefix of the names of its panes: `kitty:1`.
    pub name: &'static str,
    /// The variable that alone names a pane. `None` if the terminal names none, or needs more than
    /// one variable (`pane_id`).
    pub pane: Option<&'static str>,
    /// The variables that hooks store: they identify the pane, and reach its terminal.
    kept: &'static [Variable],
    /// The variables that hooks drop. Agents that Turnbridge starts elsewhere must not inherit them
    /// either.
    dropped: &'static [Variable],
}

#[derive(Debug)]
enum Variable {
    Named(&'static str),
    /// All whose names begin with it.
    Prefix(&'static str),
}

use Variable::{Named, Prefix};

/// Terminals that show panes themselves, the innermost first: a host application may have been
/// started from a shell in another terminal, whose variables its panes have, too. After them the
/// multiplexers, which run inside any of these, and the terminals that name no pane.
pub static TERMINALS: [TerminalVariables; 13] = [
    row("kawaii", Some("KAWAII_PANE_ID"), &[Prefix("KAWAII_")], &[]),
    row("tvine", Some("TVINE_SESSION_ID"), &[Prefix("TVINE_")], &[]),
    row(
        "wezterm",
        Some("WEZTERM_PANE"),
        &[Named("WEZTERM_PANE"), Named("WEZTERM_UNIX_SOCKET")],
        &[Prefix("WEZTERM_")],
    ),
    row(
        "kitty",
        Some("KITTY_WINDOW_ID"),
        &[Named("KITTY_WINDOW_ID"), Named("KITTY_LISTEN_ON")],
        &[Prefix("KITTY_")],
    ),
    row("iterm", Some("ITERM_SESSION_ID"), &[Named("ITERM_SESSION_ID")], &[]),
    row("wt", Some("WT_SESSION"), &[Named("WT_SESSION")], &[Named("WT_PROFILE_ID")]),
    row("tmux", None, &[Named("TMUX"), Named("TMUX_PANE")], &[]),
    row("zellij", None, &[Prefix("ZELLIJ")], &[]),
    row("screen", None, &[], &[Named("STY"), Named("WINDOW")]),
    row("alacritty", None, &[], &[Named("ALACRITTY_WINDOW_ID")]),
    row("apple", None, &[], &[Named("TERM_SESSION_ID")]),
    row("vscode", None, &[], &[Prefix("VSCODE_")]),
    // Variables that many terminals set.
    row(
        "any",
        None,
        &[],
        &[Named("TERM_PROGRAM"), Named("TERM_PROGRAM_VERSION"), Named("WINDOWID")],
    ),
];

const fn row(
    name: &'static str,
    pane: Option<&'static str>,
    kept: &'static [Variable],
    dropped: &'static [Variable],
) -> TerminalVariables {
    TerminalVariables { name, pane, kept, dropped }
}

impl Variable {
    fn is(&self, name: &str) -> bool {
        match self {
            Named(own) => *own == name,
            Prefix(prefix) => name.starts_with(prefix),
        }
    }
}

/// Returns whether a hook stores the variable in the session's file.
pub fn is_kept(name: &str) -> bool {
    TERMINALS.iter().flat_map(|terminal| terminal.kept).any(|variable| variable.is(name))
}

/// Returns whether the variable describes a process's terminal. `name` is in capitals.
pub fn is_of_a_terminal(name: &str) -> bool {
    let mut variables =
        TERMINALS.iter().flat_map(|terminal| terminal.kept.iter().chain(terminal.dropped));
    variables.any(|variable| variable.is(name))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::BTreeSet;

    use super::*;
    use crate::terminals::pane_id::{OWN_SESSION, pane_of};
    use crate::terminals::terminal_calls::Pane;

    #[test]
    fn a_pane_that_is_named_by_a_variable_can_be_found_again() {
        for TerminalVariables { name, pane, .. } in &TERMINALS {
            assert!(pane.is_none_or(is_kept), "a hook drops the pane of {name}");
        }
    }

    /// Returns the variables by which panes are named and found, without those for other purposes.
    fn asked_for() -> BTreeSet<String> {
        let asked = RefCell::new(BTreeSet::new());
        let ask = |set: Option<(&str, &str)>| {
            let variable = |name: &str| {
                asked.borrow_mut().insert(name.to_owned());
                set.filter(|(own, _)| *own == name).map(|(_, value)| value)
            };
            (Pane::of(variable), pane_of(variable))
        };
        assert_eq!(ask(None), (None, None));
        // Some are read only if another one has a value.
        let first = asked.borrow().clone();
        for name in &first {
            for value in ["1", "%1"] {
                ask(Some((name, value)));
            }
        }
        let mut asked = asked.into_inner();
        asked.remove(OWN_SESSION);
        asked
    }

    #[test]
    fn what_finds_a_pane_again_a_hook_keeps_and_an_agent_elsewhere_does_not_inherit() {
        let asked = asked_for();
        assert!(asked.contains("WEZTERM_UNIX_SOCKET"), "{asked:?}");
        for name in asked {
            assert!(is_kept(&name) && is_of_a_terminal(&name), "{name}");
        }
        // By these an agent would reach the terminal from which the daemon was started.
        for name in ["ZELLIJ", "ZELLIJ_SESSION_NAME", "WEZTERM_UNIX_SOCKET", "KITTY_LISTEN_ON"] {
            assert!(is_kept(name) && is_of_a_terminal(name), "{name}");
        }
        assert!(is_of_a_terminal("KITTY_PUBLIC_KEY") && !is_kept("KITTY_PUBLIC_KEY"));
        assert!(!is_of_a_terminal("TERM") && !is_of_a_terminal("MY_TVINE_X"));
    }
}
