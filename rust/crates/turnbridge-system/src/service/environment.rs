//! Makes the definition's job: the command of the service, and the variables that it needs, because
//! managers start it with hardly any.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::Result;
use turnbridge_config::Config;
use turnbridge_core::ids::Agent;
use turnbridge_core::system::service_files::{EnvironmentVariables, Job};

use crate::programs;

/// The variables with the folders of the agents and of Turnbridge. Relative ones are ignored.
const FOLDERS: [&str; 6] = [
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "XDG_CONFIG_HOME",
    "XDG_STATE_HOME",
    "XDG_DATA_HOME",
    "XDG_CACHE_HOME",
];

/// The variables for the way to Slack and the models. Tokens are not among them: the config has
/// them (SLV-95), or the agents. A proxy's address may contain a password; the definition is as
/// private as the config.
const NETWORK: [&str; 11] = [
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
];

/// The language of messages to Slack, unless the config has one.
const LOCALE: [&str; 3] = ["LC_ALL", "LC_MESSAGES", "LANG"];

/// The usual folders of programs on such systems.
#[cfg(unix)]
const USUAL: [&str; 6] =
    ["/usr/local/bin", "/opt/homebrew/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"];
#[cfg(not(unix))]
const USUAL: [&str; 0] = [];

/// Returns the job with absolute paths, or an error (SLV-91, SLV-92).
pub fn job(config: &Config) -> Result<Job> {
    let program = programs::own_text("turnbridge")?;
    let arguments = ["daemon", "--foreground"].map(str::to_owned).to_vec();
    let mut environment = vec![("PATH".to_owned(), search_path(&program, config))];
    let folders = FOLDERS
        .iter()
        .filter_map(|name| set(name))
        .filter(|(_, value)| Path::new(value).is_absolute());
    environment.extend(folders);
    environment.extend(NETWORK.iter().chain(&LOCALE).filter_map(|name| set(name)));
    Ok(Job { program, arguments, environment })
}

fn set(name: &str) -> Option<(String, String)> {
    let value = std::env::var(name).ok().filter(|value| !value.is_empty())?;
    Some((name.to_owned(), value))
}

/// Returns the PATH of the service (SLV-96).
fn search_path(program: &str, config: &Config) -> String {
    let agents = Agent::ALL.map(|agent| programs::agent(agent, config));
    let found = agents.into_iter().flatten().chain([PathBuf::from(program)]);
    let found = found.filter_map(|program| program.parent().map(Path::to_owned)).collect();
    let current = std::env::var_os("PATH").unwrap_or_default();
    let temporary = [std::env::temp_dir(), "/tmp".into(), "/var/tmp".into(), "/private/tmp".into()];
    joined(found, &current, &temporary)
}

/// Joins the folders. Those of the found programs come first, so that they are found again. Then
/// come those of the terminal's PATH, in which agents find their programs now, without temporary
/// ones and those of a single project. Last are those of every system.
fn joined(found: Vec<PathBuf>, current: &OsString, temporary: &[PathBuf]) -> String {
    let will_stay = |folder: &PathBuf| {
        let is_temporary = temporary.iter().any(|temporary| folder.starts_with(temporary));
        !is_temporary && !folder.ends_with("node_modules/.bin")
    };
    let current = std::env::split_paths(current).filter(will_stay);
    let usual = USUAL.into_iter().map(PathBuf::from);
    let mut folders: Vec<PathBuf> = Vec::new();
    for folder in found.into_iter().chain(current).chain(usual) {
        let is_writable = folder.to_str().is_some_and(|text| !text.contains(char::is_control));
        // A folder with the separator in its name cannot be in a PATH.
        let is_one = std::env::join_paths([&folder]).is_ok();
        if folder.is_absolute() && is_writable && is_one && !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    let path = std::env::join_paths(folders).unwrap_or_default();
    path.to_string_lossy().into_owned()
}

/// Returns the job that `install` would write, but with the installed values that differ between
/// terminals: a PATH in which the agents are still found, and the language.
pub fn as_installed(mut job: Job, installed: EnvironmentVariables) -> Job {
    let is_of_the_terminal = |name: &str| name == "PATH" || LOCALE.contains(&name);
    let path = installed.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.as_str());
    let now =
        job.environment.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.as_str());
    let is_in =
        |agent: Agent, path: &str| programs::find_in(agent.as_str(), path.as_ref()).is_some();
    let finds_all = Agent::ALL.into_iter().all(|agent| {
        path.is_some_and(|path| is_in(agent, path)) || !now.is_some_and(|now| is_in(agent, now))
    });
    if finds_all {
        let theirs = installed.into_iter().filter(|(name, _)| is_of_the_terminal(name));
        let (path, locale): (Vec<_>, Vec<_>) = theirs.partition(|(name, _)| name == "PATH");
        let ours = job.environment.into_iter().filter(|(name, _)| !is_of_the_terminal(name));
        job.environment = path.into_iter().chain(ours).chain(locale).collect();
    }
    job
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn slv_96_the_path_finds_the_agents_first_and_leaves_out_what_will_be_gone() {
        let found = ["/opt/claude", "/home/user/.local/bin"].map(PathBuf::from).to_vec();
        let current = "/home/user/.nvm/bin:/home/user/.local/bin:relative::/run/x/bin:\
                       /home/user/app/node_modules/.bin:/usr/bin:/bad\nfolder:/snap/bin";
        let path = joined(found, &current.into(), &["/run/x".into()]);
        assert_eq!(
            path,
            "/opt/claude:/home/user/.local/bin:/home/user/.nvm/bin:/usr/bin:/snap/bin:\
             /usr/local/bin:/opt/homebrew/bin:/bin:/usr/sbin:/sbin"
        );
        let found = vec![PathBuf::from("/with:colon"), PathBuf::from("/run/x/claude")];
        let path = joined(found, &OsString::new(), &["/run/x".into()]);
        assert!(path.starts_with("/run/x/claude:/usr/local/bin:"), "{path}");
    }

    #[test]
    fn another_terminal_does_not_make_a_service_outdated() {
        let job = |environment: &[(&str, &str)]| Job {
            program: "/x".to_owned(),
            arguments: Vec::new(),
            environment: environment
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
        };
        let installed = job(&[("PATH", "/old"), ("CODEX_HOME", "/c"), ("LANG", "ja_JP.UTF-8")]);
        let now = job(&[("PATH", "/new"), ("CODEX_HOME", "/c"), ("LC_ALL", "C")]);
        assert_eq!(as_installed(now, installed.environment.clone()), installed);
        let moved = job(&[("PATH", "/new"), ("CODEX_HOME", "/elsewhere")]);
        assert_ne!(as_installed(moved, installed.environment.clone()), installed);
    }
}
