//! Text of files, names and arguments from elsewhere: it cannot control the terminal, wherever the program prints it.

use std::{ffi::OsStr, fs, os::unix::ffi::OsStrExt};

use proctor_tests::{Bench, Finished};
use proctor_vocabulary::printable_lines;
use serde_json::Value;

/// Clears the screen, rings, colours by the one byte of C1, turns the direction, and goes back to where a line begins.
const HOSTILE: &str = "x\u{1b}[2J\u{7}\u{9b}31m\u{202e}\u{2066}\r";

/// The same as programs show it, and as JSON may have it.
const SHOWN: &str = r"x\u001b[2J\u0007\u009b31m\u202e\u2066\r";

/// Runs the program with words that may have any characters, and asserts that it steers no terminal.
fn host(bench: &Bench, words: &[&str]) -> Finished {
    let mut command = bench.command("");
    command.args(words);
    let finished = bench.start_command(command).finish();
    for text in [&finished.stdout, &finished.stderr] {
        assert_eq!(printable_lines(text), *text, "{words:?}");
    }
    finished
}

/// Whether the bell is in the text, escaped as programs do it, or as Rust quotes text.
fn names_the_bell(text: &str) -> bool {
    text.contains(r"\u0007") || text.contains(r"\u{7}")
}

#[test]
fn keys_and_values_of_settings() {
    let bench = Bench::new();
    // In LoadGen's files white space ends a word, and a carriage return is some.
    let word = HOSTILE.trim_end();
    for line in [
        format!("*.Server.target_qps = {word}"),
        format!("*.Server.target{word} = 5"),
        format!("model{word}.Server.target_qps = 5"),
    ] {
        bench.write("user.conf", format!("{line}\n"));
        let finished = host(&bench, &["explain", "--scenario", "Server", "--user-conf", "user.conf"]);
        assert!(names_the_bell(&format!("{finished}")), "{finished}");
    }
    for line in [format!("scenario = \"{SHOWN}\\nerror: forged\""), format!("\"batch{SHOWN}\" = 1")] {
        bench.write("proctor.toml", line);
        let finished = host(&bench, &["explain"]);
        assert!(finished.code() == 2 && names_the_bell(&finished.stderr), "{finished}");
        assert!(
            !finished.stderr.lines().any(|line| line == "error: forged"),
            "no line of its own: {finished}"
        );
    }
}

#[test]
fn names_of_files_and_arguments() {
    let bench = Bench::new();
    for words in [
        &["explain", "--user-conf", HOSTILE][..],
        &["explain", "--scenario", HOSTILE],
        &["run", "--plugin", HOSTILE],
        &["run", "--benchmark", HOSTILE],
        &["report", HOSTILE],
        &["run", "--set", HOSTILE],
    ] {
        let finished = host(&bench, words);
        assert!(finished.code() != 0 && names_the_bell(&finished.stderr), "{finished}");
    }
    // Words that are no command line at all.
    for words in [&["run", &format!("--{HOSTILE}")][..], &["scale", "--slo-at", HOSTILE], &["list", HOSTILE]]
    {
        let finished = host(&bench, words);
        assert!(finished.code() == 2 && finished.stderr.contains("--help"), "{finished}");
    }
    bench.write(&format!("runs/{HOSTILE}/result.json"), "{}");
    let finished = host(&bench, &["list", "runs"]);
    assert!(finished.stdout.contains(SHOWN), "{finished}");
}

#[test]
fn an_argument_that_is_no_utf8_is_named() {
    let bench = Bench::new();
    let mut command = bench.command("describe");
    command.arg(OsStr::from_bytes(b"./n\xff\x1bn.so"));
    let finished = bench.start_command(command).finish();
    finished.assert_error(
        2,
        &["not UTF-8: \"./n\u{fffd}\\u001bn.so\"; rename the file", "a link with a name in UTF-8"],
    );
}

#[test]
fn results_that_others_have_written() {
    let bench = Bench::new();
    for folder in ["first", "second"] {
        let flags = "--plugin mock --virtual-time --mode performance --duration 1 --set mock.service=fixed";
        let finished = bench.host(&format!("run {flags} -o {folder}"));
        let path = format!("{folder}/result.json");
        let result = fs::read_to_string(bench.file(&path));
        let result = result.unwrap_or_else(|error| panic!("{error}: {finished}"));
        bench.write(&path, result.replace("\"digits-lstm\"", &format!("\"{SHOWN}\"")));
    }
    for words in [
        &["list", "runs", "."][..],
        &["report", "first"],
        &["compare", "first", "second"],
        &["compare", "first", "second", "--json"],
    ] {
        host(&bench, words);
    }
    // Programs read an export through a pipe as from a file.
    for form in ["csv", "json", "markdown", "openmetrics"] {
        let piped = bench.host(&format!("export first --format {form}"));
        bench.host(&format!("export first --format {form} -o exported")).assert_error(0, &[]);
        assert_eq!(piped.stdout, fs::read_to_string(bench.file("exported")).unwrap(), "{piped}");
        assert!(form == "csv" || piped.stdout.contains('\u{9b}'), "{form}: {piped}");
    }
    let exported = bench.host("export first --format json").stdout;
    let exported: Value = serde_json::from_str(&exported).unwrap();
    assert_eq!(exported[0]["benchmark"], HOSTILE, "{exported}");
}
