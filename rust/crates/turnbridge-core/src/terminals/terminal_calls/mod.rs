//! Builds the calls by which a terminal switches to a pane, opens another one, prints its text or
//! pastes into it. Other code makes the calls.
//!
//! A pane is identified by its terminal's environment variables, which hooks store. Every value is
//! a separate argument: no shell interprets a folder, an id or a text.

mod reader_wire;

pub use reader_wire::PaneReader;

use crate::text::shell_words::shell_words;

/// A pane, and its terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pane {
    Tmux {
        socket: String,
        pane: String,
    },
    WezTerm {
        socket: Option<String>,
        pane: String,
    },
    Kitty {
        address: Option<String>,
        window: String,
    },
    /// It has no way to switch to a pane by its id.
    Zellij {
        session: String,
    },
    Iterm {
        session: String,
    },
    /// It can only open tabs.
    WindowsTerminal,
}

/// The calls that type a text into a pane. None has the text as an argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paste {
    /// Passes the text to the terminal without typing it.
    pub load: Option<TerminalCall>,
    pub text: TerminalCall,
    pub enter: TerminalCall,
    /// Removes a text that was loaded and not typed.
    pub unload: Option<TerminalCall>,
}

/// A program with its arguments, environment and standard input.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TerminalCall {
    pub program: &'static str,
    pub arguments: Vec<String>,
    pub environment: Vec<(&'static str, String)>,
    pub stdin: Option<String>,
}

impl TerminalCall {
    fn new(program: &'static str, arguments: &[&str]) -> TerminalCall {
        let arguments = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        TerminalCall { program, arguments, ..TerminalCall::default() }
    }

    fn and(mut self, arguments: &[String]) -> TerminalCall {
        self.arguments.extend_from_slice(arguments);
        self
    }

    fn with(mut self, name: &'static str, value: Option<&String>) -> TerminalCall {
        self.environment.extend(value.map(|value| (name, value.clone())));
        self
    }

    fn reading(mut self, text: &str) -> TerminalCall {
        self.stdin = Some(text.to_owned());
        self
    }
}

/// iTerm2 is controlled by a script whose values are arguments.
const ITERM_SWITCH: &str = "on run argv
tell application \"iTerm2\"
repeat with aWindow in windows
repeat with aTab in tabs of aWindow
repeat with aSession in sessions of aTab
if id of aSession is item 1 of argv then
select aWindow
select aTab
select aSession
activate
return \"found\"
end if
end repeat
end repeat
end repeat
end tell
error \"gone\"
end run";

const ITERM_OPEN: &str = "on run argv
tell application \"iTerm2\"
activate
if (count of windows) is 0 then
create window with default profile command (item 1 of argv)
else
tell current window to create tab with default profile command (item 1 of argv)
end if
end tell
end run";

