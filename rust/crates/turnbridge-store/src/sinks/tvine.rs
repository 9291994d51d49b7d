//! Publishes to tvine: writes `status.json` first, then sends the same JSON as a line to its socket
//! (TV-21..23).

use std::io;
use std::path::Path;

use turnbridge_core::ids::is_safe_component;
use turnbridge_core::session::event::Event;
use turnbridge_core::session::{RunEnvironment, Session};
use turnbridge_core::sinks::tvine_wire::tvine_message;

use super::socket::send_line;
use crate::files::atomic_file::write_atomically;

pub fn publish(session: &Session, event: &Event, host: &RunEnvironment) -> io::Result<()> {
    let session_id = host.env("TVINE_SESSION_ID").unwrap_or(session.key.id.as_str());
    let project_dir = host.env("TVINE_PROJECT_DIR");
    let socket = host.env("TVINE_SOCKET_PATH");
    if project_dir.is_none() && socket.is_none() {
        return Ok(());
    }
    if !is_safe_component(session_id) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "TVINE_SESSION_ID is no id"));
    }
    let Some(message) = tvine_message(session, event, session_id) else {
        return Ok(());
    };
    let written = match project_dir {
        Some(folder) => {
            let folder = Path::new(folder).join("sessions").join(session_id);
            write_atomically(&folder.join("status.json"), message.as_bytes())
        }
        None => Ok(()),
    };
    // The app is often not running, so a missing listener is no error.
    if let Some(socket) = socket {
        let _ = send_line(Path::new(socket), &format!("{message}\n"));
    }
    written
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::io::Read;
    use std::os::unix::net::UnixListener;

    use turnbridge_core::ids::{Agent, SessionId, SessionKey};
    use turnbridge_core::session::event::{EventFacts, EventKind, ProcessKey};
    use turnbridge_core::timestamp::Timestamp;

    use super::*;

    /// A program that reads the socket's line finds the file. The file's path has many folders, so
    /// that writing it takes longer than reading the socket.
    #[test]
    fn tv_23_the_file_is_written_before_the_socket_is_told() {
        let root = tempfile::tempdir().unwrap();
        let socket = root.path().join("s");
        let listener = UnixListener::bind(&socket).unwrap();
        let mut project = root.path().to_owned();
        project.extend(["d"; 400]);
        let status = project.join("sessions/s/status.json");
        let reader = std::thread::spawn(move || {
            let mut told = String::new();
            listener.accept().unwrap().0.read_to_string(&mut told).unwrap();
            (told, fs::read_to_string(status).unwrap_or_else(|error| error.to_string()))
        });
        let env = [("TVINE_PROJECT_DIR", &project), ("TVINE_SOCKET_PATH", &socket)]
            .map(|(name, path)| (name.to_owned(), path.to_str().unwrap().to_owned()));
        let host = RunEnvironment { env: env.into(), ..RunEnvironment::default() };
        let (id, at) = (SessionId::parse("s").unwrap(), Timestamp::from_millis(1));
        let event = Event {
            session: SessionKey::new(Agent::Claude, id.clone()),
            at,
            process: ProcessKey::UNKNOWN,
            name: "Stop".to_owned(),
            agent_id: None,
            facts: EventFacts::default(),
            host: None,
            kind: EventKind::TurnEnded {
                answer: None,
                background_tasks: Vec::new(),
                stop_hook_active: false,
            },
        };
        publish(&Session::new(SessionKey::new(Agent::Claude, id), at), &event, &host).unwrap();
        let (told, file) = reader.join().unwrap();
        assert_eq!(told, format!("{file}\n"));
    }
}
