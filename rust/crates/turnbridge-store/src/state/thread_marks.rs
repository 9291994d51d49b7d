//! Stores how far each Slack thread has been read, and the messages taken beyond that
//! (`slack-threads.jsonl`). Only the daemon writes it. A change is a line that is on the disk
//! before the daemon relies on it. A line that a kill has cut off counts as not written.

use std::fs::{self, OpenOptions};
use std::io;

use turnbridge_core::slack::marks_wire::MarkLine;
use turnbridge_core::slack::thread_marks::{MarkChange, ThreadMarks};

use crate::files::append::append_line;
use crate::files::atomic_file::{open_making_folders, write_durably};
use crate::paths::StatePaths;

/// The file is written anew if it has this many lines more than facts.
const SPARE_LINES: usize = 4_096;

/// The marks and their file.
pub struct MarksFile {
    paths: StatePaths,
    marks: ThreadMarks,
    lines: usize,
}

impl MarksFile {
    pub fn read(paths: &StatePaths) -> io::Result<MarksFile> {
        let bytes = match fs::read(paths.thread_marks()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            bytes => bytes?,
        };
        let mut marks = ThreadMarks::default();
        let mut lines = 0;
        for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            lines += 1;
            let line = serde_json::from_slice::<MarkLine>(line).ok();
            if let Some(change) = line.and_then(|line| line.change()) {
                marks.apply(change);
            }
        }
        Ok(MarksFile { paths: paths.clone(), marks, lines })
    }

    pub fn marks(&self) -> &ThreadMarks {
        &self.marks
    }

    /// Changes the marks after the change is on the disk.
    pub fn change(&mut self, change: MarkChange) -> io::Result<()> {
        let path = self.paths.thread_marks();
        append_line(&path, &line(&change)?)?;
        let mut options = OpenOptions::new();
        open_making_folders(&path, options.append(true).create(true))?.sync_all()?;
        self.marks.apply(change);
        self.lines += 1;
        self.tidy()
    }

    fn tidy(&mut self) -> io::Result<()> {
        if self.lines < SPARE_LINES {
            return Ok(());
        }
        let changes = self.marks.changes();
        if self.lines < changes.len() + SPARE_LINES {
            return Ok(());
        }
        let lines: io::Result<Vec<_>> = changes.iter().map(line).collect();
        write_durably(&self.paths.thread_marks(), &lines?.concat())?;
        self.lines = changes.len();
        Ok(())
    }
}

fn line(change: &MarkChange) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(&MarkLine::of(change))?;
    line.push(b'\n');
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use turnbridge_core::slack::slack_ts::SlackTs;
    use turnbridge_core::slack::thread_marks::ThreadKey;

    fn read_to(number: usize) -> MarkChange {
        let ts = SlackTs::parse(&format!("{}.000100", 2_000 + number)).unwrap();
        MarkChange::ReadTo { thread: ThreadKey::new("D1", "1000.000000"), ts }
    }

    #[test]
    fn marks_are_there_again_and_a_line_that_was_cut_off_costs_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let paths = StatePaths::below(folder.path());
        let mut file = MarksFile::read(&paths).unwrap();
        file.change(read_to(1)).unwrap();
        append_line(&paths.thread_marks(), b"{\"channel\":\"D1\",\"thread_ts\":\"1000.0").unwrap();
        file.change(read_to(2)).unwrap();
        assert_eq!(MarksFile::read(&paths).unwrap().marks(), file.marks());
    }

    #[test]
    fn the_file_does_not_grow_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let paths = StatePaths::below(folder.path());
        let old: Vec<u8> = (0..SPARE_LINES + 5).flat_map(|n| line(&read_to(n)).unwrap()).collect();
        fs::write(paths.thread_marks(), old).unwrap();
        let mut file = MarksFile::read(&paths).unwrap();
        file.change(read_to(9_000)).unwrap();
        let text = fs::read_to_string(paths.thread_marks()).unwrap();
        assert_eq!(
            text,
            "{\"channel\":\"D1\",\"thread_ts\":\"1000.000000\",\"read_to\":\"11000.000100\"}\n"
        );
        assert_eq!(MarksFile::read(&paths).unwrap().marks(), file.marks());
    }
}
