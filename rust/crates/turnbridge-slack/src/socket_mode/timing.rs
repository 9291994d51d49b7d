//! How long everything takes. The defaults are for the real Slack; a test hastens them.

use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timing {
    /// To reach the server: TCP, proxy and TLS together; then to become a WebSocket.
    pub connect_within: Duration,
    pub upgrade_within: Duration,
    /// Connected means that `hello` came.
    pub hello_within: Duration,
    pub ping_every: Duration,
    /// Without a byte from Slack in this time a socket is dead, whatever the system says. Tighter than this, Slack's
    /// own client drops sockets that are alive (slackapi/bolt-js#2496).
    pub dead_after: Duration,
    pub write_within: Duration,
    /// How often a quiet socket looks at the time, and at whether it is to end.
    pub tick: Duration,
    /// How long the old socket is still read when a new one has said hello.
    pub linger: Duration,
    /// The first wait after a failure; each next one is up to twice as long.
    pub back_off_first: Duration,
    pub back_off_most: Duration,
    /// The least wait after `too_many_websockets`, and the wait after `link_disabled`.
    pub too_many_wait: Duration,
    pub link_disabled_wait: Duration,
    /// When the clock on the wall went on for so much longer than ours, the machine was asleep.
    pub sleep_gap: Duration,
    /// How many addresses may be asked for at once, and how often after that. Slack allows 50 a minute.
    pub open_burst: u32,
    pub open_every: Duration,
    /// How long Slack may count a connection that is gone.
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
    /// For tests: the waits of the protocol divided by `factor`. How long a connection may take to come about, how far
    /// clocks may part and how long a stop waits are of the machine, and stay.
    pub fn hastened(factor: u32) -> Timing {
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
