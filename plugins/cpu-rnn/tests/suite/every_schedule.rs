//! Every schedule that the planner can choose, against the plain f64 code.
//!
//! A plan can only hold candidates of a search space. Layers and machines are drawn so that small layers have all kinds
//! of them: caches from tiny to large decide about chunks, sweeps, priming and concurrent phases. Teams of 4 threads
//! run on any number of cores.

use std::collections::BTreeSet;

use parking_lot::Mutex;
use proctor_rnn_engine::{LayerSpec, Team, Workspace};
use proctor_rnn_layer::{Cell, Chunk, Directions, Machine, Mapping, Precision, Schedule, Sweep};
use proctor_rnn_optimiser::{
    SearchSpace,
    paper::{
        dag::MmDag,
        pruning::{Pruned, pruned},
    },
    search::check,
};
use proptest::prelude::*;
use proptest::sample::select;

use crate::common::{Random, Tensors, Weights, layer};

/// Numbers of threads that a user may allow.
const THREADS_MAX: [usize; 3] = [1, 2, 4];

/// Largest error by the format of the weights: f32 as the peers of a comparison have it.
const TOLERANCES: [(Precision, f32); 3] =
    [(Precision::F32, 5e-6), (Precision::Bf16, 0.02), (Precision::Int8, 0.06)];

/// A machine of four cores with these caches.
fn machine([l1d_bytes, l2_bytes]: [usize; 2]) -> Machine {
    Machine {
        processor: "a processor".to_owned(),
        details: String::new(),
        cores_present: 4,
        cores_allowed: 4,
        l1d_bytes,
        l2_bytes: l2_bytes.max(l1d_bytes),
        l3_bytes: 32 << 20,
        assumed: Vec::new(),
    }
}

/// A layer, a call and a machine.
#[derive(Debug, Clone)]
struct Draw {
    spec: LayerSpec,
    tolerance: f32,
    time: usize,
    batch: usize,
    lengths: Option<Vec<usize>>,
    /// Whether there are biases, peepholes and initial states.
    has: [bool; 3],
    machine: Machine,
    seed: u64,
}

fn draws() -> impl Strategy<Value = Draw> {
    let directions = select(vec![Directions::Forward, Directions::Reverse, Directions::Bidirectional]);
    let clip = prop_oneof![3 => Just(None), 1 => Just(Some(0.7))];
    let precision = prop_oneof![4 => Just(0_usize), 1 => Just(1), 1 => Just(2)];
    let sizes = (1..40_usize, prop_oneof![1..40_usize, select(vec![48, 64, 65, 100])]);
    let spec = (select(&Cell::ALL[..]), directions, sizes, clip, precision).prop_map(
        |(cell, directions, (input, hidden), clip, precision)| {
            let (precision, tolerance) = TOLERANCES[precision];
            (LayerSpec { cell, directions, input, hidden, clip, precision }, tolerance)
        },
    );
    let call = (1..30_usize, 1..=9_usize).prop_flat_map(|(time, batch)| {
        let lengths = prop::option::of(prop::collection::vec(0..=time, batch));
        (Just(time), Just(batch), lengths)
    });
    let caches = [1_usize << 9, 1 << 11, 1 << 13, 1 << 15];
    let caches = (select(caches.to_vec()), select(vec![1_usize << 11, 1 << 14, 1 << 17, 1 << 20]));
    (spec, call, any::<[bool; 3]>(), caches, any::<u64>()).prop_map(
        |((spec, tolerance), (time, batch, lengths), has, (l1d, l2), seed)| Draw {
            spec,
            tolerance,
            time,
            batch,
            lengths,
            has,
            machine: machine([l1d, l2]),
            seed,
        },
    )
}

/// Returns the schedules that a plan of the layer can hold for at most this many threads. Results shared by all layers
/// of a cell are computed once.
fn schedules(draw: &Draw, threads_max: usize) -> Vec<Schedule> {
    static PATTERNS: Mutex<Vec<(Cell, Pruned)>> = Mutex::new(Vec::new());
    let mut known = PATTERNS.lock();
    let cell = draw.spec.cell;
    let at = known.iter().position(|(of, _)| *of == cell).unwrap_or_else(|| {
        known.push((cell, pruned(&MmDag::of(cell))));
        known.len() - 1
    });
    let patterns = known[at].1.clone();
    let shape = draw.spec.shape(draw.time, draw.batch);
    let all = SearchSpace::of_patterns(&shape, &draw.machine, threads_max, patterns).schedules();
    all.iter().for_each(|schedule| check(&shape, schedule, threads_max).expect("a candidate can run"));
    all
}

