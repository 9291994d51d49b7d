//! How a browser signs in to the board: by a page in the state folder that carries a ticket, or by a
//! code that a person types. Both are good once and for a short time, and both are exchanged for the
//! board's token. Pure: files, clock and randomness are elsewhere.
//!
//! Nothing here may stand in the arguments of a program, which every user of the machine can read:
//! a browser is started with the address of the page's file, or with the board's plain address.

use core::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};

/// How long a ticket is good. A browser that has to be started first takes some seconds.
pub const TICKET_VALID: Duration = Duration::from_secs(60);
/// How long a code is good: somebody has to find the right window and to type it.
pub const CODE_VALID: Duration = Duration::from_secs(5 * 60);
/// How long the browser has for the ticket before a code is shown.
pub const BROWSER_TIMEOUT: Duration = Duration::from_secs(5);
/// How many wrong codes end the right one.
pub const MOST_WRONG_CODES: u32 = 5;

/// No two of them look or sound alike (Crockford's base 32).
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/// Of 5 bits each: with 5 tries, one guess in 2 · 10^11 is right.
const CODE_LETTERS: usize = 8;

/// Makes a code of random bytes, without the dash that people see.
pub fn code_of(random: [u8; CODE_LETTERS]) -> String {
    random.iter().map(|byte| char::from(ALPHABET[usize::from(byte % 32)])).collect()
}

/// `ABCD1234` as `ABCD-1234`.
pub fn shown_code(code: &str) -> String {
    match code.split_at_checked(code.len() / 2) {
        Some((first, second)) => format!("{first}-{second}"),
        None => code.to_owned(),
    }
}

/// What somebody has typed, as `code_of` would have written it: case, blanks and dashes do not count,
/// letters that look like a digit are that digit, and the wide forms of an input method are the
/// narrow ones.
pub fn typed_code(typed: &str) -> String {
    let narrow = |letter: char| match letter {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(letter) - 0xfee0).unwrap_or(letter),
        letter => letter,
    };
    let letters = typed.chars().map(narrow).filter(char::is_ascii_alphanumeric);
    let letters = letters.map(|letter| match letter.to_ascii_uppercase() {
        'O' => '0',
        'I' | 'L' => '1',
        letter => letter,
    });
    // One more than a code has is enough to be wrong.
    letters.take(CODE_LETTERS + 1).collect()
}

/// The page that leads a browser to the board with a ticket. It is read from a file, so that it may
/// load nothing, and it sends no referrer.
pub fn page(port: u16, ticket: &str) -> String {
    let url = format!("http://127.0.0.1:{port}/#ticket={ticket}");
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"refresh\" content=\"0; url={url}\">\n\
         <title>Turnbridge</title>\n<p><a href=\"{url}\">Open the board</a>\n"
    )
}

/// What is encoded in the path of an address.
const NOT_IN_PATH: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// The `file:` address of an absolute path, given as the bytes of the system, or with the slashes and
/// drives of Windows.
pub fn file_url(path: &[u8]) -> String {
    let has_drive = path.get(1) == Some(&b':');
    let is_share = path.starts_with(br"\\") || path.starts_with(b"//");
    let slash = |byte: &u8| if *byte == b'\\' && (has_drive || is_share) { b'/' } else { *byte };
    let path: Vec<u8> = path.iter().map(slash).collect();
    let encoded = |path: &[u8]| percent_encode(path, NOT_IN_PATH).to_string();
    match path.as_slice() {
        [drive, b':', behind @ ..] => format!("file:///{}:{}", encoded(&[*drive]), encoded(behind)),
        path if is_share => format!("file:{}", encoded(path)),
        path => format!("file://{}", encoded(path)),
    }
}

/// How a ticket or a code stands, as its file tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    Open,
    /// Whoever exchanges it removes its file.
    Used,
    /// A later one has taken its place.
    Replaced,
    /// Too many wrong codes were tried.
    Void,
}

/// What the command that has started a sign-in knows of it.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    pub ticket: Option<Standing>,
    pub code: Option<Standing>,
    /// Since it began, and since the code was shown.
    pub waited: Duration,
    pub waited_for_code: Duration,
    /// No program opens addresses here, or the one that was started has failed.
    pub has_no_browser: bool,
    /// The daemon that was asked at the beginning still serves its board.
    pub is_board_there: bool,
}

/// What the command does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Wait,
    ShowCode,
    /// Somebody has signed in.
    Done,
    BoardGone,
    /// Another command has started a sign-in of its own.
    Replaced,
    TooManyWrongCodes,
    CodeExpired,
}

