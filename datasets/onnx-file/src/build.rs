//! Writes ONNX files: a graph, built node by node.

use proctor_vocabulary::ElementType;
use prost::Message;

use crate::{
    elements::data_type,
    proto::{
        AttributeProto, DimensionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto,
        StringStringEntryProto, TensorProto, TensorShapeProto, TensorTypeProto, TypeProto, ValueInfoProto,
    },
    signature::Dim,
};

/// Version of the format: the one of the operators' version below.
const IR_VERSION: i64 = 8;

/// Version of ONNX's operators: the first with LayerNormalization, and known to every engine in use.
const OPSET_VERSION: i64 = 17;

/// `TensorProto.DataLocation.EXTERNAL`.
const EXTERNAL: i32 = 1;

/// Builds the graph of an ONNX file, in the order of its computation.
///
/// Values are known by their names. A node's output is called like the node. Constants are small ones, whose values are
/// in the file, or lie in another file.
///
/// # Example
/// ```
/// use proctor_onnx_file::{Dim, GraphBuilder};
/// use proctor_vocabulary::ElementType::F32;
///
/// let mut graph = GraphBuilder::new("scores");
/// graph.input("x", F32, &Dim::batch_of(&[8]));
/// let weight = graph.external("fc.weight", F32, &[3, 8], "scores.safetensors", 128);
/// let scores = graph.node("Gemm", "scores", &["x", &weight], &[("transB", 1.into())]);
/// graph.output(&scores, F32, &Dim::batch_of(&[3]));
/// let bytes = graph.into_bytes();
/// assert!(bytes.windows(9).any(|part| part == b"fc.weight"));
/// ```
#[derive(Debug, Clone)]
pub struct GraphBuilder {
    graph: GraphProto,
}

/// A parameter of a node.
#[derive(Debug, Clone, PartialEq)]
pub enum Attribute {
    /// An integer.
    Int(i64),
    /// A real number.
    Float(f32),
    /// Integers.
    Ints(Vec<i64>),
    /// A text.
    Text(String),
}

