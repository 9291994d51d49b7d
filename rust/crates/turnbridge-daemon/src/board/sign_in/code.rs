//! Signs in a browser that cannot read the state folder: the user types the code that the terminal
//! shows. A code is easier to guess than a ticket, so that only a few tries are allowed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::Path;

use serde_json::{Value, json};
use turnbridge_core::board::board_wire::CodeFile;
use turnbridge_core::board::sign_in::{
    CODE_VALID, MOST_WRONG_CODES, TicketStatus, code_of, shown_code, typed_code,
};
use turnbridge_store::files::atomic_file::write_atomically;
use turnbridge_store::paths::StatePaths;
use turnbridge_system::random;

use crate::board::token;

/// A code that this process has made. Its file is removed when it is dropped.
pub struct Code {
    paths: StatePaths,
    secret: String,
}

impl Code {
    /// Makes a code. The previous one becomes invalid.
    pub fn make(paths: &StatePaths) -> io::Result<Code> {
        let code = Code { paths: paths.clone(), secret: code_of(random::bytes()?) };
        write(paths, &CodeFile { version: 1, code: code.secret.clone(), wrong: 0 })?;
        Ok(code)
    }

    /// Returns the code as the user sees it.
    pub fn shown(&self) -> String {
        shown_code(&self.secret)
    }

    /// Returns whether the code is still valid, and if not, why.
    pub fn standing(&self) -> TicketStatus {
        match read(&self.paths) {
            Ok(file) if file.code != self.secret => TicketStatus::Replaced,
            Ok(file) if file.wrong >= MOST_WRONG_CODES => TicketStatus::Void,
            Ok(_) => TicketStatus::Open,
            Err(error) if error.kind() == io::ErrorKind::NotFound => TicketStatus::Used,
            Err(_) => TicketStatus::Replaced,
        }
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        if read(&self.paths).is_ok_and(|file| file.code == self.secret) {
            let _ = fs::remove_file(self.paths.board_code());
        }
    }
}

/// The reason why a code is refused.
#[derive(Debug, PartialEq, Eq)]
pub enum CodeRefusal {
    /// No code is valid at present.
    NoCode,
    Wrong {
        tries_left: u32,
    },
    /// There were too many wrong tries.
    Void,
}

impl CodeRefusal {
    /// Returns the value that the page reads.
    pub fn reason(&self) -> Value {
        match self {
            CodeRefusal::NoCode => json!("no_code"),
            CodeRefusal::Wrong { tries_left } => json!({ "wrong_code": tries_left }),
            CodeRefusal::Void => json!("void_code"),
        }
    }
}

/// Redeems a code, once. A try is counted before the comparison, so that a try that cannot be
/// counted (a full disk) fails.
pub fn redeem(paths: &StatePaths, given: &str) -> Result<(), CodeRefusal> {
    redeem_after(paths, given, || ())
}

/// Calls `meanwhile` after it has read the code and before it counts the try. Tests remove or
/// replace the code there, as another process can.
fn redeem_after(
    paths: &StatePaths,
    given: &str,
    meanwhile: impl FnOnce(),
) -> Result<(), CodeRefusal> {
    let path = paths.board_code();
    let Some((opened, mut file)) = open_fresh(&path) else {
        let _ = fs::remove_file(&path);
        return Err(CodeRefusal::NoCode);
    };
    meanwhile();
    if file.wrong >= MOST_WRONG_CODES {
        return Err(CodeRefusal::Void);
    }
    file.wrong += 1;
    if count(&opened, &file).is_err() {
        let _ = fs::remove_file(&path);
        return Err(CodeRefusal::NoCode);
    }
    if read(paths).ok().is_none_or(|now| now.code != file.code) {
        return Err(CodeRefusal::NoCode);
    }
    match token::is_same(&file.code, &typed_code(given)) {
        true => fs::remove_file(&path).map_err(|_| CodeRefusal::NoCode),
        false if file.wrong >= MOST_WRONG_CODES => Err(CodeRefusal::Void),
        false => Err(CodeRefusal::Wrong { tries_left: MOST_WRONG_CODES - file.wrong }),
    }
}

fn open_fresh(path: &Path) -> Option<(File, CodeFile)> {
    let mut opened = OpenOptions::new().read(true).write(true).open(path).ok()?;
    let age = opened.metadata().ok()?.modified().ok()?.elapsed().ok()?;
    let mut bytes = Vec::new();
    opened.read_to_end(&mut bytes).ok()?;
    let file: CodeFile = serde_json::from_slice(&bytes).ok()?;
    (age <= CODE_VALID && !file.code.is_empty()).then_some((opened, file))
}

