//! Reads many sessions. Most of them may have no process any more, so it reads no more of a file
//! than the caller needs.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::PathBuf;

use turnbridge_core::session::Session;
use turnbridge_core::session::session_wire::{is_stopped_in, read_session};

use crate::paths::{StatePaths, session_of_file};

/// The number of first bytes of a file that contain the state.
const HEAD: usize = 512;

/// The sessions that some process may carry, in no order.
#[derive(Debug, Default)]
pub struct OpenSessions {
    pub sessions: Vec<Session>,
    /// The number of the others. Only the first bytes of their files were read.
    pub stopped: usize,
}

/// Returns every session that has a readable file, in no order.
pub fn read_all(paths: &StatePaths) -> io::Result<Vec<Session>> {
    read_matching(paths, "")
}

/// Returns the sessions whose id begins with `prefix`, in no order. Does not open other files.
pub fn read_matching(paths: &StatePaths, prefix: &str) -> io::Result<Vec<Session>> {
    let mut sessions = Vec::new();
    for_each_file(paths, |id, path| {
        if id.starts_with(prefix) {
            sessions.extend(fs::read(path).ok().and_then(|bytes| read_session(&bytes)));
        }
    })?;
    Ok(sessions)
}

/// Returns the sessions that some process may carry. Of the others only the first bytes are read.
pub fn read_open(paths: &StatePaths) -> io::Result<OpenSessions> {
    let mut open = OpenSessions::default();
    let mut bytes = Vec::new();
    for_each_file(paths, |_, path| {
        let Ok(mut file) = File::open(path) else { return };
        bytes.clear();
        let head = Read::by_ref(&mut file).take(HEAD as u64).read_to_end(&mut bytes);
        if head.is_err() {
            return;
        }
        if is_stopped_in(&bytes) {
            open.stopped += 1;
        } else if file.read_to_end(&mut bytes).is_ok() {
            open.sessions.extend(read_session(&bytes));
        }
    })?;
    Ok(open)
}

/// Passes on the id and the path of every session's file.
fn for_each_file(paths: &StatePaths, mut look: impl FnMut(&str, PathBuf)) -> io::Result<()> {
    let entries = match fs::read_dir(paths.sessions_dir()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        if let Some(key) = name.to_str().and_then(session_of_file) {
            look(key.id.as_str(), entry.path());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use turnbridge_core::ids::{Agent, SessionId, SessionKey};
    use turnbridge_core::session::session_wire::write_session;
    use turnbridge_core::timestamp::Timestamp;

    #[test]
    fn of_stopped_sessions_only_the_first_bytes_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let paths = StatePaths::below(folder.path());
        fs::create_dir_all(paths.sessions_dir()).unwrap();
        let write = |id: &str, change: fn(Vec<u8>) -> Vec<u8>| {
            let id = SessionId::parse(id).unwrap();
            let session =
                Session::new(SessionKey::new(Agent::Claude, id.clone()), Timestamp::from_millis(0));
            let bytes = change(write_session(&session));
            fs::write(paths.session_file(&SessionKey::new(Agent::Claude, id.clone())), bytes)
                .unwrap();
        };
        // Without a run it is stopped. The rest is broken: if it were read, the session would be
        // missing.
        for number in 0..50 {
            write(&format!("stopped-{number}"), |mut bytes| {
                bytes.truncate(bytes.len() - 1);
                bytes.resize(HEAD, b' ');
                [bytes, vec![0xff; 4_096]].concat()
            });
        }
        write("open", |bytes| {
            let text = String::from_utf8(bytes).unwrap();
            text.replace(r#""state":"stopped""#, r#""state":"working""#).into_bytes()
        });
        fs::write(paths.sessions_dir().join(".claude-x.json.1.tmp"), b"{").unwrap();
        let open = read_open(&paths).unwrap();
        assert_eq!((open.sessions.len(), open.stopped), (1, 50));
        assert_eq!(read_matching(&paths, "op").unwrap().len(), 1);
        assert_eq!(read_matching(&paths, "other").unwrap().len(), 0);
    }
}
