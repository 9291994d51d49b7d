//! Tests the state of the view: the order of the sessions, the selection, the filter, and the
//! effects of keys.

use turnbridge_core::ids::SessionId;

use super::*;
use crate::watch::sample::{NOW, changes, key, session};

/// Returns a model with every state: 1 completed, 2 working, 3 waits (Codex), 4 waits for longer, 5
/// stopped.
fn model() -> WatchModel {
    let mut model = WatchModel::new(SessionFilter::Live);
    model.apply(changes([
        session(1, "alpha", State::Completed, 10),
        session(2, "beta", State::Working, 20),
        session(3, "gamma", State::WaitingUser, 30),
        session(4, "delta", State::WaitingUser, 40),
        session(5, "omega", State::Stopped, 50),
    ]));
    model
}

fn projects(model: &WatchModel) -> Vec<&str> {
    model.visible().map(|session| session.project().unwrap()).collect()
}

fn chosen(model: &WatchModel) -> &str {
    model.chosen().and_then(Session::project).unwrap_or("-")
}

fn type_text(model: &mut WatchModel, text: &str) {
    for character in text.chars() {
        assert_eq!(model.press(Key::Character(character)), None, "{character}");
    }
}

#[test]
fn who_waits_longest_is_on_top_and_stopped_ones_are_left_out() {
    let mut model = model();
    assert_eq!(projects(&model), ["delta", "gamma", "beta", "alpha"]);
    assert_eq!(chosen(&model), "delta");
    model.press(Key::Character('a'));
    assert_eq!(projects(&model), ["delta", "gamma", "beta", "alpha", "omega"]);
    let expected = SessionCounts { waiting: 2, working: 1, completed: 1, stopped: 1 };
    assert_eq!(model.counts(), expected);
}

#[test]
fn the_choice_stays_with_its_session_while_rows_move() {
    let mut model = model();
    model.press(Key::Down);
    model.press(Key::Down);
    assert_eq!(chosen(&model), "beta");
    model.apply(changes([session(1, "alpha", State::WaitingUser, 0)]));
    assert_eq!(projects(&model), ["delta", "gamma", "alpha", "beta"]);
    assert_eq!(chosen(&model), "beta");
    // A session that disappears passes its row to the next.
    model.apply(changes([session(2, "beta", State::Stopped, 0)]));
    assert_eq!(chosen(&model), "alpha");
    model.apply(vec![
        SessionChange::Removed(key(1)),
        SessionChange::Removed(key(3)),
        SessionChange::Removed(key(4)),
    ]);
    assert_eq!(chosen(&model), "-");
    assert_eq!(model.press(Key::Enter), None);
    assert_eq!(model.press(Key::Character('y')), None);
}

#[test]
fn moving_ends_at_the_first_and_at_the_last() {
    let mut model = model();
    model.press(Key::Up);
    assert_eq!(chosen(&model), "delta");
    model.press(Key::Character('G'));
    model.press(Key::Character('j'));
    assert_eq!(chosen(&model), "alpha");
    model.press(Key::Character('k'));
    assert_eq!(chosen(&model), "beta");
    model.press(Key::Home);
    assert_eq!(chosen(&model), "delta");
}

#[test]
fn a_filter_looks_at_project_tool_state_and_prompt() {
    let check = |typed: &str, expected: &[&str]| {
        let mut model = model();
        model.press(Key::Character('/'));
        type_text(&mut model, typed);
        assert_eq!(projects(&model), expected, "{typed}");
        model.press(Key::Enter);
        assert_eq!(projects(&model), expected, "{typed}");
        model.press(Key::Escape);
        assert_eq!(projects(&model).len(), 4);
    };
    check("", &["delta", "gamma", "beta", "alpha"]);
    check("ALPHA", &["alpha"]);
    check("codex", &["gamma"]);
    check("waiting", &["delta", "gamma"]);
    check("waiting claude", &["delta"]);
    check("prompt 2", &["beta"]);
    check("quit", &[]);
    check("bash", &["delta", "gamma"]);
    check("825c8529-ee09-4cb8-8902-000000000002", &["beta"]);
}

#[test]
fn a_filter_can_be_taken_back_letter_by_letter() {
    let mut model = model();
    model.press(Key::Character('/'));
    model.paste("betaX\nmore");
    assert_eq!(projects(&model), [""; 0]);
    model.press(Key::Backspace);
    assert_eq!(projects(&model), ["beta"]);
    model.press(Key::Escape);
    assert_eq!(projects(&model).len(), 4);
    assert_eq!(chosen(&model), "beta");
}

