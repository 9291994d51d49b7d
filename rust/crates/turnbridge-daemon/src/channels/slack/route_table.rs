//! Caches the routes, which are used every few seconds. It reads their file again only if the file
//! has changed.

use std::fs;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use turnbridge_core::notices::route::Route;
use turnbridge_store::paths::StatePaths;
use turnbridge_store::state::routes;

#[derive(Default)]
pub struct RouteTable {
    read: Mutex<Option<(RouteFileStamp, Arc<Vec<Route>>)>>,
}

/// The length and time of the file. Lines are appended, so that each changes the length.
type RouteFileStamp = (u64, Option<SystemTime>);

impl RouteTable {
    pub fn get(&self, paths: &StatePaths) -> io::Result<Arc<Vec<Route>>> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let stamp = match fs::metadata(paths.routes_file()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => (0, None),
            metadata => metadata.map(|metadata| (metadata.len(), metadata.modified().ok()))?,
        };
        if let Some((known, routes)) = read.as_ref()
            && *known == stamp
        {
            return Ok(Arc::clone(routes));
        }
        let routes = Arc::new(routes::read(paths)?);
        *read = Some((stamp, Arc::clone(&routes)));
        Ok(routes)
    }
}
