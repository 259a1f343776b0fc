//! The promises about runs that work, and about flags that make no sense.

use std::{fs, thread::available_parallelism};

use proctor_accuracy::read_log;
use proctor_test_needs::skip;
use proctor_tests::{SCENARIOS, workspace};
use serde_json::Value;

use crate::{
    engines::engine::{
        ACCURACY, Engine, PLUGIN, Reference, SETTINGS, assert_as_the_reference, reference, short_in_batches,
    },
    models::fashion_mnist,
};

fn valid_in(engine: &Engine, scenario: &str) {
    let Some(bench) = engine.bench() else { return };
    let run = engine.run(&bench, engine.model(), &short_in_batches(scenario));
    assert_as_the_reference(&run, engine.model());
    let result = run.result();
    assert_eq!((&result["scenario"], &result["plugin"]["name"]), (&scenario.into(), &engine.name.into()));
    assert_eq!(result["plugin"]["precision"], "f32");
}

pub fn valid_in_single_stream(engine: &Engine) {
    valid_in(engine, "SingleStream");
}

pub fn valid_in_multi_stream(engine: &Engine) {
    valid_in(engine, "MultiStream");
}

pub fn valid_in_server(engine: &Engine) {
    valid_in(engine, "Server");
}

pub fn valid_in_offline(engine: &Engine) {
    valid_in(engine, "Offline");
}

pub fn valid_in_a_process_of_its_own(engine: &Engine) {
    let Some(mut bench) = engine.bench() else { return };
    // The one folder that the plugin may write there.
    bench.set_variable("POCL_CACHE_DIR", bench.file(&format!("cache/proctor/plugins/{}", engine.name)));
    for scenario in SCENARIOS {
        let run = engine.run(&bench, engine.model(), &format!("{} --isolate", short_in_batches(scenario)));
        assert_as_the_reference(&run, engine.model());
        assert_eq!(run.result()["plugin"]["isolation"]["mode"], "process", "{}", run.finished);
    }
}

pub fn the_digits_are_those_of_the_reference(engine: &Engine) {
    let Some(bench) = engine.bench() else { return };
    for model in engine.models {
        assert_as_the_reference(&engine.run(&bench, model, &format!("{ACCURACY} --batch-size 32")), model);
    }
}

/// All images of Fashion-MNIST, in the precisions that have a file of their own.
pub fn the_clothes_are_those_of_the_reference(engine: &Engine) {
    let Some(bench) = engine.bench() else { return };
    let root = match fashion_mnist::root(&bench) {
        Ok(root) => root.display().to_string(),
        Err(missing) => return skip(missing),
    };
    for precision in ["f32", "int8"].into_iter().filter(|it| engine.precisions.contains(it)) {
        let flags = format!("{ACCURACY} --batch-size 32 --precision {precision} --data-root {root}");
        fashion_mnist::assert_as_the_reference(&engine.run(&bench, "fashion-mnist", &flags), precision);
    }
}

/// Where the benchmark wants a class and the model gives scores, the class is found in the plugin.
pub fn scores_become_a_class(engine: &Engine) {
    let Some(bench) = engine.bench() else { return };
    let own = workspace().join("host/config/benchmarks/digits-mlp.toml");
    let (scores, class) = (
        "\"logits\"\nelement_type = \"f32\"\nshape = [10]",
        "\"class\"\nelement_type = \"i64\"\nshape = [1]",
    );
    let text = fs::read_to_string(own).unwrap();
    assert!(text.contains(scores), "{text}");
    let definition = bench.write("class.toml", text.replace(scores, class));
    let run = engine.run(&bench, &definition.display().to_string(), &format!("{ACCURACY} --batch-size 8"));
    let Reference { predictions, correct_count } = reference("digits-mlp");
    assert_eq!(run.assert_valid().result()["accuracy"]["correct_count"], correct_count, "{}", run.finished);
    let log = read_log(&run.folder().join("accuracy/mlperf_log_accuracy.json")).unwrap();
    for record in log {
        let class = i64::from_le_bytes(record.data[..].try_into().unwrap());
        let expected = &predictions[record.qsl_idx as usize..][..1];
        assert_eq!(class.to_string(), expected, "sample {}", record.qsl_idx);
    }
}

