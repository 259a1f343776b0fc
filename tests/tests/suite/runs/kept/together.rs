//! Runs at the same time in one folder, and runs that may open few files.

use std::{collections::BTreeSet, fs};

use proctor_tests::{Bench, OUTPUT, PLACES, Started};

use super::{problem, result_in};

/// How many runs begin at the same time.
const COUNT: usize = 10;

/// A short run.
const SHORT: &str = "run --plugin mock --mode performance --duration 300ms --set floor=false";

#[test]
fn each_has_a_folder_of_its_own() {
    for place in PLACES {
        let bench = Bench::new();
        let started: Vec<_> = (0..COUNT).map(|_| bench.start(&format!("{SHORT} {place}"))).collect();
        for finished in started.into_iter().map(Started::finish) {
            assert!([0, 1].contains(&finished.code()), "{finished}");
            assert!(finished.stdout.contains("  verdict "), "{finished}");
        }
        let entries = fs::read_dir(bench.file("runs")).expect("it is there").flatten();
        let folders: BTreeSet<_> = entries.map(|entry| entry.path()).collect();
        assert_eq!(folders.len(), COUNT, "{folders:?}");
        for folder in folders {
            assert!(folder.extension().is_none_or(|it| it != "partial"), "{}", folder.display());
            assert!(matches!(result_in(&folder), Some(Ok(_))), "{}", folder.display());
        }
    }
}

#[test]
fn one_alone_has_the_folder_that_all_name() {
    let bench = Bench::new();
    let started: Vec<_> = (0..COUNT).map(|_| bench.start(&format!("{SHORT} --output out"))).collect();
    let finished = started.into_iter().map(Started::finish);
    let (refused, made): (Vec<_>, Vec<_>) = finished.partition(|it| it.code() == OUTPUT);
    assert_eq!(made.len(), 1, "{made:?}");
    assert_eq!(problem(&bench.file("out"), &made[0]), None, "{}", made[0]);
    refused.iter().for_each(|it| it.assert_error(OUTPUT, &["out"]));
}

#[test]
fn one_with_few_files_is_whole_or_says_so() {
    for place in PLACES {
        let bench = Bench::new();
        let script = "ulimit -n 16; exec \"$0\" \"$@\"";
        let command = bench.command_in_shell(script, &format!("{SHORT} --output out {place}"));
        let finished = bench.start_command(command).finish();
        assert_eq!(problem(&bench.file("out"), &finished), None, "{finished}");
        assert!(finished.code() == 0 || finished.stderr.contains("open files"), "{finished}");
    }
}
