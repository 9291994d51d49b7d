//! Tests that registration and removal restore generated settings byte for byte, and leave later
//! edits of the user unchanged. The files have layouts that a program might write.

use serde_json::Value as Json;

use super::*;

/// A pseudo-random sequence, the same for the same seed.
struct SettingsRng(u64);

impl SettingsRng {
    fn below(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_041);
        (self.0 >> 33) as usize % sides
    }

    fn one_of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }
}

/// Writes JSON with white space of one style, or of no consistent style.
struct JsonWriter {
    rng: SettingsRng,
    is_odd: bool,
    line_end: &'static str,
    unit: &'static str,
}

impl JsonWriter {
    fn of(seed: u64) -> JsonWriter {
        let mut rng = SettingsRng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        JsonWriter {
            is_odd: rng.below(2) == 0,
            line_end: ["\n", "\r\n", ""][rng.below(3)],
            unit: ["  ", "\t", "    ", "", " "][rng.below(5)],
            rng,
        }
    }

    fn blank(&mut self) -> &'static str {
        if !self.is_odd {
            return "";
        }
        ["", "", " ", "\n", "\r\n  ", "\t", " \n\n "][self.rng.below(7)]
    }

    fn container(&mut self, open: char, children: &[String], close: char, depth: usize) -> String {
        let (mut text, mut between) = (String::from(open), String::new());
        let indent = |depth: usize, writer: &JsonWriter| match writer.line_end {
            "" => String::new(),
            end => end.to_owned() + &writer.unit.repeat(depth),
        };
        for child in children {
            let line = if self.is_odd { self.blank().to_owned() } else { indent(depth + 1, self) };
            text += &(between + &line + child + self.blank());
            between = ",".to_owned();
        }
        if children.is_empty() || self.is_odd {
            text += self.blank();
        } else {
            text += &indent(depth, self);
        }
        text.push(close);
        text
    }

    fn member(&mut self, key: &str, value: &str) -> String {
        let colon = if self.is_odd { [":", ": ", " : ", ":\n"][self.rng.below(4)] } else { ": " };
        format!("\"{key}\"{colon}{value}")
    }

    fn object(&mut self, members: &[(&str, String)], depth: usize) -> String {
        let members: Vec<_> = members.iter().map(|(key, value)| self.member(key, value)).collect();
        self.container('{', &members, '}', depth)
    }

    fn anything(&mut self, depth: usize) -> String {
        match self.rng.below(if depth > 4 { 4 } else { 6 }) {
            0 => self.rng.one_of(&["0", "-1.50e3", "12345678901234567890"]).to_owned(),
            1 => self.rng.one_of(&["true", "false", "null"]).to_owned(),
            2 | 3 => {
                self.rng.one_of(&[r#""""#, r#""\u00e9 {[,]} \"hooks\":""#, "\"日本\""]).to_owned()
            }
            4 => {
                let elements: Vec<_> =
                    (0..self.rng.below(4)).map(|_| self.anything(depth + 1)).collect();
                self.container('[', &elements, ']', depth)
            }
            _ => {
                let keys = ["a", "hooks", "Stop", "a", "\\u0061"];
                let members: Vec<_> = (0..self.rng.below(4))
                    .map(|_| (self.rng.one_of(&keys), self.anything(depth + 1)))
                    .collect();
                self.object(&members, depth)
            }
        }
    }

    fn foreign_group(&mut self, depth: usize) -> String {
        let command = self.rng.one_of(&["\"notify-send done\"", "\"turnbridge-status\"", "\"\""]);
        let handler = [("type", "\"command\"".to_owned()), ("command", command.to_owned())];
        let handler = self.object(&handler, depth + 2);
        let handlers = self.container('[', &[handler], ']', depth + 1);
        self.object(&[("hooks", handlers)], depth)
    }

    fn hooks(&mut self, depth: usize) -> String {
        let names = ["Stop", "PreToolUse", "SessionEnd", "WorktreeCreate", "PermissionRequest"];
        let events: Vec<_> = (0..self.rng.below(5))
            .map(|_| {
                let groups: Vec<_> =
                    (0..self.rng.below(3)).map(|_| self.foreign_group(depth + 2)).collect();
                let value = match self.rng.below(8) {
                    0 => self.foreign_group(depth + 1),
                    _ => self.container('[', &groups, ']', depth + 1),
                };
                (self.rng.one_of(&names), value)
            })
            .collect();
        self.object(&events, depth)
    }

    fn settings(&mut self) -> String {
        let mark = if self.rng.below(8) == 0 { "\u{feff}" } else { "" };
        if self.rng.below(30) == 0 {
            return format!("{mark}{}", self.blank());
        }
        let members: Vec<_> = (0..self.rng.below(5))
            .map(|_| match self.rng.below(3) {
                0 => ("hooks", self.hooks(1)),
                _ => (self.rng.one_of(&["model", "env", "model", "z"]), self.anything(1)),
            })
            .collect();
        let root = self.object(&members, 0);
        let end = self.rng.one_of(&["", "\n", "\r\n", "\n\n"]);
        format!("{mark}{}{root}{end}", self.blank())
    }
}

fn json(text: &str) -> Json {
    match is_blank(text) {
        true => Json::Object(serde_json::Map::new()),
        false => serde_json::from_str(text.trim_start_matches('\u{feff}')).unwrap(),
    }
}

#[test]
fn kt_9_applying_twice_changes_nothing_and_removing_gives_every_byte_back() {
    for seed in 0..1_000 {
        let before = JsonWriter::of(seed).settings();
        let after = apply(&before, &registration());
        assert_eq!(apply(&after, &registration()), after, "seed {seed}: {before}");
        assert_eq!(remove(&after, Some(&before)), before, "seed {seed}");
        let states = inspect(&after, &registration()).unwrap();
        assert!(states.iter().all(|(_, state)| *state == EventRegistration::Yes), "seed {seed}");
        let forgotten = remove(&after, None);
        assert!(plan_remove(&forgotten, None).unwrap().is_empty(), "seed {seed}");
        let others = |text: &str| without_empty(json(text));
        assert_eq!(others(&forgotten), others(&before), "seed {seed}: {before}");
    }
}

/// The rest of hooks without empty lists, and with lists of one unwrapped.
fn without_empty(mut settings: Json) -> Json {
    if let Some(hooks) = settings.get_mut("hooks").and_then(Json::as_object_mut) {
        for value in hooks.values_mut().filter(|value| value.is_object()) {
            *value = Json::Array(vec![value.take()]);
        }
        hooks.retain(|_, value| value.as_array().is_none_or(|groups| !groups.is_empty()));
        if hooks.is_empty() {
            settings.as_object_mut().unwrap().remove("hooks");
        }
    }
    settings
}

/// The user adds a member to the settings, an event, or another group before or after Turnbridge's.
#[test]
fn kt_7_after_a_foreign_edit_everything_but_our_text_is_untouched() {
    for seed in 0..1_000 {
        let mut writer = JsonWriter::of(seed);
        let before = writer.settings();
        let after = apply(&before, &registration());
        let mut expected = json(&before);
        let root = parse(&after).unwrap();
        let hooks = root.get("hooks").unwrap();
        let new = writer.foreign_group(3);
        let splice = match writer.rng.below(4) {
            0 => {
                expected["theirs"] = json(&new);
                let first = root.members()[0].key_range.start;
                Splice::insert(first, format!("\"theirs\" :{new} ,"))
            }
            1 => {
                expected["theirs"] = json(&new);
                let last = root.members().last().unwrap().value.range.end;
                Splice::insert(last, format!(", \"theirs\":\n{new}"))
            }
            side => {
                let event = writer.rng.one_of(&["Stop", "PreToolUse", "PermissionRequest"]);
                let list = &mut expected["hooks"][event];
                if !list.is_array() {
                    *list = Json::Array(if list.is_object() { vec![list.take()] } else { vec![] });
                }
                let groups = hooks.get(event).unwrap().elements();
                let list = list.as_array_mut().unwrap();
                if side == 2 {
                    list.insert(0, json(&new));
                    Splice::insert(groups[0].range.start, format!("{new} , "))
                } else {
                    list.push(json(&new));
                    Splice::insert(groups.last().unwrap().range.end, format!("\n,\t{new}"))
                }
            }
        };
        let edited = spliced(&after, &[splice]);
        for hint in [Some(before.as_str()), None] {
            let removed = remove(&edited, hint);
            let (found, expected) = match hint {
                Some(_) => (json(&removed), expected.clone()),
                None => (without_empty(json(&removed)), without_empty(expected.clone())),
            };
            assert_eq!(found, expected, "seed {seed}: {edited}");
            assert!(removed.contains(&new), "seed {seed}: as it was written");
            assert!(is_rest_of(&removed, &edited, hint), "seed {seed}: {edited}\n{removed}");
        }
        let reformatted = serde_json::to_string_pretty(&json(&edited)).unwrap();
        let removed = json(&remove(&reformatted, Some(&before)));
        assert_eq!(without_empty(removed), without_empty(expected), "seed {seed}: reformatted");
    }
}

/// Whether text was only removed. White space that was in an empty container may be restored.
fn is_rest_of(removed: &str, edited: &str, hint: Option<&str>) -> bool {
    let counts = |c: &char| hint.is_none() || !c.is_ascii_whitespace();
    let mut edited = edited.chars();
    removed.chars().filter(counts).all(|c| edited.any(|other| other == c))
}
