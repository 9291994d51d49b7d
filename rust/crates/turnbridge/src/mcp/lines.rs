//! Reads lines up to a length limit, so that an endless line cannot fill the memory.

use std::io::{self, BufRead, ErrorKind};

/// The limit, which equals that of a spoken text.
const LONGEST: usize = 16 << 20;

#[derive(Debug, PartialEq, Eq)]
pub enum McpLine {
    Whole(Vec<u8>),
    /// The line was too long, and was skipped to its end.
    TooLong,
    End,
}

/// Reads a line. The last one may lack its line break.
pub fn read_line(input: &mut impl BufRead) -> io::Result<McpLine> {
    let mut line = Vec::new();
    let mut is_too_long = false;
    loop {
        let available = match input.fill_buf() {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            available => available?,
        };
        if available.is_empty() && line.is_empty() && !is_too_long {
            return Ok(McpLine::End);
        }
        let end = available.iter().position(|byte| *byte == b'\n');
        let part = &available[..end.unwrap_or(available.len())];
        is_too_long |= line.len() + part.len() > LONGEST;
        match is_too_long {
            true => line = Vec::new(),
            false => line.extend_from_slice(part),
        }
        let is_last = available.is_empty() || end.is_some();
        let used = part.len() + usize::from(end.is_some());
        input.consume(used);
        if is_last {
            return Ok(if is_too_long { McpLine::TooLong } else { McpLine::Whole(line) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_one_by_one_and_the_last_needs_no_end() {
        let mut input = &b"one\n\ntwo"[..];
        for expected in ["one", "", "two"] {
            assert_eq!(read_line(&mut input).unwrap(), McpLine::Whole(expected.into()));
        }
        assert_eq!(read_line(&mut input).unwrap(), McpLine::End);
    }

    #[test]
    fn a_line_that_is_too_long_is_skipped() {
        let mut bytes = vec![b'x'; LONGEST];
        bytes.push(b'\n');
        bytes.extend(vec![b'y'; LONGEST + 1]);
        bytes.extend(b"\nnext\n");
        let mut input = io::BufReader::new(bytes.as_slice());
        assert!(
            matches!(read_line(&mut input).unwrap(), McpLine::Whole(line) if line.len() == LONGEST)
        );
        assert_eq!(read_line(&mut input).unwrap(), McpLine::TooLong);
        assert_eq!(read_line(&mut input).unwrap(), McpLine::Whole(b"next".to_vec()));
        assert_eq!(read_line(&mut input).unwrap(), McpLine::End);
    }
}
