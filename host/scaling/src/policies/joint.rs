//! `joint`: batch size and instances together, by a model of the latency that every window improves.
//!
//! 1. It measures one sample on one instance, then a batch and several instances for which even a latency
//!    proportional to their number would meet the target, then batches on several instances.
//! 2. A [`Model`] is fitted to all windows. The best is the measured setting with the most throughput whose tail, plus
//!    [`MARGIN`] standard deviations, is within the target. The next setting has the greatest gain over the best, as a
//!    logarithm and with [`CURIOSITY`] standard deviations of hope, times the chance that its tail is within the
//!    target. While there is no best, it has the most throughput of the settings that the model expects to be within
//!    the target with that margin.
//! 3. That repeats until no gain is worth a move, or until the moves are spent. Then the knobs go to the best, and
//!    stay.
//!
//! If samples arrive at a rate, a setting that serves all of them within the target is enough: it stays at
//! the first such setting until it fails by a wider limit ([`Seen::still_serves_all`]).
//!
//! It stays until the share of violations since then exceeds the tail's allowance by more than chance, or the
//! mean latency changes by more than [`DRIFT`], the usual variation, and chance, or until several windows
//! that it took for infeasible are within the target. In the first case the setting is remembered as bad; in
//! the second all observations are scaled by how much it has become slower or faster. An additional instance
//! has to gain more the longer instances take to start.

mod gaussian;
mod model;

use std::iter;

use crate::{
    goal::Goal,
    knobs::Knobs,
    normal,
    policy::{Move, Predicted, ScalingPolicy},
    reason::Reason,
    seen::Seen,
};

use model::{Estimate, Model, Point};

/// The policy for both knobs.
#[derive(Debug)]
pub struct Joint {
    points: Vec<Point>,
    /// Number of moves since the start, or since the goal or the system changed.
    moves: usize,
    now: Option<Knobs>,
    rest: Option<Rest>,
    /// True if it has settled because all arrivals are served.
    serves_all: bool,
    /// True if it has settled because nothing is within the target.
    is_infeasible: bool,
    /// Change of the mean latency that indicates another system, as a natural logarithm.
    tolerance: f64,
}

impl Default for Joint {
    fn default() -> Self {
        Self {
            points: Vec::new(),
            moves: 0,
            now: None,
            rest: None,
            serves_all: false,
            is_infeasible: false,
            tolerance: DRIFT,
        }
    }
}

/// Sums over the windows since the policy has settled.
#[derive(Debug, Clone, Copy)]
struct Rest {
    /// Mean latency by sample, in ns, over the windows without drift.
    mean_ns: f64,
    /// Number of batches in that mean.
    mean_batches: f64,
    batches: u64,
    samples: f64,
    violations: f64,
    doubt: Option<Doubt>,
}

/// Cause for doubt that the last window of a rest gave.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Doubt {
    Violations,
    Drift,
    /// The setting that was found to be above the target is within it.
    Feasible,
}

/// Minimum factor by which a setting has to be expected better to go there.
const GAIN_MIN: f64 = 1.01;

/// Maximum number of moves in which the axes, and the settings between them, are explored first.
const EXPLORING_MAX: usize = 4;

/// Moves after which the best is taken, so that there are fewer than ten decisions.
const MOVES_MAX: usize = 8;

/// Initial change of the mean latency that indicates another system, as a natural logarithm. Each time that it has led
/// nowhere else it grows by half: on a machine that others use the mean changes without end.
const DRIFT: f64 = 0.12;

/// Standard deviations by which the mean latencies of two windows differ if the system is another.
const CHANCE: f64 = 4.0;

/// Maximum tolerated change: half as slow again.
const DRIFT_MAX: f64 = 0.4;

/// Time over which an instance has to pay for its start, in ns: a minute.
const HORIZON_NS: f64 = 60e9;

/// Standard deviations by which the tail of a setting has to lie below the target to stay there.
const MARGIN: f64 = 0.7;

/// Minimum chance of being within the target at which an unmeasured setting is tried.
const CHANCE_MIN: f64 = 0.2;

/// Minimum logarithm of a gain, times its chance, at which a setting is tried.
const PROMISE_MIN: f64 = 0.003;

/// Standard deviations by which the throughput of an unmeasured setting is hoped to exceed the estimate.
const CURIOSITY: f64 = 1.0;

impl Joint {
    /// Continues from all observations.
    fn go_on(&mut self, goal: &Goal, reason: Option<Reason>) -> Move {
        let to = self.choose(goal);
        self.is_infeasible = to.reason == Reason::Infeasible;
        self.moves += 1;
        self.now = Some(to.knobs);
        Move { reason: reason.unwrap_or(to.reason), ..to }
    }

