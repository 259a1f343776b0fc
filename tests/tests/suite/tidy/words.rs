//! How comments, pages and help are written.

use crate::tidy::{
    code::has_word,
    files::{TextFile, assert_none, files, offending_lines, starts_with_any},
    turns::TURNS,
};

/// Openings of a doc comment that say nothing of what the item is: the noun or the verb comes first. `TURNS` has more.
const EMPTY_OPENINGS: &[&str] = &["That ", "So many ", "Whatever "];

/// Folders with programs whose `--help` is made from doc comments and constants.
const HELP_FOLDERS: &[&str] =
    &["host/src/", "host/data/src/", "host/bench/src/", "host/display/src/", "tests/xtask/src/"];

/// Ends of the names of constants that are printed by `--help`.
const HELP_TEXTS: &[&str] = &["HELP: &str", "EXAMPLES: &str", "ABOUT: &str", "EXIT_CODES: &str"];

/// Words of an item whose doc comment `--help` never prints.
const WITHOUT_HELP: &[&str] = &["fn", "const", "static", "impl", "mod", "trait", "type", "use"];

/// Widest line of a comment, in columns; code is held narrower by rustfmt.
const COMMENT_COLUMNS_MAX: usize = 120;

#[test]
fn doc_comments_begin_with_the_noun_or_the_verb() {
    let mut offences = Vec::new();
    for file in files(&["rs"]) {
        for Comment { number, text, .. } in comments(&file.text).into_iter().filter(|it| it.is_opening) {
            if has_empty_opening(text) || TURNS.iter().any(|turn| turn.is_refused_in_first_line(text)) {
                offences.push(format!("{}:{number}: {text}", file.path));
            }
        }
    }
    assert_none(&offences, "a doc comment that opens with an empty word or a translated turn; see TURNS");
}

#[test]
fn translated_turns_in_comments_only_become_fewer() {
    let files = files(&["rs"]);
    let comments: Vec<_> = files.iter().flat_map(|file| comments(&file.text)).collect();
    let mut offences = Vec::new();
    for turn in TURNS {
        let left = comments.iter().filter(|it| !(it.is_opening && turn.is_refused_in_first_line(it.text)));
        let count: usize = left.map(|comment| turn.count(comment.text)).sum();
        if count > turn.count_max {
            offences.push(format!("{}: {count}, where {} may be", turn.name, turn.count_max));
        }
    }
    assert_none(
        &offences,
        "more of a turn than TURNS allows; say it in plain English, and never raise the number",
    );
}

#[test]
fn pages_and_help_have_no_translated_turn() {
    let mut offences = Vec::new();
    let mut refuse = |file: &TextFile, lines: Vec<(usize, &str)>| {
        let refused =
            lines.into_iter().filter(|(_, line)| TURNS.iter().any(|it| it.is_refused_in_page(line)));
        offences.extend(refused.map(|(number, line)| format!("{}:{number}: {}", file.path, line.trim())));
    };
    let pages = files(&["md"]);
    let pages = pages.iter().filter(|it| it.path == "README.md" || it.path.starts_with("docs/"));
    pages.for_each(|file| refuse(file, prose(&file.text)));
    let sources = files(&["rs"]);
    let programs = sources.iter().filter(|it| starts_with_any(&it.path, HELP_FOLDERS));
    programs.for_each(|file| refuse(file, help(&file.text)));
    assert_none(&offences, "a translated turn where the user reads it; see TURNS");
}

#[test]
fn comments_fit_the_page() {
    let offences = offending_lines(&files(&["rs"]), |_, line| {
        line.trim_start().starts_with("//") && line.chars().count() > COMMENT_COLUMNS_MAX
    });
    assert_none(&offences, "a comment wider than 120 columns");
}

#[test]
fn doc_comments_say_their_sentences_to_the_end() {
    let mut offences = Vec::new();
    for file in files(&["rs"]) {
        let cut = cut_off(&file.text);
        offences.extend(cut.into_iter().map(|(number, text)| format!("{}:{number}: {text}", file.path)));
    }
    assert_none(&offences, "a doc comment that is a mark, or stops after a colon or a comma");
}

/// A line of a comment.
struct Comment<'a> {
    /// Number of the line, from 1.
    number: usize,
    text: &'a str,
    /// Whether a paragraph of a doc comment begins with it.
    is_opening: bool,
}

fn comments(text: &str) -> Vec<Comment<'_>> {
    let mut found = Vec::new();
    let mut follows_text = false;
    for (line, number) in text.lines().zip(1..) {
        let doc = doc_text(line);
        if let Some(text) = comment_text(line) {
            found.push(Comment { number, text, is_opening: doc.is_some() && !follows_text });
        }
        follows_text = doc.is_some_and(is_running_text);
    }
    found
}

