//! Calibration: candidates are run and timed, and the fastest one is kept (section 4: "the former reduces the search
//! space, the latter captures the combined impact of locality and parallelism").
//!
//! A machine is never quiet for long, so no moment decides. Candidates race in rounds: in each, every candidate that is
//! in the race has a turn, in an order of the round's own, and its time is the shortest of a few samples, since what
//! disturbs a call only ever makes it longer. Rounds of long calls, which have one sample each, are taken together as
//! blocks; else a round is a block. The *figure* of a candidate is the median over blocks of the shortest time in each.
//! Candidates are compared within blocks alone, by how far each is behind the fastest one of the block: a machine that
//! changes its pace changes it for all.
//!
//! A candidate leaves the race when even its shortest time is far behind; how far is too far shrinks from round to
//! round. Now and then those that have left are timed once more: one that was disturbed for all of its time comes back,
//! and begins again. The race ends when it has lasted long enough and the winner is [sure](LayerPlan::sure), or with
//! the budget: on a quiet machine it is short.
//!
//! A program that keeps one core busy hides all candidates that want this core, however many they are. So the most
//! promising candidate is never given up: a race in which it is far behind lasts longer, and if it comes back, all that
//! have left get another chance.

use std::time::{Duration, Instant};

use proctor_rnn_layer::Schedule;

use crate::plan::{LayerPlan, Measured, SURE};

/// Minimum duration of a sample, which consists of as many successive calls as needed: shorter ones show the resolution
/// of the clock.
const SAMPLE_MIN: Duration = Duration::from_micros(100);
/// Maximum number of calls in a row.
const REPEAT_MAX: u32 = 64;
/// Number of samples of a candidate in a round; one alone where a round would take more than [`ROUND_SHARE`] otherwise.
const SAMPLES: u32 = 3;
/// The share of the time that is left that one round may take.
const ROUND_SHARE: u32 = 8;
/// A longer call is a long one, or one of that share of the budget: a burst of foreign load makes it a little longer,
/// while it hides a short call altogether.
const LONG: Duration = Duration::from_millis(15);
const LONG_SHARE: u32 = 200;
/// Number of blocks into which rounds of long calls are divided.
const LONG_BLOCKS: usize = 5;
/// Minimum numbers of rounds of a winner: in general, with uneven times, and with long calls, which are otherwise only
/// limited by the budget; then the minimum duration of a race, since a disturbance may last longer than a few rounds of
/// short calls. The numbers are small, so that a model that is quick to run is quick to load.
const ROUNDS_MIN: usize = 12;
const UNEVEN_ROUNDS_MIN: usize = 40;
const LONG_ROUNDS_MIN: usize = 20;
const RACE_MIN: Duration = Duration::from_millis(250);
/// The same if the most promising candidate is as many times behind as no prediction is off.
const DOUBTFUL_RACE_MIN: Duration = Duration::from_millis(1000);
const DOUBTFUL: f64 = 1.5;
/// No race has more rounds, however short calls are.
const ROUNDS_MAX: usize = 1000;
/// Number of rounds from which on a candidate can win.
const ROUNDS_TO_WIN: usize = 5;
/// Number of rounds from one to the next in which candidates that have left the race are timed, too.
const REVISIT: usize = 4;
/// Maximum ratio of a candidate's shortest time to the shortest of all, for it to stay in the race: by the number of
/// its rounds, the last one for all further rounds. One round of short calls removes no candidate; long calls are
/// disturbed less, and cost more.
const SLACK: [f64; 8] = [f64::INFINITY, 3.0, 2.0, 1.5, 1.2, 1.1, 1.1, 1.05];
const LONG_SLACK: [f64; 8] = [2.0, 1.5, 1.3, 1.2, 1.15, 1.1, 1.07, 1.05];
/// A candidate that is this many times behind is hopeless, and not even timed now and then, unless it is the most
/// promising one.
const HOPELESS: f64 = 3.0;
/// A candidate that is as near as this to the fastest one of a block might as well have been the fastest.
const NEAR: f64 = 1.03;
/// Ratio below which two candidates are equal: then the one with fewer threads is chosen, since it disturbs others
/// less, and is disturbed less.
const TIE: f64 = 1.02;

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

