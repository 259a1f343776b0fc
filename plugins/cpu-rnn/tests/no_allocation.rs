//! Running a batch allocates nothing of our own.
//!
//! `gemm` itself takes a small block for each product of two proper matrices, and another to pack an operand whose
//! width is no multiple of its registers; a product of a matrix and a vector takes none.

mod common;

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

use common::{Architecture, Random, instance, load};
use cpu_rnn_sut::GruReset;

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

/// Layers times directions of the model under test.
const DIRECTION_COUNT: u64 = 4;

fn allocations(prefix: &'static str, time: usize, batch_size: usize) -> u64 {
    let architecture = Architecture {
        prefix,
        layer_count: 2,
        bidirectional: true,
        input_count: 8,
        hidden_count: 64,
        output_count: 10,
    };
    let model = load(&architecture.weights(1), GruReset::BeforeProduct);
    let mut instance = instance(model, time, batch_size, 1);
    let samples = Random(2).samples(batch_size, time * 8);
    let mut run = || drop(instance.execute(samples.iter().map(Vec::as_slice)).expect("the batch fits"));
    // The first call finds out which kernels the processor has.
    run();
    let before = ALLOCATIONS.get();
    run();
    ALLOCATIONS.get() - before
}

#[test]
fn nothing_is_allocated_where_every_product_is_of_a_matrix_and_a_vector() {
    assert_eq!(allocations("lstm", 1, 1), 0);
    assert_eq!(allocations("gru", 1, 1), 0);
}

#[test]
fn a_batch_allocates_what_its_matrix_products_allocate() {
    let time = 8;
    for (prefix, products_per_step) in [("lstm", 1), ("gru", 2)] {
        let products = DIRECTION_COUNT * (1 + time * products_per_step) + 1;
        let count = allocations(prefix, time as usize, 20);
        assert!(count <= 2 * products, "{count} allocations in {products} products");
    }
}
