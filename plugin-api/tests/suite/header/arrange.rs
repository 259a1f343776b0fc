//! The order and the comments of the header: short comments on one line, and sections, the drafts last.

use std::collections::BTreeSet;

/// Widest line of the header, in columns.
const COLUMNS: usize = 118;

/// An optional feature: the constant with its id, and the structures that it names.
pub struct Extension {
    pub constant: String,
    pub id: String,
    pub structures: Vec<String>,
}

impl Extension {
    pub fn is_draft(&self) -> bool {
        self.id.ends_with("/0")
    }
}

/// One constant, structure or type with its comment.
struct Item {
    text: String,
    name: String,
}

/// The sections of the header, in their order.
const SECTIONS: [(Section, &str); 5] = [
    (Section::Constants, "Constants"),
    (Section::Structures, "Structures that every plugin sees"),
    (Section::Functions, "Functions: the services of the host, the table of a plugin, and the entry"),
    (Section::Extensions, "Extensions: optional features with structures of their own"),
    (Section::Drafts, "Drafts: extensions whose id ends in /0; they may change until they are called /1"),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Section {
    Constants,
    Structures,
    Functions,
    Extensions,
    Drafts,
}

/// The types that make a plugin, and those behind them: what every plugin sees.
const FUNCTIONS: [&str; 4] = ["ProctorHost", "ProctorVersionRange", "ProctorPlugin", "ProctorPluginEntry"];

/// Puts what cbindgen has made into sections.
pub fn arranged(generated: &str, extensions: &[Extension]) -> String {
    let items = items(&with_short_comments(generated));
    let reach = |roots: Vec<String>| reachable(&items, roots);
    let core = reach(FUNCTIONS.map(str::to_owned).to_vec());
    let (drafts, lasting): (Vec<_>, Vec<_>) = extensions.iter().partition(|extension| extension.is_draft());
    let lasting = reach(lasting.into_iter().flat_map(|extension| extension.structures.clone()).collect());
    let section_of = |item: &Item| {
        let is_constant = item.text.contains("#define ");
        if is_constant && drafts.iter().any(|draft| item.name.starts_with(&prefix_of(&draft.id))) {
            Section::Drafts
        } else if is_constant {
            Section::Constants
        } else if FUNCTIONS.contains(&item.name.as_str()) {
            Section::Functions
        } else if core.contains(&item.name) {
            Section::Structures
        } else if lasting.contains(&item.name) {
            Section::Extensions
        } else {
            Section::Drafts
        }
    };
    let mut text = String::new();
    for (section, title) in SECTIONS {
        text += &format!("\n/* ---- {title} ---- */\n");
        for item in items.iter().filter(|item| section_of(item) == section) {
            text += "\n";
            text += &item.text;
        }
    }
    text
}

/// The beginning of the constants of an extension: `PROCTOR_HEAT_` of `proctor.heat/0`.
fn prefix_of(id: &str) -> String {
    let name = id.trim_start_matches("proctor.").split('/').next().unwrap_or_default();
    format!("PROCTOR_{}_", name.to_uppercase())
}

/// The names of types of the ABI in a text, in their order.
pub fn names_of_types(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("Proctor")).map(str::to_owned).collect()
}

/// All types that these and those behind them name.
fn reachable(items: &[Item], roots: Vec<String>) -> BTreeSet<String> {
    let (mut found, mut next) = (BTreeSet::new(), roots);
    while let Some(name) = next.pop() {
        if let Some(item) = items.iter().find(|item| item.name == name)
            && found.insert(name)
        {
            next.extend(names_of_types(&without_comments(&item.text)));
        }
    }
    found
}

/// The code without its comments.
fn without_comments(text: &str) -> String {
    let mut pieces = text.split("/*");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |code, piece| code + piece.split_once("*/").map_or("", |(_, rest)| rest))
}

