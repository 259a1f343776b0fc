//! The rules of this repository, as tests: what a reviewer would otherwise have to look for.
//!
//! They read the files of the workspace, tracked or not, except what `.gitignore` names.

mod code;
mod commits;
mod files;
mod imports;
mod lengths;
mod rooms;
mod turns;
mod words;

use std::{collections::BTreeSet, path::Path};

use code::{attributes, code_with, has_word};
use files::{
    TextFile, all_paths, assert_none, files, is_ignored, manifest, offending_lines, read, starts_with_any,
    text_files, workspace_members,
};

/// Where unsafe code may be: the two sides of the plugin boundary, the plugins that compute or call foreign code
/// themselves, the first plugin that an author reads, and the plugins that tests load.
const UNSAFE_ALLOWED: &[&str] = &[
    "plugin-api/",
    "host/plugin-host/",
    "plugins/candle/src/ops/",
    "plugins/cpu-rnn/engine/",
    "plugins/cpu-rnn/kernels/",
    "plugins/cpu-rnn/limits/",
    "plugins/cpu-rnn/models/",
    "plugins/cpu-rnn/src/batch.rs",
    "plugins/cuda/",
    "plugin-api/device/",
    "plugins/host-probe/",
    "plugins/isolated/",
    "plugins/mock/",
    "plugins/onnx/",
    "plugins/opencl/",
    "plugins/python/",
    "tests/cuda-double/",
    "tests/fixtures/",
];

/// Words of code that reads the time: the standard library's clocks, and the system's by way of any crate.
const CLOCK_WORDS: &[&str] =
    &["Instant", "SystemTime", "clock_gettime", "ClockId", "clock_getres", "gettimeofday", "chrono", "libc"];

/// Crates that keep the locks of the standard library, by folder, and why. All others take those of `parking_lot`,
/// which a panic does not poison.
const STD_LOCKS: &[(&str, &str)] = &[
    ("host/loadgen/", "is tested under loom, whose locks look like those of the standard library"),
    ("host/scheduler/", "is tested under loom, too"),
    ("plugin-api/src/", "is built by vendors, with as few packages as may be"),
    (
        "host/plugin-host/src/objects/issuer.rs",
        "waits for its turn in a measurement, where parking_lot allocates",
    ),
    ("plugins/cpu-rnn/engine/", "is tested under loom, too"),
    ("plugins/cpu-rnn/models/", "allocates nothing in a batch, as parking_lot does in a thread's first wait"),
    ("tests/stress/", "runs under ThreadSanitizer, with suppressions for what the standard library hides"),
];

/// Names in the standard library of locks and of what belongs to them.
const STD_LOCK_WORDS: &[&str] = &["Mutex", "RwLock", "Condvar", "PoisonError"];

/// Folders that may name files of labels: the crate that judges answers, data sets with their scripts, and the crate
/// that places files of packages and reads none.
const LABELS_ALLOWED: &[&str] =
    &["accuracy/", "datasets/digits/", "datasets/fashion-mnist-cnn/", "datasets/packages/"];

/// The crates of ours that the crates in a folder may use, except in their tests: only those in these folders. Folders
/// that are not named here, the host and the tests, may use all.
const MAY_USE: &[(&str, &[&str])] = &[
    ("plugin-api", &["plugin-api"]),
    ("plugin-api/device", &["plugin-api", "datasets/onnx-file"]),
    // Generated networks have the boxes of the models that plugins select from.
    ("datasets", &["plugin-api/vocabulary", "datasets", "host/loadgen/mt19937", "plugin-api/timed-steps"]),
    ("preprocess", &["plugin-api/vocabulary", "datasets", "preprocess"]),
    ("accuracy", &["plugin-api/vocabulary", "datasets", "preprocess", "accuracy/scores"]),
    ("accuracy/scores", &[]),
    ("plugins", &["plugin-api", "plugins", "datasets/gguf-file", "datasets/onnx-file", "datasets/text"]),
    ("host/loadgen", &["plugin-api/vocabulary", "host/loadgen/mt19937", "host/loadgen/settings"]),
    ("host/loadgen/settings", &["plugin-api/vocabulary", "host/loadgen/mt19937"]),
    ("host/scaling", &[]),
    ("host/search", &[]),
    // Programs that only read or show results wait for no more than this.
    (
        "host/words",
        &[
            "plugin-api",
            "datasets",
            "preprocess",
            "accuracy",
            "host/config",
            "host/loadgen",
            "host/noise",
            "host/plugin-host",
            "host/results",
            "host/scaling",
            "host/scheduler",
        ],
    ),
];

