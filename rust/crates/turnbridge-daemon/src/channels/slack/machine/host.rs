//! The host's name, as the system tells it.

#[cfg(unix)]
pub fn name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(windows)]
pub fn name() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_default()
}
