//! Systems whose service times are stated in a line, in virtual time.

use proctor_scaling::{
    Decision, Event, Goal, Knobs, POLICIES, ScalingPolicy, Simulated, Simulation, Surface, WindowRule,
};

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
}

impl Surface for System {
    fn mean_ms(&self, knobs: Knobs) -> f64 {
        (self.mean_ms)(knobs)
    }

    fn spread(&self, _: Knobs) -> f64 {
        self.sigma
    }
}

/// The decisions, a line each.
pub fn told(run: &Simulated) -> String {
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
    run.control.decisions().iter().map(line).collect()
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
) -> Simulated {
    Simulation {
        instance_start_ns: system.instance_start_ns,
        seed: system.seed,
        rule: WindowRule { duration_min_ns: 0, ..WindowRule::default() },
        // Nothing more happens once a policy has stayed where it is for several windows.
        calm_batches: (system.sigma == 0.0).then_some(300),
        events,
        ..Simulation::of(system, until_ns)
    }
    .run(policy, goal)
}