pub fn two_instances(engine: &Engine) {
    let Some(bench) = engine.bench() else { return };
    let flags = format!("{} --instances 2", short_in_batches("Offline"));
    let run = engine.run(&bench, engine.model(), &flags);
    assert_as_the_reference(&run, engine.model());
    let busy = &run.result()["performance_run"]["scheduler"]["instance_busy_ns"];
    assert_eq!(busy.as_array().map(Vec::len), Some(2), "{busy}");
}

/// Two instances of three batches in flight each, which end in any order.
pub fn several_batches_in_flight(engine: &Engine) {
    let Some(bench) = engine.bench() else { return };
    let in_flight = format!("--instances 2 --set {}.in_flight=3", engine.name);
    for scenario in ["Server", "Offline"] {
        let run = engine.run(&bench, engine.model(), &format!("{} {in_flight}", short_in_batches(scenario)));
        assert_as_the_reference(&run, engine.model());
    }
}

/// The stages of a batch are timed by the device's own clock.
pub fn stages_of_a_device(engine: &Engine) {
    let Some(bench) = engine.bench() else { return };
    let run = engine.run(&bench, engine.model(), &short_in_batches("SingleStream"));
    let stages = &run.assert_valid().result()["plugin"]["stages"];
    for stage in ["device_queue", "copy_in", "compute", "copy_out"] {
        assert!(stages[stage].is_object(), "no stage {stage} in {stages}");
    }
}

/// Batches of up to each size; the last one is smaller if 600 is no multiple.
pub fn batches_of_every_size(engine: &Engine) {
    let Some(bench) = engine.bench() else { return };
    for batch_size in (1..=8).chain([33]) {
        let run = engine.run(&bench, engine.model(), &format!("{ACCURACY} --batch-size {batch_size}"));
        assert_as_the_reference(&run, engine.model());
        let sizes = &run.result()["accuracy_run"]["scheduler"]["batch_sizes"];
        let sizes: Vec<usize> = sizes.as_object().unwrap().keys().map(|size| size.parse().unwrap()).collect();
        assert!(sizes.contains(&batch_size) && sizes.iter().all(|size| *size <= batch_size), "{sizes:?}");
    }
}

pub fn the_same_run_twice(engine: &Engine) {
    let Some(bench) = engine.bench() else { return };
    let answers = || engine.run(&bench, engine.model(), ACCURACY).text("accuracy/mlperf_log_accuracy.json");
    let first = answers();
    assert!(first.lines().count() > 600);
    assert!(first == answers(), "a second run of the same flags gives other answers");
}

/// A sample alone goes to the engine where it lies, if the engine can do that; a batch is gathered once.
pub fn inputs_are_copied_as_declared(engine: &Engine) {
    let Some(bench) = engine.bench() else { return };
    let copied = |flags: &str| {
        let run = engine.run(&bench, engine.model(), &format!("--mode accuracy {flags}"));
        run.assert_valid().result()["plugin"]["metrics"]["input_bytes_copied"]["last"].as_f64()
    };
    let alone = copied("--scenario SingleStream");
    let gathered = copied("--scenario Offline --batch-size 8");
    if !engine.counts_copies {
        assert_eq!((alone, gathered), (None, None), "the engine counts copies after all");
        return;
    }
    // 600 samples of 64 numbers of four bytes, and what was copied to warm up.
    const ONCE_BYTES: f64 = 600.0 * 64.0 * 4.0;
    let gathered = gathered.unwrap();
    assert!((ONCE_BYTES..1.5 * ONCE_BYTES).contains(&gathered), "{gathered} bytes were copied");
    if engine.lends_inputs {
        assert_eq!(alone, Some(0.0));
    }
}

