//! Tests the drawn screen at several sizes, with and without colour: texts, dots, the cursor, and
//! that hostile texts bring no control characters.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;
use std::collections::BTreeMap;
use std::time::Duration;
use turnbridge_core::ids::Agent;
use turnbridge_core::session::{Activity, Detail, State};
use turnbridge_core::terminals::pane_id::PaneId;
use turnbridge_core::terminals::panes::{LastLaunch, Panes};

use super::*;
use crate::watch::key::Key;
use crate::watch::sample::{NOW, changes, in_pane, key, session, turn};

const COLOR: ViewStyle = ViewStyle { color: true };
const PLAIN: ViewStyle = ViewStyle { color: false };

fn model() -> WatchModel {
    let mut model = WatchModel::new(SessionFilter::Live);
    let mut failed = session(4, "日本語のプロジェクト", State::Completed, 90);
    let error = "rate_limit".to_owned();
    failed.runs[0].activity = Activity::Completed(Some(Detail::Failed { error }));
    model.apply(changes([
        in_pane(session(1, "alpha", State::WaitingUser, 200)),
        in_pane(session(2, "beta", State::Working, 5)),
        session(3, "gamma", State::Working, 4_000),
        failed,
        session(5, "omega", State::Stopped, 90_000),
    ]));
    model.set_turns(
        key(1),
        vec![
            turn("the first one", "yes", 9_000),
            turn("日本語の最初の\n質問", "はい", 7_200),
            turn(
                "prompt 1",
                "An answer with **Markdown** and 日本語の長い文章が続きます。\n\n1. one\n2. two",
                300,
            ),
        ],
    );
    model
}

