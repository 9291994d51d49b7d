//! Sends one line to a local socket without waiting, although the socket may have no listener, or
//! one that does not read.

use std::io;
use std::path::Path;

/// Connects and sends without waiting. A full queue, of connections or of bytes, is an error, as is
/// a missing listener.
#[cfg(unix)]
pub fn send_line(path: &Path, line: &str) -> io::Result<()> {
    use rustix::net::{AddressFamily, SendFlags, SocketAddrUnix, SocketType};
    let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None)?;
    rustix::io::ioctl_fionbio(&socket, true)?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
    #[cfg(target_os = "linux")]
    let flags = SendFlags::NOSIGNAL;
    #[cfg(not(target_os = "linux"))]
    let flags = SendFlags::empty();
    let sent = rustix::net::send(&socket, line.as_bytes(), flags)?;
    if sent < line.len() {
        return Err(io::Error::from(io::ErrorKind::WriteZero));
    }
    Ok(())
}

/// Returns an error: tvine's socket is a unix socket, and tvine has no Windows build.
#[cfg(windows)]
pub fn send_line(_path: &Path, _line: &str) -> io::Result<()> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::unix::net::UnixListener;

    #[test]
    fn a_listener_gets_the_line_and_its_absence_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        assert!(send_line(&path, "early\n").is_err());
        let listener = UnixListener::bind(&path).unwrap();
        send_line(&path, "hello\n").unwrap();
        let mut text = String::new();
        listener.accept().unwrap().0.read_to_string(&mut text).unwrap();
        assert_eq!(text, "hello\n");
        drop(listener);
        assert!(send_line(&path, "late\n").is_err());
    }

    #[test]
    fn a_listener_that_never_accepts_costs_no_wait() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let _listener = UnixListener::bind(&path).unwrap();
        // This is far more than the queues of connections and of bytes hold: a blocking call would
        // hang here.
        let line = "x".repeat(1 << 20);
        let results: Vec<_> = (0..300).map(|_| send_line(&path, &line)).collect();
        assert!(results.iter().any(Result::is_err));
    }
}
