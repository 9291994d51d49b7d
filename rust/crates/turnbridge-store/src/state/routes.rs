//! Stores the session of each Slack thread (`routes.jsonl`, SLV-21..24). The process that posts a
//! thread's parent appends to it. It is the only source of this fact.

use std::fs;
use std::io;

use turnbridge_core::notices::route::Route;
use turnbridge_core::notices::route_wire::{read_route, write_route};

use crate::files::append::append_line;
use crate::files::atomic_file::write_atomically;
use crate::files::file_lock::FileLock;
use crate::paths::StatePaths;

pub fn append(paths: &StatePaths, route: &Route) -> io::Result<()> {
    let mut line = write_route(route);
    line.push(b'\n');
    append_line(&paths.routes_file(), &line).map(|_| ())
}

/// Returns all routes, oldest first. Skips lines that cannot be read.
pub fn read(paths: &StatePaths) -> io::Result<Vec<Route>> {
    let bytes = read_bytes(paths)?;
    let lines = bytes.split(|byte| *byte == b'\n');
    Ok(lines.filter_map(read_route).collect())
}

fn read_bytes(paths: &StatePaths) -> io::Result<Vec<u8>> {
    match fs::read(paths.routes_file()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        bytes => bytes,
    }
}

/// Removes the routes that `is_kept` rejects, and returns their number. The caller holds the outbox
/// lock, so no process posts, and no line is lost between reading and writing.
pub fn retain(
    paths: &StatePaths,
    _outbox: &FileLock,
    is_kept: impl Fn(&Route) -> bool,
) -> io::Result<usize> {
    let bytes = read_bytes(paths)?;
    let mut kept = Vec::new();
    let mut gone = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        // A line that cannot be read may be another version's, and must stay.
        match read_route(line) {
            Some(route) if !is_kept(&route) => gone += 1,
            _ => kept.extend(line),
        }
    }
    if gone > 0 {
        write_atomically(&paths.routes_file(), &kept)?;
    }
    Ok(gone)
}

#[cfg(test)]
mod tests {
    use super::*;
    use turnbridge_core::ids::SessionKey;
    use turnbridge_core::timestamp::Timestamp;

    #[test]
    fn routes_come_back_and_broken_lines_cost_no_others_slv_22() {
        let folder = tempfile::tempdir().unwrap();
        let paths = StatePaths::below(folder.path());
        assert!(read(&paths).unwrap().is_empty());
        let key = SessionKey::of("claude", "s").unwrap();
        let now = Timestamp::from_millis(1_700_000_000_000);
        let route = |thread_ts: &str| Route {
            cwd: Some("/home/user".into()),
            ..Route::new("D1", thread_ts, key.clone(), now)
        };
        append(&paths, &route("1.0")).unwrap();
        append_line(&paths.routes_file(), b"{broken\n").unwrap();
        append(&paths, &route("2.0")).unwrap();
        assert_eq!(read(&paths).unwrap(), [route("1.0"), route("2.0")]);
        let lock = crate::state::outbox::lock(&paths).unwrap().unwrap();
        assert_eq!(retain(&paths, &lock, |route| route.thread_ts != "1.0").unwrap(), 1);
        assert_eq!(read(&paths).unwrap(), [route("2.0")]);
        assert!(fs::read_to_string(paths.routes_file()).unwrap().starts_with("{broken\n"));
    }
}
