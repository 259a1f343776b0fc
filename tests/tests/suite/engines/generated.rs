//! Models with seeded random weights, each made from its recipe, against outputs of another implementation.

use std::fs;

use proctor_tests::workspace;

use crate::engines::engine::Engine;

pub fn generated_models_one_by_one(engine: &Engine) {
    within_tolerance(engine, "--scenario SingleStream");
}

pub fn generated_models_in_batches(engine: &Engine) {
    within_tolerance(engine, "--scenario Offline --batch-size 3");
}

fn within_tolerance(engine: &Engine, flags: &str) {
    let Some(bench) = engine.bench() else { return };
    let root = bench.file("data");
    fs::create_dir_all(&root).unwrap();
    for name in engine.generated {
        let definition = workspace().join(format!("tests/fixtures/benchmarks/{name}.toml"));
        let flags = format!("--mode accuracy --data-root {} {flags}", root.display());
        let run = engine.run(&bench, &definition.display().to_string(), &flags);
        let accuracy = &run.assert_valid().result()["accuracy"];
        assert_eq!(accuracy["passed"], true, "{name}: {accuracy}");
        assert!(accuracy["judged_count"].as_u64().unwrap() >= 1, "{name}: {accuracy}");
        assert_eq!(accuracy["correct_count"], accuracy["judged_count"], "{name}: {accuracy}");
    }
}