impl Pane {
    /// Returns the pane by a process's variables. With several it takes the first of this order, in
    /// which terminals that run inside others come first.
    pub fn of<'a>(variable: impl Fn(&str) -> Option<&'a str>) -> Option<Pane> {
        let is_number = |text: &&str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let owned = |name: &str| variable(name).map(str::to_owned);
        let tmux = variable("TMUX").and_then(|value| value.split(',').next());
        let tmux_pane = variable("TMUX_PANE")
            .filter(|pane| pane.strip_prefix('%').is_some_and(|rest| is_number(&rest)));
        if let (Some(socket), Some(pane)) = (tmux.filter(|socket| !socket.is_empty()), tmux_pane) {
            return Some(Pane::Tmux { socket: socket.to_owned(), pane: pane.to_owned() });
        }
        if let Some(session) = variable("ZELLIJ_SESSION_NAME").filter(|name| is_name(name)) {
            return Some(Pane::Zellij { session: session.to_owned() });
        }
        if let Some(pane) = variable("WEZTERM_PANE").filter(is_number) {
            return Some(Pane::WezTerm {
                socket: owned("WEZTERM_UNIX_SOCKET"),
                pane: pane.to_owned(),
            });
        }
        if let Some(window) = variable("KITTY_WINDOW_ID").filter(is_number) {
            return Some(Pane::Kitty {
                address: owned("KITTY_LISTEN_ON"),
                window: window.to_owned(),
            });
        }
        // `w0t1p0:UUID`.
        let iterm = variable("ITERM_SESSION_ID").and_then(|id| id.rsplit(':').next());
        if let Some(session) = iterm.filter(|id| crate::ids::is_uuid(&id.to_lowercase())) {
            return Some(Pane::Iterm { session: session.to_owned() });
        }
        variable("WT_SESSION").map(|_| Pane::WindowsTerminal)
    }

    /// Returns the terminal's name for display.
    pub const fn terminal(&self) -> &'static str {
        match self {
            Pane::Tmux { .. } => "tmux",
            Pane::WezTerm { .. } => "WezTerm",
            Pane::Kitty { .. } => "kitty",
            Pane::Zellij { .. } => "Zellij",
            Pane::Iterm { .. } => "iTerm2",
            Pane::WindowsTerminal => "Windows Terminal",
        }
    }

    /// Returns a call that succeeds if the pane exists; tmux's also prints its state. Returns
    /// `None` if the terminal has no such call.
    pub fn probe(&self) -> Option<TerminalCall> {
        match self {
            Pane::Tmux { socket, pane } => {
                Some(tmux(socket, &["display-message", "-p", "-t", pane, reader_wire::TMUX_FORMAT]))
            }
            Pane::WezTerm { socket, pane } => {
                Some(wezterm(socket, &["get-text", "--pane-id", pane, "--end-line", "0"]))
            }
            Pane::Kitty { address, window } => {
                Some(kitty(address, &["get-text", "--match", &format!("id:{window}")]))
            }
            Pane::Iterm { .. } | Pane::Zellij { .. } | Pane::WindowsTerminal => None,
        }
    }

    /// Returns the calls that bring the pane to the front, which must all succeed; `None` if there
    /// are none.
    pub fn switch(&self) -> Option<Vec<TerminalCall>> {
        match self {
            Pane::Tmux { socket, pane } => Some(vec![
                tmux(socket, &["select-window", "-t", pane]),
                tmux(socket, &["select-pane", "-t", pane]),
            ]),
            Pane::WezTerm { socket, pane } => {
                Some(vec![wezterm(socket, &["activate-pane", "--pane-id", pane])])
            }
            Pane::Kitty { address, window } => {
                Some(vec![kitty(address, &["focus-window", "--match", &format!("id:{window}")])])
            }
            Pane::Iterm { session } => {
                Some(vec![TerminalCall::new("osascript", &["-e", ITERM_SWITCH, session])])
            }
            Pane::Zellij { .. } | Pane::WindowsTerminal => None,
        }
    }

    /// Returns tmux's call to show the pane in its client, which may show another session. It fails
    /// without a client, which is no failure of the switch.
    pub fn show(&self) -> Option<TerminalCall> {
        match self {
            Pane::Tmux { socket, pane } => Some(tmux(socket, &["switch-client", "-t", pane])),
            _ => None,
        }
    }

    /// Returns the call that runs a program in a new tab or window of the same terminal.
    pub fn open(&self, folder: &str, argv: &[String]) -> TerminalCall {
        match self {
            Pane::Tmux { socket, .. } => {
                // A single word would be run by a shell; `env` makes two of it.
                tmux(socket, &["new-window", "-c", folder, "--", "env"]).and(argv)
            }
            Pane::WezTerm { socket, pane } => {
                let arguments = ["spawn", "--pane-id", pane, "--cwd", folder, "--"];
                wezterm(socket, &arguments).and(argv)
            }
            Pane::Kitty { address, .. } => {
                kitty(address, &["launch", "--type=tab", "--cwd", folder, "--"]).and(argv)
            }
            Pane::Zellij { session } => {
                let arguments = ["--session", session, "run", "--cwd", folder, "--"];
                TerminalCall::new("zellij", &arguments).and(argv)
            }
            Pane::Iterm { .. } => {
                // iTerm2 splits this by itself, as a shell would, and has no folder option. The
                // script is fixed; all other words are arguments of it.
                let script = ["/bin/sh", "-c", "cd \"$0\" && exec \"$@\"", folder];
                let command = shell_words(&[&owned(&script), argv].concat());
                TerminalCall::new("osascript", &["-e", ITERM_OPEN, &command])
            }
            Pane::WindowsTerminal => {
                // `;` begins another command of its own.
                let escaped: Vec<_> = argv.iter().map(|word| word.replace(';', "\\;")).collect();
                let folder = folder.replace(';', "\\;");
                TerminalCall::new("wt.exe", &["-w", "0", "new-tab", "-d", &folder, "--"])
                    .and(&escaped)
            }
        }
    }

    pub fn can_be_pasted_into(&self) -> bool {
        self.paste("").is_some()
    }

    /// Returns the call that prints the pane's text; `None` if this terminal has none.
    pub fn screen(&self) -> Option<TerminalCall> {
        match self {
            // Without `-u` it writes `_` for every character that is not ASCII, if the locale is C.
            Pane::Tmux { socket, pane } => Some(TerminalCall::new(
                "tmux",
                &["-u", "-S", socket, "capture-pane", "-p", "-t", pane],
            )),
            Pane::WezTerm { socket, pane } => {
                Some(wezterm(socket, &["get-text", "--pane-id", pane]))
            }
            Pane::Kitty { address, window } => {
                Some(kitty(address, &["get-text", "--match", &format!("id:{window}")]))
            }
            Pane::Zellij { .. } | Pane::Iterm { .. } | Pane::WindowsTerminal => None,
        }
    }

    /// Returns the call that presses Ctrl-S, by which Claude stashes a draft until the next prompt.
    /// Without a draft it restores the stashed one. Returns `None` if this terminal has none.
    pub fn put_draft_aside(&self) -> Option<TerminalCall> {
        const CTRL_S: &str = "\x13";
        match self {
            Pane::Tmux { socket, pane } => Some(tmux(socket, &["send-keys", "-t", pane, "C-s"])),
            Pane::WezTerm { socket, pane } => Some(wezterm_keys(socket, pane, CTRL_S)),
            Pane::Kitty { address, window } => Some(kitty_keys(address, window, CTRL_S)),
            Pane::Zellij { .. } | Pane::Iterm { .. } | Pane::WindowsTerminal => None,
        }
    }

    /// Returns the calls that paste a text and send it as a user would. The text has no control
    /// characters but line ends and tabs. Returns `None` if this terminal has none.
    pub fn paste(&self, text: &str) -> Option<Paste> {
        match self {
            Pane::Tmux { socket, pane } => {
                let buffer = format!("turnbridge-{}", pane.trim_start_matches('%'));
                // Bracketed, so that line ends do not send the text; and deleted afterwards.
                let text_call = ["paste-buffer", "-p", "-r", "-d", "-b", &buffer, "-t", pane];
                Some(Paste {
                    load: Some(tmux(socket, &["load-buffer", "-b", &buffer, "-"]).reading(text)),
                    text: tmux(socket, &text_call),
                    enter: tmux(socket, &["send-keys", "-t", pane, "Enter"]),
                    unload: Some(tmux(socket, &["delete-buffer", "-b", &buffer])),
                })
            }
            Pane::WezTerm { socket, pane } => Some(Paste {
                load: None,
                text: wezterm(socket, &["send-text", "--pane-id", pane]).reading(text),
                enter: wezterm_keys(socket, pane, "\r"),
                unload: None,
            }),
            // Its own option for brackets is newer than some versions in use.
            Pane::Kitty { address, window } => Some(Paste {
                load: None,
                text: kitty_keys(address, window, &format!("\x1b[200~{text}\x1b[201~")),
                enter: kitty_keys(address, window, "\r"),
                unload: None,
            }),
            Pane::Zellij { .. } | Pane::Iterm { .. } | Pane::WindowsTerminal => None,
        }
    }
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Returns whether the text may be a name: never an option.
fn is_name(text: &str) -> bool {
    !text.is_empty() && !text.starts_with('-') && !text.contains(char::is_control)
}

