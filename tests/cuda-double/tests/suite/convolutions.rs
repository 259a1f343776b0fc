//! Convolutions by cuDNN's functions.

use std::ffi::c_int;

use crate::{
    Bench,
    cuda::{Cuda, tests},
};

/// Offsets of x, w, y, the bias and the residual in memory, in bytes.
const PLACES: [usize; 5] = [0, 48, 64, 80, 96];

/// The algorithms of the double: without workspace, and with 4096 bytes.
const IMPLICIT: c_int = 0;
const PRECOMPUTED: c_int = 1;

const RELU: c_int = 1;
const IDENTITY: c_int = 5;

/// The convolution of an image of 3 x 3 with a filter of 2 x 2.
pub struct Convolution {
    pub handle: usize,
    /// Of x, y and the bias.
    pub tensors: [usize; 3],
    pub filters: usize,
    pub windows: usize,
    pub activation: usize,
    pub algorithm: c_int,
    pub at: [usize; 5],
    pub workspace: (usize, usize),
}

impl Convolution {
    pub fn new(cuda: &Cuda, bench: &Bench) -> Self {
        let handle = cuda.get(|to| cuda.dnn_create(to));
        assert_eq!(cuda.dnn_set_stream(handle, bench.stream), 0);
        let tensors = [3, 2, 1].map(|extent| {
            let tensor = cuda.get(|to| cuda.dnn_tensor(to));
            assert_eq!(cuda.dnn_set_tensor(tensor, 0, 0, 1, 1, extent, extent), 0);
            tensor
        });
        let filters = cuda.get(|to| cuda.dnn_filters(to));
        assert_eq!(cuda.dnn_set_filters(filters, 0, 0, 1, 1, 2, 2), 0);
        let windows = cuda.get(|to| cuda.dnn_windows(to));
        assert_eq!(cuda.dnn_set_windows(windows, 0, 0, 1, 1, 1, 1, 1, 0), 0);
        assert_eq!((cuda.dnn_set_groups(windows, 1), cuda.dnn_set_math(windows, 3)), (0, 0));
        let activation = cuda.get(|to| cuda.dnn_activation(to));
        assert_eq!(cuda.dnn_set_activation(activation, RELU, 0, 0.0), 0);
        let at = PLACES.map(|place| bench.memory + place);
        Self { handle, tensors, filters, windows, activation, algorithm: IMPLICIT, at, workspace: (0, 0) }
    }

    fn workspace_bytes(&self, cuda: &Cuda, bytes: &mut usize) -> c_int {
        let [x, y, _] = self.tensors;
        cuda.dnn_workspace(self.handle, x, self.filters, self.windows, y, self.algorithm, bytes)
    }

    /// Without an end.
    fn forward(&self, cuda: &Cuda) -> c_int {
        let ([x, y, _], [x_at, w_at, y_at, ..], (workspace, bytes)) = (self.tensors, self.at, self.workspace);
        cuda.dnn_forward(
            self.handle,
            &1.0,
            x,
            x_at,
            self.filters,
            w_at,
            self.windows,
            self.algorithm,
            workspace,
            bytes,
            &0.0,
            y,
            y_at,
        )
    }

    /// With a bias and the activation, and the residual times `beta`.
    fn forward_ended(&self, cuda: &Cuda, beta: f32) -> c_int {
        let ([x, y, bias], [x_at, w_at, y_at, bias_at, z_at]) = (self.tensors, self.at);
        let (workspace, bytes) = self.workspace;
        cuda.dnn_forward_ended(
            self.handle,
            &1.0,
            x,
            x_at,
            self.filters,
            w_at,
            self.windows,
            self.algorithm,
            workspace,
            bytes,
            &beta,
            y,
            z_at,
            bias,
            bias_at,
            self.activation,
            y,
            y_at,
        )
    }

    fn give_back(self, cuda: &Cuda) {
        assert_eq!(self.tensors.map(|tensor| cuda.dnn_tensor_destroy(tensor)), [0; 3]);
        assert_eq!(cuda.dnn_filters_destroy(self.filters), 0);
        assert_eq!(cuda.dnn_windows_destroy(self.windows), 0);
        assert_eq!(cuda.dnn_activation_destroy(self.activation), 0);
        assert_eq!((cuda.synchronize(), cuda.dnn_destroy(self.handle)), (0, 0));
    }
}

/// The tensors: an image from 1 to 9, a filter with the sum of its diagonal, a bias of -10 and a residual.
fn fill(cuda: &Cuda, bench: &Bench) {
    let mut numbers = [0.0_f32; 28];
    (0..9).for_each(|at| numbers[at] = 1.0 + f32::from(u8::try_from(at).unwrap()));
    numbers[12..16].copy_from_slice(&[1.0, 0.0, 0.0, 1.0]);
    numbers[20] = -10.0;
    numbers[24..28].copy_from_slice(&[1.0, 2.0, 3.0, -100.0]);
    assert_eq!(cuda.copy_in(bench.memory, numbers.as_ptr(), 4 * 28, bench.stream), 0);
}

