//! The worked examples of `CONTRIBUTING.md`: a copy of the workspace with all of them builds, and has what they add.
//!
//! The copy and its target folder are kept between runs, so that only the first one builds everything.

#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use proctor_tests::workspace;

/// Folders at the top of the workspace that are no part of it.
const FOREIGN: [&str; 3] = ["target", "runs", "datasets/generated"];

/// The contents of all files of the workspace, by path.
fn files_of_workspace() -> BTreeMap<PathBuf, Vec<u8>> {
    let (mut files, mut folders) = (BTreeMap::new(), vec![PathBuf::new()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(workspace().join(&folder)).unwrap().map(Result::unwrap) {
            let path = folder.join(entry.file_name());
            let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
            if is_hidden || FOREIGN.iter().any(|foreign| path == Path::new(foreign)) {
                continue;
            }
            if entry.file_type().unwrap().is_dir() {
                folders.push(path);
            } else if let Ok(bytes) = fs::read(entry.path()) {
                // A temporary file of another test may be gone.
                files.insert(path, bytes);
            }
        }
    }
    files
}

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

/// Makes a folder hold exactly these files. Those that are as they should be stay untouched, for cargo's sake.
fn write_all(folder: &Path, files: &BTreeMap<PathBuf, Vec<u8>>) {
    let mut folders = vec![PathBuf::new()];
    while let Some(below) = folders.pop() {
        let Ok(entries) = fs::read_dir(folder.join(&below)) else { continue };
        for entry in entries.map(Result::unwrap) {
            let path = below.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                folders.push(path);
            } else if !files.contains_key(&path) {
                fs::remove_file(entry.path()).unwrap();
            }
        }
    }
    for (path, bytes) in files {
        let path = folder.join(path);
        if fs::read(&path).is_ok_and(|found| found == *bytes) {
            continue;
        }
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

/// Fills the target folder of the copy with the crates from registries that this workspace has built: cargo knows them
/// again, whereas it builds the crates of the copy anew.
fn seed(target: &Path, files: &BTreeMap<PathBuf, Vec<u8>>) {
    if target.exists() {
        return;
    }
    let manifests = files.iter().filter(|(path, _)| path.ends_with("Cargo.toml"));
    let manifests: Vec<String> =
        manifests.map(|(_, bytes)| String::from_utf8_lossy(bytes).replace('-', "_")).collect();
    let is_own = |name: &str| manifests.iter().any(|text| text.contains(&format!("name = \"{name}\"")));
    let test = env::current_exe().unwrap();
    let profile = test.ancestors().nth(2).unwrap();
    for folder in ["deps", "build", ".fingerprint"] {
        let built = fs::read_dir(profile.join(folder)).unwrap().map(|entry| entry.unwrap().path());
        let foreign = built.filter(|path| {
            let name = path.file_name().unwrap().to_string_lossy().replace('-', "_");
            let name = name.rsplit_once('_').map_or("", |(name, _)| name);
            let is_program = path.is_file() && path.extension().is_none();
            !is_program && !is_own(name) && !is_own(name.trim_start_matches("lib"))
        });
        let place = target.join("debug").join(folder);
        fs::create_dir_all(&place).unwrap();
        // With their times, by which cargo sees that they are fresh.
        let status = Command::new("cp").arg("-a").args(foreign).arg(place).status().unwrap();
        assert!(status.success(), "cp: {status}");
    }
}

/// Runs cargo in the copy.
fn cargo(copy: &Path, arguments: &[&str]) {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).arg("--offline").current_dir(copy);
    command.env("CARGO_TARGET_DIR", copy.with_file_name("target"));
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo {}\n{stderr}", arguments.join(" "));
}

#[test]
fn the_worked_examples_work_by_their_own_files_alone() {
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
    let copy = Path::new(env!("CARGO_TARGET_TMPDIR")).join("extensions/workspace");
    write_all(&copy, &files);
    seed(&copy.with_file_name("target"), &files);

    cargo(&copy, &["build", "--quiet", "--package", "proctor-tests", "--example", "mini_run"]);
    let output = Command::new(copy.with_file_name("target").join("debug/examples/mini_run"))
        .args(["coins", copy.join("datasets").to_str().unwrap(), "eager", "note", "v6.0"])
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(
        printed,
        "accuracy 1\npolicy eager\nround v6.0: 3 runs of Server\nsetting note = given (flag --set note)\n\
         flag --note TEXT: A note for the reader of the result [default: no note]\n"
    );
    // The program with its plugin would take minutes to build; that its commands fit together is checked.
    cargo(&copy, &["check", "--quiet", "--package", "host", "--bin", "host"]);
}