impl GraphBuilder {
    /// Creates an empty graph.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self { graph: GraphProto { name: Some(name.to_owned()), ..GraphProto::default() } }
    }

    /// Adds an input of the graph.
    pub fn input(&mut self, name: &str, element_type: ElementType, dims: &[Dim]) {
        self.graph.input.push(value_info(name, element_type, dims));
    }

    /// Makes a value an output of the graph.
    pub fn output(&mut self, name: &str, element_type: ElementType, dims: &[Dim]) {
        self.graph.output.push(value_info(name, element_type, dims));
    }

    /// Adds a constant whose values are in another file, from `offset_bytes` on; gives its name.
    ///
    /// `location` is a path from the folder of the ONNX file. The values are row-major and little-endian. A constant
    /// of this name that is there already is taken instead.
    pub fn external(
        &mut self,
        name: &str,
        element_type: ElementType,
        shape: &[usize],
        location: &str,
        offset_bytes: u64,
    ) -> String {
        let length_bytes = element_type.bytes_of(shape.iter().product());
        let entries = [
            ("location", location.to_owned()),
            ("offset", offset_bytes.to_string()),
            ("length", length_bytes.to_string()),
        ];
        let external_data = entries
            .map(|(key, value)| StringStringEntryProto { key: Some(key.to_owned()), value: Some(value) })
            .to_vec();
        self.add_constant(TensorProto {
            external_data,
            data_location: Some(EXTERNAL),
            ..tensor(name, element_type, shape)
        })
    }

    /// Adds a constant with its values, row-major; gives its name.
    pub fn constant(&mut self, name: &str, shape: &[usize], values: &[f32]) -> String {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.constant_of(name, ElementType::F32, shape, bytes)
    }

    /// Adds a constant of any type with the bytes of its values, row-major and little-endian; gives its name.
    pub fn constant_of(
        &mut self,
        name: &str,
        element_type: ElementType,
        shape: &[usize],
        bytes: Vec<u8>,
    ) -> String {
        self.add_constant(TensorProto { raw_data: Some(bytes), ..tensor(name, element_type, shape) })
    }

    /// Adds a constant i64`[values]`, such as a shape or axes; gives its name, which says the values.
    pub fn ints(&mut self, values: &[i64]) -> String {
        let name = values.iter().fold("ints".to_owned(), |name, value| format!("{name}_{value}"));
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.constant_of(&name, ElementType::I64, &[values.len()], bytes)
    }

    /// Adds a constant f32 without dimensions; gives its name, which says the value.
    pub fn float(&mut self, value: f32) -> String {
        self.constant(&format!("float_{value}"), &[], &[value])
    }

    /// Adds a node with one output; gives the output's name, which is the node's.
    pub fn node(
        &mut self,
        operator: &str,
        name: &str,
        inputs: &[&str],
        attributes: &[(&str, Attribute)],
    ) -> String {
        self.add_node(operator, name, inputs, vec![name.to_owned()], attributes);
        name.to_owned()
    }

    /// Adds a node with several outputs; gives their names: the node's, a full stop and a number from 0 on.
    pub fn node_of_many(
        &mut self,
        operator: &str,
        name: &str,
        inputs: &[&str],
        output_count: usize,
        attributes: &[(&str, Attribute)],
    ) -> Vec<String> {
        let outputs: Vec<String> = (0..output_count).map(|index| format!("{name}.{index}")).collect();
        self.add_node(operator, name, inputs, outputs.clone(), attributes);
        outputs
    }

    /// Returns the file.
    #[must_use]
    pub fn into_model(self) -> ModelProto {
        ModelProto {
            ir_version: Some(IR_VERSION),
            producer_name: Some("proctor".to_owned()),
            graph: Some(self.graph),
            opset_import: vec![OperatorSetIdProto {
                domain: Some(String::new()),
                version: Some(OPSET_VERSION),
            }],
        }
    }

    /// Returns the bytes of the file.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.into_model().encode_to_vec()
    }

    fn add_constant(&mut self, tensor: TensorProto) -> String {
        let name = tensor.name.clone().unwrap_or_default();
        if !self.graph.initializer.iter().any(|known| known.name == tensor.name) {
            self.graph.initializer.push(tensor);
        }
        name
    }

    fn add_node(
        &mut self,
        operator: &str,
        name: &str,
        inputs: &[&str],
        output: Vec<String>,
        attributes: &[(&str, Attribute)],
    ) {
        debug_assert!(
            self.graph.node.iter().all(|node| node.name.as_deref() != Some(name)),
            "two nodes are called {name}"
        );
        self.graph.node.push(NodeProto {
            input: inputs.iter().map(|input| (*input).to_owned()).collect(),
            output,
            name: Some(name.to_owned()),
            op_type: Some(operator.to_owned()),
            attribute: attributes.iter().map(|(name, value)| value.proto(name)).collect(),
            domain: None,
        });
    }
}