tests! { "convolutions::"
    convolutions_are_computed_in_their_place_in_the_stream says nothing |cuda, bench, convolution: Convolution| {
        fill(cuda, &bench);
        assert_eq!(convolution.forward(cuda), 0);
        assert_eq!(bench.numbers(cuda)[16..20], [6.0, 8.0, 12.0, 14.0]);
        assert_eq!(convolution.forward_ended(cuda, 0.0), 0);
        bench.launch(cuda, 1.0);
        assert_eq!(bench.numbers(cuda)[16..20], [1.0, 1.0, 3.0, 5.0]);
        fill(cuda, &bench);
        // Without an activation, by the one algorithm that does.
        assert_eq!(cuda.dnn_set_activation(convolution.activation, IDENTITY, 0, 0.0), 0);
        convolution.algorithm = PRECOMPUTED;
        let mut bytes = 0;
        assert_eq!((convolution.workspace_bytes(cuda, &mut bytes), bytes), (0, 4096));
        let workspace = cuda.memory(1024);
        convolution.workspace = (workspace, bytes);
        assert_eq!(convolution.forward_ended(cuda, 1.0), 0);
        assert_eq!(bench.numbers(cuda)[16..20], [-3.0, 0.0, 5.0, -96.0]);
        assert_eq!(cuda.free(workspace), 0);
    }

    the_heuristic_lists_algorithms_with_their_status says nothing |cuda, bench, convolution: Convolution| {
        let [x, y, _] = convolution.tensors;
        // 48 bytes each: the algorithm first, and then its status.
        let (mut proposals, mut count) = ([[-1_i32; 12]; 8], 0);
        let (filters, windows) = (convolution.filters, convolution.windows);
        let to = proposals.as_mut_ptr().cast();
        assert_eq!(cuda.dnn_algorithms(convolution.handle, x, filters, windows, y, 8, &raw mut count, to), 0);
        let found: Vec<_> = proposals.iter().take(4).map(|proposal| [proposal[0], proposal[1]]).collect();
        assert_eq!(
            (count, found.as_slice()),
            (3, &[[4, 3000], [PRECOMPUTED, 0], [IMPLICIT, 0], [-1, -1]][..])
        );
    }

    convolutions_are_captured says nothing |cuda, bench, convolution: Convolution| {
        fill(cuda, &bench);
        assert_eq!(cuda.begin_capture(bench.stream, 1), 0);
        assert_eq!(convolution.forward(cuda), 0);
        let graph = cuda.get(|to| cuda.end_capture(bench.stream, to));
        let executable = cuda.get(|to| cuda.instantiate(to, graph, 0));
        assert_eq!(bench.numbers(cuda)[16..20], [0.0; 4]);
        assert_eq!(cuda.graph_launch(executable, bench.stream), 0);
        assert_eq!(bench.numbers(cuda)[16..20], [6.0, 8.0, 12.0, 14.0]);
        assert_eq!((cuda.executable_destroy(executable), cuda.graph_destroy(graph)), (0, 0));
    }

    a_convolution_that_is_not_supported_is_no_mistake says nothing with ("CUDA_DOUBLE_CONVOLUTIONS", "1") |cuda, bench, convolution: Convolution| {
        assert_eq!([0, 0].map(|mut bytes| convolution.workspace_bytes(cuda, &mut bytes)), [0, 3000]);
    }

    a_convolution_without_a_stream says "the handle has no stream" |cuda, bench, convolution: Convolution| {
        assert_eq!(cuda.dnn_destroy(convolution.handle), 0);
        convolution.handle = cuda.get(|to| cuda.dnn_create(to));
        assert_eq!(convolution.forward(cuda), 2000);
    }

    a_stream_that_is_gone_before_the_handle says "the stream of the handle is gone before it" |cuda, bench| {
        let stream = cuda.stream();
        let handle = cuda.get(|to| cuda.dnn_create(to));
        assert_eq!((cuda.dnn_set_stream(handle, stream), cuda.stream_destroy(stream)), (0, 0));
        assert_eq!(cuda.dnn_destroy(handle), 2000);
        assert_eq!((cuda.dnn_set_stream(handle, bench.stream), cuda.dnn_destroy(handle)), (0, 0));
    }

    a_handle_that_is_destroyed_too_early says "work in a stream is a convolution of this handle" |cuda, bench, convolution: Convolution| {
        assert_eq!(convolution.forward(cuda), 0);
        assert_eq!(cuda.dnn_destroy(convolution.handle), 2000);
    }

    a_handle_that_is_made_during_a_capture says "not allowed while a stream is captured" |cuda, bench| {
        assert_eq!(cuda.begin_capture(bench.stream, 1), 0);
        assert_eq!(cuda.dnn_create(&mut 0), 5000);
        assert_eq!(cuda.end_capture(bench.stream, &mut 0), 901);
    }

    a_descriptor_that_was_not_set says "a descriptor was not set" |cuda, bench, convolution: Convolution| {
        assert_eq!(cuda.dnn_tensor_destroy(convolution.tensors[0]), 0);
        convolution.tensors[0] = cuda.get(|to| cuda.dnn_tensor(to));
        assert_eq!(convolution.forward(cuda), 2000);
    }

    a_descriptor_that_is_gone says "no such descriptor" |cuda, bench, convolution: Convolution| {
        assert_eq!(cuda.dnn_filters_destroy(convolution.filters), 0);
        assert_eq!(convolution.forward(cuda), 2000);
        convolution.filters = cuda.get(|to| cuda.dnn_filters(to));
    }

    results_of_another_shape says "results of [1, 1, 3, 3], not [2, 2]" |cuda, bench, convolution: Convolution| {
        assert_eq!(cuda.dnn_set_tensor(convolution.tensors[1], 0, 0, 1, 1, 3, 3), 0);
        assert_eq!(convolution.forward(cuda), 2000);
    }

    channels_in_groups_that_do_not_fit says "1 filters of 1 of 1 channels in 2 groups" |cuda, bench, convolution: Convolution| {
        assert_eq!(cuda.dnn_set_groups(convolution.windows, 2), 0);
        assert_eq!(convolution.forward(cuda), 2000);
    }

    too_little_workspace says "4095 bytes of workspace are too few" |cuda, bench, convolution: Convolution| {
        convolution.algorithm = PRECOMPUTED;
        convolution.workspace = (bench.memory, 4095);
        assert_eq!(convolution.forward(cuda), 2000);
    }

    a_tensor_that_is_not_aligned says "w is not aligned to 16 bytes" |cuda, bench, convolution: Convolution| {
        convolution.at[1] += 4;
        assert_eq!(convolution.forward(cuda), 2000);
    }

    a_tensor_beyond_memory says "x: 20 bytes are beyond the memory" |cuda, bench, convolution: Convolution| {
        convolution.at[0] += 384;
        assert_eq!(convolution.forward(cuda), 2000);
    }

    a_result_over_the_image says "y overlaps x" |cuda, bench, convolution: Convolution| {
        convolution.at[2] = convolution.at[0];
        assert_eq!(convolution.forward(cuda), 2000);
    }

    a_bias_of_another_shape says "for 1 filters" |cuda, bench, convolution: Convolution| {
        assert_eq!(cuda.dnn_set_tensor(convolution.tensors[2], 0, 0, 1, 2, 1, 1), 0);
        assert_eq!(convolution.forward_ended(cuda, 0.0), 2000);
    }

    an_algorithm_that_is_none_of_its_own says "algorithm 4 does not compute this" |cuda, bench, convolution: Convolution| {
        convolution.algorithm = 4;
        assert_eq!(convolution.forward(cuda), 3000);
    }

    no_activation_by_another_algorithm says "no activation with algorithm 0" |cuda, bench, convolution: Convolution| {
        assert_eq!(cuda.dnn_set_activation(convolution.activation, IDENTITY, 0, 0.0), 0);
        assert_eq!(convolution.forward_ended(cuda, 0.0), 3000);
    }

    an_activation_that_ends_no_convolution says "activation 2 ends no convolution" |cuda, bench, convolution: Convolution| {
        assert_eq!(cuda.dnn_set_activation(convolution.activation, 2, 0, 0.0), 0);
        assert_eq!(convolution.forward_ended(cuda, 0.0), 2000);
    }

    memory_that_is_freed_under_a_convolution says "work in a stream uses this memory" |cuda, bench, convolution: Convolution| {
        assert_eq!(cuda.stream_synchronize(bench.stream), 0);
        assert_eq!(convolution.forward(cuda), 0);
        assert_eq!(cuda.free(bench.memory), 1);
    }

    what_is_not_given_back says "1 handles of cuDNN, 1 descriptors of tensors, 1 descriptors of filters" |cuda, bench| {
        cuda.get::<usize>(|to| cuda.dnn_create(to));
        cuda.get::<usize>(|to| cuda.dnn_tensor(to));
        cuda.get::<usize>(|to| cuda.dnn_filters(to));
    }
}
