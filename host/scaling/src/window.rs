//! Windows: the batches that a decision is made of.

use std::mem;

use serde::Serialize;

use crate::{goal::Goal, knobs::Knobs, policy::Look, seen::Seen};

/// Length of windows.
///
/// A window begins when its knobs are in force, and leaves out the first batch of each instance, which ran alongside
/// batches of other knobs or found everything cold. One that looks at the tail ends early as soon as twice as many
/// batches were above the target as a whole one may have, and continues, up to [`tail_reach`](Self::tail_reach) times
/// its batches, for as long as chance leaves open on which side of the target the tail lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct WindowRule {
    /// Number of batches of a window that observes the throughput alone, for each instance.
    pub profile_batches: u64,
    /// Average number of batches above the tail in a window that observes it: 4 make 80 batches at p95 and 400 at p99.
    pub tail_batches: u64,
    /// Maximum number of batches of a window that observes the tail, as a multiple of its usual number, at least 1.
    pub tail_reach: u64,
    /// True if there is always another sample. If not, the possible throughput of a setting is derived from the time
    /// that its batches took.
    pub is_saturated: bool,
    /// Minimum length of a window, in ns: in a shorter one other work of the machine decides.
    pub duration_min_ns: u64,
    /// Length after which a window ends with the batches that it has, if any, in ns.
    pub duration_max_ns: u64,
}

impl Default for WindowRule {
    fn default() -> Self {
        Self {
            profile_batches: 10,
            tail_batches: 4,
            tail_reach: 4,
            is_saturated: true,
            duration_min_ns: 200_000_000,
            duration_max_ns: 30_000_000_000,
        }
    }
}

impl WindowRule {
    /// Minimum number of batches for a conclusion.
    pub(crate) const BATCHES_MIN: u64 = 8;

    /// Returns the batches that a window takes.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "small"
    )]
    pub(crate) fn batches(&self, goal: &Goal, look: Look, instances: usize) -> u64 {
        let of_look = match look {
            Look::Throughput => self.profile_batches.saturating_mul(instances as u64),
            Look::Closer => self.profile_batches.saturating_mul(10 * instances as u64),
            Look::Tail => (self.tail_batches as f64 / (1.0 - goal.tail)).round() as u64,
        };
        of_look.max(Self::BATCHES_MIN).max(2 * instances as u64)
    }
}

/// A batch that is done.
#[derive(Debug, Clone, Copy)]
pub struct Done {
    /// Number of the instance.
    pub instance: usize,
    /// Begin, in ns.
    pub started_ns: u64,
    /// Instant at which its samples were completed, in ns of the same clock.
    pub completed_ns: u64,
    /// Number of its samples.
    pub samples: u64,
}

/// The batches since the knobs are in force.
#[derive(Debug)]
pub(crate) struct Window {
    rule: WindowRule,
    knobs: Knobs,
    look: Look,
    /// Instant at which the knobs came into force, in ns; `None` until they do.
    in_force_ns: Option<u64>,
    counts: Counts,
    /// Whether each instance, by number, has ended a batch of these knobs.
    has_begun: Vec<bool>,
    /// Pace of each instance, by number.
    paces: Vec<Pace>,
    /// Latencies in ns, each with the number of samples that it holds for.
    latencies: Vec<(u64, u64)>,
}

#[derive(Debug, Default)]
struct Counts {
    batches: u64,
    samples: u64,
    /// Number of samples that came with the first completion: the time before it does not count as service.
    samples_of_first: u64,
    /// Number of batches with a sample above the target.
    bad_batches: u64,
    /// Time that all batches took together, in ns.
    busy_ns: u64,
    first_completed_ns: u64,
    last_completed_ns: u64,
}

/// Pace of one instance: samples that it has completed since its first completion, and how long that took.
#[derive(Debug, Clone, Copy, Default)]
struct Pace {
    first_completed_ns: Option<u64>,
    samples: u64,
    duration_ns: u64,
}

impl Pace {
    fn push(&mut self, done: &Done) {
        match self.first_completed_ns {
            None => self.first_completed_ns = Some(done.completed_ns),
            Some(first_ns) => {
                self.samples += done.samples;
                self.duration_ns = done.completed_ns.saturating_sub(first_ns);
            }
        }
    }
}

