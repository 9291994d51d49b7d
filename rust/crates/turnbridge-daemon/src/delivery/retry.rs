//! Makes waiting and held notices due immediately, and delivers them.

use turnbridge_store::paths::StatePaths;
use turnbridge_store::state::outbox;

use super::DrainResult;
use super::notifier::deliver;
use crate::channels::obstacle::DeliveryObstacle;

/// Retries every notice in the outbox, and returns the result.
pub fn retry_all(paths: &StatePaths) -> Result<DrainResult, DeliveryObstacle> {
    let ids = outbox::ids(paths).map_err(|error| unreadable(&error))?;
    if ids.is_empty() {
        return Ok(DrainResult::default());
    }
    retry(paths, &ids)
}

/// Makes these notices due immediately, and delivers.
pub fn retry(paths: &StatePaths, ids: &[String]) -> Result<DrainResult, DeliveryObstacle> {
    for id in ids {
        outbox::retry_now(paths, id).map_err(|error| unreadable(&error))?;
    }
    deliver(paths)
}

fn unreadable(error: &std::io::Error) -> DeliveryObstacle {
    DeliveryObstacle::new(format!("the outbox: {error}"), "look at the state folder's permissions")
}
