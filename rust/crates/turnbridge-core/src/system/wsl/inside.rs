//! Detects from texts of the system whether a process runs inside WSL, whether Windows programs can
//! run there, and where the Windows drives are.

/// The texts and variables by which a process detects WSL.
#[derive(Debug, Clone, Copy, Default)]
pub struct Traces<'a> {
    /// `/proc/sys/kernel/osrelease`
    pub osrelease: &'a str,
    /// `WSL_INTEROP`, which `sudo` drops.
    pub interop: Option<&'a str>,
    /// `WSL_DISTRO_NAME`
    pub distribution: Option<&'a str>,
    /// A container has the kernel of WSL and perhaps the variables too, but another file system.
    pub is_in_a_container: bool,
}

pub fn is_wsl(traces: &Traces<'_>) -> bool {
    let kernel = traces.osrelease.to_ascii_lowercase();
    let has_its_kernel = kernel.contains("microsoft") || kernel.contains("wsl");
    let is_told = [traces.interop, traces.distribution].iter().flatten().any(|it| !it.is_empty());
    !traces.is_in_a_container && (has_its_kernel || is_told)
}

/// Returns whether Windows programs can run here, by the text of
/// `/proc/sys/fs/binfmt_misc/WSLInterop`.
pub fn can_run_windows_programs(binfmt: &str) -> bool {
    binfmt.lines().next().is_some_and(|line| line.trim() == "enabled")
}

/// Returns the folder of the Windows drives, ending in `/`, from `/etc/wsl.conf`.
pub fn automount_root(wsl_conf: &str) -> String {
    let mut section = "";
    let mut root = "/mnt/".to_owned();
    for line in wsl_conf.lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = name.trim();
        } else if let Some((key, value)) = line.split_once('=') {
            let value = value.trim().trim_matches('"');
            let is_root = section.eq_ignore_ascii_case("automount")
                && key.trim().eq_ignore_ascii_case("root")
                && value.starts_with('/');
            if is_root {
                root = format!("{}/", value.trim_end_matches('/'));
            }
        }
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wsl_is_known_by_its_kernel_or_its_variables_but_not_in_a_container() {
        let with = |osrelease| Traces { osrelease, ..Traces::default() };
        assert!(is_wsl(&with("5.15.167.4-microsoft-standard-WSL2\n")));
        assert!(is_wsl(&with("4.4.0-19041-Microsoft")));
        assert!(is_wsl(&with("6.6.0-mykernel-wsl")));
        assert!(!is_wsl(&with("6.1.0-28-amd64")));
        assert!(!is_wsl(&with("")));
        let told = Traces { interop: Some("/run/WSL/8_interop"), ..with("6.9.0-custom") };
        assert!(is_wsl(&told));
        assert!(is_wsl(&Traces { distribution: Some("Ubuntu"), ..with("6.9.0-custom") }));
        assert!(!is_wsl(&Traces { distribution: Some(""), ..with("6.9.0-custom") }));
        let container =
            Traces { is_in_a_container: true, ..with("5.15.1-microsoft-standard-WSL2") };
        assert!(!is_wsl(&container));
    }

    #[test]
    fn windows_programs_run_where_the_kernel_says_so() {
        assert!(can_run_windows_programs("enabled\ninterpreter /init\nflags: PF\n"));
        assert!(!can_run_windows_programs("disabled\n"));
        assert!(!can_run_windows_programs(""));
    }

    #[test]
    fn the_drives_are_where_wsl_conf_says() {
        assert_eq!(automount_root(""), "/mnt/");
        assert_eq!(automount_root("[automount]\nroot = /windir/ # mine\n"), "/windir/");
        assert_eq!(automount_root("[Automount]\r\nenabled=true\r\nroot=\"/\"\r\n"), "/");
        assert_eq!(automount_root("[network]\nroot = /x\n[automount]\nroot = x\n"), "/mnt/");
    }
}
