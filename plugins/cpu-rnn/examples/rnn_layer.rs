//! Times single recurrent layers, for a comparison with other systems in the same run.
//!
//! ```text
//! rnn_layer [--plan] THREADS
//! ```
//!
//! Speaks JSON lines: prints `{"system": ...}`, then for each case on standard input, such as `{"cell": "lstm",
//! "direction": "forward", "input": 64, "hidden": 64, "batch": 1, "seq": 100, "lbr": 0}`, one answer with `median_ms`,
//! `p99_ms`, `min_ms`, `reps`, `gflops`, `max_abs_diff` against the f64 reference (small cases only), the `schedule`
//! and the number of its threads. A single step starts from given states, as a decoder's does. `"precision"` may be
//! `f32`, `bf16` or `int8`.
//!
//! The schedule is the plugin's choice: its own planning makes it, for at most THREADS threads, as when a model is
//! loaded, and the layer then runs on the threads that the plugin would give it. With `--plan` the whole plan goes to
//! standard error.

use std::{
    hint::black_box,
    io::{BufRead as _, Write as _},
    time::{Duration, Instant},
};

use cpu_rnn_sut::planning::{Planning, PlanningOptions, cores_of, engine_identity, make_team};
use proctor_rnn_engine::{
    DirectionWeights, Layer, LayerCall, LayerSpec, Sequences, SequencesMut, Team, Workspace, reference,
};
use proctor_rnn_kernels::Buffer;
use proctor_rnn_layer::{Cell, Directions, GruReset, Precision, Schedule, allowed_cores, pin_to};
use proctor_rnn_models::{LayerCalls, Scheduler as _};
use proctor_rnn_optimiser::{BUDGET, explain::describe_schedule};
use serde::Deserialize;
use serde_json::json;

/// Warm-up, least and most time of a measurement, as the peers are timed.
const WARM: Duration = Duration::from_millis(150);
const MEASURE_MIN: Duration = Duration::from_millis(400);
const MEASURE_MAX: Duration = Duration::from_secs(2);
const REPS_MIN: usize = 200;

/// The most multiplications for which the f64 reference is worth its time.
const CHECK_MAX: usize = 200_000_000;

#[derive(Deserialize)]
struct Case {
    cell: String,
    direction: String,
    input: usize,
    hidden: usize,
    batch: usize,
    seq: usize,
    #[serde(default, alias = "linear_before_reset")]
    lbr: u8,
    #[serde(default)]
    precision: Precision,
}

/// A layer with everything that a call needs.
struct Bed {
    spec: LayerSpec,
    layer: Layer,
    weights: Vec<[Vec<f32>; 4]>,
    batch: usize,
    time: usize,
    input: Buffer,
    initial: Option<Vec<f32>>,
    /// Aligned to cache lines, as the arrays of the other systems are.
    output: Buffer,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let shows_plan = arguments.iter().any(|argument| argument == "--plan");
    let threads = arguments.last().and_then(|last| last.parse().ok()).unwrap_or(1);
    println!("{}", json!({"system": format!("proctor-{}", env!("CARGO_PKG_VERSION"))}));
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("standard input is readable");
        let answer = match serde_json::from_str::<Case>(&line) {
            Ok(case) => {
                // A team leaves its caller on a core; the next case has all of them again.
                let before = allowed_cores();
                let answer = answer(&case, threads, shows_plan);
                pin_to(&before).expect("the cores that it had");
                answer.unwrap_or_else(|error| json!({"error": error}))
            }
            Err(error) => json!({"error": error.to_string()}),
        };
        println!("{answer}");
        std::io::stdout().flush().expect("standard output is writable");
    }
}

/// Plans a case as the plugin does, for at most `threads` threads, and times it.
fn answer(case: &Case, threads: usize, shows_plan: bool) -> Result<serde_json::Value, String> {
    let mut bed = Bed::new(case).ok_or_else(|| format!("no cell {} {}", case.cell, case.direction))?;
    let planning = Planning::new(PlanningOptions {
        model: "rnn_layer".to_owned(),
        engine: engine_identity(),
        threads,
        cores: cores_of(&allowed_cores(), 0, threads),
        pin: true,
        budget: BUDGET,
        cache: None,
    });
    let calls = [LayerCalls::new("layer", &bed.layer, case.seq, case.batch)];
    let schedule = planning.plan(&calls)[0];
    if shows_plan {
        eprintln!("{}", planning.explanation().unwrap_or_default());
    }
    let threads = planning.threads();
    let cores = if threads == 1 { Vec::new() } else { cores_of(&allowed_cores(), 0, threads) };
    let mut team = make_team(threads, cores, true)?;
    let mut workspace = Workspace::default();
    if schedule.primed {
        bed.layer.prime(&mut team);
    }
    let difference = bed.difference(&schedule, &mut team, &mut workspace);
    let mut times = bed.measure(&schedule, &mut team, &mut workspace);
    times.sort_unstable();
    let ms = |index: usize| times[index.min(times.len() - 1)].as_secs_f64() * 1e3;
    let median = f64::midpoint(ms((times.len() - 1) / 2), ms(times.len() / 2));
    Ok(json!({
        "median_ms": median, "p99_ms": ms(times.len() * 99 / 100), "min_ms": ms(0), "reps": times.len(),
        "gflops": bed.flops() as f64 / median / 1e6, "max_abs_diff": difference,
        "schedule": describe_schedule(&schedule), "schedule_threads": schedule.threads,
    }))
}

