//! Stores Slack's answers about the direct message with the user (`slack-place.json`), so that
//! neither an ack nor a notice waits for a call. They are valid for one bot token and one user; for
//! others they count as absent.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::io;

use turnbridge_core::slack::place_wire::SlackPlace;

use crate::files::atomic_file::write_atomically;
use crate::paths::StatePaths;

/// Returns the name of the account to which a place belongs. The token cannot be derived from it.
pub fn account(bot_token: &str, user_id: &str, api_url: Option<&str>) -> String {
    let mut hasher = DefaultHasher::new();
    (bot_token, user_id, api_url).hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// Returns the place, or `None` if there is none, or if it is another account's.
pub fn read(paths: &StatePaths, account: &str) -> Option<SlackPlace> {
    let place: SlackPlace = serde_json::from_slice(&fs::read(paths.slack_place()).ok()?).ok()?;
    (place.account == account && place.is_valid()).then_some(place)
}

pub fn write(paths: &StatePaths, place: &SlackPlace) -> io::Result<()> {
    write_atomically(&paths.slack_place(), &serde_json::to_vec(place)?)
}

/// Removes the place, because Slack does not know it any more.
pub fn forget(paths: &StatePaths) {
    let _ = fs::remove_file(paths.slack_place());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_for_one_token_and_one_user() {
        let folder = tempfile::tempdir().unwrap();
        let paths = StatePaths::below(folder.path());
        let own = account("xoxb-1", "U1", None);
        let place = SlackPlace {
            version: 1,
            account: own.clone(),
            channel: "D1".into(),
            team_id: None,
            enterprise_id: None,
        };
        write(&paths, &place).unwrap();
        assert_eq!(read(&paths, &own), Some(place.clone()));
        for (token, user) in [("xoxb-2", "U1"), ("xoxb-1", "U2")] {
            assert_eq!(read(&paths, &account(token, user, None)), None);
        }
        assert!(!fs::read_to_string(paths.slack_place()).unwrap().contains("xoxb"));
        write(&paths, &SlackPlace { channel: "C1".into(), ..place }).unwrap();
        assert_eq!(read(&paths, &own), None, "no direct message");
        forget(&paths);
        assert_eq!(read(&paths, &own), None);
    }
}