/// Works as [`calibrate`], by another clock.
pub(crate) fn calibrate_by(
    clock: Clock<'_>,
    schedules: &[Schedule],
    budget: Duration,
    measure: Measure<'_>,
) -> LayerPlan {
    assert!(!schedules.is_empty(), "a layer has at least one candidate");
    let start = clock();
    let long = LONG.min(budget / LONG_SHARE);
    let runs = schedules.iter().copied().map(Run::new).collect();
    let mut race = Race { clock, start, deadline: start + budget, long, measure, runs, rounds: Vec::new() };
    while race.round() && !race.is_decided() {}
    race.conclude()
}

/// Times of one candidate.
struct Run {
    schedule: Schedule,
    /// Number of calls of a sample; 0 before the first call.
    repeat: u32,
    /// The rounds in which it took part, and its time in each.
    times: Vec<(usize, Duration)>,
    is_in_race: bool,
    is_refused: bool,
}

impl Run {
    fn new(schedule: Schedule) -> Self {
        Self { schedule, repeat: 0, times: Vec::new(), is_in_race: true, is_refused: false }
    }

    fn races(&self) -> bool {
        self.is_in_race && !self.is_refused
    }

    fn shortest(&self) -> Option<Duration> {
        self.times.iter().map(|(_, time)| *time).min()
    }

    fn is_long(&self, long: Duration) -> bool {
        self.shortest().is_some_and(|shortest| shortest > long)
    }

    /// Returns about how long its turn takes.
    fn turn_time(&self) -> Duration {
        SAMPLES * self.shortest().unwrap_or_default().max(SAMPLE_MIN)
    }
}

/// The blocks of the candidates that can win, by which they are compared.
struct Standing {
    /// Positions of the candidates.
    contenders: Vec<usize>,
    /// Number of rounds that all of them took part in.
    rounds: usize,
    /// Whether calls of one of them are long.
    is_long: bool,
    /// For each, the shortest time in each block.
    times: Vec<Vec<Duration>>,
    /// For each, how many times longer these are than the shortest of all in the block.
    behind: Vec<Vec<f64>>,
}

impl Standing {
    /// Returns the contender that has won so far, as its place in the lists.
    fn winner(&self, runs: &[Run]) -> Option<usize> {
        let medians: Vec<f64> = self.behind.iter().map(|all| median(all, f64::total_cmp)).collect();
        let best = medians.iter().copied().fold(f64::INFINITY, f64::min);
        let ties = (0..medians.len()).filter(|place| medians[*place] <= best * TIE);
        let threads = |place: usize| runs[self.contenders[place]].schedule.threads;
        ties.min_by(|a, b| threads(*a).cmp(&threads(*b)).then(medians[*a].total_cmp(&medians[*b])))
    }

    /// Returns the share of the blocks in which a contender was as good as the fastest.
    fn sure(&self, place: usize) -> f64 {
        let behind = &self.behind[place];
        behind.iter().filter(|behind| **behind <= NEAR).count() as f64 / behind.len().max(1) as f64
    }

    /// Returns whether the times of a contender are about the same in most blocks.
    fn is_even(&self, place: usize) -> bool {
        let times = &self.times[place];
        times.iter().min().is_some_and(|min| ratio(median(times, Duration::cmp), *min) <= NEAR)
    }
}

/// All candidates, and the means to time them.
struct Race<'a, 'b> {
    clock: Clock<'a>,
    start: Duration,
    deadline: Duration,
    /// A longer call is a long one.
    long: Duration,
    measure: Measure<'b>,
    runs: Vec<Run>,
    /// The shortest time of each round so far.
    rounds: Vec<Duration>,
}

