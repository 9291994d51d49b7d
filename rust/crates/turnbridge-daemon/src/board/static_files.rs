//! Serves the static files of the page, which are built into the executable. The page has no build
//! step and loads no external resources.

use std::borrow::Cow;

use super::http::HttpResponse;

const HTML: &str = "text/html";
const CSS: &str = "text/css";
const SCRIPT: &str = "text/javascript";

const FILES: [(&str, &str, &str); 10] = [
    ("/", HTML, include_str!("page/index.html")),
    ("/board.css", CSS, include_str!("page/board.css")),
    ("/board.js", SCRIPT, include_str!("page/board.js")),
    ("/cards.js", SCRIPT, include_str!("page/cards.js")),
    ("/connection.js", SCRIPT, include_str!("page/connection.js")),
    ("/markdown.js", SCRIPT, include_str!("page/markdown.js")),
    ("/settings.js", SCRIPT, include_str!("page/settings.js")),
    ("/sign_in.js", SCRIPT, include_str!("page/sign_in.js")),
    ("/texts.js", SCRIPT, include_str!("page/texts.js")),
    ("/thread.js", SCRIPT, include_str!("page/thread.js")),
];

/// Returns the response for a path, or `None` if there is no such file.
pub fn find(path: &str) -> Option<HttpResponse> {
    let (_, content_type, text) = FILES.iter().find(|(name, ..)| *name == path)?;
    Some(HttpResponse { status: 200, content_type, body: Cow::Borrowed(text.as_bytes()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text becomes markup only through one of these names.
    #[test]
    fn no_script_of_the_page_makes_markup_or_code_of_a_text() {
        let dangers = [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "DOMParser",
            "eval(",
            "Function(",
            "createContextualFragment",
            "srcdoc",
        ];
        for (name, kind, text) in FILES {
            for danger in dangers {
                assert!(!text.contains(danger), "{danger} in {name}");
            }
            let has_address = text.contains("https://") || text.contains("//cdn");
            assert!(!has_address, "{name} asks somebody else");
            assert!(kind != HTML || !text.contains(" style=") && !text.contains(" onclick="));
        }
    }
}
