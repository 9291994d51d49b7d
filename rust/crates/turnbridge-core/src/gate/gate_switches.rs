//! Reads a switch of the Stop gate from the text that contains it: `config.toml`, `~/.cvi/config`,
//! or a variable's value. The caller combines the switches.

use crate::scan::byte_order_mark::{has_second_mark, split_mark};
use crate::scan::json_scan::{CaptureMode, FoundValue, JsonScanner, PathStep, WantedField};
use crate::scan::toml_scan;

/// The value of a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switch {
    On,
    Off,
    /// Not set.
    Absent,
    /// A file exists whose purpose is to set the switch, and it does not set it (X43).
    Missing,
    /// The value is neither on nor off, or the whole text cannot be read.
    Invalid,
}

impl Switch {
    pub const fn as_str(self) -> &'static str {
        match self {
            Switch::On => "on",
            Switch::Off => "off",
            Switch::Absent => "not set",
            Switch::Missing => "missing",
            Switch::Invalid => "not valid",
        }
    }

    /// Returns whether the switch turns the gate off. An unreadable one does, so that it holds no
    /// turn (CVI-16).
    pub const fn closes_gate(self) -> bool {
        matches!(self, Switch::Off | Switch::Missing | Switch::Invalid)
    }

    /// Parses a switch as people write it: `on`, `TRUE`, ` 1 `.
    pub fn parse(text: &str) -> Switch {
        let text = text.trim().to_ascii_lowercase();
        match text.as_str() {
            "on" | "true" | "1" | "yes" => Switch::On,
            "off" | "false" | "0" | "no" => Switch::Off,
            _ => Switch::Invalid,
        }
    }
}

/// Returns the switch `[gate] KEY` in the text of `config.toml`.
pub fn config_switch(config: &[u8], key: &str) -> Switch {
    let Ok(text) = std::str::from_utf8(config) else { return Switch::Invalid };
    match toml_scan::find(text, &["gate", key]) {
        Ok(None) => Switch::Absent,
        Ok(Some(toml_scan::TomlValue::Bare("true"))) => Switch::On,
        Ok(Some(toml_scan::TomlValue::Bare("false"))) => Switch::Off,
        Ok(Some(_)) | Err(_) => Switch::Invalid,
    }
}

const CVI_ENABLED: &str = "cvi_enabled";
const CVI_FIELDS: &[WantedField] =
    &[WantedField { path: &[PathStep::Key(CVI_ENABLED)], keep: CaptureMode::Scalar(64) }];

/// Returns the switch `CVI_ENABLED` in the text of `~/.cvi/config`: lines of KEY=VALUE, or JSON, in
/// any case (X17). As with `jq -e '.CVI_ENABLED'`, a file without a value for it does not leave the
/// gate on (X43).
pub fn cvi_switch(config: &[u8]) -> Switch {
    let text = String::from_utf8_lossy(config).to_ascii_lowercase();
    if has_second_mark(&text) {
        return Switch::Invalid;
    }
    let text = split_mark(&text).1.trim();
    if text.starts_with('{') { switch_in_json(text) } else { switch_in_lines(text) }
}

fn switch_in_json(text: &str) -> Switch {
    let mut scanner = JsonScanner::new(CVI_FIELDS);
    let Ok(captures) = scanner.feed(text.as_bytes()).and_then(|()| scanner.finish()) else {
        return Switch::Invalid;
    };
    match captures.last().map(|capture| &capture.found) {
        None | Some(FoundValue::Null) => Switch::Missing,
        Some(FoundValue::Bool(true)) => Switch::On,
        Some(FoundValue::Bool(false)) => Switch::Off,
        Some(FoundValue::Text { text, .. }) => cvi_value(text),
        Some(FoundValue::Number(_) | FoundValue::Container | FoundValue::Fingerprint(_)) => {
            Switch::Invalid
        }
    }
}

fn cvi_value(text: &str) -> Switch {
    match text.trim() {
        "on" | "true" => Switch::On,
        "off" | "false" => Switch::Off,
        _ => Switch::Invalid,
    }
}

