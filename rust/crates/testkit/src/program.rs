//! Writes a script that a test runs.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Another process writes the file: a child that another test starts meanwhile would inherit a file that this one has
/// open for writing, and the script could not be run ("Text file busy").
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
