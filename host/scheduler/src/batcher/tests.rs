//! The batcher against a model of it, under random events.

use proptest::prelude::*;

use super::*;
use crate::config::ScalingBounds;

const BATCH_SIZE_MAX: usize = 10;
const INSTANCES_MAX: usize = 6;

fn config(policy: &str, batch_size: usize, instances: usize, batch_timeout_us: u64) -> SchedulerConfig {
    SchedulerConfig {
        policy: policy.into(),
        batch_size,
        instances,
        scaling: Some(ScalingBounds { batch_size_max: BATCH_SIZE_MAX, instances_max: INSTANCES_MAX }),
        batch_timeout_us,
        queue_capacity: 100,
    }
}

fn samples(ids: std::ops::Range<u64>) -> Vec<QuerySample> {
    ids.map(|id| QuerySample { id: ResponseId(id), index: SampleIndex(id) }).collect()
}

fn take(batcher: &mut Batcher, now_ns: u64) -> Option<Vec<u64>> {
    let mut batch = Batch::with_capacity(BATCH_SIZE_MAX, false);
    batcher.take_batch(now_ns, &mut batch).map(|_| batch.samples().iter().map(|sample| sample.id.0).collect())
}

#[test]
fn fixed_splits_a_large_query_and_joins_small_ones() {
    let mut batcher = Batcher::new(&config("fixed", 4, 3, 0)).unwrap();
    batcher.arrive(0, &samples(1..7), false).unwrap();
    batcher.arrive(1, &samples(7..9), false).unwrap();
    assert_eq!(take(&mut batcher, 1), Some(vec![1, 2, 3, 4]));
    assert_eq!(take(&mut batcher, 1), Some(vec![5, 6, 7, 8]));
    assert_eq!(take(&mut batcher, 1), None);
}

#[test]
fn fixed_sends_a_partial_batch_only_if_nothing_runs() {
    let mut batcher = Batcher::new(&config("fixed", 4, 2, 0)).unwrap();
    batcher.arrive(0, &samples(1..2), false).unwrap();
    assert_eq!(take(&mut batcher, 0), Some(vec![1]));
    batcher.arrive(5, &samples(2..5), false).unwrap();
    assert_eq!(batcher.next_deadline_ns(1_000_000), None);
    assert_eq!(take(&mut batcher, 5), None);
    batcher.instance_free();
    assert_eq!(take(&mut batcher, 9), Some(vec![2, 3, 4]));
}

#[test]
fn fixed_does_not_split_a_query_that_is_still_being_taken() {
    let mut batcher = Batcher::new(&config("fixed", 4, 1, 0)).unwrap();
    batcher.arrive(0, &samples(1..4), true).unwrap();
    assert_eq!(take(&mut batcher, 0), None);
    batcher.arrive(0, &samples(4..6), false).unwrap();
    assert_eq!(take(&mut batcher, 0), Some(vec![1, 2, 3, 4]));
}

#[test]
fn a_flush_holds_until_the_next_arrival() {
    let mut batcher = Batcher::new(&config("fixed", 4, 3, 0)).unwrap();
    batcher.arrive(0, &samples(1..6), false).unwrap();
    assert_eq!(take(&mut batcher, 0), Some(vec![1, 2, 3, 4]));
    assert_eq!(take(&mut batcher, 0), None);
    batcher.flush();
    assert_eq!(take(&mut batcher, 0), Some(vec![5]));
    batcher.arrive(0, &samples(6..7), false).unwrap();
    assert_eq!(take(&mut batcher, 0), None);
}

#[test]
fn a_timeout_lets_a_partial_batch_go_at_its_instant() {
    let mut batcher = Batcher::new(&config("size-or-timeout", 4, 2, 1)).unwrap();
    batcher.arrive(100, &samples(1..3), false).unwrap();
    assert_eq!(batcher.next_deadline_ns(100), Some(1100));
    assert_eq!(take(&mut batcher, 1099), None);
    assert_eq!(take(&mut batcher, 1100), Some(vec![1, 2]));
}