/// Writes the count into the opened file itself. A removed file therefore does not come back, and a
/// replacement stays unchanged. The length stays the same, because the count has one digit.
fn count(mut opened: &File, file: &CodeFile) -> io::Result<()> {
    let made_at = opened.metadata()?.modified()?;
    opened.rewind()?;
    opened.write_all(&serde_json::to_vec(file)?)?;
    // A try must not renew the code's age.
    opened.set_modified(made_at)
}

fn read(paths: &StatePaths) -> io::Result<CodeFile> {
    Ok(serde_json::from_slice(&fs::read(paths.board_code())?)?)
}

fn write(paths: &StatePaths, file: &CodeFile) -> io::Result<()> {
    write_atomically(&paths.board_code(), &serde_json::to_vec(file)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, SystemTime};

    fn make() -> (tempfile::TempDir, StatePaths, Code) {
        let folder = tempfile::tempdir().unwrap();
        let paths = StatePaths::below(folder.path());
        let code = Code::make(&paths).unwrap();
        (folder, paths, code)
    }

    fn age(paths: &StatePaths, age: Duration) {
        let file = fs::OpenOptions::new().write(true).open(paths.board_code()).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
    }

    #[test]
    fn a_code_is_good_once_and_the_last_one_alone() {
        let (_folder, paths, first) = make();
        let code = Code::make(&paths).unwrap();
        assert_ne!(first.secret, code.secret);
        assert_eq!(
            (first.standing(), code.standing()),
            (TicketStatus::Replaced, TicketStatus::Open)
        );
        drop(first);
        assert_eq!(redeem(&paths, "?"), Err(CodeRefusal::Wrong { tries_left: 4 }));
        assert_eq!(redeem(&paths, &code.shown().to_lowercase()), Ok(()));
        assert_eq!(code.standing(), TicketStatus::Used);
        assert_eq!(redeem(&paths, &code.shown()), Err(CodeRefusal::NoCode));
    }

    #[test]
    fn five_wrong_ones_end_it_and_the_right_one_is_not_taken_any_more() {
        let (_folder, paths, code) = make();
        for tries_left in (1..MOST_WRONG_CODES).rev() {
            assert_eq!(redeem(&paths, "00000000"), Err(CodeRefusal::Wrong { tries_left }));
        }
        assert_eq!(redeem(&paths, ""), Err(CodeRefusal::Void));
        assert_eq!(redeem(&paths, &code.shown()), Err(CodeRefusal::Void));
        assert_eq!(code.standing(), TicketStatus::Void);
        drop(code);
        assert!(!paths.board_code().exists());
    }

    #[test]
    fn it_grows_old_also_while_it_is_being_tried() {
        let (_folder, paths, code) = make();
        age(&paths, CODE_VALID - Duration::from_secs(2));
        assert!(redeem(&paths, "00000000").is_err());
        let modified = fs::metadata(paths.board_code()).unwrap().modified().unwrap();
        assert!(modified.elapsed().unwrap() > CODE_VALID - Duration::from_secs(3));
        age(&paths, CODE_VALID + Duration::from_secs(1));
        assert_eq!(redeem(&paths, &code.shown()), Err(CodeRefusal::NoCode));
        assert!(!paths.board_code().exists());
    }

    #[test]
    fn one_that_goes_while_it_is_tried_does_not_come_back() {
        for is_right in [false, true] {
            let (_folder, paths, code) = make();
            let given = if is_right { code.shown() } else { "00000000".to_owned() };
            assert_eq!(redeem_after(&paths, &given, || drop(code)), Err(CodeRefusal::NoCode));
            assert!(!paths.board_code().exists());
            let (_folder, paths, first) = make();
            let given = if is_right { first.shown() } else { "00000000".to_owned() };
            let mut second = None;
            let replace = || second = Code::make(&paths).ok();
            assert_eq!(redeem_after(&paths, &given, replace), Err(CodeRefusal::NoCode));
            assert_eq!(second.as_ref().map(Code::standing), Some(TicketStatus::Open));
            assert_eq!(redeem(&paths, &second.unwrap().shown()), Ok(()));
        }
    }

    #[test]
    fn an_empty_or_damaged_file_is_no_code() {
        let (_folder, paths, _code) = make();
        for text in ["", "{}", r#"{"version":1,"code":"","wrong":0}"#] {
            fs::write(paths.board_code(), text).unwrap();
            assert_eq!(redeem(&paths, ""), Err(CodeRefusal::NoCode), "{text}");
        }
    }
}
