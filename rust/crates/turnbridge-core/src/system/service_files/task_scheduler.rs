//! Writes the daemon's task for the Windows Task Scheduler, and detects from its output whether the
//! task runs.
//!
//! A task has no environment of its own, and none is written: it starts with the user's variables
//! from the registry, PATH included, which is where users of Windows set them.

use super::xml::escape;
use super::{Job, Unwritable, check, refuse_if};

pub const TASK: &str = r"\Turnbridge\Daemon";

/// Runs the daemon in a console without a window. Closing a console program's window ends it, and
/// `Hidden` only hides the task in the list of tasks. conhost does not return the exit code
/// (microsoft/terminal#17178), so `RestartOnFailure` misses some failures. Hence the second
/// trigger, every minute, which has no effect while the daemon runs (`IgnoreNew`).
const CONSOLE: &str = r"%SystemRoot%\System32\conhost.exe";

/// Returns the task as XML. `user` is the user whose logon starts it, `DOMAIN\name`. A task for
/// oneself needs no administrator.
pub fn render(job: &Job, user: &str) -> Result<String, Unwritable> {
    job.check()?;
    check(user)?;
    let words = [&job.program].into_iter().chain(&job.arguments);
    let words: Vec<_> = words.map(|word| argument(word)).collect::<Result<_, _>>()?;
    let arguments = escape(&format!("--headless {}", words.join(" ")));
    let user = escape(user);
    Ok(format!(
        r#"<?xml version="1.0" encoding="UTF-16"?>
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo>
    <Description>Turnbridge: replies to coding agents</Description>
  </RegistrationInfo>
  <Triggers>
    <LogonTrigger>
      <Enabled>true</Enabled>
      <UserId>{user}</UserId>
    </LogonTrigger>
    <TimeTrigger>
      <Enabled>true</Enabled>
      <StartBoundary>2020-01-01T00:00:00</StartBoundary>
      <Repetition>
        <Interval>PT1M</Interval>
        <StopAtDurationEnd>false</StopAtDurationEnd>
      </Repetition>
    </TimeTrigger>
  </Triggers>
  <Principals>
    <Principal id="Author">
      <UserId>{user}</UserId>
      <LogonType>InteractiveToken</LogonType>
      <RunLevel>LeastPrivilege</RunLevel>
    </Principal>
  </Principals>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <AllowHardTerminate>true</AllowHardTerminate>
    <StartWhenAvailable>true</StartWhenAvailable>
    <RunOnlyIfNetworkAvailable>false</RunOnlyIfNetworkAvailable>
    <IdleSettings>
      <StopOnIdleEnd>false</StopOnIdleEnd>
      <RestartOnIdle>false</RestartOnIdle>
    </IdleSettings>
    <AllowStartOnDemand>true</AllowStartOnDemand>
    <Enabled>true</Enabled>
    <Hidden>true</Hidden>
    <RunOnlyIfIdle>false</RunOnlyIfIdle>
    <WakeToRun>false</WakeToRun>
    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
    <Priority>5</Priority>
    <RestartOnFailure>
      <Interval>PT1M</Interval>
      <Count>255</Count>
    </RestartOnFailure>
  </Settings>
  <Actions Context="Author">
    <Exec>
      <Command>{CONSOLE}</Command>
      <Arguments>{arguments}</Arguments>
    </Exec>
  </Actions>
</Task>
"#
    ))
}

/// Returns one argument as Windows programs split their command line. The Task Scheduler expands
/// variables first, and they cannot be escaped.
fn argument(text: &str) -> Result<String, Unwritable> {
    refuse_if(text.contains('"'), text, "has a quote, which no path on Windows has")?;
    let is_variable = text.matches('%').count() > 1 || text.contains("$(");
    refuse_if(is_variable, text, "has what the Task Scheduler takes for a variable")?;
    if !text.is_empty() && !text.contains(' ') {
        return Ok(text.to_owned());
    }
    // Before the closing quote a backslash would escape it.
    let backslashes = text.len() - text.trim_end_matches('\\').len();
    Ok(format!("\"{text}{}\"", "\\".repeat(backslashes)))
}

/// Returns the definition as the bytes that `schtasks` reads: UTF-16 with a mark, as its
/// declaration says.
pub fn encode(definition: &str) -> Vec<u8> {
    let units = std::iter::once(0xfeff).chain(definition.encode_utf16());
    units.flat_map(u16::to_le_bytes).collect()
}

/// Returns whether a line of `schtasks /Query /FO CSV /V /NH` reports a current run. The words are
/// in the user's language; the last result is a number (`SCHED_S_TASK_RUNNING`).
pub fn is_running(csv: &str) -> bool {
    const LAST_RESULT: usize = 6;
    csv.lines().any(|line| fields(line).nth(LAST_RESULT).is_some_and(|field| field == "267009"))
}

/// Splits the fields, provided that all are in quotes, which is how `schtasks` writes them.
fn fields(line: &str) -> impl Iterator<Item = &str> {
    let line = line.trim();
    line.strip_prefix('"').unwrap_or(line).split("\",\"")
}