impl Attribute {
    /// Returns the message, with the number of the kind in `AttributeProto.AttributeType`.
    fn proto(&self, name: &str) -> AttributeProto {
        let proto = AttributeProto { name: Some(name.to_owned()), ..AttributeProto::default() };
        match self {
            Self::Float(value) => AttributeProto { f: Some(*value), r#type: Some(1), ..proto },
            Self::Int(value) => AttributeProto { i: Some(*value), r#type: Some(2), ..proto },
            Self::Text(text) => {
                AttributeProto { s: Some(text.clone().into_bytes()), r#type: Some(3), ..proto }
            }
            Self::Ints(values) => AttributeProto { ints: values.clone(), r#type: Some(7), ..proto },
        }
    }
}

impl From<i64> for Attribute {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<f32> for Attribute {
    fn from(value: f32) -> Self {
        Self::Float(value)
    }
}

impl<const N: usize> From<[i64; N]> for Attribute {
    fn from(values: [i64; N]) -> Self {
        Self::Ints(values.to_vec())
    }
}

impl From<&str> for Attribute {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl Dim {
    /// Returns the extents of a batch of samples of a shape: a free dimension `batch`, and the shape.
    #[must_use]
    pub fn batch_of(shape: &[usize]) -> Vec<Self> {
        std::iter::once(Self::Free("batch".to_owned())).chain(Self::fixed(shape)).collect()
    }

    /// Returns the extents of a shape.
    #[must_use]
    pub fn fixed(shape: &[usize]) -> Vec<Self> {
        shape.iter().map(|extent| Self::Fixed(*extent)).collect()
    }
}

/// Returns a constant without values.
fn tensor(name: &str, element_type: ElementType, shape: &[usize]) -> TensorProto {
    TensorProto {
        dims: shape.iter().map(|extent| *extent as i64).collect(),
        data_type: Some(data_type(element_type)),
        name: Some(name.to_owned()),
        ..TensorProto::default()
    }
}

fn value_info(name: &str, element_type: ElementType, dims: &[Dim]) -> ValueInfoProto {
    let dimension = |dim: &Dim| match dim {
        Dim::Fixed(extent) => DimensionProto { dim_value: Some(*extent as i64), dim_param: None },
        Dim::Free(name) => DimensionProto { dim_value: None, dim_param: Some(name.clone()) },
    };
    let shape = TensorShapeProto { dim: dims.iter().map(dimension).collect() };
    let tensor = TensorTypeProto { elem_type: Some(data_type(element_type)), shape: Some(shape) };
    ValueInfoProto { name: Some(name.to_owned()), r#type: Some(TypeProto { tensor_type: Some(tensor) }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{error::OnnxFileError, file::OnnxFile};

    #[test]
    fn a_graph_is_read_back_as_it_was_built() {
        let mut graph = GraphBuilder::new("g");
        graph.input("x", ElementType::F32, &Dim::batch_of(&[4]));
        let (first, again) = (graph.ints(&[2, 2]), graph.ints(&[2, 2]));
        assert_eq!(first, again);
        let parts = graph.node_of_many("Split", "parts", &["x", &first], 2, &[("axis", 1.into())]);
        let half = graph.float(0.5);
        let node = graph.node(
            "Mul",
            "y",
            &[&parts[1], &half],
            &[("a", 0.5.into()), ("b", "text".into()), ("c", [1, 2].into())],
        );
        graph.output(&node, ElementType::F32, &Dim::batch_of(&[2]));
        let model = ModelProto::decode(graph.clone().into_bytes().as_slice()).unwrap();
        assert_eq!(model, graph.into_model());

        let graph = model.graph.as_ref().unwrap();
        let constants: Vec<_> = graph
            .initializer
            .iter()
            .map(|tensor| (tensor.name.as_deref().unwrap(), &tensor.dims[..]))
            .collect();
        assert_eq!(constants, [("ints_2_2", &[2_i64][..]), ("float_0.5", &[])]);
        assert_eq!(graph.initializer[1].raw_data.as_deref(), Some(&0.5_f32.to_le_bytes()[..]));
        assert_eq!(graph.node[0].output, ["parts.0", "parts.1"]);
        let kinds: Vec<_> = graph.node[1].attribute.iter().map(|attribute| attribute.r#type).collect();
        assert_eq!(kinds, [Some(1), Some(3), Some(7)]);
        let file = OnnxFile::from_bytes("g.onnx".as_ref(), &model.encode_to_vec()).unwrap();
        assert_eq!(file.signature.outputs[0].to_string(), "y f32[batch, 2]");
    }

    #[test]
    fn constants_elsewhere_are_looked_for_beside_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let mut graph = GraphBuilder::new("g");
        graph.input("x", ElementType::F32, &[Dim::Fixed(3)]);
        let weight = graph.external("w", ElementType::F32, &[3], "w.bin", 8);
        graph.node("Add", "y", &["x", &weight], &[]);
        graph.output("y", ElementType::F32, &[Dim::Fixed(3)]);
        let path = folder.path().join("g.onnx");
        std::fs::write(&path, graph.into_bytes()).unwrap();
        assert!(matches!(OnnxFile::open(&path), Err(OnnxFileError::ExternalMissing { .. })));
        std::fs::write(folder.path().join("w.bin"), [0; 19]).unwrap();
        assert!(matches!(OnnxFile::open(&path), Err(OnnxFileError::ExternalCutShort { .. })));
        std::fs::write(folder.path().join("w.bin"), [0; 20]).unwrap();
        let data = OnnxFile::open(&path).unwrap().external_data[0].clone();
        assert_eq!((data.offset_bytes, data.length_bytes), (8, 12));
    }
}