impl Counts {
    /// Returns whether more or fewer batches were above the target than chance allows a tail that is just within it.
    #[expect(clippy::cast_precision_loss, reason = "counts below 2^52")]
    fn tell_the_side(&self, goal: &Goal) -> bool {
        /// Standard deviations, by which a whole window without any batch above the target is clear, and one with
        /// twice its share.
        const CHANCE: f64 = 1.9;
        let allowed = self.batches as f64 * (1.0 - goal.tail);
        (self.bad_batches as f64 - allowed).abs() >= CHANCE * (allowed * goal.tail).sqrt()
    }
}

impl Window {
    /// Initial capacity for latencies.
    const ROOM: usize = 1 << 14;
    /// Batches after which a window is over, however short it was: the memory of a longer one has no use.
    const BATCHES_MAX: usize = 1 << 22;

    pub(crate) fn new(rule: WindowRule) -> Self {
        Self {
            rule,
            knobs: Knobs::LEAST,
            look: Look::Tail,
            in_force_ns: None,
            counts: Counts::default(),
            has_begun: Vec::new(),
            paces: Vec::new(),
            latencies: Vec::with_capacity(Self::ROOM),
        }
    }

    /// Restarts, for knobs that are about to come into force.
    pub(crate) fn wait_for(&mut self, knobs: Knobs, look: Look) {
        (self.knobs, self.look, self.in_force_ns) = (knobs, look, None);
    }

    /// Notes that the knobs are in force from this instant on.
    pub(crate) fn in_force(&mut self, now_ns: u64) {
        self.in_force_ns = Some(now_ns);
        self.has_begun.clear();
        self.clear();
    }

    /// Restarts with the same knobs. Leaves nothing out of instances that have ended a batch of them.
    pub(crate) fn go_on(&mut self, look: Look) {
        self.look = look;
        self.clear();
    }

    fn clear(&mut self) {
        self.counts = Counts::default();
        self.paces.clear();
        self.latencies.clear();
    }

    /// Takes a batch, and returns whether the window is over.
    pub(crate) fn push(&mut self, goal: &Goal, done: &Done) -> bool {
        if self.in_force_ns.is_none_or(|since_ns| done.started_ns < since_ns) {
            return false;
        }
        if self.has_begun.len() <= done.instance {
            self.has_begun.resize(done.instance + 1, false);
        }
        // It ran alongside batches of other knobs, or found everything cold.
        if !mem::replace(&mut self.has_begun[done.instance], true) {
            return false;
        }
        let counts = &mut self.counts;
        if counts.batches == 0 {
            counts.first_completed_ns = done.completed_ns;
        }
        if done.completed_ns == counts.first_completed_ns {
            counts.samples_of_first += done.samples;
        }
        counts.batches += 1;
        counts.samples += done.samples;
        counts.last_completed_ns = counts.last_completed_ns.max(done.completed_ns);
        let service_ns = done.completed_ns.saturating_sub(done.started_ns);
        counts.bad_batches += u64::from(service_ns > goal.target_ns);
        counts.busy_ns += service_ns;
        self.latencies.push((service_ns, done.samples));
        if self.paces.len() <= done.instance {
            self.paces.resize(done.instance + 1, Pace::default());
        }
        self.paces[done.instance].push(done);
        let wanted = self.rule.batches(goal, self.look, self.knobs.instances);
        let lasted_ns = counts.last_completed_ns - counts.first_completed_ns;
        let is_long = lasted_ns >= self.rule.duration_max_ns && counts.batches >= WindowRule::BATCHES_MIN;
        let is_tail = self.look == Look::Tail;
        // Twice as many as a whole window may have: later batches would not change the conclusion.
        let is_hopeless =
            is_tail && counts.batches < wanted && counts.bad_batches >= 2 * self.rule.tail_batches;
        let is_clear =
            !is_tail || counts.batches >= wanted * self.rule.tail_reach || counts.tell_the_side(goal);
        let is_whole = counts.batches >= wanted && is_clear;
        let is_enough = is_whole || is_long || is_hopeless && counts.batches >= WindowRule::BATCHES_MIN;
        let is_full = self.latencies.len() >= Self::BATCHES_MAX;
        is_full || is_enough && lasted_ns >= self.rule.duration_min_ns
    }

