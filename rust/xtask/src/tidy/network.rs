//! Checks that the crates of the hooks, and the crate for the machine (`turnbridge-system`), open
//! no network connection. Their manifests name no crate that could, and their code names neither
//! such a crate nor the standard library's sockets.

use std::path::Path;

use anyhow::Result;

use super::{at, rust_files, shipped_lines};
use crate::metadata::CargoWorkspace;

const WITHOUT_NETWORK: [&str; 4] =
    ["turnbridge-core", "turnbridge-store", "turnbridge-hooks", "turnbridge-system"];

const NETWORK_CRATES: [&str; 4] = ["rustls", "ureq", "tungstenite", "turnbridge-slack"];

/// Words in code that show use of the network. `slack_connection` is the part of the config by
/// which a connection to Slack is made.
const NETWORK_WORDS: [&str; 10] = [
    "std::net",
    "rustix::net",
    "WinSock",
    "TcpStream",
    "TcpListener",
    "UdpSocket",
    "slack_connection",
    "turnbridge_slack",
    "tungstenite",
    "ureq",
];

/// A local socket of another program on this machine, which is a file.
const LOCAL_SOCKET: &str = "rust/crates/turnbridge-store/src/sinks/socket.rs";

pub fn problems(repository: &Path, workspace: &CargoWorkspace) -> Result<Vec<String>> {
    let mut problems = manifest_problems(workspace);
    for package in WITHOUT_NETWORK {
        for path in rust_files(&repository.join("rust/crates").join(package).join("src"))? {
            if path != repository.join(LOCAL_SOCKET) {
                let lines = shipped_lines(&path)?;
                let found = words_in(&lines).into_iter();
                problems.extend(found.map(|(number, problem)| at(&path, number, &problem)));
            }
        }
    }
    Ok(problems)
}

fn manifest_problems(workspace: &CargoWorkspace) -> Vec<String> {
    let named = |package: &str, forbidden: &str| {
        workspace.names.get(package).is_some_and(|names| names.contains(forbidden))
    };
    let pairs = WITHOUT_NETWORK
        .into_iter()
        .flat_map(|package| NETWORK_CRATES.map(|forbidden| (package, forbidden)));
    pairs
        .filter(|(package, forbidden)| named(package, forbidden))
        .map(|(package, forbidden)| format!("`{package}` names `{forbidden}`: it has no network"))
        .collect()
}

fn words_in(lines: &[(usize, String)]) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in lines {
        let code = line.split("//").next().unwrap_or_default();
        for word in NETWORK_WORDS.iter().filter(|word| code.contains(**word)) {
            found.push((*number, format!("`{word}` in a crate that opens no network connection")));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_crate_and_a_socket_of_the_network_are_named() {
        let names = [("turnbridge-system", "ureq"), ("turnbridge-daemon", "ureq")];
        let names = names.map(|(package, name)| (package.to_owned(), [name.to_owned()].into()));
        let workspace = CargoWorkspace {
            address: String::new(),
            links: BTreeMap::new(),
            names: names.into_iter().collect(),
        };
        assert_eq!(
            manifest_problems(&workspace),
            ["`turnbridge-system` names `ureq`: it has no network"]
        );
        let lines = ["use std::net::TcpStream;", "let a = 1; // std::net", "use std::fs;"];
        let lines: Vec<_> = (1..).zip(lines.map(str::to_owned)).collect();
        let numbers: Vec<_> = words_in(&lines).iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, [1, 1]);
    }
}
