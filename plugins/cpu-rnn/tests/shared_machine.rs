//! Machines that are smaller or busier than one would wish: the answers stay the same.

use std::{fs, path::Path, thread};

use cpu_rnn_sut::{
    CpuRnn,
    planning::{Planning, PlanningOptions, cores_of},
};
use proctor_datasets::recipes;
use proctor_plugin_api::{
    Host, Model, ModelFile, ModelRequest, Options, Placement, Plugin,
    vocabulary::{ElementType, Scenario, TensorSpec},
};
use proctor_rnn_engine::{Team, TeamOptions};
use proctor_rnn_models::{LayerCalls, LoadRequest, OwnedBatch, Scheduler, load};
use proctor_rnn_optimiser::{GruReset, Mapping, Precision, Schedule, allowed_cores};

const TIME: usize = 12;
const INPUT: usize = 16;
const HIDDEN: usize = 48;

fn tensor(name: &str, shape: &[usize]) -> TensorSpec {
    TensorSpec { name: name.into(), element_type: ElementType::F32, shape: shape.to_vec() }
}

/// Two threads that share the units, and so meet at every step.
struct Columns;

impl Scheduler for Columns {
    fn plan(&self, calls: &[LayerCalls<'_>]) -> Vec<Schedule> {
        vec![Schedule { threads: 2, mapping: Mapping::Columns, ..Schedule::SINGLE }; calls.len()]
    }
}

fn weights(folder: &Path) -> std::path::PathBuf {
    let name = format!("rnn-lstm-{INPUT}-{HIDDEN}-1-{TIME}");
    let path = folder.join("layer.safetensors");
    let recipe = recipes::recipe(&name).expect("the name is one of a layer");
    recipes::write_safetensors(&recipe, &path, &mut |_| {}).expect("the folder can be written");
    path
}

/// Runs a layer so many times on these cores and returns the last states, after checking that all runs agree.
fn run(weights: &Path, scheduler: &dyn Scheduler, cores: Vec<usize>, rounds: usize) -> Vec<f32> {
    let model = load(&LoadRequest {
        model: "a layer",
        safetensors: Some(weights),
        onnx: None,
        inputs: &[tensor("x", &[TIME, INPUT])],
        outputs: &[tensor("y", &[TIME, HIDDEN])],
        batch_size_max: 1,
        precision: Precision::F32,
        reset: GruReset::default(),
        scheduler,
    });
    let options = TeamOptions { cores, pin_caller: true, ..TeamOptions::new(2) };
    let team = Team::with_options(&options).expect("two threads");
    let mut instance = model.expect("the file is sound").instance(team).expect("it fits into memory");
    let mut batch = OwnedBatch::default();
    batch.push_f32(&[&[0.5; TIME * INPUT]], &[TIME * HIDDEN]);
    let mut states = Vec::new();
    for round in 0..rounds {
        instance.execute(&mut batch).expect("the batch fits");
        let now = batch.output(0, 0);
        assert!(round == 0 || now == states, "round {round}");
        states = now;
    }
    states
}

#[test]
fn two_instances_on_the_same_cores_and_two_threads_on_one_core_get_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let weights = weights(folder.path());
    let alone = run(&weights, &Columns, Vec::new(), 1);
    let cores = cores_of(&allowed_cores(), 0, 2);
    thread::scope(|scope| {
        let both = [0, 1].map(|_| scope.spawn(|| run(&weights, &Columns, cores.clone(), 30)));
        for one in both {
            assert_eq!(one.join().expect("it does not panic"), alone);
        }
    });
    let first = cores.first().copied().unwrap_or(0);
    assert_eq!(run(&weights, &Columns, vec![first, first], 10), alone);
}

#[test]
fn a_cache_folder_that_cannot_be_written_costs_the_cache_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let weights = weights(folder.path());
    let planning = |cache: &Path| {
        Planning::new(PlanningOptions {
            model: "a layer".into(),
            threads: 2,
            cores: Vec::new(),
            pin: false,
            budget: std::time::Duration::from_millis(50),
            cache: Some(cache.to_owned()),
        })
    };
    // A file where the folder should be: nobody can write into that, not even root.
    let file = folder.path().join("no-folder");
    fs::write(&file, "").expect("the folder can be written");
    let unwritable = planning(&file);
    let expected = run(&weights, &unwritable, Vec::new(), 1);
    assert!(unwritable.explanation().is_some());

    let cache = folder.path().join("cache");
    let first = planning(&cache);
    run(&weights, &first, Vec::new(), 1);
    let second = planning(&cache);
    assert_eq!(run(&weights, &second, Vec::new(), 1).len(), expected.len());
    assert!(fs::read_dir(&cache).expect("the cache was made").next().is_some());
    assert_eq!(first.threads(), second.threads());
}

#[test]
#[cfg(target_os = "linux")]
fn on_one_core_more_threads_are_not_made() {
    let worker = thread::spawn(|| {
        let mut one = rustix::thread::CpuSet::new();
        one.set(allowed_cores()[0]);
        rustix::thread::sched_setaffinity(None, &one).expect("a core that is allowed");
        assert_eq!(allowed_cores().len(), 1);
        let given = [("threads", "8"), ("calibration_s", "0.02")];
        let given = given.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let options = Options::resolve(&CpuRnn::manifest().options, &given).expect("the options are valid");
        let plugin = CpuRnn::open(Host::detached(), &options).expect("nothing is needed to open it");
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../datasets/digits/digits-lstm.safetensors");
        let model = plugin.load_model(&ModelRequest {
            model: "digits-lstm".into(),
            precision: "f32".into(),
            device: "cpu".into(),
            files: vec![ModelFile { format: "safetensors".into(), path }],
            inputs: vec![tensor("image", &[8, 8])],
            outputs: vec![tensor("logits", &[10])],
            scenario: Scenario::SingleStream,
            batch_size_max: 4,
            instance_count: 1,
        });
        let model = model.expect("the model loads");
        assert!(model.create_instance(&Placement::default()).is_ok());
        let text = format!("{model:?}");
        assert!(text.contains("threads: 1,"), "{text}");
    });
    worker.join().expect("it does not panic");
}