impl Bed {
    fn new(case: &Case) -> Option<Self> {
        let cell = match (case.cell.as_str(), case.lbr) {
            ("lstm", _) => Cell::Lstm,
            ("gru", 0) => Cell::Gru(GruReset::BeforeProduct),
            ("gru", _) => Cell::Gru(GruReset::AfterProduct),
            _ => return None,
        };
        let directions = match case.direction.as_str() {
            "forward" => Directions::Forward,
            "reverse" => Directions::Reverse,
            "bidirectional" => Directions::Bidirectional,
            _ => return None,
        };
        let (input, hidden) = (case.input, case.hidden);
        let spec = LayerSpec { cell, directions, input, hidden, clip: None, precision: case.precision };
        let mut random = Random(20_180_711);
        let scale = 1.0 / (hidden as f32).sqrt();
        let gates = cell.gate_count() * hidden;
        let sizes = [gates * input, gates * hidden, gates, gates];
        let weights: Vec<_> =
            (0..directions.count()).map(|_| sizes.map(|size| random.values(size, scale))).collect();
        let sets: Vec<_> = weights.iter().map(direction_weights).collect();
        let layer = Layer::new(spec, &sets).ok()?;
        let states = directions.count() * case.batch * hidden;
        let mut values = Buffer::zeroed(case.seq * case.batch * input);
        values.values_mut().copy_from_slice(&random.values(case.seq * case.batch * input, 1.7));
        Some(Self {
            spec,
            layer,
            batch: case.batch,
            time: case.seq,
            input: values,
            initial: (case.seq == 1).then(|| random.values(states, 0.5)),
            output: Buffer::zeroed(case.seq * states),
            weights,
        })
    }

    fn call(&mut self) -> (&Layer, LayerCall<'_>) {
        let Self { spec, layer, batch, time, input, initial, output, .. } = self;
        let width = layer.output_width();
        let call = LayerCall {
            input: Sequences::time_major(input.values(), *time, *batch, spec.input),
            lengths: None,
            initial_hidden: initial.as_deref(),
            initial_cell: initial.as_deref().filter(|_| spec.cell == Cell::Lstm),
            output: SequencesMut::time_major(output.values_mut(), *time, *batch, width),
            last_hidden: None,
            last_cell: None,
        };
        (layer, call)
    }

    fn run(&mut self, schedule: &Schedule, team: &mut Team, workspace: &mut Workspace) {
        let (layer, mut call) = self.call();
        layer.run(schedule, team, workspace, &mut call).expect("the call fits the layer");
    }

    /// Largest difference from the f64 reference; `None` if that would take long.
    fn difference(&mut self, schedule: &Schedule, team: &mut Team, workspace: &mut Workspace) -> Option<f64> {
        if self.flops() / 2 > CHECK_MAX {
            return None;
        }
        self.run(schedule, team, workspace);
        let ours = self.output.clone();
        let (spec, weights) = (self.spec, std::mem::take(&mut self.weights));
        let sets: Vec<_> = weights.iter().map(direction_weights).collect();
        reference::run(&spec, &sets, &mut self.call().1);
        self.weights = weights;
        let differences =
            ours.values().iter().zip(self.output.values()).map(|(a, b)| f64::from((a - b).abs()));
        differences.reduce(f64::max)
    }

    /// Multiply and add counted as two; matrix products only.
    fn flops(&self) -> usize {
        let LayerSpec { cell, directions, input, hidden, .. } = self.spec;
        2 * cell.gate_count() * hidden * (input + hidden) * self.batch * self.time * directions.count()
    }

    /// Times of single calls.
    fn measure(&mut self, schedule: &Schedule, team: &mut Team, workspace: &mut Workspace) -> Vec<Duration> {
        let (layer, mut call) = self.call();
        let mut run = || {
            layer.run(schedule, team, workspace, black_box(&mut call)).expect("the call fits the layer");
        };
        let begin = Instant::now();
        while begin.elapsed() < WARM {
            run();
        }
        let mut times = Vec::with_capacity(1 << 20);
        let begin = Instant::now();
        let mut last = begin;
        loop {
            run();
            let now = Instant::now();
            times.push(now - last);
            last = now;
            let spent = now - begin;
            if spent >= MEASURE_MAX || (spent >= MEASURE_MIN && times.len() >= REPS_MIN) {
                return times;
            }
        }
    }
}

fn direction_weights(set: &[Vec<f32>; 4]) -> DirectionWeights<'_> {
    let [input, hidden, input_bias, hidden_bias] = set;
    DirectionWeights { input, hidden, input_bias, hidden_bias, peepholes: &[] }
}

/// splitmix64.
struct Random(u64);

impl Random {
    fn values(&mut self, count: usize, scale: f32) -> Vec<f32> {
        (0..count).map(|_| (self.next() as f32 / (1_u32 << 31) as f32 - 1.0) * scale).collect()
    }

    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) >> 32) as u32
    }
}
