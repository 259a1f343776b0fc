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

/// Calibrates on a machine on which call number `n` of a candidate takes as long as `time` says.
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

const LONG_TIME: Duration = Duration::from_secs(60);

#[test]
fn the_fastest_is_kept_and_all_are_reported_in_order() {
    let times = [900, 500, 700, 400, 800];
    let found = simulated(&candidates(5), LONG_TIME, |schedule, _| {
        Ok(Duration::from_micros(times[steps(schedule) - 1]))
    });
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
    let found = simulated(&candidates(3), LONG_TIME, |schedule, _| match steps(schedule) {
        1 => Err("no such kernel".to_owned()),
        steps => Ok(Duration::from_micros(100 * steps as u64)),
    });
    assert_eq!(steps(&found.schedule), 2);
    assert_eq!(found.unmeasured.iter().map(steps).collect::<Vec<_>>(), [1]);
    let found = simulated(&candidates(3), LONG_TIME, |_, _| Err("nothing goes".to_owned()));
    assert_eq!(found.schedule, Schedule::SINGLE);
}

#[test]
fn of_equals_the_one_with_fewer_threads_is_taken() {
    let mut two = candidates(2);
    two[0] = Schedule { threads: 2, mapping: Mapping::Columns, ..two[0] };
    let found = simulated(&two, LONG_TIME, |schedule, _| {
        Ok(Duration::from_nanos(if schedule.threads == 2 { 1_000_000 } else { 1_005_000 }))
    });
    assert_eq!(found.schedule.threads, 1);
    let found = simulated(&two, LONG_TIME, |schedule, _| {
        Ok(Duration::from_nanos(if schedule.threads == 2 { 1_000_000 } else { 1_050_000 }))
    });
    assert_eq!(found.schedule.threads, 2);
}

#[test]
fn a_call_of_no_time_does_not_stop_it() {
    let found = simulated(&candidates(3), LONG_TIME, |_, _| Ok(Duration::ZERO));
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
    let blocks = |which| found.measured.iter().find(|one| steps(&one.schedule) == which).unwrap().blocks;
    assert_eq!((blocks(1), blocks(2)), (1, 1));
    assert!(blocks(3) >= 5 && blocks(4) >= 5, "{found:?}");
}

/// A machine that is used by others, too. Time passes in calls alone.
struct Busy {
    seed: u64,
    /// Time of a call of each candidate, undisturbed and alone.
    clean: Vec<Duration>,
    /// Begin and end of each burst of foreign load, in which no call gets on.
    bursts: Vec<(Duration, Duration)>,
    /// All calls take this many times longer from this moment on.
    pace: (Duration, f64),
    /// One candidate takes this many times longer until this moment.
    unlucky: (usize, Duration, f64),
}

/// A quiet one: one candidate is the best, the others are up to a third behind it.
fn busy(seed: u64, call: Duration, count: usize) -> Busy {
    let best = (noise(seed, 1) * count as f64) as usize;
    let factor = |at: usize| if at == best { 1.0 } else { 1.0 + 0.35 * noise(seed, 100 + at as u64) };
    Busy {
        seed,
        clean: (0..count).map(|at| call.mul_f64(factor(at))).collect(),
        bursts: Vec::new(),
        pace: (Duration::MAX, 1.0),
        unlucky: (best, Duration::ZERO, 1.0),
    }
}

impl Busy {
    /// Bursts of 1 to 10 ms, a fifth of the time.
    fn with_bursts(mut self) -> Self {
        let mut at = Duration::ZERO;
        for number in 0..5000 {
            let begin = at + Duration::from_secs_f64(0.044 * noise(self.seed ^ 0xb0, 2 * number));
            at = begin + Duration::from_secs_f64(0.001 + 0.009 * noise(self.seed ^ 0xb0, 2 * number + 1));
            self.bursts.push((begin, at));
        }
        self
    }

    /// All calls take longer from some moment of the race on.
    fn with_another_pace(self) -> Self {
        let at = Duration::from_secs_f64(0.3 * noise(self.seed, 7));
        Self { pace: (at, 1.4), ..self }
    }

    /// The best candidate takes longer for the larger part of the shortest race.
    fn with_an_unlucky_candidate(self) -> Self {
        Self { unlucky: (self.unlucky.0, Duration::from_millis(200), 1.5), ..self }
    }

    /// Time of a call that begins now.
    fn call(&self, at: usize, now: Duration, number: u64) -> Duration {
        let jitter = 1.0 + 0.01 * noise(self.seed ^ 0x1e, number);
        let pace = if now >= self.pace.0 { self.pace.1 } else { 1.0 };
        let luck = if at == self.unlucky.0 && now < self.unlucky.1 { self.unlucky.2 } else { 1.0 };
        let mut end = now + self.clean[at].mul_f64(jitter * pace * luck);
        // A burst is over before the next one begins.
        let first = self.bursts.partition_point(|(_, over)| *over <= now);
        for (begin, over) in &self.bursts[first..] {
            if *begin >= end {
                break;
            }
            end += *over - now.max(*begin);
        }
        end - now
    }

