//! The samples that are prepared: their form, and that they stay as and where they are.

use proctor_plugin_api::abi::ProctorTensor;

use crate::{
    Row, assert_told,
    driver::{Driver, SAMPLES},
};

#[test]
fn samples_that_cannot_be_are_told() {
    let rows: &[Row] = &[
        ("ProctorSampleSet has 8 bytes", |host| host.loaded().prepare(|host| host.set.size = 8)),
        ("ProctorPreparedSample has 8 bytes", |host| {
            host.loaded().prepare(|host| host.set.sample_stride = 8)
        }),
        ("ProctorTensor has 16 bytes", |host| host.loaded().prepare(|host| host.set.input_stride = 16)),
        ("there are no samples", |host| host.loaded().prepare(|host| host.set.sample_count = 0)),
        ("sample 0 comes after sample 1", |host| host.loaded().prepare(|host| host.prepared.swap(0, 1))),
        ("sample 1 comes after sample 1", |host| host.loaded().prepare(|host| host.prepared[2].index = 1)),
        ("there are 0 inputs instead of 1", |host| {
            host.loaded().prepare(|host| host.prepared[0].input_count = 0)
        }),
        ("input \"x\" has 8 bytes instead of 40", |host| {
            host.loaded().prepare(|host| host.tensors[0].size_bytes = 8)
        }),
        ("input \"x\" has element type 2 instead of 1", |host| {
            host.loaded().prepare(|host| host.tensors[0].element_type = 2)
        }),
        ("input \"x\" is null", |host| host.loaded().prepare(|host| host.tensors[0].data = std::ptr::null())),
        ("which is not aligned to 64", |host| {
            host.loaded().prepare(|host| host.tensors[3].data = host.tensors[3].data.wrapping_byte_add(4))
        }),
        ("has a shape of 2 dimensions", |host| host.loaded().prepare(|host| host.tensors[0].rank = 2)),
        ("has the shape [5] instead of [10]", |host| {
            static FIVE: [u64; 1] = [5];
            host.loaded().prepare(|host| host.tensors[0].shape = FIVE.as_ptr())
        }),
    ];
    assert_told(&[], 1, rows);
}

#[test]
fn ranges_that_cannot_be_are_told() {
    let rows: &[Row] = &[
        ("there are 2 ranges instead of one for each of 1 inputs", |host| {
            host.loaded().prepare(|host| {
                let size_bytes = host.ranges[0].size_bytes;
                let again = proctor_plugin_api::abi::ProctorMemoryRange { size_bytes, ..host.ranges[0] };
                host.ranges.push(again);
                host.set.ranges = host.ranges.as_ptr();
                host.set.range_count = 2;
            })
        }),
        ("is not of whole pages", |host| host.loaded().prepare(|host| host.ranges[0].size_bytes = 4000)),
        ("input \"x\" of sample 0 lies in none of the ranges", |host| {
            host.loaded().prepare(|host| host.ranges[0].data = host.ranges[0].data.wrapping_byte_add(4096))
        }),
        ("range 0 is of the kind 2", |host| host.loaded().prepare(|host| host.ranges[0].kind = 2)),
        ("range 0 has 1 in reserved", |host| host.loaded().prepare(|host| host.ranges[0].reserved = 1)),
        ("ProctorMemoryRange has 8 bytes", |host| host.loaded().prepare(|host| host.set.range_stride = 8)),
    ];
    assert_told(&[], 1, rows);
}

#[test]
fn samples_that_do_not_stay_are_told() {
    let rows: &[Row] = &[
        ("the ProctorSampleSet of prepare_samples has changed", |host| {
            host.ready().set.sample_count = 1;
            host.release()
        }),
        ("input \"x\" of sample 2 was written to since it was prepared", |host| {
            host.ready().inputs.0[2 * 64] = 0;
            host.release()
        }),
        ("input \"x\" of sample 1 has moved", |host| {
            host.ready();
            host.tensors[1].data = host.tensors[1].data.wrapping_byte_add(1024);
            host.release()
        }),
        ("sample 9 is not the one that was prepared", |host| {
            host.ready().prepared[3].index = 9;
            host.release()
        }),
        ("input \"x\" of sample 0 was written to since it was prepared", |host| {
            host.started().inputs.0[0] = 0;
            host.stop()?;
            host.release()
        }),
    ];
    assert_told(&[], 1, rows);
}

#[test]
fn a_copy_behind_the_samples_is_as_good_if_it_has_their_bytes() {
    for is_same in [true, false] {
        let mut host = Driver::new(&[], 1);
        let behind = host.started().inputs.0.as_ptr().wrapping_add(SAMPLES * 64);
        let copy = ProctorTensor { data: behind.cast(), ..host.tensors[0] };
        if !is_same {
            host.inputs.0[SAMPLES * 64] = 0;
        }
        let outcome = host.execute(0, |work| work.samples[1].inputs = &raw const copy);
        assert_eq!(outcome.is_ok(), is_same, "{outcome:?}");
        assert!(
            is_same || outcome.unwrap_err().contains("input \"x\" of sample 1 is not where it was prepared")
        );
    }
}
