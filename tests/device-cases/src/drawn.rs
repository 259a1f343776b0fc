//! Files of operators with attributes, shapes and numbers drawn from a seed, to be computed by two implementations.
//!
//! Every operator that is read is in one of the lists. Left out is what implementations have reasons to do
//! differently: the greatest of no numbers, sequences without a step, a `clip` of an LSTM, and extents of 0.

mod attention;
mod chain;
mod constants;
mod elementwise;
mod movement;
mod products;
mod quantize;
mod recurrent;
mod rows;
mod windows;

pub use attention::OPERATORS as ATTENTION;
pub use chain::OPERATORS as CHAINS;
pub use constants::OPERATORS as CONSTANTS;
pub use elementwise::OPERATORS as ELEMENTWISE;
pub use movement::OPERATORS as MOVEMENT;
pub use products::OPERATORS as PRODUCTS;
pub use quantize::OPERATORS as QUANTIZED;
pub use recurrent::OPERATORS as RECURRENT;
pub use rows::OPERATORS as ROWS;
pub use windows::OPERATORS as WINDOWS;

use std::path::Path;

use proctor_device::{read::Source, tensor::Array};
use proctor_onnx_file::{Attribute, Dim, GraphBuilder};
use proctor_vocabulary::ElementType::{self, Bool, F32, I64};
use prost::Message;

use crate::{Case, random::Random};

/// Tolerance if nothing is computed, or integers are.
const EXACT: f64 = 0.0;

/// Tolerance for numbers that are rounded in another order or come from another approximation, relative to them, or to
/// the largest of the output up to 1.
const COMPUTED: f64 = 1e-5;

/// An operator, and the function that draws a file of it.
#[derive(Debug, Clone, Copy)]
pub struct Operator {
    /// Name, or the common name of several operators.
    pub name: &'static str,
    draw: fn(&mut Drawing),
}

/// A file with inputs.
#[derive(Debug, Clone)]
pub struct Drawn {
    /// Operator and seed.
    pub name: String,
    /// The ONNX file.
    pub file: Vec<u8>,
    /// An array for each input, in the order of the file.
    pub inputs: Vec<Array>,
    /// Greatest difference of the outputs, as [`difference`](crate::difference) takes it.
    pub tolerance: f64,
}

impl Operator {
    /// Returns the file of a seed: the same in each run.
    #[must_use]
    pub fn draw(&self, seed: u64) -> Drawn {
        // Operators with the same seed do not have the same shapes.
        let start = self.name.bytes().fold(seed, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
        let mut drawing = Drawing {
            random: Random(start),
            builder: GraphBuilder::new(self.name),
            inputs: Vec::new(),
            opset: 17,
            tolerance: COMPUTED,
            names: 0,
        };
        (self.draw)(&mut drawing);
        let mut model = drawing.builder.into_model();
        model.ir_version = Some(if drawing.opset > 19 { 10 } else { 8 });
        model.opset_import[0].version = Some(drawing.opset);
        // The shapes of outputs follow from the inputs' shapes.
        for output in model.graph.iter_mut().flat_map(|graph| &mut graph.output) {
            let tensor = output.r#type.as_mut().and_then(|kind| kind.tensor_type.as_mut());
            tensor.unwrap().shape = None;
        }
        let name = format!("{}-{seed}", self.name);
        Drawn { name, file: model.encode_to_vec(), inputs: drawing.inputs, tolerance: drawing.tolerance }
    }
}

impl Drawn {
    /// Returns the graph of the file, with its inputs.
    #[must_use]
    pub fn case(&self) -> Case {
        let source = Source::from_bytes(Path::new(&self.name), &self.file).unwrap();
        let shapes: Vec<_> = self.inputs.iter().map(|input| input.shape.clone()).collect();
        Case { name: self.name.clone(), graph: source.graph(&shapes).unwrap(), inputs: self.inputs.clone() }
    }
}

/// A file that is being drawn.
struct Drawing {
    random: Random,
    builder: GraphBuilder,
    inputs: Vec<Array>,
    /// Version of ONNX's operators.
    opset: i64,
    tolerance: f64,
    /// Number of names given so far.
    names: usize,
}

impl Drawing {
    /// Returns a number from `least` to `most`.
    fn between(&mut self, least: usize, most: usize) -> usize {
        least + self.random.below(most - least + 1)
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.random.below(from.len())]
    }

    fn coin(&mut self) -> bool {
        self.random.below(2) == 0
    }

    /// Returns a shape of this many dimensions, each of at least 1 element.
    fn shape(&mut self, rank: usize, most: usize) -> Vec<usize> {
        (0..rank).map(|_| self.between(1, most)).collect()
    }

