//! Products by cuBLASLt's functions.

use std::ffi::{c_int, c_void};

use crate::{
    BYTES, Bench,
    cuda::{Cuda, tests},
};

/// Offsets of A, B, D, the bias and the workspace in memory, in bytes.
const PLACES: [usize; 4] = [0, 32, 64, 96];

/// The product of a matrix of 2 x 3 and one of 3 x 2, column by column, with a bias and no negative result.
pub struct Product {
    pub handle: usize,
    pub description: usize,
    pub layouts: [usize; 3],
    pub preference: usize,
    /// As the heuristic writes it: the algorithm in the first 64 bytes.
    pub proposal: [u64; 12],
    pub at: [usize; 3],
    pub workspace: (usize, usize),
}

impl Product {
    pub fn new(cuda: &Cuda, bench: &Bench) -> Self {
        let handle = cuda.get(|to| cuda.lt_create(to));
        let description = cuda.get(|to| cuda.lt_description(to, 68, 0));
        let [a, b, d, bias] = PLACES.map(|place| bench.memory + place);
        let layouts = [(2, 3), (3, 2), (2, 2)]
            .map(|(rows, columns)| cuda.get(|to| cuda.lt_layout(to, 0, rows, columns, rows.cast_signed())));
        let preference = cuda.get(|to| cuda.lt_preference(to));
        let mut product = Self {
            handle,
            description,
            layouts,
            preference,
            proposal: [0; 12],
            at: [a, b, d],
            workspace: (0, 0),
        };
        product.describe(cuda, 7, 6_u32);
        product.describe(cuda, 8, bias as u64);
        for attribute in 5..9 {
            product.prefer(cuda, attribute, 32_u32);
        }
        assert_eq!(product.ask(cuda), (0, 1));
        product
    }

    /// Sets an attribute of the description.
    pub fn describe<T>(&self, cuda: &Cuda, attribute: c_int, value: T) {
        let value: *const c_void = (&raw const value).cast();
        assert_eq!(cuda.lt_describe(self.description, attribute, value, size_of::<T>()), 0);
    }

    pub fn prefer<T>(&self, cuda: &Cuda, attribute: c_int, value: T) {
        let value: *const c_void = (&raw const value).cast();
        assert_eq!(cuda.lt_prefer(self.preference, attribute, value, size_of::<T>()), 0);
    }

    /// Asks the heuristic. Returns its status, and how many algorithms it has found.
    pub fn ask(&mut self, cuda: &Cuda) -> (c_int, c_int) {
        let ([a, b, d], mut count) = (self.layouts, 0);
        let status = cuda.lt_heuristic(
            self.handle,
            self.description,
            a,
            b,
            d,
            d,
            self.preference,
            1,
            self.proposal.as_mut_ptr().cast(),
            &raw mut count,
        );
        (status, count)
    }

    pub fn multiply(&self, cuda: &Cuda, stream: usize) -> c_int {
        let ([a, b, d], [a_at, b_at, d_at]) = (self.layouts, self.at);
        let algorithm = self.proposal.as_ptr().cast();
        let (workspace, bytes) = self.workspace;
        cuda.lt_multiply(
            self.handle,
            self.description,
            &1.0,
            a_at,
            a,
            b_at,
            b,
            &0.0,
            d_at,
            d,
            d_at,
            d,
            algorithm,
            workspace,
            bytes,
            stream,
        )
    }

    pub fn give_back(self, cuda: &Cuda) {
        assert_eq!(self.layouts.map(|layout| cuda.lt_layout_destroy(layout)), [0; 3]);
        assert_eq!(cuda.lt_description_destroy(self.description), 0);
        assert_eq!(cuda.lt_preference_destroy(self.preference), 0);
        assert_eq!((cuda.synchronize(), cuda.lt_destroy(self.handle)), (0, 0));
    }
}

/// A, B and the bias of a product.
fn fill(cuda: &Cuda, bench: &Bench) {
    let mut numbers = [9.0_f32; 28];
    numbers[..6].copy_from_slice(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    numbers[8..14].copy_from_slice(&[1.0, 0.0, 0.0, 0.0, 1.0, -2.0]);
    numbers[24..26].copy_from_slice(&[0.5, -100.0]);
    assert_eq!(cuda.copy_in(bench.memory, numbers.as_ptr(), 4 * 28, bench.stream), 0);
}

tests! { "products::"
    products_are_computed_in_their_place_in_the_stream says nothing |cuda, bench, product: Product| {
        fill(cuda, &bench);
        assert_eq!(product.multiply(cuda, bench.stream), 0);
        bench.launch(cuda, 1.0);
        // A B = [1 -7; 2 -8], to which 0.5 and -100 are added by row.
        assert_eq!(bench.numbers(cuda)[16..20], [2.5, 1.0, 1.0, 1.0]);
    }

    products_are_captured_and_follow_transpositions says nothing |cuda, bench, product: Product| {
        fill(cuda, &bench);
        // A', which lies as 3 x 2.
        assert_eq!(cuda.lt_layout_destroy(product.layouts[0]), 0);
        product.layouts[0] = cuda.get(|to| cuda.lt_layout(to, 0, 3, 2, 3));
        product.describe(cuda, 3, 1_u32);
        product.describe(cuda, 7, 1_u32);
        assert_eq!(product.ask(cuda), (0, 1));
        assert_eq!(cuda.begin_capture(bench.stream, 1), 0);
        assert_eq!(product.multiply(cuda, bench.stream), 0);
        let graph = cuda.get(|to| cuda.end_capture(bench.stream, to));
        let executable = cuda.get(|to| cuda.instantiate(to, graph, 0));
        assert_eq!(bench.numbers(cuda)[16..20], [9.0; 4]);
        assert_eq!(cuda.graph_launch(executable, bench.stream), 0);
        // [1 2 3; 4 5 6] by the columns (1, 0, 0) and (0, 1, -2).
        assert_eq!(bench.numbers(cuda)[16..20], [1.0, 4.0, -4.0, -7.0]);
        assert_eq!((cuda.executable_destroy(executable), cuda.graph_destroy(graph)), (0, 0));
    }

    types_that_the_library_does_not_have_are_no_mistake says nothing with ("CUDA_DOUBLE_ALGORITHMS", "1") |cuda, bench, product: Product| {
        assert_eq!(product.ask(cuda), (0, 0), "the heuristic has one algorithm, as was asked for");
        assert_eq!(cuda.lt_layout_destroy(product.layouts[2]), 0);
        product.layouts[2] = cuda.get(|to| cuda.lt_layout(to, 2, 2, 2, 2));
        assert_eq!(product.ask(cuda).0, 15);
    }

    a_product_in_a_stream_keeps_its_memory says "work in a stream uses this memory" |cuda, bench, product: Product| {
        assert_eq!(cuda.stream_synchronize(bench.stream), 0);
        assert_eq!(product.multiply(cuda, bench.stream), 0);
        assert_eq!(cuda.free(bench.memory), 1);
        assert_eq!(bench.numbers(cuda).len() * 4, BYTES);
    }
}
