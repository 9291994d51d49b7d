//! Measures the daemon beside Slack's own clients, in the same run against the same loopback Slack:
//! memory, acks and reconnects. The full run also checks that old rollouts do not slow the daemon
//! down.

pub mod client;
mod rollouts;
mod sockets;

use std::fmt::Write;
use std::thread;

use anyhow::Result;

use client::BenchClient;
use sockets::Figures;

/// The extent of the bench.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum BenchExtent {
    /// Without the slow parts: half-open connections, cycles, old rollouts.
    Quick,
    Full,
}

/// A row of the table, with its goal if there is one.
struct BenchRow {
    what: &'static str,
    key: &'static str,
    goal: Option<f64>,
}

const ROWS: [BenchRow; 13] = [
    BenchRow { what: "idle RSS, MB", key: "rss", goal: Some(8.0) },
    BenchRow {
        what: "idle RSS with TLS and the system's roots, MB",
        key: "rss tls",
        goal: Some(8.0),
    },
    BenchRow { what: "start to hello, s", key: "hello", goal: Some(0.05) },
    BenchRow { what: "ack, half of them, ms", key: "ack p50", goal: None },
    BenchRow { what: "ack, 99 of 100, ms", key: "ack p99", goal: None },
    BenchRow { what: "ack of a reply that is journalled, half, ms", key: "kept p50", goal: None },
    BenchRow { what: "back after a reset, s", key: "reset", goal: Some(0.1) },
    BenchRow { what: "back after the stream's end, s", key: "fin", goal: Some(0.1) },
    BenchRow { what: "back after a close frame, s", key: "close", goal: Some(0.1) },
    BenchRow { what: "new socket after a refresh, s", key: "refresh", goal: Some(0.1) },
    BenchRow { what: "back after half-open, s", key: "half-open", goal: Some(16.0) },
    BenchRow { what: "50 cycles, 20 events/s: late", key: "late", goal: Some(0.0) },
    BenchRow { what: "50 cycles: breaches of the protocol", key: "breaches", goal: Some(0.0) },
];

/// Runs the bench and returns its table.
pub fn run(extent: BenchExtent) -> Result<String> {
    let program = super::executable("turnbridge")?;
    let old_files = match extent {
        BenchExtent::Quick => String::new(),
        BenchExtent::Full => rollouts::run(&program)?,
    };
    let mut text = String::new();
    let mut clients = vec![client::daemon(&program)];
    for other in [client::node(), client::python()] {
        match other {
            Ok(other) => clients.push(other),
            Err(absent) => writeln!(text, "absent: {absent}")?,
        }
    }
    let mut figures = sockets::starts_and_acks(&clients)?;
    figures[0].extend(sockets::tls_memory(&clients[0])?);
    figures[0].extend(sockets::kept_acks(&clients[0])?);
    // Turnbridge's client runs alone; the others, which mostly wait, run in parallel.
    figures[0].extend(sockets::losses(&clients[0], extent)?);
    let others = thread::scope(|scope| {
        let losses = |client| scope.spawn(move || sockets::losses(client, extent));
        let threads: Vec<_> = clients[1..].iter().map(losses).collect();
        threads.into_iter().map(|thread| thread.join().expect("a bench's thread")).collect()
    });
    let others: Vec<Result<Figures>> = others;
    for (own, losses) in figures[1..].iter_mut().zip(others) {
        own.extend(losses?);
    }
    table(&mut text, &clients, &figures)?;
    text.push_str(&old_files);
    Ok(text)
}

fn table(text: &mut String, clients: &[BenchClient], figures: &[Figures]) -> Result<()> {
    writeln!(
        text,
        "lower quartile of several tries (the worst one in brackets); others as ratios to us\n"
    )?;
    for row in ROWS {
        let Some(ours) = figures[0].get(row.key) else { continue };
        let value = |figure: &sockets::Figure| match figure.worst {
            Some(worst) => format!("{} ({})", short(figure.value), short(worst)),
            None => short(figure.value),
        };
        write!(text, "{:<46} {:>18}", row.what, value(ours))?;
        if let Some(goal) = row.goal {
            let verdict = if ours.value <= goal { "reached" } else { "MISSED" };
            write!(text, "; goal {goal}: {verdict}")?;
        }
        for (client, own) in clients.iter().zip(figures).skip(1) {
            let Some(figure) = own.get(row.key) else { continue };
            write!(text, "; {} {}", client.name, value(figure))?;
            if ours.value > 0.0 {
                let ratio = figure.value / ours.value;
                let digits = if ratio < 10.0 { 1 } else { 0 };
                write!(text, " = {ratio:.digits$} x")?;
            }
        }
        text.push('\n');
    }
    for (client, own) in clients.iter().zip(figures) {
        if let (Some(events), Some(seconds)) = (own.get("events"), own.get("seconds")) {
            let (events, seconds) = (events.value, seconds.value);
            writeln!(text, "{}: the cycles took {seconds:.0} s with {events} events", client.name)?;
        }
    }
    Ok(())
}

fn short(value: f64) -> String {
    match value {
        value if value == value.trunc() => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value => format!("{value:.3}"),
    }
}