    /// Returns a shape of `least` to 5 dimensions.
    fn any_shape(&mut self, least: usize) -> Vec<usize> {
        let rank = self.between(least, 5);
        self.shape(rank, [40, 40, 20, 9, 6, 4][rank])
    }

    /// Returns a shape that is broadcast to this one.
    fn part_of(&mut self, shape: &[usize]) -> Vec<usize> {
        let kept = if self.coin() { shape.len() } else { self.between(0, shape.len()) };
        let part = shape[shape.len() - kept..].to_vec();
        part.into_iter().map(|extent| if self.random.below(3) == 0 { 1 } else { extent }).collect()
    }

    /// Returns a dimension of `rank`, counted from the front or the back.
    fn axis(&mut self, rank: usize) -> (usize, i64) {
        let axis = self.between(0, rank - 1);
        let from_back = axis as i64 - rank as i64;
        (axis, if self.coin() { axis as i64 } else { from_back })
    }

    fn name(&mut self) -> String {
        self.names += 1;
        format!("v{}", self.names)
    }

    /// Draws numbers from `least` to `most`.
    fn numbers(&mut self, count: usize, least: f32, most: f32) -> Vec<f32> {
        let numbers = self.random.numbers(count);
        numbers.into_iter().map(|number| least + (number + 1.0) / 2.0 * (most - least)).collect()
    }

    /// Returns an input of numbers from `least` to `most`.
    fn input_of(&mut self, shape: &[usize], least: f32, most: f32) -> String {
        let numbers = self.numbers(shape.iter().product(), least, most);
        self.feed(Array::real(F32, shape, numbers.into_iter().map(f64::from).collect()))
    }

    /// Returns an input of numbers from -1 to 1.
    fn input(&mut self, shape: &[usize]) -> String {
        self.input_of(shape, -1.0, 1.0)
    }

    /// Returns an input of integers from `least` to `most`.
    fn integers(&mut self, element: ElementType, shape: &[usize], least: i64, most: i64) -> String {
        let values = self.integer_values(shape.iter().product(), least, most);
        self.feed(Array::integer(element, shape, values))
    }

    fn integer_values(&mut self, count: usize, least: i64, most: i64) -> Vec<i64> {
        let width = usize::try_from(most - least).unwrap();
        (0..count).map(|_| least + self.random.below(width + 1) as i64).collect()
    }

    fn feed(&mut self, array: Array) -> String {
        let name = self.name();
        self.builder.input(&name, array.element, &Dim::fixed(&array.shape));
        self.inputs.push(array);
        name
    }

    /// Draws constant numbers from -1 to 1.
    fn weights(&mut self, shape: &[usize]) -> String {
        self.weights_of(shape, -1.0, 1.0)
    }

    fn weights_of(&mut self, shape: &[usize], least: f32, most: f32) -> String {
        let numbers = self.numbers(shape.iter().product(), least, most);
        let name = self.name();
        self.builder.constant(&name, shape, &numbers)
    }

    /// Returns an input or a constant of numbers from -1 to 1.
    fn operand(&mut self, shape: &[usize]) -> String {
        if self.coin() { self.input(shape) } else { self.weights(shape) }
    }

    /// Draws constant integers.
    fn constant(&mut self, element: ElementType, shape: &[usize], values: Vec<i64>) -> String {
        let name = self.name();
        let tensor = Array::integer(element, shape, values).tensor();
        self.builder.constant_of(&name, element, shape, tensor.bytes.to_vec())
    }

    /// Returns a constant list.
    fn list(&mut self, values: &[i64]) -> String {
        self.constant(I64, &[values.len()], values.to_vec())
    }

    fn node(&mut self, operator: &str, inputs: &[&str], attributes: &[(&str, Attribute)]) -> String {
        let name = self.name();
        self.builder.node(operator, &name, inputs, attributes)
    }

    fn output(&mut self, value: &str, element: ElementType) {
        self.builder.output(value, element, &[]);
    }

    /// Adds a node whose result is the output.
    fn single(&mut self, operator: &str, inputs: &[&str], attributes: &[(&str, Attribute)]) {
        let result = self.node(operator, inputs, attributes);
        self.output(&result, F32);
    }

    /// Returns an input of this type: numbers, small integers, or truth values.
    fn input_like(&mut self, element: ElementType, shape: &[usize]) -> String {
        match element {
            F32 => self.input(shape),
            Bool => self.integers(Bool, shape, 0, 1),
            _ => self.integers(element, shape, -20, 20),
        }
    }
}

fn sizes(sizes: &[usize]) -> Attribute {
    Attribute::Ints(sizes.iter().map(|size| *size as i64).collect())
}