/// Takes the text of cbindgen apart, which has a blank line before each comment that stands at the margin.
fn items(text: &str) -> Vec<Item> {
    let mut blocks: Vec<String> = vec![String::new()];
    for line in text.lines() {
        let is_first = line.starts_with("/*") && !blocks.last().is_some_and(String::is_empty);
        if is_first {
            blocks.push(String::new());
        }
        if let Some(block) = blocks.last_mut().filter(|_| !line.is_empty()) {
            block.push_str(line);
            block.push('\n');
        }
    }
    let item = |text: String| {
        let code = without_comments(&text);
        let name = match code.trim_start().strip_prefix("#define ") {
            Some(constant) => constant.split_whitespace().next().unwrap_or_default().to_owned(),
            None => name_of_type(&code),
        };
        Item { text, name }
    };
    blocks.into_iter().filter(|block| !block.is_empty()).map(item).collect()
}

/// The name that a declaration of a type gives.
fn name_of_type(code: &str) -> String {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    if let Some((_, rest)) = code.split_once("(*Proctor") {
        return format!("Proctor{}", rest.split(|c| !is_name(c)).next().unwrap_or_default());
    }
    let last = code.trim_end().trim_end_matches(';');
    last.rsplit(|c| !is_name(c)).next().unwrap_or_default().to_owned()
}

/// Puts each comment that fits into one line there, and a star before each line of the others.
fn with_short_comments(text: &str) -> String {
    let mut result = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.trim() != "/*" {
            result += line;
            result.push('\n');
            continue;
        }
        let indent = &line[..line.len() - 2];
        let body: Vec<&str> = lines
            .by_ref()
            .take_while(|line| line.trim() != "*/")
            .map(|line| line[indent.len()..].trim_end())
            .collect();
        match body[..] {
            [only] if indent.len() + only.trim().len() + 6 <= COLUMNS => {
                result += &format!("{indent}/* {} */\n", only.trim());
            }
            _ => {
                result += &format!("{indent}/*\n");
                for line in body {
                    result += format!("{indent} *{line}").trim_end();
                    result.push('\n');
                }
                result += &format!("{indent} */\n");
            }
        }
    }
    result
}

#[test]
fn comments_that_fit_are_on_one_line() {
    let long = "x".repeat(COLUMNS);
    let text = with_short_comments(&format!(
        "  /*\n   One.\n   */\n  int a;\n/*\n {long}\n */\n/*\n One.\n\n Two.\n */\n"
    ));
    assert_eq!(text, format!("  /* One. */\n  int a;\n/*\n * {long}\n */\n/*\n * One.\n *\n * Two.\n */\n"));
}

#[test]
fn what_only_drafts_name_is_a_draft() {
    let text = "/* C. */\n#define PROCTOR_HEAT_MAX 1\n\n/* D. */\n#define PROCTOR_A 1\n\n\
                /* Names ProctorHeat. */\ntypedef struct ProctorHost {\n  int a;\n} ProctorHost;\n\n\
                /* A. */\ntypedef struct ProctorDegree {\n  int a;\n} ProctorDegree;\n\n\
                /* B. */\ntypedef struct ProctorHeat {\n  struct ProctorDegree degree;\n} ProctorHeat;\n";
    let position = |text: &str, what: &str| text.find(what).unwrap();
    let arranged = |id: &str| {
        let (constant, structures) = ("PROCTOR_EXTENSION_HEAT".to_owned(), vec!["ProctorHeat".to_owned()]);
        arranged(text, &[Extension { constant, id: id.to_owned(), structures }])
    };
    let draft = arranged("proctor.heat/0");
    for name in ["PROCTOR_HEAT_MAX", "} ProctorDegree", "} ProctorHeat"] {
        assert!(position(&draft, name) > position(&draft, "---- Drafts"), "{name}: {draft}");
    }
    for name in ["PROCTOR_A 1", "} ProctorHost"] {
        assert!(position(&draft, name) < position(&draft, "---- Extensions"), "{name}: {draft}");
    }
    let lasting = arranged("proctor.heat/1");
    assert!(position(&lasting, "} ProctorDegree") < position(&lasting, "---- Drafts"), "{lasting}");
}
