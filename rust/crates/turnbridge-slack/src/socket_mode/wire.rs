//! Reads and writes the bytes of a WebSocket by ureq's transport, so that name look-up, proxy and
//! TLS are those of the Web API. A read timeout without a byte is `WouldBlock`, which keeps
//! half-read frames. Every byte that arrives shows that the connection is alive.

use std::io::{self, Read, Write};
use std::time::Duration;

use ureq::unversioned::transport::{NextTimeout, Transport};
use ureq::{Error, Timeout};

use super::supervisor::ClockReading;

pub(crate) struct Wire {
    transport: Box<dyn Transport>,
    pub read_within: Duration,
    pub write_within: Duration,
    /// The time at which the last byte came.
    pub heard: ClockReading,
}

impl Wire {
    pub fn new(transport: Box<dyn Transport>, within: Duration) -> Wire {
        Wire { transport, read_within: within, write_within: within, heard: ClockReading::now() }
    }
}

impl Read for Wire {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.transport.buffers().can_use_input() {
            self.transport.await_input(timeout(self.read_within)).map_err(into_io)?;
        }
        let input = self.transport.buffers().input();
        let count = buffer.len().min(input.len());
        buffer[..count].copy_from_slice(&input[..count]);
        self.transport.buffers().input_consume(count);
        if count > 0 {
            self.heard = ClockReading::now();
        }
        Ok(count)
    }
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let output = self.transport.buffers().output();
        let count = bytes.len().min(output.len());
        output[..count].copy_from_slice(&bytes[..count]);
        // A write that times out may have written half of its bytes: the stream is of no use any
        // more.
        self.transport.transmit_output(count, timeout(self.write_within)).map_err(|error| {
            match error {
                Error::Timeout(_) => io::ErrorKind::TimedOut.into(),
                error => into_io(error),
            }
        })?;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(crate) fn timeout(after: Duration) -> NextTimeout {
    NextTimeout { after: after.into(), reason: Timeout::Global, ..NextTimeout::default() }
}

fn into_io(error: Error) -> io::Error {
    match error {
        Error::Timeout(_) => io::ErrorKind::WouldBlock.into(),
        Error::Io(error) => error,
        error => io::Error::other(error.to_string()),
    }
}
