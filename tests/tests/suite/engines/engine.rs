//! An engine, and the runs that tests make with it.

use std::{fs, path::Path};

use proctor_accuracy::read_log;
use proctor_datasets::sha256_hex;
use proctor_test_needs::{skip, skip_without_hardware};
use proctor_tests::{Bench, Run, datasets, find_plugin, short, workspace};
use serde_json::Value;

use crate::engines::cuda_double;

/// Exit code for a flag or a setting that is wrong.
pub const SETTINGS: i32 = 2;
/// Exit code for a plugin that cannot be loaded or used.
pub const PLUGIN: i32 = 3;
/// Exit code for a run that is not VALID or not accurate.
pub const BAD_RESULT: i32 = 1;

/// Facts about a plugin that the tests need.
pub struct Engine {
    /// Its name, as `--plugin` takes it.
    pub name: &'static str,
    /// Models of the digits that it runs; the first one is what most tests are made with.
    pub models: &'static [&'static str],
    /// Precisions that it has for the first of them.
    pub precisions: &'static [&'static str],
    /// Format of the files that it reads of the first of them.
    pub format: &'static str,
    /// Benchmarks of `tests/fixtures/benchmarks` that it runs.
    pub generated: &'static [&'static str],
    /// Beginnings of its messages if a library that it loads is not on this machine.
    pub missing: &'static [&'static str],
    /// Whether the library comes with hardware, which a machine need not have.
    pub needs_hardware: bool,
    /// Whether it runs over the double of NVIDIA's libraries.
    pub over_double: bool,
    /// An option that it has.
    pub option: &'static str,
    /// Whether it reports how many bytes of input it has copied.
    pub counts_copies: bool,
    /// Whether it computes on the host's own buffers at batch 1.
    pub lends_inputs: bool,
}

/// An engine that runs everything from ONNX files, in f32.
pub const PLAIN: Engine = Engine {
    name: "",
    models: &["digits-cnn", "digits-lstm", "digits-mlp"],
    precisions: &["f32"],
    format: "onnx",
    generated: &[
        "resnet50-tiny",
        "mobilenet-v1-tiny",
        "bert-tiny",
        "bert-tiny-embedding",
        "lstm-stack-tiny",
        "llama-tiny",
    ],
    missing: &[],
    needs_hardware: false,
    over_double: false,
    option: "threads",
    counts_copies: true,
    lends_inputs: false,
};

impl Engine {
    /// A folder to run it in; `None`, and the reason is printed, where the engine is not there.
    pub fn bench(&self) -> Option<Bench> {
        let bench = self.bench_without_libraries()?;
        let Some(reason) = self.missing_library(&bench) else { return Some(bench) };
        if self.needs_hardware {
            skip_without_hardware(reason);
        } else {
            skip(reason);
        }
        None
    }

    /// As [`bench`](Self::bench), also where a library is missing.
    pub fn bench_without_libraries(&self) -> Option<Bench> {
        if find_plugin(self.name).is_none() {
            skip(format!("plugin {} is not built; `cargo xtask test` builds it", self.name));
            return None;
        }
        let mut bench = Bench::new();
        if self.over_double {
            cuda_double::lay_out(&mut bench);
        }
        Some(bench)
    }

    /// Its message about a library that is not on this machine.
    pub fn missing_library(&self, bench: &Bench) -> Option<String> {
        if self.missing.is_empty() {
            return None;
        }
        let plan = bench.host(&format!("describe {} --plan {}", self.name, self.model()));
        let is_about_it = |line: &&str| self.missing.iter().any(|words| line.contains(words));
        let line = plan.stderr.lines().find(is_about_it)?;
        (plan.code() == PLUGIN).then(|| line.to_owned())
    }

    /// The model that most tests are made with.
    pub fn model(&self) -> &'static str {
        self.models[0]
    }

    /// Runs a benchmark with it.
    pub fn run(&self, bench: &Bench, benchmark: &str, flags: &str) -> Run {
        if self.over_double {
            cuda_double::forget_report(bench);
        }
        let run = bench.run(&format!("--plugin {} --benchmark {benchmark} {flags}", self.name));
        if self.over_double {
            cuda_double::assert_no_mistakes(bench, &run);
        }
        run
    }
}

