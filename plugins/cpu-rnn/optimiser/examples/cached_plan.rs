//! How long it takes to load a plan from the cache.
//!
//! ```text
//! cached_plan [LAYERS]
//! ```
//!
//! Makes a plan of a model of LAYERS layers of different shapes, 16 by default, with measurements that are made
//! up, keeps it in a temporary folder, and loads it 200 times.

use std::time::{Duration, Instant};

use proctor_rnn_layer::{Cell, Directions, LayerShape, Machine, Precision};
use proctor_rnn_optimiser::{PlanOrigin, PlannedLayer, Planner, explain::summary};

fn main() {
    let count = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(16);
    let layer = |number: usize| PlannedLayer {
        name: format!("layer {number}"),
        shape: LayerShape {
            cell: Cell::Lstm,
            directions: Directions::Forward,
            input: 64 + number,
            hidden: 1024,
            batch: 20,
            time: 100,
            precision: Precision::F32,
        },
    };
    let layers: Vec<_> = (0..count).map(layer).collect();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let planner = || Planner::new(Machine::read(), "example").cache(folder.path());
    let mut calls = 0;
    let made = planner().plan("model", &layers, &mut |_, schedule| {
        calls += 1;
        Ok(Duration::from_micros(900 + 100 * schedule.threads as u64))
    });
    println!("{} ({calls} calls)", summary(&made));
    let mut times: Vec<Duration> = Vec::new();
    for _ in 0..200 {
        let start = Instant::now();
        // As a plugin does it: the machine is read, too.
        let plan = planner().plan("model", &layers, &mut |_, _| Err("it is in the cache".to_owned()));
        times.push(start.elapsed());
        assert!(matches!(plan.origin, PlanOrigin::Cached(_)), "{}", summary(&plan));
    }
    times.sort_unstable();
    let ms = |at: usize| times[at].as_secs_f64() * 1e3;
    println!(
        "{count} layers loaded in {:.3} ms (median), {:.3} ms (longest of {})",
        ms(100),
        ms(199),
        times.len()
    );
}
