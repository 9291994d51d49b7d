//! Decides the steps of a browser's sign-in to the board, and builds its codes and its page. A
//! browser signs in with a ticket from a page in the state folder, or with a code that the user
//! types. The board accepts each once and for a short time, and then gives the browser its token.
//!
//! A browser is started with the address of the page's file, or with the board's plain address:
//! every user of the machine can read the arguments of a program, so they must contain no secret.
//! No files, clock or randomness are used here.

use core::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};

/// How long a ticket is valid. A browser that has to be started first takes some seconds.
pub const TICKET_VALID: Duration = Duration::from_secs(60);
/// How long a code is valid: the user has to find the right window and type it.
pub const CODE_VALID: Duration = Duration::from_secs(5 * 60);
/// The timeout of the browser's sign-in by ticket, after which a code is shown.
pub const BROWSER_TIMEOUT: Duration = Duration::from_secs(5);
/// The number of wrong codes that make the right one void.
pub const MOST_WRONG_CODES: u32 = 5;

/// No two of them look or sound alike (Crockford's base 32).
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/// Of 5 bits each: with 5 tries, one guess in 2 · 10^11 is right.
const CODE_LETTERS: usize = 8;

/// Returns the code of some random bytes, without the dash of the shown form.
pub fn code_of(random: [u8; CODE_LETTERS]) -> String {
    random.iter().map(|byte| char::from(ALPHABET[usize::from(byte % 32)])).collect()
}

/// Returns `ABCD-1234` for `ABCD1234`.
pub fn shown_code(code: &str) -> String {
    match code.split_at_checked(code.len() / 2) {
        Some((first, second)) => format!("{first}-{second}"),
        None => code.to_owned(),
    }
}

/// Returns a typed code in the form of `code_of`: case, blanks and dashes do not count, letters
/// that look like a digit are that digit, and the wide forms of an input method are the narrow
/// ones.
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
    // One character too many is enough to make it wrong.
    letters.take(CODE_LETTERS + 1).collect()
}

/// Returns the page that redirects a browser to the board with a ticket. The browser reads it from
/// a file, so it loads no other resource, and it sends no referrer.
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

/// The characters that are escaped in the path of an address.
const NOT_IN_PATH: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// Returns the `file:` address of an absolute path, given as the bytes of the system, or with the
/// slashes and drives of Windows.
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

/// The state of a ticket or a code, by its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TicketStatus {
    Open,
    /// It was exchanged, which removes its file.
    Used,
    /// A later one has replaced it.
    Replaced,
    /// Too many wrong codes were tried.
    Void,
}

/// The state of a sign-in, as known to the command that has started it.
#[derive(Debug, Clone, Copy)]
pub struct SignInProgress {
    pub ticket: Option<TicketStatus>,
    pub code: Option<TicketStatus>,
    /// Since the sign-in began, and since the code was shown.
    pub waited: Duration,
    pub waited_for_code: Duration,
    /// The machine has no program that opens addresses, or the one that was started has failed.
    pub has_no_browser: bool,
    /// The daemon that was running at the beginning still serves its board.
    pub is_board_there: bool,
}

/// The next step of the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignInStep {
    Wait,
    ShowCode,
    /// A browser has signed in.
    Done,
    BoardGone,
    /// Another command has started its own sign-in.
    Replaced,
    TooManyWrongCodes,
    CodeExpired,
}

/// Returns the next step of the command that has started the sign-in.
pub fn next_step(progress: &SignInProgress) -> SignInStep {
    let is = |standing| [progress.ticket, progress.code].contains(&Some(standing));
    match progress {
        SignInProgress { is_board_there: false, .. } => SignInStep::BoardGone,
        _ if is(TicketStatus::Used) => SignInStep::Done,
        _ if is(TicketStatus::Replaced) => SignInStep::Replaced,
        _ if is(TicketStatus::Void) => SignInStep::TooManyWrongCodes,
        SignInProgress { code: Some(_), waited_for_code, .. } if *waited_for_code >= CODE_VALID => {
            SignInStep::CodeExpired
        }
        SignInProgress { code: Some(_), .. } => SignInStep::Wait,
        SignInProgress { has_no_browser, waited, .. }
            if *has_no_browser || *waited >= BROWSER_TIMEOUT =>
        {
            SignInStep::ShowCode
        }
        _ => SignInStep::Wait,
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
        use TicketStatus::{Open, Replaced, Used, Void};
        let begun = SignInProgress {
            ticket: Some(Open),
            code: None,
            waited: Duration::from_secs(1),
            waited_for_code: Duration::ZERO,
            has_no_browser: false,
            is_board_there: true,
        };
        let late = SignInProgress { waited: BROWSER_TIMEOUT, ..begun };
        let shown = SignInProgress { code: Some(Open), ..late };
        for (progress, step) in [
            (begun, SignInStep::Wait),
            (SignInProgress { ticket: Some(Used), ..begun }, SignInStep::Done),
            (SignInProgress { ticket: Some(Replaced), ..begun }, SignInStep::Replaced),
            (SignInProgress { has_no_browser: true, ..begun }, SignInStep::ShowCode),
            (SignInProgress { has_no_browser: true, ticket: None, ..begun }, SignInStep::ShowCode),
            (late, SignInStep::ShowCode),
            (SignInProgress { ticket: Some(Used), ..late }, SignInStep::Done),
            (shown, SignInStep::Wait),
            (SignInProgress { ticket: Some(Used), ..shown }, SignInStep::Done),
            (SignInProgress { code: Some(Used), ..shown }, SignInStep::Done),
            (SignInProgress { code: Some(Replaced), ..shown }, SignInStep::Replaced),
            (SignInProgress { code: Some(Void), ..shown }, SignInStep::TooManyWrongCodes),
            (SignInProgress { waited_for_code: CODE_VALID, ..shown }, SignInStep::CodeExpired),
            // Its files are removed with it, which is no sign-in.
            (
                SignInProgress { is_board_there: false, ticket: Some(Used), ..shown },
                SignInStep::BoardGone,
            ),
        ] {
            assert_eq!(next_step(&progress), step, "{progress:?}");
        }
    }
}