    /// Returns the figures of the batches so far, at least one.
    #[expect(clippy::cast_precision_loss, reason = "counts and times below 2^52")]
    pub(crate) fn seen(&mut self, goal: &Goal) -> Seen {
        let Counts {
            batches, samples, samples_of_first, busy_ns, first_completed_ns, last_completed_ns, ..
        } = self.counts;
        let duration_ns = last_completed_ns - first_completed_ns;
        let instances = self.knobs.instances as u64;
        // Instance by instance: where all began together, there is a whole round of batches in the first completions.
        let paced: u64 = self.paces.iter().map(|pace| pace.samples).sum();
        let paced_ns: u64 = self.paces.iter().map(|pace| pace.duration_ns).sum();
        let total_ns: f64 =
            self.latencies.iter().map(|(latency_ns, count)| *latency_ns as f64 * *count as f64).sum();
        let above = self.latencies.iter().filter(|(latency_ns, _)| *latency_ns > goal.target_ns);
        let (counted, counted_ns) = match self.rule.is_saturated && paced_ns > 0 {
            true => (paced, paced_ns),
            false => (samples, busy_ns),
        };
        let served_qps = (samples - samples_of_first) as f64 * 1e9 / duration_ns.max(1) as f64;
        Seen {
            served_qps: (!self.rule.is_saturated).then_some(served_qps),
            knobs: self.knobs,
            batches,
            samples,
            violations: above.map(|(_, count)| count).sum(),
            duration_ns,
            mean_ns: total_ns / samples.max(1) as f64,
            tail_ns: tail_ns(&mut self.latencies, samples, goal.tail),
            throughput_qps: (counted * instances) as f64 * 1e9 / counted_ns.max(1) as f64,
        }
    }
}

