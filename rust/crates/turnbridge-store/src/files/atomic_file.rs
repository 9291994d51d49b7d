//! Replaces a file whole: a reader sees the old file or the new one, never a part of either. Files
//! of other programs also need a backup and a comparison, so `foreign_file` writes them.
//!
//! `write_atomically` makes no fsync, because a hook is not worth a disk flush: after a power cut
//! the last state may be lost. Data that no process can repeat is written by `write_durably`.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Writes `bytes` to a temporary file beside `path` and renames it. Missing folders are made
/// (0700); the file is 0600 from the moment it exists. The temporary name contains the process id,
/// so that two writers of one path use different names.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = temporary_beside(path);
    let written = create_private(&temporary).and_then(|mut file| file.write_all(bytes));
    let renamed = written.and_then(|()| rename(&temporary, path));
    if renamed.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    renamed
}

/// Writes like `write_atomically`, and returns when the data is on the disk.
pub fn write_durably(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = temporary_beside(path);
    let written = create_private(&temporary)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()));
    let renamed = written.and_then(|()| rename(&temporary, path));
    if renamed.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    renamed.and_then(|()| sync_folder_of(path))
}

/// Writes the file's name to the disk too.
#[cfg(unix)]
pub fn sync_folder_of(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

/// Does nothing: Windows writes names with their files.
#[cfg(not(unix))]
pub fn sync_folder_of(_path: &Path) -> io::Result<()> {
    Ok(())
}

fn temporary_beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}.tmp", std::process::id()))
}

fn create_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    open_making_folders(path, &mut options)
}

/// Opens a file, with mode 0600 if it is new. Creates the folders only if the first attempt fails,
/// so that only the first call needs the check.
pub fn open_making_folders(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    private(options);
    match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let folder = path.parent().ok_or(error)?;
            make_private_folder(folder)?;
            options.open(path)
        }
        opened => opened,
    }
}

/// Creates a folder and the missing ones above it, with mode 0700.
pub fn make_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

fn private(options: &mut OpenOptions) {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    #[cfg(not(unix))]
    let _ = options;
}

#[cfg(unix)]
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)
}

/// Renames a file, with retries. On Windows the rename fails for a moment while a reader or a virus
/// scanner has the file open.
#[cfg(windows)]
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    use std::time::Duration;
    let mut pause = Duration::from_millis(1);
    loop {
        match fs::rename(from, to) {
            Err(error) if is_in_use(&error) && pause < Duration::from_millis(64) => {
                std::thread::sleep(pause);
                pause *= 2;
            }
            renamed => return renamed,
        }
    }
}

/// Returns whether another process has the file open and locks out changes; mostly for a moment.
#[cfg(windows)]
fn is_in_use(error: &io::Error) -> bool {
    const ERROR_SHARING_VIOLATION: i32 = 32;
    error.kind() == io::ErrorKind::PermissionDenied
        || error.raw_os_error() == Some(ERROR_SHARING_VIOLATION)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_leaves_nothing_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/file.json");
        write_atomically(&path, b"one").unwrap();
        write_durably(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn folders_are_0700_and_files_0600() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/file.json");
        write_atomically(&path, b"secret").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(path.parent().unwrap()), 0o700);
        assert_eq!(mode(&folder.path().join("a")), 0o700);
    }

    #[test]
    fn a_write_that_fails_leaves_the_old_file_and_no_temporary_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("taken");
        fs::create_dir(&path).unwrap();
        fs::write(path.join("x"), b"x").unwrap();
        assert!(write_atomically(&path, b"new").is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
