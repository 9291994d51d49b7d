//! Saves which session a thread in Slack belongs to.

use turnbridge_core::ids::ChannelName;
use turnbridge_core::notices::notice::{Notice, NoticeKind};
use turnbridge_core::notices::route::Route;
use turnbridge_store::clock;
use turnbridge_store::paths::StatePaths;
use turnbridge_store::state::routes;

use super::machine::machine;

/// Saves the route from the thread of a notice to the notice's session, unless there is one. A
/// process may be killed after it has saved the route and before it has recorded that.
pub fn keep_route(
    paths: &StatePaths,
    notice: &Notice,
    channel: &str,
    thread_ts: &str,
) -> std::io::Result<()> {
    if notice.kind == NoticeKind::Problem || notice.thread_on(&ChannelName::SLACK).is_some() {
        // It leads to no session, or the thread has its route.
        return Ok(());
    }
    if routes::read(paths)?.iter().any(|route| route.is_of(channel, thread_ts)) {
        return Ok(());
    }
    let route = Route {
        turn_id: notice.turn_id.clone(),
        cwd: notice.cwd.clone(),
        machine: machine(paths).ok().map(|machine| machine.id),
        ..Route::new(channel, thread_ts, notice.session.clone(), clock::now())
    };
    routes::append(paths, &route)
}
