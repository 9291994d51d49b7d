//! Edits `config.toml`: sets or removes values, and appends texts to a list. The other lines keep
//! their text, order and line ends.
//!
//! The file belongs to the user: one that cannot be read or parsed is never changed, and a valid
//! config is never made invalid.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use toml_edit::{Array, DocumentMut, Item, Table, TableLike, Value};
use turnbridge_core::scan::byte_order_mark::split_mark;
use turnbridge_store::files::atomic_file::write_durably;
use turnbridge_store::files::file_lock::FileLock;

use crate::path;
use crate::problem::{Problem, read_text};
use crate::section::Section;

/// The timeout for the lock. Another holder is as quick as this process.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// A change of one value in the config: a new value, or its removal.
#[derive(Debug)]
pub struct ConfigSetting<'a> {
    /// The section, as in `["destinations", "dm"]`; empty for keys above all sections.
    pub section: &'a [&'a str],
    pub key: &'a str,
    /// `None` removes the key.
    pub value: Option<Value>,
}

/// Sets `[table] key`, or removes it. Comments on separate lines stay. Returns whether the file has
/// changed.
pub fn set(table: &str, key: &str, value: Option<Value>) -> Result<bool, Problem> {
    set_all(vec![ConfigSetting { section: &[table], key, value }])
}

/// Sets several values: all of them, or none. Returns whether the file has changed, and an error if
/// a valid config would become invalid.
pub fn set_all(settings: Vec<ConfigSetting<'_>>) -> Result<bool, Problem> {
    change(|text| settings.into_iter().try_fold(text, edited))
}

/// Appends to the list `[table] key` each text that it does not contain yet. Returns whether the
/// file has changed.
pub fn extend(table: &str, key: &str, texts: &[String]) -> Result<bool, Problem> {
    change(|text| extended(&text, table, key, texts))
}

fn change(edit: impl FnOnce(String) -> Result<String, Problem>) -> Result<bool, Problem> {
    let path = path()?;
    let lock = path.with_file_name("config.toml.lock");
    let _lock = FileLock::acquire(&lock, LOCK_TIMEOUT)
        .map_err(|error| Problem::of_file("lock", &lock, &error))?;
    let before = read_text(&path)?.unwrap_or_default();
    let after = edit(before.clone()).map_err(|problem| problem.in_file(&path))?;
    if after == before {
        return Ok(false);
    }
    if crate::parse(&before).is_ok() {
        crate::parse(&after).map_err(|problem| problem.in_file(&path))?;
    }
    write_durably(&behind_links(&path), after.as_bytes())
        .map_err(|error| Problem::of_file("write", &path, &error))?;
    Ok(true)
}

fn edited(text: String, setting: ConfigSetting<'_>) -> Result<String, Problem> {
    let mut document = parsed(&text, setting.section)?;
    let before = document.to_string();
    let ConfigSetting { section, key, value } = setting;
    match value {
        Some(value) => insert(&mut document, section, key, value),
        None => remove(&mut document, section, key),
    }
    Ok(with_changed_lines(&text, &before, &document.to_string()))
}

/// Parses the text. Returns an error if `section` exists but is no section.
fn parsed(text: &str, section: &[&str]) -> Result<DocumentMut, Problem> {
    Problem::check_mark(text)?;
    let document: DocumentMut = text.parse().map_err(|error| Problem::of_syntax(text, &error))?;
    // An editable document has no places in the text.
    let document_with_places =
        toml_edit::Document::parse(text).map_err(|error| Problem::of_syntax(text, &error))?;
    Section::of(&document_with_places, section, text)?;
    Ok(document)
}

fn extended(text: &str, table: &str, key: &str, texts: &[String]) -> Result<String, Problem> {
    let mut document = parsed(text, &[table])?;
    let before = document.to_string();
    let section = document.get_mut(table).and_then(Item::as_table_like_mut);
    let list = section.and_then(|section| section.get_mut(key));
    match list.map(|item| item.as_array_mut()) {
        Some(Some(list)) => texts.iter().for_each(|text| push(list, text)),
        Some(None) => {
            let with_places = toml_edit::Document::parse(text).ok();
            let span = with_places.and_then(|document| document.get(table)?.get(key)?.span());
            let message = format!("`{table}.{key}` must be a list");
            return Err(Problem::at(text, span.unwrap_or(0..0), message));
        }
        None if texts.is_empty() => {}
        None => insert(&mut document, &[table], key, Value::Array(texts.iter().collect())),
    }
    Ok(with_changed_lines(text, &before, &document.to_string()))
}

