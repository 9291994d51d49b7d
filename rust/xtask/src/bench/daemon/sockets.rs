//! Measures the start, the memory, the acks and the reconnects of a client of Socket Mode. The
//! loopback Slack records the times. A reconnect lasts from the break of a connection until the new
//! one is connected.

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use testkit::slack::Cut;
use testkit::{SlackApi, SlackSetup};

use super::BenchExtent;
use super::client::{BenchClient, RunningClient};

const TIMEOUT: Duration = Duration::from_secs(90);
const IDLE: Duration = Duration::from_secs(3);
const STARTS: usize = 8;
const TALKS: usize = 4;
const CYCLES: usize = 50;
const INTERVAL: Duration = Duration::from_millis(50);

/// A measured value, and the worst one of several tries.
pub struct Figure {
    pub value: f64,
    pub worst: Option<f64>,
}

/// A way to lose a connection.
type Disconnector = fn(&SlackApi) -> usize;

/// The measured values of a client, by the keys of the table's rows.
pub type Figures = BTreeMap<&'static str, Figure>;

fn one(value: f64) -> Figure {
    Figure { value, worst: None }
}

/// Takes the lower quartile, because other processes use the machine too.
fn several(mut values: Vec<f64>) -> Figure {
    values.sort_by(f64::total_cmp);
    Figure { value: share(&values, 0.25), worst: values.last().copied() }
}

fn share(sorted: &[f64], share: f64) -> f64 {
    sorted
        .get((sorted.len().saturating_sub(1) as f64 * share) as usize)
        .copied()
        .unwrap_or(f64::NAN)
}

/// Long timeouts, and Slack's own delays: the second retry comes after a minute.
fn setup() -> SlackSetup {
    SlackSetup {
        retry_after: [1, 60, 300].map(Duration::from_secs),
        disconnect_grace: Duration::from_secs(3),
        ..SlackSetup::default()
    }
}

/// Measures starts and acks. The clients take turns, so that all get the same conditions.
pub fn starts_and_acks(clients: &[BenchClient]) -> Result<Vec<Figures>> {
    let mut measured: Vec<BTreeMap<&'static str, Vec<f64>>> = vec![BTreeMap::new(); clients.len()];
    for _ in 0..STARTS {
        for (client, own) in clients.iter().zip(&mut measured) {
            let launched = client.start(setup())?;
            let time = launched.back(launched.spawned, TIMEOUT).context(client.name)?;
            own.entry("hello").or_default().push(time);
        }
    }
    for _ in 0..TALKS {
        for (client, own) in clients.iter().zip(&mut measured) {
            for (name, value) in talk(client)? {
                own.entry(name).or_default().push(value);
            }
        }
    }
    let summarise = |own: BTreeMap<&'static str, Vec<f64>>| {
        own.into_iter().map(|(name, values)| (name, several(values))).collect()
    };
    Ok(measured.into_iter().map(summarise).collect())
}

