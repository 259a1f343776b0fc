//! Rust without its comments and without the contents of its literals, for rules about code.

use crate::tidy::files::{TextFile, files};

/// Returns the Rust files that have one of `words` anywhere, with spaces for comments and for what stands in quotes;
/// lines stay where they are.
pub(crate) fn code_with(words: &[&str]) -> Vec<TextFile> {
    let mut found = files(&["rs"]);
    found.retain(|file| words.iter().any(|word| file.text.contains(word)));
    found.into_iter().map(|file| TextFile { text: code(&file.text), path: file.path }).collect()
}

/// Returns the text with spaces for comments and for what stands in quotes.
pub(crate) fn code(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let follows_name = code.chars().next_back().is_some_and(is_part_of_name);
        let (kept, length) = match quoted(rest, follows_name) {
            Some(Quoted { before, length, after }) => {
                code.push_str(&rest[..before]);
                blank(&rest[before..length - after], &mut code);
                (&rest[length - after..length], length)
            }
            None => (&rest[..first.len_utf8()], first.len_utf8()),
        };
        code.push_str(kept);
        rest = &rest[length..];
    }
    code
}

/// Returns the code without comments and without the tests at its end, with its lines where they were.
pub(crate) fn without_tests(text: &str) -> String {
    let mut code = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let opens_tests = line.trim() == "#[cfg(test)]" || line.trim().starts_with("#[cfg(all(test, ");
        if opens_tests && lines.peek().is_some_and(|next| next.starts_with("mod ") && next.ends_with('{')) {
            break;
        }
        let is_comment = line.trim_start().starts_with("//");
        code.push_str(if is_comment { "" } else { line });
        code.push('\n');
    }
    code
}

/// A function that has a body.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Function {
    pub(crate) name: String,
    /// Number of the line of its `fn`, counted from 1.
    pub(crate) line: usize,
    /// Number of lines from there to the brace that closes it.
    pub(crate) line_count: usize,
}

/// Returns the functions in code, those within others included.
pub(crate) fn functions(code: &str) -> Vec<Function> {
    let keywords = code.match_indices("fn ").filter(|(start, _)| !code[..*start].ends_with(is_part_of_name));
    let function = |(start, keyword): (usize, &str)| {
        let text = with_body(&code[start..])?;
        let name = text[keyword.len()..].split(['(', '<']).next().unwrap_or_default().to_owned();
        let line = code[..start].matches('\n').count() + 1;
        Some(Function { name, line, line_count: text.lines().count() })
    };
    keywords.filter_map(function).collect()
}

