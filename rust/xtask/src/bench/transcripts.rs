//! Writes transcripts of any length for the Stop gate, with the speech in the last turn. In these
//! runs no other hook is registered, so that the gate must read the transcript.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Result;

const PROMPT_ID: &str = "11111111-2222-4333-8444-555555555555";

/// Writes past turns up to `size` bytes, then the one that is about to end.
pub fn write(path: &Path, size: usize) -> Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    let said = "The build went through. ".repeat(40);
    let mut written = 0;
    for turn in 0.. {
        if written >= size {
            break;
        }
        let past = format!(
            r#"{{"type":"user","promptId":"past-{turn}","message":{{"role":"user","content":"go on"}}}}
{{"type":"assistant","message":{{"content":[{{"type":"text","text":"{said}"}}]}}}}
"#
        );
        file.write_all(past.as_bytes())?;
        written += past.len();
    }
    let last = format!(
        r#"{{"type":"user","promptId":"{PROMPT_ID}","message":{{"role":"user","content":"fix it"}}}}
{{"type":"assistant","message":{{"content":[{{"type":"tool_use","id":"t1","name":"mcp__plugin_turnbridge_voice__speak","input":{{"text":"Done."}}}}]}}}}
{{"type":"user","promptId":"{PROMPT_ID}","message":{{"content":[{{"tool_use_id":"t1","type":"tool_result","content":[{{"type":"text","text":"Speaking."}}]}}]}}}}
{{"type":"assistant","message":{{"content":[{{"type":"text","text":"Fixed."}}]}}}}
"#
    );
    file.write_all(last.as_bytes())?;
    file.flush()?;
    Ok(())
}

/// Returns the payload of the Stop event that ends the transcript's last turn.
pub fn stop_payload(transcript: &Path) -> String {
    format!(
        r#"{{"session_id":"825c8529-ee09-4cb8-8902-dd785b12ca0a","transcript_path":"{}","cwd":"/home/user/project","prompt_id":"{PROMPT_ID}","hook_event_name":"Stop","stop_hook_active":false,"last_assistant_message":"Fixed."}}
"#,
        transcript.display()
    )
}

/// Creates a folder of settings with the sandbox on.
pub fn sandboxed_settings(folder: &Path) -> Result<PathBuf> {
    fs::write(folder.join("settings.json"), r#"{"sandbox":{"enabled":true}}"#)?;
    Ok(folder.to_owned())
}