/// Returns the latency that no more than the share `1 - quantile` of the samples exceeds.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count"
)]
fn tail_ns(latencies: &mut [(u64, u64)], samples: u64, quantile: f64) -> u64 {
    latencies.sort_unstable_by_key(|(latency_ns, _)| std::cmp::Reverse(*latency_ns));
    // 0.05 of 80 is 4.000000000000004 in binary.
    let mut may_exceed = (samples as f64 * (1.0 - quantile) + 1e-6).floor() as u64;
    for (latency_ns, count) in latencies {
        if *count > may_exceed {
            return *latency_ns;
        }
        may_exceed -= *count;
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::goal::Approach;

    const GOAL: Goal = Goal {
        target_ns: 1000,
        tail: 0.95,
        most: Knobs { batch_size: 8, instances: 4 },
        approach: Approach::Auto,
        base: Knobs::LEAST,
        instance_start_ns: 0,
    };

    /// The default but for the shortest time: batches here take nanoseconds.
    fn rule() -> WindowRule {
        WindowRule { duration_min_ns: 0, ..WindowRule::default() }
    }

    fn batch(started_ns: u64, completed_ns: u64) -> Done {
        Done { instance: 0, started_ns, completed_ns, samples: 2 }
    }

    #[test]
    fn batches_of_other_knobs_are_left_out() {
        let mut window = Window::new(WindowRule { profile_batches: 4, ..rule() });
        let knobs = Knobs { batch_size: 2, instances: 2 };
        window.wait_for(knobs, Look::Throughput);
        assert!(!window.push(&GOAL, &batch(0, 50)));
        window.in_force(100);
        // One that began before, and the first of each instance, however late it comes.
        let of_second = |started_ns, completed_ns| Done { instance: 1, ..batch(started_ns, completed_ns) };
        for done in [batch(99, 5000), batch(100, 150), of_second(100, 5000)] {
            assert!(!window.push(&GOAL, &done));
        }
        let ends: Vec<bool> = (1..=8).map(|i| window.push(&GOAL, &batch(i * 100, i * 100 + 100))).collect();
        assert_eq!(ends.iter().position(|over| *over), Some(7));
        let seen = window.seen(&GOAL);
        assert_eq!((seen.knobs, seen.batches, seen.samples, seen.violations), (knobs, 8, 16, 0));
        assert_eq!((seen.mean_ns, seen.tail_ns, seen.duration_ns), (100.0, 100, 700));
        // One of the two has completed 14 samples in 700 ns, and nothing is known of the other.
        assert!((seen.throughput_qps - 4e7).abs() < 1.0);
    }

    #[test]
    fn a_tail_window_has_four_batches_above_the_tail_on_average() {
        let rule = rule();
        assert_eq!(rule.batches(&GOAL, Look::Tail, 1), 80);
        assert_eq!(rule.batches(&Goal { tail: 0.99, ..GOAL }, Look::Tail, 1), 400);
        assert_eq!(rule.batches(&GOAL, Look::Throughput, 3), 30);
    }

    #[test]
    fn a_window_goes_on_while_the_tail_may_lie_on_either_side_of_the_target() {
        // Of `every` batches one is above the target; of 0 none.
        let ends_after = |every: u64| {
            let mut window = Window::new(rule());
            window.wait_for(Knobs::LEAST, Look::Tail);
            window.in_force(0);
            assert!(!window.push(&GOAL, &batch(0, 1)));
            window.go_on(Look::Tail);
            let service_ns = |i: u64| if i.checked_rem(every) == Some(0) { 2000 } else { 100 };
            (1..).find(|i| window.push(&GOAL, &batch(i * 10_000, i * 10_000 + service_ns(*i))))
        };
        assert_eq!(ends_after(0), Some(80), "far below");
        assert_eq!(ends_after(20), Some(320), "at the target");
        let below = ends_after(50).unwrap();
        assert!((100..320).contains(&below), "{below}");
        // Eight of the first forty: as many as a whole window may not have.
        assert_eq!(ends_after(5), Some(40), "far above");
    }

    #[test]
    fn the_tail_leaves_out_the_share_that_may_exceed_it() {
        let mut latencies: Vec<_> = (1..=80).map(|latency_ns| (latency_ns, 1)).collect();
        assert_eq!(tail_ns(&mut latencies, 80, 0.95), 76);
        // Batches of 10 samples: of 100 samples 5 may exceed it, which no batch does alone.
        let mut latencies: Vec<_> = (1..=10).map(|latency_ns| (latency_ns, 10)).collect();
        assert_eq!(tail_ns(&mut latencies, 100, 0.95), 10);
        assert_eq!(tail_ns(&mut latencies, 100, 0.9), 9);
    }

    #[test]
    fn a_window_is_over_after_its_longest_time() {
        let mut window = Window::new(WindowRule { duration_max_ns: 500, ..rule() });
        window.wait_for(Knobs::LEAST, Look::Tail);
        window.in_force(0);
        window.push(&GOAL, &batch(0, 100));
        let ends: Vec<bool> = (1..=8).map(|i| window.push(&GOAL, &batch(i * 100, i * 100 + 100))).collect();
        assert_eq!(ends.iter().position(|over| *over), Some(7), "8 batches at least");
    }

    #[test]
    fn a_window_is_not_over_before_its_shortest_time() {
        let mut window = Window::new(WindowRule { duration_min_ns: 9000, ..rule() });
        window.wait_for(Knobs::LEAST, Look::Tail);
        window.in_force(0);
        window.push(&GOAL, &batch(0, 10));
        let ends: Vec<bool> = (1..=1000).map(|i| window.push(&GOAL, &batch(i * 10, i * 10 + 10))).collect();
        assert_eq!(ends.iter().position(|over| *over), Some(900));
    }

    #[test]
    fn without_saturation_throughput_is_that_of_instances_which_never_pause() {
        let mut window = Window::new(WindowRule { is_saturated: false, ..rule() });
        window.wait_for(Knobs { batch_size: 2, instances: 4 }, Look::Tail);
        window.in_force(0);
        window.go_on(Look::Tail);
        // Batches of two samples that take 100 ns each, with long pauses.
        (1..=8).for_each(|i| _ = window.push(&GOAL, &batch(i * 10_000, i * 10_000 + 100)));
        let seen = window.seen(&GOAL);
        assert!((seen.throughput_qps - 8e7).abs() < 1.0);
        // 14 samples in 70 us after the first completion.
        assert!((seen.served_qps.unwrap() - 2e5).abs() < 1e-6);
        assert!(seen.serves_all(&GOAL));
    }

    #[test]
    fn throughput_is_that_of_the_instances_wherever_in_a_round_they_stand() {
        const INSTANCES: usize = 10;
        for apart_ns in [0, 1, 40, 100] {
            let mut window = Window::new(rule());
            window.wait_for(Knobs { batch_size: 2, instances: INSTANCES }, Look::Tail);
            window.in_force(0);
            let batches = (0..9).flat_map(|round| {
                (0..INSTANCES).map(move |instance| {
                    let started_ns = round * 1000 + instance as u64 * apart_ns;
                    Done { instance, ..batch(started_ns, started_ns + 1000) }
                })
            });
            let ends: Vec<bool> = batches.map(|done| window.push(&GOAL, &done)).collect();
            // The first batch of each is left out.
            assert_eq!(ends.iter().position(|over| *over), Some(89));
            // Two samples in 1000 ns each.
            assert!((window.seen(&GOAL).throughput_qps - 2e7).abs() < 1.0, "{apart_ns}");
        }
    }
}
