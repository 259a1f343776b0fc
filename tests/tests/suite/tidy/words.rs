//! How comments are written.

use crate::tidy::files::{assert_none, files, offending_lines};

/// Openings of a doc comment that say nothing of what the item is: the noun or the verb comes first.
const EMPTY_OPENINGS: &[&str] = &["What ", "That ", "Those ", "So many ", "Whoever ", "Whatever "];

/// Widest line of a comment, in columns; code is held narrower by rustfmt.
const COMMENT_COLUMNS_MAX: usize = 120;

#[test]
fn doc_comments_begin_with_the_noun_or_the_verb() {
    let mut offences = Vec::new();
    for file in files(&["rs"]) {
        let mut follows_text = false;
        for (index, line) in file.text.lines().enumerate() {
            let text = doc_text(line);
            if !follows_text && text.is_some_and(has_empty_opening) {
                offences.push(format!("{}:{}: {}", file.path, index + 1, line.trim()));
            }
            follows_text = text.is_some_and(is_running_text);
        }
    }
    assert_none(&offences, "a doc comment that opens with an empty word; begin with the noun or the verb");
}

#[test]
fn comments_fit_the_page() {
    let offences = offending_lines(&files(&["rs"]), |_, line| {
        line.trim_start().starts_with("//") && line.chars().count() > COMMENT_COLUMNS_MAX
    });
    assert_none(&offences, "a comment wider than 120 columns");
}

/// Returns the text of a line of a doc comment, empty for a blank one.
fn doc_text(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let text = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))?;
    // Four slashes are a rule, not documentation.
    (!text.starts_with('/')).then(|| text.trim())
}

/// Returns whether the next line goes on with the sentence: after a blank line or a heading a new one begins.
fn is_running_text(text: &str) -> bool {
    !text.is_empty() && !text.starts_with('#')
}

fn has_empty_opening(text: &str) -> bool {
    EMPTY_OPENINGS.iter().any(|opening| text.starts_with(opening))
}

#[test]
fn an_opening_is_told_from_a_line_that_goes_on() {
    assert_eq!(doc_text("    /// Latency in ns."), Some("Latency in ns."));
    assert_eq!(doc_text("//!"), Some(""));
    assert_eq!(doc_text("// Latency"), None);
    assert_eq!(doc_text("//// ----"), None);
    assert!(has_empty_opening(concat!("Wh", "at is told of the delays.")));
    assert!(!has_empty_opening("Whats-its-name"));
    assert!(is_running_text("Latency in ns."));
    assert!(!is_running_text("# Errors") && !is_running_text(""));
}
