//! Searches on simulated queues whose capacity is known: by a formula, or by a long run.

use proctor_search::{Axis, Search, SearchEnd, SearchSettings};
use rand::rngs::SmallRng;
use rand_distr::{Distribution, Exp1, LogNormal};

use crate::common::{Queue, Service, draws};

/// The mean service time.
const SERVICE_S: f64 = 1e-3;
const START: f64 = 100.0;

fn exponential(random: &mut SmallRng) -> f64 {
    let time: f64 = Exp1.sample(random);
    time * SERVICE_S
}

fn constant(_: &mut SmallRng) -> f64 {
    SERVICE_S
}

fn log_normal(random: &mut SmallRng) -> f64 {
    LogNormal::new(0.0, 0.5).unwrap().sample(random) * SERVICE_S
}

fn queue(service: Service, servers: usize, bound_s: f64, seed: u64) -> Queue {
    let run_s = 600.0;
    // The plain search looks as far as twice the capacity.
    let count = run_s * 2.5 * servers as f64 / SERVICE_S;
    Queue { draws: draws(seed, count as usize, service), servers, bound_s, run_s }
}

fn settings(confirm_runs: u32) -> SearchSettings {
    SearchSettings {
        axis: Axis::Rate { resolution: 0.01 },
        start: START,
        from: 0.1,
        to: 1e6,
        confirm_runs,
        full_loads_max: 10,
    }
}

/// Returns the highest rate at which `is_met` holds, to a thousandth.
fn highest(mut lower: f64, mut upper: f64, is_met: impl Fn(f64) -> bool) -> f64 {
    while upper / lower > 1.001 {
        let middle = (lower + upper) / 2.0;
        if is_met(middle) { lower = middle } else { upper = middle }
    }
    lower
}

/// Searches with a few seeds, and asserts that each result is near the capacity, and that all took at most a third of
/// the queries of a plain search.
fn assert_found(name: &str, capacity: f64, queue_of: impl Fn(u64) -> Queue) {
    let (mut queries, mut plain_queries) = (0, 0);
    for seed in [1, 2] {
        let queue = queue_of(seed);
        let mut search = Search::new(settings(1));
        let SearchEnd::Found { load, .. } = queue.search(&mut search) else { panic!("{name}: {search:#?}") };
        let (plain_load, plain) = queue.plain_search(START);
        let share = search.query_count() as f64 / plain as f64;
        println!(
            "{name}, seed {seed}: {load:.1} of {capacity:.1} with {:.0}% of the queries; the plain search: {plain_load:.1}",
            share * 100.0
        );
        assert!((load / capacity - 1.0).abs() <= 0.03, "{name}, seed {seed}: {load} of {capacity}");
        queries += search.query_count();
        plain_queries += plain;
    }
    assert!(3 * queries <= plain_queries, "{name}: {queries} of {plain_queries}");
}

#[test]
fn with_exponential_times_the_capacity_is_that_of_the_formula() {
    // P(latency > t) = exp(-(mu - lambda) t) = 0.01.
    let bound_s = 0.02;
    let capacity = 1.0 / SERVICE_S - 100_f64.ln() / bound_s;
    assert_found("M/M/1", capacity, |seed| queue(exponential, 1, bound_s, seed));
}

#[test]
fn with_constant_times_the_capacity_is_that_of_the_formula() {
    let bound_s = 0.01;
    let capacity = highest(500.0, 999.0, |rate| {
        // P(wait <= t) by Erlang: (1 - rho) sum of (lambda (k D - t))^k / k! exp(-lambda (k D - t)) for k D <= t.
        let wait_s = bound_s - SERVICE_S;
        let mut factorial = 1.0;
        let mut sum = 0.0;
        for k in 0..=(wait_s / SERVICE_S + 1e-9) as i32 {
            factorial *= f64::from(k.max(1));
            let exponent = rate * (f64::from(k) * SERVICE_S - wait_s);
            sum += exponent.powi(k) / factorial * (-exponent).exp();
        }
        (1.0 - rate * SERVICE_S) * sum >= 0.99
    });
    assert_found("M/D/1", capacity, |seed| queue(constant, 1, bound_s, seed));
}

#[test]
fn with_skewed_times_and_with_several_servers_the_capacity_is_that_of_a_long_run() {
    for (name, service, servers, bound_s) in
        [("M/G/1", log_normal as Service, 1, 0.01), ("M/D/4", constant as Service, 4, 0.005)]
    {
        let most = servers as f64 / SERVICE_S;
        let long = Queue { draws: draws(99, 500_000, service), servers, bound_s, run_s: 0.0 };
        let capacity = highest(most * 0.5, most, |rate| long.long_run_share(rate) <= 0.01);
        assert_found(name, capacity, |seed| queue(service, servers, bound_s, seed));
    }
}

#[test]
fn a_search_goes_on_from_its_records_as_if_nothing_had_happened() {
    let queue = Queue { run_s: 60.0, ..queue(exponential, 1, 0.02, 5) };
    let mut whole = Search::new(settings(5));
    let end = queue.search(&mut whole);
    assert!(whole.confirmations.iter().filter(|run| run.is_valid).count() >= 5);
    for count in 0..whole.probes.len() {
        let text = serde_json::to_string(&Search {
            settings: whole.settings.clone(),
            probes: whole.probes[..count].to_vec(),
            confirmations: Vec::new(),
        });
        let mut resumed: Search = serde_json::from_str(&text.unwrap()).unwrap();
        assert_eq!(queue.search(&mut resumed), end);
        assert_eq!(resumed, whole);
    }
}
