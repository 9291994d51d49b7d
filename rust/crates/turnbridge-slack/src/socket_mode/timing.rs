//! Defines the timeouts and intervals of Socket Mode. The defaults are for the real Slack; tests
//! shorten them.

use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timing {
    /// The timeout for reaching the server (TCP, proxy and TLS together); then that of the
    /// WebSocket handshake.
    pub connect_within: Duration,
    pub upgrade_within: Duration,
    /// The timeout for `hello`, by which a socket becomes connected.
    pub hello_within: Duration,
    pub ping_every: Duration,
    /// A socket is dead after this time without a byte from Slack, whatever the system reports.
    /// With a shorter time, Slack's client drops sockets that are alive (slackapi/bolt-js#2496).
    pub dead_after: Duration,
    pub write_within: Duration,
    /// How often a quiet socket checks the time, and whether it is to end.
    pub tick: Duration,
    /// How long the old socket is still read after a new one has received hello.
    pub linger: Duration,
    /// The first backoff after a failure; each next one is up to twice as long.
    pub back_off_first: Duration,
    pub back_off_most: Duration,
    /// The least wait after `too_many_websockets`, and the wait after `link_disabled`.
    pub too_many_wait: Duration,
    pub link_disabled_wait: Duration,
    /// If the wall clock advances by this much more than the monotonic clock, the machine was
    /// asleep.
    pub sleep_gap: Duration,
    /// How many addresses may be requested immediately, and the interval after that. Slack allows
    /// 50 a minute.
    pub open_burst: u32,
    pub open_every: Duration,
    /// How long Slack may count a connection that has ended.
    pub ghost: Duration,
    /// How long a stop waits for sockets to close.
    pub stop_within: Duration,
}

impl Default for Timing {
    fn default() -> Timing {
        let seconds = Duration::from_secs;
        Timing {
            connect_within: seconds(10),
            upgrade_within: seconds(10),
            hello_within: seconds(10),
            ping_every: seconds(5),
            dead_after: seconds(15),
            write_within: seconds(10),
            tick: Duration::from_millis(250),
            linger: seconds(2),
            back_off_first: Duration::from_millis(250),
            back_off_most: seconds(30),
            too_many_wait: seconds(10),
            link_disabled_wait: seconds(60),
            sleep_gap: seconds(30),
            open_burst: 40,
            open_every: Duration::from_millis(1_500),
            ghost: seconds(60),
            stop_within: Duration::from_millis(800),
        }
    }
}

impl Timing {
    /// Returns the timing for tests: the waits of the protocol divided by `factor`. The timeouts
    /// for connecting, the tolerated difference of the clocks and the timeout of a stop depend on
    /// the machine, and stay.
    pub fn scaled(factor: u32) -> Timing {
        let factor = factor.max(1);
        let mut timing = Timing::default();
        for wait in [
            &mut timing.hello_within,
            &mut timing.ping_every,
            &mut timing.dead_after,
            &mut timing.tick,
            &mut timing.linger,
            &mut timing.back_off_first,
            &mut timing.back_off_most,
            &mut timing.too_many_wait,
            &mut timing.link_disabled_wait,
            &mut timing.open_every,
            &mut timing.ghost,
        ] {
            *wait = (*wait / factor).max(Duration::from_millis(1));
        }
        timing
    }
}
