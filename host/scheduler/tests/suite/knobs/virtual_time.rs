//! Knobs in virtual time, where each batch is known.

use std::sync::{Arc, mpsc};

use super::{BATCH_SIZE_MAX, Dropped, Heard, INSTANCES_MAX, Loop, Observer, Simulation, config, takes_ns};
use crate::support::{failure, instance, samples};
use proctor_loadgen::SystemUnderTest;
use proctor_scheduler::{KnobError, SchedulerConfig};
use proctor_vocabulary::QuerySample;

#[test]
fn the_observer_hears_of_each_batch_with_the_arrival_of_each_sample() {
    let script = |batch: &[QuerySample], _| if batch[0].id.0 == 3 { Err(failure("no")) } else { Ok(10) };
    let observer = Observer::idle();
    let simulation = Simulation::new(&config("fixed", 2, 1), vec![instance(script)], observer);
    simulation.scheduler.issue(&samples(1..2));
    simulation.wait_until(3);
    simulation.scheduler.issue(&samples(2..3));
    simulation.wait_until(4);
    simulation.scheduler.issue(&samples(3..5));
    simulation.scheduler.flush();
    simulation.wait_until(100);
    let heard = |samples, failed, arrived_ns| Heard { instance: 0, samples, failed, arrived_ns };
    assert_eq!(
        simulation.observer.heard(),
        [heard(1, false, vec![0]), heard(2, false, vec![3, 4]), heard(1, false, vec![4])]
    );
}

#[test]
fn a_batch_that_fails_is_told_with_its_instance_which_can_be_retired_at_once() {
    let observer = Observer::new(|knobs, instance, done| {
        if done.failed {
            knobs.retire_instance(instance).unwrap();
        }
    });
    let (tell, told) = mpsc::channel();
    let bad = Dropped(instance(|_, _| Err(failure("broken"))), tell);
    let simulation = Simulation::new(&config("fixed", 1, 2), vec![Box::new(bad), takes_ns(10)], observer);
    simulation.scheduler.issue(&samples(1..5));
    simulation.wait_until(100);
    assert_eq!(simulation.recorder.failed_ids(), [1]);
    simulation.recorder.assert_once_each(1..5);
    assert_eq!(simulation.scheduler.knobs().instances().unwrap(), [1]);
    told.try_recv().unwrap();
}

#[test]
fn the_batch_size_changes_from_one_batch_to_the_next_in_virtual_time() {
    // Each finished batch makes the next one larger.
    let observer = Observer::new(|knobs, _, done| {
        assert_eq!(knobs.set_batch_size(done.samples + 1).unwrap(), (done.samples + 1).min(BATCH_SIZE_MAX));
    });
    let simulation = Simulation::new(&config("fixed", 1, 1), vec![takes_ns(10)], observer);
    simulation.scheduler.issue(&samples(1..61));
    simulation.wait_until(1000);
    let sizes: Vec<_> = simulation.observer.heard().iter().map(|heard| heard.samples).collect();
    assert_eq!(sizes, [1, 2, 3, 4, 5, 6, 7, 8, 8, 8, 8]);
    assert_eq!(simulation.recorder.ids(), (1..61).collect::<Vec<_>>());
    assert_eq!(simulation.scheduler.statistics().batch_size_histogram.len(), BATCH_SIZE_MAX + 1);
}

#[test]
fn a_smaller_batch_size_starts_what_waits() {
    let simulation = Simulation::new(&config("size-or-timeout", 8, 1), vec![takes_ns(10)], Observer::idle());
    simulation.scheduler.issue(&samples(1..4));
    simulation.wait_until(5);
    simulation.scheduler.knobs().set_batch_size(3).unwrap();
    simulation.wait_until(15);
    assert_eq!(simulation.recorder.ids(), [1, 2, 3]);
}

#[test]
fn instances_come_and_go_in_virtual_time_and_numbers_are_used_again() {
    let simulation = Simulation::new(&config("fixed", 1, 1), vec![takes_ns(10)], Observer::idle());
    let knobs = simulation.scheduler.knobs();
    simulation.scheduler.issue(&samples(1..5));
    assert_eq!(knobs.add_instance(takes_ns(4)).unwrap(), 1);
    // 2 runs on the new one from 0 to 4, 3 from 4 to 8; at 6 it is retired, and 4 waits for the first one.
    simulation.wait_until(6);
    assert_eq!(knobs.retire_newest().unwrap(), 1);
    assert!(matches!(knobs.retire_newest(), Err(KnobError::Last { instance: 0 })));
    assert!(matches!(knobs.retire_instance(1), Err(KnobError::Missing { instance: 1 })));
    simulation.wait_until(100);
    assert_eq!(simulation.recorder.ids(), [2, 3, 1, 4]);
    assert_eq!(simulation.scheduler.statistics().busy_ns, [20, 8]);

    for number in 1..INSTANCES_MAX {
        assert_eq!(knobs.add_instance(takes_ns(4)).unwrap(), number);
    }
    assert!(matches!(knobs.add_instance(takes_ns(4)), Err(KnobError::Full { instances_max: INSTANCES_MAX })));
    assert_eq!(knobs.instances().unwrap(), [0, 1, 2, 3]);
    knobs.retire_instance(1).unwrap();
    assert_eq!(knobs.add_instance(takes_ns(4)).unwrap(), 1);
    assert_eq!(knobs.instances().unwrap(), [0, 2, 3, 1], "in the order in which they were added");
    simulation.scheduler.issue(&samples(5..9));
    simulation.wait_until(200);
    assert_eq!(simulation.scheduler.statistics().busy_ns, [30, 12, 4, 4]);
}

#[test]
fn a_completion_may_issue_in_virtual_time() {
    let load = Loop::new(4, 300);
    let simulation = Simulation::with_sink(
        &config("fixed", 2, 2),
        vec![takes_ns(10), takes_ns(7)],
        Observer::idle(),
        Arc::clone(&load) as _,
        Arc::clone(&load.recorder),
    );
    let system = Arc::downgrade(&simulation.scheduler);
    load.system.set(system).unwrap();
    simulation.scheduler.issue(&samples(1..4));
    simulation.wait_until(1_000_000);
    simulation.recorder.assert_once_each(1..301);
}

#[test]
fn without_bounds_the_knobs_stay_where_they_are() {
    let config = SchedulerConfig { scaling: None, ..config("fixed", 2, 1) };
    let simulation = Simulation::new(&config, vec![takes_ns(1)], Observer::idle());
    let knobs = simulation.scheduler.knobs();
    assert_eq!(knobs.set_batch_size(3).unwrap(), 2);
    assert!(matches!(knobs.add_instance(takes_ns(1)), Err(KnobError::Full { instances_max: 1 })));
    drop(simulation);
    assert!(matches!(knobs.set_batch_size(1), Err(KnobError::Ended)));
}
