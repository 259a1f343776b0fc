//! Programs of real models, without a device.

use std::path::{Path, PathBuf};

use proctor_vocabulary::ElementType::{self, F16, F32};

use super::{
    call::{KernelCall, Work},
    library::{Activation, ConvolutionEnd, ProductCall},
    *,
};
use crate::{
    evaluate,
    graph::{Node, Value},
    op::Op,
    passes,
    read::Source,
    tensor::Array,
};

fn graph(file: &Path, batch_size: usize, narrowed: Option<ElementType>) -> Graph {
    let source = Source::open(file).unwrap();
    let mut graph = source.graph(&source.input_shapes(batch_size, batch_size).unwrap()).unwrap();
    passes::apply(&mut graph, narrowed).unwrap();
    graph
}

fn digits(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../datasets/digits").join(file)
}

fn program(file: &str, batch_size: usize, tuning: Tuning) -> Program {
    Program::new(&graph(&digits(file), batch_size, None), tuning).unwrap()
}

#[test]
fn bias_activation_and_other_sums_end_the_product_before_them() {
    let calls = |file| -> Vec<&'static str> {
        program(file, 1, Tuning::PROCESSOR)
            .calls()
            .iter()
            .map(|call| call.kernel().unwrap().kernel.function)
            .collect()
    };
    assert_eq!(calls("digits-mlp.onnx"), ["gemm", "gemm", "gemm"]);
    assert_eq!(calls("digits-cnn.onnx"), ["columns", "gemm", "columns", "gemm", "pool", "gemm"]);
}

/// A multiplication and an addition for each weight and sample.
#[test]
fn operations_are_counted_one_by_one() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../datasets/digits/digits-mlp.onnx");
    let source = Source::open(&path).unwrap();
    let graph = source.graph(&source.input_shapes(5, 5).unwrap()).unwrap();
    let weights = graph.values.iter().filter(|value| value.constant.is_some() && value.shape.len() == 2);
    let weight_count: usize = weights.map(|value| value.shape.iter().product::<usize>()).sum();
    assert!(weight_count > 1000, "{weight_count}");
    let operations = program("digits-mlp.onnx", 5, Tuning::GPU).operations();
    assert_eq!(operations, 2 * 5 * weight_count as u64);
}

/// Holds the places of buffers against the calls that use them, between the first and the last.
fn assert_no_overlap(program: &Program, layout: &Layout) {
    let end = program.calls().len() + 1;
    let used = |number: usize| {
        let uses = program
            .calls()
            .iter()
            .enumerate()
            .filter(|(_, call)| call.buffers().iter().any(|id| id.0 == number));
        let calls: Vec<usize> = uses.map(|(at, _)| at).collect();
        let is_output = program.outputs().iter().any(|view| view.buffer.0 == number);
        let is_input = program.inputs().iter().any(|id| id.0 == number);
        let first = if is_input { Some(0) } else { calls.first().copied() };
        let last = if is_output { Some(end) } else { calls.last().copied() };
        first.zip(last.or(first))
    };
    let scratch = |number: &usize| !matches!(program.buffers()[*number].contents, Contents::Constant(_));
    let numbers: Vec<usize> = (0..program.buffers().len()).filter(scratch).collect();
    for (at, one) in numbers.iter().enumerate() {
        for other in &numbers[..at] {
            let (Some((from, to)), Some((begin, end))) = (used(*one), used(*other)) else { continue };
            let range = |number: usize| {
                layout.offsets[number]..layout.offsets[number] + program.buffers()[number].bytes + SLACK_BYTES
            };
            let (here, there) = (range(*one), range(*other));
            let is_apart = here.end <= there.start || there.end <= here.start;
            assert!(
                is_apart || to < begin || end < from,
                "buffers {one} and {other} at {here:?} and {there:?}"
            );
        }
    }
}

