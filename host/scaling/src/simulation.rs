//! A system that serves without ever pausing, in virtual time: instances that take as long as a surface says.
//!
//! Nothing of it depends on the machine: the same settings have the same outcome.

use std::{cmp::Reverse, collections::BinaryHeap, sync::LazyLock};

use crate::{
    control::ControlLoop,
    goal::Goal,
    knobs::Knobs,
    normal,
    policy::ScalingPolicy,
    settled::Settled,
    surface::Surface,
    window::{Done, WindowRule},
};

/// A system and its events.
#[derive(Clone, Copy)]
pub struct Simulation<'a> {
    /// Service times of batches.
    pub surface: &'a dyn Surface,
    /// Start time of an instance, in ns.
    pub instance_start_ns: u64,
    /// Seed of the drawn times.
    pub seed: u64,
    /// Length of windows.
    pub rule: WindowRule,
    /// End of the simulation, in ns.
    pub until_ns: u64,
    /// Number of batches after which a settled, undisturbed policy is assumed to stay.
    pub calm_batches: Option<u64>,
    /// Events, each with its time in ns, in the order of time.
    pub events: &'a [(u64, Event)],
    /// Number of equal spans of the timeline that are kept; none if 0.
    pub spans: u64,
}

/// Event in the life of a system.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Event {
    /// The latency target is this from now on, in ns.
    Target(u64),
    /// Times as long as by the surface that every batch takes that begins from now on.
    Slower(f64),
    /// Settings above these knobs become impossible.
    Most(Knobs),
}

/// A span of the timeline.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SimulatedSpan {
    /// Intended knobs at its end.
    pub knobs: Knobs,
    /// The target at its end, in ns.
    pub target_ns: u64,
    /// Latency of the tail, in ns.
    pub tail_ns: u64,
    /// Begin, in ns.
    pub from_ns: u64,
}

/// Outcome of a simulation.
pub struct Simulated {
    /// The loop at the end.
    pub control: ControlLoop,
    /// Batches since its last decision, if it has settled by it.
    pub settled: Settled,
    /// All batches since it had settled for the first time; none if it never has.
    pub since_first: Option<Settled>,
    /// The spans of the timeline.
    pub spans: Vec<SimulatedSpan>,
}

impl<'a> Simulation<'a> {
    /// Creates a system without events.
    #[must_use]
    pub fn of(surface: &'a dyn Surface, until_ns: u64) -> Self {
        Self {
            surface,
            instance_start_ns: 0,
            seed: 1,
            rule: WindowRule::default(),
            until_ns,
            calm_batches: None,
            events: &[],
            spans: 0,
        }
    }

    /// Runs it under a policy.
    #[must_use]
    pub fn run(&self, policy: Box<dyn ScalingPolicy>, goal: Goal) -> Simulated {
        let mut times = Times { surface: self.surface, state: self.seed, at: None };
        let mut timeline = Timeline::new(self, ControlLoop::new(policy, goal, self.rule, 0));
        let (mut now_ns, mut slower, mut events) = (0, 1.0, self.events.iter().peekable());
        // Batches that run: when they end, on which instance, when they began, and how many samples they have.
        let mut running: BinaryHeap<Reverse<(u64, usize, u64, usize)>> = BinaryHeap::new();
        // Instances that serve, and when the one that starts will be ready.
        let (mut serving, mut wanted, mut ready_ns) = (1, timeline.control.knobs(), 0);
        let mut in_force_ns = None;
        let mut busy = vec![false];
        let calm_batches = self.calm_batches.unwrap_or(u64::MAX);
        while now_ns < self.until_ns && (timeline.settled.batches < calm_batches || events.peek().is_some()) {
            if in_force_ns.is_none() && now_ns >= ready_ns {
                serving = wanted.instances;
                busy.resize(busy.len().max(serving), false);
                timeline.control.in_force(now_ns);
                in_force_ns = Some(now_ns);
            }
            for (index, is_busy) in busy.iter_mut().enumerate().take(serving) {
                if !*is_busy {
                    *is_busy = true;
                    let time_ns =
                        times.draw(Knobs { batch_size: wanted.batch_size, instances: serving }, slower);
                    running.push(Reverse((now_ns + time_ns, index, now_ns, wanted.batch_size)));
                }
            }
            let Reverse((completed_ns, index, started_ns, samples)) =
                running.pop().expect("one instance serves at least");
            busy[index] = false;
            if in_force_ns.is_none() && ready_ns <= completed_ns {
                now_ns = now_ns.max(ready_ns);
            }
            now_ns = now_ns.max(completed_ns);
            let done = Done { instance: index, started_ns, completed_ns, samples: samples as u64 };
            let mut turned = timeline.take(&done, in_force_ns);
            while let Some((_, event)) = events.next_if(|(at_ns, _)| *at_ns <= now_ns) {
                let changed = match *event {
                    Event::Target(target_ns) => timeline.control.set_target(now_ns, target_ns),
                    Event::Most(most) => timeline.control.limit(now_ns, most),
                    Event::Slower(factor) => {
                        slower = factor;
                        None
                    }
                };
                turned = changed.or(turned);
            }
            timeline.look_at_decisions();
            if let Some(knobs) = turned {
                let starts = knobs.instances.saturating_sub(serving) as u64;
                ready_ns = now_ns + starts * self.instance_start_ns;
                (wanted, in_force_ns) = (knobs, None);
                serving = serving.min(knobs.instances);
            }
        }
        let Timeline { control, settled, since_first, spans, .. } = timeline;
        Simulated { control, settled, since_first, spans }
    }
}

