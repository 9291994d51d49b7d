//! Writes the unit for the user's systemd, and reads the variables back from one.

use super::{EnvironmentVariables, Job, Unwritable, refuse_if};

pub const UNIT: &str = "turnbridge.service";

/// Starts a program whose path systemd does not accept.
const ENV: &str = "/usr/bin/env";

/// Returns the unit.
///
/// Agents are the daemon's children and inherit its restrictions, so most options that harden a
/// service would break them. These are omitted on purpose:
/// - `NoNewPrivileges`, and every seccomp filter (`SystemCallFilter`, `RestrictAddressFamilies`,
///   `RestrictNamespaces`, `RestrictRealtime`, `RestrictSUIDSGID`, `LockPersonality`,
///   `MemoryDenyWriteExecute`), which imply it in a user's manager: no `sudo` in an agent. Besides,
///   agents make namespaces for their own sandbox, and Node.js writes code that it then runs.
/// - `ProtectHome`, `ProtectSystem`, `ReadOnlyPaths`, `PrivateTmp`, `PrivateDevices`: an agent
///   works in the whole home, uses sockets of the user's terminal in `/tmp`, and needs sound to
///   speak.
/// - `PrivateNetwork`, `IPAddressDeny`: the daemon and the agents use the network.
/// - `UMask`: files of a project have the mode that they have elsewhere. Turnbridge's files are
///   private without it.
pub fn render(job: &Job) -> Result<String, Unwritable> {
    job.check()?;
    let command = command(job)?;
    let variable = |(name, value): &(String, String)| {
        // `$` has no meaning here.
        format!("Environment={}\n", quoted(&format!("{name}={value}").replace('%', "%%")))
    };
    let environment: String = job.environment.iter().map(variable).collect();
    Ok(format!(
        "[Unit]
Description=Turnbridge: replies to coding agents
# Whatever it was that failed may be mended by tomorrow: it never gives up.
StartLimitIntervalSec=0

[Service]
Type=exec
ExecStart={command}
{environment}Restart=always
RestartSec=5
# It answers SIGTERM at once, unless Slack is slow.
TimeoutStopSec=30
# Agents that answer a reply outlive a restart of the daemon.
KillMode=process
# An agent that takes all memory is ended alone.
OOMPolicy=continue
# Tokens do not go into core files; an agent's own shell may ask for them (ulimit -c).
LimitCORE=0:infinity

[Install]
WantedBy=default.target
"
    ))
}

/// Returns the words of `ExecStart`. systemd accepts no program with quotes or backslashes in its
/// path, however escaped ("Executable name contains special characters"). `env` does, but takes `=`
/// for an assignment. `env` is replaced by its program, so that the main process stays the daemon.
fn command(job: &Job) -> Result<String, Unwritable> {
    let program = &job.program;
    let is_plain = !program.contains(['\'', '"', '\\']);
    let why = "has a quote or a backslash, and `=`: systemd has no way to start it";
    refuse_if(!is_plain && program.contains('='), program, why)?;
    let mut words = match is_plain {
        // Variables are not expanded in the first word: `$$` would be two characters.
        true => vec![quoted(&program.replace('%', "%%"))],
        false => vec![ENV.to_owned(), argument(program)],
    };
    words.extend(job.arguments.iter().map(|text| argument(text)));
    Ok(words.join(" "))
}

fn argument(text: &str) -> String {
    quoted(&text.replace('%', "%%").replace('$', "$$"))
}

/// Returns the text as one word, with any characters.
fn quoted(text: &str) -> String {
    let is_harmless = |c: char| c.is_ascii_alphanumeric() || "/._-+:=,@%".contains(c);
    if !text.is_empty() && text.chars().all(is_harmless) {
        return text.to_owned();
    }
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Returns the variables in a unit of `render`. Of another unit it may return anything.
pub fn environment_in(definition: &str) -> EnvironmentVariables {
    let variable = |line: &str| {
        let word = unquoted(line.strip_prefix("Environment=")?).replace("%%", "%");
        word.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()))
    };
    definition.lines().filter_map(variable).collect()
}

fn unquoted(word: &str) -> String {
    let inside = word.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let Some(inside) = inside else { return word.to_owned() };
    let mut text = String::with_capacity(inside.len());
    let mut characters = inside.chars();
    while let Some(c) = characters.next() {
        text.push(if c == '\\' { characters.next().unwrap_or(c) } else { c });
    }
    text
}
