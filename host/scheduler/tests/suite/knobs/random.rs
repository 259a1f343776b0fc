//! Both schedulers under random arrivals and random turns of the knobs.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use super::{BATCH_SIZE_MAX, INSTANCES_MAX, Observer, Real, Simulation, config};
use crate::support::{PATIENCE, instance, samples};
use proctor_loadgen::SystemUnderTest;
use proctor_scheduler::{Instance, KnobError, KnobHandle};
use proctor_vocabulary::QuerySample;
use proptest::prelude::*;

#[derive(Debug, Clone)]
enum Step {
    Issue(u64),
    Flush,
    BatchSize(usize),
    Add(u64),
    RetireNewest,
    Retire(usize),
    Wait(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (1..12_u64).prop_map(Step::Issue),
        1 => Just(Step::Flush),
        2 => (0..12_usize).prop_map(Step::BatchSize),
        2 => (1..40_u64).prop_map(Step::Add),
        1 => Just(Step::RetireNewest),
        1 => (0..INSTANCES_MAX).prop_map(Step::Retire),
        4 => (0..60_u64).prop_map(Step::Wait),
    ];
    prop::collection::vec(step, 0..80)
}

/// Each batch as it was formed: when it was taken by an instance, with the batch size of that moment.
type Formed = Arc<Mutex<VecDeque<Vec<u64>>>>;

fn noting(formed: &Formed, service_ns: u64) -> Box<dyn Instance> {
    let formed = Arc::clone(formed);
    instance(move |batch: &[QuerySample], _| {
        formed.lock().unwrap().push_back(batch.iter().map(|sample| sample.id.0).collect());
        Ok(service_ns)
    })
}

/// Takes a step that turns a knob, with the batch size that holds. The number of instances stays within its bounds.
fn turn(knobs: &KnobHandle, batch_size: &mut usize, step: &Step, make: &dyn Fn(u64) -> Box<dyn Instance>) {
    match *step {
        Step::BatchSize(size) => {
            *batch_size = knobs.set_batch_size(size).unwrap();
            assert_eq!(*batch_size, size.clamp(1, BATCH_SIZE_MAX));
        }
        Step::Add(service_ns) => match knobs.add_instance(make(service_ns)) {
            Ok(_) | Err(KnobError::Full { .. }) => {}
            Err(error) => panic!("{error}"),
        },
        Step::RetireNewest => match knobs.retire_newest() {
            Ok(_) | Err(KnobError::Last { .. }) => {}
            Err(error) => panic!("{error}"),
        },
        Step::Retire(number) => match knobs.retire_instance(number) {
            Ok(()) | Err(KnobError::Last { .. } | KnobError::Missing { .. }) => {}
            Err(error) => panic!("{error}"),
        },
        Step::Issue(_) | Step::Flush | Step::Wait(_) => {}
    }
    let count = knobs.instances().unwrap().len();
    assert!((1..=INSTANCES_MAX).contains(&count), "{count} instances");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// In virtual time each batch is formed at the step that made it, so that its size can be held against the batch
    /// size of that moment. Each accepted sample is completed once, and batches take them in order of arrival.
    #[test]
    fn whatever_is_turned_in_virtual_time_samples_come_once_and_in_order(
        policy in prop_oneof![Just("fixed"), Just("size-or-timeout")],
        steps in steps(),
    ) {
        let formed = Formed::default();
        let simulation = Simulation::new(
            &config(policy, 2, 1),
            vec![noting(&formed, 13)],
            Observer::idle(),
        );
        let (knobs, mut batch_size) = (simulation.scheduler.knobs(), 2);
        let (mut now_ns, mut next, mut taken) = (0, 1, 1);
        for step in steps.iter().chain([&Step::Flush, &Step::Wait(1_000_000)]) {
            match *step {
                Step::Issue(count) => {
                    simulation.scheduler.issue(&samples(next..next + count));
                    next += count;
                }
                Step::Flush => simulation.scheduler.flush(),
                Step::Wait(ns) => {
                    now_ns += ns;
                    simulation.wait_until(now_ns);
                }
                _ => turn(&knobs, &mut batch_size, step, &|service_ns| noting(&formed, service_ns)),
            }
            for batch in formed.lock().unwrap().drain(..) {
                prop_assert!((1..=batch_size).contains(&batch.len()), "{} of {}", batch.len(), batch_size);
                for id in batch {
                    prop_assert_eq!(id, taken);
                    taken += 1;
                }
            }
        }
        prop_assert_eq!(taken, next);
        simulation.recorder.assert_once_each(1..next);
        prop_assert!(simulation.recorder.failed_ids().is_empty());
    }

    /// The same on threads, where batches go to unknown instances, but each batch is a stretch of the queue,
    /// no larger than the largest size so far.
    #[test]
    fn whatever_is_turned_on_threads_samples_come_once_and_in_order(
        policy in prop_oneof![Just("fixed"), Just("size-or-timeout")],
        steps in steps(),
    ) {
        let formed = Formed::default();
        let observer = Observer::idle();
        let real = Real::new(&config(policy, 2, 1), vec![noting(&formed, 0)], observer);
        let (knobs, mut batch_size) = (real.scheduler.knobs(), 2);
        let (mut next, mut largest) = (1, batch_size);
        for step in &steps {
            match *step {
                Step::Issue(count) => {
                    real.scheduler.issue(&samples(next..next + count));
                    next += count;
                }
                Step::Flush => real.scheduler.flush(),
                Step::Wait(_) => std::thread::yield_now(),
                _ => turn(&knobs, &mut batch_size, step, &|_| noting(&formed, 0)),
            }
            largest = largest.max(batch_size);
        }
        real.scheduler.flush();
        real.recorder.wait_for(usize::try_from(next - 1).unwrap());
        prop_assert!(real.scheduler.shutdown(PATIENCE).hung.is_empty());
        real.recorder.assert_once_each(1..next);

        let batches = formed.lock().unwrap();
        for batch in &*batches {
            prop_assert!(batch.len() <= largest);
            prop_assert!(batch.windows(2).all(|pair| pair[1] == pair[0] + 1), "{:?}", batch);
        }
        let heard: usize = real.observer.heard().iter().map(|heard| heard.samples).sum();
        prop_assert_eq!(heard as u64, next - 1);
        let mut by_instance: HashMap<usize, u64> = HashMap::new();
        for heard in real.observer.heard() {
            let last = by_instance.insert(heard.instance, heard.arrived_ns[0]).unwrap_or_default();
            prop_assert!(last <= heard.arrived_ns[0], "an instance takes batches in order of arrival");
        }
    }
}
