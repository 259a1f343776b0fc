use super::*;
use crate::plan::Measured;
use proctor_rnn_layer::{Cell, Chunk, Directions, Mapping, Precision};

fn machine() -> Machine {
    Machine {
        processor: "a processor".to_owned(),
        details: String::new(),
        cores_present: 2,
        cores_allowed: 2,
        l1d_bytes: 48 << 10,
        l2_bytes: 2 << 20,
        l3_bytes: 100 << 20,
        assumed: Vec::new(),
    }
}

fn layer(name: &str, hidden: usize) -> PlannedLayer {
    let shape = LayerShape {
        cell: Cell::Lstm,
        directions: Directions::Forward,
        input: 64,
        hidden,
        batch: 1,
        time: 100,
        precision: Precision::F32,
    };
    PlannedLayer { name: name.to_owned(), shape }
}

/// An engine that likes two threads for 256 units and one thread otherwise, and counts its calls.
fn measured(calls: &mut Vec<usize>) -> impl FnMut(usize, &Schedule) -> Result<Duration, String> {
    |layer, schedule| {
        calls.push(layer);
        let likes = if layer == 0 { schedule.threads == 2 } else { schedule.threads == 1 };
        Ok(Duration::from_millis(if likes { 6 } else { 12 }))
    }
}

#[test]
fn each_layer_gets_what_is_fastest_for_it() {
    let layers = [layer("first", 256), layer("second", 64)];
    let mut calls = Vec::new();
    let plan = Planner::new(machine(), "engine 1").plan("model", &layers, &mut measured(&mut calls));
    assert_eq!((plan.schedule(0).threads, plan.schedule(1).threads), (2, 1));
    assert_eq!(plan.schedule(0).mapping, Mapping::Columns);
    assert_eq!(plan.origin, PlanOrigin::Calibrated(None));
    assert!(plan.warnings.is_empty());
}

#[test]
fn layers_of_one_shape_are_measured_once() {
    let layers = [layer("first", 256), layer("again", 256)];
    let mut calls = Vec::new();
    let plan = Planner::new(machine(), "engine 1").plan("model", &layers, &mut measured(&mut calls));
    assert!(!calls.is_empty() && calls.iter().all(|layer| *layer == 0));
    assert_eq!(plan.layers[0], plan.layers[1]);
}

#[test]
fn the_second_time_nothing_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let planner = Planner::new(machine(), "engine 1").cache(folder.path());
    let layers = [layer("only", 256)];
    let mut calls = Vec::new();
    let first = planner.plan("model", &layers, &mut measured(&mut calls));
    assert!(matches!(first.origin, PlanOrigin::Calibrated(Some(_))));
    let second = planner.plan("model", &layers, &mut |_, _| panic!("it is in the cache"));
    assert!(matches!(second.origin, PlanOrigin::Cached(_)));
    assert_eq!((second.layers, second.calibration), (first.layers, first.calibration));
}

#[test]
fn a_damaged_cache_is_calibrated_again_and_mended() {
    let folder = tempfile::tempdir().unwrap();
    let planner = Planner::new(machine(), "engine 1").cache(folder.path());
    let layers = [layer("only", 256)];
    let plan = |calls: &mut Vec<usize>| planner.plan("model", &layers, &mut measured(calls));
    let PlanOrigin::Calibrated(Some(path)) = plan(&mut Vec::new()).origin else { panic!("it is kept") };
    std::fs::write(&path, "{").unwrap();
    let again = plan(&mut Vec::new());
    assert_eq!(again.warnings.len(), 1);
    assert!(again.warnings[0].contains("is damaged"), "{}", again.warnings[0]);
    assert!(matches!(plan(&mut Vec::new()).origin, PlanOrigin::Cached(_)));
}

#[test]
fn a_plan_that_is_not_sure_is_measured_again_at_the_next_loads_but_not_for_ever() {
    let folder = tempfile::tempdir().unwrap();
    // A budget of nothing allows one call of each layer, which is a guess.
    let planner = Planner::new(machine(), "engine 1").cache(folder.path()).budget(Duration::ZERO);
    let layers = [layer("first", 256), layer("second", 64)];
    let plan = || planner.plan("model", &layers, &mut measured(&mut Vec::new()));
    let first = plan();
    assert!(matches!(first.origin, PlanOrigin::Calibrated(Some(_))));
    assert!(!first.layers[0].is_settled() && first.layers[0].tries == 1);
    for tries in [2, 3] {
        let again = plan();
        assert!(matches!(again.origin, PlanOrigin::Improved { layers: 2, .. }), "{:?}", again.origin);
        assert_eq!(again.layers[0].tries, tries);
    }
    assert!(matches!(plan().origin, PlanOrigin::Cached(_)), "three times is enough");
}

#[test]
fn of_two_calibrations_the_surer_one_is_kept() {
    let plan = |sure, chunk| LayerPlan {
        schedule: Schedule { chunk: Chunk::Steps(chunk), ..Schedule::SINGLE },
        measured: Vec::new(),
        unmeasured: Vec::new(),
        sure,
        tries: 1,
    };
    let mut kept = plan(0.5, 1);
    kept.improve(&plan(0.4, 2));
    assert_eq!((kept.schedule.chunk, kept.tries, kept.sure), (Chunk::Steps(1), 2, 0.5));
    kept.improve(&plan(0.9, 3));
    assert_eq!((kept.schedule.chunk, kept.tries, kept.sure), (Chunk::Steps(3), 3, 0.9));
}

