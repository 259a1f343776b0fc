//! Checks calibration on this machine: is what it chooses the fastest of all, and how long does it take?
//!
//! ```text
//! calibration [--all] THREADS CELL,INPUT,HIDDEN,BATCH,STEPS[,bi] ...
//! ```
//!
//! For each layer the calibrated schedule is measured again, many times in turns with every schedule of a wide grid. A
//! line has the time of the calibrated one, the best of the grid, their ratio, and the duration of the calibration.
//! With `--all` each schedule of the grid gets a line, too.

use std::time::{Duration, Instant};

use proctor_rnn_engine::{DirectionWeights, Layer, LayerSpec, Team, TeamOptions, Trial};
use proctor_rnn_layer::{
    Cell, Chunk, Directions, GruReset, LayerShape, Machine, Mapping, Precision, RnnActivation, Schedule,
    Sweep,
};
use proctor_rnn_optimiser::{
    PlannedLayer, Planner,
    explain::{describe_schedule, describe_shape},
    search::check,
};

/// How long the grid of one layer is measured at most.
const GRID: Duration = Duration::from_secs(6);

fn main() {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let before = arguments.len();
    arguments.retain(|argument| argument != "--all");
    let shows_all = arguments.len() < before;
    let mut arguments = arguments.into_iter();
    let threads = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(2);
    let mut team = Team::with_options(&TeamOptions { pin_caller: true, ..TeamOptions::new(threads) })
        .expect("threads for a team");
    let planner = Planner::new(Machine::read(), "example").threads_max(threads);
    println!("{}", Machine::read().identity());
    for text in arguments {
        match shape(&text) {
            Some(shape) => check_layer(&planner, &mut team, shape, shows_all),
            None => eprintln!("{text} is no layer, such as lstm,64,256,1,100 or gru,64,256,1,100,bi"),
        }
    }
}

fn shape(text: &str) -> Option<LayerShape> {
    let fields: Vec<&str> = text.split(',').collect();
    let cell = match *fields.first()? {
        "lstm" => Cell::Lstm,
        "gru" => Cell::Gru(GruReset::AfterProduct),
        "gru0" => Cell::Gru(GruReset::BeforeProduct),
        "rnn" => Cell::Rnn(RnnActivation::Tanh),
        _ => return None,
    };
    let number = |at: usize| fields.get(at)?.parse().ok().filter(|number| *number > 0);
    let directions =
        if fields.get(5) == Some(&"bi") { Directions::Bidirectional } else { Directions::Forward };
    let (input, hidden, batch, time) = (number(1)?, number(2)?, number(3)?, number(4)?);
    Some(LayerShape { cell, directions, input, hidden, batch, time, precision: Precision::F32 })
}

fn check_layer(planner: &Planner, team: &mut Team, shape: LayerShape, shows_all: bool) {
    let spec = LayerSpec::of(&shape);
    let scale = 1.0 / (shape.hidden as f32).sqrt();
    let weights = |count: usize| -> Vec<f32> {
        (0..count).map(|at| scale * ((at % 127) as f32 / 63.0 - 1.0)).collect()
    };
    let gates = shape.cell.gate_count() * shape.hidden;
    let (input, hidden) = (weights(gates * shape.input), weights(gates * shape.hidden));
    let set = DirectionWeights {
        input: &input,
        hidden: &hidden,
        input_bias: &[],
        hidden_bias: &[],
        peepholes: &[],
    };
    let layer = Layer::new(spec, &vec![set; shape.directions.count()]).expect("weights that fit");
    let mut trial = Trial::new(&layer, &shape);

    let layers = [PlannedLayer { name: "layer".to_owned(), shape }];
    let plan = planner.plan("example", &layers, &mut |_, schedule| Ok(trial.time(schedule, team)));
    let chosen = plan.schedule(0);
    let mut all = grid(&shape, team.threads());
    all.iter_mut().for_each(|schedule| schedule.primed = chosen.primed);
    all.retain(|schedule| *schedule != chosen);
    all.insert(0, chosen);
    let times = measured(&mut trial, team, &all);
    let (best, best_time) = times.iter().enumerate().min_by_key(|(_, time)| **time).expect("at least one");
    println!(
        "{}\n  calibrated in {:.2} s: {:9.4} ms  {}\n  best of {:3} in grid:  {:9.4} ms  {}\n  ratio {:.3}",
        describe_shape(&shape),
        plan.calibration.as_secs_f64(),
        times[0].as_secs_f64() * 1e3,
        describe_schedule(&chosen),
        all.len(),
        best_time.as_secs_f64() * 1e3,
        describe_schedule(&all[best]),
        times[0].as_secs_f64() / best_time.as_secs_f64(),
    );
    if shows_all {
        let mut sorted: Vec<_> = times.iter().zip(&all).collect();
        sorted.sort_by_key(|(time, _)| **time);
        for (time, schedule) in sorted {
            println!("    {:9.4} ms  {}", time.as_secs_f64() * 1e3, describe_schedule(schedule));
        }
    }
}

/// Every schedule that the engine runs, with many chunks.
fn grid(shape: &LayerShape, threads_max: usize) -> Vec<Schedule> {
    let mut all = Vec::new();
    for threads in 1..=threads_max {
        for mapping in [Mapping::Single, Mapping::Columns, Mapping::Rows, Mapping::Directions] {
            for steps in [0, 1, 2, 4, 8, 16, 32, 64] {
                for sweep in [Sweep::Forward, Sweep::ZigZag] {
                    let chunk = if steps == 0 { Chunk::WholeSequence } else { Chunk::Steps(steps) };
                    let schedule = Schedule { threads, mapping, chunk, sweep, primed: false };
                    let is_useful =
                        steps < shape.time && (mapping != Mapping::Rows || shape.batch >= threads);
                    if is_useful && check(shape, &schedule, threads_max).is_ok() {
                        all.push(schedule);
                    }
                }
            }
        }
    }
    all
}

/// The lowest octile of the times of each schedule, measured in turns.
fn measured(trial: &mut Trial<'_>, team: &mut Team, all: &[Schedule]) -> Vec<Duration> {
    let mut times: Vec<Vec<Duration>> = vec![Vec::new(); all.len()];
    let start = Instant::now();
    while times[0].len() < 5 || (times[0].len() < 80 && start.elapsed() < GRID) {
        for (schedule, times) in all.iter().zip(&mut times) {
            // The first call brings the caches into the state of a steady run.
            trial.time(schedule, team);
            let calls = (0..4).map(|_| trial.time(schedule, team));
            times.push(calls.min().expect("four calls"));
        }
    }
    let octile = |mut times: Vec<Duration>| {
        times.sort_unstable();
        times[times.len() / 8]
    };
    times.into_iter().map(octile).collect()
}