#[test]
fn unsafe_code_stays_at_the_plugin_boundary() {
    let offences = offending_lines(&code_with(&["unsafe"]), |file, line| {
        !may_be_unsafe(&file.path) && has_word(line, "unsafe")
    });
    assert_none(&offences, "unsafe code outside the plugin boundary");
}

#[test]
fn every_other_crate_forbids_unsafe_code() {
    let exporting: Vec<_> = code_with(&["export_plugin!("])
        .into_iter()
        .filter(|file| file.path.starts_with("plugins/") && file.text.contains("export_plugin!("))
        .filter_map(|file| Some(format!("{}/src/", file.path.split_once("/src/")?.0)))
        .collect();
    let offences: Vec<_> = files(&["rs"])
        .into_iter()
        .filter(|file| file.path.ends_with("src/lib.rs") || file.path.ends_with("src/main.rs"))
        .filter(|file| !may_be_unsafe(&file.path))
        // The macro that exports a plugin makes unsafe code in the crate that calls it.
        .filter(|file| !exporting.iter().any(|folder| file.path.starts_with(folder)))
        .filter(|file| !file.text.contains("#![forbid(unsafe_code)]"))
        .map(|file| file.path)
        .collect();
    assert_none(&offences, "a crate root without #![forbid(unsafe_code)]");
}

#[test]
fn nothing_is_left_unfinished() {
    let marks = [concat!("todo", "!("), concat!("unimplemented", "!("), concat!("FIX", "ME")];
    let offences = offending_lines(&text_files(), |_, line| marks.iter().any(|mark| line.contains(mark)));
    assert_none(&offences, "unfinished work; finish it, or describe it in the documentation as a limit");
}

#[test]
fn no_test_is_ignored() {
    let mut offences = Vec::new();
    for file in code_with(&["ignore"]) {
        let ignoring =
            attributes(&file.text).into_iter().filter(|(_, attribute)| has_word(attribute, "ignore"));
        offences.extend(ignoring.map(|(line, attribute)| format!("{}:{line}: {attribute}", file.path)));
    }
    offences.extend(offending_lines(&files(&["rs"]), |_, line| {
        let fence = line.trim_start().trim_start_matches(['/', '!']).trim_start().strip_prefix("```");
        fence.is_some_and(|words| has_word(words, "ignore"))
    }));
    assert_none(&offences, "an ignored test; skip it by proctor_test_needs, which the test run reports");
}

#[test]
fn tests_skip_themselves_in_one_way() {
    let offences = offending_lines(&files(&["rs"]), |file, line| {
        file.path != "tests/needs/src/lib.rs" && line.contains(concat!("println!(\"skip", "ped"))
    });
    assert_none(
        &offences,
        "a skip by hand; use proctor_test_needs, which fails in CI unless hardware is missing",
    );
}

#[test]
fn labels_are_read_by_accuracy_alone() {
    let label_files: Vec<_> = all_paths()
        .into_iter()
        .filter(|path| {
            path.starts_with("datasets/")
                && path.rsplit('/').next().is_some_and(|name| name.contains("label"))
        })
        .filter(|path| !path.ends_with(".rs"))
        .filter_map(|path| path.rsplit('/').next().map(str::to_owned))
        .collect();
    assert!(!label_files.is_empty(), "no file of labels under datasets/: has it got another name?");
    let offences = offending_lines(&files(&["rs", "toml", "py"]), |file, line| {
        !starts_with_any(&file.path, LABELS_ALLOWED)
            && label_files.iter().any(|name| line.contains(name.as_str()))
    });
    assert_none(&offences, "a file of labels named outside accuracy/; labels must not come near a plugin");
}

#[test]
fn the_architecture_page_names_every_crate() {
    let page = read("ARCHITECTURE.md");
    let offences: Vec<_> =
        workspace_members().into_iter().filter(|member| !page.contains(member.as_str())).collect();
    assert_none(&offences, "a workspace member that ARCHITECTURE.md does not mention");
}

#[test]
fn the_code_map_has_a_row_for_each_plugin() {
    let page = read("ARCHITECTURE.md");
    let folders: BTreeSet<_> = workspace_members()
        .into_iter()
        .filter(|member| member.starts_with("plugins/"))
        .map(|member| member.split('/').take(2).collect::<Vec<_>>().join("/"))
        .collect();
    assert!(!folders.is_empty(), "no plugin in plugins/: this test looks in the wrong place");
    let offences: Vec<_> =
        folders.into_iter().filter(|folder| !page.contains(&format!("\n| `{folder}` | "))).collect();
    assert_none(&offences, "a plugin without a row in the code map of ARCHITECTURE.md");
}