/// A description needs none of the libraries that the engine needs to run.
pub fn described_without_a_device(engine: &Engine) {
    let Some(bench) = engine.bench_without_libraries() else { return };
    let finished = bench.host(&format!("describe {}", engine.name));
    assert_eq!(finished.code(), 0, "{finished}");
    assert!(finished.stdout.starts_with(&format!("{} ", engine.name)), "{finished}");
    for text in ["Models", "SingleStream, MultiStream, Server, Offline", engine.option, "f32", engine.format]
    {
        assert!(finished.stdout.contains(text), "no \"{text}\" in {finished}");
    }
}

/// Where a library is missing, the run does not begin, and its error says what to install.
pub fn a_missing_library_says_what_to_install(engine: &Engine) {
    let Some(bench) = engine.bench_without_libraries() else { return };
    let Some(reason) = engine.missing_library(&bench) else { return };
    let run = engine.run(&bench, engine.model(), "");
    run.finished.assert_error(PLUGIN, &[&reason, "install"]);
    assert!(!run.finished.stderr.contains("panicked"), "{}", run.finished);
    assert!(!run.folder().exists());
}

/// Ctrl-C and the report of a crash are the host's business.
pub fn handlers_of_signals_are_left_alone(engine: &Engine) {
    let Some(bench) = engine.bench() else { return };
    let run = engine.run(&bench, engine.model(), ACCURACY);
    run.assert_valid();
    assert!(!run.finished.stderr.contains("has replaced the handler"), "{}", run.finished);
}

pub fn an_unknown_option(engine: &Engine) {
    let Some(bench) = engine.bench() else { return };
    let option = engine.option;
    let misspelt = &option[..option.len() - 1];
    let run = engine.run(&bench, engine.model(), &format!("--set {}.{misspelt}=1", engine.name));
    let message = format!("has no option \"{misspelt}\", did you mean \"{option}\"?");
    run.finished.assert_error(SETTINGS, &[&message]);
    assert!(!run.folder().exists());
}

pub fn an_unknown_precision(engine: &Engine) {
    let Some(bench) = engine.bench() else { return };
    let run = engine.run(&bench, engine.model(), "--precision f23");
    run.finished.assert_error(PLUGIN, &["does not declare precision f23; it declares", "f32"]);
    assert!(!run.folder().exists());
}

/// The conformance suite, all of it.
pub fn the_rules_of_the_boundary(engine: &Engine) {
    let Some(bench) = engine.bench() else { return };
    let benchmark = format!("--benchmark {}", engine.model());
    let finished = bench.host(&format!("validate {} {benchmark} --format json", engine.name));
    let report: Value = serde_json::from_str(&finished.stdout).unwrap_or_else(|_| panic!("{finished}"));
    let cases = report["cases"].as_array().unwrap();
    let passed = cases.iter().filter(|case| case["outcome"] == "PASS").count();
    let bad: Vec<_> = (cases.iter())
        .filter(|case| case["outcome"] != "PASS" && case["outcome"] != "SKIP")
        .map(|case| format!("{}: {}", case["name"], case["reason"]))
        .collect();
    assert!(bad.is_empty() && finished.code() == 0, "{}", bad.join("\n"));
    assert!(passed > 80, "{passed} cases passed: {finished}");
}

pub fn more_threads_than_processors(engine: &Engine) {
    let Some(bench) = engine.bench() else { return };
    let threads = available_parallelism().map_or(1, usize::from) + 1;
    let flags = format!("{ACCURACY} --set {}.threads={threads}", engine.name);
    let run = engine.run(&bench, engine.model(), &flags);
    run.finished.assert_error(PLUGIN, &[&format!("threads = {threads}"), &(threads - 1).to_string()]);
    assert!(!run.folder().exists());
}
