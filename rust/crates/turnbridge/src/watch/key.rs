//! Translates the terminal's key events into the keys that the view uses.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    Character(char),
    Enter,
    /// A line break in a text.
    NewLine,
    Escape,
    Backspace,
    Delete,
    Up,
    Down,
    Left,
    Right,
    Home,
    End,
    PageUp,
    PageDown,
    /// Erases everything before the cursor.
    EraseLine,
    Quit,
}

impl Key {
    /// Parses a key event. Returns `None` for unused keys, and for releases, which Windows reports
    /// too.
    pub fn of(event: KeyEvent) -> Option<Key> {
        if event.kind == KeyEventKind::Release {
            return None;
        }
        let has = |modifier| event.modifiers.contains(modifier);
        let control = has(KeyModifiers::CONTROL);
        // AltGr arrives as Control and Alt together, and makes a character.
        let is_text = control == has(KeyModifiers::ALT);
        Some(match event.code {
            KeyCode::Char('c') if control && !is_text => Key::Quit,
            KeyCode::Char('j') if control && !is_text => Key::NewLine,
            KeyCode::Char('u') if control && !is_text => Key::EraseLine,
            KeyCode::Char('a') if control && !is_text => Key::Home,
            KeyCode::Char('e') if control && !is_text => Key::End,
            // Older terminals send this for Backspace.
            KeyCode::Char('h') if control && !is_text => Key::Backspace,
            KeyCode::Char(character) if is_text => Key::Character(character),
            KeyCode::Enter if has(KeyModifiers::ALT) || has(KeyModifiers::SHIFT) => Key::NewLine,
            KeyCode::Enter => Key::Enter,
            KeyCode::Esc => Key::Escape,
            KeyCode::Backspace => Key::Backspace,
            KeyCode::Delete => Key::Delete,
            KeyCode::Up => Key::Up,
            KeyCode::Down => Key::Down,
            KeyCode::Left => Key::Left,
            KeyCode::Right => Key::Right,
            KeyCode::Home => Key::Home,
            KeyCode::End => Key::End,
            KeyCode::PageUp => Key::PageUp,
            KeyCode::PageDown => Key::PageDown,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_keys_are_no_text_and_altgr_is() {
        let key = |code, modifiers| Key::of(KeyEvent::new(code, modifiers));
        let (control, alt) = (KeyModifiers::CONTROL, KeyModifiers::ALT);
        assert_eq!(key(KeyCode::Char('c'), control), Some(Key::Quit));
        assert_eq!(key(KeyCode::Char('j'), control), Some(Key::NewLine));
        assert_eq!(key(KeyCode::Enter, alt), Some(Key::NewLine));
        assert_eq!(key(KeyCode::Enter, KeyModifiers::NONE), Some(Key::Enter));
        assert_eq!(key(KeyCode::Char('x'), control), None);
        assert_eq!(key(KeyCode::Char('x'), alt), None);
        assert_eq!(key(KeyCode::Char('@'), control | alt), Some(Key::Character('@')));
        assert_eq!(key(KeyCode::Char('J'), KeyModifiers::SHIFT), Some(Key::Character('J')));
        let release =
            KeyEvent::new_with_kind(KeyCode::Enter, KeyModifiers::NONE, KeyEventKind::Release);
        assert_eq!(Key::of(release), None);
    }
}