    fn choose(&self, goal: &Goal) -> Move {
        let least = goal.least();
        let Some(first) = self.point(least) else { return Move::to(least, Reason::Start) };
        let model = Model::fit(&self.points, goal);
        let target_ns = to_f64(goal.target_ns);
        let best = self.best(goal, &model);
        if let Some(best) = best.filter(|_| self.moves < EXPLORING_MAX) {
            let unseen = self
                .unseen_axis(goal, &model, first.knobs)
                .or_else(|| self.unseen_inside(goal, &model, &best));
            if let Some(knobs) = unseen {
                return Move::to(knobs, Reason::Explores).predicting(Some(predicted(&model.at(knobs))));
            }
        }
        let Some(best) = best else {
            // Nothing observed is within the target. Try the setting that the model expects to be; the minimum at last.
            return match self.expected(goal, &model).filter(|_| self.moves < MOVES_MAX) {
                Some((knobs, estimate)) => {
                    Move::to(knobs, Reason::Above).predicting(Some(predicted(&estimate)))
                }
                None if first.is_bad || model.at(least).tail_ns > target_ns => {
                    Move::settled(least, Reason::Infeasible)
                }
                None => Move::settled(least, Reason::Above),
            };
        };
        if self.moves >= MOVES_MAX {
            return Move::settled(best.knobs, Reason::MovesSpent);
        }
        match self.promising(goal, &model, &best) {
            Some((knobs, estimate)) => {
                let gain = estimate.hoped_qps() / best.throughput_qps();
                Move::to(knobs, Reason::Promising { gain }).predicting(Some(predicted(&estimate)))
            }
            None => Move::settled(best.knobs, Reason::NothingBetter)
                .predicting(Some(predicted(&model.at(best.knobs)))),
        }
    }

    /// Returns a larger batch, or more instances, if none was measured: as many as fit into the target even if the
    /// latency is proportional to their number.
    fn unseen_axis(&self, goal: &Goal, model: &Model, least: Knobs) -> Option<Knobs> {
        let most = goal.greatest();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 2 to 16")]
        let fits = (to_f64(goal.target_ns) / model.at(least).tail_ns).clamp(2.0, 16.0) as usize;
        let batch = Knobs { batch_size: fits * least.batch_size, ..least }.within(most);
        let instances = Knobs { instances: (fits * least.instances).min(8), ..least }.within(most);
        let has = |is_there: &dyn Fn(Knobs) -> bool| self.points.iter().any(|point| is_there(point.knobs));
        if batch != least && !has(&|knobs| knobs.batch_size > least.batch_size) {
            return Some(batch);
        }
        (instances != least && !has(&|knobs| knobs.instances > least.instances)).then_some(instances)
    }

    /// Returns a setting with larger batches and more instances, if none was measured: the axes do not show
    /// how both interact. They do best where the latency is the greater one of both alone; half way, by
    /// ratio, from there to the model's expectation the target has to be met.
    fn unseen_inside(&self, goal: &Goal, model: &Model, best: &Point) -> Option<Knobs> {
        let (least, most) = (goal.least(), goal.greatest());
        let is_inside =
            |knobs: Knobs| knobs.batch_size > least.batch_size && knobs.instances > least.instances;
        if self.points.iter().any(|point| is_inside(point.knobs)) {
            return None;
        }
        let inside = batch_sizes(least.batch_size + 1, most.batch_size).flat_map(|batch_size| {
            (least.instances + 1..=most.instances).map(move |instances| Knobs { batch_size, instances })
        });
        let hoped = inside.filter_map(|knobs| {
            let batch = model.at(Knobs { instances: least.instances, ..knobs });
            let instances = model.at(Knobs { batch_size: least.batch_size, ..knobs });
            let tail_ns = (batch.tail_ns.max(instances.tail_ns) * model.at(knobs).tail_ns).sqrt();
            let of_batch = batch.throughput_qps * to_f64((knobs.instances / least.instances) as u64);
            let of_instances =
                instances.throughput_qps * to_f64((knobs.batch_size / least.batch_size) as u64);
            let qps = of_batch.min(of_instances);
            (tail_ns <= to_f64(goal.target_ns) && qps > self.needed(goal, best, knobs))
                .then_some((knobs, qps))
        });
        hoped.max_by(|one, other| one.1.total_cmp(&other.1)).map(|(knobs, _)| knobs)
    }