#[test]
fn a_reply_goes_to_the_session_that_was_chosen_when_it_was_begun() {
    let mut model = model();
    model.press(Key::Character('r'));
    type_text(&mut model, "quit?");
    model.press(Key::NewLine);
    model.paste("q\r\n日本");
    model.apply(changes([session(4, "delta", State::Working, 0)]));
    let effect = model.press(Key::Enter);
    let text = "quit?\nq\n日本".to_owned();
    assert_eq!(effect, Some(WatchEffect::Reply { to: key(4), text }));
    assert!(matches!(model.mode(), WatchMode::List));
}

#[test]
fn what_is_empty_or_cancelled_or_ends_the_session_is_not_sent() {
    let mut model = model();
    model.press(Key::Character('r'));
    type_text(&mut model, " ");
    assert_eq!(model.press(Key::Enter), None);
    assert_eq!(model.message(), Some("nothing was sent"));
    model.press(Key::Character('r'));
    type_text(&mut model, "x");
    assert_eq!(model.press(Key::Escape), None);
    assert!(matches!(model.mode(), WatchMode::List));
    model.press(Key::Character('r'));
    type_text(&mut model, "/clear");
    assert_eq!(model.press(Key::Enter), None);
    assert!(model.message().unwrap().contains("would end or empty"), "{:?}", model.message());
    assert!(matches!(model.mode(), WatchMode::Reply { .. }), "what was typed is not lost");
}

#[test]
fn a_session_without_a_uuid_gets_no_reply() {
    let mut model = WatchModel::new(SessionFilter::Live);
    let mut odd = session(1, "alpha", State::Working, 1);
    odd.key.id = SessionId::parse("last").unwrap();
    model.apply(changes([odd]));
    model.press(Key::Character('r'));
    assert!(matches!(model.mode(), WatchMode::List));
    assert!(model.message().is_some());
}

#[test]
fn focus_copy_and_quit_are_wishes() {
    let mut model = model();
    assert_eq!(model.press(Key::Enter), Some(WatchEffect::Focus(key(4))));
    assert_eq!(model.press(Key::Character('f')), Some(WatchEffect::Focus(key(4))));
    let Some(WatchEffect::Copy(command)) = model.press(Key::Character('y')) else { panic!() };
    assert!(command.ends_with("claude -r 825c8529-ee09-4cb8-8902-000000000004"), "{command}");
    assert_eq!(model.message(), Some(format!("copied: {command}").as_str()));
    assert_eq!(model.press(Key::Character('q')), Some(WatchEffect::Quit));
    model.press(Key::Character('?'));
    assert_eq!(model.press(Key::Character('q')), None, "it only leaves the help");
    model.press(Key::Character('r'));
    assert_eq!(model.press(Key::Quit), Some(WatchEffect::Quit), "Ctrl-C does so everywhere");
}

#[test]
fn a_message_lasts_until_the_next_key() {
    let mut model = model();
    model.say("hello");
    assert_eq!(model.message(), Some("hello"));
    model.apply(changes([session(1, "alpha", State::Working, 0)]));
    assert_eq!(model.message(), Some("hello"));
    model.press(Key::Down);
    assert_eq!(model.message(), None);
}

#[test]
fn turns_and_scrolling_belong_to_the_chosen_session() {
    let mut model = model();
    let turn = crate::watch::sample::turn("p", "a", 5);
    model.set_turns(key(4), vec![turn]);
    model.press(Key::PageDown);
    assert_eq!((model.turns().len(), model.scroll()), (1, PAGE));
    model.press(Key::Down);
    assert_eq!((model.turns().len(), model.scroll()), (0, 0));
}

#[test]
fn an_age_holds_until_its_last_digit_changes() {
    let holds = |micros: i64| age_holds(Timestamp::from_micros(NOW.as_micros() - micros), NOW);
    assert_eq!(holds(0), Duration::from_secs(1));
    assert_eq!(holds(400_000), Duration::from_millis(600));
    assert_eq!(holds(59_900_000), Duration::from_millis(100));
    assert_eq!(holds(61_000_000), Duration::from_secs(59));
    assert_eq!(holds(3_601_000_000), Duration::from_secs(3_599));
    // A time in the future.
    assert_eq!(holds(-5_000_000), Duration::from_secs(1));
}

#[test]
fn kt_77_a_dot_is_on_and_off_for_half_a_second_each() {
    let at = |millis: u64| is_lit(NOW.plus(Duration::from_millis(millis)));
    let lit = [0, 499, 500, 999, 1_000].map(at);
    assert_eq!(lit, [true, true, false, false, true]);
}
