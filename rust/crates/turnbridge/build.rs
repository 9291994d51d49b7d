//! Links the two hook executables statically on Linux with glibc, and no others. A dynamic start
//! alone costs a hook a third more, while `turnbridge` needs the system's name resolution. Cargo
//! has one linkage for all executables of a package (`+crt-static`), so this adds the difference
//! (docs/decisions/0012).

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

const HOOKS: [&str; 2] = ["turnbridge-status", "turnbridge-stop-gate"];

/// The libraries that rustc requests as shared (`-lgcc_s`, `-lc`, `-lm`), and the archives that
/// replace them.
const SHARED: [&str; 3] = ["gcc_s", "c", "m"];
const ARCHIVES: [&str; 4] = ["libgcc_eh.a", "libgcc.a", "libm.a", "libc.a"];

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=CC");
    if !is_wanted() {
        return Ok(());
    }
    let archives: Vec<PathBuf> = ARCHIVES.iter().filter_map(|name| find(name)).collect();
    if archives.len() != ARCHIVES.len() {
        println!(
            "cargo:warning=the hooks are linked dynamically: glibc's static archives are not installed"
        );
        return Ok(());
    }
    let folder = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    redirect(&folder, &archives)?;
    for hook in HOOKS {
        for argument in ["-static", "-no-pie", "-Wl,--no-eh-frame-hdr"] {
            println!("cargo:rustc-link-arg-bin={hook}={argument}");
        }
        println!("cargo:rustc-link-arg-bin={hook}=-L{}", folder.display());
    }
    Ok(())
}

/// Returns whether to link statically: in a release build for this machine's own target, because
/// archives of another target cannot be found.
fn is_wanted() -> bool {
    let variable = |name: &str| env::var(name).unwrap_or_default();
    variable("PROFILE") == "release"
        && variable("CARGO_CFG_TARGET_OS") == "linux"
        && variable("CARGO_CFG_TARGET_ENV") == "gnu"
        && variable("HOST") == variable("TARGET")
        && !variable("CARGO_CFG_TARGET_FEATURE").split(',').any(|feature| feature == "crt-static")
}

/// Finds an archive. The compiler prints the bare name if it has no such file.
fn find(name: &str) -> Option<PathBuf> {
    let compiler = env::var_os("CC").unwrap_or_else(|| "cc".into());
    let output = Command::new(compiler).arg(format!("-print-file-name={name}")).output().ok()?;
    let path = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    path.is_absolute().then_some(path).filter(|path| path.is_file())
}

/// Writes linker scripts under the names of the shared libraries into a folder that is searched
/// before the system's.
fn redirect(folder: &Path, archives: &[PathBuf]) -> io::Result<()> {
    let paths: Vec<String> =
        archives.iter().map(|path| format!("\"{}\"", path.display())).collect();
    for name in SHARED {
        fs::write(folder.join(format!("lib{name}.a")), format!("GROUP({})\n", paths.join(" ")))?;
    }
    Ok(())
}