#[test]
fn the_architecture_page_names_files_that_exist() {
    let page = read("ARCHITECTURE.md");
    let names = page.split('`').skip(1).step_by(2).filter(|name| name.contains('/') && name.ends_with(".rs"));
    let paths = all_paths();
    let names: Vec<_> = names.map(str::to_owned).collect();
    assert!(!names.is_empty(), "no file named in ARCHITECTURE.md: this test looks in the wrong place");
    let offences: Vec<_> = names.into_iter().filter(|name| !paths.contains(name)).collect();
    assert_none(&offences, "a file that ARCHITECTURE.md names and that is not there");
}

#[test]
fn each_invariant_names_tests_that_exist() {
    let page = read("ARCHITECTURE.md");
    let (_, invariants) = page.split_once("\n## Invariants\n").expect("the page has them");
    let code: String = files(&["rs"]).into_iter().map(|file| file.text).collect();
    let mut offences = Vec::new();
    let mut number = 1;
    while let Some((_, rest)) = invariants.split_once(&format!("\n{number}. ")) {
        let end = rest.find(&format!("\n{}. ", number + 1)).or_else(|| rest.find("\n\n"));
        let (_, tests) = rest[..end.unwrap_or(rest.len())].split_once("Tests: ").unwrap_or_default();
        let tests: Vec<_> = tests.split('`').skip(1).step_by(2).filter(|name| !name.contains('/')).collect();
        if tests.is_empty() {
            offences.push(format!("{number} names none"));
        }
        let absent = tests.iter().filter(|name| !code.contains(&format!("fn {name}()")));
        offences.extend(absent.map(|name| format!("{number} names {name}")));
        number += 1;
    }
    assert!(number > 1, "no invariant found: this test looks in the wrong place");
    assert_none(&offences, "an invariant of ARCHITECTURE.md without a test that is there");
}

#[test]
fn no_file_names_a_folder_of_one_machine() {
    let folders = [concat!("/ro", "ot/"), concat!("/ho", "me/"), concat!("/Us", "ers/")];
    let offences = offending_lines(&text_files(), |_, line| {
        folders.iter().any(|folder| has_absolute_path(line, folder))
    });
    assert_none(&offences, "an absolute path of one machine");
}

#[test]
fn the_load_generator_reads_time_in_one_module() {
    let is_clock = |file: &TextFile| file.path == "host/loadgen/src/time/clock.rs";
    let reads_time =
        |line: &str| CLOCK_WORDS.iter().any(|word| has_word(line, word)) || line.contains("rustix::time");
    let mut sources = code_with(&[CLOCK_WORDS, &["rustix"]].concat());
    sources.retain(|file| starts_with_any(&file.path, &["host/loadgen/src/", "host/loadgen/settings/src/"]));
    let clock = sources.iter().find(|file| is_clock(file)).expect("the clock is there");
    assert!(
        clock.text.lines().any(reads_time),
        "the clock reads the time in a way that this test does not know"
    );
    let offences = offending_lines(&sources, |file, line| !is_clock(file) && reads_time(line));
    assert_none(&offences, "a clock read outside host/loadgen/src/time/clock.rs; use the Clock trait");
}

#[test]
fn locks_are_those_of_one_crate() {
    let sources = code_with(STD_LOCK_WORDS);
    let mut offences = Vec::new();
    for file in &sources {
        let is_listed = STD_LOCKS.iter().any(|(folder, _)| file.path.starts_with(folder));
        for word in STD_LOCK_WORDS.iter().filter(|_| !is_listed) {
            if names_lock_of_std(&file.text, word) {
                offences.push(format!("{}: {word}", file.path));
            }
        }
    }
    let unused = STD_LOCKS.iter().filter(|(folder, _)| {
        let has_lock =
            |file: &TextFile| STD_LOCK_WORDS.iter().any(|word| names_lock_of_std(&file.text, word));
        !sources.iter().any(|file| file.path.starts_with(folder) && has_lock(file))
    });
    offences.extend(unused.map(|(folder, _)| format!("{folder} has none, but is in the list")));
    assert_none(
        &offences,
        "a lock of the standard library; take parking_lot's, or see STD_LOCKS in this test",
    );
}