/// Returns the text of a function up to the brace that closes it; `None` if it has no body.
fn with_body(code: &str) -> Option<&str> {
    let mut depth = 0_usize;
    let mut is_in_body = false;
    for (index, c) in code.char_indices() {
        match c {
            '(' | '[' | '{' => {
                is_in_body |= c == '{' && depth == 0;
                depth += 1;
            }
            ')' | ']' | '}' => {
                depth = depth.checked_sub(1)?;
                if is_in_body && depth == 0 {
                    return Some(&code[..=index]);
                }
            }
            ';' if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

/// Returns whether `word` stands in a line of code, and not within a longer name.
pub(crate) fn has_word(code: &str, word: &str) -> bool {
    let inside = |c: Option<char>| c.is_some_and(is_part_of_name);
    code.match_indices(word).any(|(start, _)| {
        !inside(code[..start].chars().next_back()) && !inside(code[start + word.len()..].chars().next())
    })
}

/// Returns the attributes in code, each with the number of the line on which it begins, counted from 1.
pub(crate) fn attributes(code: &str) -> Vec<(usize, &str)> {
    let starts = code.match_indices("#[").chain(code.match_indices("#!["));
    starts.map(|(start, _)| (code[..start].matches('\n').count() + 1, bracketed(&code[start..]))).collect()
}

/// Returns the text up to the bracket that closes its first one.
fn bracketed(text: &str) -> &str {
    let mut depth = 0_usize;
    for (index, c) in text.char_indices() {
        match c {
            '[' => depth += 1,
            ']' if depth <= 1 => return &text[..=index],
            ']' => depth -= 1,
            _ => {}
        }
    }
    text
}

/// A comment or a literal at the beginning of a text, in bytes; its marks stay, but for a comment's.
struct Quoted {
    before: usize,
    length: usize,
    after: usize,
}

/// Returns the comment or the literal with which a text begins. Behind a part of a name no raw string begins.
fn quoted(text: &str, follows_name: bool) -> Option<Quoted> {
    if text.starts_with("//") {
        return Some(Quoted { before: 0, length: text.find('\n').unwrap_or(text.len()), after: 0 });
    }
    if text.starts_with("/*") {
        return Some(Quoted { before: 0, length: block_comment(text), after: 0 });
    }
    if text.starts_with('"') {
        return Some(Quoted { before: 1, length: string(text), after: 1 });
    }
    if text.starts_with('\'') {
        return character(text).map(|length| Quoted { before: 1, length, after: 1 });
    }
    // A raw string: r"..", r#".."#, and br and cr likewise.
    let prefix = ["r", "br", "cr"].into_iter().find(|prefix| !follows_name && text.starts_with(prefix))?;
    let behind = &text[prefix.len()..];
    let hashes = behind.len() - behind.trim_start_matches('#').len();
    behind[hashes..].strip_prefix('"')?;
    let (before, end) = (prefix.len() + hashes + 1, format!("\"{}", "#".repeat(hashes)));
    let length = text[before..].find(&end).map_or(text.len(), |at| before + at + end.len());
    Some(Quoted { before, length, after: end.len() })
}

/// Length of a comment between stars, which may hold others.
fn block_comment(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < text.len() {
        let rest = &text.as_bytes()[at..];
        if rest.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    text.len()
}

/// Length of a string with its quotes.
fn string(text: &str) -> usize {
    let mut is_escaped = false;
    for (index, c) in text.char_indices().skip(1) {
        match c {
            '"' if !is_escaped => return index + 1,
            _ => is_escaped = c == '\\' && !is_escaped,
        }
    }
    text.len()
}

/// Length of a character with its quotes; `None` where the quote begins a lifetime.
fn character(text: &str) -> Option<usize> {
    let mut chars = text.char_indices().skip(1);
    let (_, first) = chars.next()?;
    if first == '\\' {
        let (escaped, _) = chars.next()?;
        let behind = escaped + 1;
        return text.get(behind..)?.find('\'').map(|at| behind + at + 1);
    }
    let (end, quote) = chars.next()?;
    (quote == '\'').then_some(end + 1)
}

fn blank(text: &str, code: &mut String) {
    code.extend(text.chars().map(|c| if c == '\n' { c } else { ' ' }));
}

fn is_part_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[test]
fn comments_and_literals_are_blanked() {
    for (text, expected) in [
        ("f(\"http://a\"); g()", "f(\"        \"); g()"),
        ("f(); // unsafe\ng()", "f();          \ng()"),
        ("/* a /* b */ unsafe\n */ g()", "                   \n    g()"),
        (r#"f("\"//", '"'); g()"#, r#"f("    ", ' '); g()"#),
        (r##"f(r#"a "unsafe" b"#) // c"##, r##"f(r#"            "#)     "##),
        (r"f('\'', '\u{1F600}', 'a') + x::<'a>", r"f('  ', '         ', ' ') + x::<'a>"),
        ("for r in bar { r\"//\" }", "for r in bar { r\"  \" }"),
        ("let é = 'é'; // é", "let é = ' ';     "),
    ] {
        assert_eq!(code(text), expected, "{text}");
    }
}

#[test]
fn the_tests_of_a_file_are_left_out() {
    for condition in ["test", "all(test, loom)", "all(test, not(loom))"] {
        assert_eq!(without_tests(&format!("a\n// b\n#[cfg({condition})]\nmod tests {{\n")), "a\n\n");
    }
}

#[test]
fn functions_are_measured_from_fn_to_the_closing_brace() {
    let code = "trait T {\n    fn none(x: [u8; 2]);\n    fn given() -> fn(u8) {\n        fn inner() {}\n    }\n}\n\
                pub(crate) fn wide<F>(\n    act: F,\n) where F: Fn() {\n    act({ 1 })\n}\nlet defn = 1;\n";
    let found = functions(code);
    let found: Vec<_> = found.iter().map(|it| (it.name.as_str(), it.line, it.line_count)).collect();
    assert_eq!(found, [("given", 3, 3), ("inner", 4, 1), ("wide", 7, 5)]);
}

#[test]
fn words_and_attributes_are_found_in_code() {
    assert!(has_word("let x = async { f() };", "async"));
    assert!(!has_word("#![forbid(async_code)] non_async", "async"));
    let text = "#![a]\n#[b]\nfn f() {}\n#[cfg_attr(\n    c(d[1]),\n    e\n)]\n";
    let found = attributes(text);
    assert_eq!(found.len(), 3);
    assert_eq!((found[0], found[2]), ((2, "#[b]"), (1, "#![a]")));
    assert_eq!(found[1], (4, "#[cfg_attr(\n    c(d[1]),\n    e\n)]"));
}
