//! The checks on real files and on files that are nearly real, as the fuzz targets find them.

use std::{
    fs,
    path::{Path, PathBuf},
};

use proctor_readers::{CHECKS, Check};
use proptest::{prelude::*, sample::Index, test_runner::TestRunner};

/// Mutated files for each check.
const CASES: u32 = 250;

/// One change of a file. Places and tokens are chosen by an index.
#[derive(Debug, Clone)]
enum Change {
    Byte(Index, u8),
    Token(Index, Index),
    Remove(Index, usize),
    RepeatLine(Index, Index),
    Cut(Index),
}

#[test]
fn the_seeds_pass() {
    for (name, check) in CHECKS {
        check(b"");
        seeds(name).iter().for_each(|seed| check(seed));
    }
}

#[test]
fn what_loadgen_wrote_passes_and_is_read() {
    let golden = fuzz_folder().join("../../host/loadgen/tests/golden/runs");
    let runs: Vec<_> = fs::read_dir(golden).unwrap().map(|run| run.unwrap().path()).collect();
    assert!(runs.len() > 10);
    for run in runs {
        // Some of the recordings have no log of their own.
        let Ok(detail) = fs::read(run.join("mlperf_log_detail.txt")) else { continue };
        let log = proctor_readers::read_detail_log(&detail).unwrap();
        assert!(log.entries.len() > 60, "{}", run.display());
        proctor_readers::check_detail_log(&detail);
        proctor_readers::check_summary_log(&fs::read(run.join("mlperf_log_summary.txt")).unwrap());
        if let Ok(accuracy) = fs::read(run.join("mlperf_log_accuracy.json")) {
            proctor_accuracy::parse_log(&accuracy).unwrap();
            proctor_readers::check_accuracy_log(&accuracy);
        }
    }
}

#[test]
fn nearly_real_files_pass() {
    for (name, check) in CHECKS {
        check_mutated(name, check);
    }
}

fn check_mutated(name: &str, check: Check) {
    let (seeds, tokens) = (seeds(name), dictionary(name));
    let cases = (any::<Index>(), prop::collection::vec(change(), 1..6));
    let config = ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() };
    let run = TestRunner::new(config).run(&cases, |(seed, changes)| {
        let mut data = seed.get(&seeds).clone();
        changes.iter().for_each(|change| change.apply(&mut data, &tokens));
        check(&data);
        Ok(())
    });
    run.unwrap_or_else(|failure| panic!("{name}: {failure}"));
}

fn change() -> impl Strategy<Value = Change> {
    let index = any::<Index>;
    prop_oneof![
        1 => (index(), any::<u8>()).prop_map(|(place, byte)| Change::Byte(place, byte)),
        4 => (index(), index()).prop_map(|(place, token)| Change::Token(place, token)),
        1 => (index(), 1_usize..20).prop_map(|(place, count)| Change::Remove(place, count)),
        1 => (index(), index()).prop_map(|(line, place)| Change::RepeatLine(line, place)),
        1 => index().prop_map(Change::Cut),
    ]
}

impl Change {
    fn apply(&self, data: &mut Vec<u8>, tokens: &[Vec<u8>]) {
        let length = data.len();
        let place = |index: &Index| index.index(length + 1);
        match self {
            Self::Byte(index, byte) if length > 0 => data[index.index(length)] = *byte,
            Self::Byte(..) => {}
            Self::Token(index, token) => {
                let at = place(index);
                data.splice(at..at, token.get(tokens).iter().copied());
            }
            Self::Remove(index, count) => {
                let start = place(index);
                data.drain(start..length.min(start + count));
            }
            Self::RepeatLine(line, index) => {
                let lines: Vec<_> = data.split_inclusive(|byte| *byte == b'\n').collect();
                let Some(line) = lines.get(line.index(lines.len().max(1))) else { return };
                let (line, at) = (line.to_vec(), place(index));
                data.splice(at..at, line);
            }
            Self::Cut(index) => data.truncate(place(index)),
        }
    }
}

fn fuzz_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz")
}

fn seeds(name: &str) -> Vec<Vec<u8>> {
    let folder = fs::read_dir(fuzz_folder().join("seeds").join(name)).unwrap();
    let mut paths: Vec<_> = folder.map(|file| file.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() > 1, "{name} has seeds");
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

/// The tokens of a dictionary in the fuzzer's form: one in quotes a line, with `\"`, `\\` and `\xNN` in it.
fn dictionary(name: &str) -> Vec<Vec<u8>> {
    let text = fs::read_to_string(fuzz_folder().join(format!("dictionaries/{name}.dict"))).unwrap();
    let quoted = text.lines().filter_map(|line| line.strip_prefix('"')?.strip_suffix('"'));
    quoted.map(unescaped).collect()
}

fn unescaped(text: &str) -> Vec<u8> {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    loop {
        let byte = match rest {
            [b'\\', b'x', high, low, ..] => {
                let digits = String::from_utf8(vec![*high, *low]).unwrap();
                u8::from_str_radix(&digits, 16).unwrap()
            }
            [b'\\', escaped, ..] => *escaped,
            [byte, ..] => *byte,
            [] => return bytes,
        };
        let length = match rest {
            [b'\\', b'x', ..] => 4,
            [b'\\', ..] => 2,
            _ => 1,
        };
        bytes.push(byte);
        rest = &rest[length..];
    }
}
