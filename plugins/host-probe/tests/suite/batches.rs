//! Batches: what they carry, and the room for their outputs.

use crate::{Row, assert_told, driver::Driver, services::BYTES};

#[test]
fn batches_that_cannot_be_are_told() {
    let rows: &[Row] = &[
        ("ProctorBatch has 8 bytes", |host| host.started().execute(0, |work| work.batch.size = 8)),
        ("ProctorBatch.id is 0x5", |host| host.started().execute(0, |work| work.batch.id = 5)),
        ("there are 2 stages before the call", |host| {
            host.started().execute(0, |work| work.batch.stage_count = 2)
        }),
        ("the batch has 0 samples, not from 1 to 3", |host| {
            host.started().execute(0, |work| work.batch.sample_count = 0)
        }),
        ("the batch has 4 samples, not from 1 to 3", |host| {
            let large = host.started().work(4);
            host.execute(0, |work| *work = large)
        }),
        ("ProctorBatchSample has 8 bytes", |host| {
            host.started().execute(0, |work| work.batch.sample_stride = 8)
        }),
        ("ProctorTensor has 8 bytes", |host| host.started().execute(0, |work| work.batch.input_stride = 8)),
        ("ProctorOutput has 8 bytes", |host| host.started().execute(0, |work| work.batch.output_stride = 8)),
        ("sample 77 is not among the prepared ones", |host| {
            host.started().execute(0, |work| work.samples[1].index = 77)
        }),
        ("input \"x\" of sample 0 is not where it was prepared", |host| {
            host.started().execute(0, |work| work.samples[0].inputs = work.samples[1].inputs)
        }),
        ("has come before", |host| host.started().execute(0, |work| work.samples[1].id = work.samples[0].id)),
        ("has come before", |host| {
            let mut id = 0;
            host.started().execute(0, |work| id = work.samples[1].id)?;
            host.execute(0, |work| work.samples[0].id = id)
        }),
        ("the status of sample 1 is 4", |host| host.started().execute(0, |work| work.samples[1].status = 4)),
        ("the message of sample 0 is not null", |host| {
            host.started().execute(0, |work| work.samples[0].message.data = c"old".as_ptr().cast())
        }),
        ("the vendor_code of sample 0 is 6", |host| {
            host.started().execute(0, |work| work.samples[0].vendor_code = 6)
        }),
        ("sample 0 has 2 outputs instead of 1", |host| {
            host.started().execute(0, |work| work.samples[0].output_count = 2)
        }),
        ("there are 0 inputs instead of 1", |host| {
            host.started().execute(0, |work| work.samples[0].input_count = 0)
        }),
        ("sample 1 has the id 0x9, not 0 as in a warm-up", |host| {
            host.ready().warm_up(0, |work| work.samples[1].id = 9)
        }),
    ];
    assert_told(&[], 1, rows);
}

#[test]
fn rooms_that_cannot_be_are_told() {
    let rows: &[Row] = &[
        ("output \"y\" of sample 0 has room for 8 bytes instead of 40", |host| {
            host.started().execute(0, |work| work.outputs[0].capacity_bytes = 8)
        }),
        ("the room of output \"y\" of sample 1 is null", |host| {
            host.started().execute(0, |work| work.outputs[1].data = std::ptr::null_mut())
        }),
        ("is not aligned to 64", |host| {
            host.started().execute(0, |work| work.outputs[1].data = work.outputs[1].data.wrapping_byte_add(8))
        }),
        ("output \"y\" of sample 1 has 40 bytes before the call", |host| {
            host.started().execute(0, |work| work.outputs[1].size_bytes = BYTES)
        }),
        ("output \"y\" of sample 0 is lent before the call", |host| {
            host.started().execute(0, |work| work.outputs[0].lent = work.outputs[0].data.cast_const())
        }),
        ("the room of output \"y\" of sample 1 meets another one in use", |host| {
            host.started().execute(0, |work| work.outputs[1].data = work.outputs[0].data)
        }),
        ("the room of output \"y\" of sample 0 meets an input", |host| {
            let input = host.started().inputs.0.as_mut_ptr();
            host.execute(0, |work| work.outputs[0].data = input.wrapping_add(64).cast())
        }),
    ];
    assert_told(&[], 1, rows);
}

