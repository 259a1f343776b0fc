//! Which operations of a file become integers, and which tensors are rounded for them.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use proctor_onnx_file::{
    Attributes, OnnxFile, Precision, TensorData, domain, label,
    proto::{GraphProto, NodeProto, TensorProto},
};
use proctor_vocabulary::ElementType;

use crate::{
    error::QuantiseError,
    operators::{Between, Product, Role, Why, data_inputs, keeps_f32, role},
    weights::are_finite,
    wire::{Malformed, has_inner_graphs},
};

/// `TensorProto.DataType` of f32.
pub(crate) const F32: i32 = 1;

/// First version of the operators with QuantizeLinear, and with a scale for each channel.
const VERSION_MIN: i64 = 10;
const VERSION_OF_CHANNELS: i64 = 13;

/// Operators whose outputs are all f32 if their first input is; of the others the first is.
const ALL_OUTPUTS: [&str; 4] = ["Split", "LSTM", "GRU", "RNN"];

/// A file in f32, and the future of each of its operations.
#[derive(Debug)]
pub struct Plan {
    pub(crate) bytes: Vec<u8>,
    pub(crate) graph: GraphProto,
    file: OnnxFile,
    /// Name of the file, for messages.
    pub(crate) name: String,
    /// Folder of the file, in which the files of its constants are.
    pub(crate) folder: PathBuf,
    /// Version of ONNX's operators.
    pub(crate) version: i64,
    /// True if nodes have graphs of their own, which may read any value.
    pub(crate) has_inner_graphs: bool,
    /// Part of each node in the graph of integers; [`Role::Float`] for those that stay as they are.
    pub(crate) roles: Vec<Role>,
    /// The tensors that are rounded, in the order of the graph.
    pub(crate) rounded: Vec<Rounded>,
    kept: Vec<Kept>,
}

/// A tensor that is rounded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rounded {
    pub(crate) name: String,
    /// Node that gives it; `None` for an input of the graph.
    pub(crate) node: Option<usize>,
    /// Position of its scale among the observed tensors.
    pub(crate) scale: usize,
    /// True if that is its own, and not the one of the tensor that it is made of.
    pub(crate) is_observed: bool,
}

/// Operations that stay float, of one operator and for one reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// The operator.
    pub operator: String,
    /// The reason.
    pub why: Why,
    /// Number of these operations.
    pub count: usize,
    /// The first of them, as messages name it.
    pub first: String,
}

impl Plan {
    /// Reads the bytes of the file at `path`, and plans its operations.
    ///
    /// # Errors
    /// If it is no whole file in f32, its operators are too old, or nothing in it can become integers.
    pub fn new(path: &Path, bytes: Vec<u8>) -> Result<Self, QuantiseError> {
        let (file, model) = OnnxFile::model_from_bytes(path, &bytes)?;
        let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        if file.precision != Precision::F32 {
            return Err(QuantiseError::Precision { file: name, precision: file.precision });
        }
        let version =
            file.opsets.iter().find(|opset| opset.domain.is_empty()).map_or(0, |opset| opset.version);
        if version < VERSION_MIN {
            return Err(QuantiseError::Version { file: name, version });
        }
        let damaged =
            |Malformed| QuantiseError::Damaged { file: name.clone(), what: "fields that are cut short" };
        let has_inner_graphs = has_inner_graphs(&bytes).map_err(damaged)?;
        let graph = model.graph.unwrap_or_default();
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        let Drawn { roles, rounded, kept } = Draft::new(&graph, &folder).draw();
        if !roles.iter().any(|role| matches!(role, Role::Product(_))) {
            let line = |kept: &Kept| format!("{} {}", kept.first, kept.why);
            let none = || vec!["it has no convolution and no product of matrices".to_owned()];
            let products =
                kept.iter().filter(|kept| ["Conv", "Gemm", "MatMul"].contains(&kept.operator.as_str()));
            let why: Vec<_> = products.map(line).collect();
            return Err(QuantiseError::Nothing {
                file: name,
                why: if why.is_empty() { none() } else { why },
            });
        }
        Ok(Self { bytes, graph, file, name, folder, version, has_inner_graphs, roles, rounded, kept })
    }

    /// Returns the facts about the file.
    #[must_use]
    pub fn file(&self) -> &OnnxFile {
        &self.file
    }

    /// Returns the names of the tensors whose ranges are asked for, in order.
    pub fn observed(&self) -> impl Iterator<Item = &str> {
        self.rounded.iter().filter(|rounded| rounded.is_observed).map(|rounded| rounded.name.as_str())
    }

