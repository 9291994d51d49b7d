//! Writes speech to a WAV file, which is replaced whole or not at all. A path that is no file, such
//! as a pipe, is written to directly.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use turnbridge_core::text::spoken_text::Utterance;

use super::Speaker;
use super::engine::{EngineCall, SpeechTarget};
use super::engine_process::{EngineEnd, without_window};
use super::wav::Wav;

impl Speaker {
    /// Writes all utterances to one file. Returns its length in seconds.
    pub fn write_all(&self, utterances: &[Utterance], path: &Path) -> Result<f64> {
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
        replace(path, &whole.to_bytes()?)
            .with_context(|| format!("could not write `{}`", path.display()))?;
        Ok(whole.seconds())
    }

    fn write(&self, utterance: &Utterance, path: &Path) -> Result<Wav> {
        let call = self.engine.call(utterance, &self.manner, SpeechTarget::Write(path));
        let printed = self.run(call)?;
        let sound = match self.engine.writes_to_stdout() {
            true => printed,
            false => fs::read(path).with_context(|| format!("`{}` wrote nothing", self.name()))?,
        };
        Wav::parse(&sound).with_context(|| format!("could not read what `{}` wrote", self.name()))
    }

    /// Returns the engine's output.
    pub(super) fn run(&self, call: EngineCall) -> Result<Vec<u8>> {
        let could_not_run = || format!("could not run `{}`", self.path.display());
        let mut command = Command::new(&self.path);
        command.args(call.arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        without_window(&mut command);
        let mut child = command.spawn().with_context(could_not_run)?;
        let stdin = child.stdin.take();
        // Another thread feeds it, because an engine may print before it has read everything.
        let feeder =
            std::thread::spawn(move || stdin.map(|mut to| to.write_all(call.stdin.as_bytes())));
        let output = child.wait_with_output().with_context(could_not_run)?;
        let _ = feeder.join();
        let complaints = String::from_utf8_lossy(&output.stderr);
        match EngineEnd::of(self.engine, output.status, &complaints) {
            EngineEnd::Failed(cause) => bail!(cause),
            // The engine had nothing to play.
            EngineEnd::Well | EngineEnd::NoSound(_) => Ok(output.stdout),
        }
    }
}

/// Replaces a file, which stays until the new one is whole. Writes directly to a path that is no
/// file, such as a pipe.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if path.metadata().is_ok_and(|found| !found.is_file()) {
        return OpenOptions::new().write(true).open(path)?.write_all(bytes);
    }
    let name = path.file_name().ok_or(ErrorKind::InvalidInput)?.to_string_lossy();
    let beside = path.with_file_name(format!(".{name}.{}.tmp", std::process::id()));
    // Only a file that this process has created is written to, and removed.
    let mut file = OpenOptions::new().write(true).create_new(true).open(&beside)?;
    let written = file.write_all(bytes);
    drop(file);
    let replaced = written.and_then(|()| fs::rename(&beside, path));
    if replaced.is_err() {
        let _ = fs::remove_file(&beside);
    }
    replaced
}

/// A private folder that is removed with its content.
struct TemporaryFolder {
    path: PathBuf,
}

impl TemporaryFolder {
    fn make() -> io::Result<TemporaryFolder> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(false);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        // An existing name may be a leftover or a trap; it is not used.
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
