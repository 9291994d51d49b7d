//! Speaking: finds an engine, and starts it or lets it write.
//!
//! What is said is `turnbridge_core::spoken_text`'s. Speech outlives the command that starts it:
//! an agent's turn must not wait for it. So whoever plays leads a process group of its own, with
//! the engine in it, and can be ended as a whole.

mod engine;
mod wav;

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use turnbridge_core::spoken_text::Utterance;

use engine::{Call, Target};
pub use engine::{Engine, Manner};
use wav::Wav;

/// An engine that lies on this machine.
pub struct Speaker {
    pub engine: Engine,
    path: PathBuf,
    manner: Manner,
}

impl Speaker {
    pub fn to_play(utterances: &[Utterance], manner: Manner) -> Option<Speaker> {
        Speaker::find(manner, |engine| engine.can_play(utterances))
    }

    pub fn to_write(manner: Manner) -> Option<Speaker> {
        Speaker::find(manner, Engine::can_write)
    }

    fn find(manner: Manner, fits: impl Fn(Engine) -> bool) -> Option<Speaker> {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        let (engine, path) = engine::find(std::env::split_paths(&folders), fits)?;
        Some(Speaker { engine, path, manner })
    }

    /// Starts the engine and leaves it alone.
    pub fn start(&self, utterance: &Utterance) -> Result<()> {
        let Call { arguments, stdin } = self.engine.call(utterance, &self.manner, Target::Play);
        let mut command = Command::new(&self.path);
        command.args(arguments);
        start_detached(command, &stdin)
            .with_context(|| format!("could not start `{}`", self.path.display()))
    }

    /// One after another, each to its end.
    pub fn play_all(&self, utterances: &[Utterance]) -> Result<()> {
        for utterance in utterances {
            self.run(self.engine.call(utterance, &self.manner, Target::PlayToTheEnd))?;
        }
        Ok(())
    }

    /// All utterances as one WAV file, and its length in seconds.
    pub fn write_all(&self, utterances: &[Utterance]) -> Result<(Vec<u8>, f64)> {
        let folder = TemporaryFolder::make().context("could not make a temporary folder")?;
        let mut whole: Option<Wav> = None;
        for utterance in utterances {
            let part = self.write(utterance, &folder.path.join("part.wav"))?;
            match &mut whole {
                Some(whole) => whole.append(&part)?,
                None => whole = Some(part),
            }
        }
        let whole = whole.context("there is nothing to write")?;
        Ok((whole.to_bytes()?, whole.seconds()))
    }

    fn write(&self, utterance: &Utterance, path: &Path) -> Result<Wav> {
        let call = self.engine.call(utterance, &self.manner, Target::Write(path));
        let printed = self.run(call)?;
        let sound = match self.engine.writes_to_stdout() {
            true => printed,
            false => fs::read(path).with_context(|| format!("`{}` wrote nothing", self.name()))?,
        };
        Wav::parse(&sound).with_context(|| format!("could not read what `{}` wrote", self.name()))
    }

    /// What the engine prints.
    fn run(&self, call: Call) -> Result<Vec<u8>> {
        let could_not_run = || format!("could not run `{}`", self.path.display());
        let mut command = Command::new(&self.path);
        command.args(call.arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        without_window(&mut command);
        let mut child = command.spawn().with_context(could_not_run)?;
        let stdin = child.stdin.take();
        // Another thread feeds it: an engine may print before it has read everything.
        let feeder =
            std::thread::spawn(move || stdin.map(|mut to| to.write_all(call.stdin.as_bytes())));
        let output = child.wait_with_output().with_context(could_not_run)?;
        let _ = feeder.join();
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let cause = said.lines().find(|line| !line.trim().is_empty()).unwrap_or("no word why");
            bail!("`{}` failed ({}): {}", self.name(), output.status, cause.trim());
        }
        Ok(output.stdout)
    }

    fn name(&self) -> &'static str {
        self.engine.name()
    }
}

/// Runs on after we have ended, and holds none of our streams.
pub fn start_detached(mut command: Command, stdin: &str) -> std::io::Result<()> {
    let input = if stdin.is_empty() { Stdio::null() } else { Stdio::piped() };
    command.stdin(input).stdout(Stdio::null()).stderr(Stdio::null());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    without_window(&mut command);
    let mut child = command.spawn()?;
    let Some(mut input) = child.stdin.take() else { return Ok(()) };
    match input.write_all(stdin.as_bytes()) {
        // It ended without reading: its own affair, as everything after its start.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

#[cfg_attr(not(windows), allow(unused_variables, reason = "only Windows opens windows"))]
fn without_window(command: &mut Command) {
    #[cfg(windows)]
    {
        // CREATE_NO_WINDOW and CREATE_NEW_PROCESS_GROUP.
        std::os::windows::process::CommandExt::creation_flags(command, 0x0800_0200);
    }
}

/// Private, and removed with what is in it.
struct TemporaryFolder {
    path: PathBuf,
}

impl TemporaryFolder {
    fn make() -> std::io::Result<TemporaryFolder> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(false);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        // Names that are taken may be leftovers or traps; neither is used.
        let names = (0..100).map(|n| format!("turnbridge-speech-{}-{n}", std::process::id()));
        let mut result = Err(ErrorKind::AlreadyExists.into());
        for path in names.map(|name| std::env::temp_dir().join(name)) {
            result = builder.create(&path).map(|()| TemporaryFolder { path });
            if !matches!(&result, Err(error) if error.kind() == ErrorKind::AlreadyExists) {
                break;
            }
        }
        result
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}
