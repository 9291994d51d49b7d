//! Reads regular files up to a limit, because a path of another program may be a huge file, a
//! folder or a pipe. It never waits for the other end of a pipe.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// Reads a whole regular file. Returns an error if it is longer than `longest`, or no regular file.
pub fn read(path: &Path, longest: u64) -> io::Result<Vec<u8>> {
    let (mut file, length) = open(path)?;
    if length > longest {
        return Err(io::Error::from(io::ErrorKind::FileTooLarge));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
    Read::take(&mut file, longest).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a whole regular file. Returns `None` if it does not exist.
pub fn read_if_there(path: &Path, longest: u64) -> io::Result<Option<Vec<u8>>> {
    match read(path, longest) {
        Err(error) if is_absent(&error) => Ok(None),
        bytes => bytes.map(Some),
    }
}

/// Returns whether a file could not be read because it does not exist.
pub fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Returns the last `longest` bytes of a regular file, and its whole length.
pub fn read_tail(path: &Path, longest: u64) -> io::Result<(Vec<u8>, u64)> {
    let (mut file, length) = open(path)?;
    let size = length.min(longest);
    file.seek(SeekFrom::Start(length - size))?;
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
    Read::take(&mut file, size).read_to_end(&mut bytes)?;
    Ok((bytes, length))
}

/// Opens a regular file and returns its length. Never waits for the other end of a pipe.
pub fn open(path: &Path) -> io::Result<(File, u64)> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        rustix::fs::OFlags::NONBLOCK.bits() as i32,
    );
    let file = options.open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    Ok((file, metadata.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_up_to_its_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        std::fs::write(&path, "0123456789").unwrap();
        assert_eq!(read(&path, 10).unwrap(), b"0123456789");
        assert_eq!(read(&path, 9).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(read_tail(&path, 3).unwrap(), (b"789".to_vec(), 10));
        assert_eq!(read_tail(&path, 30).unwrap(), (b"0123456789".to_vec(), 10));
        assert!(read(folder.path(), 10).is_err());
        assert_eq!(read_if_there(&path, 10).unwrap(), Some(b"0123456789".to_vec()));
        for absent in [folder.path().join("y"), path.join("y")] {
            assert_eq!(read_if_there(&absent, 10).unwrap(), None);
        }
        assert!(read_if_there(folder.path(), 10).is_err());
    }
}
