//! Recurrent layers on a device beside what they mean.

#![expect(clippy::unwrap_used, reason = "a helper that cannot go on fails the test")]

mod common;

use std::path::Path;

use common::{Random, check, device};
use opencl_sut::OpenCl;
use proctor_device::{
    graph::Graph,
    program::{Program, Tuning},
    read::Source,
    tensor::Array,
};
use proctor_onnx_file::{Attribute, Dim, GraphBuilder};
use proctor_vocabulary::ElementType::{F32, I32};

/// Items in groups as on a graphics processor, here so few that the units of a layer make several panels.
const GROUPS: Tuning = Tuning { recurrent_group: 8, ..Tuning::GPU };

/// As many calls as steps, for layers of any size.
const STEPS: Tuning = Tuning { recurrent_step_bytes: 0, recurrent_step_group: 4, ..GROUPS };

/// A layer to build.
#[derive(Debug, Clone)]
struct Layer {
    operator: &'static str,
    resets_after: bool,
    direction: &'static str,
    hidden: usize,
    batch: usize,
    steps: usize,
    has_bias: bool,
    has_first_states: bool,
    has_peepholes: bool,
    clip: Option<f32>,
    lengths: Option<Vec<i32>>,
    is_batch_first: bool,
    /// Of the results Y, Y_h and Y_c: whether they are wanted.
    wanted: [bool; 3],
}

/// An LSTM of which nothing is left out that has to be there.
const PLAIN: Layer = Layer {
    operator: "LSTM",
    resets_after: false,
    direction: "forward",
    hidden: 16,
    batch: 2,
    steps: 7,
    has_bias: true,
    has_first_states: false,
    has_peepholes: false,
    clip: None,
    lengths: None,
    is_batch_first: false,
    wanted: [true; 3],
};

impl Layer {
    /// A graph of the layer, with its inputs.
    fn graph(&self, random: &mut Random) -> (Graph, Vec<Array>) {
        const WIDTH: usize = 5;
        let &Self { hidden, batch, steps, .. } = self;
        let directions = if self.direction == "bidirectional" { 2 } else { 1 };
        let rows = hidden * if self.operator == "LSTM" { 4 } else { 3 };
        let mut builder = GraphBuilder::new("layer");
        let mut shapes = Vec::new();
        let mut inputs = Vec::new();
        let mut input = |builder: &mut GraphBuilder, name: &str, shape: &[usize], random: &mut Random| {
            builder.input(name, F32, &Dim::fixed(shape));
            let numbers = random.numbers(shape.iter().product());
            inputs.push(Array::real(F32, shape, numbers.into_iter().map(f64::from).collect()));
            shapes.push(shape.to_vec());
            name.to_owned()
        };
        let swapped = |by_step: [usize; 3]| match self.is_batch_first {
            true => vec![by_step[1], by_step[0], by_step[2]],
            false => by_step.to_vec(),
        };
        let x = input(&mut builder, "x", &swapped([steps, batch, WIDTH]), random);
        let constant = |builder: &mut GraphBuilder, name: &str, shape: &[usize], random: &mut Random| {
            builder.constant(name, shape, &random.numbers(shape.iter().product()))
        };
        let w = constant(&mut builder, "w", &[directions, rows, WIDTH], random);
        let r = constant(&mut builder, "r", &[directions, rows, hidden], random);
        let mut operands = vec![x, w, r, String::new(), String::new(), String::new()];
        if self.has_bias {
            operands[3] = constant(&mut builder, "b", &[directions, 2 * rows], random);
        }
        if let Some(lengths) = &self.lengths {
            let bytes = lengths.iter().flat_map(|length| length.to_le_bytes()).collect();
            operands[4] = builder.constant_of("lengths", I32, &[batch], bytes);
        }
        let states = swapped([directions, batch, hidden]);
        if self.has_first_states {
            operands[5] = input(&mut builder, "h", &states, random);
        }
        let mut attributes: Vec<(&str, Attribute)> = vec![("direction", self.direction.into())];
        attributes.push(("hidden_size", i64::try_from(hidden).unwrap().into()));
        attributes.extend(self.is_batch_first.then_some(("layout", 1.into())));
        attributes.extend(self.clip.map(|clip| ("clip", clip.into())));
        let mut count = 2;
        if self.operator == "LSTM" {
            count = 3;
            operands.extend([String::new(), String::new()]);
            if self.has_first_states {
                // One that is known when the model is loaded.
                operands[6] = constant(&mut builder, "c", &states, random);
            }
            if self.has_peepholes {
                operands[7] = constant(&mut builder, "p", &[directions, 3 * hidden], random);
            }
        } else {
            attributes.push(("linear_before_reset", i64::from(self.resets_after).into()));
        }
        let operands: Vec<&str> = operands.iter().map(String::as_str).collect();
        let results = builder.node_of_many(self.operator, "layer", &operands, count, &attributes);
        for (result, _) in results.iter().zip(self.wanted).filter(|(_, is_wanted)| *is_wanted) {
            builder.output(result, F32, &[]);
        }
        let source = Source::from_bytes(Path::new("layer.onnx"), &builder.into_bytes()).unwrap();
        (source.graph(&shapes).unwrap(), inputs)
    }