pub fn next_step(progress: &Progress) -> Step {
    let is = |standing| [progress.ticket, progress.code].contains(&Some(standing));
    match progress {
        Progress { is_board_there: false, .. } => Step::BoardGone,
        _ if is(Standing::Used) => Step::Done,
        _ if is(Standing::Replaced) => Step::Replaced,
        _ if is(Standing::Void) => Step::TooManyWrongCodes,
        Progress { code: Some(_), waited_for_code, .. } if *waited_for_code >= CODE_VALID => {
            Step::CodeExpired
        }
        Progress { code: Some(_), .. } => Step::Wait,
        Progress { has_no_browser, waited, .. }
            if *has_no_browser || *waited >= BROWSER_TIMEOUT =>
        {
            Step::ShowCode
        }
        _ => Step::Wait,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_what_was_shown_however_it_is_typed() {
        let code = code_of([0, 1, 10, 31, 32, 63, 200, 255]);
        insta::assert_snapshot!(code, @"01AZ0Z8Z");
        insta::assert_snapshot!(shown_code(&code), @"01AZ-0Z8Z");
        for typed in [
            "01AZ-0Z8Z",
            "01az0z8z",
            " o1az 0z8z\n",
            "OlAZ-OZ8Z",
            "０１ＡＺ－０Ｚ８Ｚ",
            "0iaz‐0z8z",
        ] {
            assert_eq!(typed_code(typed), code, "{typed}");
        }
        for typed in ["", "01AZ-0Z8", "01AZ-0Z8Z0", &"0".repeat(100_000)] {
            assert_ne!(typed_code(typed), code);
            assert!(typed_code(typed).len() <= CODE_LETTERS + 1);
        }
    }

    #[test]
    fn the_page_leads_to_the_board_and_loads_nothing() {
        insta::assert_snapshot!(page(4_000, "0123abcd"), @r##"
        <!doctype html>
        <html lang="en">
        <meta charset="utf-8">
        <meta name="referrer" content="no-referrer">
        <meta name="color-scheme" content="light dark">
        <meta http-equiv="refresh" content="0; url=http://127.0.0.1:4000/#ticket=0123abcd">
        <title>Turnbridge</title>
        <p><a href="http://127.0.0.1:4000/#ticket=0123abcd">Open the board</a>
        "##);
    }

    #[test]
    fn every_path_has_an_address() {
        let paths: [&[u8]; 8] = [
            b"/home/a/.local/state/turnbridge/board-open.html",
            "/home/日本 語/100%#?.html".as_bytes(),
            b"/home/\xff/x",
            br"C:\Users\a b\x.html",
            br"\\server\share\x.html",
            b"//server/share:1/x",
            br"C:\a:b\%\~.-_",
            b"/a:b/c\\d",
        ];
        insta::assert_snapshot!(paths.map(file_url).join("\n"), @r"
        file:///home/a/.local/state/turnbridge/board-open.html
        file:///home/%E6%97%A5%E6%9C%AC%20%E8%AA%9E/100%25%23%3F.html
        file:///home/%FF/x
        file:///C:/Users/a%20b/x.html
        file://server/share/x.html
        file://server/share%3A1/x
        file:///C:/a%3Ab/%25/~.-_
        file:///a%3Ab/c%5Cd
        ");
    }

    #[test]
    fn a_code_is_shown_when_no_browser_has_come_and_the_end_is_told_by_the_files() {
        use Standing::{Open, Replaced, Used, Void};
        let begun = Progress {
            ticket: Some(Open),
            code: None,
            waited: Duration::from_secs(1),
            waited_for_code: Duration::ZERO,
            has_no_browser: false,
            is_board_there: true,
        };
        let late = Progress { waited: BROWSER_TIMEOUT, ..begun };
        let shown = Progress { code: Some(Open), ..late };
        for (progress, step) in [
            (begun, Step::Wait),
            (Progress { ticket: Some(Used), ..begun }, Step::Done),
            (Progress { ticket: Some(Replaced), ..begun }, Step::Replaced),
            (Progress { has_no_browser: true, ..begun }, Step::ShowCode),
            (Progress { has_no_browser: true, ticket: None, ..begun }, Step::ShowCode),
            (late, Step::ShowCode),
            (Progress { ticket: Some(Used), ..late }, Step::Done),
            (shown, Step::Wait),
            (Progress { ticket: Some(Used), ..shown }, Step::Done),
            (Progress { code: Some(Used), ..shown }, Step::Done),
            (Progress { code: Some(Replaced), ..shown }, Step::Replaced),
            (Progress { code: Some(Void), ..shown }, Step::TooManyWrongCodes),
            (Progress { waited_for_code: CODE_VALID, ..shown }, Step::CodeExpired),
            // Its files are gone with it, which is no sign-in.
            (Progress { is_board_there: false, ticket: Some(Used), ..shown }, Step::BoardGone),
        ] {
            assert_eq!(next_step(&progress), step, "{progress:?}");
        }
    }
}