#[test]
fn constants_that_were_packed_are_there_once() {
    let bytes: usize = program("digits-mlp.onnx", 4, Tuning::PROCESSOR)
        .buffers()
        .iter()
        .filter(|buffer| matches!(buffer.contents, Contents::Constant(_)))
        .map(|buffer| buffer.bytes)
        .sum();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../datasets/digits/digits-mlp.onnx");
    let file_bytes = usize::try_from(std::fs::metadata(file).unwrap().len()).unwrap();
    // Panels are filled up with zeros.
    assert!(bytes < file_bytes * 3 / 2, "{bytes} of constants, {file_bytes} in the file");
}

#[test]
fn buffers_that_are_in_use_together_lie_apart() {
    for tuning in [Tuning::PROCESSOR, Tuning::GPU] {
        let program = program("digits-cnn.onnx", 5, tuning);
        let layout = program.layout();
        assert!(layout.offsets.iter().all(|offset| offset.is_multiple_of(memory::ALIGNMENT)));
        assert!(layout.bytes >= 2 * memory::ALIGNMENT, "{} bytes", layout.bytes);
        assert_no_overlap(&program, &layout);
        for call in program.calls() {
            let KernelCall { items, group, .. } = call.kernel().unwrap();
            assert!(items.iter().zip(group).all(|(items, group)| items.is_multiple_of(*group)));
            let buffers = call.buffers().len();
            assert!(buffers >= 2, "{}", call.label);
        }
    }
}

#[test]
fn a_graph_that_is_simplified_means_the_same() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["mobilenet-v1-tiny", "resnet50-tiny", "bert-tiny", "llama-tiny"] {
        let made = proctor_recipes::make_model(name, folder.path(), &mut |_, _| ()).unwrap();
        let source = Source::open(&made.file("onnx").unwrap().path).unwrap();
        let mut graph = source.graph(&source.input_shapes(2, 2).unwrap()).unwrap();
        let inputs: Vec<Array> = (graph.inputs().iter())
            .map(|id| {
                let value = graph.value(*id);
                let count: usize = value.shape.iter().product();
                match crate::tensor::is_real(value.element) {
                    Ok(true) => {
                        let values = (0..count).map(|at| (at % 17) as f64 / 17.0 - 0.4).collect();
                        Array::real(value.element, &value.shape, values)
                    }
                    _ => Array::integer(
                        value.element,
                        &value.shape,
                        (0..count).map(|at| (at % 2) as i64).collect(),
                    ),
                }
            })
            .collect();
        let before = evaluate::run(&graph, &inputs).unwrap();
        let nodes = graph.nodes().len();
        passes::apply(&mut graph, None).unwrap();
        assert!(["bert-tiny", "llama-tiny"].contains(&name) || graph.nodes().len() < nodes, "{name}");
        for (before, after) in before.iter().zip(evaluate::run(&graph, &inputs).unwrap()) {
            for (before, after) in before.reals().unwrap().iter().zip(after.reals().unwrap()) {
                // Weights are rounded to f32 once more.
                assert!((before - after).abs() < 1e-5, "{name}: {before} and {after}");
            }
        }
        Program::new(&graph, Tuning::GPU).unwrap();
    }
}

#[test]
fn a_library_gets_matrices_as_they_lie_and_the_ends_that_it_knows() {
    let tuning = Tuning { has_library: true, ..Tuning::GPU };
    let calls = |file| -> Vec<(&'static str, Option<(bool, Activation)>)> {
        let of = |call: &Call| {
            let call = call.kernel().unwrap();
            let product = call.product.as_ref().map(|call| &call.product);
            (call.kernel.function, product.map(|product| (product.bias.is_some(), product.activation)))
        };
        program(file, 3, tuning).calls().iter().map(of).collect()
    };
    let relu = ("gemm", Some((true, Activation::Relu)));
    let last = ("gemm", Some((true, Activation::None)));
    assert_eq!(calls("digits-mlp.onnx"), [relu, relu, last]);
    // The bias of a convolution belongs to rows.
    let alone = ("gemm", Some((false, Activation::None)));
    let (columns, end) = (("columns", None), ("elementwise", None));
    assert_eq!(calls("digits-cnn.onnx"), [columns, alone, end, columns, alone, end, ("pool", None), last]);
    assert!(
        program("digits-mlp.onnx", 3, Tuning::GPU).calls().iter().all(|call| call
            .kernel()
            .unwrap()
            .product
            .is_none())
    );
}