    /// Returns the maximum throughput that was measured within the target.
    fn best(&self, goal: &Goal, model: &Model) -> Option<Point> {
        let fits = |point: &&Point| {
            let Estimate { tail_ns, deviation, .. } = model.at(point.knobs);
            !point.is_bad
                && point.knobs == point.knobs.within(goal.greatest())
                && tail_ns * (MARGIN * deviation).exp() <= to_f64(goal.target_ns)
        };
        let fitting = self.points.iter().filter(fits);
        fitting.max_by(|one, other| one.throughput_qps().total_cmp(&other.throughput_qps())).copied()
    }

    /// Returns the maximum throughput that the model expects within the target at an unmeasured setting.
    fn expected(&self, goal: &Goal, model: &Model) -> Option<(Knobs, Estimate)> {
        let target_ns = to_f64(goal.target_ns);
        self.most_of_unseen(goal, model, |_, estimate| {
            let fits = estimate.tail_ns * (MARGIN * estimate.deviation).exp() <= target_ns;
            fits.then(|| estimate.hoped_qps())
        })
    }

    /// Returns the greatest gain over the best, as a logarithm, times the chance to be within the target, where nothing
    /// was measured yet; if it is worth a move.
    fn promising(&self, goal: &Goal, model: &Model, best: &Point) -> Option<(Knobs, Estimate)> {
        self.most_of_unseen(goal, model, |knobs, estimate| {
            let gain = (estimate.hoped_qps() - self.needed(goal, best, knobs)) / best.throughput_qps();
            let chance = estimate.chance_within(to_f64(goal.target_ns));
            // Of a great gain without much of a chance the logarithm makes less than of a certain one.
            let promise = gain.max(0.0).ln_1p() * chance;
            (chance >= CHANCE_MIN && promise >= PROMISE_MIN).then_some(promise)
        })
    }

    /// Returns the setting with the maximum of a property of its estimate, among unmeasured settings not
    /// beyond a bad one.
    fn most_of_unseen(
        &self,
        goal: &Goal,
        model: &Model,
        value: impl Fn(Knobs, &Estimate) -> Option<f64>,
    ) -> Option<(Knobs, Estimate)> {
        let (least, most) = (goal.least(), goal.greatest());
        let mut best: Option<(f64, Knobs, Estimate)> = None;
        for instances in least.instances..=most.instances {
            for batch_size in batch_sizes(least.batch_size, most.batch_size) {
                let knobs = Knobs { batch_size, instances };
                if self.point(knobs).is_some() || self.is_beyond_bad(knobs) {
                    continue;
                }
                let estimate = model.at(knobs);
                if let Some(value) = value(knobs, &estimate)
                    && best.is_none_or(|(best, ..)| value > best)
                {
                    best = Some((value, knobs, estimate));
                }
            }
        }
        best.map(|(_, knobs, estimate)| (knobs, estimate))
    }

    /// Returns whether both knobs are at or above a bad setting's: latency grows with both.
    fn is_beyond_bad(&self, knobs: Knobs) -> bool {
        let is_beyond =
            |bad: &Point| knobs.batch_size >= bad.knobs.batch_size && knobs.instances >= bad.knobs.instances;
        self.points.iter().any(|point| point.is_bad && is_beyond(point))
    }

    /// Returns the throughput that is worth the move, with the instances that have to start for it, and for the way
    /// back.
    fn needed(&self, goal: &Goal, best: &Point, knobs: Knobs) -> f64 {
        let present = self.now.map_or(1, |now| now.instances);
        let there = knobs.instances.saturating_sub(present);
        let and_back = best.knobs.instances.saturating_sub(knobs.instances);
        let starts_ns = to_f64((there + and_back) as u64) * to_f64(goal.instance_start_ns);
        best.throughput_qps() * (GAIN_MIN + starts_ns / HORIZON_NS)
    }

    fn point(&self, knobs: Knobs) -> Option<&Point> {
        self.points.iter().find(|point| point.knobs == knobs)
    }

    fn keep(&mut self, point: Point) {
        self.points.retain(|old| old.knobs != point.knobs);
        self.points.push(point);
    }
}

impl ScalingPolicy for Joint {
    fn begin(&mut self, goal: &Goal) -> Move {
        *self = Self::default();
        self.go_on(goal, None)
    }