    /// Returns the operations that stay float, in the order of their operators.
    #[must_use]
    pub fn kept(&self) -> &[Kept] {
        &self.kept
    }

    /// Returns the number of operations of each operator that become integers.
    #[must_use]
    pub fn integers(&self) -> BTreeMap<&str, usize> {
        let mut counts = BTreeMap::new();
        for (node, role) in self.graph.node.iter().zip(&self.roles) {
            if *role != Role::Float {
                *counts.entry(node.op_type.as_deref().unwrap_or("")).or_default() += 1;
            }
        }
        counts
    }

    /// Returns whether weights have a scale for each output channel, which older operators lack.
    #[must_use]
    pub fn has_channel_scales(&self) -> bool {
        self.version >= VERSION_OF_CHANNELS
    }
}

/// Returns the constants of a graph by name, from its list and from its nodes.
pub(crate) fn constants(graph: &GraphProto) -> BTreeMap<&str, &TensorProto> {
    let listed = graph.initializer.iter().map(|tensor| (tensor.name.as_deref().unwrap_or(""), tensor));
    let is_constant = |node: &&NodeProto| {
        node.op_type.as_deref() == Some("Constant") && domain(node.domain.as_deref()).is_empty()
    };
    let mut all: BTreeMap<&str, &TensorProto> = listed.collect();
    for node in graph.node.iter().filter(is_constant) {
        all.extend(constant_of(node));
    }
    // An input that is left out has no name.
    all.remove("");
    all
}

fn constant_of(node: &NodeProto) -> Option<(&str, &TensorProto)> {
    let value = node.attribute.iter().find(|it| it.name.as_deref() == Some("value"))?.t.as_ref()?;
    Some((node.output.first()?, value))
}

/// A graph, and the facts about its values.
struct Draft<'a> {
    graph: &'a GraphProto,
    folder: &'a Path,
    constants: BTreeMap<&'a str, &'a TensorProto>,
    f32_values: BTreeSet<&'a str>,
    outputs: BTreeSet<&'a str>,
    /// The nodes that read each value.
    readers: BTreeMap<&'a str, Vec<usize>>,
    roles: Vec<Result<Role, Why>>,
}

/// The plan of a graph.
struct Drawn {
    roles: Vec<Role>,
    rounded: Vec<Rounded>,
    kept: Vec<Kept>,
}

impl<'a> Draft<'a> {
    fn new(graph: &'a GraphProto, folder: &'a Path) -> Self {
        let constants = constants(graph);
        let mut readers = BTreeMap::<&str, Vec<usize>>::new();
        for (index, node) in graph.node.iter().enumerate() {
            for input in &node.input {
                readers.entry(input).or_default().push(index);
            }
        }
        let outputs = graph.output.iter().filter_map(|output| output.name.as_deref()).collect();
        let f32_values = f32_values(graph, &constants);
        let mut draft = Self { graph, folder, constants, f32_values, outputs, readers, roles: Vec::new() };
        draft.roles = graph.node.iter().map(|node| draft.checked_role(node)).collect();
        draft
    }

    /// Returns the part of a node, if its inputs and parameters allow it.
    fn checked_role(&self, node: &NodeProto) -> Result<Role, Why> {
        let role = role(node)?;
        match role {
            Role::Product(product) => self.check_product(node, product)?,
            Role::Between(Between::Same) if node.op_type.as_deref() == Some("Pad") => self.check_pad(node)?,
            _ => {}
        }
        Ok(role)
    }

    fn check_product(&self, node: &NodeProto, product: Product) -> Result<(), Why> {
        let attributes = Attributes::of(node);
        let is_one =
            |name: &str| attributes.float(name).is_ok_and(|value| value.is_none_or(|value| value == 1.0));
        let [a, b, ..] = &node.input[..] else { return Err(Why::Weights) };
        let (a, b) = (a.as_str(), b.as_str());
        let is_constant = |name: &str| self.constants.contains_key(name);
        match product {
            Product::Gemm if attributes.int("transA", 0) != Ok(0) => return Err(Why::Attribute("transA")),
            Product::Gemm if !is_one("alpha") => return Err(Why::Attribute("alpha")),
            Product::Gemm if !is_one("beta") => return Err(Why::Attribute("beta")),
            _ => {}
        }
        if !self.f32_values.contains(a) || !self.f32_values.contains(b) {
            return Err(Why::NotF32);
        }
        let rank = |name: &str| self.constants.get(name).map_or(0, |tensor| tensor.dims.len());
        let fits = match product {
            Product::Conv => !is_constant(a) && rank(b) >= 3,
            Product::Gemm => !is_constant(a) && rank(b) == 2,
            Product::MatMul => {
                !(is_constant(a) && is_constant(b))
                    && [a, b].iter().all(|it| !is_constant(it) || rank(it) >= 2)
            }
        };
        if !fits {
            return Err(Why::Weights);
        }
        for weights in [a, b].into_iter().filter_map(|name| self.constants.get(name)) {
            let read = TensorData::read(weights, self.folder);
            let data = read.map_err(|error| Why::Unreadable(error.to_string()))?;
            if data.bytes.is_empty() {
                return Err(Why::Weights);
            }
            if !are_finite(&data) {
                return Err(Why::NotFinite);
            }
        }
        let bias = node.input.get(2).filter(|_| product != Product::MatMul);
        let bias = bias.and_then(|name| self.constants.get(name.as_str()));
        // One that cannot be read is told of when it is needed.
        let bias = bias.and_then(|bias| TensorData::read(bias, self.folder).ok());
        if bias.is_some_and(|bias| bias.element == ElementType::F32 && !are_finite(&bias)) {
            return Err(Why::NotFinite);
        }
        Ok(())
    }

