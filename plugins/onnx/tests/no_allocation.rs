//! Running a batch allocates nothing of ours. (What the runtime allocates in C++ is its own and not seen here.)

mod common;

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    sync::Arc,
};

use common::{Samples, demand, digits, f32_spec, opened};
use proctor_plugin_api::vocabulary::{QuerySample, ResponseId};
use proctor_plugin_host::{ModelDemand, SampleBuffers};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, counting per thread.
struct Counting;

// SAFETY: every call goes to the system's allocator unchanged; counting touches no memory that it manages.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promises are those that the system's allocator asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the block came from `alloc` above with this layout, so from the system's allocator.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_batch_allocates_nothing_alone_or_together() {
    let Some(backend) = opened(&[("threads", "1")]) else { return };
    let image = f32_spec("image", &[1, 8, 8]);
    let demand = demand(&digits("digits-cnn.onnx"), vec![image], vec![f32_spec("logits", &[10])]);
    let model = backend.load_model(&ModelDemand { batch_size_max: 8, ..demand }).unwrap();
    let mut instance = model.create_instance(0).unwrap();
    let samples = Samples::of_f32(&vec![vec![0.5; 64]; 8]);
    let indices = samples.indices();
    let prepared: Arc<dyn SampleBuffers> = samples.clone();
    model.prepare(&indices, prepared).unwrap();
    instance.warm_up(&indices).unwrap();
    model.start().unwrap();
    for batch_size in [1, 8] {
        let batch: Vec<QuerySample> = indices[..batch_size]
            .iter()
            .map(|index| QuerySample { id: ResponseId(index.0 + 1), index: *index })
            .collect();
        let before = ALLOCATIONS.get();
        instance.execute(&batch).unwrap();
        assert_eq!(ALLOCATIONS.get() - before, 0, "batches of {batch_size}");
    }
}
