//! Tests that hooks are registered, updated, inspected and removed as the recorded cases and the
//! examples here expect.

#[path = "../../../../../../testkit/src/case_folder.rs"]
mod case_folder;
mod generated;

use super::*;
use case_folder::{Case, cases};

fn registration() -> Registration {
    Registration {
        status: "/opt/turnbridge/bin/turnbridge-status".to_owned(),
        stop_gate: "/opt/turnbridge/bin/turnbridge-stop-gate".to_owned(),
        notify: "/opt/turnbridge/bin/turnbridge-notify".to_owned(),
        form: Form::Exec,
        stop_gate_is: StopGate::Off,
    }
}

fn apply(text: &str, registration: &Registration) -> String {
    plan_apply(text, registration).unwrap().applied_to(text)
}

fn remove(text: &str, before: Option<&str>) -> String {
    plan_remove(text, before).unwrap().applied_to(text)
}

/// The number of Turnbridge's processes that Claude Code calls for all events together.
fn calls() -> usize {
    events().map(|event| event.calls(Agent::Claude).len()).sum()
}

/// The plugin's file is the model: the same programs for the same events, the same timeout.
#[test]
fn kt_22_what_is_registered_is_what_the_plugin_registers() {
    let plugin = include_str!("../../../../../../../../hooks/hooks.json");
    let plugin = parse(plugin).unwrap();
    let ours = apply("", &Registration { stop_gate_is: StopGate::On, ..registration() });
    let ours = parse(&ours).unwrap();
    let shown = |root: &Node| {
        let mut lines = Vec::new();
        for event in root.get("hooks").unwrap().members() {
            for group in event.value.elements() {
                assert_eq!(group.members().len(), 1, "no matcher: every tool");
                for handler in group.get("hooks").unwrap().elements() {
                    let command = handler.get("command").unwrap().as_str().unwrap();
                    let name = command.rsplit('/').next().unwrap();
                    let args = handler.get("args").unwrap().elements().iter();
                    let args: Vec<_> = args.map(|arg| arg.as_str().unwrap()).collect();
                    let args = args.join(" ").replace("plugin", "settings");
                    let keys = handler.members().iter().map(|member| member.key.as_str());
                    let keys: Vec<_> = keys.collect();
                    lines.push(format!("{} {name} {args} {keys:?}", event.key));
                }
            }
        }
        lines
    };
    assert_eq!(shown(&ours), shown(&plugin));
}