#[test]
fn no_deadline_while_every_instance_is_busy() {
    let mut batcher = Batcher::new(&config("size-or-timeout", 1, 1, 1)).unwrap();
    batcher.arrive(0, &samples(1..3), false).unwrap();
    assert_eq!(take(&mut batcher, 0), Some(vec![1]));
    assert_eq!(batcher.next_deadline_ns(5000), None);
    batcher.instance_free();
    assert_eq!(batcher.next_deadline_ns(5000), Some(5000));
}

#[test]
fn a_full_queue_is_a_result_and_keeps_what_fits() {
    let mut batcher = Batcher::new(&config("fixed", 1, 1, 0)).unwrap();
    assert_eq!(batcher.arrive(0, &samples(1..104), false), Err(Busy { rejected: 3 }));
    assert_eq!((batcher.waiting(), batcher.samples_rejected(), batcher.queue_depth_max()), (100, 3, 100));
    assert_eq!(take(&mut batcher, 0), Some(vec![1]));
    batcher.arrive(0, &samples(104..105), false).unwrap();
}

#[test]
fn a_batch_has_the_size_of_the_moment_at_which_it_is_formed() {
    for policy in ["fixed", "size-or-timeout"] {
        let mut batcher = Batcher::new(&config(policy, 2, 4, 0)).unwrap();
        batcher.arrive(0, &samples(1..20), false).unwrap();
        assert_eq!(take(&mut batcher, 0), Some(vec![1, 2]));
        assert_eq!(batcher.set_batch_size(5), 5);
        assert_eq!(take(&mut batcher, 0), Some(vec![3, 4, 5, 6, 7]));
        assert_eq!(batcher.set_batch_size(0), 1);
        assert_eq!(take(&mut batcher, 0), Some(vec![8]));
        assert_eq!(batcher.set_batch_size(99), BATCH_SIZE_MAX);
        assert_eq!(take(&mut batcher, 0), Some((9..19).collect()));
    }
}

#[test]
fn a_batch_knows_when_each_of_its_samples_arrived_if_it_is_asked_to() {
    let mut batcher = Batcher::new(&config("fixed", 3, 1, 0)).unwrap();
    batcher.arrive(5, &samples(1..2), false).unwrap();
    batcher.arrive(7, &samples(2..5), false).unwrap();
    let mut batch = Batch::with_capacity(3, true);
    batcher.take_batch(9, &mut batch).unwrap();
    assert_eq!(batch.arrived_ns(), [5, 7, 7]);
}

/// A policy that breaks its contract in every way that it can.
struct Unreasonable(Decision);

impl Policy for Unreasonable {
    fn decide(&self, _: &QueueState) -> Decision {
        self.0
    }
}

#[test]
fn a_policy_cannot_exceed_the_batch_size_or_stall_on_a_past_deadline() {
    for (decision, size) in [(Decision::Take(99), 4), (Decision::Take(0), 1), (Decision::WaitUntil(3), 4)] {
        let mut batcher = Batcher::new(&config("fixed", 4, 1, 0)).unwrap();
        batcher.policy = Box::new(Unreasonable(decision));
        batcher.arrive(0, &samples(1..8), false).unwrap();
        assert_eq!(take(&mut batcher, 3).map(|batch| batch.len()), Some(size));
    }
}

#[derive(Debug, Clone)]
enum Event {
    Arrive(u64),
    Free,
    Flush,
    Advance(u64),
    BatchSize(usize),
    Add,
    Remove,
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        4 => (1..12_u64).prop_map(Event::Arrive),
        4 => Just(Event::Free),
        1 => Just(Event::Flush),
        4 => (0..3000_u64).prop_map(Event::Advance),
        1 => (0..12_usize).prop_map(Event::BatchSize),
        1 => Just(Event::Add),
        1 => Just(Event::Remove),
    ];
    prop::collection::vec(event, 0..200)
}

/// The batcher, and the simple model that its batches must agree with.
struct Model {
    batcher: Batcher,
    config: SchedulerConfig,
    now_ns: u64,
    issued: u64,
    /// Arrival of each sample that waits, with its id.
    waiting: VecDeque<(u64, u64)>,
    busy: usize,
    flushing: bool,
}

impl Model {
    fn new(config: SchedulerConfig) -> Self {
        let batcher = Batcher::new(&config).expect("the configuration is sound");
        Self { batcher, config, now_ns: 0, issued: 0, waiting: VecDeque::new(), busy: 0, flushing: false }
    }