impl Race<'_, '_> {
    /// Measures one round; false if time was over before its end.
    fn round(&mut self) -> bool {
        let is_first = self.rounds.is_empty();
        let mut times: Vec<(usize, Duration)> = Vec::new();
        let turns = self.turns();
        for at in &turns {
            // The first candidate is measured at any cost: one result is needed.
            let is_known = !is_first || !times.is_empty();
            if is_known && (self.clock)() >= self.deadline {
                // Half a round has no fastest one; but half a first round is better than none.
                if is_first {
                    self.enter(&times);
                }
                return false;
            }
            times.extend(self.shortest_sample(*at, turns.len()).map(|time| (*at, time)));
        }
        self.enter(&times);
        self.throw_out();
        true
    }

    /// Returns the candidates of the next round, in the order of their turns.
    fn turns(&mut self) -> Vec<usize> {
        let left = self.deadline.saturating_sub((self.clock)());
        let number = self.rounds.len();
        let mut turns: Vec<usize> = (0..self.runs.len()).filter(|at| self.runs[*at].races()).collect();
        if number % REVISIT == REVISIT - 1 {
            let all: Vec<usize> = (0..self.runs.len()).filter(|at| self.is_worth_a_turn(*at)).collect();
            let cost: Duration = all.iter().map(|at| self.runs[*at].turn_time()).sum();
            if cost <= left / ROUND_SHARE {
                turns = all;
            }
        }
        // The first round keeps the order of promise, in case that it is the only one.
        if number > 0 {
            shuffle(&mut turns, number as u64);
        }
        turns
    }

    /// Returns whether a candidate may still come back, if it is not in the race. A long call has shown at once that it
    /// is hopeless, a short one in some rounds.
    fn is_worth_a_turn(&self, at: usize) -> bool {
        let run = &self.runs[at];
        let is_seen = run.times.len() >= ROUNDS_TO_WIN || run.is_long(self.long);
        let is_hopeless = is_seen && self.behind(run) > HOPELESS && at > 0;
        !run.is_refused && !is_hopeless
    }

    /// Returns the shortest of some samples of a candidate, in a round of `turns` candidates; `None` if the engine
    /// refuses it.
    fn shortest_sample(&mut self, at: usize, turns: usize) -> Option<Duration> {
        let turns = u32::try_from(turns).unwrap_or(u32::MAX);
        let mut shortest: Option<Duration> = None;
        if self.runs[at].repeat == 0 {
            // The first call warms the caches, and says how many make a sample; a long one is a sample.
            let first = self.call(at)?;
            let calls = SAMPLE_MIN.as_nanos().div_ceil(first.as_nanos().max(1));
            self.runs[at].repeat = u32::try_from(calls).unwrap_or(REPEAT_MAX).clamp(1, REPEAT_MAX);
            shortest = (first > self.long).then_some(first);
        }
        let repeat = self.runs[at].repeat;
        for _ in 0..SAMPLES {
            if let Some(shortest) = shortest {
                let left = self.deadline.saturating_sub((self.clock)());
                let round = SAMPLES * turns * shortest.max(SAMPLE_MIN);
                let is_long = match self.runs[at].shortest() {
                    Some(known) => known > self.long,
                    None => shortest > self.long,
                };
                if is_long || round > left / ROUND_SHARE {
                    break;
                }
            }
            let mut total = Duration::ZERO;
            for _ in 0..repeat {
                total += self.call(at)?;
            }
            let time = total / repeat;
            shortest = Some(shortest.map_or(time, |shortest| shortest.min(time)));
        }
        shortest
    }

    fn call(&mut self, at: usize) -> Option<Duration> {
        let time = (self.measure)(&self.runs[at].schedule);
        self.runs[at].is_refused = time.is_err();
        time.ok()
    }