fn tmux(socket: &str, arguments: &[&str]) -> TerminalCall {
    TerminalCall::new("tmux", &["-S", socket]).and(&owned(arguments))
}

fn wezterm(socket: &Option<String>, arguments: &[&str]) -> TerminalCall {
    TerminalCall::new("wezterm", &["cli"])
        .and(&owned(arguments))
        .with("WEZTERM_UNIX_SOCKET", socket.as_ref())
}

fn wezterm_keys(socket: &Option<String>, pane: &str, keys: &str) -> TerminalCall {
    wezterm(socket, &["send-text", "--no-paste", "--pane-id", pane]).reading(keys)
}

fn kitty_keys(address: &Option<String>, window: &str, keys: &str) -> TerminalCall {
    let to = format!("id:{window}");
    kitty(address, &["send-text", "--match", &to, "--stdin"]).reading(keys)
}

/// Builds a call of `kitty @`. `kitten` is the same, but newer than some versions in use.
fn kitty(address: &Option<String>, arguments: &[&str]) -> TerminalCall {
    let to: Vec<_> = address.iter().flat_map(|address| ["--to", address]).collect();
    TerminalCall::new("kitty", &["@"]).and(&owned(&to)).and(&owned(arguments))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pane(variables: &[(&'static str, &'static str)]) -> Option<Pane> {
        Pane::of(|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| *value))
    }

    #[test]
    fn a_pane_is_known_by_what_its_terminal_has_put_into_the_environment() {
        let tmux = [("TMUX", "/tmp/tmux-0/default,123,0"), ("TMUX_PANE", "%3")];
        let inner = Some(Pane::Tmux { socket: "/tmp/tmux-0/default".into(), pane: "%3".into() });
        assert_eq!(pane(&tmux), inner);
        assert_eq!(pane(&[tmux[0], tmux[1], ("WEZTERM_PANE", "4")]), inner, "the inner one");
        let iterm = "w0t1p0:6E0C1B2A-0D7B-4B6D-9B0E-1E1A2B3C4D5E";
        assert!(matches!(pane(&[("ITERM_SESSION_ID", iterm)]), Some(Pane::Iterm { .. })));
        assert_eq!(pane(&[("WT_SESSION", "x")]), Some(Pane::WindowsTerminal));
        for bad in [
            [("TMUX", "/s,1,0"), ("TMUX_PANE", "%3;kill-server")],
            [("TMUX", ""), ("TMUX_PANE", "%3")],
            [("WEZTERM_PANE", "--help"), ("KITTY_WINDOW_ID", "")],
            [("ITERM_SESSION_ID", "w0:\" & do shell script"), ("ZELLIJ_SESSION_NAME", "-x")],
        ] {
            assert_eq!(pane(&bad), None, "{bad:?}");
        }
    }

    #[test]
    fn a_text_is_pasted_whole_and_sent_off_once() {
        let tmux = Pane::Tmux { socket: "/s".into(), pane: "%3".into() };
        let paste = tmux.paste("a\n$(b) 'c'").unwrap();
        let calls = [paste.load.unwrap(), paste.text, paste.enter, paste.unload.unwrap()];
        let shown: Vec<_> =
            calls.iter().map(|call| (call.arguments.join(" "), call.stdin.clone())).collect();
        assert_eq!(
            shown,
            [
                ("-S /s load-buffer -b turnbridge-3 -".to_owned(), Some("a\n$(b) 'c'".to_owned())),
                ("-S /s paste-buffer -p -r -d -b turnbridge-3 -t %3".to_owned(), None),
                ("-S /s send-keys -t %3 Enter".to_owned(), None),
                ("-S /s delete-buffer -b turnbridge-3".to_owned(), None),
            ]
        );
        let kitty = Pane::Kitty { address: None, window: "2".into() };
        let paste = kitty.paste("a\nb").unwrap();
        let sent = [paste.text, paste.enter].map(|call| call.stdin.unwrap());
        assert_eq!(sent, ["\x1b[200~a\nb\x1b[201~", "\r"]);
    }

    #[test]
    fn kt_74_a_folder_and_a_command_are_arguments_and_never_code() {
        let argv = ["claude", "-r", "x; rm -rf ~"].map(str::to_owned);
        let folder = "/it's; $HOME";
        let open = |pane: Pane| pane.open(folder, &argv).arguments.join("|");
        let tmux = Pane::Tmux { socket: "/s".into(), pane: "%3".into() };
        assert_eq!(open(tmux), "-S|/s|new-window|-c|/it's; $HOME|--|env|claude|-r|x; rm -rf ~");
        assert_eq!(
            open(Pane::WindowsTerminal),
            "-w|0|new-tab|-d|/it's\\; $HOME|--|claude|-r|x\\; rm -rf ~"
        );
        let iterm = Pane::Iterm { session: "x".into() }.open(folder, &argv);
        assert_eq!(
            iterm.arguments[2],
            "/bin/sh -c 'cd \"$0\" && exec \"$@\"' '/it'\\''s; $HOME' claude -r 'x; rm -rf ~'"
        );
        let kitty = Pane::Kitty { address: Some("unix:/k".into()), window: "2".into() };
        assert!(
            open(kitty)
                .starts_with("@|--to|unix:/k|launch|--type=tab|--cwd|/it's; $HOME|--|claude")
        );
    }
}
