//! Tests when the supervisor opens, replaces and closes sockets, retries and reports, with a clock
//! that the tests set.

use super::*;

/// A supervisor and a clock that the test sets. There is no jitter: waits are as long as they can
/// be.
struct SupervisorWorld {
    supervisor: Supervisor,
    start: ClockReading,
    now: ClockReading,
}

impl SupervisorWorld {
    fn new() -> SupervisorWorld {
        let start = ClockReading::now();
        SupervisorWorld {
            supervisor: Supervisor::new(Timing::default(), start.at),
            start,
            now: start,
        }
    }

    /// Returns a world in which one socket is up.
    fn connected() -> SupervisorWorld {
        let mut world = SupervisorWorld::new();
        assert_eq!(world.tick(), "open 1");
        assert_eq!(world.hello(1, 1), "connected 1, first");
        world
    }

    fn pass(&mut self, seconds: f64) -> &mut SupervisorWorld {
        self.now.at += Duration::from_secs_f64(seconds);
        self.now.wall += Duration::from_secs_f64(seconds);
        self
    }

    fn tick(&mut self) -> String {
        let steps = self.supervisor.tick(self.now.at);
        self.describe(steps)
    }

    fn handle(&mut self, change: SocketChange) -> String {
        let steps = self.supervisor.handle(change, self.now, 1.0);
        self.describe(steps)
    }

    fn hello(&mut self, id: SocketId, num_connections: u32) -> String {
        self.handle(SocketChange::Hello { id, num_connections, app_id: None })
    }

    fn disconnect(&mut self, id: SocketId, reason: &str) -> String {
        self.handle(SocketChange::Disconnect { id, reason: reason.to_owned() })
    }

    fn ended(&mut self, id: SocketId) -> String {
        self.handle(SocketChange::Ended { id, loss: SocketLoss::Silent, heard: self.now })
    }

    fn failed(&mut self, id: SocketId, error: CallError) -> String {
        self.handle(SocketChange::Failed { id, error })
    }

    /// Returns the time of the next tick, in seconds from now.
    fn wake(&self) -> Option<f64> {
        let wake = self.supervisor.next_wake()?;
        Some(wake.saturating_duration_since(self.now.at).as_secs_f64())
    }

    fn describe(&self, steps: Vec<SocketStep>) -> String {
        let describe = |step: SocketStep| match step {
            SocketStep::Open(id) => format!("open {id}"),
            SocketStep::Close(id) => format!("close {id}"),
            SocketStep::Report(SocketEvent::Connected { num_connections, gap, .. }) => match gap {
                None => format!("connected {num_connections}, first"),
                Some(gap) => format!("connected {num_connections} after {} s", gap.as_secs_f64()),
            },
            SocketStep::Report(SocketEvent::Lost { .. }) => "lost".to_owned(),
            SocketStep::Report(SocketEvent::Retrying { after, .. }) => {
                format!("retrying in {} s", after.as_secs_f64())
            }
            SocketStep::Report(SocketEvent::Warning(warning)) => format!("{warning:?}"),
            SocketStep::Report(SocketEvent::Fatal { error, hint }) => {
                format!("fatal: {error}, hint {}", hint.is_some())
            }
        };
        steps.into_iter().map(describe).collect::<Vec<_>>().join("; ")
    }
}

fn unreachable() -> CallError {
    CallError::NotSent { cause: ConnectObstacle::HostNotFound }
}

fn refused(error: &str) -> CallError {
    CallError::Refused {
        error: error.to_owned(),
        needed: None,
        provided: None,
        messages: Vec::new(),
    }
}

#[test]
fn a_lost_socket_is_replaced_at_once() {
    let mut world = SupervisorWorld::connected();
    assert_eq!(world.wake(), None);
    assert_eq!(world.pass(60.0).ended(1), "lost; open 2");
    assert_eq!(world.pass(0.5).hello(2, 1), "connected 1 after 0.5 s");
}

#[test]
fn at_a_refresh_the_new_socket_comes_first_and_the_old_one_lingers() {
    for reason in ["warning", "refresh_requested", "something_new", ""] {
        let mut world = SupervisorWorld::connected();
        assert_eq!(world.disconnect(1, reason), "open 2");
        assert_eq!(world.pass(1.0).hello(2, 2), "connected 2 after 0 s");
        assert_eq!(world.wake(), Some(2.0));
        assert_eq!(world.pass(1.9).tick(), "");
        assert_eq!(world.pass(0.1).tick(), "close 1");
        assert_eq!((world.tick(), world.wake()), (String::new(), None));
        assert_eq!(world.ended(1), "");
    }
}

