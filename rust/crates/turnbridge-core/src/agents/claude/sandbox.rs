//! Decides from the contents of Claude's settings files whether its sandbox is on.
//!
//! The first layer with a boolean `sandbox.enabled` decides (CVI-6..12; the managed and project
//! layers because Claude Code honours them). The JSON has to be strict, because Claude ignores a
//! file with comments; a byte order mark is allowed. Other code reads the files.

use crate::scan::json_scan::{CaptureMode, FoundValue, JsonScanner, PathStep, WantedField};

/// The layer of a settings file, highest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    Managed,
    ProjectLocal,
    Project,
    UserLocal,
    User,
}

impl Layer {
    pub const fn as_str(self) -> &'static str {
        match self {
            Layer::Managed => "managed",
            Layer::ProjectLocal => "project local",
            Layer::Project => "project",
            Layer::UserLocal => "user local",
            Layer::User => "user",
        }
    }
}

/// The value of `sandbox.enabled` in one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayerValue {
    Enabled,
    Disabled,
    /// The file has no value, and why.
    Silent(UnsetReason),
}

/// Why a file has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnsetReason {
    Absent,
    Unreadable,
    NotJson,
    NotSet,
    NotBoolean,
}

impl UnsetReason {
    pub const fn as_str(self) -> &'static str {
        match self {
            UnsetReason::Absent => "no file",
            UnsetReason::Unreadable => "not readable",
            UnsetReason::NotJson => "no strict JSON (Claude ignores it too)",
            UnsetReason::NotSet => "not set",
            UnsetReason::NotBoolean => "not a boolean",
        }
    }
}

const FIELDS: &[WantedField] = &[
    WantedField { path: &[PathStep::Key("sandbox")], keep: CaptureMode::Scalar(16) },
    WantedField {
        path: &[PathStep::Key("sandbox"), PathStep::Key("enabled")],
        keep: CaptureMode::Scalar(16),
    },
];

/// Returns the value of `sandbox.enabled` in the contents of a settings file.
pub fn sandbox_value(contents: &[u8]) -> LayerValue {
    let contents = contents.strip_prefix(b"\xef\xbb\xbf").unwrap_or(contents);
    let mut scanner = JsonScanner::new(FIELDS);
    let Ok(captures) = scanner.feed(contents).and_then(|()| scanner.finish()) else {
        return LayerValue::Silent(UnsetReason::NotJson);
    };
    // The scanner does not validate the values that it skips; Claude's parser does.
    let is_strict = serde_json::from_slice::<serde::de::IgnoredAny>(contents).is_ok();
    if !is_strict || std::str::from_utf8(contents).is_err() {
        return LayerValue::Silent(UnsetReason::NotJson);
    }
    // Of duplicate keys the last counts: a second `sandbox` replaces the first one's `enabled`.
    let mut value = LayerValue::Silent(UnsetReason::NotSet);
    for capture in captures {
        value = match (capture.field, capture.found) {
            (0, _) | (_, FoundValue::Null) => LayerValue::Silent(UnsetReason::NotSet),
            (_, FoundValue::Bool(true)) => LayerValue::Enabled,
            (_, FoundValue::Bool(false)) => LayerValue::Disabled,
            _ => LayerValue::Silent(UnsetReason::NotBoolean),
        };
    }
    value
}

/// Returns the position of the layer that decides, and whether the sandbox is on. If no layer sets
/// it, it is off, so that the gate's check runs (CVI-11).
pub fn decide_sandbox(layers: &[LayerValue]) -> (Option<usize>, bool) {
    let decides = |value: &LayerValue| !matches!(value, LayerValue::Silent(_));
    let position = layers.iter().position(decides);
    (position, position.is_some_and(|index| layers[index] == LayerValue::Enabled))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cvi_5_the_value_is_read_from_sandbox_enabled_alone() {
        use LayerValue::{Disabled, Enabled, Silent};
        for (contents, expected) in [
            (r#"{"sandbox":{"enabled":true}}"#, Enabled),
            (r#"{"sandbox":{"enabled":false,"autoAllowBashIfSandboxed":true}}"#, Disabled),
            ("\u{feff}{\"sandbox\":{\"enabled\":true}}\r\n", Enabled),
            (r#"{"sandbox":{"autoAllowBashIfSandboxed":true}}"#, Silent(UnsetReason::NotSet)),
            (r#"{"enabled":true,"x":{"sandbox":{"enabled":true}}}"#, Silent(UnsetReason::NotSet)),
            (r#"{"sandbox":{"enabled":null}}"#, Silent(UnsetReason::NotSet)),
            (r#"{"sandbox":true}"#, Silent(UnsetReason::NotSet)),
            (r#"{"sandbox":[{"enabled":true}]}"#, Silent(UnsetReason::NotSet)),
            (r#"{"sandbox":{"enabled":"true"}}"#, Silent(UnsetReason::NotBoolean)),
            (r#"{"sandbox":{"enabled":1}}"#, Silent(UnsetReason::NotBoolean)),
            (r#"{"sandbox":{"enabled":{}}}"#, Silent(UnsetReason::NotBoolean)),
            ("{}", Silent(UnsetReason::NotSet)),
            ("", Silent(UnsetReason::NotJson)),
            ("{\"sandbox\":{\"enabled\":true}", Silent(UnsetReason::NotJson)),
            ("{\"sandbox\":{\"enabled\":true},}", Silent(UnsetReason::NotJson)),
            ("{/* on */\"sandbox\":{\"enabled\":true}}", Silent(UnsetReason::NotJson)),
            (r#"{"sandbox":{"enabled":true},"x":01}"#, Silent(UnsetReason::NotJson)),
            ("{\"sandbox\":{\"enabled\":true},\"x\":\"\\q\"}", Silent(UnsetReason::NotJson)),
            (r#"{"sandbox":{"enabled":true},"sandbox":{}}"#, Silent(UnsetReason::NotSet)),
            (r#"{"sandbox":{"enabled":true,"enabled":false}}"#, Disabled),
        ] {
            assert_eq!(sandbox_value(contents.as_bytes()), expected, "{contents}");
        }
        assert_eq!(sandbox_value(b"{\"x\":\"\xff\"}"), Silent(UnsetReason::NotJson));
    }

    /// CVI-12: the only results are on and not on.
    #[test]
    fn cvi_6_to_11_the_highest_layer_that_says_something_decides() {
        let check = |words: &str, expected: (Option<usize>, bool)| {
            let value = |word| match word {
                "on" => LayerValue::Enabled,
                "off" => LayerValue::Disabled,
                _ => LayerValue::Silent(UnsetReason::Absent),
            };
            let layers: Vec<_> = words.split(' ').map(value).collect();
            assert_eq!(decide_sandbox(&layers), expected, "{words}");
        };
        // cvi_8: local `false` beats global `true`.
        check("- - - off on", (Some(3), false));
        check("- - - on off", (Some(3), true));
        check("- - - - on", (Some(4), true));
        check("- - - - off", (Some(4), false));
        check("- - - - -", (None, false));
        check("on off off off off", (Some(0), true));
        check("- - off on on", (Some(2), false));
        check("- on off - -", (Some(1), true));
    }
}
