//! tvine: `status.json` first, then the same JSON as a line to its socket (TV-21..23).

use std::io;
use std::path::Path;

use turnbridge_core::event::Event;
use turnbridge_core::ids::is_safe_component;
use turnbridge_core::session::{Host, Session};
use turnbridge_core::tvine_wire::tvine_message;

use super::socket::send_line;
use crate::atomic_file::write_atomically;

pub fn publish(session: &Session, event: &Event, host: &Host) -> io::Result<()> {
    let session_id = host.env("TVINE_SESSION_ID").unwrap_or(session.id.as_str());
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
    // The app is often not running: nobody listening is the ordinary case, no error.
    if let Some(socket) = socket {
        let _ = send_line(Path::new(socket), &format!("{message}\n"));
    }
    written
}
