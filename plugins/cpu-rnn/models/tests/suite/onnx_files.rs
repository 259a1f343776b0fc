//! ONNX files, written field by field.

/// Value of an attribute.
#[derive(Debug, Clone, Copy)]
pub enum Attribute {
    Int(i64),
    Real(f32),
    Text(&'static str),
    Texts(&'static [&'static str]),
    Reals(&'static [f32]),
}

/// A field of bytes: a text or a message.
pub fn field(number: u32, bytes: &[u8]) -> Vec<u8> {
    [varint(u64::from(number << 3 | 2)), varint(bytes.len() as u64), bytes.to_vec()].concat()
}

/// A field that is an integer.
pub fn integer(number: u32, value: i64) -> Vec<u8> {
    [varint(u64::from(number << 3)), varint(value.cast_unsigned())].concat()
}

/// A field that is an f32.
fn real(number: u32, value: f32) -> Vec<u8> {
    [varint(u64::from(number << 3 | 5)), value.to_le_bytes().to_vec()].concat()
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value > 127 {
        bytes.push(value as u8 | 128);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// A `NodeProto`.
pub fn node(
    operator: &str,
    name: &str,
    inputs: &[&str],
    outputs: &[&str],
    attributes: Vec<(&str, Attribute)>,
) -> Vec<u8> {
    let texts =
        |number, texts: &[&str]| texts.iter().flat_map(move |text| field(number, text.as_bytes())).collect();
    let attribute = |(name, value): (&str, Attribute)| {
        let (value, kind) = match value {
            Attribute::Int(value) => (integer(3, value), 2),
            Attribute::Real(value) => (real(2, value), 1),
            Attribute::Text(text) => (field(4, text.as_bytes()), 3),
            Attribute::Texts(all) => (texts(9, all), 8),
            Attribute::Reals(all) => (all.iter().flat_map(|value| real(7, *value)).collect(), 6),
        };
        field(5, &[field(1, name.as_bytes()), value, integer(20, kind)].concat())
    };
    let attributes: Vec<u8> = attributes.into_iter().flat_map(attribute).collect();
    let (inputs, outputs) = (texts(1, inputs), texts(2, outputs));
    [inputs, outputs, field(3, name.as_bytes()), field(4, operator.as_bytes()), attributes].concat()
}

/// A `TensorProto` of equal f32.
pub fn tensor(name: &str, shape: &[usize], value: f32) -> Vec<u8> {
    tensor_as(name, shape, 1, &vec![value; shape.iter().product()])
}

fn tensor_as(name: &str, shape: &[usize], data_type: i64, values: &[f32]) -> Vec<u8> {
    let dims = shape.iter().flat_map(|extent| integer(1, *extent as i64)).collect();
    let raw: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    [dims, integer(2, data_type), field(8, name.as_bytes()), field(9, &raw)].concat()
}

/// A `ValueInfoProto` of a tensor; a dimension of 0 is one without an extent.
fn value(name: &str, data_type: i64, shape: &[usize]) -> Vec<u8> {
    let dim = |extent: &usize| field(1, &if *extent == 0 { Vec::new() } else { integer(1, *extent as i64) });
    let shape: Vec<u8> = shape.iter().flat_map(dim).collect();
    let tensor = [integer(1, data_type), field(2, &shape)].concat();
    [field(1, name.as_bytes()), field(2, &field(1, &tensor))].concat()
}

/// A file with an input `x` of rank 3, an output `y`, these nodes and constants.
pub fn model(opset: i64, nodes: Vec<Vec<u8>>, constants: Vec<Vec<u8>>) -> Vec<u8> {
    file(opset, nodes, constants, vec![value("x", 1, &[0, 0, 3])])
}

fn file(opset: i64, nodes: Vec<Vec<u8>>, constants: Vec<Vec<u8>>, inputs: Vec<Vec<u8>>) -> Vec<u8> {
    let all =
        |number, parts: Vec<Vec<u8>>| parts.iter().flat_map(|part| field(number, part)).collect::<Vec<u8>>();
    let outputs = vec![value("y", 1, &[])];
    let graph =
        [all(1, nodes), field(2, b"g"), all(5, constants), all(11, inputs), all(12, outputs)].concat();
    [integer(1, 8), field(7, &graph), field(8, &integer(2, opset))].concat()
}

/// A file whose one node takes this `ValueInfoProto` named `x` to `y`, with this field added to its graph.
pub fn file_with_input(input: &[u8], more: &[u8]) -> Vec<u8> {
    let graph = [
        field(1, &node("Relu", "", &["x"], &["y"], vec![])),
        field(11, input),
        field(12, &value("y", 1, &[])),
        more.to_vec(),
    ];
    [integer(1, 8), field(7, &graph.concat()), field(8, &integer(2, 14))].concat()
}

/// A file with one LSTM of 3 inputs and 4 units.
#[derive(Debug, Clone)]
pub struct Lstm {
    pub w_shape: [usize; 3],
    pub r_shape: [usize; 3],
    pub hidden_size: i64,
    pub data_type: i64,
    /// First value of W.
    pub value: f32,
    pub has_lengths: bool,
}

impl Default for Lstm {
    fn default() -> Self {
        Self {
            w_shape: [1, 16, 3],
            r_shape: [1, 16, 4],
            hidden_size: 4,
            data_type: 1,
            value: 0.3,
            has_lengths: false,
        }
    }
}

impl Lstm {
    pub fn file(&self) -> Vec<u8> {
        let mut w = vec![0.25; 48];
        w[0] = self.value;
        let constants = vec![
            tensor_as("W", &self.w_shape, self.data_type, &w),
            tensor_as("R", &self.r_shape, 1, &vec![0.125; self.r_shape.iter().product()]),
        ];
        let hidden = vec![("hidden_size", Attribute::Int(self.hidden_size))];
        let names: &[&str] =
            if self.has_lengths { &["x", "W", "R", "", "lengths"] } else { &["x", "W", "R"] };
        let nodes = vec![node("LSTM", "layer", names, &["y"], hidden)];
        let mut inputs = vec![value("x", 1, &[0, 0, 3])];
        inputs.extend(self.has_lengths.then(|| value("lengths", 6, &[0])));
        file(14, nodes, constants, inputs)
    }
}
