//! A system that serves without ever pausing: instances that take the time that a surface says.

use std::{cmp::Reverse, collections::BinaryHeap};

use proctor_scaling::{ControlLoop, Decision, Done, Goal, Knobs, POLICIES, ScalingPolicy, WindowRule};
use rand::{SeedableRng, rngs::SmallRng};
use rand_distr::{Distribution, LogNormal};

pub const MS: u64 = 1_000_000;
pub const SECOND: u64 = 1000 * MS;

/// Mean service time in ms, and the standard deviation of its logarithm.
pub struct System {
    pub mean_ms: Box<dyn Fn(Knobs) -> f64>,
    pub sigma: f64,
    pub instance_start_ns: u64,
    pub seed: u64,
}

impl System {
    pub fn new(mean_ms: impl Fn(Knobs) -> f64 + 'static, sigma: f64) -> Self {
        Self { mean_ms: Box::new(mean_ms), sigma, instance_start_ns: 0, seed: 1 }
    }

    /// Latency below which this fraction of the batches stays, by the surface itself, in ns.
    pub fn tail_ns(&self, knobs: Knobs, z: f64) -> f64 {
        // The mean of a log-normal distribution lies sigma^2 / 2 above its median.
        (self.mean_ms)(knobs) * 1e6 * (z * self.sigma - self.sigma * self.sigma / 2.0).exp()
    }

    pub fn throughput_qps(&self, knobs: Knobs) -> f64 {
        (knobs.batch_size * knobs.instances) as f64 * 1000.0 / (self.mean_ms)(knobs)
    }

    /// The most throughput of all knobs that meet the goal, if any does.
    pub fn best(&self, goal: &Goal, z: f64) -> Option<(Knobs, f64)> {
        let all = (1..=goal.most.instances).flat_map(|instances| {
            (1..=goal.most.batch_size).map(move |batch_size| Knobs { batch_size, instances })
        });
        let good = all.filter(|knobs| self.tail_ns(*knobs, z) <= goal.target_ns as f64);
        good.map(|knobs| (knobs, self.throughput_qps(knobs))).max_by(|one, other| one.1.total_cmp(&other.1))
    }
}

/// Event in the life of a system.
#[derive(Debug, Clone, Copy)]
pub enum Event {
    Target(u64),
    /// Everything takes so many times as long as at the start.
    Slower(f64),
    Most(Knobs),
}

/// Outcome of a policy on a system.
pub struct Run {
    pub control: ControlLoop,
    /// Batches after the policy had settled for good, and those of them above the target.
    pub settled_batches: u64,
    pub settled_violations: u64,
}

impl Run {
    pub fn decisions(&self) -> &[Decision] {
        self.control.decisions()
    }

    pub fn knobs(&self) -> Knobs {
        self.control.knobs()
    }

    pub fn violation_share(&self) -> f64 {
        self.settled_violations as f64 / self.settled_batches.max(1) as f64
    }
}

/// The decisions, a line each.
pub fn told(run: &Run) -> String {
    let line = |decision: &Decision| {
        let seen = decision.seen.map_or(String::new(), |seen| {
            format!(
                "saw {:.1} ms, tail {:.1} ms, {:.0}/s at {}; ",
                seen.mean_ns / 1e6,
                seen.tail_ns as f64 / 1e6,
                seen.throughput_qps,
                seen.knobs
            )
        });
        let predicted = decision.predicted.map_or(String::new(), |predicted| {
            let qps = predicted.throughput_qps.unwrap_or_default();
            format!(", expects tail {:.1} ms, {qps:.0}/s", predicted.tail_ns / 1e6)
        });
        let second = decision.at_ns / SECOND;
        format!("\n{second} s: {seen}to {}, as it {}{predicted}", decision.knobs, decision.reason)
    };
    run.decisions().iter().map(line).collect()
}

pub fn policy(name: &str) -> Box<dyn ScalingPolicy> {
    let entry = POLICIES.iter().find(|entry| entry.name == name).expect("a policy of this name");
    (entry.make)(Default::default())
}

/// Runs a policy over a system for a time.
pub fn run(
    system: &System,
    policy: Box<dyn ScalingPolicy>,
    goal: Goal,
    until_ns: u64,
    events: &[(u64, Event)],
) -> Run {
    let mut random = SmallRng::seed_from_u64(system.seed);
    let noise = LogNormal::new(-system.sigma * system.sigma / 2.0, system.sigma).expect("a finite deviation");
    let mut control =
        ControlLoop::new(policy, goal, WindowRule { duration_min_ns: 0, ..WindowRule::default() }, 0);
    let (mut now_ns, mut slower, mut events) = (0, 1.0, events.iter().peekable());
    // Batches that run: when they end, on which instance, when they began, and how many samples they have.
    let mut running: BinaryHeap<Reverse<(u64, usize, u64, usize)>> = BinaryHeap::new();
    // Instances that serve, and when the one that starts will be ready.
    let (mut serving, mut wanted, mut ready_ns) = (1, control.knobs(), 0);
    let (mut is_in_force, mut in_force_ns) = (false, 0);
    let mut busy = vec![false; 1];
    let (mut settled_batches, mut settled_violations) = (0, 0);
    let mut decision_count = 0;
    // Nothing happens any more once a policy has stayed where it is for several windows.
    let calm_batches = if system.sigma == 0.0 { 300 } else { u64::MAX };
    while now_ns < until_ns && (settled_batches < calm_batches || events.peek().is_some()) {
        if !is_in_force && now_ns >= ready_ns {
            serving = wanted.instances;
            busy.resize(busy.len().max(serving), false);
            control.in_force(now_ns);
            (is_in_force, in_force_ns) = (true, now_ns);
        }
        for (index, is_busy) in busy.iter_mut().enumerate().take(serving) {
            if !*is_busy {
                *is_busy = true;
                let knobs = Knobs { batch_size: wanted.batch_size, instances: serving };
                let time_ms = (system.mean_ms)(knobs) * slower * noise.sample(&mut random);
                running.push(Reverse((now_ns + (time_ms * 1e6) as u64, index, now_ns, wanted.batch_size)));
            }
        }
        let Reverse((completed_ns, index, started_ns, samples)) = running.pop().expect("one instance serves");
        busy[index] = false;
        if !is_in_force && ready_ns <= completed_ns {
            now_ns = now_ns.max(ready_ns);
        }
        now_ns = now_ns.max(completed_ns);
        if control.is_settled() && is_in_force && started_ns > in_force_ns {
            settled_batches += 1;
            settled_violations += u64::from(completed_ns - started_ns > control.goal().target_ns);
        }
        let mut turned = control.batch_done(&Done { started_ns, completed_ns, samples: samples as u64 });
        while let Some((_, event)) = events.next_if(|(at_ns, _)| *at_ns <= now_ns) {
            let changed = match *event {
                Event::Target(target_ns) => control.set_target(now_ns, target_ns),
                Event::Most(most) => control.limit(now_ns, most),
                Event::Slower(factor) => {
                    slower = factor;
                    None
                }
            };
            turned = changed.or(turned);
        }
        if control.decisions().len() != decision_count {
            decision_count = control.decisions().len();
            (settled_batches, settled_violations) = (0, 0);
        }
        if let Some(knobs) = turned {
            let starts = knobs.instances.saturating_sub(serving) as u64;
            ready_ns = now_ns + starts * system.instance_start_ns;
            (wanted, is_in_force) = (knobs, false);
            serving = serving.min(knobs.instances);
        }
    }
    Run { control, settled_batches, settled_violations }
}
