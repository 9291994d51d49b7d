//! Converts Markdown to the text that a person would read aloud, with its language.
//!
//! It is more tolerant than CommonMark: the text is not rendered, so a misread mark costs a word at
//! most. Every search ahead is bounded, so that the time grows linearly with the length. Other code
//! chooses voices and runs the programs that speak.

mod blocks;
mod inline;

/// Consecutive sentences of one language, ready for an engine. Blocks are on separate lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Utterance {
    pub language: Language,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Language {
    Japanese,
    #[default]
    English,
}

/// Returns the utterances of a Markdown text; none if it has no speakable words, such as an answer
/// of code only.
pub fn spoken_text(markdown: &str) -> Vec<Utterance> {
    let mut utterances = Vec::new();
    for block in blocks::blocks(&without_control_characters(markdown)) {
        let text = match block {
            blocks::SpokenBlock::Prose(text) => inline::spoken(&text),
            blocks::SpokenBlock::Row(cells) => spoken_row(&cells),
        };
        if text.contains(char::is_alphanumeric) {
            add_block(&mut utterances, &text);
        }
    }
    utterances
}

/// Matches kana or kanji. Kanji alone could be Chinese, for which no voice is chosen.
pub(crate) fn is_japanese(c: char) -> bool {
    matches!(c,
        '\u{3005}'..='\u{3007}' | '\u{3041}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{ff66}'..='\u{ff9f}' | '\u{20000}'..='\u{2fa1f}')
}

fn language_of(text: &str) -> Language {
    if text.contains(is_japanese) { Language::Japanese } else { Language::English }
}

fn spoken_row(cells: &[String]) -> String {
    let cells: Vec<_> = cells.iter().map(|cell| inline::spoken(cell)).collect();
    let cells: Vec<_> = cells.iter().map(String::as_str).filter(|cell| !cell.is_empty()).collect();
    let pause = match language_of(&cells.concat()) {
        Language::Japanese => "、",
        Language::English => ", ",
    };
    cells.join(pause)
}

/// Adds a block, which ends with a pause, even if it is no sentence.
fn add_block(utterances: &mut Vec<Utterance>, text: &str) {
    let mut separator = "\n";
    // `1.` and similar belong to the next sentence, in any language.
    let mut pending = String::new();
    let sentences = sentences(text);
    let last = sentences.len().saturating_sub(1);
    for (index, sentence) in sentences.into_iter().enumerate() {
        let has_words = sentence.contains(char::is_alphabetic);
        if index < last && !has_words {
            pending.push_str(sentence);
            continue;
        }
        let mut piece = std::mem::take(&mut pending) + sentence;
        piece.truncate(piece.trim_end().len());
        let language = match utterances.last() {
            Some(previous) if !piece.contains(char::is_alphabetic) => previous.language,
            _ => language_of(&piece),
        };
        if index == last && !ends_with_pause(&piece) {
            piece.push(if language == Language::Japanese { '。' } else { '.' });
        }
        match utterances.last_mut() {
            Some(previous) if previous.language == language => {
                previous.text.push_str(separator);
                previous.text.push_str(&piece);
            }
            _ => utterances.push(Utterance { language, text: piece }),
        }
        separator = if language == Language::Japanese { "" } else { " " };
    }
}

fn ends_with_pause(text: &str) -> bool {
    let bare = text.trim_end_matches(['"', '\'', ')', '」', '』', '）', '”', '’']);
    bare.ends_with(['.', '!', '?', ':', ';', ',', '…', '。', '！', '？', '：', '、', '．'])
}

/// Cuts after every end of a sentence and the following blanks, without losing text.
fn sentences(text: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut start = 0;
    let mut after_end = false;
    let mut previous = ' ';
    for (index, c) in text.char_indices() {
        let goes_on = c.is_whitespace() || "。！？」』）)".contains(c);
        if after_end && !goes_on {
            sentences.push(&text[start..index]);
            start = index;
        }
        after_end = match c {
            '。' | '！' | '？' => true,
            // `3.5` and `main.rs` contain no ends.
            _ if c.is_whitespace() => after_end || matches!(previous, '.' | '!' | '?'),
            _ => after_end && goes_on,
        };
        previous = c;
    }
    if start < text.len() {
        sentences.push(&text[start..]);
    }
    sentences
}

/// Removes control characters except line ends and tabs; codes that colour a terminal whole.
fn without_control_characters(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '\u{1b}' if characters.next_if_eq(&'[').is_some() => {
                while characters.next_if(|c| matches!(c, ' '..='?')).is_some() {}
                characters.next_if(|c| matches!(c, '@'..='~'));
            }
            '\n' | '\t' => clean.push(c),
            // Invisible: byte order mark, zero width, direction marks, emoji variations.
            '\u{feff}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{2069}'
            | '\u{fe0f}' => {}
            // Pictures. Check marks and crosses are text and stay.
            '\u{1f000}'..='\u{1faff}' => clean.push(' '),
            _ if c.is_control() => {}
            _ => clean.push(c),
        }
    }
    clean
}

#[cfg(test)]
mod tests;
