//! How long files, functions and crates are. Every line counts, also one of a comment or an empty one.

use crate::tidy::{
    code::{Function, code, functions, without_tests},
    files::{TextFile, assert_none, files, source_files, workspace_members},
};

/// The most lines of a source file.
const FILE_LINES_MAX: usize = 600;

/// The folder of the headers, which are longer: a plugin in C or C++ needs one file and nothing else.
const LONG_HEADERS: &str = "plugin-api/include/";

/// The most lines of a function, from `fn` to the brace that closes it.
const FUNCTION_LINES_MAX: usize = 80;

/// Functions that read best in one piece: the end of the path of the file, the name, and the reason.
const LONG_FUNCTIONS: &[(&str, &str, &str)] = &[
    (
        "results/targets.rs",
        "targets",
        "a table: the targets of the page in their order, each with how it is told",
    ),
    ("scale/answer.rs", "summary", "one text: its sentences in their order, each behind its condition"),
    ("scale/serve.rs", "serve", "one loop: each of its steps looks at what the others have moved"),
];

/// The most lines of a crate without its tests: a larger one is slow to build and hard to know.
const CRATE_LINES_MAX: usize = 13_500;

#[test]
fn source_files_are_short() {
    let offences: Vec<_> = files(&["rs", "py", "c", "cpp", "h", "hpp", "sh"])
        .into_iter()
        .filter(|file| !file.path.starts_with(LONG_HEADERS))
        .map(|file| (file.text.lines().count(), file.path))
        .filter(|(line_count, _)| *line_count > FILE_LINES_MAX)
        .map(|(line_count, path)| format!("{path}: {line_count} lines"))
        .collect();
    assert_none(&offences, "a source file of more than 600 lines; split it");
}

#[test]
fn functions_are_short() {
    let sources = source_files();
    let long: Vec<_> = sources
        .iter()
        .flat_map(|file| long_functions(file).into_iter().map(move |function| (file.path.as_str(), function)))
        .collect();
    let is_listed = |path: &str, name: &str| {
        LONG_FUNCTIONS.iter().any(|(end, listed, _)| path.ends_with(end) && name == *listed)
    };
    let offences: Vec<_> = long
        .iter()
        .filter(|(path, function)| !is_listed(path, &function.name))
        .map(|(path, Function { name, line, line_count })| {
            format!("{path}:{line}: {name}, {line_count} lines")
        })
        .collect();
    assert_none(
        &offences,
        "a function of more than 80 lines; name its parts, or give the reason in LONG_FUNCTIONS of this test",
    );
    let is_long = |end: &str, listed: &str| {
        long.iter().any(|(path, function)| path.ends_with(end) && function.name == listed)
    };
    let stale: Vec<_> = LONG_FUNCTIONS
        .iter()
        .filter(|(end, name, _)| !is_long(end, name))
        .map(|(end, name, _)| format!("{end}: {name}"))
        .collect();
    assert_none(&stale, "a name in LONG_FUNCTIONS of this test that no long function has");
}

#[test]
fn crates_are_small() {
    let sources = source_files();
    let line_counts: Vec<_> = workspace_members()
        .into_iter()
        .map(|member| (line_count_below(&format!("{member}/src/"), &sources), member))
        .collect();
    assert!(
        line_counts.iter().any(|(line_count, _)| *line_count > 0),
        "no source in any crate: this test looks in the wrong place"
    );
    let offences: Vec<_> = line_counts
        .into_iter()
        .filter(|(line_count, _)| *line_count > CRATE_LINES_MAX)
        .map(|(line_count, member)| format!("{member}: {line_count} lines"))
        .collect();
    assert_none(&offences, "a crate of more than 13,500 lines without its tests; split it");
}

/// Returns the functions of a file that are too long, without its tests.
fn long_functions(file: &TextFile) -> Vec<Function> {
    // A file that is shorter as a whole has none.
    if file.text.lines().count() <= FUNCTION_LINES_MAX {
        return Vec::new();
    }
    let mut found = functions(&code(&without_tests(&file.text)));
    found.retain(|function| function.line_count > FUNCTION_LINES_MAX);
    found
}

/// Returns the number of lines of the files below a folder, without the tests at their ends.
fn line_count_below(folder: &str, sources: &[TextFile]) -> usize {
    let below = sources.iter().filter(|file| file.path.starts_with(folder));
    below.map(|file| without_tests(&file.text).lines().count()).sum()
}

#[test]
fn a_long_function_is_found() {
    let function = |name: &str, line_count: usize| {
        format!("fn {name}() {{\n{}}}\n", "    // }\n".repeat(line_count - 2))
    };
    let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", function("tested", FUNCTION_LINES_MAX + 1));
    let text = function("short", FUNCTION_LINES_MAX) + &function("long", FUNCTION_LINES_MAX + 1) + &tests;
    let found = long_functions(&TextFile { path: "a/src/lib.rs".to_owned(), text });
    let (line, line_count) = (FUNCTION_LINES_MAX + 1, FUNCTION_LINES_MAX + 1);
    assert_eq!(found, [Function { name: "long".to_owned(), line, line_count }]);
}

#[test]
fn the_lines_of_a_crate_are_those_of_its_own_source() {
    let file = |path: &str, text: &str| TextFile { path: path.to_owned(), text: text.to_owned() };
    let sources = [
        file("a/src/lib.rs", "// A.\nmod b;\n\n#[cfg(test)]\nmod tests {\n}\n"),
        file("a/src/b.rs", "struct B;\n"),
        file("a/c/src/lib.rs", "struct C;\n"),
    ];
    assert_eq!(line_count_below("a/src/", &sources), 4);
}
