//! Creates the home of a demo: a folder for all its files, and an environment whose folders are all
//! in it. Only the variables named here are inherited from the user.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use toml_edit::{DocumentMut, Item, Table, value};
use turnbridge_core::ids::Agent;
use turnbridge_store::paths::StatePaths;
use turnbridge_system::random;
use turnbridge_system::replies::runner::agent::in_its_own_group;

use crate::config;
use crate::failure::hinted;

/// The environment variable that marks a demo's processes: the folder of Turnbridge's executables.
pub const VARIABLE: &str = "TURNBRIDGE_DEMO";

/// The inherited variables: search path and language. Windows starts hardly any program without its
/// own ones.
const INHERITED: [&str; 12] = [
    "PATH",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_CTYPE",
    "LC_MESSAGES",
    "TERM",
    "NO_COLOR",
    "PATHEXT",
    "SystemRoot",
    "SystemDrive",
    "ComSpec",
];

/// The number of removal attempts: a hook started just before the end may still write.
const REMOVALS: u32 = 20;
const BETWEEN_REMOVALS: Duration = Duration::from_millis(100);

pub struct DemoHome {
    root: PathBuf,
    programs: PathBuf,
    is_kept: bool,
}

impl DemoHome {
    /// Creates a home in a new temporary folder, which is removed with it.
    pub fn temporary() -> Result<DemoHome> {
        let number = random::hex::<8>().ok().context("the system has no random numbers")?;
        let name = format!("turnbridge-demo-{number}");
        let root = std::env::temp_dir().join(name);
        create_private(&root).with_context(|| format!("could not make `{}`", root.display()))?;
        DemoHome::furnish(&root, false)
    }

    /// Creates a home in the user's folder, which stays.
    pub fn kept(folder: &Path) -> Result<DemoHome> {
        match create_private(folder) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            made => made.with_context(|| format!("could not make `{}`", folder.display()))?,
        }
        let read = || format!("could not read `{}`", folder.display());
        if fs::read_dir(folder).with_context(read)?.next().is_some() {
            let hint = "name an empty folder, or one that does not exist yet";
            return Err(hinted(format!("`{}` is not empty", folder.display()), hint));
        }
        DemoHome::furnish(folder, true)
    }

    fn furnish(root: &Path, is_kept: bool) -> Result<DemoHome> {
        let own = std::env::current_exe().context("could not find this program's own path")?;
        let root = std::path::absolute(root).unwrap_or_else(|_| root.to_owned());
        let programs = own.parent().unwrap_or(Path::new("")).to_owned();
        // From here on the folder is removed on every error.
        let home = DemoHome { root, programs, is_kept };
        let folders = home.folders();
        for folder in folders.iter().map(|(_, folder)| folder).chain([&home.root.join("bin")]) {
            fs::create_dir_all(folder)
                .with_context(|| format!("could not make `{}`", folder.display()))?;
        }
        for agent in Agent::ALL {
            let launcher = home.launcher(agent);
            put(&own, &launcher)
                .with_context(|| format!("could not make `{}`", launcher.display()))?;
        }
        let folder = home.root.join("config").join("turnbridge");
        let path = folder.join("config.toml");
        create_private(&folder)
            .and_then(|()| fs::write(&path, home.config()))
            .with_context(|| format!("could not write `{}`", path.display()))?;
        Ok(home)
    }

    pub fn paths(&self) -> StatePaths {
        StatePaths::below(&self.root.join("state").join("turnbridge"))
    }

    /// Returns the folder of a session.
    pub fn project(&self, name: &str) -> PathBuf {
        self.root.join("work").join(name)
    }

    /// Returns a call of `turnbridge` that knows no other home. A key that ends this process does
    /// not end it.
    pub fn command(&self, arguments: &[&str]) -> Result<Command> {
        let own = std::env::current_exe().context("could not find this program's own path")?;
        let mut command = Command::new(own);
        command.args(arguments).current_dir(&self.root).env_clear();
        for name in INHERITED {
            command.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        command.envs(self.folders()).env(VARIABLE, &self.programs);
        in_its_own_group(&mut command);
        Ok(command)
    }

    fn folders(&self) -> [(&'static str, PathBuf); 14] {
        let below = |name: &str| self.root.join(name);
        [
            ("HOME", below("home")),
            ("USERPROFILE", below("home")),
            ("XDG_CONFIG_HOME", below("config")),
            ("APPDATA", below("config")),
            ("XDG_STATE_HOME", below("state")),
            ("LOCALAPPDATA", below("state")),
            ("XDG_DATA_HOME", below("data")),
            ("XDG_CACHE_HOME", below("cache")),
            ("XDG_RUNTIME_DIR", below("run")),
            ("CLAUDE_CONFIG_DIR", below("claude")),
            ("CODEX_HOME", below("codex")),
            ("TMPDIR", below("tmp")),
            ("TEMP", below("tmp")),
            ("TMP", below("tmp")),
        ]
    }

    /// Returns the path of the program that replaces the agent's.
    fn launcher(&self, agent: Agent) -> PathBuf {
        let name = format!("{agent}{}", std::env::consts::EXE_SUFFIX);
        self.root.join("bin").join(name)
    }

    /// Returns the config: no Slack, and the user's language.
    fn config(&self) -> String {
        let mut document = DocumentMut::new();
        if let Some(language) = config::read_or_default().language {
            document["language"] = value(language);
        }
        let mut gate = Table::new();
        gate["enabled"] = value(false);
        document["gate"] = Item::Table(gate);
        let mut resume = Table::new();
        for agent in Agent::ALL {
            resume[agent.as_str()] = value(self.launcher(agent).to_string_lossy().into_owned());
        }
        document["resume"] = Item::Table(resume);
        document.to_string()
    }
}

impl Drop for DemoHome {
    fn drop(&mut self) {
        if self.is_kept {
            return;
        }
        for _ in 0..REMOVALS {
            match fs::remove_dir_all(&self.root) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    std::thread::sleep(BETWEEN_REMOVALS);
                }
                _ => return,
            }
        }
        let path = self.root.display();
        crate::failure::note(&format!("`{path}` could not be removed; remove it yourself"));
    }
}

fn create_private(folder: &Path) -> std::io::Result<()> {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "folders have no mode there"))]
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

#[cfg(unix)]
fn put(program: &Path, launcher: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(program, launcher)
}

/// Copies the executable: a link needs a privilege that few users have here.
#[cfg(not(unix))]
fn put(program: &Path, launcher: &Path) -> std::io::Result<()> {
    fs::copy(program, launcher).map(drop)
}

/// Returns the path of a Turnbridge executable within a demo, where this one may be a copy
/// elsewhere.
pub fn program(name: &str) -> Result<PathBuf> {
    let folder = std::env::var_os(VARIABLE).filter(|folder| !folder.is_empty());
    let folder = folder.context("this is no demo")?;
    Ok(PathBuf::from(folder).join(format!("{name}{}", std::env::consts::EXE_SUFFIX)))
}
