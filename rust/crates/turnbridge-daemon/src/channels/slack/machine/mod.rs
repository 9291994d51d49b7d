//! Reads or creates `machine.json`, which contains the id and the name of this machine. The first
//! process that needs the file creates it, and no process changes it.

mod host;

use std::fs;
use std::io;
use std::path::Path;

use turnbridge_core::slack::machine_wire::Machine;
use turnbridge_store::files::atomic_file::write_durably;
use turnbridge_store::paths::StatePaths;
use turnbridge_system::random;

/// Reads `machine.json`, or creates it. Two processes in a race get the same machine.
pub fn machine(paths: &StatePaths) -> io::Result<Machine> {
    let path = paths.machine_file();
    match read(&path)? {
        Some(machine) => Ok(machine),
        None => make(&path),
    }
}

/// Reads the file. Returns `None` if it does not exist. A damaged file is an error and is not
/// replaced: with another id, this machine's threads would seem to be another machine's.
fn read(path: &Path) -> io::Result<Option<Machine>> {
    let bytes = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        bytes => bytes?,
    };
    let machine = serde_json::from_slice(&bytes).ok().filter(Machine::is_valid);
    machine.map(Some).ok_or_else(|| {
        let path = path.display();
        let problem = format!("`{path}` is damaged; remove it: this machine then gets a new id");
        io::Error::new(io::ErrorKind::InvalidData, problem)
    })
}

/// Writes a temporary file and links it. If another process was faster, the link fails and that
/// process's file counts.
fn make(path: &Path) -> io::Result<Machine> {
    let id = random::hex::<16>()?;
    let machine = Machine::new(id.clone(), &host::name()).ok_or(io::ErrorKind::InvalidData)?;
    let own = path.with_file_name(format!(".machine-{id}.tmp"));
    write_durably(&own, &serde_json::to_vec(&machine)?)?;
    let linked = fs::hard_link(&own, path);
    let _ = fs::remove_file(&own);
    match linked {
        Ok(()) => Ok(machine),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            read(path)?.ok_or_else(|| io::ErrorKind::NotFound.into())
        }
        // The file system has no hard links.
        Err(_) => make_exclusively(path, machine),
    }
}

fn make_exclusively(path: &Path, machine: Machine) -> io::Result<Machine> {
    use std::io::Write as _;
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Ok(mut file) => {
            let written = file.write_all(&serde_json::to_vec(&machine)?);
            written.and_then(|()| file.sync_all()).inspect_err(|_| drop(fs::remove_file(path)))?;
            Ok(machine)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            read(path)?.ok_or_else(|| io::ErrorKind::NotFound.into())
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_who_ask_at_once_get_one_machine_and_it_stays() {
        let folder = tempfile::tempdir().unwrap();
        let paths = StatePaths::below(folder.path());
        let ids: Vec<String> = std::thread::scope(|scope| {
            let ask = || machine(&paths).unwrap().id;
            let threads: Vec<_> = (0..16).map(|_| scope.spawn(ask)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
        assert_eq!(machine(&paths).unwrap().id, ids[0]);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(paths.machine_file()).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }

    #[test]
    fn a_damaged_file_is_an_error_and_not_another_machine() {
        let folder = tempfile::tempdir().unwrap();
        let paths = StatePaths::below(folder.path());
        for text in ["", "{", r#"{"version":1,"id":"x","name":"x"}"#] {
            fs::write(paths.machine_file(), text).unwrap();
            assert!(machine(&paths).is_err(), "{text}");
            assert_eq!(fs::read_to_string(paths.machine_file()).unwrap(), text);
        }
    }
}