#[test]
fn a_second_word_of_the_old_socket_opens_nothing() {
    let mut world = SupervisorWorld::connected();
    assert_eq!(world.disconnect(1, "warning"), "open 2");
    assert_eq!(world.disconnect(1, "refresh_requested"), "");
    assert_eq!(world.hello(2, 2), "connected 2 after 0 s");
    assert_eq!(world.disconnect(1, "refresh_requested"), "");
    // The server may end it before the client does.
    assert_eq!(world.ended(1), "");
    assert_eq!(world.disconnect(2, "warning"), "open 3");
}

#[test]
fn an_old_socket_that_ends_before_the_new_one_is_up_starts_no_third() {
    let mut world = SupervisorWorld::connected();
    assert_eq!(world.disconnect(1, "warning"), "open 2");
    assert_eq!(world.pass(1.0).ended(1), "lost");
    assert_eq!(world.pass(0.25).hello(2, 1), "connected 1 after 0.25 s");
    assert_eq!(world.wake(), None);
}

#[test]
fn when_the_new_one_dies_the_old_one_stays() {
    let mut world = SupervisorWorld::connected();
    world.disconnect(1, "warning");
    world.hello(2, 2);
    assert_eq!(world.pass(1.0).ended(2), "lost; open 3");
    assert_eq!(world.pass(5.0).tick(), "");
    assert_eq!(world.hello(3, 2), "connected 2 after 0 s");
    assert_eq!(world.pass(2.0).tick(), "close 1");
}

#[test]
fn failures_are_retried_for_ever_at_growing_intervals() {
    let mut world = SupervisorWorld::new();
    world.tick();
    let mut waits = Vec::new();
    for id in 1..=100 {
        let told = world.failed(id, unreachable());
        waits.push(told.replace("retrying in ", "").replace(" s", ""));
        let wait = world.wake().unwrap();
        assert_eq!(world.pass(wait).tick(), format!("open {}", id + 1));
    }
    assert_eq!(waits[..9].join(" "), "0.25 0.5 1 2 4 8 16 30 30");
    assert_eq!(waits[99], "30");
    // Only a hello is success.
    assert_eq!(world.ended(101), "retrying in 30 s");
    world.pass(30.0).tick();
    world.hello(102, 1);
    assert_eq!(world.ended(102), "lost; open 103");
    assert_eq!(world.failed(103, unreachable()), "retrying in 0.25 s");
}

#[test]
fn waits_are_spread_over_the_whole_interval() {
    for (jitter, wanted) in [(0.0, 0.0), (0.5, 0.125), (1.0, 0.25), (7.0, 0.25)] {
        let mut world = SupervisorWorld::new();
        world.tick();
        world.supervisor.handle(
            SocketChange::Failed { id: 1, error: unreachable() },
            world.now,
            jitter,
        );
        let waits = world.wake().unwrap_or_default();
        assert!((waits - wanted).abs() < 1e-6, "{jitter}: {waits}");
    }
}

#[test]
fn slacks_wish_to_wait_is_obeyed() {
    let mut world = SupervisorWorld::new();
    world.tick();
    let error = CallError::RateLimited { after: Duration::from_secs(7) };
    assert_eq!(world.failed(1, error), "retrying in 7.25 s");
    assert_eq!(world.pass(7.0).tick(), "");
    assert_eq!(world.pass(0.25).tick(), "open 2");
    assert_eq!(world.failed(2, unreachable()), "retrying in 0.5 s");
    assert_eq!(world.handle(SocketChange::Retry), "open 3");
    // Not even an explicit retry shortens Slack's wait.
    let error = CallError::RateLimited { after: Duration::from_secs(7) };
    world.failed(3, error);
    assert_eq!(world.pass(6.0).handle(SocketChange::Retry), "");
    assert_eq!(world.pass(1.0).tick(), "open 4");
}

#[test]
fn what_only_a_person_can_mend_is_told_once_and_ends_all_attempts() {
    for code in ["invalid_auth", "token_revoked", "missing_scope", "not_allowed_token_type"] {
        let mut world = SupervisorWorld::new();
        world.tick();
        let told = world.failed(1, refused(code));
        assert_eq!(told, format!("fatal: Slack refused the call (`{code}`), hint true"));
        assert_eq!((world.pass(9e5).tick(), world.wake()), (String::new(), None));
        assert_eq!(world.handle(SocketChange::Retry), "open 2");
    }
    for code in ["team_added_to_org", "something_new"] {
        let mut world = SupervisorWorld::new();
        world.tick();
        assert_eq!(world.failed(1, refused(code)), "retrying in 0.25 s");
    }
}

