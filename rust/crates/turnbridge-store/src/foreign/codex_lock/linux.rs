//! Finds a lock on Linux in `/proc/locks`, the kernel's list of all locks. The lock file itself is
//! not opened.
//!
//! The list lacks the locks of processes in other PID namespaces: a container that shares Codex's
//! folder with its host sees only the container's locks.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::ThreadWriter;

/// How often a list longer than a page is read. The kernel returns a page at a time and counts
/// entries to find its place again, so an entry is skipped if another one disappears in between.
const READINGS: usize = 8;

/// The file systems on which another machine or program may hold a lock that this kernel does not
/// know: those of a network, of another program (FUSE) and of a host (9P), by their magic numbers.
const SHARED_FILE_SYSTEMS: [u32; 12] = [
    0x6969,      // NFS
    0xff53_4d42, // CIFS
    0xfe53_4d42, // SMB 2
    0x517b,      // SMB
    0x6573_5546, // FUSE
    0x0102_1997, // 9P
    0x00c3_6400, // Ceph
    0x5346_414f, // AFS
    0x7375_7245, // Coda
    0x0116_1970, // GFS2
    0x7461_636f, // OCFS2
    0x0bd0_0bd0, // Lustre
];

#[cfg(test)]
pub fn can_tell() -> bool {
    true
}

pub fn ask(path: &Path) -> io::Result<ThreadWriter> {
    let file = fs::metadata(path)?;
    for _ in 0..READINGS {
        let Ok((locks, pieces)) = read_locks() else { return Ok(ThreadWriter::Unknown) };
        match find(&locks, path, &file) {
            ThreadWriter::Free if pieces > 1 => {}
            ThreadWriter::Free => break,
            found => return Ok(found),
        }
    }
    let kind = rustix::fs::statfs(path)?.f_type as u32;
    Ok(if SHARED_FILE_SYSTEMS.contains(&kind) { ThreadWriter::Unknown } else { ThreadWriter::Free })
}

/// Returns the list, and the number of pieces in which it came.
fn read_locks() -> io::Result<(String, usize)> {
    let mut file = File::open("/proc/locks")?;
    let mut bytes = Vec::new();
    let mut piece = [0; 8192];
    let mut pieces = 0;
    loop {
        let length = file.read(&mut piece)?;
        if length == 0 {
            return Ok((String::from_utf8_lossy(&bytes).into_owned(), pieces));
        }
        bytes.extend_from_slice(&piece[..length]);
        pieces += 1;
    }
}

fn find(locks: &str, path: &Path, file: &Metadata) -> ThreadWriter {
    let device = (rustix::fs::major(file.dev()), rustix::fs::minor(file.dev()));
    let mut found = ThreadWriter::Free;
    for lock in locks.lines().filter_map(parse).filter(|lock| lock.inode == file.ino()) {
        if lock.device == device {
            return ThreadWriter::Held;
        }
        // The same number on another device is another file, except where a file system shows one
        // device to programs and has another inside: Btrfs, overlays.
        match has_open(lock.pid, path, file) {
            Ok(true) => return ThreadWriter::Held,
            Ok(false) => {}
            Err(_) => found = ThreadWriter::Unknown,
        }
    }
    found
}

#[derive(Debug, PartialEq, Eq)]
struct Lock {
    pid: u32,
    device: (u32, u32),
    inode: u64,
}

/// Parses `1: FLOCK  ADVISORY  WRITE 708 08:02:131 0 EOF`. A process that only waits has `->`
/// behind the number.
fn parse(line: &str) -> Option<Lock> {
    let mut fields = line.split_ascii_whitespace().skip(1);
    if fields.next()? != "FLOCK" || fields.nth(1)? != "WRITE" {
        return None;
    }
    // Zero, or even less, if the kernel cannot name the owner.
    let pid = fields.next()?.parse().unwrap_or(0);
    let mut place = fields.next()?.split(':');
    let major = u32::from_str_radix(place.next()?, 16).ok()?;
    let minor = u32::from_str_radix(place.next()?, 16).ok()?;
    Some(Lock { pid, device: (major, minor), inode: place.next()?.parse().ok()? })
}

fn has_open(pid: u32, path: &Path, file: &Metadata) -> io::Result<bool> {
    let is_file = |link: &Path| {
        // Only files with this name are examined, because any file may be open there.
        let target = fs::read_link(link).ok()?;
        let open = fs::metadata(link).ok().filter(|_| target.file_name() == path.file_name())?;
        Some((open.dev(), open.ino()) == (file.dev(), file.ino()))
    };
    for entry in fs::read_dir(format!("/proc/{pid}/fd"))? {
        if is_file(&entry?.path()) == Some(true) {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_the_kernels_list_only_what_is_held_for_writing_counts() {
        let lock = Lock { pid: 708, device: (0xfd, 0x1a), inode: 131 };
        assert_eq!(parse("1: FLOCK  ADVISORY  WRITE 708 fd:1a:131 0 EOF"), Some(lock));
        let nameless = parse("12: FLOCK  ADVISORY  WRITE -1 00:2d:131 0 EOF").unwrap();
        assert_eq!((nameless.pid, nameless.device), (0, (0, 0x2d)));
        for other in [
            "1: -> FLOCK  ADVISORY  WRITE 708 fd:1a:131 0 EOF",
            "1: FLOCK  ADVISORY  READ  708 fd:1a:131 0 EOF",
            "1: POSIX  ADVISORY  WRITE 708 fd:1a:131 0 EOF",
            "1: FLOCK  ADVISORY  WRITE 708 <none>:0 0 EOF",
            "1: FLOCK  ADVISORY  WRITE",
            "",
        ] {
            assert_eq!(parse(other), None, "{other}");
        }
    }

    #[test]
    fn on_a_device_of_another_name_the_owner_must_have_the_file_open() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.lock");
        let open = File::create(&path).unwrap();
        let file = open.metadata().unwrap();
        let inode = file.ino();
        let listed = |pid: u32| format!("1: FLOCK  ADVISORY  WRITE {pid} 00:fff:{inode} 0 EOF\n");
        let own = listed(std::process::id());
        assert_eq!(find(&own, &path, &file), ThreadWriter::Held);
        assert_eq!(find(&listed(0), &path, &file), ThreadWriter::Unknown, "nobody to ask");
        drop(open);
        assert_eq!(find(&own, &path, &file), ThreadWriter::Free, "another file of that number");
        assert_eq!(find("", &path, &file), ThreadWriter::Free);
    }
}