    fn decide(&mut self, goal: &Goal, seen: &Seen) -> Move {
        let rest = self.rest.take();
        let had_served = self.serves_all;
        self.serves_all = seen.serves_all(goal);
        if self.serves_all {
            self.keep(Point::of(goal, seen));
            self.now = Some(seen.knobs);
            return Move::settled(seen.knobs, Reason::ServesAll);
        }
        if had_served {
            // The rate has risen, or the system has become slower.
            self.moves = 0;
        }
        match rest.and_then(|rest| Some((rest.doubt?, rest.mean_ns))) {
            Some((Doubt::Drift, before_ns)) => {
                let ln_factor = (seen.mean_ns / before_ns).ln();
                self.points.iter_mut().for_each(|point| point.slow_down(ln_factor));
                self.moves = 0;
                self.keep(Point::of(goal, seen));
                let to = self.go_on(goal, Some(Reason::Changed));
                if to.knobs == seen.knobs {
                    self.tolerance = (self.tolerance * 1.5).min(DRIFT_MAX);
                }
                return to;
            }
            Some((Doubt::Violations, _)) => {
                self.points
                    .iter_mut()
                    .filter(|point| point.knobs == seen.knobs)
                    .for_each(|point| point.is_bad = true);
                self.moves = self.moves.min(MOVES_MAX - 2);
            }
            Some((Doubt::Feasible, _)) => {
                self.points.clear();
                self.moves = 0;
                self.keep(Point::of(goal, seen));
            }
            None => self.keep(Point::of(goal, seen)),
        }
        self.go_on(goal, None)
    }

    fn is_content(&mut self, goal: &Goal, seen: &Seen) -> bool {
        if self.serves_all {
            // Batches are as large as the rate makes them, so that another latency means no other system.
            return seen.still_serves_all(goal);
        }
        let tolerance = self.tolerance;
        let rest = self.rest.get_or_insert(Rest {
            mean_ns: seen.mean_ns,
            mean_batches: 0.0,
            batches: 0,
            samples: 0.0,
            violations: 0.0,
            doubt: None,
        });
        rest.batches += seen.batches;
        rest.samples += to_f64(seen.samples);
        rest.violations += to_f64(seen.violations);
        let batches = to_f64(seen.batches);
        let share = rest.violations / rest.samples;
        // Two means differ by chance alone, too.
        let chance =
            CHANCE * seen.spread(goal.tail) * (1.0 / batches + 1.0 / rest.mean_batches.max(batches)).sqrt();
        rest.doubt = if (seen.mean_ns / rest.mean_ns).ln().abs() > tolerance.max(chance) {
            Some(Doubt::Drift)
        } else if goal.is_exceeded(rest.batches, share) {
            Some(Doubt::Violations)
        } else if self.is_infeasible && rest.batches > seen.batches && share <= 1.0 - goal.tail {
            // Several windows are within the target: the one that decided was off by chance, or the system was cold.
            Some(Doubt::Feasible)
        } else {
            None
        };
        if rest.doubt != Some(Doubt::Drift) {
            rest.mean_ns =
                (rest.mean_ns * rest.mean_batches + seen.mean_ns * batches) / (rest.mean_batches + batches);
            rest.mean_batches += batches;
        }
        let cannot_go_lower = seen.knobs == goal.least();
        rest.doubt.is_none() || rest.doubt == Some(Doubt::Violations) && cannot_go_lower
    }

    fn goal_changed(&mut self, goal: &Goal, seen: Option<&Seen>) -> Move {
        if let Some(seen) = seen {
            self.keep(Point::of(goal, seen));
        }
        self.points.iter_mut().for_each(|point| point.is_bad = false);
        (self.moves, self.rest, self.serves_all) = (0, None, false);
        self.go_on(goal, None)
    }
}

impl Estimate {
    /// Returns the throughput if the setting is better than expected by as much as the model is uncertain.
    fn hoped_qps(&self) -> f64 {
        self.throughput_qps * (CURIOSITY * self.mean_deviation).exp()
    }

    /// Returns the chance that the tail is within the target.
    fn chance_within(&self, target_ns: f64) -> f64 {
        /// Minimum credible deviation, so that a certain model does not divide by 0.
        const DEVIATION_MIN: f64 = 1e-3;
        normal::share_below((target_ns / self.tail_ns).ln() / self.deviation.max(DEVIATION_MIN))
    }
}

/// Returns the batch sizes to choose from: all up to 128, and then in steps of less than a hundredth.
fn batch_sizes(least: usize, most: usize) -> impl Iterator<Item = usize> {
    iter::successors(Some(least), |size| Some(size + 1 + size / 128)).take_while(move |size| *size <= most)
}

fn predicted(estimate: &Estimate) -> Predicted {
    Predicted { tail_ns: estimate.tail_ns, throughput_qps: Some(estimate.throughput_qps) }
}

#[expect(clippy::cast_precision_loss, reason = "below 2^52")]
fn to_f64(number: u64) -> f64 {
    number as f64
}
