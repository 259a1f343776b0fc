//! The scheduler in virtual time against traces worked out by hand.

use std::sync::{Arc, Mutex};

use crate::support::{failure, instance, samples};
use proctor_loadgen::{Clock, SystemUnderTest, VirtualClock, Wake};
use proctor_scheduler::{Instance, SchedulerConfig, SimulatedScheduler};
use proctor_vocabulary::{CompletionSink, QuerySample, QuerySampleResponse};

/// Remembers when each sample was completed, and whether it was computed.
struct Trace {
    clock: Arc<VirtualClock>,
    entries: Mutex<Vec<(u64, u64, bool)>>,
}

impl CompletionSink for Trace {
    fn complete(&self, responses: &[QuerySampleResponse<'_>]) {
        let now_ns = self.clock.now_ns();
        let entries = responses.iter().map(|response| (now_ns, response.id.0, response.status.is_ok()));
        self.entries.lock().unwrap().extend(entries);
    }

    fn first_token(&self, _: &[QuerySampleResponse<'_>]) {}
}

struct Simulation {
    clock: Arc<VirtualClock>,
    trace: Arc<Trace>,
    scheduler: SimulatedScheduler,
}

impl Simulation {
    fn new(config: &SchedulerConfig, instances: Vec<Box<dyn Instance>>) -> Self {
        let clock = Arc::new(VirtualClock::new());
        let trace = Arc::new(Trace { clock: Arc::clone(&clock), entries: Mutex::default() });
        let sink = Arc::clone(&trace) as Arc<dyn CompletionSink>;
        let scheduler =
            SimulatedScheduler::new("test", config, instances, sink, Arc::clone(&clock), None).unwrap();
        Self { clock, trace, scheduler }
    }

    fn wait_until(&self, ns: u64) {
        self.clock.wait_until(ns, &Wake::new());
    }

    fn issue_at(&self, ns: u64, samples: &[QuerySample]) {
        self.wait_until(ns);
        self.scheduler.issue(samples);
    }

    /// Returns the completion of each sample: instant in ns, id, whether it was computed.
    fn trace(&self) -> Vec<(u64, u64, bool)> {
        self.trace.entries.lock().unwrap().clone()
    }

    /// The same without the status, which must be that all were computed.
    fn times(&self) -> Vec<(u64, u64)> {
        let entry = |(at_ns, id, ok): (u64, u64, bool)| {
            assert!(ok, "sample {id} failed");
            (at_ns, id)
        };
        self.trace().into_iter().map(entry).collect()
    }
}

fn config(policy: &str, batch_size: usize, instances: usize) -> SchedulerConfig {
    SchedulerConfig {
        policy: policy.into(),
        batch_size,
        instances,
        scaling: None,
        batch_timeout_us: 1,
        queue_capacity: 64,
    }
}

fn takes_ns(service_ns: u64) -> Box<dyn Instance> {
    instance(move |_, _| Ok(service_ns))
}

#[test]
fn a_single_server_queue_follows_the_trace_by_hand() {
    // Service 10. Arrivals 0 and 4 and 5 queue behind each other; 31 finds the server idle for 1; 40 waits for 1;
    // 51 comes at the very instant at which the server becomes idle.
    let simulation = Simulation::new(&config("fixed", 1, 1), vec![takes_ns(10)]);
    for (id, arrival_ns) in (1..).zip([0, 4, 5, 31, 40, 51]) {
        simulation.issue_at(arrival_ns, &samples(id..id + 1));
    }
    simulation.wait_until(1000);
    assert_eq!(simulation.times(), [(10, 1), (20, 2), (30, 3), (41, 4), (51, 5), (61, 6)]);

    let statistics = simulation.scheduler.statistics();
    assert_eq!(statistics.batches, 6);
    assert_eq!(statistics.busy_ns, [60]);
    assert_eq!(statistics.queue_depth_max, 2);
    assert_eq!(statistics.problems(), []);
}

#[test]
fn two_servers_take_turns_and_know_how_many_are_busy() {
    let slower_together = || instance(|_, busy| Ok(10 * u64::from(busy)));
    let simulation = Simulation::new(&config("fixed", 1, 2), vec![slower_together(), slower_together()]);
    // 1 starts alone at 0 and takes 10. 2 starts at 2 as the second and takes 20. 3 starts at 10, again as the second.
    simulation.issue_at(0, &samples(1..2));
    simulation.issue_at(2, &samples(2..4));
    simulation.wait_until(100);
    assert_eq!(simulation.times(), [(10, 1), (22, 2), (30, 3)]);
    assert_eq!(simulation.scheduler.statistics().busy_ns, [30, 20]);
}

#[test]
fn service_times_that_depend_on_the_batch_size() {
    let simulation =
        Simulation::new(&config("fixed", 4, 1), vec![instance(|batch, _| Ok(5 + batch.len() as u64))]);
    // The whole query is there before the first batch is formed: 4, 4, 2.
    simulation.issue_at(0, &samples(1..11));
    simulation.wait_until(100);
    let expected: Vec<_> =
        (1..5).map(|id| (9, id)).chain((5..9).map(|id| (18, id))).chain((9..11).map(|id| (25, id))).collect();
    assert_eq!(simulation.times(), expected);
    let statistics = simulation.scheduler.statistics();
    assert_eq!(statistics.batch_size_histogram, [0, 0, 1, 0, 2]);
    assert!((statistics.batch_size_mean() - 10.0 / 3.0).abs() < 1e-12);
}

#[test]
fn a_timeout_is_an_event() {
    let simulation = Simulation::new(&config("size-or-timeout", 3, 1), vec![takes_ns(10)]);
    // 1 and 2 leave when 1 has waited 1 us; 3, 4 and 5 fill a batch; 6 waits from 1600 to 2600.
    simulation.issue_at(0, &samples(1..2));
    simulation.issue_at(600, &samples(2..3));
    simulation.issue_at(1500, &samples(3..5));
    simulation.issue_at(1600, &samples(5..7));
    simulation.wait_until(10_000);
    assert_eq!(simulation.times(), [(1010, 1), (1010, 2), (1610, 3), (1610, 4), (1610, 5), (2610, 6)]);
}

#[test]
fn a_flush_does_not_wait_for_the_timeout() {
    let simulation = Simulation::new(&config("size-or-timeout", 3, 1), vec![takes_ns(10)]);
    simulation.issue_at(7, &samples(1..3));
    simulation.scheduler.flush();
    simulation.wait_until(10_000);
    assert_eq!(simulation.times(), [(17, 1), (17, 2)]);
}

#[test]
fn samples_that_do_not_fit_fail_at_once_with_a_reason() {
    let config = SchedulerConfig { queue_capacity: 2, ..config("fixed", 1, 1) };
    let simulation = Simulation::new(&config, vec![takes_ns(10)]);
    simulation.issue_at(3, &samples(1..5));
    simulation.wait_until(100);
    assert_eq!(simulation.trace(), [(3, 3, false), (3, 4, false), (13, 1, true), (23, 2, true)]);
    let problems = simulation.scheduler.statistics().problems();
    assert_eq!(problems.len(), 1);
    assert!(
        problems[0].to_string().starts_with("queue full: 2 of 4 samples did not fit into queue_capacity = 2")
    );
}

#[test]
fn a_failed_and_a_panicking_batch_fail_their_samples_and_no_others() {
    let script = |batch: &[QuerySample], _| match batch[0].id.0 {
        2 => Err(failure("out of memory")),
        3 => panic!("sample {} is odd", batch[0].id),
        _ => Ok(10),
    };
    let simulation = Simulation::new(&config("fixed", 1, 1), vec![instance(script)]);
    simulation.issue_at(0, &samples(1..5));
    simulation.wait_until(100);
    assert_eq!(simulation.trace(), [(10, 1, true), (10, 2, false), (10, 3, false), (20, 4, true)]);
    let failures = simulation.scheduler.statistics().failures;
    assert_eq!((failures.batches, failures.samples), (2, 2));
    assert_eq!(failures.first[0].message, "out of memory");
    assert_eq!(failures.first[1].message, "panicked: sample 0x3 is odd");
}

#[test]
fn the_same_events_give_the_same_trace() {
    let run = || {
        let servers =
            (1..4).map(|n| instance(move |batch, busy| Ok(n * 7 + batch.len() as u64 + u64::from(busy))));
        let simulation = Simulation::new(&config("size-or-timeout", 4, 3), servers.collect());
        for query in 0..200 {
            simulation.issue_at(query * 11 + query % 7, &samples(query * 3 + 1..query * 3 + 4));
        }
        simulation.scheduler.flush();
        simulation.wait_until(1_000_000);
        simulation.trace()
    };
    let trace = run();
    assert_eq!(trace.len(), 600);
    assert_eq!(trace, run());
}

#[test]
fn events_after_the_end_of_the_scheduler_do_nothing() {
    let simulation = Simulation::new(&config("fixed", 1, 1), vec![takes_ns(10)]);
    simulation.issue_at(0, &samples(1..2));
    let Simulation { clock, trace, scheduler } = simulation;
    drop(scheduler);
    clock.wait_until(100, &Wake::new());
    assert!(trace.entries.lock().unwrap().is_empty());
}
