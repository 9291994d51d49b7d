//! Which kind of Codex has a thread open. An interface takes what is queued for the thread; a
//! `codex exec` never looks there, nor does the next one (seen with 0.166.0): what is queued for it
//! would lie there unread. It ends by itself, so it is waited for.

#[cfg(target_os = "linux")]
use std::path::Path;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    /// It ends with its turn, and takes nothing more.
    Exec,
    /// An interface or its server; or it cannot be told.
    Other,
}

#[cfg(target_os = "linux")]
pub fn holder_of(thread_id: &str) -> Holder {
    let Ok(processes) = std::fs::read_dir("/proc") else { return Holder::Other };
    let is_exec = |process: &Path| is_exec(process) && has_open(process, thread_id);
    let mut processes = processes.flatten().map(|process| process.path());
    if processes.any(|process| is_exec(&process)) { Holder::Exec } else { Holder::Other }
}

#[cfg(target_os = "linux")]
fn is_exec(process: &Path) -> bool {
    use turnbridge_core::codex_launch::classify;
    let command_line = std::fs::read(process.join("cmdline")).unwrap_or_default();
    let command_line = String::from_utf8_lossy(&command_line);
    let words: Vec<_> = command_line.trim_end_matches('\0').split('\0').collect();
    let subcommand = classify(&words).and_then(|launch| launch.subcommand);
    subcommand.is_some_and(|name| ["exec", "review"].contains(&name.as_str()))
}

/// It holds the lock of the thread's writer.
#[cfg(target_os = "linux")]
fn has_open(process: &Path, thread_id: &str) -> bool {
    let Ok(files) = std::fs::read_dir(process.join("fd")) else { return false };
    let wanted = Path::new("thread-writer-locks").join(format!("{thread_id}.lock"));
    let mut files = files.flatten().filter_map(|file| std::fs::read_link(file.path()).ok());
    files.any(|file| file.ends_with(&wanted))
}

#[cfg(not(target_os = "linux"))]
pub fn holder_of(_thread_id: &str) -> Holder {
    let _ = Holder::Exec;
    Holder::Other
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_is_no_codex_or_has_no_such_file_open_holds_nothing() {
        let own = Path::new("/proc/self");
        let id = "01a1e18e-2062-79f1-b187-979e8f997b9c";
        assert!(!is_exec(own) && !has_open(own, id));
        let folder = std::env::temp_dir().join(format!("tb-holder-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("thread-writer-locks")).unwrap();
        let path = folder.join("thread-writer-locks").join(format!("{id}.lock"));
        let file = std::fs::File::create(path).unwrap();
        assert!(has_open(own, id));
        drop(file);
        assert!(!has_open(own, id));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
