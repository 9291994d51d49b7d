//! Defines the format of `machine.json`: the id and the name of this machine among all that use the
//! same Slack app. The metadata of every message posted from here contains the id, so that another
//! machine can identify the thread's machine.

use serde::{Deserialize, Serialize};

/// This machine among all that use the same app.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    pub version: u32,
    /// 128 random bits in hexadecimal, made once.
    pub id: String,
    /// The host's name, for display.
    pub name: String,
}

/// The limit of a name; longer host names are cut.
const NAME: usize = 64;

impl Machine {
    /// Returns the machine with the first label of the host's name. Returns `None` if the id is
    /// invalid.
    pub fn new(id: String, host: &str) -> Option<Machine> {
        is_machine_id(&id).then(|| Machine { version: 1, id, name: clean_name(host) })
    }

    pub fn is_valid(&self) -> bool {
        is_machine_id(&self.id) && self.name == clean_name(&self.name)
    }
}

pub fn is_machine_id(id: &str) -> bool {
    id.len() == 32 && id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Returns the first label of a host name with letters, digits, `-` and `_` only, so that a
/// terminal or a page cannot interpret it. Also used for names from Slack.
pub fn clean_name(host: &str) -> String {
    let label = host.trim().split('.').next().unwrap_or_default();
    let is_plain = |letter: &char| letter.is_alphanumeric() || matches!(letter, '-' | '_');
    let name: String = label.chars().filter(is_plain).take(NAME).collect();
    if name.is_empty() { "machine".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_the_first_label_and_nothing_that_could_be_mistaken() {
        for (host, name) in [
            ("laptop", "laptop"),
            ("laptop.local\n", "laptop"),
            ("my-box_2.example.com", "my-box_2"),
            ("机の上", "机の上"),
            ("a\u{1b}[31mb\u{202e}<b>", "a31mbb"),
            ("", "machine"),
            ("...", "machine"),
        ] {
            assert_eq!(clean_name(host), name, "{host:?}");
        }
        assert_eq!(clean_name(&"x".repeat(300)).len(), NAME);
    }

    #[test]
    fn an_id_is_32_hexadecimal_digits() {
        assert!(Machine::new("0123456789abcdef0123456789abcdef".into(), "x").unwrap().is_valid());
        for id in
            ["", "0123", "0123456789ABCDEF0123456789abcdef", "../456789abcdef0123456789abcdef"]
        {
            assert_eq!(Machine::new(id.into(), "x"), None, "{id}");
        }
    }
}
