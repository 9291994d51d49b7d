//! Explains, as text and as JSON, what the Stop gate decides in a folder about a turn without
//! speech. It applies the rules of the hook, but reads every source, while the hook stops at the
//! first that decides.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use turnbridge_core::agents::claude::sandbox::{Layer, LayerValue, decide_sandbox};
use turnbridge_core::gate::gate_hooks::{GateBypass, GateCaller};
use turnbridge_core::gate::gate_switches::Switch;
use turnbridge_core::gate::speak::SpeakOutcome;
use turnbridge_core::gate::{Decision, GateInputs, Rule, StopFacts, decide_stop};
use turnbridge_core::text::visible_text::visible_line;
use turnbridge_store::foreign::foreign_text::read_json;
use turnbridge_store::foreign::{claude_settings, gate_files};
use turnbridge_store::paths::claude_config_dir;
use turnbridge_store::state::config_text::ConfigText;

use super::gate_callers::callers_in;
use super::gate_history::{PastDecision, last_decisions};

pub struct Explanation {
    folder: PathBuf,
    /// The caller of the gate when a turn ends.
    caller: Result<GateCaller, GateBypass>,
    layers: Vec<(Layer, PathBuf, LayerValue)>,
    /// The position of the layer that decides.
    deciding: Option<usize>,
    sandboxed: bool,
    switches: Vec<NamedSwitch>,
    headless: bool,
    decision: Decision,
    past: Vec<PastDecision>,
}

struct NamedSwitch {
    name: String,
    path: PathBuf,
    switch: Switch,
}

impl Explanation {
    pub fn of(folder: &Path) -> Explanation {
        let layers = claude_settings::layers(Some(folder)).into_iter();
        let layers: Vec<_> = layers
            .map(|(layer, path)| {
                let value = claude_settings::sandbox_in(&path);
                (layer, path, value)
            })
            .collect();
        let values: Vec<_> = layers.iter().map(|(_, _, value)| *value).collect();
        let (deciding, sandboxed) = decide_sandbox(&values);
        let config = ConfigText::default();
        let headless = gate_files::in_config(&config, "headless");
        let mut explanation = Explanation {
            folder: folder.to_owned(),
            caller: callers_in(folder),
            deciding,
            sandboxed,
            layers,
            switches: switches(&config),
            headless: headless.is_some_and(|setting| setting.switch == Switch::On),
            decision: Decision { rule: Rule::NotSpoken, because: String::new() },
            past: last_decisions(folder),
        };
        explanation.decision = decide_stop(StopFacts::default(), &mut BeforeSpeech(&explanation));
        explanation
    }

    fn deciding_file(&self) -> Option<&Path> {
        self.deciding.map(|position| self.layers[position].1.as_path())
    }

    /// Returns the decision and its reason in one line.
    pub fn summary(&self) -> String {
        let because = &self.decision.because;
        match self.decision.rule {
            Rule::Sandbox => {
                format!("off here: Claude's sandbox is on (`{}`)", visible_line(because))
            }
            Rule::Off => format!("off: {}", self.closing_switch()),
            _ => match &self.caller {
                Ok(_) => "on: a turn ends when the agent has spoken its summary".to_owned(),
                Err(unasked) => format!("off: {}", visible_line(&unasked.to_string())),
            },
        }
    }

    /// Returns whether a turn without speech may end.
    fn allows(&self) -> bool {
        self.decision.rule.allows() || self.caller.is_err()
    }

    /// Returns the rule that decides, and the file that it uses.
    fn deciding_rule(&self) -> (&str, &str) {
        match &self.caller {
            Err(unasked) if !self.decision.rule.allows() => {
                ("no_hook", unasked.file().unwrap_or_default())
            }
            _ => (self.decision.rule.as_str(), &self.decision.because),
        }
    }

    fn closing_switch(&self) -> String {
        let closing = self.switches.iter().find(|named| named.switch.closes_gate());
        closing.map_or_else(String::new, |named| {
            format!("{} is {} in `{}`", named.name, named.switch.as_str(), shown(&named.path))
        })
    }

