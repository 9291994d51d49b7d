//! Changes a file of another program: Claude's `settings.json`, Codex's `config.toml`. The caller
//! decides on the new text.
//!
//! Whichever process is killed at whatever moment, the file is the old one or the new one. If
//! another program changes it meanwhile, that version stays, and the plan is made anew from it
//! (`swap` has the exception). The first change leaves `<file>.bak`, which is never overwritten
//! (KT-6). Turnbridge's state folder stores the original text, so that a removal can restore it
//! byte for byte.

mod attributes;
mod record;
mod swap;

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::files::atomic_file::{make_private_folder, sync_folder_of, write_durably};
use crate::files::bounded_file;
use crate::files::file_lock::FileLock;
use crate::paths::StatePaths;
use crate::state::newer_files;
use attributes::Attributes;
use record::ChangeRecord;
use swap::SwapResult;

/// The limit of a settings file.
const LONGEST: u64 = 16 << 20;
/// The timeout for the lock. Its holder waits for no input, so it finishes soon.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);
/// How often a plan is made anew because another program changed the file first.
const ATTEMPTS: usize = 8;
/// The limit of links: a longer chain is a loop.
const MOST_LINKS: usize = 40;

/// A file of another program, and Turnbridge's records of it.
#[derive(Debug, Clone)]
pub struct ForeignFile {
    path: PathBuf,
    folder: PathBuf,
    slug: String,
}

/// The input of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Current {
    /// `None` if there is no file.
    pub text: Option<String>,
    /// The file before Turnbridge's first change, if it is known.
    pub before: Option<OriginalFile>,
}

/// The file before Turnbridge's first change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginalFile {
    /// `None` if there was no file.
    pub text: Option<String>,
    /// Whether the file is unchanged since Turnbridge's last change.
    pub is_untouched: bool,
}

impl Current {
    /// Returns the text. A missing file counts as an empty one.
    pub fn text_or_empty(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    /// Returns the original text, if it is known. A missing file counts as an empty one.
    pub fn before_text(&self) -> Option<&str> {
        self.before.as_ref().map(|before| before.text.as_deref().unwrap_or_default())
    }
}

/// The result of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppliedText {
    pub text: String,
    /// The file without Turnbridge's part. A removal restores it as long as no other program
    /// changes the file.
    pub without_us: String,
}

/// The effect of a change on the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileChange {
    Unchanged,
    Written,
    /// The file did not exist before Turnbridge's first change, and is removed again.
    Deleted,
}

/// The reason why a change failed. The file is unchanged, unless the variant states otherwise.
#[derive(Debug)]
pub enum Failure<E> {
    /// The plan refused the change.
    Refused(E),
    File {
        doing: &'static str,
        path: PathBuf,
        error: io::Error,
    },
    NotUtf8 {
        path: PathBuf,
    },
    /// The same file has other names; a replacement would separate them.
    HasOtherNames {
        path: PathBuf,
    },
    /// Another program changed the file again and again.
    NoPeace {
        path: PathBuf,
    },
    NoBackup {
        path: PathBuf,
    },
}

impl<E: fmt::Display> fmt::Display for Failure<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Refused(refusal) => refusal.fmt(f),
            Failure::File { doing, path, error } => {
                write!(f, "could not {doing} `{}`: {error}", path.display())
            }
            Failure::NotUtf8 { path } => write!(f, "`{}` is no UTF-8 text", path.display()),
            Failure::HasOtherNames { path } => {
                write!(f, "`{}` is a file with several names (hard links)", path.display())
            }
            Failure::NoPeace { path } => {
                write!(f, "another program keeps changing `{}`", path.display())
            }
            Failure::NoBackup { path } => write!(f, "there is no `{}`", path.display()),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> std::error::Error for Failure<E> {}

/// The result of one attempt.
enum Attempt {
    Done(FileChange),
    SomebodyWasQuicker,
}

/// The new text of the file, and the record to store.
struct FileTarget {
    text: Option<String>,
    memory: RecordChange,
    backs_up: bool,
}

enum RecordChange {
    Keep(ChangeRecord),
    Forget,
}

/// Returns the files that Turnbridge has changed and not yet restored, by the names under which
/// they were given.
pub fn changed_files(paths: &StatePaths) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(paths.state_dir().join("foreign")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let paths = entries.flatten().map(|entry| entry.path());
    let records = paths.filter(|path| path.extension().is_some_and(|name| name == "json"));
    Ok(records.filter_map(|path| Some(ChangeRecord::read(&path)?.path().into())).collect())
}

