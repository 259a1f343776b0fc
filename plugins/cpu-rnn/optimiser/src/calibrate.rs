//! Calibration: candidates are run and timed, and the fastest one is kept (section 4: "the former reduces the search
//! space, the latter captures the combined impact of locality and parallelism").
//!
//! Rounds are interleaved, every candidate once in each round, so that a disturbance of the machine hits all alike.
//! After each stage the slower half is dropped (successive halving) and the rest is measured more. A candidate's figure
//! is the lowest octile of its times, of fewer than eight the shortest: what disturbs only ever makes a call longer,
//! and of many calls one lucky one decides nothing.

use std::time::{Duration, Instant};

use proctor_rnn_layer::Schedule;

use crate::plan::{LayerPlan, Measured};

/// Least duration of a sample, which has as many calls in a row as that takes: shorter than that, the clock shows.
const SAMPLE_MIN: Duration = Duration::from_micros(100);
/// Calls in a row at most.
const REPEAT_MAX: u32 = 64;
/// Samples of each candidate in the stages of the halving; the last number holds for all further stages.
const STAGE_SAMPLES: [usize; 4] = [3, 5, 9, 15];
/// While a stage has taken less than this share of the budget it goes on, to [`STAGE_EXTENSION`] times its samples:
/// short calls are cheap, and more disturbed.
const STAGE_SHARE: u32 = 20;
/// But no longer than this: a model that is quick to run is to be quick to load.
const STAGE_MAX: Duration = Duration::from_millis(60);
/// See [`STAGE_SHARE`].
const STAGE_EXTENSION: usize = 16;
/// Candidates as near as this to the fastest are not dropped before the last stage.
const NEAR: f64 = 1.03;
/// Of candidates as near as this to each other the one with fewer threads is taken: it disturbs others less.
const TIE: f64 = 1.01;
/// A candidate with this many times the fastest one's figure is dropped at once: after three samples, which are not all
/// disturbed, or after one that has taken a stage's share of the budget.
const HOPELESS: f64 = 3.0;

/// Reads the time since some fixed instant.
pub(crate) type Clock<'a> = &'a mut dyn FnMut() -> Duration;

/// Runs one call of a layer by a schedule and returns how long it took; an error in words if the engine refuses it.
pub type Measure<'a> = &'a mut dyn FnMut(&Schedule) -> Result<Duration, String>;

/// Measures `schedules`, the most promising first, within about `budget`: the call that is running when it ends is
/// still waited for.
///
/// # Panics
/// If there are none.
pub fn calibrate(schedules: &[Schedule], budget: Duration, measure: Measure<'_>) -> LayerPlan {
    let start = Instant::now();
    calibrate_by(&mut || start.elapsed(), schedules, budget, measure)
}

/// As [`calibrate`], by another clock.
pub(crate) fn calibrate_by(
    clock: Clock<'_>,
    schedules: &[Schedule],
    budget: Duration,
    measure: Measure<'_>,
) -> LayerPlan {
    assert!(!schedules.is_empty(), "a layer has at least one candidate");
    let deadline = clock() + budget;
    let mut bench = Bench { clock, deadline, stage: (budget / STAGE_SHARE).min(STAGE_MAX), measure };
    let mut runs: Vec<Run> = schedules.iter().copied().map(Run::new).collect();
    let mut alive: Vec<usize> = (0..runs.len()).collect();
    for stage in 0.. {
        let samples = STAGE_SAMPLES[stage.min(STAGE_SAMPLES.len() - 1)];
        let done = bench.rounds(&mut runs, &mut alive, samples);
        alive.retain(|run| runs[*run].figure_ns().is_some());
        alive.sort_by_key(|run| runs[*run].figure_ns());
        if !done || alive.len() <= 1 {
            break;
        }
        if stage + 1 >= STAGE_SAMPLES.len() && alive.len() <= 2 {
            break;
        }
        let is_late = stage + 1 >= STAGE_SAMPLES.len();
        halve(&runs, &mut alive, is_late);
    }
    conclude(runs)
}

/// Drops the slower half, but while it is early none that is near the fastest.
fn halve(runs: &[Run], alive: &mut Vec<usize>, is_late: bool) {
    let Some(best) = alive.first().and_then(|run| runs[*run].figure_ns()) else { return };
    let half = alive.len().div_ceil(2);
    let near = alive.iter().filter(|run| runs[**run].ratio(best) <= NEAR).count();
    alive.truncate(if is_late { half } else { half.max(near) });
}