#[test]
fn a_fatal_error_at_a_refresh_leaves_the_old_socket_as_it_is() {
    let mut world = SupervisorWorld::connected();
    world.disconnect(1, "warning");
    assert!(world.failed(2, refused("token_revoked")).starts_with("fatal"));
    assert_eq!(world.disconnect(1, "refresh_requested"), "");
    assert_eq!(world.ended(1), "lost");
    assert_eq!(world.wake(), None);
}

#[test]
fn too_many_websockets_is_told_and_waited_for() {
    let mut world = SupervisorWorld::new();
    world.tick();
    assert_eq!(world.disconnect(1, "too_many_websockets"), "TooManyConnections");
    assert_eq!(world.ended(1), "retrying in 10 s");
    let mut world = SupervisorWorld::connected();
    assert_eq!(world.disconnect(1, "too_many_websockets"), "TooManyConnections; close 1");
    assert_eq!(world.pass(1.0).ended(1), "");
    assert_eq!(world.wake(), Some(9.0));
}

#[test]
fn a_switched_off_socket_mode_is_told_and_looked_at_every_minute() {
    let mut world = SupervisorWorld::connected();
    assert_eq!(world.disconnect(1, "link_disabled"), "SocketModeOff; close 1");
    assert_eq!(world.ended(1), "");
    assert_eq!(world.pass(59.0).tick(), "");
    assert_eq!(world.pass(1.0).tick(), "open 2");
}

#[test]
fn connections_of_others_are_warned_of_and_our_own_are_not() {
    let mut world = SupervisorWorld::new();
    world.tick();
    assert_eq!(
        world.hello(1, 2),
        "connected 2, first; OtherConnections { num_connections: 2, ours: 1 }"
    );
    // Slack still counts the socket that has just ended.
    world.ended(1);
    assert_eq!(world.hello(2, 2), "connected 2 after 0 s");
    world.disconnect(2, "warning");
    assert_eq!(world.pass(61.0).hello(3, 2), "connected 2 after 0 s");
    world.disconnect(3, "warning");
    let told = world.pass(61.0).hello(4, 4);
    assert!(told.contains("OtherConnections { num_connections: 4, ours: 3 }"), "{told}");
}

#[test]
fn sockets_that_end_after_their_hello_are_not_opened_without_a_pause() {
    let mut world = SupervisorWorld::connected();
    let mut opened = 1;
    loop {
        world.ended(opened);
        if world.supervisor.pending.is_none() {
            break;
        }
        opened += 1;
        world.hello(opened, 1);
    }
    assert_eq!(opened, 40);
    assert_eq!(world.wake(), Some(1.5));
    assert_eq!(world.pass(1.5).tick(), "open 41");
}

#[test]
fn a_gap_counts_the_time_asleep() {
    let mut world = SupervisorWorld::connected();
    let heard = world.now;
    world.pass(0.2);
    world.now.wall += Duration::from_secs(3600);
    assert!(world.now.has_slept_since(world.start, Duration::from_secs(30)));
    assert_eq!(
        world.handle(SocketChange::Ended { id: 1, loss: SocketLoss::Slept, heard }),
        "lost; open 2"
    );
    assert_eq!(world.hello(2, 1), "connected 1 after 3600.2 s");
}

#[test]
fn a_clock_that_is_set_is_not_sleep_unless_it_is_set_far_ahead() {
    let start = ClockReading::now();
    let gap = Duration::from_secs(30);
    let later = |clock: u64, wall: i64| ClockReading {
        at: start.at + Duration::from_secs(clock),
        wall: match u64::try_from(wall) {
            Ok(seconds) => start.wall + Duration::from_secs(seconds),
            Err(_) => start.wall - Duration::from_secs(wall.unsigned_abs()),
        },
    };
    for (clock, wall, wanted) in
        [(1, 1, false), (100, 100, false), (1, 31, false), (1, 32, true), (1, -500, false)]
    {
        assert_eq!(later(clock, wall).has_slept_since(start, gap), wanted, "{clock} {wall}");
    }
    assert_eq!(later(5, -500).since(start), Duration::from_secs(5));
}