    /// Calibrates on it; returns how many times longer than the best one the chosen candidate takes, and the plan.
    fn calibrated(&self, budget: Duration) -> (f64, LayerPlan) {
        let now = Shared::new(Duration::ZERO);
        let mut number = 0;
        let mut measure = |schedule: &Schedule| {
            number += 1;
            let taken = self.call(steps(schedule) - 1, now.get(), number);
            now.set(now.get() + taken);
            Ok(taken)
        };
        let all = candidates(self.clean.len());
        let found = calibrate_by(&mut || now.get(), &all, budget, &mut measure);
        let best = self.clean.iter().min().unwrap();
        (self.clean[steps(&found.schedule) - 1].as_secs_f64() / best.as_secs_f64(), found)
    }
}

/// A third of the calls is disturbed, by up to four times the call. The disturbances are the same in every run.
#[test]
fn disturbances_do_not_decide() {
    let is_right = |seed: u64| {
        let best = 1 + seed as usize % 8;
        let found = simulated(&candidates(8), LONG_TIME, |schedule, call| {
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

/// Another program has the second core for most of a second. That holds up most schedules of two threads; in one of
/// them the first thread does the work of both meanwhile.
#[test]
fn a_core_that_is_taken_for_a_while_does_not_decide() {
    /// Tenths of the best call, while the core is free.
    const FREE: [u64; 7] = [11, 15, 10, 12, 18, 19, 20];
    let two = |schedule: &Schedule| Schedule { threads: 2, mapping: Mapping::Columns, ..*schedule };
    let all: Vec<Schedule> =
        candidates(7).iter().map(|one| if steps(one) <= 5 { two(one) } else { *one }).collect();
    for taken in [100, 400, 800].map(Duration::from_millis) {
        for call_us in [20, 200, 2000] {
            let now = Shared::new(Duration::ZERO);
            let mut measure = |schedule: &Schedule| {
                let free = FREE[steps(schedule) - 1];
                let waits = now.get() < taken && steps(schedule) < 5;
                let tenths = if waits { 20 * free } else { free };
                let call = Duration::from_micros(call_us * tenths / 10);
                now.set(now.get() + call);
                Ok(call)
            };
            let found = calibrate_by(&mut || now.get(), &all, LONG_TIME, &mut measure);
            assert_eq!(steps(&found.schedule), 3, "{call_us} us, taken for {taken:?}: {found:?}");
        }
    }
}

/// Makes trouble on a quiet machine.
type Trouble = fn(Busy) -> Busy;

/// One kind of trouble each, for calls of 20 us to 10 ms; in the last one all at once.
const TROUBLES: [(&str, Trouble); 4] = [
    ("bursts", Busy::with_bursts),
    ("another pace", Busy::with_another_pace),
    ("an unlucky candidate", Busy::with_an_unlucky_candidate),
    ("all", |busy| busy.with_bursts().with_another_pace().with_an_unlucky_candidate()),
];

#[test]
fn a_noisy_minute_does_not_pick_a_slow_schedule() {
    const SEEDS: u64 = 60;
    for (trouble, make) in TROUBLES {
        let mut off = Vec::new();
        for seed in 0..SEEDS {
            let call = Duration::from_micros(20).mul_f64(500.0_f64.powf(noise(seed, 3)));
            let busy = make(busy(seed, call, 2 + seed as usize % 19));
            let (times, plan) = busy.calibrated(Duration::from_secs(8));
            assert!((0.0..=1.0).contains(&plan.sure));
            off.extend((times > 1.03).then_some((seed, times)));
        }
        // Where everything comes together a few may pass, but none that is far off.
        let most = if trouble == "all" { SEEDS as usize / 20 } else { 0 };
        assert!(off.len() <= most && off.iter().all(|(_, times)| *times < 1.1), "{trouble}: {off:?}");
    }
}

/// Calls of 20 to 50 ms: bursts hit nearly all of them, and 8 seconds hold only a few.
#[test]
fn long_calls_on_a_noisy_machine_are_seldom_off_and_never_far() {
    const SEEDS: u64 = 60;
    let mut off = Vec::new();
    for seed in 0..SEEDS {
        let call = Duration::from_millis(20 + seed % 31);
        let busy = busy(seed, call, 2 + seed as usize % 19).with_bursts();
        let (times, plan) = busy.calibrated(Duration::from_secs(8));
        off.extend((times > 1.03).then_some((seed, times, plan.sure)));
    }
    assert!(off.len() <= 8 && off.iter().all(|(_, times, _)| *times < 1.15), "{off:?}");
}

/// Of a quiet machine all plans are sure, and soon: a model that is quick to run is quick to load.
#[test]
fn a_quiet_machine_is_done_with_soon() {
    for call_us in [20, 500, 5000] {
        let call = Duration::from_micros(call_us);
        let busy = busy(call_us, call, 20);
        let now = Shared::new(Duration::ZERO);
        let mut measure = |schedule: &Schedule| {
            let taken = busy.call(steps(schedule) - 1, now.get(), 0);
            now.set(now.get() + taken);
            Ok(taken)
        };
        let found = calibrate_by(&mut || now.get(), &candidates(20), LONG_TIME, &mut measure);
        assert!(found.is_settled() && found.sure > 0.95, "{call_us}: {found:?}");
        assert!(now.get() < Duration::from_millis(300) + 600 * call, "{call_us}: {:?}", now.get());
    }
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
