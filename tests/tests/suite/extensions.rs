//! The worked examples of `CONTRIBUTING.md`: a copy of the workspace with all of them builds, and has what they add.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use proctor_tests::{WorkspaceCopy, files_of_workspace, workspace};

/// One block of the document.
struct Block<'a> {
    file: &'a str,
    /// The line after which the text goes; `None` for a new file.
    anchor: Option<&'a str>,
    text: &'a str,
}

/// The blocks of code that say where they go.
fn blocks(document: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    for (position, _) in document.match_indices(":\n\n```") {
        let head = document[..position].rsplit('\n').next().unwrap();
        let body = document[position + 3..].split_once('\n').unwrap().1;
        let text = &body[..body.find("```").unwrap()];
        let quoted: Vec<&str> = head.split('`').skip(1).step_by(2).collect();
        match quoted[..] {
            [file] if head.starts_with("New file ") => {
                blocks.push(Block { file, anchor: None, text });
            }
            [file, anchor] if head.starts_with("In ") => {
                blocks.push(Block { file, anchor: Some(anchor), text });
            }
            _ => assert!(quoted.is_empty(), "a block without a place: {head}"),
        }
    }
    blocks
}

/// Adds a block to the files.
fn add(files: &mut BTreeMap<PathBuf, Vec<u8>>, block: &Block<'_>) {
    let Block { file, anchor, text } = *block;
    let Some(anchor) = anchor else {
        let replaced = files.insert(file.into(), text.as_bytes().to_vec());
        assert!(replaced.is_none(), "{file} is there already");
        return;
    };
    let bytes = files.get_mut(Path::new(file)).unwrap_or_else(|| panic!("there is no {file}"));
    let old = String::from_utf8(bytes.clone()).unwrap();
    let line = old.lines().find(|line| line.trim() == anchor);
    let line = line.unwrap_or_else(|| panic!("{file} has no line {anchor:?}"));
    *bytes = old.replacen(&format!("{line}\n"), &format!("{line}\n{text}"), 1).into_bytes();
}

/// The files of the workspace with all worked examples.
fn with_examples() -> BTreeMap<PathBuf, Vec<u8>> {
    let document = fs::read_to_string(workspace().join("CONTRIBUTING.md")).unwrap();
    let blocks = blocks(&document);
    let mut files = files_of_workspace();
    blocks.iter().for_each(|block| add(&mut files, block));
    for room in [
        "datasets/",
        "preprocess/",
        "accuracy/",
        "host/scheduler/",
        "host/config/",
        "host/src/",
        "host/loadgen/",
    ] {
        assert!(blocks.iter().any(|block| block.file.starts_with(room)), "no example in {room}");
    }
    files
}

/// Every file and line that the document names is there, and no file that it makes.
#[test]
fn the_worked_examples_have_their_places() {
    let files = with_examples();
    assert!(files.len() > files_of_workspace().len());
}

#[test]
fn the_worked_examples_work_by_their_own_files_alone() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("extensions");
    let copy = WorkspaceCopy::write(&folder, with_examples());

    copy.cargo(&["build", "--quiet", "--package", "proctor-tests", "--example", "mini_run"]);
    let output = Command::new(copy.target().join("debug/examples/mini_run"))
        .args(["coins", copy.workspace().join("datasets").to_str().unwrap(), "eager", "note", "v7.0"])
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(
        printed,
        "accuracy 1\npolicy eager\nround v7.0: 3 runs of Server\nsetting note = given (flag --set note)\n\
         flag --note TEXT: A note for the reader of the result [default: no note]\n"
    );
    // The programs would take minutes to build; that their parts fit together is checked.
    copy.cargo(&["check", "--quiet", "--package", "host", "--bin", "host"]);
    copy.cargo(&["check", "--quiet", "--package", "proctor-data"]);
}