fn screen(
    model: &WatchModel,
    look: ViewStyle,
    now: Timestamp,
    width: u16,
    height: u16,
) -> (String, Buffer) {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let mut cursor = None;
    terminal
        .draw(|frame| {
            cursor = draw(model, look, now, frame.area(), frame.buffer_mut()).cursor;
        })
        .unwrap();
    let buffer = terminal.backend().buffer().clone();
    let mut text = String::new();
    for y in 0..height {
        let mut line = String::new();
        let mut x = 0;
        while x < width {
            let symbol = buffer[(x, y)].symbol();
            line.push_str(symbol);
            // The second half of a wide character is a separate cell.
            x += u16::try_from(symbol.width().max(1)).unwrap();
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    if let Some(cursor) = cursor {
        text.push_str(&format!("cursor: {},{}\n", cursor.x, cursor.y));
    }
    (text, buffer)
}

fn text(model: &WatchModel, look: ViewStyle, width: u16, height: u16) -> String {
    screen(model, look, NOW, width, height).0
}

/// Names of folders, prompts, answers and tools are untrusted text.
#[test]
fn nothing_reaches_the_terminal_that_it_would_act_on_or_nobody_would_see() {
    let hostile = "x\u{1b}[2J\u{9b}31m\u{202e}\u{200b}\u{e0041}\u{7}y";
    let mut model = WatchModel::new(SessionFilter::Live);
    let mut waiting = session(1, hostile, State::WaitingUser, 200);
    waiting.model = Some(hostile.to_owned());
    model.apply(changes([waiting]));
    let said = format!("{hostile}\n{hostile}");
    model.set_turns(key(1), vec![turn(hostile, &said, 9_000), turn(hostile, &said, 300)]);
    model.say(hostile);
    for (width, height) in [(120, 30), (80, 24), (30, 10)] {
        let (text, buffer) = screen(&model, COLOR, NOW, width, height);
        let cells = buffer.content().iter().map(|cell| cell.symbol()).collect::<String>();
        assert_eq!(cells, turnbridge_core::text::visible_text::visible(&cells));
        assert!(text.contains("\\u001b[2J"), "{text}");
    }
}

#[test]
fn a_wide_terminal_shows_the_chosen_session_beside_the_list() {
    insta::assert_snapshot!(text(&model(), COLOR, 100, 22), @"
    1 waiting  2 working  1 completed
    >●■ claude alpha             3m waiting (Bash)    │ alpha (claude) waiting (Bash) 3m
     ●  claude beta              5s working           │ folder   /home/user/alpha
     ○  codex  gamma             1h working           │ model    opus
     ○  claude 日本語のプロジ…   1m failed: rate_limit│ session  825c8529-ee09-4cb8-8902-000000000001
                                                      │
                                                      │ prompt
                                                      │ prompt 1
                                                      │
                                                      │ answer before
                                                      │ An answer with **Markdown** and
                                                      │ 日本語の長い文章が続きます。
                                                      │
                                                      │ 1. one
                                                      │ 2. two
                                                      │
                                                      │ earlier turns
                                                      │  2h 日本語の最初の 質問
                                                      │  2h the first one
                                                      │
                                                      │
    j/k move  / filter  a all  Enter focus  r reply  y copy  ? help  q quit
    ");
}

#[test]
fn a_narrow_one_shows_it_below() {
    insta::assert_snapshot!(text(&model(), COLOR, 50, 20), @"
    1 waiting  2 working  1 completed
    >●■ claude alpha             3m waiting (Bash)
     ●  claude beta              5s working
     ○  codex  gamma             1h working
     ○  claude 日本語のプロジ…   1m failed: rate_limit
    ──────────────────────────────────────────────────
    alpha (claude) waiting (Bash) 3m
    folder   /home/user/alpha
    model    opus
    session  825c8529-ee09-4cb8-8902-000000000001

    prompt
    prompt 1

    answer before
    An answer with **Markdown** and
    日本語の長い文章が続きます。

    1. one
    j/k move  / filter  a all  Enter focus  r reply  …
    ");
}

#[test]
fn a_low_one_shows_the_list_alone() {
    insta::assert_snapshot!(text(&model(), COLOR, 36, 7), @"
    1 waiting  2 working  1 completed
    >●■ alpha         3m waiting (Bash)
     ●  beta          5s working
     ○  gamma         1h working
     ○  日本語のプ…   1m failed: rate_l…

    j/k move  / filter  a all  Enter fo…
    ");
}

#[test]
fn a_tiny_one_still_says_who_waits() {
    insta::assert_snapshot!(text(&model(), COLOR, 20, 5), @"
    1 waiting  2 workin…
    >●■ alpha waiting (…
     ●  beta  working
     ○  gamma working
    j/k move  / filter …
    ");
    insta::assert_snapshot!(text(&model(), PLAIN, 20, 2), @"
    >!  alpha waiting (…
    j/k move  / filter …
    ");
}

#[test]
fn x27_without_colour_there_are_marks() {
    insta::assert_snapshot!(text(&model(), PLAIN, 60, 6), @"
    1 waiting  2 working  1 completed
    >!  claude alpha                 3m waiting (Bash)
     *  claude beta                  5s working
     *  codex  gamma                 1h working
     -  claude 日本語のプロジェクト  1m failed: rate_limit
    j/k move  / filter  a all  Enter focus  r reply  y copy  ? …
    ");
    let (_, buffer) = screen(&model(), PLAIN, NOW, 60, 6);
    let is_plain =
        |cell: &ratatui::buffer::Cell| cell.fg == Color::Reset && cell.bg == Color::Reset;
    assert!(buffer.content().iter().all(is_plain));
}

/// Returns the first four rows of the list: dot, stop mark, colour of both.
fn dots(model: &WatchModel, now: Timestamp) -> Vec<(String, String, Color)> {
    let (_, buffer) = screen(model, COLOR, now, 60, 6);
    (1..5)
        .map(|y| {
            let [dot, mark] = [1, 2].map(|x| buffer[(x, y)].clone());
            (dot.symbol().to_owned(), mark.symbol().to_owned(), dot.fg)
        })
        .collect()
}

#[test]
fn kt_77_to_82_dots_have_the_colour_of_their_state_and_a_mark_when_somebody_is_needed() {
    let dot = |dot: &str, mark: &str, color| (dot.to_owned(), mark.to_owned(), color);
    let lit = [
        dot("●", "■", Color::Indexed(208)),
        dot("●", " ", Color::Green),
        dot("○", " ", Color::Green),
        dot("○", " ", Color::Blue),
    ];
    assert_eq!(dots(&model(), NOW), lit);
    let mut dark = lit;
    dark[1].0 = " ".to_owned();
    dark[2].0 = " ".to_owned();
    assert_eq!(dots(&model(), NOW.plus(Duration::from_millis(500))), dark);
}

#[test]
fn kt_82_work_whose_screen_has_stopped_has_the_stop_mark_too() {
    let mut model = model();
    let agent = Agent::Claude;
    let launched =
        LastLaunch { agent, at: NOW, env: BTreeMap::new(), output_stopped_at: Some(NOW) };
    // Both sessions with a pane are in this one.
    let launches = [(PaneId::new("tmux:%1"), launched)].into();
    model.set_panes(Panes { launches, ..Panes::default() });
    let marks = dots(&model, NOW).into_iter().map(|(_, mark, _)| mark).collect::<Vec<_>>();
    assert_eq!(marks, ["■", "■", " ", " "]);
}

#[test]
fn kt_80_a_stopped_session_has_no_dot() {
    let mut model = model();
    model.press(Key::Character('a'));
    model.press(Key::Character('G'));
    insta::assert_snapshot!(text(&model, COLOR, 60, 8), @"
    1 waiting  2 working  1 completed  1 stopped
     ●■ claude alpha                 3m waiting (Bash)
     ●  claude beta                  5s working
     ○  codex  gamma                 1h working
     ○  claude 日本語のプロジェクト  1m failed: rate_limit
    >   claude omega                 1d stopped

    j/k move  / filter  a all  Enter focus  r reply  y copy  ? …
    ");
}

#[test]
fn a_reply_is_typed_at_the_bottom() {
    let mut model = model();
    model.press(Key::Character('r'));
    insta::assert_snapshot!(text(&model, COLOR, 60, 10), @"
    1 waiting  2 working  1 completed
    >●■ claude alpha                 3m waiting (Bash)
     ●  claude beta                  5s working
     ○  codex  gamma                 1h working
     ○  claude 日本語のプロジェクト  1m failed: rate_limit



    reply to alpha: Enter sends, Alt-Enter a new line, Esc canc…

    cursor: 0,9
    ");
    model.paste("yes, 日本語で\nand a second line that is longer than the terminal is wide, so that it goes on");
    insta::assert_snapshot!(text(&model, COLOR, 60, 12), @"
    1 waiting  2 working  1 completed
    >●■ claude alpha                 3m waiting (Bash)
     ●  claude beta                  5s working
     ○  codex  gamma                 1h working
     ○  claude 日本語のプロジェクト  1m failed: rate_limit



    reply to alpha: Enter sends, Alt-Enter a new line, Esc canc…
    yes, 日本語で
    and a second line that is longer than the terminal is wide,
    so that it goes on
    cursor: 18,11
    ");
    insta::assert_snapshot!(text(&model, COLOR, 20, 5), @"
    1 waiting  2 workin…
    >●■ alpha waiting (…
     ●  beta  working
    reply to alpha: Ent…
    so that it goes on
    cursor: 18,4
    ");
}

#[test]
fn a_filter_is_typed_at_the_bottom_and_then_stands_at_the_top() {
    let mut model = model();
    model.press(Key::Character('/'));
    model.paste("日本");
    insta::assert_snapshot!(text(&model, COLOR, 60, 6), @"
    1 waiting  2 working  1 completed
    >○  claude 日本語のプロジェクト  1m failed: rate_limit



    /日本
    cursor: 5,5
    ");
    model.press(Key::Enter);
    insta::assert_snapshot!(text(&model, COLOR, 60, 6), @"
    1 waiting  2 working  1 completed  /日本
    >○  claude 日本語のプロジェクト  1m failed: rate_limit



    j/k move  / filter  a all  Enter focus  r reply  y copy  ? …
    ");
    model.press(Key::Character('/'));
    model.paste("x");
    insta::assert_snapshot!(text(&model, COLOR, 60, 6), @"
    1 waiting  2 working  1 completed
    no session matches (Esc shows all again)



    /日本x
    cursor: 6,5
    ");
}

#[test]
fn help_names_the_keys() {
    let mut model = model();
    model.press(Key::Character('?'));
    insta::assert_snapshot!(text(&model, COLOR, 60, 18), @"
    1 waiting  2 working  1 completed
    j k, arrows  choose a session; g and G: the first, the last
    PgDn PgUp    scroll what it said
    /            filter by project, tool, state or words of the
                 prompt; Esc ends it
    a            all sessions, or only those that live
    Enter, f     go to its terminal
    r            reply: Enter sends, Alt-Enter or Ctrl-J begins
                 a line, Esc cancels
    y            copy the command that resumes it
    q, Ctrl-C    quit
    green, *     working
    orange, !    waits for you
    blue, -      completed
    ○            its terminal is not known


    j/k move  / filter  a all  Enter focus  r reply  y copy  ? …
    ");
}

#[test]
fn a_long_message_is_wrapped_and_leaves_room_for_the_list() {
    let mut model = model();
    model.press(Key::Character('y'));
    insta::assert_snapshot!(text(&model, COLOR, 40, 8), @"
    1 waiting  2 working  1 completed
    >●■ claude alpha          3m waiting (B…
     ●  claude beta           5s working
     ○  codex  gamma          1h working
     ○  claude 日本語のプロ…  1m failed: ra…

    copied: cd /home/user/alpha && claude -r
    825c8529-ee09-4cb8-8902-000000000001
    ");
}

#[test]
fn nothing_at_all_is_said_plainly() {
    insta::assert_snapshot!(text(&WatchModel::new(SessionFilter::Live), COLOR, 60, 4), @"
    0 waiting  0 working  0 completed
    no sessions yet

    j/k move  / filter  a all  Enter focus  r reply  y copy  ? …
    ");
    let mut stopped = WatchModel::new(SessionFilter::Live);
    stopped.apply(changes([session(5, "omega", State::Stopped, 9)]));
    insta::assert_snapshot!(text(&stopped, COLOR, 60, 4), @"
    0 waiting  0 working  0 completed
    no live sessions (a: the stopped ones too)

    j/k move  / filter  a all  Enter focus  r reply  y copy  ? …
    ");
}

#[test]
fn scrolling_ends_with_the_text() {
    let mut model = model();
    model.set_scroll(1_000);
    let area = Rect::new(0, 0, 100, 12);
    let drawn = draw(&model, COLOR, NOW, area, &mut Buffer::empty(area));
    assert!((1..30).contains(&drawn.scroll), "{drawn:?}");
    model.set_scroll(drawn.scroll);
    assert!(text(&model, COLOR, 100, 12).contains("the first one"));
}

#[test]
fn no_size_is_too_small_and_no_mode_too_large() {
    let modes: [fn(&mut WatchModel); 5] = [
        |_| {},
        |model| drop(model.press(Key::Character('/'))),
        |model| drop(model.press(Key::Character('?'))),
        |model| drop(model.press(Key::Character('y'))),
        |model| {
            model.press(Key::Character('r'));
            model.paste("日本語\n\n\n日本語日本語日本語");
        },
    ];
    for set in modes {
        let mut model = model();
        set(&mut model);
        for (width, height) in (0..24).flat_map(|width| (0..8).map(move |height| (width, height))) {
            let area = Rect::new(0, 0, width, height);
            let drawn = draw(&model, COLOR, NOW, area, &mut Buffer::empty(area));
            let is_inside = |at: Position| width == 0 || height == 0 || area.contains(at);
            assert!(drawn.cursor.is_none_or(is_inside), "{width}x{height}: {drawn:?}");
        }
    }
}

#[test]
fn the_list_is_drawn_again_when_an_age_or_a_dot_changes() {
    let next = |model: &WatchModel, look| next_change(model, look, NOW, 10);
    assert_eq!(next(&model(), COLOR), Some(Duration::from_millis(500)));
    assert_eq!(next(&model(), PLAIN), Some(Duration::from_secs(1)));
    let mut quiet = WatchModel::new(SessionFilter::Live);
    assert_eq!(next(&quiet, COLOR), None);
    quiet.apply(changes([session(1, "alpha", State::Completed, 7_200)]));
    assert_eq!(next(&quiet, COLOR), Some(Duration::from_secs(3_600)));
    // Invisible rows do not count.
    assert_eq!(next_change(&model(), COLOR, NOW, 1), Some(Duration::from_secs(40)));
}
