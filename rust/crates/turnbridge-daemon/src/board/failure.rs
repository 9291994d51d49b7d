//! An error as the page shows it: what failed, and what can be done about it.

use serde_json::{Value, json};
use turnbridge_system::failure::Hinted;

pub fn failure_json(error: &anyhow::Error) -> Value {
    let hint = error.downcast_ref::<Hinted>().map(|hinted| hinted.hint.as_str());
    json!({ "ok": false, "error": format!("{error:#}"), "hint": hint })
}
