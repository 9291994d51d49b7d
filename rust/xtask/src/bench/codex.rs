//! Measures the cost of Codex's report of a turn (`turnbridge notify --tool codex`), with a rollout
//! of 1 MB and one of 300 MB. Codex does not wait for it, but it must not grow with the thread.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::spawn::{Candidate, measure};

const THREAD: &str = "01a1e18b-7630-76a2-a6c7-e01be454fe87";
const TURN: &str = "01a1e18b-769c-7ed3-919f-471840d0e67f";
const AT_MOST: f64 = 1.2;

/// Runs the bench and returns its table.
pub fn run(runs: usize) -> Result<String> {
    let program = super::executable("turnbridge")?;
    let folder = tempfile::tempdir()?;
    let mut candidates = vec![Candidate::new("true", Path::new("/bin/true"), &[], Vec::new())];
    for (name, size) in [("notify 1 MB", 1 << 20), ("notify 300 MB", 300 << 20)] {
        candidates.push(notify(folder.path(), name, size, &program)?);
    }
    let measured = measure(&candidates, runs)?;
    let mut text = super::table(&measured, runs);
    let find = |name: &str| measured.iter().find(|one| one.name == name);
    if let (Some(short), Some(long), Some(nothing)) =
        (find("notify 1 MB"), find("notify 300 MB"), find("true"))
    {
        let ratio = long.quartile / short.quartile;
        let verdict = if ratio <= AT_MOST { "reached" } else { "MISSED" };
        let _ = writeln!(
            text,
            "a 300 MB rollout costs {ratio:.2} x a 1 MB one, by quartile; goal {AT_MOST} x: {verdict}\n\
             a report costs {:.1} x true, by quartile",
            short.quartile / nothing.quartile
        );
    }
    Ok(text)
}

fn notify(folder: &Path, name: &'static str, size: usize, program: &Path) -> Result<Candidate> {
    let home = folder.join(size.to_string());
    fs::create_dir_all(home.join(".config/turnbridge"))?;
    // No server listens there, and a notice that was queued is not queued again.
    fs::write(
        home.join(".config/turnbridge/config.toml"),
        "[slack]\nbot_token = \"xoxb-1\"\napi_url = \"http://127.0.0.1:9/api/\"\n\
         [destinations.dm]\ntarget_user_id = \"U1\"\n",
    )?;
    rollout(&home.join(".codex"), size)?;
    let report = format!(
        r#"{{"type":"agent-turn-complete","thread-id":"{THREAD}","turn-id":"{TURN}","cwd":"/home/user/project","input-messages":["fix it"],"last-assistant-message":"Fixed."}}"#
    );
    let arguments = ["notify", "--tool", "codex", report.as_str()];
    Ok(Candidate::new(name, program, &arguments, Vec::new()).env("HOME", &home))
}

/// Writes a rollout of about `size` bytes. Returns its path and thread.
pub fn rollout(folder: &Path, size: usize) -> Result<(PathBuf, &'static str)> {
    let sessions = folder.join("sessions/2026/11/15");
    fs::create_dir_all(&sessions)?;
    let path = sessions.join(format!("rollout-2026-11-15T10-00-00-{THREAD}.jsonl"));
    write_rollout(&path, size)?;
    Ok((path, THREAD))
}

/// Writes past turns up to `size` bytes, then the one that has ended.
fn write_rollout(path: &Path, size: usize) -> Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    writeln!(
        file,
        r#"{{"type":"session_meta","payload":{{"id":"{THREAD}","session_id":"{THREAD}","cli_version":"0.166.0","history_mode":"paginated","source":"exec","thread_source":"user"}}}}"#
    )?;
    let output = "ls -l: total 42\\n".repeat(500);
    let mut written = 0;
    for turn in 0.. {
        if written >= size {
            break;
        }
        let turn = format!("01a1e18b-769c-7ed3-919f-{turn:012}");
        let past = format!(
            r#"{}{{"type":"response_item","payload":{{"type":"function_call_output","call_id":"c","output":"{output}"}}}}
"#,
            turn_lines(&turn, "go on")
        );
        file.write_all(past.as_bytes())?;
        written += past.len();
    }
    file.write_all(turn_lines(TURN, "fix it").as_bytes())?;
    file.flush()?;
    Ok(())
}

fn turn_lines(turn: &str, prompt: &str) -> String {
    format!(
        r#"{{"type":"event_msg","payload":{{"type":"task_started","turn_id":"{turn}"}}}}
{{"type":"event_msg","payload":{{"type":"item_completed","turn_id":"{turn}","item":{{"type":"UserMessage","content":[{{"type":"text","text":"{prompt}"}}]}}}}}}
"#
    )
}