#[test]
fn a_batch_that_is_refused_holds_no_room() {
    let mut host = Driver::new(&[], 1);
    let mut work = host.started().work(2);
    let execute = host.table.execute.unwrap();
    work.samples[0].vendor_code = 1;
    for is_right in [false, true] {
        let outcome = crate::driver::call(|error| {
            // SAFETY: the batch with all that it points to lives for the call.
            unsafe { execute(host.instances[&0], &raw mut work.batch, error) }
        });
        assert_eq!(outcome.is_ok(), is_right, "{outcome:?}");
        let new = host.work(2);
        work.samples.iter_mut().zip(&new.samples).for_each(|(sample, new)| sample.id = new.id);
        work.samples[0].vendor_code = 0;
    }
}

#[test]
fn batches_in_virtual_time_are_checked_as_others() {
    let rows: &[Row] = &[
        ("busy_instances is 0 of 2 instances", |host| host.started().execute_virtual(0, 0, true).map(|_| ())),
        ("busy_instances is 3 of 2 instances", |host| host.started().execute_virtual(0, 3, true).map(|_| ())),
        ("service_time_ns is null", |host| host.started().execute_virtual(0, 1, false).map(|_| ())),
        ("ProctorVirtualTime.execute: the model has samples", |host| {
            host.ready().execute_virtual(0, 1, true).map(|_| ())
        }),
    ];
    assert_told(&[], 2, rows);
}

#[test]
fn batches_in_flight_are_checked_as_others() {
    let rows: &[Row] = &[
        ("ProctorBatch.id is 0x0 of a batch that was submitted", |host| {
            host.loaded().in_flight_max(0);
            host.prepare(|_| {})?;
            host.start()?;
            host.submit(0, 0)
        }),
        ("batch id 0x7 has come before", |host| {
            host.loaded().in_flight_max(0);
            host.prepare(|_| {})?;
            host.start()?;
            host.submit(0, 7)?;
            host.wait_for_done(1);
            host.submit(0, 7)
        }),
        ("execute: it comes instead of submit, for 1 batches at a time", |host| {
            host.loaded().in_flight_max(0);
            host.prepare(|_| {})?;
            host.start()?;
            host.execute(0, |_| {})
        }),
    ];
    assert_told(&[("in_flight", 1)], 1, rows);

    let mut twice = Driver::new(&[("in_flight", 1)], 1);
    twice.loaded();
    assert_eq!((twice.in_flight_max(0), twice.in_flight_max(0)), (1, 1));
    twice.destroy(0).unwrap();
    twice.unload().unwrap();
    let closed = twice.close().unwrap_err();
    assert!(closed.contains("ProctorSubmit.in_flight_max: it is asked more than once"), "{closed}");
}

#[test]
fn batches_that_are_not_done_are_told() {
    // The end of the first one holds the thread that does the others.
    let mut host = Driver::new(&[("in_flight", 1)], 1);
    host.loaded().in_flight_max(0);
    host.prepare(|_| {}).unwrap();
    host.start().unwrap();
    host.hold(true);
    host.submit(0, 1).unwrap();
    host.wait_for_done(1);
    host.submit(0, 2).unwrap();
    let message = host.submit(0, 3).unwrap_err();
    assert_eq!(message, "ProctorSubmit.submit: 2 batches are in flight, more than 1");
    let message = host.stop().unwrap_err();
    assert_eq!(message, "stop: 1 batches of instance 0 are not done");
    host.hold(false);
    host.wait_for_done(2);
    assert_eq!(*host.services.done.lock(), [1, 2]);
    host.release().unwrap();
    host.destroy(0).unwrap();
}