/// Appends the text unless the list contains it. In a list of several lines it gets a separate
/// line.
fn push(list: &mut Array, text: &str) {
    if list.iter().any(|value| value.as_str() == Some(text)) {
        return;
    }
    let own_line = list.iter().last().and_then(|last| {
        let prefix = last.decor().prefix()?.as_str()?;
        prefix.contains('\n').then(|| format!("\n{}", prefix.rsplit('\n').next().unwrap_or("")))
    });
    let Some(prefix) = own_line else { return list.push(text) };
    // Text behind the last value, such as a comment, would then be in front of the comma. Behind a
    // trailing comma it belongs to the list.
    if !list.trailing_comma() {
        let end = list.iter_mut().last().and_then(|last| {
            let end = last.decor().suffix()?.as_str()?.to_owned();
            last.decor_mut().set_suffix("");
            Some(end)
        });
        list.set_trailing(end.unwrap_or_default());
        list.set_trailing_comma(true);
    }
    let trailing = list.trailing().as_str().unwrap_or_default().to_owned();
    let (comments, end) = trailing.rsplit_once('\n').unwrap_or((&trailing, ""));
    let end = format!("\n{end}");
    list.push_formatted(Value::from(text).decorated(format!("{comments}{prefix}"), ""));
    list.set_trailing(end);
}

fn insert(document: &mut DocumentMut, path: &[&str], key: &str, value: Value) {
    if section(document, path).is_none() {
        append_section(document, path);
    }
    let Some(section) = section(document, path) else { return };
    match section.get_mut(key) {
        Some(Item::Value(old)) if same(old, &value) => {}
        // A comment behind the value stays.
        Some(Item::Value(old)) => {
            let decor = old.decor().clone();
            *old = value;
            *old.decor_mut() = decor;
        }
        _ => {
            section.insert(key, Item::Value(value));
        }
    }
}

fn section<'a>(document: &'a mut DocumentMut, path: &[&str]) -> Option<&'a mut dyn TableLike> {
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for name in path {
        table = table.get_mut(name)?.as_table_like_mut()?;
    }
    Some(table)
}

/// Appends the section behind its sister sections, else at the very end. Comments that end the file
/// stay above it.
fn append_section(document: &mut DocumentMut, path: &[&str]) {
    let [parents @ .., name] = path else { return };
    let mut prefix = String::new();
    if parents.first().is_none_or(|parent| !document.contains_key(parent)) {
        prefix.push_str(document.trailing().as_str().unwrap_or_default());
        document.set_trailing("");
    }
    if !(document.is_empty() && prefix.is_empty()) {
        prefix.push('\n');
    }
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for parent in parents {
        let mut implicit = Table::new();
        implicit.set_implicit(true);
        let item = table.entry(parent).or_insert(Item::Table(implicit));
        let Some(next) = item.as_table_like_mut() else { return };
        table = next;
    }
    let mut section = Table::new();
    section.decor_mut().set_prefix(prefix);
    table.insert(name, Item::Table(section));
}

fn remove(document: &mut DocumentMut, path: &[&str], key: &str) {
    if let Some(section) = section(document, path) {
        section.remove(key);
    }
}

fn same(a: &Value, b: &Value) -> bool {
    let plain =
        |value: &Value| (value.as_bool(), value.as_integer(), value.as_str().map(str::to_owned));
    plain(a) == plain(b) && plain(a) != (None, None, None)
}

/// Puts the lines that differ between `before` and `after` into `text`. `toml_edit` writes every
/// line end as LF and no byte order mark; otherwise it writes each line as it has read it.
fn with_changed_lines(text: &str, before: &str, after: &str) -> String {
    let (mark, text) = split_mark(text);
    let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let original: Vec<&str> = text.split_inclusive('\n').collect();
    let (before, after): (Vec<&str>, Vec<&str>) =
        (before.lines().collect(), after.lines().collect());
    if original.len() != before.len() {
        return mark.to_owned() + &after.join(line_end) + line_end;
    }
    let shorter = before.len().min(after.len());
    let same_at_start = before.iter().zip(&after).take_while(|(a, b)| a == b).count();
    let at_end = before.iter().rev().zip(after.iter().rev()).take_while(|(a, b)| a == b).count();
    let same_at_end = at_end.min(shorter - same_at_start);
    let (start, rest) = original.split_at(same_at_start);
    let (replaced, end) = rest.split_at(rest.len() - same_at_end);
    let mut lines: Vec<String> = start.iter().map(|line| (*line).to_owned()).collect();
    let is_comment = |line: &&&str| line.trim_start().starts_with('#') || line.trim().is_empty();
    lines.extend(replaced.iter().filter(is_comment).map(|line| (*line).to_owned()));
    let new = &after[same_at_start..after.len() - same_at_end];
    if let Some(last) = lines.last_mut().filter(|last| !new.is_empty() && !last.ends_with('\n')) {
        last.push_str(line_end);
    }
    lines.extend(new.iter().map(|line| format!("{line}{line_end}")));
    lines.extend(end.iter().map(|line| (*line).to_owned()));
    mark.to_owned() + &lines.concat()
}

