//! Removes the service and the files that exist because of it, and disables it in the config.

use std::fs;
use std::io;

use anyhow::{Context, Result};

use super::{Manager, ServiceBackend, read_definition, with_hint};
use crate::config_file;
use crate::failure::Remark;

/// Removes the service. Returns whether there was anything to remove.
pub fn uninstall(remark: Remark) -> Result<bool> {
    // A service that was installed under a manager is removed also if the manager is gone.
    let Some(manager) = Manager::of_this_platform() else { return Ok(false) };
    let service = manager.service()?;
    let was_registered = service.query().is_ok_and(|seen| seen.is_registered || seen.is_running);
    let was_there = was_registered || read_definition(service.definition())?.is_some();
    if was_there {
        let hint = "nothing was removed; run this again when the reason is gone";
        let_go(manager, &*service).map_err(|error| with_hint(error, hint))?;
        remove(&*service)?;
        service.forget();
    }
    switch_off(remark)?;
    Ok(was_there)
}

/// Removes the service from its manager. It counts as removed if the manager reports so, whatever
/// errors came before.
fn let_go(manager: Manager, service: &dyn ServiceBackend) -> Result<()> {
    let Err(error) = service.let_go() else { return Ok(()) };
    match service.query() {
        Ok(seen) if !seen.is_registered && !seen.is_running => Ok(()),
        // No manager can run it any more.
        Err(_) if Manager::of_this_system() != Some(manager) => Ok(()),
        _ => Err(error),
    }
}

/// Removes the definition and the files that exist because of it.
pub(super) fn remove(service: &dyn ServiceBackend) -> Result<()> {
    let path = service.definition();
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(error).with_context(|| format!("could not remove `{}`", path.display()));
        }
        _ => {}
    }
    for path in service.leavings() {
        // The path may be missing, and a folder may contain other files.
        let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir(&path));
    }
    Ok(())
}

/// Disables the service in the config, if it is enabled there. The rest of the config is not
/// checked, because this value may be the reason why it is invalid.
fn switch_off(remark: Remark) -> Result<()> {
    let text = fs::read_to_string(config_file::path()?).unwrap_or_default();
    let is_on = |document: &toml_edit::DocumentMut| {
        let features = document.get("features")?;
        let value = |key: &str| features.get(key)?.as_bool();
        value("service_enabled").or_else(|| value("launchd_enabled"))
    };
    match text.parse() {
        Ok(document) if is_on(&document) == Some(true) => {
            config_file::set("features", "service_enabled", Some(false.into())).map(drop)
        }
        Ok(_) => Ok(()),
        Err(_) => {
            remark("`config.toml` cannot be read, so `features.service_enabled` was left as it is");
            Ok(())
        }
    }
}