/// Draws service times.
struct Times<'a> {
    surface: &'a dyn Surface,
    /// State of SplitMix64.
    state: u64,
    /// The last knobs with their mean in ns and spread.
    at: Option<(Knobs, f64, f64)>,
}

impl Times<'_> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a time in ns below 2^52, and an index"
    )]
    fn draw(&mut self, knobs: Knobs, slower: f64) -> u64 {
        /// Standard normal values at the middles of equal shares.
        static NORMAL: LazyLock<Vec<f64>> = LazyLock::new(|| {
            let count = f64::from(1 << 14);
            (0..1 << 14).map(|at| normal::normal_quantile((f64::from(at) + 0.5) / count)).collect()
        });
        let (_, mean_ns, spread) = match self.at {
            Some(at) if at.0 == knobs => at,
            _ => (knobs, self.surface.mean_ms(knobs) * 1e6, self.surface.spread(knobs)),
        };
        self.at = Some((knobs, mean_ns, spread));
        if spread == 0.0 {
            return (mean_ns * slower) as u64;
        }
        // SplitMix64, by Steele, Lea and Flood (2014).
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ self.state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        let z = NORMAL[((mixed ^ mixed >> 31) >> 50) as usize];
        (mean_ns * slower * (z * spread - spread * spread / 2.0).exp()) as u64
    }
}

/// Record of a simulation, made while it continues.
struct Timeline {
    control: ControlLoop,
    decisions: usize,
    settled: Settled,
    since_first: Option<Settled>,
    span_ns: u64,
    spans: Vec<SimulatedSpan>,
    /// Latencies of the open span in ns.
    open: Vec<u64>,
    open_from_ns: u64,
}

impl Timeline {
    fn new(simulation: &Simulation<'_>, control: ControlLoop) -> Self {
        Self {
            control,
            decisions: 0,
            settled: Settled::default(),
            since_first: None,
            span_ns: simulation.until_ns.checked_div(simulation.spans).unwrap_or(u64::MAX),
            spans: Vec::new(),
            open: Vec::new(),
            open_from_ns: 0,
        }
    }

    /// Takes a batch, and returns new knobs if they have to change. They are in force since `in_force_ns`.
    fn take(&mut self, done: &Done, in_force_ns: Option<u64>) -> Option<Knobs> {
        let is_above = done.completed_ns - done.started_ns > self.control.goal().target_ns;
        let violations = if is_above { done.samples } else { 0 };
        if self.control.is_settled() && in_force_ns.is_some_and(|since_ns| done.started_ns > since_ns) {
            self.settled.push(done, violations);
        }
        if let Some(since) = self.since_first.as_mut().filter(|since| done.started_ns > since.since_ns) {
            since.push(done, violations);
        }
        if self.span_ns < u64::MAX {
            if done.completed_ns >= self.open_from_ns.saturating_add(self.span_ns) {
                self.close(done.completed_ns);
            }
            self.open.push(done.completed_ns - done.started_ns);
        }
        let turned = self.control.batch_done(done);
        if self.control.is_settled() && self.since_first.is_none() {
            self.since_first = Some(Settled::begin(done.completed_ns));
        }
        turned
    }

    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rank"
    )]
    fn close(&mut self, now_ns: u64) {
        self.open.sort_unstable();
        let goal = *self.control.goal();
        let rank = (self.open.len() as f64 * goal.tail).ceil() as usize;
        if let Some(tail_ns) = self.open.get(rank.saturating_sub(1)) {
            self.spans.push(SimulatedSpan {
                knobs: self.control.knobs(),
                target_ns: goal.target_ns,
                tail_ns: *tail_ns,
                from_ns: self.open_from_ns,
            });
        }
        self.open.clear();
        self.open_from_ns += (now_ns - self.open_from_ns) / self.span_ns * self.span_ns;
    }

    fn look_at_decisions(&mut self) {
        if let Some(last) = self.control.decisions().get(self.decisions..).and_then(<[_]>::last) {
            self.settled = Settled::begin(last.at_ns);
            self.decisions = self.control.decisions().len();
        }
    }
}
