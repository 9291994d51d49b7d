//! Tests that every engine gets its own arguments, that no engine can take the text for an option,
//! and that rates are converted.

use super::*;

/// Returns the arguments in one line, then the text for stdin.
fn shown(engine: Engine, language: Language, manner: &Manner, target: SpeechTarget<'_>) -> String {
    let utterance = Utterance { language, text: "-x $(id) 'q'".to_owned() };
    let call = engine.call(&utterance, manner, target);
    let arguments: Vec<_> = call
        .arguments
        .iter()
        .map(|argument| argument.to_string_lossy().replace(POWERSHELL_SCRIPT, "SCRIPT"))
        .collect();
    format!("{} < {:?}\n", arguments.join(" "), call.stdin)
}

fn all(engine: Engine) -> String {
    let plain = Manner::default();
    let chosen = Manner {
        english: Some("Vera".to_owned()),
        words_per_minute: Some(250),
        ..Manner::default()
    };
    let file = Path::new("out.wav");
    let mut text = shown(engine, Language::Japanese, &plain, SpeechTarget::Play)
        + &shown(engine, Language::English, &chosen, SpeechTarget::Play);
    if engine.can_write() {
        text += &shown(engine, Language::English, &plain, SpeechTarget::Write(file));
    }
    text
}

#[test]
fn every_engine_gets_its_own_arguments_and_no_text_that_it_could_take_for_one() {
    insta::assert_snapshot!(all(Engine::Say), @r#"
    -v Kyoko -f - < "-x $(id) 'q'"
    -v Vera -r 250 -f - < "-x $(id) 'q'"
    -o out.wav --file-format=WAVE --data-format=LEI16@22050 -f - < "-x $(id) 'q'"
    "#);
    insta::assert_snapshot!(all(Engine::SpdSay), @r#"
    -l ja --wait -- -x $(id) 'q' < ""
    -l en -y Vera -r 36 --wait -- -x $(id) 'q' < ""
    "#);
    insta::assert_snapshot!(all(Engine::EspeakNg), @r#"
    -v ja --stdin < "-x $(id) 'q'"
    -v Vera -s 250 --stdin < "-x $(id) 'q'"
    -v en -w out.wav --stdin < "-x $(id) 'q'"
    "#);
    insta::assert_snapshot!(all(Engine::PowerShell), @r#"
    -NoProfile -NonInteractive -Command SCRIPT < "ja-JP\n\n\nplay\n-x $(id) 'q'"
    -NoProfile -NonInteractive -Command SCRIPT < "en-US\nVera\n3\nplay\n-x $(id) 'q'"
    -NoProfile -NonInteractive -Command SCRIPT < "en-US\n\n\nwrite\n-x $(id) 'q'"
    "#);
}

#[test]
fn rates_are_translated() {
    assert_eq!([80, 125, 170, 280, 600].map(spd_say_rate), [-100, -50, 0, 50, 100]);
    assert_eq!([50, 60, 180, 540, 600].map(power_shell_rate), [-10, -10, 0, 10, 10]);
}
