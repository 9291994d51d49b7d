//! Checks whether keys typed into a pane reach the expected program. A pane is identified by
//! variables, which programs inherit: a program inside `screen` or `dtach` has those of a pane that
//! may show another terminal by now. So the pane's own terminal is queried.

use serde::Deserialize;

use super::{Pane, TerminalCall, kitty, wezterm};

/// All but the first two are 1 if keys do not reach the program, or not only that one.
pub(super) const TMUX_FORMAT: &str =
    "#{?pane_dead,dead,alive} #{pane_tty} #{pane_in_mode} #{pane_input_off} #{pane_synchronized}";

/// The program that is expected to read the typed keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PaneReader<'a> {
    pub pid: u32,
    /// Its terminal, such as `/dev/pts/3`, if the system reports it.
    pub terminal: Option<&'a str>,
}

impl Pane {
    /// Returns the query for `is_read_by`. Returns `None` if this terminal accepts no typed text.
    pub fn ask_for_reader(&self) -> Option<TerminalCall> {
        match self {
            Pane::Tmux { .. } => self.probe(),
            Pane::WezTerm { socket, .. } => Some(wezterm(socket, &["list", "--format", "json"])),
            Pane::Kitty { address, .. } => Some(kitty(address, &["ls"])),
            Pane::Zellij { .. } | Pane::Iterm { .. } | Pane::WindowsTerminal => None,
        }
    }

    /// Returns whether `answer`, the terminal's answer to the query, shows that keys reach
    /// `reader`.
    pub fn is_read_by(&self, reader: PaneReader<'_>, answer: &str) -> bool {
        match self {
            Pane::Tmux { .. } => is_tmux_read_by(reader, answer),
            Pane::WezTerm { pane, .. } => is_wezterm_read_by(pane, reader, answer),
            Pane::Kitty { window, .. } => is_kitty_read_by(window, reader, answer),
            Pane::Zellij { .. } | Pane::Iterm { .. } | Pane::WindowsTerminal => false,
        }
    }
}

/// Parses tmux's answer, which is empty for an unknown pane.
fn is_tmux_read_by(reader: PaneReader<'_>, answer: &str) -> bool {
    let Some(words) = answer.trim().strip_prefix("alive ") else { return false };
    let mut words = words.split(' ');
    let Some(shown) = words.next() else { return false };
    reader.terminal.is_none_or(|terminal| terminal == shown) && words.all(|word| word == "0")
}

#[derive(Deserialize)]
struct WezTermPane {
    pane_id: u64,
    /// It is missing for panes of other machines, and on Windows.
    tty_name: Option<String>,
}

fn is_wezterm_read_by(pane: &str, reader: PaneReader<'_>, answer: &str) -> bool {
    let (Ok(pane), Some(terminal)) = (pane.parse::<u64>(), reader.terminal) else { return false };
    let Ok(panes) = serde_json::from_str::<Vec<WezTermPane>>(answer) else { return false };
    let mut found = panes.iter().filter(|other| other.pane_id == pane);
    found.any(|found| found.tty_name.as_deref() == Some(terminal))
}

#[derive(Deserialize)]
struct KittyOsWindow {
    tabs: Vec<KittyTab>,
}

#[derive(Deserialize)]
struct KittyTab {
    windows: Vec<KittyWindow>,
}

#[derive(Deserialize)]
struct KittyWindow {
    id: u64,
    /// The foreground group of the terminal that the window shows.
    #[serde(default)]
    foreground_processes: Vec<KittyProcess>,
}

#[derive(Deserialize)]
struct KittyProcess {
    pid: u32,
}

fn is_kitty_read_by(window: &str, reader: PaneReader<'_>, answer: &str) -> bool {
    let Ok(window) = window.parse::<u64>() else { return false };
    let Ok(all) = serde_json::from_str::<Vec<KittyOsWindow>>(answer) else { return false };
    let windows = all.iter().flat_map(|os| &os.tabs).flat_map(|tab| &tab.windows);
    let mut processes =
        windows.filter(|other| other.id == window).flat_map(|window| &window.foreground_processes);
    processes.any(|process| process.pid == reader.pid)
}

#[cfg(test)]
mod tests {
    use super::*;

    const READER: PaneReader<'_> = PaneReader { pid: 42, terminal: Some("/dev/pts/3") };
    const UNNAMED: PaneReader<'_> = PaneReader { pid: 42, terminal: None };

    #[test]
    fn a_pane_of_tmux_says_which_terminal_it_shows_and_whether_keys_go_there_alone() {
        let tmux = Pane::Tmux { socket: "/s".into(), pane: "%3".into() };
        for (answer, is_read) in [
            ("alive /dev/pts/3 0 0 0\n", true),
            ("alive /dev/pts/4 0 0 0\n", false),
            ("alive /dev/pts/3 1 0 0\n", false),
            ("alive /dev/pts/3 0 1 0\n", false),
            ("alive /dev/pts/3 0 0 1\n", false),
            ("dead /dev/pts/3 0 0 0\n", false),
            ("alive\n", false),
            ("", false),
        ] {
            assert_eq!(tmux.is_read_by(READER, answer), is_read, "{answer}");
        }
        assert!(tmux.is_read_by(UNNAMED, "alive /dev/ttys003 0 0 0\n"));
        assert!(!tmux.is_read_by(UNNAMED, "alive /dev/ttys003 0 0 1\n"));
    }

    #[test]
    fn a_pane_of_wezterm_has_to_show_the_readers_terminal() {
        let wezterm = Pane::WezTerm { socket: None, pane: "4".into() };
        let other = r#"{"pane_id":5,"tty_name":"/dev/pts/3","size":{"rows":24}}"#;
        for (answer, is_read) in [
            (format!(r#"[{other},{{"pane_id":4,"tty_name":"/dev/pts/3"}}]"#), true),
            (format!(r#"[{other},{{"pane_id":4,"tty_name":"/dev/pts/9"}}]"#), false),
            (format!(r#"[{other},{{"pane_id":4,"tty_name":null}}]"#), false),
            (format!(r#"[{other},{{"pane_id":4}}]"#), false),
            (format!("[{other}]"), false),
            ("{}".to_owned(), false),
            (String::new(), false),
        ] {
            assert_eq!(wezterm.is_read_by(READER, &answer), is_read, "{answer}");
            assert!(!wezterm.is_read_by(UNNAMED, &answer), "{answer}");
        }
    }

    #[test]
    fn a_window_of_kitty_has_to_have_the_reader_in_front() {
        let kitty = Pane::Kitty { address: None, window: "2".into() };
        let all = |windows: &str| {
            let other = r#"{"id":1,"foreground_processes":[{"pid":42,"cwd":"/","cmdline":["x"]}]}"#;
            format!(r#"[{{"id":2,"tabs":[{{"id":2,"windows":[{other}{windows}]}}]}}]"#)
        };
        for (answer, is_read) in [
            (all(r#",{"id":2,"pid":7,"foreground_processes":[{"pid":8},{"pid":42}]}"#), true),
            (all(r#",{"id":2,"pid":42,"foreground_processes":[{"pid":8}]}"#), false),
            (all(r#",{"id":2,"foreground_processes":[]}"#), false),
            (all(r#",{"id":2}"#), false),
            (all(""), false),
            ("[]".to_owned(), false),
            (String::new(), false),
        ] {
            assert_eq!(kitty.is_read_by(READER, &answer), is_read, "{answer}");
        }
    }
}
