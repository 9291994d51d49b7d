//! Writes scripts that tests then run.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Writes an executable script. Another process writes the file: a child of a concurrent test would
/// otherwise inherit the open file, and the script could not be run ("Text file busy").
#[track_caller]
pub fn write_program(path: &Path, script: &str) {
    let mut writer = Command::new("/bin/sh")
        .args(["-c", "cat >\"$0\" && chmod 755 \"$0\""])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()
        .expect("start a shell");
    let mut stdin = writer.stdin.take().expect("its stdin");
    stdin.write_all(script.as_bytes()).expect("write the script");
    drop(stdin);
    assert!(writer.wait().expect("wait for the shell").success(), "{}", path.display());
}