#[test]
fn matrices_for_a_library_are_within_their_buffers() {
    let tuning = Tuning { has_library: true, ..Tuning::GPU };
    for file in ["digits-mlp.onnx", "digits-cnn.onnx", "digits-lstm.onnx"] {
        let program = program(file, 5, tuning);
        let mut products = 0;
        for call in program.calls() {
            let Some(ProductCall { product, buffers }) = &call.kernel().unwrap().product else { continue };
            products += 1;
            let [m, n, k] = product.extents;
            let [outer, inner] = product.stack;
            for (matrix, rows, columns, buffer) in
                [(product.a, m, k, buffers[0]), (product.b, k, n, buffers[1]), (product.c, m, n, buffers[2])]
            {
                let steps = [
                    (rows, matrix.row),
                    (columns, matrix.column),
                    (outer, matrix.outer),
                    (inner, matrix.inner),
                ];
                let last = steps.iter().map(|(count, stride)| (count - 1) * stride.unsigned_abs());
                let end = matrix.element.bytes_of(matrix.offset + last.sum::<usize>() + 1);
                assert!(end <= program.buffers()[buffer.0].bytes, "{}: {matrix:?}", call.label);
            }
        }
        assert!(products > 0, "{file}");
    }
}

/// The convolutions of a program for a library that takes all, and the kernels between them.
fn with_library(graph: &Graph) -> (Program, Vec<Convolution>, Vec<&'static str>) {
    let program = Program::with_library(graph, Tuning::GPU, &mut |_| true).unwrap();
    let (mut convolutions, mut kernels) = (Vec::new(), Vec::new());
    for call in program.calls() {
        match &call.work {
            Work::Convolution(call) => convolutions.push(call.convolution),
            Work::Kernel(call) => kernels.push(call.kernel.function),
        }
    }
    (program, convolutions, kernels)
}

#[test]
fn a_library_takes_convolutions_whole_with_their_ends() {
    let graph_of_digits = graph(&digits("digits-cnn.onnx"), 3, None);
    let (program, convolutions, kernels) = with_library(&graph_of_digits);
    assert_eq!(kernels, ["pool", "gemm"]);
    let end = ConvolutionEnd { bias: 0, residual: None, is_rectified: true };
    assert!(convolutions.len() == 2 && convolutions.iter().all(|it| it.end == Some(end)), "{convolutions:?}");
    let layout = program.layout();
    assert_no_overlap(&program, &layout);
    let own = Program::new(&graph_of_digits, Tuning::GPU).unwrap();
    assert_eq!(program.operations(), own.operations());
    // No windows are laid out.
    assert!(layout.bytes < own.layout().bytes, "{} and {} bytes", layout.bytes, own.layout().bytes);
}

#[test]
fn residuals_and_rounded_models_fit_a_library_too() {
    let folder = tempfile::tempdir().unwrap();
    let made = proctor_recipes::make_model("resnet50-tiny", folder.path(), &mut |_, _| ()).unwrap();
    let file = &made.file("onnx").unwrap().path;
    for (narrowed, element) in [(None, ElementType::F32), (Some(ElementType::F16), ElementType::F16)] {
        let (program, convolutions, kernels) = with_library(&graph(file, 2, narrowed));
        assert!(!kernels.contains(&"columns"), "{kernels:?}");
        let count = |fits: &dyn Fn(ConvolutionEnd) -> bool| {
            convolutions.iter().filter(|it| it.end.is_some_and(fits)).count()
        };
        // Each block ends with a sum and Relu; its other convolutions have only a bias.
        let residuals = count(&|end| end.residual.is_some() && end.is_rectified);
        let alone = count(&|end| end.residual.is_none() && !end.is_rectified);
        assert!(residuals > 0 && alone > 0, "{convolutions:?}");
        assert_eq!(count(&|_| true), convolutions.len());
        assert!(convolutions.iter().all(|it| it.element == element));
        assert_no_overlap(&program, &program.layout());
    }
}

