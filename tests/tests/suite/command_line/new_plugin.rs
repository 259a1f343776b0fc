//! `host new-plugin` and the page on writing a plugin: what they write builds and runs.

use std::{collections::HashSet, fs, path::Path, process::Command, time::Duration};

use proctor_test_needs::skip;
use proctor_tests::{Bench, Finished, workspace};

const USAGE: i32 = 2;

/// Longer than cargo takes to build the crates behind a plugin on a machine that does other things.
const BUILD_LIMIT: Duration = Duration::from_secs(600);

/// A folder to write plugins in, with `host` on the path. Rust builds in it share a target folder.
struct Desk {
    bench: Bench,
}

impl Desk {
    fn new() -> Self {
        Self { bench: Bench::new() }
    }

    /// Runs a script, with short runs, and returns what it printed.
    fn run(&self, script: &str) -> Finished {
        let program = self.bench.command("").get_program().to_owned();
        let folder = Path::new(&program).parent().expect("the program is in a folder");
        let path = format!("{}:{}", folder.display(), std::env::var("PATH").expect("there is a path"));
        let mut command = self.bench.command_in_shell(&format!("set -e\n{script}"), "");
        command.env("PATH", path).env("CARGO_NET_OFFLINE", "true");
        command.env("CARGO_TARGET_DIR", workspace().join("target/new-plugin"));
        // Compilers that have arguments.
        command.env("CC", "env cc").env("CXX", "env c++");
        // A machine that is busy stalls for longer than the benchmark's bound.
        command.env("PROCTOR_MIN_DURATION_MS", "50").env("PROCTOR_SERVER_TARGET_LATENCY_NS", "10000000000");
        // A machine that is faster than the rate of the benchmark ends Offline before the duration is over.
        command.env("PROCTOR_OFFLINE_EXPECTED_QPS", "1000000");
        let finished = self.bench.start_command(command).finish_within(BUILD_LIMIT);
        assert_eq!(finished.code(), 0, "{script}\n{finished}");
        finished
    }
}

fn has_compilers() -> bool {
    ["cc", "c++"].iter().all(|compiler| {
        let is_there = Command::new(compiler).arg("--version").output().is_ok();
        if !is_there {
            skip(format!("no {compiler}; `cargo xtask setup` installs one"));
        }
        is_there
    })
}

/// Asserts that a new plugin in this language builds and classifies digits.
fn classifies_digits_at_once(lang: &str) {
    if !has_compilers() {
        return;
    }
    let finished = Desk::new().run(&format!("host new-plugin chip-{lang} --lang {lang}\nchip-{lang}/run.sh"));
    for text in [&format!("chip-{lang}/run.sh"), "plugin      chip-", "accuracy    PASS", "verdict     VALID"]
    {
        assert!(finished.stdout.contains(text), "{finished}");
    }
}

#[test]
fn what_is_made_in_c_classifies_digits_at_once() {
    classifies_digits_at_once("c");
}

#[test]
fn what_is_made_in_cpp_classifies_digits_at_once() {
    classifies_digits_at_once("cpp");
}

#[test]
fn what_is_made_in_rust_classifies_digits_at_once() {
    classifies_digits_at_once("rust");
}

/// Writes, builds and runs every block of a page, in its order: a block of code is a file, or its next part; a script
/// is run. Returns the number of runs, which are all VALID, and of files.
fn follow(page: &str) -> (usize, usize) {
    let page = fs::read_to_string(workspace().join(page)).unwrap();
    let desk = Desk::new();
    let mut written = HashSet::new();
    let mut run_count = 0;
    for block in page.split("\n```").skip(1).step_by(2) {
        let (head, text) = block.split_once('\n').unwrap();
        match head.split_once(' ') {
            Some((_, file)) => {
                let before = match written.insert(file) {
                    true => String::new(),
                    false => fs::read_to_string(desk.bench.file(file)).unwrap() + "\n",
                };
                desk.bench.write(file, format!("{before}{text}\n"));
            }
            None if head == "sh" => {
                let finished = desk.run(text);
                let runs = text.matches("run.sh").count();
                assert_eq!(finished.stdout.matches("verdict     VALID").count(), runs, "{text}\n{finished}");
                let validations = text.matches("validate.sh").count();
                assert_eq!(finished.stdout.matches(", 0 FAIL,").count(), validations, "{text}\n{finished}");
                run_count += runs;
            }
            None => assert_eq!(head, "text"),
        }
    }
    (run_count, written.len())
}

#[test]
fn the_page_on_writing_a_plugin_is_true() {
    if has_compilers() {
        let (run_count, file_count) = follow("docs/writing-a-plugin.md");
        assert!(run_count >= 14 && file_count == 7, "{run_count} runs of {file_count} files");
    }
}

#[test]
fn the_page_on_porting_a_loadgen_system_is_true() {
    if has_compilers() {
        assert_eq!(follow("docs/porting.md"), (6, 4));
    }
}

#[test]
fn nothing_is_overwritten_and_what_is_wrong_is_named() {
    let bench = Bench::new();
    bench.write("my-chip/notes.txt", "mine");
    let refused = bench.host("new-plugin my-chip --lang c");
    refused.assert_error(USAGE, &["my-chip is there already", "--output"]);
    assert!(!bench.file("my-chip/plugin.c").exists());
    let long = "a".repeat(129);
    bench.host(&format!("new-plugin {long} --lang c")).assert_error(USAGE, &["at most 128"]);
    bench.host("new-plugin My_Chip --lang c").assert_error(USAGE, &["My_Chip", "as in my-chip"]);
    let elsewhere = bench.host("new-plugin other --lang rust --plugin-api nowhere");
    elsewhere.assert_error(USAGE, &["proctor-plugin-api", "--plugin-api"]);
    assert!(!bench.file("other").exists());
}

#[test]
fn nothing_half_written_is_left() {
    let bench = Bench::new();
    // Files of this shell may have 16 blocks of 512 bytes, less than the header has.
    let mut command = bench.command_in_shell("ulimit -f 16; \"$0\" \"$@\"", "new-plugin cut-off --lang c");
    command.env_remove("RUST_BACKTRACE");
    let finished = bench.start_command(command).finish();
    finished.assert_error(USAGE, &["cannot write a new plugin to cut-off", "File too large"]);
    assert!(!bench.file("cut-off").exists());
}