impl ForeignFile {
    pub fn new(paths: &StatePaths, path: &Path) -> ForeignFile {
        let folder = paths.state_dir().join("foreign");
        ForeignFile { path: path.to_owned(), folder, slug: record::slug(path) }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path of the backup, beside the name that the user knows, not beside the target
    /// of a link.
    pub fn backup_path(&self) -> PathBuf {
        let mut name = self.path.file_name().unwrap_or_default().to_owned();
        name.push(".bak");
        self.path.with_file_name(name)
    }

    /// Reads the file for a status or a preview. Takes no lock and changes no file.
    pub fn current<E>(&self) -> Result<Current, Failure<E>> {
        let real = self.real_path()?;
        let text = read(&real)?;
        let record = ChangeRecord::read(&self.record_path());
        let before = record.filter(|_| text.is_some()).map(|record| OriginalFile {
            is_untouched: text.as_deref().is_some_and(|text| record.has_written(text)),
            text: record.before,
        });
        Ok(Current { text, before })
    }

    /// Writes the text that `plan` returns. It may call `plan` more than once.
    pub fn apply<E>(
        &self,
        mut plan: impl FnMut(&Current) -> Result<AppliedText, E>,
    ) -> Result<FileChange, Failure<E>> {
        self.change(|current| {
            let AppliedText { text, without_us } = plan(current).map_err(Failure::Refused)?;
            let earlier = ChangeRecord::read(&self.record_path());
            let record = match (&current.before, earlier) {
                (Some(before), Some(record)) if before.is_untouched => record,
                _ => ChangeRecord::new(&self.path, current.text.is_some().then_some(without_us)),
            };
            let memory = RecordChange::Keep(record.with_written(&text));
            Ok(FileTarget { text: Some(text), memory, backs_up: true })
        })
    }

    /// Restores the file as it was before Turnbridge's first change. If other programs have changed
    /// it since, `plan` returns the text without Turnbridge's part.
    pub fn remove<E>(
        &self,
        mut plan: impl FnMut(&Current) -> Result<String, E>,
    ) -> Result<FileChange, Failure<E>> {
        self.change(|current| {
            let text = match (&current.text, &current.before) {
                (None, _) => None,
                (_, Some(OriginalFile { text, is_untouched: true })) => text.clone(),
                _ => Some(plan(current).map_err(Failure::Refused)?),
            };
            Ok(FileTarget { text, memory: RecordChange::Forget, backs_up: false })
        })
    }

    /// Returns the text of `<file>.bak`.
    pub fn backup<E>(&self) -> Result<String, Failure<E>> {
        let backup = self.backup_path();
        read(&backup)?.ok_or(Failure::NoBackup { path: backup })
    }

    /// Restores `<file>.bak` (KT-14). The backup stays.
    pub fn restore<E>(&self) -> Result<FileChange, Failure<E>> {
        let text = self.backup()?;
        self.change(|_| {
            Ok(FileTarget {
                text: Some(text.clone()),
                memory: RecordChange::Forget,
                backs_up: false,
            })
        })
    }

    fn change<E>(
        &self,
        mut plan: impl FnMut(&Current) -> Result<FileTarget, Failure<E>>,
    ) -> Result<FileChange, Failure<E>> {
        let lock = self.folder.join(format!("{}.lock", self.slug));
        let _lock = FileLock::acquire(&lock, LOCK_TIMEOUT).map_err(file("lock", &lock))?;
        checkpoint("locked");
        for _ in 0..ATTEMPTS {
            match self.attempt(&mut plan)? {
                Attempt::Done(change) => return Ok(change),
                Attempt::SomebodyWasQuicker => {}
            }
        }
        Err(Failure::NoPeace { path: self.path.clone() })
    }

    fn attempt<E>(
        &self,
        plan: &mut impl FnMut(&Current) -> Result<FileTarget, Failure<E>>,
    ) -> Result<Attempt, Failure<E>> {
        let real = self.real_path()?;
        let memory = self.record_path();
        // A newer version's record contains the original file, which a change would lose.
        if newer_files::is_newer_file(&memory) {
            return Err(file("change", &memory)(newer_files::error()));
        }
        let current = self.current()?;
        let target = plan(&current)?;
        checkpoint("planned");
        if target.text == current.text {
            if let RecordChange::Forget = target.memory {
                self.forget()?;
            }
            return Ok(Attempt::Done(FileChange::Unchanged));
        }
        let attributes = Attributes::of(&real)?;
        if let Some(text) = &current.text {
            if target.backs_up {
                self.back_up(text, &attributes)?;
            }
            let previous = self.folder.join(format!("{}.previous", self.slug));
            write_durably(&previous, text.as_bytes()).map_err(file("write", &previous))?;
        }
        checkpoint("backed up");
        if let RecordChange::Keep(record) = &target.memory {
            let path = self.record_path();
            record.write(&path).map_err(file("write", &path))?;
        }
        checkpoint("remembered");
        let attempt = self.replace(&real, &current, target.text.as_deref(), &attributes)?;
        if let (Attempt::Done(_), RecordChange::Forget) = (&attempt, &target.memory) {
            self.forget()?;
        }
        checkpoint("done");
        Ok(attempt)
    }

    /// Replaces the old file by the new one.
    fn replace<E>(
        &self,
        real: &Path,
        current: &Current,
        text: Option<&str>,
        attributes: &Attributes,
    ) -> Result<Attempt, Failure<E>> {
        let temporary = Temporary::beside(real);
        temporary.clear().map_err(file("remove", &temporary.path))?;
        if let Some(text) = text {
            if let Some(folder) = real.parent().filter(|folder| !folder.exists()) {
                make_private_folder(folder).map_err(file("make", folder))?;
            }
            attributes
                .write_like(&temporary.path, text.as_bytes())
                .map_err(file("write", &temporary.path))?;
        }
        checkpoint("written");
        if read(real)? != current.text {
            return Ok(Attempt::SomebodyWasQuicker);
        }
        checkpoint("compared");
        let swapped = match (&current.text, text) {
            (Some(_), Some(_)) => swap::exchange(&temporary.path, real),
            (Some(_), None) => swap::remove_if_unchanged(real, &temporary.path),
            (None, _) => swap::put(&temporary.path, real),
        };
        let swapped = swapped.map_err(file("replace", real))?;
        checkpoint("swapped");
        match swapped {
            SwapResult::Taken => return Ok(Attempt::SomebodyWasQuicker),
            SwapResult::WithoutLooking => {}
            // The old file, whole and untouched, is compared with the one of the plan.
            SwapResult::Kept => {
                if !read::<E>(&temporary.path).is_ok_and(|old| old == current.text) {
                    swap::back(&temporary.path, real, text).map_err(file("put back", real))?;
                    return Ok(Attempt::SomebodyWasQuicker);
                }
            }
        }
        let found = sync_folder_of(real).map_err(file("sync", real)).and_then(|()| read(real));
        checkpoint("synced");
        match found {
            Ok(found) if found.as_deref() == text => Ok(Attempt::Done(match text {
                Some(_) => FileChange::Written,
                None => FileChange::Deleted,
            })),
            // Another program has written a newer file: the plan is made anew from it.
            Ok(_) => Ok(Attempt::SomebodyWasQuicker),
            Err(failure) => {
                if swapped == SwapResult::Kept {
                    swap::back(&temporary.path, real, text).map_err(file("put back", real))?;
                }
                Err(failure)
            }
        }
    }

    /// Writes the backup once, whole, and never over another one.
    fn back_up<E>(&self, text: &str, attributes: &Attributes) -> Result<(), Failure<E>> {
        let backup = self.backup_path();
        if backup.symlink_metadata().is_ok() {
            return Ok(());
        }
        let temporary = Temporary::beside(&backup);
        let written = temporary
            .clear()
            .and_then(|()| attributes.write_like(&temporary.path, text.as_bytes()))
            .and_then(|()| swap::put(&temporary.path, &backup))
            .and_then(|_| sync_folder_of(&backup));
        written.map_err(file("write", &backup))
    }

    fn forget<E>(&self) -> Result<(), Failure<E>> {
        let path = self.record_path();
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(file("remove", &path)(error))
            }
            _ => Ok(()),
        }
    }

    fn record_path(&self) -> PathBuf {
        self.folder.join(format!("{}.json", self.slug))
    }

    /// Returns the target of the links, whether it exists or not.
    fn real_path<E>(&self) -> Result<PathBuf, Failure<E>> {
        let mut path = self.path.clone();
        for _ in 0..MOST_LINKS {
            match fs::read_link(&path) {
                Ok(target) => path = path.parent().unwrap_or(Path::new("")).join(target),
                Err(_) => return Ok(path),
            }
        }
        Err(file("follow", &self.path)(io::Error::other("too many links")))
    }
}

/// The new file before it has its name, then the old one after it has lost it. All processes use
/// the same name: the next one, which holds the same lock, removes the file that a killed one has
/// left.
struct Temporary {
    path: PathBuf,
}

impl Temporary {
    fn beside(path: &Path) -> Temporary {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Temporary { path: path.with_file_name(format!(".{name}.turnbridge")) }
    }

    fn clear(&self) -> io::Result<()> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            // Below a file that is no folder there is no file to remove.
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(()),
            cleared => cleared,
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = self.clear();
    }
}

fn read<E>(path: &Path) -> Result<Option<String>, Failure<E>> {
    let bytes = match bounded_file::read(path, LONGEST) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        bytes => bytes.map_err(file("read", path))?,
    };
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Some(text)),
        Err(_) => Err(Failure::NotUtf8 { path: path.to_owned() }),
    }
}

fn file<E>(doing: &'static str, path: &Path) -> impl Fn(io::Error) -> Failure<E> {
    move |error| Failure::File { doing, path: path.to_owned(), error }
}

/// A place at which a test may end the process, or act as another program.
#[cfg(not(test))]
fn checkpoint(_name: &'static str) {}

#[cfg(test)]
use tests::checkpoint;

#[cfg(test)]
mod tests;