#[test]
fn what_a_library_refuses_is_the_kernels() {
    let graph = graph(&digits("digits-cnn.onnx"), 3, None);
    let mut asked = Vec::new();
    let program = Program::with_library(&graph, Tuning::GPU, &mut |convolution| {
        asked.push(*convolution);
        convolution.end.is_none() && convolution.images[1] == 1
    });
    let kernels = |call: &Call| call.kernel().map(|call| call.kernel.function);
    let kernels: Vec<_> = program.unwrap().calls().iter().map(kernels).collect();
    // The first convolution without its end, the second not at all.
    let expected = [None, Some("elementwise"), Some("columns"), Some("gemm"), Some("pool"), Some("gemm")];
    assert_eq!(kernels, expected);
    assert_eq!(asked.iter().map(|it| it.end.is_some()).collect::<Vec<_>>(), [true, false, true, false]);
}

/// Functions of the kernels that compute attention of two heads of this width to 50 keys.
fn attention(rows: usize, head: usize, element: ElementType, tuning: Tuning) -> Vec<&'static str> {
    attention_by(1.0, rows, head, element, tuning)
}

fn attention_by(
    scale: f64,
    rows: usize,
    head: usize,
    element: ElementType,
    tuning: Tuning,
) -> Vec<&'static str> {
    let mut graph = Graph::default();
    let mut value =
        |shape: [usize; 3]| graph.add_value(Value { element, shape: shape.to_vec(), constant: None });
    let shapes = [[2, rows, head], [2, 50, head], [2, 50, head]];
    let (inputs, result) = (shapes.map(&mut value), value([2, rows, head]));
    let label = "attention".to_owned();
    let (op, operands) = (Op::Attention { scale }, inputs.iter().copied().map(Some).collect());
    graph.nodes = vec![Node { label, op, inputs: operands, outputs: vec![Some(result)] }];
    (graph.inputs, graph.outputs) = (inputs.to_vec(), vec![result]);
    let program = Program::new(&graph, tuning).unwrap();
    let operations = program.operations();
    assert_eq!(operations, (2 * 2 * rows * 50 * 2 * head) as u64);
    program.calls().iter().filter_map(Call::kernel).map(|call| call.kernel.function).collect()
}

#[test]
fn attention_is_one_call_where_that_is_faster() {
    let library = Tuning { has_library: true, ..Tuning::GPU };
    // Keys are turned for the product.
    let parts = ["elementwise", "gemm", "softmax", "gemm"];
    for tuning in [Tuning::PROCESSOR, Tuning::GPU, library] {
        assert_eq!(attention(40, 64, F32, tuning), ["attention"]);
        assert_eq!(attention(1, 64, F32, tuning), parts);
        assert_eq!(attention(40, 64, F32, Tuning { attention_rows: 0, ..tuning }), parts);
    }
    assert_eq!(attention(40, 64, F16, Tuning::GPU), ["attention"]);
    assert_eq!(attention(40, 64, F16, library), parts);
    // Queries are scaled before the product, which f16 might not hold.
    assert_eq!(attention_by(0.125, 40, 64, F16, library), [&["elementwise"], &parts[..]].concat());
}

#[test]
fn attention_shares_no_more_than_every_device_has() {
    // Fewer rows at a time the wider a head is.
    for head in [128, 400] {
        assert_eq!(attention(40, head, F32, Tuning::GPU), ["attention"]);
    }
    assert_eq!(attention(40, 1200, F32, Tuning::GPU).len(), 4);
}