    /// Enters the times of a round. A candidate that had left the race and is the fastest, or nearly, rejoins it, and
    /// its earlier times no longer count.
    fn enter(&mut self, times: &[(usize, Duration)]) {
        let Some(best) = times.iter().map(|(_, time)| *time).min() else { return };
        let mut is_another_chance = false;
        for (at, time) in times {
            let run = &mut self.runs[*at];
            if !run.is_in_race && ratio(*time, best) <= TIE {
                run.is_in_race = true;
                run.times.clear();
                is_another_chance |= *at == 0;
            }
            run.times.push((self.rounds.len(), *time));
        }
        if is_another_chance {
            self.runs.iter_mut().filter(|run| !run.is_in_race).for_each(|run| run.times.clear());
        }
        self.rounds.push(best);
    }

    /// Returns by how much a candidate is behind at least: its time over the shortest of a round, in its best round, or
    /// its shortest time over the shortest of all in the same rounds. The first is blind to a machine that changes its
    /// pace, the second to disturbances that hide all but few calls; who is far behind by both is so in truth.
    fn behind(&self, run: &Run) -> f64 {
        let mut rounds: Vec<f64> =
            run.times.iter().map(|(round, time)| ratio(*time, self.rounds[*round])).collect();
        rounds.sort_unstable_by(f64::total_cmp);
        // Of many rounds the lowest octile: a candidate may be lucky once, when all others are disturbed.
        let in_round = rounds.get(rounds.len() / 8).copied().unwrap_or(f64::INFINITY);
        let best = run.times.iter().map(|(round, _)| self.rounds[*round]).min();
        let at_all = run.shortest().zip(best).map_or(f64::INFINITY, |(own, best)| ratio(own, best));
        in_round.min(at_all)
    }

    /// Removes those from the race that are far behind.
    fn throw_out(&mut self) {
        for at in 0..self.runs.len() {
            let run = &self.runs[at];
            let slack = if run.is_long(self.long) { &LONG_SLACK } else { &SLACK };
            let is_near = self.behind(run) <= slack[run.times.len().clamp(1, slack.len()) - 1];
            self.runs[at].is_in_race &= is_near;
        }
    }

    /// Returns the possible winners, and the rounds since the last one of them came into the race.
    fn standing(&self) -> Standing {
        let racing = || (0..self.runs.len()).filter(|at| self.runs[*at].races());
        let most = racing().map(|at| self.runs[at].times.len()).max().unwrap_or(0);
        // Who came back just now cannot win yet.
        let can_win = |at: &usize| self.runs[*at].times.len() >= most.clamp(1, ROUNDS_TO_WIN);
        let contenders: Vec<usize> = racing().filter(can_win).collect();
        let first = |at: &usize| self.runs[*at].times.first().map_or(0, |(round, _)| *round);
        let since = contenders.iter().map(first).max().unwrap_or(0);
        let rounds = self.rounds.len() - since;
        let is_long = contenders.iter().any(|at| self.runs[*at].is_long(self.long));
        let block = if is_long { rounds.div_ceil(LONG_BLOCKS) } else { 1 };
        let minima = |at: &usize| -> Vec<Duration> {
            let since_then = self.runs[*at].times.iter().filter(|(round, _)| *round >= since);
            let times: Vec<Duration> = since_then.map(|(_, time)| *time).collect();
            times.chunks(block.max(1)).filter_map(|block| block.iter().copied().min()).collect()
        };
        let times: Vec<Vec<Duration>> = contenders.iter().map(minima).collect();
        let best = |block: usize| times.iter().map(|times| times[block]).min().unwrap_or_default();
        let behind_of = |times: &Vec<Duration>| -> Vec<f64> {
            times.iter().enumerate().map(|(block, time)| ratio(*time, best(block))).collect()
        };
        let behind = times.iter().map(behind_of).collect();
        Standing { contenders, rounds, is_long, times, behind }
    }