    fn handle(&mut self, event: &Event) {
        match *event {
            Event::Arrive(count) => {
                let arrived = samples(self.issued..self.issued + count);
                self.issued += count;
                let fits = arrived.len().min(self.config.queue_capacity - self.waiting.len());
                let rejected = arrived.len() - fits;
                let expected = if rejected == 0 { Ok(()) } else { Err(Busy { rejected }) };
                assert_eq!(self.batcher.arrive(self.now_ns, &arrived, false), expected);
                self.waiting.extend(arrived[..fits].iter().map(|sample| (sample.id.0, self.now_ns)));
                self.flushing = false;
            }
            Event::Free if self.busy > 0 => {
                self.batcher.instance_free();
                self.busy -= 1;
            }
            Event::Free => {}
            Event::Flush => {
                self.batcher.flush();
                self.flushing = true;
            }
            Event::Advance(ns) => self.now_ns += ns,
            Event::BatchSize(size) => {
                self.config.batch_size = size.clamp(1, BATCH_SIZE_MAX);
                assert_eq!(self.batcher.set_batch_size(size), self.config.batch_size);
            }
            Event::Add => {
                self.batcher.add_instance();
                self.config.instances += 1;
            }
            // A driver removes none that is busy, and never the last one.
            Event::Remove if self.busy < self.config.instances && self.config.instances > 1 => {
                self.batcher.remove_instance();
                self.config.instances -= 1;
            }
            Event::Remove => {}
        }
        self.drain();
    }

    /// Returns whether a batch must start now, by the words of the policy's definition.
    fn due(&self) -> bool {
        let Some(&(_, arrived_ns)) = self.waiting.front() else { return false };
        let partial = match self.config.policy.as_str() {
            "fixed" => self.busy == 0,
            _ => self.now_ns - arrived_ns >= self.config.batch_timeout_ns(),
        };
        let full = self.waiting.len() >= self.config.batch_size;
        self.busy < self.config.instances && (full || partial || self.flushing)
    }

    fn drain(&mut self) {
        while self.due() {
            assert_eq!(self.batcher.next_deadline_ns(self.now_ns), Some(self.now_ns));
            let batch = take(&mut self.batcher, self.now_ns).expect("a batch is due");
            let size = self.config.batch_size.min(self.waiting.len());
            let expected: Vec<_> = self.waiting.drain(..size).map(|(id, _)| id).collect();
            assert_eq!(batch, expected);
            self.busy += 1;
        }
        assert_eq!(take(&mut self.batcher, self.now_ns), None);
        self.check_deadline();
    }

    fn check_deadline(&self) {
        let idle = self.busy < self.config.instances;
        let expected = match (self.config.policy.as_str(), self.waiting.front()) {
            ("size-or-timeout", Some((_, arrived_ns))) if idle => {
                Some(arrived_ns + self.config.batch_timeout_ns())
            }
            _ => None,
        };
        assert_eq!(self.batcher.next_deadline_ns(self.now_ns), expected);
        assert_eq!(self.batcher.waiting(), self.waiting.len());
        assert_eq!(self.batcher.busy_instances(), self.busy);
    }
}

proptest! {
    /// Every accepted sample leaves exactly once and in order, in batches no larger than the current batch
    /// size, no partial batch before its time and none after it, under any events and turns of the knobs.
    #[test]
    fn batches_follow_the_definition_of_the_policy(
        policy in prop_oneof![Just("fixed"), Just("size-or-timeout")],
        batch_size in 1..9_usize,
        instances in 1..5_usize,
        timeout_us in 0..4_u64,
        events in events(),
    ) {
        let mut model = Model::new(config(policy, batch_size, instances, timeout_us));
        for event in &events {
            model.handle(event);
        }
        model.handle(&Event::Flush);
        while model.busy > 0 {
            model.handle(&Event::Free);
        }
        prop_assert_eq!(model.batcher.waiting(), 0);
        let histogram = model.batcher.batch_size_histogram();
        let left: u64 = (0..).zip(histogram).map(|(size, count): (u64, _)| size * count).sum();
        prop_assert_eq!(left + model.batcher.samples_rejected(), model.issued);
        prop_assert_eq!(histogram.iter().sum::<u64>(), model.batcher.batches());
    }
}
