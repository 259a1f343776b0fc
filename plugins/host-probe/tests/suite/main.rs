//! Tests that the probe finds faults: a host that breaks one promise gets a report of it, from the call and again from
//! close.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod batches;
mod driver;
mod opening;
mod order;
mod queries;
mod samples;
mod services;
mod threads;

use driver::{Driver, Outcome};

/// A broken promise: a piece of its sentence, and what the host does.
type Row = (&'static str, fn(&mut Driver) -> Outcome);

/// Asserts that each of these faults is reported to a host with this many instances that opens the plugin with these
/// options.
fn assert_told(options: &[(&'static str, i64)], instance_count: u32, rows: &[Row]) {
    for (sentence, act) in rows {
        let mut driver = Driver::new(options, instance_count);
        let told = act(&mut driver);
        let message = told.expect_err(sentence);
        assert!(message.contains(sentence), "{message}\ninstead of {sentence}");
        let closed = driver.close().expect_err(sentence);
        assert!(closed.starts_with("the host has broken "), "{closed}");
        assert!(closed.contains(sentence), "{closed}\ninstead of {sentence}");
    }
}

#[test]
fn a_right_host_is_told_nothing_whichever_way_it_asks() {
    let mut batches = Driver::new(&[("in_flight", 0), ("service_us", 7)], 2);
    batches.loaded().prepare(|_| {}).unwrap();
    (0..2).for_each(|index| batches.warm_up(index, |_| {}).unwrap());
    batches.release().unwrap();
    for _ in 0..2 {
        batches.prepare(|_| {}).unwrap();
        batches.start().unwrap();
        for index in 0..2 {
            driver::elsewhere(|| {
                batches.begin_thread(index).unwrap();
                (0..3).for_each(|_| batches.execute(index, |_| {}).unwrap());
                batches.end_thread(index).unwrap();
            });
        }
        batches.stop().unwrap();
        batches.release().unwrap();
    }
    (0..2).for_each(|index| batches.destroy(index).unwrap());
    batches.unload().unwrap();
    batches.close().unwrap();

    let mut simulated = Driver::new(&[("service_us", 250)], 2);
    simulated.started();
    for (index, busy) in [(0, 1), (1, 2), (0, 2)] {
        assert_eq!(simulated.execute_virtual(index, busy, true).unwrap(), 250_000);
    }
    simulated.end().unwrap();

    let mut queries = Driver::new(&[], 0);
    queries.ready().warm_up_query(|_, _| {}).unwrap();
    queries.start().unwrap();
    queries.issue(|_, _| {}).unwrap();
    for offset in [0, 2, 4] {
        queries.issue(|query, _| (query.sample_offset, query.total_sample_count) = (offset, 6)).unwrap();
    }
    queries.flush().unwrap();
    queries.end().unwrap();
    assert_eq!(queries.services.completed.lock().len(), 8);
}

#[test]
fn a_right_host_is_told_nothing_with_batches_in_flight() {
    let mut host = Driver::new(&[("in_flight", 2)], 1);
    host.loaded();
    assert_eq!(host.in_flight_max(0), 2);
    host.prepare(|_| {}).unwrap();
    host.start().unwrap();
    for batch in 0..10 {
        host.submit(0, 1 + batch).unwrap();
        host.wait_for_done(1 + batch as usize);
    }
    host.end().unwrap();
}