/// Returns whether code imports this name from the standard library, or has its path.
fn names_lock_of_std(code: &str, word: &str) -> bool {
    let mut imports = code.split(';').filter_map(|statement| statement.rsplit_once("use std::"));
    imports.any(|(_, import)| has_word(import, word)) || code.contains(&format!("std::sync::{word}"))
}

/// Macros that panic where the stream is full or closed; `proctor_display` has the ways to both streams.
const PRINTING: &[&str] = &["eprintln!(", "eprint!(", "println!(", "print!("];

#[test]
fn nothing_is_printed_past_the_display() {
    let sources: Vec<_> = files(&["rs"]).into_iter().filter(|file| is_of_a_program(&file.path)).collect();
    assert!(!sources.is_empty(), "no source file: this test looks in the wrong place");
    let mut offences = Vec::new();
    for file in &sources {
        let code = file.text.split("#[cfg(test)]").next().unwrap_or_default();
        for (index, line) in code.lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            if PRINTING.iter().any(|printing| code.contains(printing)) {
                offences.push(format!("{}:{}: {}", file.path, index + 1, line.trim()));
            }
        }
    }
    assert_none(&offences, "a macro that panics where nobody reads; take print or tell of proctor_display");
}

/// Returns whether a file is part of a program or a plugin: no test, example or build script.
fn is_of_a_program(path: &str) -> bool {
    path.contains("src/") && !path.starts_with("tests/") && !path.contains("/tests")
}

#[test]
fn the_oldest_toolchain_is_the_one_that_is_used() {
    let [workspace, toolchain] = ["Cargo.toml", "rust-toolchain.toml"].map(manifest);
    let oldest = workspace["workspace"]["package"]["rust-version"].as_str().expect("it is stated");
    let used = toolchain["toolchain"]["channel"].as_str().expect("it is stated");
    assert!(
        used == oldest || used.starts_with(&format!("{oldest}.")),
        "{oldest} in Cargo.toml, {used} is used"
    );
}

#[test]
fn no_crate_uses_one_above_it() {
    let mut offences = Vec::new();
    let manifests: Vec<_> = workspace_members()
        .into_iter()
        .map(|member| (manifest(&format!("{member}/Cargo.toml")), member))
        .collect();
    let member_of = |name: &str| {
        let found = manifests.iter().find(|(manifest, _)| manifest["package"]["name"].as_str() == Some(name));
        found.map(|(_, member)| member)
    };
    for (folder, _) in MAY_USE {
        let is_there = manifests.iter().any(|(_, member)| Path::new(member).starts_with(folder));
        assert!(is_there, "no crate in {folder}: this test looks in the wrong place");
    }
    for (manifest, member) in &manifests {
        let rows = MAY_USE.iter().filter(|(folder, _)| Path::new(member).starts_with(folder));
        let Some((_, below)) = rows.max_by_key(|(folder, _)| folder.len()) else { continue };
        let used = manifest.get("dependencies").and_then(toml::Value::as_table).into_iter().flatten();
        let used = used.filter_map(|(name, _)| member_of(name));
        let above = used.filter(|used| !below.iter().any(|folder| Path::new(used).starts_with(folder)));
        offences.extend(above.map(|used| format!("{member} uses {used}")));
    }
    assert_none(&offences, "a crate that uses one above it; see MAY_USE in this test");
}

#[test]
fn the_rules_recognise_what_they_look_for() {
    assert!(names_lock_of_std("use std::{\n    io,\n    sync::{Arc, Mutex},\n};", "Mutex"));
    assert!(names_lock_of_std("static A: std::sync::Mutex<u8>;", "Mutex"));
    assert!(!names_lock_of_std("use std::sync::Arc;\nuse parking_lot::{Mutex, MutexGuard};", "Mutex"));
    assert!(has_absolute_path("open \"/srv/x\"", "/srv/"));
    assert!(!has_absolute_path("target/srv/x and https://host/srv/", "/srv/"));
    assert!(is_ignored("host/__pycache__", "__pycache__", &["__pycache__/".to_owned()]));
    assert!(is_ignored("target", "target", &["/target/".to_owned()]));
    assert!(!is_ignored("host/src/target", "target", &["/target/".to_owned()]));
}

fn may_be_unsafe(path: &str) -> bool {
    starts_with_any(path, UNSAFE_ALLOWED) && !path.starts_with("plugin-api/vocabulary/")
}

/// Returns whether an absolute path in `line` starts with `folder`: no letter, digit or dot goes before its slash.
fn has_absolute_path(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(start, _)| {
        !line[..start].chars().next_back().is_some_and(|c| c.is_alphanumeric() || "._-}~".contains(c))
    })
}
