//! Gives a new file the mode and the owner of the file that it replaces, or returns an error. A
//! file that is not writable, or has several names, is not replaced. Access lists and extended
//! attributes are not copied.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use super::{Failure, file};

/// The attributes of the file that is replaced.
pub struct Attributes {
    /// `None` if there is no file yet.
    metadata: Option<Metadata>,
}

impl Attributes {
    /// Reads the attributes. Returns an error for a file that may not be changed, or must not be
    /// replaced.
    pub fn of<E>(path: &Path) -> Result<Attributes, Failure<E>> {
        let metadata = match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Attributes { metadata: None });
            }
            metadata => metadata.map_err(file("read", path))?,
        };
        // A rename checks the folder only, but a user who made the file read-only intended that
        // (KT-12).
        OpenOptions::new().append(true).open(path).map_err(file("write", path))?;
        if has_other_names(&metadata) {
            return Err(Failure::HasOtherNames { path: path.to_owned() });
        }
        Ok(Attributes { metadata: Some(metadata) })
    }

    /// Writes a new file with these attributes, and returns when it is on the disk.
    pub fn write_like(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        // Other users cannot read it before it has its owner and mode.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(path)?;
        if let Some(metadata) = &self.metadata {
            keep(&file, metadata)?;
        }
        file.write_all(bytes)?;
        file.sync_all()
    }
}

#[cfg(unix)]
fn has_other_names(metadata: &Metadata) -> bool {
    std::os::unix::fs::MetadataExt::nlink(metadata) > 1
}

#[cfg(not(unix))]
fn has_other_names(_metadata: &Metadata) -> bool {
    false
}

/// Sets the owner, then the mode: a change of owner may clear bits of it.
#[cfg(unix)]
fn keep(file: &File, metadata: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};
    let new = file.metadata()?;
    let uid = Some(metadata.uid()).filter(|uid| *uid != new.uid());
    let gid = Some(metadata.gid()).filter(|gid| *gid != new.gid());
    if uid.is_some() || gid.is_some() {
        fchown(file, uid, gid)?;
    }
    file.set_permissions(metadata.permissions())
}

#[cfg(not(unix))]
fn keep(_file: &File, _metadata: &Metadata) -> io::Result<()> {
    Ok(())
}