    /// Returns whether there is a winner, and nothing that could still overtake it.
    fn is_decided(&mut self) -> bool {
        // Candidates that have left the race must have been checked just now.
        let rounds = self.rounds.len();
        if !rounds.is_multiple_of(REVISIT) {
            return rounds >= ROUNDS_MAX;
        }
        let lasted = (self.clock)() - self.start;
        let standing = self.standing();
        // Without one the engine refuses every candidate.
        let Some(winner) = standing.winner(&self.runs) else { return true };
        let all_can_win = self.runs.iter().filter(|run| run.races()).count() == standing.contenders.len();
        let rounds_min = match (standing.is_long, standing.is_even(winner)) {
            (false, true) => ROUNDS_MIN,
            (false, false) => UNEVEN_ROUNDS_MIN,
            (true, true) => LONG_ROUNDS_MIN,
            (true, false) => ROUNDS_MAX,
        };
        let is_sure = standing.rounds >= rounds_min && all_can_win && standing.sure(winner) >= SURE;
        let is_doubtful = self.behind(&self.runs[0]) > DOUBTFUL && !self.runs[0].is_refused;
        let race_min = if is_doubtful { DOUBTFUL_RACE_MIN } else { RACE_MIN };
        is_sure && lasted >= race_min || rounds >= ROUNDS_MAX
    }

    /// Returns the plan of the winner; of [`Schedule::SINGLE`] if the engine refused every candidate.
    fn conclude(self) -> LayerPlan {
        let standing = self.standing();
        let winner = standing.winner(&self.runs);
        let schedule =
            winner.map_or(Schedule::SINGLE, |place| self.runs[standing.contenders[place]].schedule);
        // Fewer rounds than a winner needs are a guess.
        let is_guess = self.runs.len() > 1 && standing.rounds < ROUNDS_TO_WIN;
        let sure = winner.filter(|_| !is_guess).map_or(0.0, |place| standing.sure(place));
        let measured = |(at, run): (usize, &Run)| {
            let place = standing.contenders.iter().position(|contender| *contender == at);
            let all: Vec<Duration> = run.times.iter().map(|(_, time)| *time).collect();
            let times = place.map_or(&all, |place| &standing.times[place]);
            let min = run.shortest().filter(|_| !run.is_refused)?;
            let behind =
                place.map_or(self.behind(run), |place| median(&standing.behind[place], f64::total_cmp));
            Some(Measured {
                schedule: run.schedule,
                figure_ns: nanoseconds(median(times, Duration::cmp)),
                min_ns: nanoseconds(min),
                behind,
                blocks: times.len(),
            })
        };
        let mut measured: Vec<Measured> = self.runs.iter().enumerate().filter_map(measured).collect();
        // The chosen one comes first among equals.
        measured.sort_by(|a, b| {
            a.behind.total_cmp(&b.behind).then((a.schedule != schedule).cmp(&(b.schedule != schedule)))
        });
        let is_measured = |schedule: &Schedule| measured.iter().any(|one| one.schedule == *schedule);
        let unmeasured = self.runs.iter().map(|run| run.schedule).filter(|one| !is_measured(one)).collect();
        LayerPlan { schedule, measured, unmeasured, sure, tries: 1 }
    }
}

/// Returns the median of at least one value, the lower one if there are two.
fn median<T: Copy>(values: &[T], order: impl Fn(&T, &T) -> std::cmp::Ordering) -> T {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(order);
    sorted[(sorted.len() - 1) / 2]
}

/// Returns how many times longer one time is than the other; at least one nanosecond each.
fn ratio(time: Duration, other: Duration) -> f64 {
    nanoseconds(time).max(1) as f64 / nanoseconds(other).max(1) as f64
}

/// Puts turns in an order that is another one in each round, so that no candidate always follows the same neighbour,
/// and nothing that comes back at regular times always meets the same one.
fn shuffle(turns: &mut [usize], round: u64) {
    let mut state = round;
    for last in (1..turns.len()).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        turns.swap(last, (state >> 33) as usize % (last + 1));
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
