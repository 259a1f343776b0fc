//! The file in integers.

use std::collections::{BTreeMap, BTreeSet};

use proctor_onnx_file::{
    Attributes, GraphBuilder, TensorData,
    proto::{NodeProto, TensorProto},
};
use proctor_vocabulary::ElementType;

use crate::{
    error::QuantiseError,
    names::Names,
    operators::{Between, Product, Role},
    plan::{Plan, Rounded, constants},
    ranges::{Range, Ranges, Scale},
    weights::{Integers, WeightSteps, bias, constant, f32s, scale_for_bias, signed, unsigned},
    wire::{GraphEdit, edited},
};

/// `TensorProto.DataLocation.EXTERNAL`.
const EXTERNAL: i32 = 1;

/// A protobuf message cannot be larger.
const FILE_BYTES_MAX: u64 = (1 << 31) - 1;

/// A file in integers.
#[derive(Debug, Clone, PartialEq)]
pub struct Quantised {
    /// Bytes of the file.
    pub bytes: Vec<u8>,
    /// The observed tensors with their scales, in the order of the plan.
    pub tensors: Vec<RoundedTensor>,
    /// Number of constants in integers: weights, biases and operands.
    pub constant_count: usize,
}

/// A tensor between operations, as it is rounded.
#[derive(Debug, Clone, PartialEq)]
pub struct RoundedTensor {
    /// Name of the tensor.
    pub name: String,
    /// Range on the calibration samples.
    pub range: Range,
    /// Scale of its integers.
    pub scale: Scale,
}

impl Plan {
    /// Makes the file in integers, by the ranges of the [`observed`](Self::observed) tensors.
    ///
    /// # Errors
    /// If the ranges are of no sample or of another plan, or one of them is not finite, a constant cannot be read, or
    /// the file would be too large.
    pub fn quantise(&self, ranges: &Ranges, steps: WeightSteps) -> Result<Quantised, QuantiseError> {
        let tensors = self.scales(ranges)?;
        let mut rewrite = Rewrite::new(self, &tensors, steps);
        rewrite.round_tensors();
        for node in 0..self.graph.node.len() {
            rewrite.node(node)?;
        }
        let Rewrite { mut edit, integers, .. } = rewrite;
        let dropped = self.replaced(&edit, &integers);
        let is_kept = |position: usize| !dropped.contains(&position);
        edit.replaced_initializers = self.inlined(is_kept)?;
        edit.without_initializers = dropped;
        edit.without_inputs = self.constant_inputs();
        let bytes = edited(&self.bytes, &edit).map_err(|_| self.damaged())?;
        let (size_bytes, limit_bytes) = (bytes.len() as u64, FILE_BYTES_MAX);
        if size_bytes > limit_bytes {
            return Err(QuantiseError::TooLarge { size_bytes, limit_bytes });
        }
        Ok(Quantised { bytes, tensors, constant_count: integers.len() })
    }

    fn scales(&self, ranges: &Ranges) -> Result<Vec<RoundedTensor>, QuantiseError> {
        if ranges.sample_count() == 0 {
            return Err(QuantiseError::NoSamples);
        }
        let names: Vec<&str> = self.observed().collect();
        if ranges.ranges().len() != names.len() {
            return Err(QuantiseError::RangeCount { got: ranges.ranges().len(), expected: names.len() });
        }
        let scaled = |(name, range): (&str, &Range)| match range.scale() {
            Some(scale) => Ok(RoundedTensor { name: name.to_owned(), range: *range, scale }),
            None => {
                let Range { low, high } = *range;
                Err(QuantiseError::NotFinite { tensor: name.to_owned(), low, high })
            }
        };
        names.into_iter().zip(ranges.ranges()).map(scaled).collect()
    }

    /// Returns the positions of the inputs that are constants. In old files all constants are inputs, too; a file in
    /// which a constant may be fed from outside cannot be in integers.
    pub(crate) fn constant_inputs(&self) -> BTreeSet<usize> {
        let constants: BTreeSet<_> =
            self.graph.initializer.iter().filter_map(|tensor| tensor.name.as_deref()).collect();
        let inputs = self.graph.input.iter().enumerate();
        let is_constant = |name: Option<&str>| name.is_some_and(|name| constants.contains(name));
        inputs.filter(|(_, input)| is_constant(input.name.as_deref())).map(|(position, _)| position).collect()
    }

    /// Returns the constants of other files with their values, by their positions; of those that are kept.
    pub(crate) fn inlined(
        &self,
        is_kept: impl Fn(usize) -> bool,
    ) -> Result<BTreeMap<usize, TensorProto>, QuantiseError> {
        let mut inlined = BTreeMap::new();
        for (position, tensor) in self.graph.initializer.iter().enumerate() {
            if tensor.data_location == Some(EXTERNAL) && is_kept(position) {
                let TensorData { element, shape, bytes } = self.data(tensor)?;
                let name = tensor.name.as_deref().unwrap_or("");
                inlined.insert(position, constant(name, element, &shape, bytes.into_owned()));
            }
        }
        Ok(inlined)
    }