/// Measures a client's memory at rest, and its acks of four hundred messages.
fn talk(client: &BenchClient) -> Result<[(&'static str, f64); 3]> {
    let launched = client.start(setup())?;
    launched.back(launched.spawned, TIMEOUT)?;
    thread::sleep(IDLE);
    let memory = launched.memory()?;
    for number in 0..400 {
        launched.slack.say(None, &format!("message {number}"));
        thread::sleep(Duration::from_millis(5));
    }
    let times = ack_times(&launched.slack);
    Ok([("rss", memory), ("ack p50", share(&times, 0.5)), ("ack p99", share(&times, 0.99))])
}

/// Returns the milliseconds from an envelope to its ack, sorted.
fn ack_times(slack: &SlackApi) -> Vec<f64> {
    slack.wait_for_all_acked(TIMEOUT);
    let deliveries = slack.deliveries();
    let time = |delivery: &testkit::slack::EventDelivery| {
        Some(delivery.acked_at?.duration_since(delivery.at).as_secs_f64() * 1e3)
    };
    let mut times: Vec<_> = deliveries.iter().filter_map(time).collect();
    times.sort_by(f64::total_cmp);
    times
}

/// Measures the memory at rest as with the real Slack: over TLS, with all root certificates of the
/// system. Returns no figure if these are not at their usual place.
pub fn tls_memory(client: &BenchClient) -> Result<Figures> {
    let folder = tempfile::tempdir()?;
    let slack = SlackApi::start_tls(setup());
    let roots = folder.path().join("roots.pem");
    slack.ca_file(&roots);
    let mut all = fs::read(&roots)?;
    let Ok(system) = fs::read("/etc/ssl/certs/ca-certificates.crt") else {
        return Ok(Figures::new());
    };
    all.extend(system);
    fs::write(&roots, all)?;
    let launched = client.start_with(slack, &[("SSL_CERT_FILE", roots)])?;
    launched.back(launched.spawned, TIMEOUT)?;
    thread::sleep(IDLE);
    Ok(BTreeMap::from([("rss tls", one(launched.memory()?))]))
}

/// Measures acks of replies, each of which is on the disk before its ack.
pub fn kept_acks(client: &BenchClient) -> Result<Figures> {
    let launched = client.start(setup())?;
    launched.back(launched.spawned, TIMEOUT)?;
    let thread = launched.slack.post_as_user(None, "a thread");
    for number in 0..60 {
        launched.slack.say(Some(&thread), &format!("reply {number}"));
        thread::sleep(Duration::from_millis(20));
    }
    Ok(BTreeMap::from([("kept p50", one(share(&ack_times(&launched.slack), 0.5)))]))
}

/// Measures the reconnects after every kind of loss.
pub fn losses(client: &BenchClient, extent: BenchExtent) -> Result<Figures> {
    let tries = if client.is_ours { 8 } else { 2 };
    let launched = client.start(setup())?;
    launched.back(launched.spawned, TIMEOUT)?;
    let mut figures = Figures::new();
    let lose = |way: Disconnector| -> Result<f64> {
        thread::sleep(Duration::from_millis(300));
        let since = Instant::now();
        way(&launched.slack);
        launched.back(since, TIMEOUT)
    };
    let ways: [(&'static str, Disconnector); 4] = [
        ("reset", |slack| slack.kill(Cut::Reset)),
        ("fin", |slack| slack.kill(Cut::Fin)),
        ("close", |slack| slack.kill(Cut::Close(1000))),
        ("refresh", SlackApi::refresh),
    ];
    for (name, way) in ways {
        let times: Result<Vec<_>> = (0..tries).map(|_| lose(way)).collect();
        figures.insert(name, several(times.context(name)?));
    }
    if extent == BenchExtent::Quick {
        return Ok(figures);
    }
    figures.insert("half-open", one(lose(|slack| slack.kill(Cut::HalfOpen))?));
    drop(launched);
    figures.extend(cycles(&client.start(setup())?)?);
    Ok(figures)
}

/// Resets half of the connections and refreshes the other half, with twenty messages a second.
fn cycles(launched: &RunningClient) -> Result<Figures> {
    let slack = &launched.slack;
    launched.back(launched.spawned, TIMEOUT)?;
    let began = Instant::now();
    let is_over = AtomicBool::new(false);
    let cycled = thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::SeqCst) {
                slack.say(None, "on and on");
                thread::sleep(INTERVAL);
            }
        });
        let cycle = |number: usize| -> Result<()> {
            thread::sleep(INTERVAL * 7);
            let since = Instant::now();
            match number % 4 {
                0 | 2 => slack.kill(Cut::Reset),
                1 => slack.refresh(),
                _ => slack.disconnect("warning"),
            };
            launched.back(since, TIMEOUT)?;
            thread::sleep(INTERVAL * 7);
            Ok(())
        };
        let cycled = (0..CYCLES).try_for_each(cycle);
        is_over.store(true, Ordering::SeqCst);
        cycled
    });
    cycled?;
    let seconds = began.elapsed().as_secs_f64();
    // Waits for the first retry of the last events.
    thread::sleep(Duration::from_secs(5));
    let events = slack.events();
    // Events without an ack count too. Slack gives up after six minutes, longer than this takes.
    let is_late = |attempt: Option<u32>| attempt.is_none_or(|attempt| attempt > 1);
    let late = events.iter().filter(|event| is_late(event.acked_attempt)).count();
    Ok(BTreeMap::from([
        ("late", one(late as f64)),
        ("breaches", one(slack.violations().len() as f64)),
        ("events", one(events.len() as f64)),
        ("seconds", one(seconds)),
    ]))
}
