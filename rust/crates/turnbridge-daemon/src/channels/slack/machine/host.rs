//! Returns the host's name, from the operating system.

#[cfg(unix)]
pub fn name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(windows)]
pub fn name() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_default()
}
