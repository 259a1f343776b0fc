//! Machines that are smaller or busier than one would wish: the answers stay the same.

use std::{fs, path::Path, process::Command, thread};

use cpu_rnn_sut::{
    CpuRnn,
    planning::{Planning, PlanningOptions, cores_of, engine_identity},
};
use proctor_plugin_api::{
    Host, Model, ModelFile, ModelRequest, Options, Placement, Plugin, PluginError,
    vocabulary::{ElementType, Intent, Scenario, TensorSpec},
};
use proctor_recipes as recipes;
use proctor_rnn_engine::{Team, TeamOptions};
use proctor_rnn_layer::{GruReset, Machine, Mapping, Precision, Schedule, allowed_cores, pin_to};
use proctor_rnn_models::{LayerCalls, LoadRequest, Scheduler, load};
#[cfg(target_os = "linux")]
use proctor_test_needs::name_of;

use crate::owned_batch::OwnedBatch;

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

/// Runs a layer `rounds` times on these cores and returns the last states, after checking that all runs agree.
fn run(weights: &Path, scheduler: &dyn Scheduler, cores: Vec<usize>, rounds: usize) -> Vec<f32> {
    let model = load(&LoadRequest {
        model: "a layer",
        safetensors: Some(weights),
        onnx: None,
        vocabulary: None,
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

fn planning(cache: &Path, engine: &str) -> Planning {
    Planning::new(PlanningOptions {
        model: "a layer".into(),
        engine: engine.into(),
        threads: 2,
        cores: Vec::new(),
        pin: false,
        budget: std::time::Duration::from_millis(50),
        cache: Some(cache.to_owned()),
    })
}

/// Plans the layer, runs it, and says where the plan came from.
fn origin(weights: &Path, planning: &Planning) -> &'static str {
    run(weights, planning, Vec::new(), 1);
    let text = planning.explanation().expect("something was planned");
    let found = ["plan loaded", "not kept", "plan calibrated"].into_iter().find(|words| text.contains(words));
    found.unwrap_or_else(|| panic!("{text}"))
}

#[test]
fn a_cache_folder_that_cannot_be_written_costs_the_cache_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let weights = weights(folder.path());
    // A file where the folder should be: it cannot be written into, not even by root.
    let file = folder.path().join("no-folder");
    fs::write(&file, "").expect("the folder can be written");
    let unwritable = planning(&file, "engine");
    assert_eq!(origin(&weights, &unwritable), "not kept");
    let text = unwritable.explanation().expect("something was planned");
    let warning = format!("cannot write the plan to {}", file.display());
    assert!(text.contains(&warning), "{text}");

    let cache = folder.path().join("cache");
    let all: Vec<Planning> = (0..5).map(|_| planning(&cache, "engine")).collect();
    let origins: Vec<_> = all.iter().map(|one| origin(&weights, one)).collect();
    assert_eq!(origins[..2], ["plan calibrated", "plan loaded"]);
    // A plan that is not sure is measured again, but no more than twice.
    assert_eq!(all[3].threads(), all[4].threads());
}

#[test]
fn a_plan_that_another_build_has_measured_is_not_taken() {
    let folder = tempfile::tempdir().expect("a folder");
    let weights = weights(folder.path());
    let cache = folder.path().join("cache");
    let ours = engine_identity();
    // The same version, with a kernel that was changed since.
    let digit = ours.rfind("sources ").expect("it has a fingerprint") + "sources ".len();
    let mut theirs = ours.clone();
    theirs.replace_range(digit..=digit, if ours[digit..].starts_with('0') { "1" } else { "0" });
    let origins = [&theirs, &ours, &ours, &theirs].map(|engine| origin(&weights, &planning(&cache, engine)));
    assert_eq!(origins, ["plan calibrated", "plan calibrated", "plan loaded", "plan loaded"]);
}

fn open(given: &[(&str, &str)]) -> Result<CpuRnn, PluginError> {
    let given = given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let options = Options::resolve(&CpuRnn::manifest().options, &given).expect("the options are valid");
    CpuRnn::open(Host::detached(), &options)
}

/// Returns the number of threads that the one instance uses for a layer of 256 units, out of those that it may have.
fn threads_of_one_instance() -> usize {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("layer.safetensors");
    let recipe = recipes::recipe("rnn-lstm-64-256-1-100").expect("the name is one of a layer");
    recipes::write_safetensors(&recipe, &path, &mut |_| {}).expect("the folder can be written");
    // No calibration: by computation a layer of this size is divided among all cores that there are.
    let plugin = open(&[("calibration_s", "0")]).expect("nothing is needed to open it");
    let model = plugin.load_model(&ModelRequest {
        model: "rnn-lstm-64-256-1-100".into(),
        precision: "f32".into(),
        device: "cpu".into(),
        files: vec![ModelFile { format: "safetensors".into(), path }],
        inputs: vec![tensor("x", &[100, 64])],
        outputs: vec![tensor("y", &[100, 256])],
        scenario: Scenario::SingleStream,
        batch_size_max: 1,
        instance_count: 1,
        last_output_varies: false,
        inputs_vary: false,
        intent: Intent::default(),
        placements: Vec::new(),
    });
    let model = model.expect("the model loads");
    assert!(model.create_instance(&Placement::default()).is_ok());
    let text = format!("{model:?}");
    let (_, threads) = text.split_once(" threads: ").expect("a model knows its threads");
    let (threads, _) = threads.split_once(',').expect("more comes behind it");
    threads.parse().unwrap_or_else(|_| panic!("{text}"))
}

/// Set in the process that has one core.
#[cfg(target_os = "linux")]
const ON_ONE_CORE: &str = "CPU_RNN_TEST_ON_ONE_CORE";

/// A process that is allowed one core, as in a container: it runs this test again.
#[test]
#[cfg(target_os = "linux")]
fn on_one_core_more_threads_are_not_made() {
    if std::env::var_os(ON_ONE_CORE).is_some() {
        assert_eq!(allowed_cores().len(), 1);
        assert_eq!(threads_of_one_instance(), 1);
        let error = open(&[("threads", "2")]).map(drop).expect_err("there are not so many cores");
        assert!(error.message.starts_with("threads = 2 are more threads than the cores"), "{error}");
        println!("it has one thread");
        return;
    }
    assert_eq!(threads_of_one_instance() > 1, Machine::read().cores_allowed > 1);
    let program = std::env::current_exe().expect("it runs");
    // A process inherits the cores of the thread that starts it.
    let child = thread::spawn(move || {
        pin_to(&allowed_cores()[..1]).expect("a core that is allowed");
        let mut child = Command::new(program);
        child.args(["--exact", name_of(on_one_core_more_threads_are_not_made), "--nocapture"]);
        child.env(ON_ONE_CORE, "1").output().expect("the program starts")
    });
    let output = child.join().expect("it does not panic");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("it has one thread"), "{output:?}");
}
