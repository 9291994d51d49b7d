//! Runs `cargo xtask mutants`: it plants faults with cargo-mutants and reports those that no test
//! detects. `mutants.toml` contains the covered modules, and the known survivors with their
//! reasons.
//!
//! The faults are planted in a copy of the repository below `target/`, because some tests read
//! files outside of the workspace, which a copy by cargo-mutants would not contain. The sources
//! never change, however a run ends.

mod copy;
mod verdict;

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::metadata::repository;
use verdict::{KnownSurvivors, Outcomes, judge};

pub const USAGE: &str = "\
Plants faults in the modules that rust/xtask/mutants.toml lists, runs the tests of their crate for each, and names those
that no test notices. Fails if one of them is not named in that file, or if the time was not enough for all.

Usage: cargo xtask mutants [--shard K/N] [--minutes M] [--only PART] [--list]

Options:
  --shard K/N   the K-th (from 1) of N parts; one part of 4 takes under half an hour on two cores
  --minutes M   stop after so long [default: 60]
  --only PART   modules whose path contains PART
  --list        print the faults, plant none
  -h, --help    print this

Needs cargo-mutants: `cargo install cargo-mutants --locked`.
";

/// The poll interval for the end, or for an interrupt.
const LOOK: Duration = Duration::from_millis(100);
/// The timeout of cargo-mutants to end its processes after an interrupt.
const END_TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Debug, PartialEq, Eq)]
struct MutantsOptions {
    /// The shard, counted from 0 as by cargo-mutants.
    shard: Option<(u32, u32)>,
    minutes: u64,
    only: Option<String>,
    is_list: bool,
}

impl MutantsOptions {
    fn parse(words: &[&str]) -> Result<MutantsOptions> {
        let mut options = MutantsOptions { shard: None, minutes: 60, only: None, is_list: false };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().with_context(|| format!("`{word}` needs a value"));
            match *word {
                "--list" => options.is_list = true,
                "--only" => options.only = Some((*value()?).to_owned()),
                "--minutes" => {
                    let minutes = value()?.parse().ok().filter(|minutes| *minutes > 0);
                    options.minutes = minutes.context("`--minutes` is a number from 1")?;
                }
                "--shard" => {
                    let shard = value()?.split_once('/').and_then(|(number, of)| {
                        let (number, of) = (number.parse::<u32>().ok()?, of.parse().ok()?);
                        (1..=of).contains(&number).then(|| (number - 1, of))
                    });
                    options.shard = Some(shard.context("`--shard` is K/N, with K from 1 to N")?);
                }
                other => bail!("`{other}` is no option of `cargo xtask mutants`; see --help"),
            }
        }
        Ok(options)
    }
}

/// The reason why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EarlyEnd {
    Itself { code: Option<i32> },
    Late,
    Interrupted,
}

/// Runs the command. Fails if a fault survives that is not a known survivor, or if not all faults
/// were tried in time.
#[expect(clippy::print_stdout, reason = "a command for developers")]
pub fn run(words: &[&str]) -> Result<String> {
    if let ["-h" | "--help", ..] = words {
        return Ok(USAGE.to_owned());
    }
    let options = MutantsOptions::parse(words)?;
    let version = Command::new(env!("CARGO")).args(["mutants", "--version"]).output();
    if !version.is_ok_and(|output| output.status.success()) {
        bail!("cargo-mutants is not installed\nhint: `cargo install cargo-mutants --locked`");
    }
    let top = repository();
    let known = KnownSurvivors::parse(&fs::read_to_string(top.join("rust/xtask/mutants.toml"))?)?;
    let is_wanted =
        |module: &&String| options.only.as_deref().is_none_or(|part| module.contains(part));
    let modules: Vec<_> = known.modules.iter().filter(is_wanted).collect();
    if modules.is_empty() {
        bail!("no module of mutants.toml has this in its path");
    }
    let place = top.join("rust/target/mutants");
    copy::mirror(&top, &place.join("tree")).context("could not copy the repository")?;
    let mut command = command(&options, &modules, &known.skipped, &place);
    if options.is_list {
        let listed = command.output().context("could not run cargo-mutants")?;
        return Ok(String::from_utf8_lossy(&listed.stdout).into_owned());
    }
    let begun = Instant::now();
    let ended = wait(command.spawn()?, begun + Duration::from_secs(60 * options.minutes))?;
    let outcomes = read_outcomes(&place.join("mutants.out"));
    if let EarlyEnd::Itself { code } = ended
        && !matches!(code, Some(0 | 2 | 3))
    {
        bail!("cargo-mutants failed ({code:?}): the tests fail without a fault, most likely");
    }
    let verdict = judge(&known, &outcomes?);
    println!("\n{}", verdict.report);
    let mut problems = String::new();
    if verdict.new > 0 {
        let _ = write!(
            problems,
            "no test notices {} of the faults, and mutants.toml does not name them",
            verdict.new
        );
    }
    match ended {
        EarlyEnd::Interrupted => problems.push_str("\nit was interrupted"),
        EarlyEnd::Late => {
            let _ = write!(problems, "\nthe time was not enough: {} faults are left", verdict.left);
        }
        EarlyEnd::Itself { .. } => {}
    }
    if problems.is_empty() {
        return Ok(format!("all is as mutants.toml says; {} s\n", begun.elapsed().as_secs()));
    }
    bail!("{}", problems.trim());
}