/// Returns the file that a link points to, even if that does not exist yet. So the link stays a
/// link.
fn behind_links(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    match fs::read_link(path) {
        Ok(target) => path.parent().map_or(target.clone(), |folder| folder.join(&target)),
        Err(_) => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(before: &str, value: Option<Value>) -> Result<String, Problem> {
        edited(before.to_owned(), ConfigSetting { section: &["voice"], key: "rate", value })
    }

    #[track_caller]
    fn check(before: &str, value: Option<Value>, after: &str) {
        let expected = value.as_ref().and_then(Value::as_integer);
        assert_eq!(rate(before, value).unwrap(), after);
        let document: DocumentMut = after.parse().unwrap();
        let found = document.get("voice").and_then(|voice| voice.get("rate")?.as_integer());
        assert_eq!(found, expected);
    }

    #[test]
    fn a_value_is_added_where_it_belongs() {
        let rate = || Some(Value::from(200));
        check("", rate(), "[voice]\nrate = 200\n");
        check("# mine\n", rate(), "# mine\n\n[voice]\nrate = 200\n");
        check("[gate]\n\n# x\n", rate(), "[gate]\n\n# x\n\n[voice]\nrate = 200\n");
        check("[gate]\nenabled = true", rate(), "[gate]\nenabled = true\n\n[voice]\nrate = 200\n");
        check("[voice]\r\n[gate] # x\r\n", rate(), "[voice]\r\nrate = 200\r\n[gate] # x\r\n");
        check("\u{feff}[voice]\n", rate(), "\u{feff}[voice]\nrate = 200\n");
        check("\u{feff}", rate(), "\u{feff}[voice]\nrate = 200\n");
        check("voice = { mute = true }\n", rate(), "voice = { mute = true , rate = 200 }\n");
        check("voice.mute = true\n[x]\n", rate(), "voice.mute = true\nvoice.rate = 200\n[x]\n");
    }

    #[test]
    fn a_value_is_replaced_and_its_comments_stay() {
        let before = "# a\r\n[voice] # b\n# c\nrate  =  150   # d\r\n\n# e\n";
        let after = "# a\r\n[voice] # b\n# c\nrate  =  200   # d\r\n\n# e\n";
        check(before, Some(200.into()), after);
        check("[voice]\nrate = 'fast'", Some(200.into()), "[voice]\nrate = 200\n");
        check("\u{feff}voice.rate = 1\r\n", Some(2.into()), "\u{feff}voice.rate = 2\r\n");
    }

    #[test]
    fn nothing_changes_where_nothing_is_to_change() {
        for text in
            ["[voice]\r\nrate = 2_00 # x\n\n\n", "\u{feff}voice = {rate=200}", "[voice]\nrate=200"]
        {
            check(text, Some(200.into()), text);
        }
        for text in ["", "\u{feff}# x\r\n", "[voice]\nmute = true", "[gate]\r\nrate = 1\n"] {
            check(text, None, text);
        }
    }

    #[test]
    fn a_value_is_taken_out() {
        check("[voice]\nrate = 1\nmute = true\n", None, "[voice]\nmute = true\n");
        check("# a\n[voice]\r\nrate = 1\r\n\r\n[gate]\r\n", None, "# a\n[voice]\r\n\r\n[gate]\r\n");
        check("[voice]\n\n# a\nrate = 1 # b\n# c\n", None, "[voice]\n\n# a\n# c\n");
        check("# a\n[voice]\n# a\nrate = 1\n# a\n", None, "# a\n[voice]\n# a\n# a\n");
        check("voice = { rate = 1, mute = true }", None, "voice = { mute = true }\n");
    }

    #[track_caller]
    fn check_homes(before: &str, after: &str) {
        let more = ["b".to_owned(), r"\\c\d".to_owned()];
        let text = extended(before, "codex", "homes", &more).unwrap();
        assert_eq!(text, after);
        assert_eq!(extended(&text, "codex", "homes", &more).unwrap(), text, "twice is once");
        let document: DocumentMut = text.parse().unwrap();
        let homes = document["codex"]["homes"].as_array().unwrap();
        let homes: Vec<_> = homes.iter().map(|home| home.as_str().unwrap()).collect();
        assert!(homes.ends_with(&["b", r"\\c\d"]), "{homes:?}");
    }

    #[test]
    fn a_list_grows_and_what_is_in_it_stays() {
        check_homes("", "[codex]\nhomes = [\"b\", '\\\\c\\d']\n");
        check_homes("[codex]\nx = 1\r\n", "[codex]\nx = 1\r\nhomes = [\"b\", '\\\\c\\d']\r\n");
        check_homes("[codex]\nhomes = []\n", "[codex]\nhomes = [\"b\", '\\\\c\\d']\n");
        check_homes(
            "# x\r\n[codex]\r\nhomes = [ 'a' ] # y\r\n[z]\r\n",
            "# x\r\n[codex]\r\nhomes = [ 'a' , \"b\", '\\\\c\\d'] # y\r\n[z]\r\n",
        );
        check_homes(
            "[codex]\nhomes = [\n  'a', # mine\n  # more\n]\n",
            "[codex]\nhomes = [\n  'a', # mine\n  # more\n  \"b\",\n  '\\\\c\\d',\n]\n",
        );
        check_homes(
            "[codex]\nhomes = [\n\t'a' # mine\n\t]\n",
            "[codex]\nhomes = [\n\t'a', # mine\n\t\"b\",\n\t'\\\\c\\d',\n\t]\n",
        );
    }

    #[test]
    fn what_is_no_list_does_not_grow() {
        for text in ["[codex]\nhomes = 'a'\n", "codex = 1\n", "[codex\n"] {
            assert!(extended(text, "codex", "homes", &["b".to_owned()]).is_err(), "{text}");
        }
        let problem = extended("[codex]\nhomes = 1\n", "codex", "homes", &[]).unwrap_err();
        assert_eq!(problem.to_string(), "`codex.homes` must be a list at line 2, column 9");
    }

    #[test]
    fn what_cannot_be_read_is_not_changed() {
        for text in ["[voice\n", "voice = 1\n", "[[voice]]\n", "rate = \n"] {
            assert!(rate(text, Some(200.into())).is_err(), "{text}");
        }
    }

    #[test]
    fn a_section_of_a_section_and_what_stands_above_all_are_set_too() {
        let user = |before: &str| {
            let section = &["destinations", "dm"];
            edited(
                before.to_owned(),
                ConfigSetting { section, key: "user", value: Some("U1".into()) },
            )
        };
        assert_eq!(user("").unwrap(), "[destinations.dm]\nuser = \"U1\"\n");
        let before = "# a\r\n[slack] # b\r\nx = 1\r\n# c\r\n";
        let after = format!("{before}\r\n[destinations.dm]\r\nuser = \"U1\"\r\n");
        assert_eq!(user(before).unwrap(), after);
        let before = "[destinations]\na = 1\n[x]\n# end\n";
        assert_eq!(
            user(before).unwrap(),
            "[destinations]\na = 1\n\n[destinations.dm]\nuser = \"U1\"\n[x]\n# end\n"
        );
        let before = "destinations.dm.user = 'U2' # x\n[x]\n";
        assert_eq!(user(before).unwrap(), "destinations.dm.user = \"U1\" # x\n[x]\n");
        assert!(user("destinations = 1\n").is_err() && user("destinations.dm = []\n").is_err());

        let language = |before: &str| {
            let setting = ConfigSetting { section: &[], key: "language", value: Some("ja".into()) };
            edited(before.to_owned(), setting)
        };
        assert_eq!(language("").unwrap(), "language = \"ja\"\n");
        assert_eq!(language("language = 'en' # x\n").unwrap(), "language = \"ja\" # x\n");
        let after = language("# a\n[x]\ny = 1\n").unwrap();
        assert_eq!(after, "language = \"ja\"\n# a\n[x]\ny = 1\n");
    }
}
