//! Reads the folders of a distribution's user from the output of `env` in that distribution.

use super::automount_root;

/// The folders in the environment of a program without a login shell, which lacks the variables of
/// the user's profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WslEnvironment {
    pub home: String,
    path: String,
    claude_config_dir: Option<String>,
    codex_home: Option<String>,
    xdg_state_home: Option<String>,
}

impl WslEnvironment {
    /// Parses the output of `env`. Returns `None` if it contains no home.
    pub fn parse(printed: &str) -> Option<WslEnvironment> {
        let value = |name: &str| {
            let mut lines = printed.lines();
            lines.find_map(|line| line.strip_prefix(name)?.strip_prefix('=')).map(str::to_owned)
        };
        let folder = |name: &str| value(name).filter(|path| path.starts_with('/'));
        Some(WslEnvironment {
            home: folder("HOME")?.trim_end_matches('/').to_owned(),
            path: value("PATH").unwrap_or_default(),
            claude_config_dir: folder("CLAUDE_CONFIG_DIR"),
            codex_home: folder("CODEX_HOME"),
            xdg_state_home: folder("XDG_STATE_HOME"),
        })
    }

    pub fn claude_settings(&self) -> String {
        let folder = self.claude_config_dir.clone();
        in_folder(&folder.unwrap_or_else(|| self.in_home(".claude")), "settings.json")
    }

    pub fn codex_home(&self) -> String {
        self.codex_home.clone().unwrap_or_else(|| self.in_home(".codex"))
    }

    pub fn codex_config(&self) -> String {
        in_folder(&self.codex_home(), "config.toml")
    }

    /// Returns the state folder of that distribution's Turnbridge.
    pub fn state_dir(&self) -> String {
        let folder = self.xdg_state_home.clone();
        in_folder(&folder.unwrap_or_else(|| self.in_home(".local/state")), "turnbridge")
    }

    /// Returns the folders in which programs are searched for: those that a login shell usually
    /// adds, then the PATH. Windows' folders are omitted; their programs are for Windows.
    pub fn program_folders(&self, wsl_conf: &str) -> Vec<String> {
        let own = [".local/bin", ".cargo/bin", ".npm-global/bin", ".claude/local", "bin"];
        let own = own.map(|folder| self.in_home(folder));
        let of_all = ["/usr/local/bin", "/usr/bin", "/home/linuxbrew/.linuxbrew/bin"];
        let automounts = automount_root(wsl_conf);
        let on_path = self
            .path
            .split(':')
            .filter(|folder| folder.starts_with('/') && !is_of_windows(folder, &automounts));
        let mut folders: Vec<String> = Vec::new();
        let all =
            own.into_iter().chain(of_all.map(str::to_owned)).chain(on_path.map(str::to_owned));
        for folder in all {
            let folder = folder.trim_end_matches('/').to_owned();
            if !folders.contains(&folder) {
                folders.push(folder);
            }
        }
        folders
    }

    fn in_home(&self, name: &str) -> String {
        in_folder(&self.home, name)
    }
}

fn in_folder(folder: &str, name: &str) -> String {
    format!("{}/{name}", folder.trim_end_matches('/'))
}

/// Matches `/mnt/c/…`: a drive below the folder of the drives.
fn is_of_windows(folder: &str, automounts: &str) -> bool {
    let Some(drive) = folder.strip_prefix(automounts) else { return false };
    let mut letters = drive.chars();
    letters.next().is_some_and(|letter| letter.is_ascii_alphabetic())
        && letters.next().is_none_or(|next| next == '/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn homes_are_the_usual_ones_unless_a_variable_says_otherwise() {
        let plain =
            WslEnvironment::parse("SHELL=/bin/sh\nHOME=/home/kim\nPATH=/usr/bin\n").unwrap();
        assert_eq!(plain.claude_settings(), "/home/kim/.claude/settings.json");
        assert_eq!(plain.codex_config(), "/home/kim/.codex/config.toml");
        assert_eq!(plain.state_dir(), "/home/kim/.local/state/turnbridge");
        let moved =
            "HOME=/root\nCLAUDE_CONFIG_DIR=/srv/claude/\nCODEX_HOME=/srv/x\nXDG_STATE_HOME=/s\n";
        let moved = WslEnvironment::parse(moved).unwrap();
        assert_eq!(moved.claude_settings(), "/srv/claude/settings.json");
        assert_eq!(moved.codex_home(), "/srv/x");
        assert_eq!(moved.state_dir(), "/s/turnbridge");
        // A path of Windows has no meaning there.
        let relative =
            WslEnvironment::parse("HOME=/h\nCODEX_HOME=C:\\x\nCLAUDE_CONFIG_DIR=\n").unwrap();
        assert_eq!(relative.codex_home(), "/h/.codex");
        assert_eq!(relative.claude_settings(), "/h/.claude/settings.json");
        for text in ["", "PATH=/bin", "HOME=", "HOME=home", "XHOME=/x"] {
            assert_eq!(WslEnvironment::parse(text), None, "{text}");
        }
    }

    #[test]
    fn programs_are_looked_for_in_linux_folders_only() {
        let path = "/opt/x/bin:/usr/bin/:/mnt/c/Windows:/mnt/d:/mnt/data/bin:rel::/opt/x/bin";
        let environment = WslEnvironment::parse(&format!("HOME=/h\nPATH={path}\n")).unwrap();
        insta::assert_snapshot!(environment.program_folders("").join("\n"), @r"
        /h/.local/bin
        /h/.cargo/bin
        /h/.npm-global/bin
        /h/.claude/local
        /h/bin
        /usr/local/bin
        /usr/bin
        /home/linuxbrew/.linuxbrew/bin
        /opt/x/bin
        /mnt/data/bin
        ");
        let folders = environment.program_folders("[automount]\nroot = /\n");
        assert!(folders.contains(&"/mnt/c/Windows".to_owned()));
        let at_root = WslEnvironment::parse("HOME=/h\nPATH=/c/Windows:/opt/bin").unwrap();
        assert!(!at_root.program_folders("[automount]\nroot=/").contains(&"/c/Windows".to_owned()));
    }
}
