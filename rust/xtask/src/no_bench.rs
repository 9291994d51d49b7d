//! Replaces the bench on systems other than Unix: every command fails with a message.

use anyhow::{Result, bail};

pub fn hooks(_options: &[&str]) -> Result<String> {
    bail!("the bench compares with `/bin/true` over a socket pair and runs on Unix only")
}

pub fn slack(options: &[&str]) -> Result<String> {
    hooks(options)
}

pub fn codex(options: &[&str]) -> Result<String> {
    hooks(options)
}

pub fn daemon(options: &[&str]) -> Result<String> {
    hooks(options)
}

pub fn board(options: &[&str]) -> Result<String> {
    hooks(options)
}

pub fn dispatcher(options: &[&str]) -> Result<String> {
    hooks(options)
}