/// Runs every schedule of a draw, and returns the first one whose answer differs from the reference's.
fn first_wrong(draw: &Draw, teams: &mut [Team; 3]) -> Result<(), String> {
    let mut random = Random(draw.seed);
    let [biases, peepholes, initial] = draw.has;
    let weights: Vec<_> = (0..draw.spec.directions.count())
        .map(|_| Weights::random(&draw.spec, biases, peepholes, &mut random))
        .collect();
    let layer = layer(draw.spec, &weights);
    let tensors = Tensors::random(&draw.spec, draw.time, draw.batch, initial, &mut random);
    let tensors = Tensors { lengths: draw.lengths.clone(), ..tensors };
    let expected = tensors.reference(&draw.spec, &weights);
    // One workspace for all, as an instance has: what a schedule leaves behind must not matter to the next.
    let mut workspace = Workspace::default();
    for (threads_max, team) in THREADS_MAX.into_iter().zip(teams) {
        for schedule in schedules(draw, threads_max) {
            // Twice: the second call begins where zig-zag sweeps of the first have ended.
            for _ in 0..2 {
                let ours = tensors.run(&layer, &schedule, team, &mut workspace);
                let difference = ours.difference(&expected);
                if difference.is_nan() || difference > draw.tolerance {
                    return Err(format!("{difference:e} by {schedule:?} of at most {threads_max} threads"));
                }
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_candidate_computes_what_the_reference_computes(draws in prop::collection::vec(draws(), 4)) {
        let mut teams = THREADS_MAX.map(Team::new);
        for draw in draws {
            let outcome = first_wrong(&draw, &mut teams);
            prop_assert!(outcome.is_ok(), "{outcome:?}: {draw:?}");
        }
    }
}

/// The draws above are of use only if they have every kind of schedule: each mapping that a number of threads allows,
/// with each chunk, sweep and priming.
#[test]
fn the_draws_have_every_kind_of_schedule() {
    use proptest::{strategy::ValueTree as _, test_runner::TestRunner};
    let mut runner = TestRunner::deterministic();
    let mut kinds = BTreeSet::new();
    for _ in 0..300 {
        let draw = draws().new_tree(&mut runner).expect("a draw").current();
        for threads_max in THREADS_MAX {
            kinds.extend(schedules(&draw, threads_max).iter().map(kind));
        }
    }
    for mapping in Mapping::ALL {
        let of_mapping: Vec<_> =
            kinds.iter().filter(|kind| kind.starts_with(&format!("{mapping:?} "))).collect();
        for part in ["WholeSequence", "Steps", "Forward", "ZigZag", "primed true", "primed false"] {
            // Phases side by side have chunks of some steps always.
            let is_possible = mapping != Mapping::Phases || part != "WholeSequence";
            let is_there = of_mapping.iter().any(|kind| kind.contains(part));
            assert_eq!(is_there, is_possible, "{mapping:?} {part}: {of_mapping:?}");
        }
        let threads: &[usize] = match mapping {
            Mapping::Single => &[1],
            Mapping::Directions => &[2, 4],
            _ => &[2, 3, 4],
        };
        for threads in threads {
            let text = format!("on {threads}");
            assert!(of_mapping.iter().any(|kind| kind.ends_with(&text)), "{mapping:?} {text}");
        }
    }
}

fn kind(schedule: &Schedule) -> String {
    let Schedule { threads, mapping, chunk, sweep, primed } = *schedule;
    let chunk = if chunk == Chunk::WholeSequence { "WholeSequence" } else { "Steps" };
    let sweep = if sweep == Sweep::Forward { "Forward" } else { "ZigZag" };
    format!("{mapping:?} {chunk} {sweep} primed {primed} on {threads}")
}
