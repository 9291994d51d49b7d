//! Drives a real Chromium through `tests/board/drive.mjs`: it writes one command per line and reads
//! one response per line.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// The environment variable that names another browser than the system's.
const CHROMIUM: &str = "TURNBRIDGE_TEST_CHROMIUM";

/// A running browser with one page. A drop closes it.
pub struct Browser {
    process: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Browser {
    /// Starts the browser. Panics with a hint if Chromium or `playwright-core` is missing.
    #[track_caller]
    pub fn start() -> Browser {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/board");
        let hint = "run `scripts/test`, which installs what the tests need, or set \
                    TURNBRIDGE_TEST_NO_BROWSER=1 to go without the tests that need a browser";
        let is_there = folder.join("node_modules/playwright-core").is_dir();
        assert!(is_there, "could not find `playwright-core` under `tests/board`\nhint: {hint}");
        let program = find_chromium();
        let program = program.unwrap_or_else(|| panic!("could not find `chromium`\nhint: {hint}"));
        let mut process = Command::new("node")
            .arg(folder.join("drive.mjs"))
            .env(CHROMIUM, program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("could not run `node`: {error}\nhint: {hint}"));
        let orders = process.stdin.take();
        let answers = BufReader::new(process.stdout.take().expect("its output"));
        Browser { process, orders, answers }
    }

    /// Executes a command of `tests/board/drive.mjs` and returns its response. Panics if it reports
    /// an error.
    #[track_caller]
    pub fn order(&mut self, name: &str, values: Value) -> Value {
        let mut order = values;
        order["order"] = json!(name);
        let orders = self.orders.as_mut().expect("the browser");
        writeln!(orders, "{order}").expect("the browser takes an order");
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("the browser's answer");
        let answer: Value = serde_json::from_str(&line)
            .unwrap_or_else(|error| panic!("{error}: {line:?} after {order}"));
        assert!(answer["error"].is_null(), "{order}: {}", answer["error"].as_str().unwrap_or("?"));
        answer
    }

    #[track_caller]
    pub fn open(&mut self, url: &str) {
        self.order("open", json!({ "url": url }));
    }

    /// Waits for an element that contains these words. Returns its whole text.
    #[track_caller]
    pub fn wait_for(&mut self, selector: &str, text: &str) -> String {
        let answer = self.order("wait", json!({ "selector": selector, "text": text }));
        answer["text"].as_str().unwrap_or_default().to_owned()
    }

    #[track_caller]
    pub fn click(&mut self, selector: &str) {
        self.order("click", json!({ "selector": selector }));
    }

    /// Presses these keys, one after another, by their names in Playwright: `Enter`, `j`.
    #[track_caller]
    pub fn press(&mut self, keys: &[&str]) {
        for key in keys {
            self.order("press", json!({ "key": key }));
        }
    }

    #[track_caller]
    pub fn type_text(&mut self, text: &str) {
        self.order("type", json!({ "text": text }));
    }

    /// Returns the number of elements that match.
    #[track_caller]
    pub fn count(&mut self, selector: &str) -> u64 {
        self.order("count", json!({ "selector": selector }))["count"].as_u64().expect("a count")
    }

    /// Runs a script in the page and returns its value.
    #[track_caller]
    pub fn run(&mut self, script: &str) -> Value {
        self.order("run", json!({ "script": script }))["value"].clone()
    }

    #[track_caller]
    pub fn screenshot(&mut self, path: &Path) {
        self.order("screenshot", json!({ "path": path }));
    }

    /// Asserts that the page made requests only to the daemon, reported no errors, and hides its
    /// token.
    #[track_caller]
    pub fn assert_quiet(&mut self, url: &str) {
        let (address, token) = url.split_once('#').expect("a token");
        let report = self.order("report", json!({}));
        assert_eq!(report["complaints"], json!([]), "{report:#}");
        assert_eq!(report["url"], address, "the token is still in the address");
        for asked in report["asked"].as_array().expect("requests") {
            let asked = asked.as_str().unwrap_or_default();
            assert!(asked.starts_with(address) || asked.starts_with("data:"), "{asked}");
            assert!(!asked.contains(token), "{asked}");
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The closed input makes it close the browser.
        drop(self.orders.take());
        let _ = self.process.wait();
    }
}

fn find_chromium() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os(CHROMIUM) {
        return Some(path.into());
    }
    let path = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let mut candidates =
        std::env::split_paths(&path).flat_map(|folder| names.map(|name| folder.join(name)));
    candidates.find(|candidate| candidate.is_file())
}
