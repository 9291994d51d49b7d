//! Provides the common alternatives to a native hook as candidates: a shell script with jq, and a
//! Node script. Both do what tvine's own design has its script do: they read the payload and write
//! status.json.

use std::path::Path;

use anyhow::Result;

use super::spawn::Candidate;

const SHELL: &str = r#"#!/bin/sh
input=$(cat)
event=$(printf '%s' "$input" | jq -r .hook_event_name)
session=$(printf '%s' "$input" | jq -r .session_id)
case "$event" in
  PermissionRequest) status=Waiting ;;
  Stop | SessionStart | SessionEnd) status=Idle ;;
  *) status=Busy ;;
esac
jq -n --arg status "$status" --arg event "$event" --arg id "$session" \
  '{status: $status, event: $event, session_id: $id}' > "$HOME/status.json.tmp"
mv "$HOME/status.json.tmp" "$HOME/status.json"
"#;

const NODE: &str = r#"
const fs = require("fs");
const input = JSON.parse(fs.readFileSync(0, "utf8"));
const status = { PermissionRequest: "Waiting", Stop: "Idle", SessionStart: "Idle" }[input.hook_event_name] ?? "Busy";
const path = process.env.HOME + "/status.json";
fs.writeFileSync(path + ".tmp", JSON.stringify({ status, event: input.hook_event_name, session_id: input.session_id }));
fs.renameSync(path + ".tmp", path);
"#;

/// Returns the alternatives whose programs this machine has.
pub fn candidates(folder: &Path, payload: &str) -> Result<Vec<Candidate>> {
    let mut found = Vec::new();
    let home = folder.join("alternatives");
    std::fs::create_dir_all(&home)?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    if has_program("jq") {
        let script = home.join("status.sh");
        std::fs::write(&script, SHELL)?;
        let script = script.to_string_lossy().into_owned();
        let candidate = Candidate::new(
            "alternative: sh + jq",
            Path::new("/bin/sh"),
            &[&script],
            payload.as_bytes().to_vec(),
        );
        found.push(candidate.env("HOME", &home).env("PATH", &path).rarely());
    }
    if let Some(node) = find_program("node") {
        let script = home.join("status.js");
        std::fs::write(&script, NODE)?;
        let script = script.to_string_lossy().into_owned();
        let candidate =
            Candidate::new("alternative: node", &node, &[&script], payload.as_bytes().to_vec());
        found.push(candidate.env("HOME", &home).rarely());
    }
    Ok(found)
}

fn has_program(name: &str) -> bool {
    find_program(name).is_some()
}

/// Returns the first program of this name on the PATH.
pub fn find_program(name: &str) -> Option<std::path::PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| path.is_file())
}
