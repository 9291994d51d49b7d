//! Lists the distributions of WSL on this Windows, and runs programs in them. All calls use
//! `wsl.exe`, which tests replace.

use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::Result;
use turnbridge_core::system::wsl::{DistributionName, decode_output, distributions_in, unc_roots};
use turnbridge_store::test_switch::{self, TestSwitch};

use super::{Side, root_for_tests, side};
use crate::failure::{Remark, hinted};
use crate::programs::{self, ProgramAnswer};

/// The timeout. The first start of WSL after the machine's start is slow.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The number of lines beyond which a text is the help of `wsl.exe`.
const LONGEST_REASON: usize = 5;

#[derive(Debug, Clone)]
pub struct Distributions {
    program: PathBuf,
    timeout: Duration,
    pub(super) remark: Remark,
}

impl Distributions {
    /// Finds `wsl.exe`. Returns an error on any system but Windows, or if it is missing.
    pub fn find(remark: Remark) -> Result<Distributions> {
        if !matches!(side(), Side::Windows) {
            let hint = "inside a distribution, run the command without `--wsl` for that one";
            return Err(hinted("distributions of WSL are reached from Windows only", hint));
        }
        let program = find_program().ok_or_else(|| {
            hinted("there is no `wsl.exe` on this machine", "`wsl --install` in Windows adds WSL")
        })?;
        let timeout = test_switch::parsed(TestSwitch::WslTimeout).map(Duration::from_millis);
        Ok(Distributions { program, timeout: timeout.unwrap_or(TIMEOUT), remark })
    }

    /// Returns all installed distributions, the default one first. Starts none.
    pub fn installed(&self) -> Result<Vec<DistributionName>> {
        let answer = self.run(&["-l", "-q"])?;
        let (names, others) = distributions_in(&answer.stdout);
        if !answer.status.success() || names.is_empty() {
            let reason = reason_in(&answer);
            let hint = "`wsl --install` adds a distribution, `wsl --status` says more";
            return Err(hinted(format!("`wsl.exe` lists no distribution{reason}"), hint));
        }
        for other in others {
            (self.remark)(&format!("{other:?} is no name of a distribution; it is left out"));
        }
        Ok(names)
    }

    /// Returns the running distributions. Starts none.
    pub fn running(&self) -> Result<Vec<DistributionName>> {
        let answer = self.run(&["-l", "-q", "--running"])?;
        // If none runs, `wsl.exe` fails too, with a sentence in the user's language.
        Ok(if answer.status.success() { distributions_in(&answer.stdout).0 } else { Vec::new() })
    }

    /// Returns the installed distribution of that name, in whatever case.
    pub fn named(&self, name: &str) -> Result<DistributionName> {
        let wanted = DistributionName::parse(name).ok_or_else(|| {
            hinted(format!("{name:?} is no name of a distribution"), "`wsl.exe -l -q` lists them")
        })?;
        let installed = self.installed()?;
        let found = installed.iter().find(|installed| installed.is_called(wanted.as_str()));
        let Some(found) = found else {
            let names: Vec<_> = installed.iter().map(|name| format!("`{name}`")).collect();
            let hint = format!("there are {}", names.join(", "));
            return Err(hinted(format!("there is no distribution `{wanted}`"), hint));
        };
        if found.is_internal() {
            let hint = "name the distribution that you work in; `turnbridge wsl` lists them";
            return Err(hinted(format!("`{found}` belongs to a program for containers"), hint));
        }
        Ok(found.clone())
    }

    /// Returns the distributions of these names, or without names all that run. A stopped one is
    /// only started if the user has named it.
    pub fn chosen(&self, names: &[String]) -> Result<Vec<DistributionName>> {
        if !names.is_empty() {
            return names.iter().map(|name| self.named(name)).collect();
        }
        let running = self.running()?;
        let (chosen, stopped): (Vec<_>, Vec<_>) = self
            .installed()?
            .into_iter()
            .filter(|name| !name.is_internal())
            .partition(|name| running.contains(name));
        for name in stopped {
            (self.remark)(&format!(
                "`{name}` is stopped and was not asked; name it to have it started"
            ));
        }
        Ok(chosen)
    }

    /// Runs a program inside, without a shell, so the PATH is not that of a login. Starts the
    /// distribution if it does not run.
    pub fn ask(&self, name: &DistributionName, argv: &[&str]) -> Result<ProgramAnswer> {
        let mut arguments = vec!["-d", name.as_str(), "--exec"];
        arguments.extend(argv);
        self.run(&arguments)
    }

    /// Returns the folder that is `/` of a distribution. Access to it starts the distribution.
    pub fn root(&self, name: &DistributionName) -> Result<PathBuf> {
        let roots = match root_for_tests() {
            Some(folder) => vec![folder.join(name.as_str())],
            None => unc_roots(name).map(PathBuf::from).to_vec(),
        };
        roots.into_iter().find(|root| root.is_dir()).ok_or_else(|| {
            let [newer, older] = unc_roots(name);
            let hint = format!("open `{newer}` or `{older}` in the Explorer to see why");
            hinted(format!("the files of `{name}` cannot be reached"), hint)
        })
    }

    fn run(&self, arguments: &[&str]) -> Result<ProgramAnswer> {
        programs::ask(Command::new(&self.program).args(arguments), self.timeout).map_err(|error| {
            if error.kind() != io::ErrorKind::TimedOut {
                let what = format!("could not run `{}`", self.program.display());
                return anyhow::Error::from(error).context(what);
            }
            let error = format!("`wsl.exe` did not answer within {:?}", self.timeout);
            hinted(error, "`wsl --shutdown` ends a WSL that hangs, with all that runs in it")
        })
    }
}

fn find_program() -> Option<PathBuf> {
    let name = if cfg!(windows) { "wsl" } else { "wsl.exe" };
    let in_windows = || {
        let folder = PathBuf::from(std::env::var_os("SystemRoot")?).join("System32");
        programs::find("wsl.exe", Some(&folder.join("wsl.exe")))
    };
    programs::find(name, None).or_else(in_windows)
}

/// Returns the reason that `wsl.exe` prints for its failure, to be appended to an error.
pub(super) fn reason_in(answer: &ProgramAnswer) -> String {
    let said = [&answer.stdout, &answer.stderr].map(|stream| decode_output(stream)).concat();
    let lines: Vec<&str> =
        said.split(['\r', '\n']).map(str::trim).filter(|line| !line.is_empty()).collect();
    match lines.len() {
        1..=LONGEST_REASON => format!(": {}", lines.join(" ")),
        _ => String::new(),
    }
}
