//! Finds executables in Turnbridge's plugin, and the plugin around an executable. There are three
//! layouts: a checkout has the executables in `bin/`, a release archive beside its manifests, and
//! the marketplace's tree in one folder for each target below `bin/`, with a script in front that
//! picks one (`packaging/dispatch`). `own_speak` of the hooks, which do not use this crate, checks
//! the same layouts.

use std::fs;
use std::path::{Path, PathBuf};

/// Returns the folder that Claude Code can load as a plugin, if it contains this executable.
pub fn own_plugin() -> Option<PathBuf> {
    plugin_around(&std::env::current_exe().ok()?)
}

/// Returns the folder of a session's plugin for the session's next start. Claude Code unpacks a
/// .zip for one run and removes that folder (seen with 2.1.197). Then it returns the plugin that
/// contains this executable, if there is one.
pub fn to_load_again(root: &str) -> String {
    let is_gone = !Path::new(root).is_dir();
    let own =
        is_gone.then(own_plugin).flatten().and_then(|own| own.into_os_string().into_string().ok());
    own.unwrap_or_else(|| root.to_owned())
}

fn plugin_around(program: &Path) -> Option<PathBuf> {
    let folder = program.parent()?;
    let is_bin = |folder: &&Path| folder.file_name().is_some_and(|name| name == "bin");
    let bin = [Some(folder), folder.parent()].into_iter().flatten().find(is_bin);
    let roots = [Some(folder), bin.and_then(Path::parent)];
    let mut roots = roots.into_iter().flatten();
    roots.find(|root| root.join(".claude-plugin/plugin.json").is_file()).map(Path::to_owned)
}

/// Returns the executable behind the hooks of the plugin in `root`, or `None` if it has none for
/// this machine.
pub fn executable_in(root: &Path, name: &str) -> Option<PathBuf> {
    let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    let bin = root.join("bin");
    let candidates = match cfg!(unix) && has_folders(&bin) {
        true => vec![bin.join(packaged_target()).join(file)],
        false => vec![bin.join(&file), root.join(&file)],
    };
    candidates.into_iter().find(|candidate| candidate.is_file())
}

fn has_folders(folder: &Path) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).any(|path| path.is_dir())
}

/// Returns the target by which `packaging/dispatch` finds the executable of this machine: on Linux
/// the static one.
fn packaged_target() -> String {
    let system = if cfg!(target_os = "macos") { "apple-darwin" } else { "unknown-linux-musl" };
    format!("{}-{system}", std::env::consts::ARCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let name = format!("turnbridge-layout-{name}-{}", std::process::id());
            Folder(std::env::temp_dir().join(name))
        }

        fn with(self, file: &str) -> Folder {
            let path = self.0.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
            self
        }

        fn plugin_around(&self, program: &str) -> Option<String> {
            let found = plugin_around(&self.0.join(program))?;
            Some(found.strip_prefix(&self.0).unwrap().to_str().unwrap().to_owned())
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn executable(name: &str) -> String {
        format!("{name}{}", std::env::consts::EXE_SUFFIX)
    }

    #[test]
    fn the_plugin_around_an_executable_is_found_in_all_three_layouts() {
        let folder = Folder::new("around").with("p/.claude-plugin/plugin.json");
        for program in ["p/turnbridge", "p/bin/turnbridge", "p/bin/x86_64-apple-darwin/turnbridge"]
        {
            assert_eq!(folder.plugin_around(program).as_deref(), Some("p"), "{program}");
        }
        for program in ["turnbridge", "p/a/turnbridge", "p/a/b/turnbridge", "p/bin/a/b/turnbridge"]
        {
            assert_eq!(folder.plugin_around(program), None, "{program}");
        }
    }

    #[test]
    fn the_executable_of_a_plugin_is_found_in_all_three_layouts() {
        let file = executable("turnbridge-status");
        let packaged = format!("bin/{}/{file}", packaged_target());
        for (name, place) in [("checkout", format!("bin/{file}")), ("archive", file.clone())] {
            let folder = Folder::new(name).with(&place);
            let found = executable_in(&folder.0, "turnbridge-status");
            assert_eq!(found, Some(folder.0.join(place)), "{name}");
        }
        if cfg!(unix) {
            let folder = Folder::new("tree").with("bin/turnbridge-status").with(&packaged);
            let found = executable_in(&folder.0, "turnbridge-status");
            assert_eq!(found, Some(folder.0.join(packaged)));
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_dispatcher_without_an_executable_for_this_machine_is_none() {
        let folder = Folder::new("foreign")
            .with("bin/turnbridge-status")
            .with("bin/riscv64-unknown-linux-musl/turnbridge-status");
        assert_eq!(executable_in(&folder.0, "turnbridge-status"), None);
    }
}