    fn data<'a>(&self, tensor: &'a TensorProto) -> Result<TensorData<'a>, QuantiseError> {
        TensorData::read(tensor, &self.folder).map_err(|source| QuantiseError::Constant {
            file: self.name.clone(),
            tensor: tensor.name.clone().unwrap_or_default(),
            source,
        })
    }

    /// Returns the positions of constants that nothing reads, since their integers are read.
    fn replaced(&self, edit: &GraphEdit, integers: &BTreeMap<Key, String>) -> BTreeSet<usize> {
        if self.has_inner_graphs {
            return BTreeSet::new();
        }
        let outputs = self.graph.output.iter().filter_map(|output| output.name.as_deref());
        let mut read: BTreeSet<&str> = outputs.collect();
        for (index, node) in self.graph.node.iter().enumerate() {
            read.extend(edit.node_inputs.get(&index).unwrap_or(&node.input).iter().map(String::as_str));
        }
        let made: BTreeSet<&str> = integers.keys().map(|key| key.constant.as_str()).collect();
        let is_replaced = |tensor: &TensorProto| {
            let name = tensor.name.as_deref().unwrap_or("");
            made.contains(name) && !read.contains(name)
        };
        let initializers = self.graph.initializer.iter().enumerate();
        initializers.filter(|(_, tensor)| is_replaced(tensor)).map(|(position, _)| position).collect()
    }
}

/// A constant in integers: its name and its purpose.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    constant: String,
    purpose: Purpose,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Purpose {
    /// Weights, with the scales of this axis, and the bias that they leave room for.
    Weights { axis: Option<usize>, bias: Option<String>, scale: usize },
    /// A bias of the sums of these dequantised weights, and of an input of this scale.
    Bias { weights: String, scale: usize },
    /// An operand between operations.
    Operand,
}

/// Changes of the graph, as they come about.
struct Rewrite<'a> {
    plan: &'a Plan,
    tensors: &'a [RoundedTensor],
    steps: WeightSteps,
    constants: BTreeMap<&'a str, &'a TensorProto>,
    /// Scale and dequantised name of each rounded tensor.
    rounded: BTreeMap<&'a str, (usize, String)>,
    names: Names,
    edit: GraphEdit,
    /// Dequantised names of constants.
    integers: BTreeMap<Key, String>,
}

impl<'a> Rewrite<'a> {
    fn new(plan: &'a Plan, tensors: &'a [RoundedTensor], steps: WeightSteps) -> Self {
        Self {
            plan,
            tensors,
            steps,
            constants: constants(&plan.graph),
            rounded: BTreeMap::new(),
            names: plan.names(),
            edit: GraphEdit::default(),
            integers: BTreeMap::new(),
        }
    }

    /// Puts a pair of nodes behind each rounded tensor.
    fn round_tensors(&mut self) {
        let mut scales = BTreeMap::<usize, [String; 2]>::new();
        for Rounded { name, node, scale, .. } in &self.plan.rounded {
            let RoundedTensor { scale: value, .. } = &self.tensors[*scale];
            let [scale_name, zero_point] = scales.entry(*scale).or_insert_with(|| {
                let names = ["scale", "zero_point"].map(|part| self.names.free(&format!("{name}_{part}")));
                let bytes = value.scale.to_le_bytes().to_vec();
                self.edit.initializers.push(constant(&names[0], ElementType::F32, &[], bytes));
                let bytes = vec![value.zero_point];
                self.edit.initializers.push(constant(&names[1], ElementType::U8, &[], bytes));
                names
            });
            let quantised = self.names.free(&format!("{name}_quantized"));
            let dequantised = self.names.free(&format!("{name}_dequantized"));
            let pair = [
                pair_node("QuantizeLinear", [name, scale_name, zero_point], &quantised, None),
                pair_node("DequantizeLinear", [&quantised, scale_name, zero_point], &dequantised, None),
            ];
            match node {
                None => self.edit.first.extend(pair),
                Some(node) => self.edit.behind.entry(*node).or_default().extend(pair),
            }
            self.rounded.insert(name, (*scale, dequantised));
        }
    }

    /// Replaces the inputs of a node by integers.
    fn node(&mut self, index: usize) -> Result<(), QuantiseError> {
        let node = &self.plan.graph.node[index];
        let mut inputs: Vec<String> = node.input.clone();
        for input in &mut inputs {
            if let Some((_, dequantised)) = self.rounded.get(input.as_str()) {
                *input = dequantised.clone();
            }
        }
        match self.plan.roles[index] {
            Role::Product(product) => self.product(index, product, &mut inputs)?,
            Role::Between(Between::Compute) => {
                for input in &mut inputs {
                    if self.constants.contains_key(input.as_str()) {
                        self.operand(index, input)?;
                    }
                }
            }
            _ => {}
        }
        if inputs != node.input {
            self.edit.node_inputs.insert(index, inputs);
        }
        Ok(())
    }