    /// Returns the explanation for the terminal: the summary, then every source and the last
    /// decisions.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n\nin `{}`\n", self.summary(), shown(&self.folder));
        let sandbox = if self.sandboxed { "on" } else { "off" };
        let decided = match self.deciding_file() {
            Some(file) => format!("decided by `{}`", shown(file)),
            None => "no file says anything".to_owned(),
        };
        let _ = writeln!(text, "\nClaude's sandbox: {sandbox}, {decided}");
        for (position, (layer, path, value)) in self.layers.iter().enumerate() {
            let mark = if Some(position) == self.deciding { '>' } else { ' ' };
            let said = describe(*value);
            let _ = writeln!(text, "{mark} {:<14} {said:<10} {}", layer.as_str(), shown(path));
        }
        let _ = match &self.caller {
            Ok(caller) => writeln!(text, "\nasked by {}", visible_line(&caller.to_string())),
            Err(unasked) => {
                writeln!(text, "\nnot asked: {}", visible_line(&unasked.to_string()))
            }
        };
        text.push_str("\nswitches: one that is off is enough\n");
        let width = self.switches.iter().map(|named| named.name.len()).max().unwrap_or_default();
        for NamedSwitch { name, path, switch } in &self.switches {
            let mark = if switch.closes_gate() { '>' } else { ' ' };
            let _ = writeln!(text, "{mark} {name:<width$} {:<10} {}", switch.as_str(), shown(path));
        }
        let headless = if self.headless { "asked to speak too" } else { "never asked" };
        let _ = writeln!(text, "\n`claude -p` and programs: {headless} (`[gate] headless`)");
        if self.past.is_empty() {
            text.push_str("\nno turn has ended here lately\n");
        } else {
            text.push_str("\nthe last turns here:\n");
        }
        for past in &self.past {
            let _ = writeln!(text, "  {}", visible_line(&past.to_string()));
        }
        text
    }

    pub fn json(&self) -> String {
        let layers: Vec<_> = self.layers.iter().map(|(layer, path, value)| {
            let value_json = match value {
                LayerValue::Enabled => json!(true),
                LayerValue::Disabled => json!(false),
                LayerValue::Silent(_) => Value::Null,
            };
            json!({"layer": layer.as_str(), "path": path, "value": value_json, "says": describe(*value)})
        }).collect();
        let switches: Vec<_> = self
            .switches
            .iter()
            .map(|NamedSwitch { name, path, switch }| {
                json!({"name": name, "path": path, "value": switch.as_str()})
            })
            .collect();
        let past: Vec<_> = self.past.iter().map(PastDecision::json).collect();
        let (rule, because) = self.deciding_rule();
        let caller = self.caller.as_ref();
        json!({
            "version": 1,
            "cwd": self.folder,
            "gate": if self.allows() { "off" } else { "on" },
            "would": if self.allows() { "allow" } else { "block" },
            "rule": rule,
            "because": because,
            "summary": self.summary(),
            "sandbox": {
                "enabled": self.sandboxed,
                "decided_by": self.deciding_file(),
                "layers": layers,
            },
            "asked": {
                "by": caller.ok().map(GateCaller::as_str),
                "says": caller.map_or_else(|unasked| unasked.to_string(), GateCaller::to_string),
            },
            "switches": switches,
            "headless": self.headless,
            "last_decisions": past,
        })
        .to_string()
    }
}

/// Returns the path in one line, whatever its characters are.
fn shown(path: &Path) -> String {
    visible_line(&path.display().to_string()).into_owned()
}

fn describe(value: LayerValue) -> &'static str {
    match value {
        LayerValue::Enabled => "on",
        LayerValue::Disabled => "off",
        LayerValue::Silent(silence) => silence.as_str(),
    }
}

fn switches(config: &ConfigText) -> Vec<NamedSwitch> {
    let named = |name: &str, setting: Option<gate_files::GateSetting>| {
        let gate_files::GateSetting { path, switch } = setting?;
        Some(NamedSwitch { name: name.to_owned(), path, switch })
    };
    let mut switches = plugin_options();
    switches.extend(named("[gate] enabled", gate_files::in_config(config, "enabled")));
    switches.extend(named("CVI_ENABLED", gate_files::in_cvi_config()));
    switches
}

/// Returns the plugin's option `gate`, once for each way in which the plugin has been installed.
/// Claude passes it to the plugin's hooks; this reads it from Claude's settings.
fn plugin_options() -> Vec<NamedSwitch> {
    let Some(path) = claude_config_dir().map(|folder| folder.join("settings.json")) else {
        return Vec::new();
    };
    let settings = read_json(&path);
    let plugins = settings["pluginConfigs"].as_object().into_iter().flatten();
    plugins
        .filter(|(plugin, _)| plugin.starts_with("turnbridge@"))
        .filter_map(|(plugin, config)| {
            let switch = match &config["options"]["gate"] {
                Value::Null => return None,
                Value::String(text) => Switch::parse(text),
                other => Switch::parse(&other.to_string()),
            };
            Some(NamedSwitch { name: format!("`gate` of {plugin}"), path: path.clone(), switch })
        })
        .collect()
}

/// A turn in which the agent has not spoken yet.
struct BeforeSpeech<'a>(&'a Explanation);

impl GateInputs for BeforeSpeech<'_> {
    fn sandbox(&mut self) -> Option<String> {
        let file = self.0.deciding_file().filter(|_| self.0.sandboxed);
        file.map(|file| file.to_string_lossy().into_owned())
    }

    fn switched_off(&mut self) -> Option<String> {
        let mut closing = self.0.switches.iter().filter(|named| named.switch.closes_gate());
        closing.next().map(|named| named.path.to_string_lossy().into_owned())
    }

    fn is_reminded(&mut self) -> bool {
        false
    }

    fn wants_headless(&mut self) -> bool {
        self.0.headless
    }

    fn speech(&mut self) -> Option<SpeakOutcome> {
        None
    }
}
