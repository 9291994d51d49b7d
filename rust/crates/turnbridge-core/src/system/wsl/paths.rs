//! Builds and compares the paths by which Windows reaches the files of a distribution.

use std::path::{Path, PathBuf};

use super::{DistributionName, NEVER_IN_NAMES};

/// Returns both network paths of a distribution's `/`, the newer first; Windows before 11 knows
/// only the older one (KT-19).
pub fn unc_roots(name: &DistributionName) -> [String; 2] {
    ["wsl.localhost", "wsl$"].map(|server| format!(r"\\{server}\{name}"))
}

/// Returns an absolute path of Linux below the folder that is its `/`. Returns `None` if Windows
/// cannot name it, or it could leave that folder.
pub fn below(root: &Path, linux: &str) -> Option<PathBuf> {
    let mut path = root.to_owned();
    for name in linux.strip_prefix('/')?.split('/').filter(|name| !["", "."].contains(name)) {
        let is_named = |c: char| !c.is_control() && !NEVER_IN_NAMES.contains(&c);
        if name == ".." || name.ends_with(['.', ' ']) || !name.chars().all(is_named) {
            return None;
        }
        path.push(name);
    }
    Some(path)
}

/// Returns whether two paths name the same file: WSL's server has an older and a newer name, and
/// Windows ignores the case of the server's and the distribution's names, and the kind of slash.
pub fn is_same_place(a: &str, b: &str) -> bool {
    a == b || of_distribution(a).is_some_and(|a| of_distribution(b) == Some(a))
}

/// Returns the name of the distribution, and the rest of the path.
fn of_distribution(path: &str) -> Option<(String, String)> {
    let path = path.replace('/', "\\");
    let (server, rest) = path.strip_prefix(r"\\")?.split_once('\\')?;
    if !["wsl.localhost", "wsl$"].iter().any(|name| server.eq_ignore_ascii_case(name)) {
        return None;
    }
    let (distribution, rest) = rest.split_once('\\').unwrap_or((rest, ""));
    Some((distribution.to_lowercase(), rest.trim_end_matches('\\').to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kt_19_a_distribution_lies_behind_a_network_path() {
        let name = DistributionName::parse("Ubuntu-24.04").unwrap();
        insta::assert_snapshot!(unc_roots(&name).join("\n"), @r"
        \\wsl.localhost\Ubuntu-24.04
        \\wsl$\Ubuntu-24.04
        ");
    }

    #[test]
    fn nothing_leads_out_of_a_distribution() {
        let root = Path::new("root");
        let expected = root.join("home").join("kim").join(".claude");
        assert_eq!(below(root, "/home/kim/.claude"), Some(expected.clone()));
        assert_eq!(below(root, "//home/./kim/.claude/"), Some(expected));
        assert_eq!(below(root, "/"), Some(root.to_owned()));
        for path in ["", "home", "/a/../../b", "/C:/x", "/a\\b", "/a\nb", "/a:b", "/a./b", "/a /b"]
        {
            assert_eq!(below(root, path), None, "{path:?}");
        }
    }

    #[test]
    fn both_names_of_the_server_are_one_place() {
        let home = r"\\wsl.localhost\Ubuntu\home\kim\.codex";
        assert!(is_same_place(home, r"\\wsl$\ubuntu\home\kim\.codex\"));
        assert!(is_same_place(home, "//WSL.localhost/Ubuntu/home/kim/.codex"));
        assert!(is_same_place("/x", "/x"));
        for other in [
            r"\\wsl$\Ubuntu\home\Kim\.codex",
            r"\\wsl$\Debian\home\kim\.codex",
            r"\\x\Ubuntu\home\kim\.codex",
        ] {
            assert!(!is_same_place(home, other), "{other}");
        }
    }
}
