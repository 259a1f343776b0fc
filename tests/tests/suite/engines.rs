//! Promises of every plugin with an engine, by the program's own command line: one suite, in which a further plugin
//! takes part by one line at the end of this file.
//!
//! An engine whose library is not there (ONNX Runtime and OpenCL come with `cargo xtask setup`, CUDA with its
//! hardware), or whose plugin is not built, is skipped with the reason.

mod bad_files;
mod cuda_double;
mod engine;
mod generated;
mod precisions;
mod suite;

use engine::{Engine, PLAIN};

/// The plugin cuda on what there is of NVIDIA's hardware.
const CUDA: Engine = Engine {
    name: "cuda",
    missing: &["there is no CUDA driver", "there is no CUDA device"],
    needs_hardware: true,
    option: "device",
    precisions: &["f32", "f16", "bf16", "int8"],
    counts_copies: false,
    ..PLAIN
};

/// Benchmarks of generated models that the plugin onnx runs.
const OF_ONNX: &[&str] = &[
    "resnet50-tiny",
    "mobilenet-v1-tiny",
    "bert-tiny",
    "bert-tiny-embedding",
    "lstm-stack-tiny",
    "llama-tiny",
    "dlrm-tiny",
    "dlrm-v2-tiny",
    "3d-unet-kits19-tiny",
];

/// The tests of an engine, each with its name: `engines::<engine>::<promise>`.
macro_rules! engine {
    ($name:ident: $engine:expr $(, also $part:ident $further:ident)*) => {
        mod $name {
            use super::*;

            const ENGINE: Engine = $engine;

            engine!(@suite valid_in_single_stream, valid_in_multi_stream, valid_in_server, valid_in_offline, valid_in_a_process_of_its_own,
                the_digits_are_those_of_the_reference, two_instances, batches_of_every_size, the_same_run_twice,
                inputs_are_copied_as_declared, described_without_a_device, handlers_of_signals_are_left_alone, an_unknown_option,
                an_unknown_precision, the_rules_of_the_boundary);
            engine!(@precisions every_precision_keeps_the_accuracy);
            engine!(@bad_files files_that_are_no_models, models_that_are_not_the_benchmarks);
            $(engine!(@$part $further);)*
        }
    };
    (@$part:ident $($promise:ident),*) => {
        $(#[test]
        fn $promise() {
            $part::$promise(&ENGINE);
        })*
    };
}

engine!(
    onnx: Engine {
        name: "onnx",
        missing: &["found no ONNX Runtime"],
        lends_inputs: true,
        precisions: &["f32", "f16", "int8"],
        generated: OF_ONNX,
        ..PLAIN
    },
    also suite scores_become_a_class,
    also suite a_missing_library_says_what_to_install,
    also suite more_threads_than_processors,
    also precisions a_bad_quantisation_fails,
    also generated generated_models_one_by_one,
    also generated generated_models_in_batches
);
engine!(
    candle: Engine {
        name: "candle",
        format: "safetensors",
        precisions: &["f32", "bf16", "f16"],
        ..PLAIN
    },
    also suite the_clothes_are_those_of_the_reference,
    also suite scores_become_a_class,
    also suite more_threads_than_processors,
    also generated generated_models_one_by_one,
    also generated generated_models_in_batches
);
engine!(
    cuda: CUDA,
    also suite scores_become_a_class,
    also suite a_missing_library_says_what_to_install,
    also suite several_batches_in_flight,
    also suite stages_of_a_device,
    also precisions a_bad_quantisation_fails,
    also generated generated_models_one_by_one,
    also generated generated_models_in_batches
);
engine!(
    cuda_over_double: cuda_double::OVER_DOUBLE,
    also suite scores_become_a_class,
    also suite several_batches_in_flight,
    also suite stages_of_a_device,
    also precisions a_bad_quantisation_fails,
    also generated generated_models_one_by_one,
    also generated generated_models_in_batches
);
engine!(
    opencl: Engine {
        name: "opencl",
        missing: &["there is no OpenCL device"],
        option: "device",
        precisions: &["f32", "f16", "bf16", "int8"],
        counts_copies: false,
        ..PLAIN
    },
    also suite scores_become_a_class,
    also suite a_missing_library_says_what_to_install,
    also suite the_clothes_are_those_of_the_reference,
    also suite several_batches_in_flight,
    also suite stages_of_a_device,
    also precisions a_bad_quantisation_fails,
    also generated generated_models_one_by_one,
    also generated generated_models_in_batches
);
engine!(
    cpu_rnn: Engine {
        name: "cpu-rnn",
        models: &["digits-lstm", "digits-mlp"],
        format: "safetensors",
        precisions: &["f32", "bf16", "int8"],
        counts_copies: false,
        ..PLAIN
    },
    also suite more_threads_than_processors
);
