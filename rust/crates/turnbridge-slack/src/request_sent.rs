//! Records whether any part of a request has left. Until then Slack cannot have processed a failed
//! call, whatever the error is. A reset or a timeout looks the same before and after, and
//! `ureq::Error` does not distinguish the two, so this module wraps ureq's transports.
//!
//! A request leaves in at least one write. If the first write fails, its head is not complete at
//! the server, and no server processes an incomplete request.

#![allow(
    clippy::missing_const_for_thread_local,
    reason = "where a system has no thread locals of its own, clippy does not see the `const`"
)]

use std::cell::Cell;
use std::sync::Arc;

use ureq::Error;
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, DefaultConnector, NextTimeout, Transport,
};

thread_local! {
    /// ureq runs a call wholly in the thread of its caller.
    static REQUEST_SENT: Cell<bool> = const { Cell::new(false) };
}

/// Runs one call. Returns `true` if some of the request was handed over to the network.
pub(crate) fn watch<T>(call: impl FnOnce() -> T) -> (T, bool) {
    REQUEST_SENT.set(false);
    let result = call();
    (result, REQUEST_SENT.get())
}

/// A connector that wraps ureq's and watches the connections to `authority`. When such a connection
/// exists, name look-up, TCP, the proxy's CONNECT and the TLS handshake are over.
#[derive(Debug)]
pub(crate) struct WatchingConnector {
    inner: Arc<DefaultConnector>,
    authority: String,
}

impl WatchingConnector {
    pub fn new(inner: Arc<DefaultConnector>, authority: &str) -> WatchingConnector {
        WatchingConnector { inner, authority: authority.to_owned() }
    }
}

impl Connector for WatchingConnector {
    type Out = Box<dyn Transport>;

    fn connect(
        &self,
        details: &ConnectionDetails,
        chained: Option<()>,
    ) -> Result<Option<Self::Out>, Error> {
        let Some(transport) = self.inner.connect(details, chained)? else { return Ok(None) };
        // The connection to a proxy passes here too; its data is not the request.
        let is_api = details.uri.authority().is_some_and(|a| a.as_str() == self.authority);
        Ok(Some(if is_api { Box::new(WatchedTransport(transport)) } else { transport }))
    }
}

#[derive(Debug)]
struct WatchedTransport(Box<dyn Transport>);

impl Transport for WatchedTransport {
    fn buffers(&mut self) -> &mut dyn Buffers {
        self.0.buffers()
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        self.0.transmit_output(amount, timeout)?;
        REQUEST_SENT.set(true);
        Ok(())
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        self.0.await_input(timeout)
    }

    fn is_open(&mut self) -> bool {
        self.0.is_open()
    }

    fn is_tls(&self) -> bool {
        self.0.is_tls()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;
    use ureq::unversioned::transport::LazyBuffers;

    /// Accepts this many writes, then fails.
    #[derive(Debug)]
    struct BreakingTransport {
        writes: u32,
        buffers: LazyBuffers,
    }

    impl Transport for BreakingTransport {
        fn buffers(&mut self) -> &mut dyn Buffers {
            &mut self.buffers
        }

        fn transmit_output(&mut self, _: usize, _: NextTimeout) -> Result<(), Error> {
            let left = self.writes.checked_sub(1);
            self.writes = left.ok_or_else(|| Error::from(io::Error::other("broken pipe")))?;
            Ok(())
        }

        fn await_input(&mut self, _: NextTimeout) -> Result<bool, Error> {
            Ok(false)
        }

        fn is_open(&mut self) -> bool {
            true
        }
    }

    #[test]
    fn a_request_whose_first_write_fails_has_not_left() {
        for (writes, wanted) in [(0, false), (1, true), (2, true)] {
            let buffers = LazyBuffers::new(16, 16);
            let mut transport = WatchedTransport(Box::new(BreakingTransport { writes, buffers }));
            let (_, was_handed_over) = watch(|| {
                (0..2).try_for_each(|_| transport.transmit_output(1, NextTimeout::default()))
            });
            assert_eq!(was_handed_over, wanted, "{writes}");
        }
    }
}
