//! Reads the Markdown files at the top of this repository, in docs/ and in docs/decisions/, and
//! splits them into prose and code blocks. Also finds the repository's folder.

use std::fs;
use std::path::{Path, PathBuf};

/// A Markdown file of the repository.
pub struct Document {
    /// The path from the top of the repository, with `/`.
    pub name: String,
    pub text: String,
}

/// A block of code with its language: `sh`, `toml`, or an empty string.
pub struct CodeBlock {
    pub language: String,
    pub text: String,
}

impl Document {
    /// Returns the text without the blocks of code.
    pub fn prose(&self) -> String {
        self.parts().0
    }

    /// Returns the blocks of code, in order.
    pub fn blocks(&self) -> Vec<CodeBlock> {
        self.parts().1
    }

    fn parts(&self) -> (String, Vec<CodeBlock>) {
        let (mut prose, mut blocks) = (String::new(), Vec::new());
        let mut open: Option<CodeBlock> = None;
        for line in self.text.lines() {
            match (line.trim_start().strip_prefix("```"), open.take()) {
                (Some(_), Some(block)) => blocks.push(block),
                (Some(language), None) => {
                    open = Some(CodeBlock { language: language.to_owned(), text: String::new() });
                }
                (None, Some(mut block)) => {
                    block.text += &format!("{line}\n");
                    open = Some(block);
                }
                (None, None) => prose += &format!("{line}\n"),
            }
        }
        assert!(open.is_none(), "{}: a block of code is not closed", self.name);
        (prose, blocks)
    }
}

/// Returns the repository's folder, without symlinks in its path.
pub fn repository() -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../..")).canonicalize().expect("the top")
}

/// Returns the Markdown files at the top, in docs/ and in docs/decisions/.
pub fn documents() -> Vec<Document> {
    let top = repository();
    let mut documents = Vec::new();
    for folder in ["", "docs", "docs/decisions"] {
        let entries = fs::read_dir(top.join(folder)).expect("a folder of documents");
        let paths = entries.map(|entry| entry.expect("an entry").path());
        for path in paths.filter(|path| path.extension().is_some_and(|own| own == "md")) {
            let name = path.strip_prefix(&top).expect("below the top").to_string_lossy();
            documents.push(Document {
                name: name.replace('\\', "/"),
                text: fs::read_to_string(&path).expect("read a document"),
            });
        }
    }
    documents.sort_by(|one, other| one.name.cmp(&other.name));
    documents
}