    /// Checks that a Pad adds zeros, which every scale has.
    fn check_pad(&self, node: &NodeProto) -> Result<(), Why> {
        let name = node.input.get(2).map_or("", String::as_str);
        let of_attribute = Attributes::of(node).float("value").ok().flatten().unwrap_or(0.0);
        let is_zero = name.is_empty()
            || self.constants.get(name).is_some_and(|value| {
                TensorData::read(value, self.folder)
                    .is_ok_and(|data| data.bytes.iter().all(|byte| *byte == 0))
            });
        if is_zero && of_attribute == 0.0 { Ok(()) } else { Err(Why::Attribute("constant_value")) }
    }

    fn role(&self, node: usize) -> Role {
        self.roles[node].as_ref().map_or(Role::Float, |role| *role)
    }

    /// Returns the values among the data that a node reads.
    fn data(&self, node: usize) -> impl Iterator<Item = &'a str> {
        let inputs = &self.graph.node[node].input[data_inputs(&self.graph.node[node], self.role(node))];
        inputs.iter().map(String::as_str)
    }

    /// Returns the outputs of a node that are f32.
    fn f32_outputs(&self, node: usize) -> impl Iterator<Item = &'a str> {
        let outputs = self.graph.node[node].output.iter().map(String::as_str);
        outputs.filter(|output| !output.is_empty() && self.f32_values.contains(output))
    }

    /// Returns the values that come out of products, or are made of those and of inputs alone.
    fn of_integers(&self) -> BTreeSet<&'a str> {
        let inputs = self.graph.input.iter().filter_map(|input| input.name.as_deref());
        let mut found: BTreeSet<&str> = inputs
            .filter(|name| self.f32_values.contains(name) && !self.constants.contains_key(name))
            .collect();
        for node in 0..self.graph.node.len() {
            let is_so = match self.role(node) {
                Role::Product(_) => true,
                Role::Between(_) => {
                    let (constant, others): (Vec<&str>, Vec<&str>) =
                        self.data(node).partition(|name| self.constants.contains_key(name));
                    !others.is_empty()
                        && others.iter().all(|name| found.contains(name))
                        && constant.iter().all(|name| self.f32_values.contains(name))
                }
                Role::Float => false,
            };
            if is_so {
                found.extend(self.f32_outputs(node));
            }
        }
        found
    }

    /// Returns the only node that reads a value and cuts it off; `None` if others need the value, too.
    fn cut_behind(&self, value: &str) -> Option<usize> {
        let [reader] = self.readers.get(value)?[..] else { return None };
        let cuts = self.role(reader) == Role::Between(Between::Cut) && !self.outputs.contains(value);
        cuts.then_some(reader)
    }

    /// Returns the outputs of convolutions, which compute with integers only if their outputs are rounded. Products of
    /// matrices have sums in f32, too.
    fn of_convolutions(&self) -> BTreeSet<&'a str> {
        let mut found = BTreeSet::new();
        for node in (0..self.graph.node.len()).filter(|node| self.role(*node) == Role::Product(Product::Conv))
        {
            for mut value in self.f32_outputs(node) {
                while let Some(cut) = self.cut_behind(value)
                    && let Some(behind) = self.f32_outputs(cut).next()
                {
                    value = behind;
                }
                if !self.outputs.contains(value) {
                    found.insert(value);
                }
            }
        }
        found
    }

    fn draw(mut self) -> Drawn {
        let of_integers = self.of_integers();
        let mut wanted = self.of_convolutions();
        for node in (0..self.graph.node.len()).rev() {
            let is_wanted = match self.role(node) {
                Role::Product(_) => true,
                Role::Between(_) => self
                    .f32_outputs(node)
                    .any(|output| wanted.contains(output) && of_integers.contains(output)),
                Role::Float => continue,
            };
            if is_wanted {
                wanted.extend(self.data(node).filter(|name| !self.constants.contains_key(name)));
            } else {
                self.roles[node] = Err(Why::AmongFloats);
            }
        }
        let rounded = self.rounded(&wanted);
        let kept = self.kept();
        Drawn { roles: (0..self.graph.node.len()).map(|node| self.role(node)).collect(), rounded, kept }
    }

    /// Returns the values to round, each with its scale.
    fn rounded(&self, wanted: &BTreeSet<&str>) -> Vec<Rounded> {
        let mut rounded: Vec<Rounded> = Vec::new();
        let mut scales = BTreeMap::<&str, usize>::new();
        let mut observed = 0;
        let inputs =
            self.graph.input.iter().filter_map(|input| input.name.as_deref()).map(|name| (name, None));
        let of_nodes = (0..self.graph.node.len())
            .flat_map(|node| self.f32_outputs(node).map(move |output| (output, Some(node))));
        for (name, node) in inputs.chain(of_nodes) {
            let is_wanted = wanted.contains(name) && self.f32_values.contains(name);
            if !is_wanted || self.constants.contains_key(name) || scales.contains_key(name) {
                continue;
            }
            // The bound behind it has the pair for both.
            let computes = node.is_some_and(|node| {
                matches!(self.role(node), Role::Product(_) | Role::Between(Between::Compute))
            });
            if computes && self.cut_behind(name).is_some() {
                continue;
            }
            let same = node.filter(|node| self.role(*node) == Role::Between(Between::Same));
            let same = same.and_then(|node| scales.get(self.data(node).next()?).copied());
            let scale = same.unwrap_or(observed);
            observed += usize::from(same.is_none());
            scales.insert(name, scale);
            rounded.push(Rounded { name: name.to_owned(), node, scale, is_observed: same.is_none() });
        }
        rounded
    }

    /// Returns the nodes that stay float, grouped. Nodes that have nothing to do with f32 are left out.
    fn kept(&self) -> Vec<Kept> {
        let mut groups = BTreeMap::<(&str, Why), (usize, String)>::new();
        for (index, node) in self.graph.node.iter().enumerate() {
            let operator = node.op_type.as_deref().unwrap_or("");
            let why = match &self.roles[index] {
                Err(why) => why.clone(),
                Ok(Role::Float) if operator != "Constant" => Why::NoIntegers,
                Ok(_) => continue,
            };
            let reads_f32 = node.input.iter().any(|input| self.f32_values.contains(input.as_str()));
            if reads_f32 {
                groups.entry((operator, why)).or_insert_with(|| (0, label(node, index))).0 += 1;
            }
        }
        let kept = |((operator, why), (count, first)): ((&str, Why), (usize, String))| Kept {
            operator: operator.to_owned(),
            why,
            count,
            first,
        };
        groups.into_iter().map(kept).collect()
    }
}

