//! Interprets one operating system command (OSC) of a terminal's output, without its introducer and
//! its terminator.

use percent_encoding::percent_decode;

use super::OscEvent;

/// Returns the observations in the text of one sequence; none if it is of another kind.
pub fn of_sequence(text: &[u8]) -> Vec<OscEvent> {
    let separator = text.iter().position(|byte| *byte == b';');
    let (code, rest) = match separator {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, &text[text.len()..]),
    };
    match code {
        b"0" | b"2" => vec![OscEvent::Title(String::from_utf8_lossy(rest).into_owned())],
        b"7" => cwd_of_uri(rest).map_or_else(Vec::new, told),
        b"9" => {
            // ConEmu's, which Windows Terminal and Turnbridge's PowerShell script use.
            let path = rest.strip_prefix(b"9;").map(unquoted);
            path.and_then(|path| cwd(path, None)).map_or_else(Vec::new, told)
        }
        b"1337" => {
            let path = rest.strip_prefix(b"CurrentDir=");
            path.and_then(|path| cwd(path, None)).map_or_else(Vec::new, told)
        }
        b"133" | b"633" if is_prompt_mark(rest) => vec![OscEvent::PromptReturned],
        _ => Vec::new(),
    }
}

/// Returns the folder and the prompt: a shell reports its folder when it shows its prompt (KT-44).
fn told(cwd: OscEvent) -> Vec<OscEvent> {
    vec![cwd, OscEvent::PromptReturned]
}

/// Matches `A`, perhaps with parameters; `k=s` is the prompt of a command's second line.
fn is_prompt_mark(text: &[u8]) -> bool {
    let mut parts = text.split(|byte| *byte == b';');
    parts.next() == Some(b"A") && !parts.any(|part| part == b"k=s")
}

/// Parses `file://HOST/PATH`, and kitty's `kitty-shell-cwd://HOST/PATH`, which is not encoded.
fn cwd_of_uri(uri: &[u8]) -> Option<OscEvent> {
    let (rest, is_encoded) = match uri.strip_prefix(b"file://") {
        Some(rest) => (rest, true),
        None => (uri.strip_prefix(b"kitty-shell-cwd://")?, false),
    };
    let slash = rest.iter().position(|byte| *byte == b'/')?;
    let (host, path) = rest.split_at(slash);
    let path = if is_encoded { percent_decode(path).collect() } else { path.to_vec() };
    let path = match path.as_slice() {
        // `file:///C:/Users`.
        [b'/', drive, b':', ..] if drive.is_ascii_alphabetic() => &path[1..],
        path => path,
    };
    let host = String::from_utf8_lossy(host).into_owned();
    cwd(path, Some(host).filter(|host| !host.is_empty()))
}

fn cwd(path: &[u8], host: Option<String>) -> Option<OscEvent> {
    let is_path = !path.is_empty() && !path.iter().any(u8::is_ascii_control);
    is_path.then(|| OscEvent::Cwd { path: String::from_utf8_lossy(path).into_owned(), host })
}

fn unquoted(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\"").and_then(|text| text.strip_suffix(b"\"")).unwrap_or(text)
}