    fn check(&self, device: &OpenCl, random: &mut Random) {
        let (graph, inputs) = self.graph(random);
        for tuning in [Tuning::PROCESSOR, GROUPS, STEPS] {
            check(device, graph.clone(), &inputs, tuning, &format!("{self:?}"));
        }
    }
}

#[test]
fn layers_compute_what_they_mean() {
    let Some((device, _alone)) = device() else { return };
    let random = &mut Random(1);
    for (operator, resets_after) in [("LSTM", false), ("GRU", false), ("GRU", true)] {
        for direction in ["forward", "reverse", "bidirectional"] {
            for hidden in [1, 3, 16, 33] {
                let layer = Layer {
                    operator,
                    resets_after,
                    direction,
                    hidden,
                    batch: random.pick(&[1, 2, 5]),
                    steps: random.pick(&[1, 7]),
                    has_bias: random.pick(&[false, true]),
                    has_first_states: random.pick(&[false, true]),
                    has_peepholes: random.pick(&[false, true]),
                    clip: random.pick(&[None, Some(0.3)]),
                    ..PLAIN
                };
                layer.check(&device, random);
            }
        }
    }
}

#[test]
fn sequences_may_end_before_the_last_step() {
    let Some((device, _alone)) = device() else { return };
    let random = &mut Random(2);
    for (operator, resets_after) in [("LSTM", false), ("GRU", false), ("GRU", true)] {
        for direction in ["reverse", "bidirectional"] {
            let lengths = Some(vec![7, 0, 3, 1, 6]);
            let layer = Layer {
                operator,
                resets_after,
                direction,
                batch: 5,
                lengths,
                has_first_states: true,
                ..PLAIN
            };
            layer.check(&device, random);
        }
    }
}

#[test]
fn the_batch_may_come_first() {
    let Some((device, _alone)) = device() else { return };
    let random = &mut Random(3);
    for batch in [1, 2] {
        let layer = Layer {
            batch,
            is_batch_first: true,
            has_first_states: true,
            direction: "bidirectional",
            ..PLAIN
        };
        layer.check(&device, random);
    }
}

#[test]
fn only_wanted_results_are_written() {
    let Some((device, _alone)) = device() else { return };
    let random = &mut Random(4);
    for wanted in [[true, false, false], [false, true, false], [false, false, true]] {
        Layer { wanted, ..PLAIN }.check(&device, random);
    }
}

#[test]
fn weights_that_are_inputs_are_refused() {
    let mut builder = GraphBuilder::new("layer");
    let shapes = [vec![7, 2, 5], vec![1, 12, 5], vec![1, 12, 3]];
    for (name, shape) in ["x", "w", "r"].iter().zip(&shapes) {
        builder.input(name, F32, &Dim::fixed(shape));
    }
    let y = builder.node("LSTM", "layer", &["x", "w", "r"], &[("hidden_size", 3.into())]);
    builder.output(&y, F32, &[]);
    let source = Source::from_bytes(Path::new("layer.onnx"), &builder.into_bytes()).unwrap();
    let reason = Program::new(&source.graph(&shapes).unwrap(), Tuning::PROCESSOR).unwrap_err();
    assert!(reason.ends_with("R is not constant"), "{reason}");
}

#[test]
fn digits_lstm_answers_as_it_means() {
    let Some((device, _alone)) = device() else { return };
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../datasets/digits/digits-lstm.onnx");
    let source = Source::open(&path).unwrap();
    for batch in [1, 5] {
        let shape = vec![batch, 8, 8];
        let graph = source.graph(std::slice::from_ref(&shape)).unwrap();
        let numbers = Random(5).numbers(shape.iter().product());
        let input = Array::real(F32, &shape, numbers.into_iter().map(f64::from).collect());
        for tuning in [Tuning::PROCESSOR, Tuning::GPU] {
            check(&device, graph.clone(), std::slice::from_ref(&input), tuning, "digits-lstm");
        }
    }
}
