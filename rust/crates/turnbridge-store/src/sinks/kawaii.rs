//! Publishes to Kawaii Terminal: appends one line to the file that the terminal names (KT-27..35).

use std::io;
use std::path::Path;

use turnbridge_core::session::event::Event;
use turnbridge_core::session::{RunEnvironment, Session, State};
use turnbridge_core::sinks::kawaii_wire::kawaii_line;

use crate::files::append::append_line;

pub fn publish(
    before: Option<State>,
    session: &Session,
    event: &Event,
    host: &RunEnvironment,
) -> io::Result<()> {
    // Without a pane the line would belong to no terminal (KT-35).
    let (Some(path), Some(pane)) = (host.env("KAWAII_NOTIFY_PATH"), host.env("KAWAII_PANE_ID"))
    else {
        return Ok(());
    };
    let instance = host.env("KAWAII_TERMINAL_INSTANCE_ID");
    match kawaii_line(before, session, event, pane, instance) {
        Some(line) => append_line(Path::new(path), line.as_bytes()).map(|_| ()),
        None => Ok(()),
    }
}

/// Appends the input of a hook as it came, for a user who debugs the terminal (KT-30).
pub fn append_debug(path: &Path, raw: &[u8]) -> io::Result<()> {
    let mut line = raw.to_vec();
    if !line.ends_with(b"\n") {
        line.push(b'\n');
    }
    append_line(path, &line).map(|_| ())
}
