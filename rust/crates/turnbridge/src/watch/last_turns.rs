//! Reads the last turns of a session, without reading all of a file that may have megabytes.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use turnbridge_core::ids::SessionKey;
use turnbridge_core::session::turn_record::TurnRecord;
use turnbridge_core::session::turn_wire::read_turn;
use turnbridge_store::paths::StatePaths;
use turnbridge_store::state::turn_store::read_turns;

/// The number of bytes to read: more turns than are shown, unless they are very long.
const TAIL: u64 = 256 << 10;

/// Returns the last turns, oldest first. At least the last one is included.
pub fn last_turns(paths: &StatePaths, key: &SessionKey) -> Vec<TurnRecord> {
    let Some((tail, is_whole)) = tail(paths, key) else { return Vec::new() };
    // The first line is skipped if the tail may begin inside it.
    let lines = tail.split(|byte| *byte == b'\n').skip(usize::from(!is_whole));
    let turns: Vec<_> = lines.filter_map(|line| read_turn(line, key)).collect();
    if turns.is_empty() && !is_whole { read_turns(paths, key) } else { turns }
}

fn tail(paths: &StatePaths, key: &SessionKey) -> Option<(Vec<u8>, bool)> {
    let mut file = File::open(paths.turns_file(key)).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL))).ok()?;
    let mut bytes = Vec::new();
    file.take(TAIL).read_to_end(&mut bytes).ok()?;
    Some((bytes, length <= TAIL))
}

#[cfg(test)]
mod tests {
    use testkit::Hermetic;

    use super::*;
    use crate::watch::sample::{key, turn};
    use turnbridge_core::session::turn_wire::write_turn;

    /// Returns the prompts that are read if turns with answers of these lengths were recorded.
    fn read(lengths: &[usize]) -> Vec<String> {
        let hermetic = Hermetic::new();
        let paths = StatePaths::below(&hermetic.root().join("state"));
        let mut text = Vec::new();
        for (index, length) in lengths.iter().enumerate() {
            let turn = turn(&index.to_string(), &"x".repeat(*length), 0);
            text.extend(write_turn(&turn));
            text.push(b'\n');
        }
        std::fs::create_dir_all(paths.turns_dir()).unwrap();
        std::fs::write(paths.turns_file(&key(1)), text).unwrap();
        last_turns(&paths, &key(1)).into_iter().filter_map(|turn| turn.prompt).collect()
    }

    #[test]
    fn what_is_short_is_read_whole_and_of_the_rest_the_end() {
        assert_eq!(read(&[]), [""; 0]);
        assert_eq!(read(&[1, 10]), ["0", "1"]);
        let half = TAIL as usize / 2;
        assert_eq!(read(&[half, half, 10]), ["1", "2"]);
        assert_eq!(read(&[10, 2 * half, 10]), ["2"]);
        // The last one is read whatever its length.
        assert_eq!(read(&[10, 3 * half]), ["0", "1"]);
    }
}
