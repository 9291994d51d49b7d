//! Appends whole lines to a file that several processes write.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Duration;

use crate::files::atomic_file::open_making_folders;

/// Appends the whole line in one `write`, which the system does in one piece. If the last writer
/// was cut off in the middle of a line (full disk), a line end first separates the new line. Never
/// blocks on a pipe without a reader. Returns the file's length afterwards.
pub fn append_line(path: &Path, line: &[u8]) -> io::Result<u64> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        rustix::fs::OFlags::NONBLOCK.bits() as i32,
    );
    let mut file = open_making_folders(path, &mut options)?;
    let (length, is_whole) = wait_for_line_end(&mut file)?;
    let apart;
    let line = if is_whole {
        line
    } else {
        apart = [b"\n", line].concat();
        &apart
    };
    // This is not `write_all`, because a rest written later would follow the lines of other
    // processes.
    let written = file.write(line)?;
    if written < line.len() {
        return Err(io::Error::new(io::ErrorKind::WriteZero, "the line was cut off"));
    }
    Ok(length + written as u64)
}

/// Returns the file's length, and whether its last line is whole. Linux shows a line that crosses a
/// page in two steps: it is whole a moment later, while a line that was cut off never is.
fn wait_for_line_end(file: &mut File) -> io::Result<(u64, bool)> {
    let mut length = 0;
    for pause in [Duration::ZERO, Duration::from_micros(100), Duration::from_millis(2)] {
        std::thread::sleep(pause);
        length = file.metadata()?.len();
        if length == 0 {
            return Ok((0, true));
        }
        let mut last = [0];
        file.seek(SeekFrom::Start(length - 1))?;
        file.read_exact(&mut last)?;
        if last == [b'\n'] {
            return Ok((length, true));
        }
    }
    Ok((length, false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_was_cut_off_costs_no_other_line_kt_34() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/notify.jsonl");
        append_line(&path, b"{\"a\":1}\n").unwrap();
        std::fs::OpenOptions::new()
            .append(true)
            .open(&path)
            .and_then(|mut file| file.write_all(b"{\"cut"))
            .unwrap();
        append_line(&path, b"{\"b\":2}\n").unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, "{\"a\":1}\n{\"cut\n{\"b\":2}\n");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_pipe_that_nobody_empties_costs_no_wait() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("fifo");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &path,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RWXU,
            0,
        )
        .unwrap();
        append_line(&path, b"nobody there\n").unwrap();
        let _reader = std::fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
        // This is far more than a pipe holds: a blocking write would hang here.
        let line = vec![b'x'; 4_096];
        assert!((0..1_000).any(|_| append_line(&path, &line).is_err()));
    }
}