#[test]
fn a_new_file_has_one_line_for_each_hook() {
    let text = apply("", &registration());
    // Both braces of the object and of its `hooks`; each event's brackets, and a line for each
    // call.
    let lines = 4 + 2 * events().count() + calls();
    assert_eq!(text.lines().count(), lines);
    let stop = text.lines().skip_while(|line| !line.contains("\"Stop\"")).take(3);
    insta::assert_snapshot!(stop.collect::<Vec<_>>().join("\n"), @r#"
        "Stop": [
          {"hooks": [{"type": "command", "command": "/opt/turnbridge/bin/turnbridge-stop-gate", "args": ["--origin", "settings", "--no-gate"], "timeout": 10}]}
        ],
    "#);
    assert!(text.ends_with("  }\n}\n"));
}

#[test]
fn an_old_claude_code_gets_command_lines() {
    let registration = Registration {
        status: "/it's here/turnbridge-status".to_owned(),
        form: Form::Shell,
        ..registration()
    };
    let text = apply("", &registration);
    let root = parse(&text).unwrap();
    let command = |event: &str| {
        let group = &root.get("hooks").unwrap().get(event).unwrap().elements()[0];
        let handler = &group.get("hooks").unwrap().elements()[0];
        assert_eq!(handler.get("args"), None);
        handler.get("command").unwrap().as_str().unwrap().to_owned()
    };
    assert_eq!(command("PreToolUse"), r"'/it'\''s here/turnbridge-status' --origin settings");
    let stop = "/opt/turnbridge/bin/turnbridge-stop-gate --origin settings --no-gate";
    assert_eq!(command("Stop"), stop);
    assert_eq!(apply(&text, &registration), text);
    assert_eq!(remove(&text, Some("")), "");
}

/// KT-24: after any change Turnbridge's entry is in the same place, once.
#[test]
fn a_moved_program_another_gate_and_another_form_are_updated_in_place() {
    let first = registration();
    let moved = Registration { status: "/new/turnbridge-status".to_owned(), ..first.clone() };
    let gate_on = Registration { stop_gate_is: StopGate::On, ..moved.clone() };
    let shell = Registration { form: Form::Shell, ..gate_on.clone() };
    for before in ["", "{\n\t\"a\": 1\n}", "{\"hooks\":{\"Stop\":[]}}"] {
        let mut text = before.to_owned();
        for registration in [&first, &moved, &gate_on, &shell, &moved, &first] {
            text = apply(&text, registration);
            assert_eq!(text, apply(before, registration));
        }
    }
}

#[test]
fn what_the_user_wrote_into_our_entry_stays_when_it_is_updated() {
    let before = apply("{}", &registration());
    let edited = before.replacen("\"timeout\": 10", "\"timeout\": 60, \"statusMessage\": \"…\"", 1);
    let moved = Registration { status: "/new/turnbridge-status".to_owned(), ..registration() };
    let text = apply(&edited, &moved);
    assert!(text.contains("/new/turnbridge-status\", \"args\": [\"--origin\", \"settings\"], \"timeout\": 60, \"statusMessage\": \"…\""));
    assert_eq!(remove(&text, Some("{}")), "{}");
}

#[test]
fn every_event_says_how_it_stands() {
    let states = |text: &str| -> Vec<EventRegistration> {
        let states = inspect(text, &registration()).unwrap();
        states.into_iter().map(|(_, state)| state).collect()
    };
    let all = |state: EventRegistration| events().map(|_| state).collect::<Vec<_>>();
    assert_eq!(states(""), all(EventRegistration::No));
    assert_eq!(states("{}"), all(EventRegistration::No));
    let text = apply("{}", &registration());
    assert_eq!(states(&text), all(EventRegistration::Yes));
    let moved = Registration { status: "/new/turnbridge-status".to_owned(), ..registration() };
    let counts = inspect(&text, &moved).unwrap();
    let outdated = counts.iter().filter(|(_, state)| *state == EventRegistration::Outdated).count();
    assert_eq!(outdated, events().count() - 1, "all but Stop");
    let notify = text.lines().find(|line| line.contains("turnbridge-notify")).unwrap();
    let status_only = text.replace(&format!(",\n{notify}"), "");
    let states = inspect(&status_only, &registration()).unwrap();
    let event = (HookEventName::PermissionRequest, EventRegistration::Outdated);
    assert!(states.contains(&event), "one of two is missing");
}

#[test]
fn hooks_that_are_all_switched_off_are_noticed() {
    assert!(all_hooks_are_off(r#"{"disableAllHooks": true}"#));
    assert!(!all_hooks_are_off(r#"{"disableAllHooks": true, "disableAllHooks": false}"#));
    assert!(!all_hooks_are_off("{}") && !all_hooks_are_off("{"));
}

/// One folder per case: `before.json` and either `after.json` or `refused.txt`. `removed.json` is
/// the result of a removal without the text before; without it, that is `before.json` too. A
/// removal with the text before always restores it, unless it had Turnbridge's entries already.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/settings_edit");
const FILES: [&str; 4] = ["before.json", "after.json", "removed.json", "refused.txt"];

fn check(case: &Case) {
    let (name, before) = (case.name(), case.input("before.json"));
    let plan = plan_apply(&before, &registration());
    let reason = plan.as_ref().err().map(|refusal| format!("{refusal}\n"));
    case.expect("refused.txt", reason.as_deref());
    let after = plan.ok().map(|plan| plan.applied_to(&before));
    case.expect("after.json", after.as_deref());
    let Some(after) = after else { return case.expect("removed.json", None) };
    assert_eq!(apply(&after, &registration()), after, "{name}: apply twice");
    let states = inspect(&after, &registration()).unwrap();
    assert!(states.iter().all(|(_, state)| *state == EventRegistration::Yes), "{name}: {states:?}");
    let removed = remove(&after, None);
    case.expect("removed.json", Some(removed.as_str()).filter(|removed| *removed != before));
    let had_ours = !plan_remove(&before, None).unwrap().is_empty();
    let without_ours = if had_ours { &removed } else { &before };
    assert_eq!(&remove(&after, Some(&before)), without_ours, "{name}: remove");
    assert!(plan_remove(&removed, None).unwrap().is_empty(), "{name}: remove twice");
}

/// KT-23, X38: the cases 04, 28, 38 and 56 to 60.
#[test]
fn kt_t2_every_case_is_applied_and_removed_as_its_folder_says() {
    cases(FOLDER, &FILES).iter().for_each(check);
}

/// No reader accepts such a file, so hooks in it would never be called.
#[test]
fn a_file_with_many_byte_order_marks_is_refused_also_if_it_has_nothing_else() {
    let marks = "\u{feff}".repeat(20);
    for text in [marks.clone(), format!("{marks}\n"), format!("{marks}{{}}\n")] {
        let refusal = plan_apply(&text, &registration()).unwrap_err().to_string();
        assert!(refusal.contains("second byte order mark"), "{refusal}");
        assert!(plan_remove(&text, None).is_err());
        assert!(inspect(&text, &registration()).is_err());
        assert!(!all_hooks_are_off(&text));
    }
    for text in ["\u{feff}", "\u{feff}{}\r\n"] {
        let after = apply(text, &registration());
        assert_eq!(after.matches('\u{feff}').count(), 1);
        assert_eq!(remove(&after, Some(text)), text);
    }
}

#[test]
fn our_calls_are_read_in_either_form_and_others_are_not() {
    let exec = apply("", &registration());
    let shell = apply("", &Registration { form: Form::Shell, ..registration() });
    let calls = own_calls(&exec).unwrap();
    assert_eq!(calls, own_calls(&shell).unwrap());
    assert_eq!(calls.len(), self::calls());
    let stop = calls.iter().find(|call| call.program.ends_with("stop-gate")).unwrap();
    assert_eq!(stop.program, registration().stop_gate);
    assert_eq!(stop.arguments, ["--origin", "settings", "--no-gate"]);
    let ours = r#"{"command": "/x/turnbridge-status", "args": ["--origin", "settings"]}"#;
    let single = format!(r#"{{"hooks": {{"Stop": [7], "Stop": {{"hooks": [{ours}, 1]}}}}}}"#);
    assert_eq!(own_calls(&single).unwrap()[0].program, "/x/turnbridge-status");
    for text in [
        "",
        "{}",
        r#"{"hooks": {"Stop": 1}}"#,
        &format!(r#"{{"hooks": {{"Stop": [{{"hooks": [{ours}]}}], "Stop": []}}}}"#),
    ] {
        assert_eq!(own_calls(text).unwrap(), [], "{text}");
    }
    assert!(own_calls("{").is_err());
}