/// Reads the lines as a shell that sources the file: the last one counts.
fn switch_in_lines(text: &str) -> Switch {
    let mut switch = Switch::Missing;
    for line in text.lines() {
        let Some((name, value)) = line.split_once('=') else { continue };
        let name = name.trim();
        if name.strip_prefix("export ").unwrap_or(name).trim() == CVI_ENABLED {
            let value = value.split(" #").next().unwrap_or_default();
            switch = cvi_value(value.trim().trim_matches(['"', '\'']));
        }
    }
    switch
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_is_read_as_people_write_it_and_has_a_word_for_each_case() {
        use Switch::{Absent, Invalid, Missing, Off, On};
        for (texts, expected) in [
            (["on", " TRUE ", "1", "Yes"], On),
            (["off", "False", "0", "NO\n"], Off),
            (["", "o n", "2", "null"], Invalid),
        ] {
            assert_eq!(texts.map(Switch::parse), [expected; 4], "{texts:?}");
        }
        let words = [On, Off, Absent, Missing, Invalid].map(Switch::as_str);
        assert_eq!(words, ["on", "off", "not set", "missing", "not valid"]);
    }

    #[test]
    fn x17_cvi_config_is_read_as_lines_and_as_json_in_any_case() {
        use Switch::{Invalid, Missing, Off, On};
        for (config, expected) in [
            ("CVI_ENABLED=on", On),
            ("CVI_ENABLED=OFF\r\n", Off),
            ("# CVI_ENABLED=off\n cvi_enabled = True \n", On),
            ("CVI_ENABLED=on\nCVI_ENABLED=off\n", Off),
            ("export CVI_ENABLED=\"off\" # quiet", Off),
            ("CVI_ENABLED=", Invalid),
            ("\u{feff}CVI_ENABLED=off", Off),
            ("\u{feff}\u{feff}CVI_ENABLED=off", Invalid),
            ("CVI_ENABLED=perhaps", Invalid),
            ("CVI_ENABLED_TOO=off", Missing),
            (r#"{"CVI_ENABLED": true}"#, On),
            (r#" {"CVI_ENABLED": false} "#, Off),
            (r#"{"cvi_enabled": "Off"}"#, Off),
            (r#"{"x": {"CVI_ENABLED": false}}"#, Missing),
            (r#"{"CVI_ENABLED": []}"#, Invalid),
            (r#"{"CVI_ENABLED": "#, Invalid),
        ] {
            assert_eq!(cvi_switch(config.as_bytes()), expected, "{config}");
        }
        assert_eq!(cvi_switch(b"NAME=\xff\nCVI_ENABLED=off"), Off);
    }

    #[test]
    fn x43_cvi_16_only_on_and_true_in_a_file_that_is_there_leave_the_gate_on() {
        for config in ["CVI_ENABLED=on", "CVI_ENABLED=True", r#"{"CVI_ENABLED": "on"}"#] {
            assert!(!cvi_switch(config.as_bytes()).closes_gate(), "{config}");
        }
        for config in [
            "",
            "\n",
            "{}",
            "null",
            "true",
            "[]",
            "[true]",
            "junk",
            "SPEECH_RATE=200\n",
            "CVI_ENABLED",
            r#"{"SPEECH_RATE": 200}"#,
            r#"{"CVI_ENABLED": null}"#,
        ] {
            assert_eq!(cvi_switch(config.as_bytes()), Switch::Missing, "{config}");
            assert!(cvi_switch(config.as_bytes()).closes_gate(), "{config}");
        }
        for config in ["CVI_ENABLED=1", "CVI_ENABLED=yes", r#"{"CVI_ENABLED": 1}"#] {
            assert_eq!(cvi_switch(config.as_bytes()), Switch::Invalid, "{config}");
        }
    }

    #[test]
    fn our_own_config_has_only_true_and_false() {
        for (config, expected) in [
            ("", Switch::Absent),
            ("[gate]\nenabled = true", Switch::On),
            ("[gate]\nenabled = false", Switch::Off),
            ("[gate]\nenabled = \"off\"", Switch::Invalid),
            ("[gate]\nenabled = False", Switch::Invalid),
            ("[gate\nenabled = true", Switch::Invalid),
            ("\u{feff}[gate]\nenabled = true", Switch::On),
            ("\u{feff}\u{feff}[gate]\nenabled = true", Switch::Invalid),
        ] {
            assert_eq!(config_switch(config.as_bytes(), "enabled"), expected, "{config}");
        }
        assert_eq!(config_switch(b"x = \"\xff\"", "enabled"), Switch::Invalid);
    }
}