#[test]
fn a_layer_that_is_doubted_is_measured_again_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let planner = Planner::new(machine(), "engine 1").cache(folder.path());
    let layers = [layer("first", 256), layer("second", 64)];
    let mut calls = Vec::new();
    let first = planner.plan("model", &layers, &mut measured(&mut calls));
    assert!(first.layers.iter().all(LayerPlan::is_settled), "{first:?}");
    let cache = PlanCache::new(folder.path());
    cache.reopen(&first, &[1]).unwrap();
    calls.clear();
    let again = planner.plan("model", &layers, &mut measured(&mut calls));
    assert!(matches!(again.origin, PlanOrigin::Improved { layers: 1, .. }));
    assert!(!calls.is_empty() && calls.iter().all(|layer| *layer == 1), "{calls:?}");
    assert_eq!((again.layers[0].tries, again.layers[1].tries), (1, 2));
    // Who still runs by the plan before knows nothing of the one that is there now.
    cache.reopen(&first, &[1]).unwrap();
    let last = planner.plan("model", &layers, &mut |_, _| panic!("it is in the cache"));
    assert!(matches!(last.origin, PlanOrigin::Cached(_)));
}

#[test]
fn a_plan_is_doubted_if_real_calls_are_slower_than_planned_and_than_a_rival() {
    let one = |threads, us: u64| Measured {
        schedule: Schedule { threads, ..Schedule::SINGLE },
        figure_ns: 1000 * us,
        min_ns: 1000 * us,
        behind: 1.0,
        blocks: 12,
    };
    let plan = |own, rival| LayerPlan {
        schedule: Schedule { threads: 2, ..Schedule::SINGLE },
        measured: vec![one(2, own), one(3, 10 * rival), one(1, rival)],
        unmeasured: Vec::new(),
        sure: 1.0,
        tries: 2,
    };
    let doubted = |plan: &LayerPlan, us: u64| plan.doubted_by(1000 * us).map(|one| one.schedule.threads);
    assert_eq!(doubted(&plan(100, 110), 125), None, "a little slower than planned");
    assert_eq!(doubted(&plan(100, 110), 126), Some(1));
    assert_eq!(doubted(&plan(100, 200), 200), None, "the rival would be slower still");
    assert_eq!(doubted(&plan(100, 200), 201), Some(1));
    assert_eq!(
        doubted(&plan(4, 5), 24),
        None,
        "six times as long, but by no more than any schedule might be"
    );
    assert_eq!(doubted(&plan(4, 5), 25), Some(1));
    assert_eq!(doubted(&LayerPlan { tries: 3, ..plan(100, 110) }, 500), None, "measured often enough");
    assert_eq!(doubted(&LayerPlan { measured: vec![one(2, 100)], ..plan(100, 110) }, 500), None);
    assert_eq!(doubted(&LayerPlan { measured: Vec::new(), ..plan(100, 110) }, 500), None);
}

#[test]
fn a_cache_that_cannot_be_written_is_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a file");
    std::fs::write(&file, "").unwrap();
    let planner = Planner::new(machine(), "engine 1").cache(&file);
    let plan = planner.plan("model", &[layer("only", 256)], &mut measured(&mut Vec::new()));
    assert_eq!(plan.origin, PlanOrigin::Calibrated(None));
    assert!(
        plan.warnings.iter().any(|text| text.contains("cannot write the plan to")),
        "{:?}",
        plan.warnings
    );
}

#[test]
fn an_analytic_plan_measures_nothing() {
    let plan = Planner::new(machine(), "engine 1").analytic("model", &[layer("only", 256)]);
    assert_eq!((plan.schedule(0).mapping, plan.origin.clone()), (Mapping::Columns, PlanOrigin::Analytic));
    assert!(plan.layers[0].measured.is_empty());
}

#[test]
fn each_layer_gets_as_many_of_all_threads_as_are_fastest_for_it() {
    let machine = Machine { cores_present: 8, cores_allowed: 8, ..machine() };
    let layers = [layer("one", 1024), layer("three", 512), layer("all", 768)];
    // Unless a number is asked for, a layer may have as many threads as there are cores.
    let plan = Planner::new(machine, "engine 1").plan("model", &layers, &mut |layer, schedule| {
        let likes = schedule.threads == [1, 3, 8][layer];
        Ok(Duration::from_millis(if likes { 6 } else { 12 }))
    });
    assert_eq!([0, 1, 2].map(|layer| plan.schedule(layer).threads), [1, 3, 8]);
    for (at, layer) in plan.layers.iter().enumerate() {
        let is_measured = |threads: &usize| layer.measured.iter().any(|one| one.schedule.threads == *threads);
        assert!([1, 2, 3, 4, 8].iter().all(is_measured), "layer {at}: {:?}", layer.measured);
    }
}

#[test]
fn one_thread_is_one_thread() {
    let planner = Planner::new(machine(), "engine 1").threads_max(1);
    let plan = planner.plan("model", &[layer("only", 256)], &mut measured(&mut Vec::new()));
    assert_eq!((plan.key.threads_max, plan.schedule(0).threads), (1, 1));
    assert_ne!(plan.schedule(0).chunk, Chunk::Steps(0));
    // More than the machine has cores would only wait for each other.
    let planner = Planner::new(machine(), "engine 1").threads_max(64);
    assert_eq!(planner.analytic("model", &[layer("only", 256)]).key.threads_max, 2);
}

#[test]
fn a_model_without_layers_has_an_empty_plan() {
    let plan =
        Planner::new(machine(), "engine 1").plan("model", &[], &mut |_, _| panic!("nothing to measure"));
    assert!(plan.layers.is_empty());
}