/// The plan of the fastest candidate; of [`Schedule::SINGLE`] if the engine refused every one.
fn conclude(runs: Vec<Run>) -> LayerPlan {
    let (timed, untimed): (Vec<Run>, Vec<Run>) = runs.into_iter().partition(|run| !run.samples_ns.is_empty());
    let mut measured: Vec<Measured> = timed.iter().filter_map(Run::measured).collect();
    measured.sort_by_key(|one| one.figure_ns);
    let best = measured.first().map_or(0, |one| one.figure_ns);
    // Only what was measured as often as the fastest can tie with it.
    let most = measured.first().map_or(0, |one| one.samples);
    let ties =
        measured.iter().filter(|one| one.figure_ns as f64 <= best as f64 * TIE && one.samples * 2 >= most);
    let schedule = ties.min_by_key(|one| one.schedule.threads).map_or(Schedule::SINGLE, |one| one.schedule);
    let unmeasured = untimed.iter().map(|run| run.schedule).collect();
    LayerPlan { schedule, measured, unmeasured }
}

/// The samples of one candidate.
struct Run {
    schedule: Schedule,
    samples_ns: Vec<u64>,
    /// Calls of a sample; 0 before the first call.
    repeat: u32,
    is_refused: bool,
}

impl Run {
    fn new(schedule: Schedule) -> Self {
        Self { schedule, samples_ns: Vec::new(), repeat: 0, is_refused: false }
    }

    fn figure_ns(&self) -> Option<u64> {
        let mut sorted = self.samples_ns.clone();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 8).copied()
    }

    /// Its figure as a multiple of the best one.
    fn ratio(&self, best_ns: u64) -> f64 {
        self.figure_ns().map_or(f64::INFINITY, |own| own as f64 / best_ns.max(1) as f64)
    }

    fn is_hopeless(&self, best_ns: u64, stage: Duration) -> bool {
        let is_sure =
            self.samples_ns.len() >= 3 || self.samples_ns.iter().any(|time| *time > nanoseconds(stage));
        is_sure && self.ratio(best_ns) > HOPELESS
    }

    fn measured(&self) -> Option<Measured> {
        let figure_ns = self.figure_ns()?;
        let min_ns = self.samples_ns.iter().copied().min()?;
        Some(Measured { schedule: self.schedule, figure_ns, min_ns, samples: self.samples_ns.len() })
    }
}

/// Times calls, until the deadline.
struct Bench<'a, 'b> {
    clock: Clock<'a>,
    deadline: Duration,
    /// Time that a stage may take before it ends with the least samples.
    stage: Duration,
    measure: Measure<'b>,
}

impl Bench<'_, '_> {
    /// Samples of each living candidate, at least as many as `samples` says; false if time was over before.
    fn rounds(&mut self, runs: &mut [Run], alive: &mut Vec<usize>, samples: usize) -> bool {
        let begin = (self.clock)();
        for round in 0..samples * STAGE_EXTENSION {
            if round >= samples && (self.clock)() - begin >= self.stage {
                break;
            }
            // Every other round goes backwards, so that no candidate is always behind the same neighbour.
            let order: Vec<usize> =
                if round % 2 == 0 { alive.clone() } else { alive.iter().rev().copied().collect() };
            for at in order {
                // The first candidate is measured whatever it takes: something has to be known.
                let is_due = (self.clock)() < self.deadline;
                if !is_due && runs.iter().any(|run| !run.samples_ns.is_empty()) {
                    return false;
                }
                self.sample(&mut runs[at]);
            }
            let best = alive.iter().filter_map(|run| runs[*run].figure_ns()).min().unwrap_or(u64::MAX);
            let stage = self.stage;
            alive.retain(|run| !runs[*run].is_refused && !runs[*run].is_hopeless(best, stage));
        }
        true
    }

    /// Times one sample. The calls before the first one find out how many make a sample, and warm the caches.
    fn sample(&mut self, run: &mut Run) {
        // Another candidate ran before this one, with its own threads and its own parts of the weights: one call of a
        // short layer is spent on getting back to the state of a steady run.
        let Some(first) = self.call(run) else { return };
        if run.repeat == 0 {
            let calls = SAMPLE_MIN.as_nanos().div_ceil(first.as_nanos().max(1));
            run.repeat = u32::try_from(calls).unwrap_or(REPEAT_MAX).clamp(1, REPEAT_MAX);
        }
        if first >= SAMPLE_MIN * 50 {
            run.samples_ns.push(nanoseconds(first));
            return;
        }
        let mut total = Duration::ZERO;
        for _ in 0..run.repeat {
            let Some(time) = self.call(run) else { return };
            total += time;
        }
        run.samples_ns.push(nanoseconds(total / run.repeat));
    }

    fn call(&mut self, run: &mut Run) -> Option<Duration> {
        let time = (self.measure)(&run.schedule);
        run.is_refused = time.is_err();
        time.ok()
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