/// Flags of a short run, in batches of several samples where the scenario has them.
pub fn short_in_batches(scenario: &str) -> String {
    let batches = match scenario {
        "MultiStream" => "--batch-size 8",
        "Offline" => "--batch-size 16",
        _ => "",
    };
    format!("{} {batches}", short(scenario))
}

/// An accuracy run alone.
pub const ACCURACY: &str = "--scenario Offline --mode accuracy";

/// The digit that a run gave for each sample, in the order of the samples: the class of its largest logit.
pub fn predictions(run: &Run) -> String {
    let mut log = read_log(&run.folder().join("accuracy/mlperf_log_accuracy.json")).unwrap();
    log.sort_by_key(|record| record.qsl_idx);
    // Where queries have several samples, the last one may be filled up with samples that were asked before.
    log.dedup_by_key(|record| record.qsl_idx);
    assert!(log.iter().map(|record| record.qsl_idx).eq(0..600), "every sample is answered");
    let digit = |data: &[u8]| {
        let logits = data.chunks(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap()));
        let best = ('0'..='9').zip(logits).max_by(|(_, a), (_, b)| a.total_cmp(b));
        best.unwrap().0
    };
    log.iter().map(|record| digit(&record.data)).collect()
}

/// Accuracy of the reference implementation with a model of the digits.
pub struct Reference {
    /// The digit of each sample.
    pub predictions: String,
    /// Number of right answers.
    pub correct_count: u64,
}

pub fn reference(model: &str) -> Reference {
    let text = fs::read_to_string(datasets().join("digits/reference.json")).unwrap();
    let all: Value = serde_json::from_str(&text).unwrap();
    let own = &all["models"][model];
    Reference {
        predictions: own["predictions"].as_str().unwrap().to_owned(),
        correct_count: own["correct_count"].as_u64().unwrap(),
    }
}

/// Asserts that a run is VALID and that each of its digits matches the reference.
pub fn assert_as_the_reference(run: &Run, model: &str) {
    let accuracy = &run.assert_valid().result()["accuracy"];
    let Reference { predictions: expected, correct_count } = reference(model);
    assert_eq!(accuracy["correct_count"], correct_count, "{model}: {}", run.finished);
    let got = predictions(run);
    let differ = got.bytes().zip(expected.bytes()).filter(|(a, b)| a != b).count();
    assert_eq!(differ, 0, "{model}: {differ} of 600 digits are not those of the reference");
}

/// A benchmark of the digits with another file in place of one of its own, and a data root in which that file is.
pub struct Replaced {
    root: String,
    definition: String,
}

impl Replaced {
    /// Replaces a file of a model of the digits. The definition gets the checksum of the new file.
    pub fn new(bench: &Bench, model: &str, file: &str, bytes: &[u8]) -> Self {
        let root = bench.copy_of_datasets();
        fs::write(root.join("digits").join(file), bytes).unwrap();
        let definition = workspace().join(format!("host/config/benchmarks/{model}.toml"));
        let text = fs::read_to_string(definition).unwrap();
        let own = sha256_hex(&original(file));
        assert!(text.contains(&own), "{file} is a file of {model}");
        let definition = bench.write("replaced.toml", text.replace(&own, &sha256_hex(bytes)));
        Self { root: root.display().to_string(), definition: definition.display().to_string() }
    }

    /// Adds a file to the folder of the replaced one.
    pub fn beside(self, name: &str, bytes: &[u8]) -> Self {
        fs::write(Path::new(&self.root).join("digits").join(name), bytes).unwrap();
        self
    }

    /// Runs the benchmark with this engine.
    pub fn run(&self, bench: &Bench, engine: &Engine, flags: &str) -> Run {
        engine.run(bench, &self.definition, &format!("--data-root {} {flags}", self.root))
    }

    /// Asserts that the engine refuses the model for a reason with these texts, before anything is recorded.
    pub fn assert_refused(&self, bench: &Bench, engine: &Engine, flags: &str, texts: &[&str]) {
        let run = self.run(bench, engine, flags);
        run.finished.assert_error(PLUGIN, &[&format!("plugin {}: load_model failed", engine.name)]);
        run.finished.assert_error(PLUGIN, texts);
        assert!(!run.folder().exists(), "a run that could not begin left {}", run.folder().display());
    }
}

/// The bytes of a file of the digits.
pub fn original(file: &str) -> Vec<u8> {
    fs::read(datasets().join("digits").join(file)).unwrap()
}
