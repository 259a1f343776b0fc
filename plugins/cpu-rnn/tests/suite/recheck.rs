//! The first real calls against the plan: one that is slower than planned is measured again at the next load.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use cpu_rnn_sut::planning::{Planning, PlanningOptions};
use proctor_rnn_engine::{
    DirectionWeights, FirstCalls, Layer, LayerCall, LayerSpec, Sequences, SequencesMut, Team, Workspace,
};
use proctor_rnn_layer::{Cell, Directions, Precision};
use proctor_rnn_models::{LayerCalls, Scheduler as _};
use serde_json::{Value, json};

/// Number of steps that take long enough on any machine to be recognised as slower.
const TIME: usize = 1000;
const BATCHES: [usize; 2] = [1, 4];
const UNITS: usize = 16;

fn layer() -> Layer {
    let spec = LayerSpec {
        cell: Cell::Lstm,
        directions: Directions::Forward,
        input: UNITS,
        hidden: UNITS,
        clip: None,
        precision: Precision::F32,
    };
    let weight = [0.1; 4 * UNITS * UNITS];
    let weights = DirectionWeights {
        input: &weight,
        hidden: &weight,
        input_bias: &[],
        hidden_bias: &[],
        peepholes: &[],
    };
    Layer::new(spec, &[weights]).expect("the weights fit")
}

/// Loads a layer for both batch sizes, runs it `calls` times in batches of `batch`, and is done with it. Returns what
/// is said of its plan.
fn load_and_run(folder: &Path, batch: usize, calls: u32) -> String {
    let planning = Planning::new(PlanningOptions {
        model: "a model".to_owned(),
        engine: "an engine".to_owned(),
        threads: 1,
        cores: Vec::new(),
        pin: false,
        budget: Duration::from_secs(1),
        cache: Some(folder.to_owned()),
    });
    let layer = layer();
    let schedules = planning.plan(&BATCHES.map(|batch| LayerCalls::new("layer", &layer, TIME, batch)));
    let schedule = schedules[BATCHES.iter().position(|size| *size == batch).expect("it is planned")];
    let (mut team, mut workspace) = (Team::new(1), Workspace::default());
    let (input, mut output) = (vec![0.5; TIME * batch * UNITS], vec![0.0; TIME * batch * UNITS]);
    for _ in 0..calls {
        let mut call = LayerCall {
            input: Sequences::time_major(&input, TIME, batch, UNITS),
            lengths: None,
            initial_hidden: None,
            initial_cell: None,
            output: SequencesMut::time_major(&mut output, TIME, batch, UNITS),
            last_hidden: None,
            last_cell: None,
        };
        layer.run(&schedule, &mut team, &mut workspace, &mut call).expect("the call fits");
    }
    planning.recheck();
    planning.explanation().expect("it was planned")
}

/// The only plan in the cache.
fn cached(folder: &Path) -> (PathBuf, Value) {
    let mut files = fs::read_dir(folder).expect("a folder of plans");
    let file = files.next().expect("a plan is kept").expect("it is readable").path();
    let plan = serde_json::from_slice(&fs::read(&file).expect("a plan")).expect("it is JSON");
    (file, plan)
}

fn sure(folder: &Path) -> [f64; 2] {
    let (_, plan) = cached(folder);
    [0, 1].map(|layer| plan["layers"][layer]["sure"].as_f64().expect("a share"))
}

/// Makes the cached plan sure, with the same figure for every schedule, and tried once.
fn say(folder: &Path, figure_ns: u64) {
    let (file, mut plan) = cached(folder);
    for layer in plan["layers"].as_array_mut().expect("layers") {
        (layer["sure"], layer["tries"]) = (json!(1.0), json!(1));
        for measured in layer["measured"].as_array_mut().expect("measurements") {
            measured["figure_ns"] = json!(figure_ns);
        }
    }
    fs::write(file, plan.to_string()).expect("the plan is written");
}

#[test]
fn a_layer_that_is_slower_than_planned_is_measured_again_at_the_next_load() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let first = load_and_run(folder, 1, 0);
    assert!(first.contains("plan calibrated"), "{first}");
    // No call is that fast.
    say(folder, 1);
    let cached = load_and_run(folder, 4, FirstCalls::COUNT - 1);
    assert!(cached.contains("plan loaded in"), "{cached}");
    assert_eq!(sure(folder), [1.0, 1.0], "too few calls to say");
    load_and_run(folder, 4, FirstCalls::COUNT);
    assert_eq!(sure(folder), [1.0, 0.0], "the plan for four sequences, whose calls these were");
    let again = load_and_run(folder, 4, 0);
    assert!(again.contains("of 2 layers 1 were not sure and measured again"), "{again}");
}

#[test]
fn a_layer_that_is_as_fast_as_planned_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    load_and_run(folder.path(), 1, 0);
    // Every call is faster.
    say(folder.path(), u64::from(u32::MAX));
    let before = cached(folder.path());
    for batch in BATCHES {
        load_and_run(folder.path(), batch, 2 * FirstCalls::COUNT);
    }
    assert_eq!(cached(folder.path()), before);
}