/// Returns the values that are f32, as far as inputs, constants and operators say.
fn f32_values<'a>(
    graph: &'a GraphProto,
    constants: &BTreeMap<&'a str, &'a TensorProto>,
) -> BTreeSet<&'a str> {
    let is_f32 = |input: &&'a proctor_onnx_file::proto::ValueInfoProto| {
        let tensor = input.r#type.as_ref().and_then(|kind| kind.tensor_type.as_ref());
        tensor.is_some_and(|tensor| tensor.elem_type == Some(F32))
    };
    let inputs = graph.input.iter().filter(is_f32).filter_map(|input| input.name.as_deref());
    let of_f32 = constants.iter().filter(|(_, tensor)| tensor.data_type == Some(F32)).map(|(name, _)| *name);
    let mut found: BTreeSet<&str> = inputs.chain(of_f32).collect();
    found.remove("");
    for node in &graph.node {
        let operator = node.op_type.as_deref().unwrap_or("");
        let reads = |number: usize| node.input.get(number).is_some_and(|name| found.contains(name.as_str()));
        let gives = match operator {
            "Cast" => Attributes::of(node).int("to", 0) == Ok(i64::from(F32)),
            "Where" => reads(1),
            _ => keeps_f32(node) && reads(0),
        };
        if gives {
            let count = if ALL_OUTPUTS.contains(&operator) { node.output.len() } else { 1 };
            found.extend(node.output.iter().take(count).map(String::as_str).filter(|name| !name.is_empty()));
        }
    }
    found
}
