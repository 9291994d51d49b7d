//! Reads a line without echo on Windows. The console edits the line and handles Ctrl-C; only the
//! echo is off.

use std::io::{self, BufRead};
use std::os::windows::io::AsRawHandle;

use windows_sys::Win32::Foundation::HANDLE;
use windows_sys::Win32::System::Console::{ENABLE_ECHO_INPUT, GetConsoleMode, SetConsoleMode};

/// The console's former mode.
struct EchoGuard(HANDLE, u32);

impl Drop for EchoGuard {
    fn drop(&mut self) {
        // SAFETY: plain call with a handle that lives as long as the process.
        unsafe { SetConsoleMode(self.0, self.1) };
    }
}

pub fn read() -> io::Result<String> {
    let console = io::stdin().as_raw_handle();
    let mut mode = 0;
    // SAFETY: plain call; `mode` outlives it.
    if unsafe { GetConsoleMode(console, &mut mode) } == 0 {
        return Err(io::Error::last_os_error());
    }
    let _shown = EchoGuard(console, mode);
    // SAFETY: as above.
    if unsafe { SetConsoleMode(console, mode & !ENABLE_ECHO_INPUT) } == 0 {
        return Err(io::Error::last_os_error());
    }
    let mut line = String::new();
    match io::stdin().lock().read_line(&mut line)? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(line.trim_end_matches(['\r', '\n']).to_owned()),
    }
}