    fn product(
        &mut self,
        index: usize,
        product: Product,
        inputs: &mut [String],
    ) -> Result<(), QuantiseError> {
        let node = &self.plan.graph.node[index];
        let is_constant = |name: &str| self.constants.contains_key(name);
        // A product of matrices may have its constant first, or none.
        let Some(place) = [1, 0].into_iter().find(|place| is_constant(&node.input[*place])) else {
            return Ok(());
        };
        let tensor = self.constants[node.input[place].as_str()];
        let data = self.plan.data(tensor)?;
        let axis = match product {
            Product::Conv => Some(0),
            Product::Gemm if Attributes::of(node).int("transB", 0) == Ok(0) => Some(1),
            Product::Gemm => Some(0),
            Product::MatMul => (place == 1 && data.shape.len() == 2).then_some(1),
        };
        let count = axis.map_or(0, |axis| data.shape[axis]);
        let axis = axis.filter(|_| self.plan.has_channel_scales());
        let scale = self.rounded.get(node.input[1 - place].as_str()).map_or(0, |(scale, _)| *scale);
        let input_scale = self.tensors[scale].scale.scale;
        let bias_name = node.input.get(2).filter(|_| product != Product::MatMul && count > 0);
        let biases = bias_name.and_then(|name| self.constants.get(name.as_str())).copied();
        let biases = biases.map(|tensor| self.plan.data(tensor)).transpose()?.filter(|data| {
            // As many as there are channels, in a row.
            data.element == ElementType::F32
                && data.shape.last() == Some(&count)
                && data.bytes.len() == 4 * count
        });
        let biases: Option<Vec<f32>> = biases.as_ref().map(f32s);
        let of_bias = biases.as_ref().and(bias_name).cloned();
        let purpose = Purpose::Weights { axis, bias: of_bias.clone(), scale };
        let key = Key { constant: node.input[place].clone(), purpose };
        let room = |channel: usize| {
            let all = biases.as_deref().unwrap_or_default();
            let own = if axis.is_some() { all.get(channel..=channel).unwrap_or_default() } else { all };
            own.iter().map(|bias| scale_for_bias(*bias, input_scale)).fold(0.0, f64::max)
        };
        let weights = signed(&f32s(&data), &data.shape, axis, self.steps, room);
        inputs[place] = self.dequantised(index, key, &weights);
        if let (Some(biases), Some(name)) = (biases, of_bias) {
            let purpose = Purpose::Bias { weights: inputs[place].clone(), scale };
            inputs[2] = self.dequantised(
                index,
                Key { constant: name, purpose },
                &bias(&biases, input_scale, &weights),
            );
        }
        Ok(())
    }

    /// Puts the integers of a constant operand in its place.
    fn operand(&mut self, index: usize, input: &mut String) -> Result<(), QuantiseError> {
        let data = self.plan.data(self.constants[input.as_str()])?;
        if data.element != ElementType::F32 {
            return Ok(());
        }
        if let Some(integers) = unsigned(&f32s(&data), &data.shape) {
            let key = Key { constant: input.clone(), purpose: Purpose::Operand };
            *input = self.dequantised(index, key, &integers);
        }
        Ok(())
    }

    /// Adds the integers of a constant in front of a node, unless they are there; gives the name of their values.
    fn dequantised(&mut self, index: usize, key: Key, integers: &Integers) -> String {
        if let Some(known) = self.integers.get(&key) {
            return known.clone();
        }
        let name = &key.constant;
        let names =
            ["quantized", "scale", "zero_point"].map(|part| self.names.free(&format!("{name}_{part}")));
        let dequantised = self.names.free(&format!("{name}_dequantized"));
        let [quantised, scale, zero_point] = names.each_ref().map(String::as_str);
        self.edit.initializers.extend(integers.constants([quantised, scale, zero_point]));
        let node = pair_node("DequantizeLinear", [quantised, scale, zero_point], &dequantised, integers.axis);
        self.edit.before.entry(index).or_default().push(node);
        self.integers.insert(key, dequantised.clone());
        dequantised
    }
}

/// Returns one node of a pair, which is called like its output.
fn pair_node(operator: &str, inputs: [&str; 3], output: &str, axis: Option<usize>) -> NodeProto {
    let mut graph = GraphBuilder::new("");
    let axis = axis.map(|axis| ("axis", i64::try_from(axis).unwrap_or(i64::MAX).into()));
    graph.node(operator, output, &inputs, axis.as_slice());
    graph.into_model().graph.unwrap_or_default().node.remove(0)
}