/// Returns the lines of doc comments whose sentence is missing or not complete, each with its number: a mark in its
/// place, or a colon or a comma right before the item or a heading.
fn cut_off(source: &str) -> Vec<(usize, &str)> {
    let stops = |(_, text): &(usize, &str)| text.ends_with([':', ',']);
    let is_heading = |text: &str| ["# Errors", "# Panics", "# Safety"].contains(&text);
    let mut found = Vec::new();
    let mut last: Option<(usize, &str)> = None;
    for (line, number) in source.lines().zip(1..) {
        match doc_text(line) {
            Some("") => {}
            Some(text) if is_heading(text) => found.extend(last.take().filter(stops)),
            Some(text) if text.starts_with('=') => found.push((number, text)),
            Some(text) => last = Some((number, text)),
            None => found.extend(last.take().filter(stops)),
        }
    }
    found
}

/// Returns the lines of a page without headings and blocks of code, each with its number.
fn prose(page: &str) -> Vec<(usize, &str)> {
    let mut is_code = false;
    let mut found = Vec::new();
    for (line, number) in page.lines().zip(1..) {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        if !is_code && !is_fence && !line.starts_with('#') {
            found.push((number, line));
        }
    }
    found
}

/// Returns the lines that `--help` may print, each with its number: doc comments of types, fields and variants in files
/// that name clap, and the constants of [`HELP_TEXTS`].
fn help(source: &str) -> Vec<(usize, &str)> {
    let names_clap = source.contains("clap");
    let (mut found, mut docs) = (Vec::new(), Vec::new());
    let mut is_help_text = false;
    for (line, number) in source.lines().zip(1..) {
        is_help_text |= line.contains("const ") && HELP_TEXTS.iter().any(|name| line.contains(name));
        if is_help_text {
            found.push((number, line));
            is_help_text = !line.trim_end().ends_with("\";");
        } else if let Some(text) = doc_text(line) {
            docs.push((number, text));
        } else if !line.trim_start().starts_with("#[") {
            let is_shown = !line.trim().is_empty() && !WITHOUT_HELP.iter().any(|word| has_word(line, word));
            if names_clap && is_shown {
                found.append(&mut docs);
            }
            docs.clear();
        }
    }
    found
}

/// Returns the text of a line of a doc comment, empty for a blank one.
fn doc_text(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let text = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))?;
    // Four slashes are a rule, not documentation.
    (!text.starts_with('/')).then(|| text.trim())
}

/// Returns the text of a line of any comment, empty for a blank one.
fn comment_text(line: &str) -> Option<&str> {
    let text = line.trim_start().strip_prefix("//")?;
    Some(text.trim_start_matches('/').trim_start_matches('!').trim())
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
    assert!(has_empty_opening("That is told of the delays."));
    assert!(!has_empty_opening("Thatcher"));
    assert!(is_running_text("Latency in ns."));
    assert!(!is_running_text("# Errors") && !is_running_text(""));
}

#[test]
fn a_paragraph_of_a_doc_comment_opens_once() {
    let text = "/// Latency\n/// in ns.\n///\n/// Never 0.\nlet a = 1;\n// Why.\n";
    let found: Vec<_> = comments(text).into_iter().map(|it| (it.number, it.text, it.is_opening)).collect();
    let expected = [
        (1, "Latency", true),
        (2, "in ns.", false),
        (3, "", false),
        (4, "Never 0.", true),
        (6, "Why.", false),
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_sentence_that_is_cut_off_is_found() {
    let source = "/// =T\nfn a() {}\n/// Returns one of:\n///\n/// # Errors\n/// Never.\n\
                  fn b() {}\n/// One of:\n///\n/// - this.\nfn c() {}\n/// Two,\nfn d() {}\n";
    assert_eq!(cut_off(source), [(1, "=T"), (3, "Returns one of:"), (12, "Two,")]);
}

#[test]
fn prose_and_help_are_found() {
    assert_eq!(prose("# Head\nText\n```\ncode\n```\nMore"), [(2, "Text"), (6, "More")]);
    let source = "use clap::Args;\n/// Flags.\n#[derive(Args)]\nstruct Flags {\n/// Rate\n#[arg(long)]\nrate: u64,\n}\n\
                  /// Returns it.\nfn rate() {}\nconst RATE_HELP: &str = \"\\\nLine\";\n";
    let expected = [(2, "Flags."), (5, "Rate"), (11, "const RATE_HELP: &str = \"\\"), (12, "Line\";")];
    assert_eq!(help(source), expected);
    assert!(help("/// Rate\nrate: u64,\n").is_empty());
}