fn command(
    options: &MutantsOptions,
    modules: &[&String],
    skipped: &[String],
    place: &Path,
) -> Command {
    let tree = place.join("tree");
    let mut command = Command::new(env!("CARGO"));
    command.args(["mutants", "--in-place", "--colors", "never", "--output"]);
    command.arg(place).arg("--dir").arg(tree.join("rust"));
    // A fault that makes a test slow is detected like one that makes it wait forever.
    command.args(["--minimum-test-timeout", "60"]);
    for module in modules {
        command.args(["--file", module.as_str()]);
    }
    if let Some((number, of)) = options.shard {
        command.args(["--shard", &format!("{number}/{of}")]);
    }
    if options.is_list {
        command.arg("--list");
    }
    // Without doc tests: there are none.
    command.args(["--", "--lib", "--"]);
    for tests in skipped {
        command.args(["--skip", tests.as_str()]);
    }
    command.env("CARGO_TARGET_DIR", place.join("built"));
    // These builds need no debug information.
    command.env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_PROFILE_TEST_DEBUG", "0");
    command.env("INSTA_UPDATE", "no").env("RUST_BACKTRACE", "0");
    command.current_dir(tree.join("rust"));
    command
}

/// Waits for the end. Ctrl-C at a terminal reaches cargo-mutants directly; a signal to this process
/// alone is passed on.
fn wait(mut child: Child, until: Instant) -> Result<EarlyEnd> {
    let is_interrupted = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&is_interrupted);
    ctrlc::set_handler(move || flag.store(true, Ordering::SeqCst))?;
    loop {
        if let Some(status) = child.try_wait()? {
            let ended = EarlyEnd::Itself { code: status.code() };
            let was_asked = is_interrupted.load(Ordering::SeqCst);
            return Ok(if was_asked { EarlyEnd::Interrupted } else { ended });
        }
        let is_asked = is_interrupted.load(Ordering::SeqCst);
        if is_asked || Instant::now() >= until {
            end(&mut child)?;
            return Ok(if is_asked { EarlyEnd::Interrupted } else { EarlyEnd::Late });
        }
        std::thread::sleep(LOOK);
    }
}

/// Interrupts the child like Ctrl-C, so that it ends its own children. Kills it after a timeout.
fn end(child: &mut Child) -> Result<()> {
    let _ = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    let deadline = Instant::now() + END_TIMEOUT;
    while child.try_wait()?.is_none() {
        if Instant::now() >= deadline {
            let _ = child.kill();
        }
        std::thread::sleep(LOOK);
    }
    Ok(())
}

fn read_outcomes(folder: &Path) -> Result<Outcomes> {
    let read = |name: &str| {
        let path = folder.join(name);
        fs::read_to_string(&path).with_context(|| format!("could not read `{}`", path.display()))
    };
    Outcomes::parse(&read("mutants.json")?, &read("outcomes.json")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_and_wrong_ones_are_refused() {
        let shard =
            MutantsOptions::parse(&["--shard", "4/4", "--minutes", "5", "--only", "gate"]).unwrap();
        let only = Some("gate".to_owned());
        assert_eq!(shard, MutantsOptions { shard: Some((3, 4)), minutes: 5, only, is_list: false });
        for wrong in [
            &["--shard", "0/4"][..],
            &["--shard", "5/4"],
            &["--shard", "4"],
            &["--shard"],
            &["--minutes", "0"],
            &["--minutes", "soon"],
            &["--jobs"],
        ] {
            assert!(MutantsOptions::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
