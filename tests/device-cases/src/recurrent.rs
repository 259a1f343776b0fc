//! Recurrent layers of every kind.

use std::path::Path;

use proctor_device::{read::Source, tensor::Array};
use proctor_onnx_file::{Attribute, Dim, GraphBuilder};
use proctor_vocabulary::ElementType::{F32, I32};

use crate::{Case, random::Random};

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
    /// Whether each of the results Y, Y_h and Y_c is wanted.
    wanted: [bool; 3],
}

/// An LSTM without any optional part.
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
    /// Returns a graph of the layer alone.
    fn case(&self, random: &mut Random) -> Case {
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
        Case { name: format!("{self:?}"), graph: source.graph(&shapes).unwrap(), inputs }
    }
}

const OPERATORS: [(&str, bool); 3] = [("LSTM", false), ("GRU", false), ("GRU", true)];

const DIRECTIONS: [&str; 3] = ["forward", "reverse", "bidirectional"];

/// Returns the layers of every cell in every size. Any cell, direction, size and batch meet each other in one of them;
/// so do first states, peepholes and a bound, each there and not there.
#[must_use]
pub fn layers() -> Vec<Case> {
    let random = &mut Random(1);
    let mut cases = Vec::new();
    for (cell, (operator, resets_after)) in OPERATORS.into_iter().enumerate() {
        for (size, hidden) in [1, 3, 16, 33].into_iter().enumerate() {
            let (has_first_states, has_peepholes) = (size % 2 == 1, size >= 2);
            let layer = Layer {
                operator,
                resets_after,
                direction: DIRECTIONS[(cell + size) % 3],
                hidden,
                batch: [1, 2, 5][(cell + 2 * size) % 3],
                steps: if (cell + size) % 4 == 0 { 1 } else { 7 },
                has_bias: size > 0,
                has_first_states,
                has_peepholes,
                clip: (has_first_states != has_peepholes).then_some(0.3),
                ..PLAIN
            };
            cases.push(layer.case(random));
        }
    }
    cases
}

/// Returns a layer of each cell, in its own direction, with sequences that end before the last step and first states.
/// Hidden units fill no whole number of vectors, nor sequences one of groups.
#[must_use]
pub fn of_each_cell() -> Vec<Case> {
    let random = &mut Random(6);
    let of = |((operator, resets_after), direction)| {
        let layer = Layer {
            operator,
            resets_after,
            direction,
            hidden: 19,
            batch: 5,
            steps: 4,
            has_first_states: true,
            has_peepholes: true,
            clip: resets_after.then_some(0.9),
            lengths: Some(vec![4, 0, 3, 1, 2]),
            ..PLAIN
        };
        layer.case(random)
    };
    let directions = ["bidirectional", "reverse", "forward"];
    OPERATORS.into_iter().zip(directions).map(of).collect()
}

/// Returns the layers of sizes that models have, which take a while to compute on the host.
#[must_use]
pub fn large_layers() -> Vec<Case> {
    let random = &mut Random(5);
    let sizes = OPERATORS.map(|operator| (operator, 256)).into_iter().chain([(OPERATORS[0], 1024)]);
    let of =
        |((operator, resets_after), hidden)| Layer { operator, resets_after, hidden, ..PLAIN }.case(random);
    sizes.map(of).collect()
}

/// Returns the sequences that end before the last step.
#[must_use]
pub fn lengths() -> Vec<Case> {
    let random = &mut Random(2);
    let mut cases = Vec::new();
    for (operator, resets_after) in OPERATORS {
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
            cases.push(layer.case(random));
        }
    }
    cases
}

/// Returns the sequences whose first dimension is the batch.
#[must_use]
pub fn batch_first() -> Vec<Case> {
    let random = &mut Random(3);
    let of = |batch: usize| {
        let layer = Layer {
            batch,
            is_batch_first: true,
            has_first_states: true,
            direction: "bidirectional",
            ..PLAIN
        };
        layer.case(random)
    };
    [1, 2].map(of).into()
}

/// Returns the layers with a single result in use.
#[must_use]
pub fn single_results() -> Vec<Case> {
    let random = &mut Random(4);
    let of = |wanted| Layer { wanted, ..PLAIN }.case(random);
    [[true, false, false], [false, true, false], [false, false, true]].map(of).into()
}
