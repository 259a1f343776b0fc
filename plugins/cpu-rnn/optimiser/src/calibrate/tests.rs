use std::cell::Cell as Shared;

use proptest::prelude::*;

use super::*;
use proctor_rnn_layer::{Chunk, Mapping};

/// Distinct candidates: chunks of 1, 2, ... steps.
fn candidates(count: usize) -> Vec<Schedule> {
    (1..=count).map(|steps| Schedule { chunk: Chunk::Steps(steps), ..Schedule::SINGLE }).collect()
}

fn steps(schedule: &Schedule) -> usize {
    match schedule.chunk {
        Chunk::Steps(steps) => steps,
        Chunk::WholeSequence => 0,
    }
}

/// Calibrates on a machine of which `time` says how long call number `n` of a candidate takes.
fn simulated(
    candidates: &[Schedule],
    budget: Duration,
    time: impl FnMut(&Schedule, u64) -> Result<Duration, String>,
) -> LayerPlan {
    timed(candidates, budget, time).0
}

/// The same, with the time that it took. Time passes only in calls.
fn timed(
    candidates: &[Schedule],
    budget: Duration,
    mut time: impl FnMut(&Schedule, u64) -> Result<Duration, String>,
) -> (LayerPlan, Duration) {
    let now = Shared::new(Duration::ZERO);
    let calls = Shared::new(0);
    let mut measure = |schedule: &Schedule| {
        calls.set(calls.get() + 1);
        let taken = time(schedule, calls.get())?;
        now.set(now.get() + taken);
        Ok(taken)
    };
    let found = calibrate_by(&mut || now.get(), candidates, budget, &mut measure);
    (found, now.get())
}

/// Numbers that look random, for noise.
fn noise(seed: u64, call: u64) -> f64 {
    let mut x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ call.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^= x >> 31;
    x = x.wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^= x >> 29;
    (x >> 11) as f64 / (1_u64 << 53) as f64
}

const LONG: Duration = Duration::from_secs(60);

#[test]
fn the_fastest_is_kept_and_all_are_reported_in_order() {
    let times = [900, 500, 700, 400, 800];
    let found =
        simulated(&candidates(5), LONG, |schedule, _| Ok(Duration::from_micros(times[steps(schedule) - 1])));
    assert_eq!(steps(&found.schedule), 4);
    let order: Vec<usize> = found.measured.iter().map(|one| steps(&one.schedule)).collect();
    assert_eq!(order, [4, 2, 3, 5, 1]);
    assert_eq!(found.measured[0].figure_ns, 400_000);
    assert!(found.unmeasured.is_empty());
}

#[test]
fn the_budget_ends_it_and_the_rest_is_named() {
    let second = Duration::from_secs(1);
    let (found, taken) = timed(&candidates(10), 3 * second, |_, _| Ok(second));
    assert_eq!(taken, 3 * second);
    assert_eq!((found.measured.len(), found.unmeasured.len()), (3, 7));
    // With no time at all the most promising is still measured: it says at least how long a call takes.
    let found = simulated(&candidates(10), Duration::ZERO, |_, _| Ok(second));
    assert_eq!((found.measured.len(), steps(&found.schedule)), (1, 1));
}

#[test]
fn what_the_engine_refuses_is_passed_over() {
    let found = simulated(&candidates(3), LONG, |schedule, _| match steps(schedule) {
        1 => Err("no such kernel".to_owned()),
        steps => Ok(Duration::from_micros(100 * steps as u64)),
    });
    assert_eq!(steps(&found.schedule), 2);
    assert_eq!(found.unmeasured.iter().map(steps).collect::<Vec<_>>(), [1]);
    let found = simulated(&candidates(3), LONG, |_, _| Err("nothing goes".to_owned()));
    assert_eq!(found.schedule, Schedule::SINGLE);
}

#[test]
fn of_equals_the_one_with_fewer_threads_is_taken() {
    let mut two = candidates(2);
    two[0] = Schedule { threads: 2, mapping: Mapping::Columns, ..two[0] };
    let found = simulated(&two, LONG, |schedule, _| {
        Ok(Duration::from_nanos(if schedule.threads == 2 { 1_000_000 } else { 1_005_000 }))
    });
    assert_eq!(found.schedule.threads, 1);
    let found = simulated(&two, LONG, |schedule, _| {
        Ok(Duration::from_nanos(if schedule.threads == 2 { 1_000_000 } else { 1_050_000 }))
    });
    assert_eq!(found.schedule.threads, 2);
}

#[test]
fn a_call_of_no_time_does_not_stop_it() {
    let found = simulated(&candidates(3), LONG, |_, _| Ok(Duration::ZERO));
    assert_eq!(found.measured.len(), 3);
}

#[test]
fn the_hopeless_are_not_measured_on() {
    let found = simulated(&candidates(4), Duration::from_secs(1), |schedule, _| {
        Ok(Duration::from_millis(match steps(schedule) {
            1 => 100,
            2 => 20,
            _ => 6,
        }))
    });
    let samples = |which| found.measured.iter().find(|one| steps(&one.schedule) == which).unwrap().samples;
    assert_eq!((samples(1), samples(2)), (1, 3));
}

/// A third of the calls is disturbed, by up to four times the call. The disturbances are the same in every run.
#[test]
fn disturbances_do_not_decide() {
    let is_right = |seed: u64| {
        let best = 1 + seed as usize % 8;
        let found = simulated(&candidates(8), LONG, |schedule, call| {
            let clean = if steps(schedule) == best { 500.0 } else { 560.0 + 20.0 * steps(schedule) as f64 };
            let disturbed = if noise(seed, call) < 0.33 { 4.0 * noise(seed + 1, call) } else { 0.0 };
            let jitter = 0.02 * noise(seed + 2, call);
            Ok(Duration::from_nanos((clean * 1000.0 * (1.0 + disturbed + jitter)) as u64))
        });
        steps(&found.schedule) == best
    };
    let right = (0..200).filter(|seed| is_right(*seed)).count();
    assert!(right >= 199, "{right} of 200");
}

proptest! {
    /// For all times it ends, within the budget and one sample more, and what is chosen was measured.
    #[test]
    fn it_ends_in_time(seed in 0_u64..5000, count in 1_usize..20, budget_ms in 0_u64..200) {
        let budget = Duration::from_millis(budget_ms);
        let longest = Duration::from_millis(20);
        let (found, taken) = timed(&candidates(count), budget, |_, call| Ok(longest.mul_f64(noise(seed, call).powi(4))));
        prop_assert!(taken <= budget + (REPEAT_MAX + 1) * longest);
        prop_assert!(found.measured.iter().any(|one| one.schedule == found.schedule));
        prop_assert_eq!(found.measured.len() + found.unmeasured.len(), count);
    }
}
