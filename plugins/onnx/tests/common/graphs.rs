//! Small models, written as files.

use std::{fs, path::Path};

use proctor_onnx_file::{
    data_type,
    proto::{
        AttributeProto, DimensionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto,
        TensorShapeProto, TensorTypeProto, TypeProto, ValueInfoProto,
    },
};
use proctor_plugin_api::vocabulary::ElementType;
use prost::Message;

/// `TensorProto.DataType.STRING`.
pub const STRING: i32 = 8;

/// Extent of a dimension that is decided at run time.
pub const FREE: i64 = -1;

/// A graph in the making.
#[derive(Default)]
pub struct Graph(GraphProto);

impl Graph {
    /// An input; the free dimension is called `batch`.
    pub fn input(mut self, name: &str, element: ElementType, dims: &[i64]) -> Self {
        self.0.input.push(value(name, data_type(element), dims));
        self
    }

    pub fn output(self, name: &str, element: ElementType, dims: &[i64]) -> Self {
        self.output_of(name, data_type(element), dims)
    }

    pub fn output_of(mut self, name: &str, data_type: i32, dims: &[i64]) -> Self {
        self.0.output.push(value(name, data_type, dims));
        self
    }

    /// A node with integers as attributes.
    pub fn node(
        mut self,
        op_type: &str,
        inputs: &[&str],
        outputs: &[&str],
        attributes: &[(&str, i64)],
    ) -> Self {
        const INT: i32 = 2;
        let attribute = |(name, value): &(&str, i64)| AttributeProto {
            name: Some((*name).to_owned()),
            i: Some(*value),
            r#type: Some(INT),
            ..AttributeProto::default()
        };
        self.0.node.push(NodeProto {
            op_type: Some(op_type.to_owned()),
            input: inputs.iter().map(|name| (*name).to_owned()).collect(),
            output: outputs.iter().map(|name| (*name).to_owned()).collect(),
            attribute: attributes.iter().map(attribute).collect(),
            ..NodeProto::default()
        });
        self
    }

    pub fn constant(mut self, tensor: TensorProto) -> Self {
        self.0.initializer.push(tensor);
        self
    }

    /// Writes the file and returns its bytes.
    pub fn write(self, path: &Path) -> Vec<u8> {
        let model = ModelProto {
            ir_version: Some(8),
            graph: Some(GraphProto { name: Some("test".into()), ..self.0 }),
            opset_import: vec![OperatorSetIdProto { domain: None, version: Some(17) }],
            ..ModelProto::default()
        };
        let bytes = model.encode_to_vec();
        fs::write(path, &bytes).expect("the folder of the test can be written");
        bytes
    }
}

/// A constant with its values in the file.
pub fn tensor(name: &str, element: ElementType, dims: &[i64], bytes: Vec<u8>) -> TensorProto {
    TensorProto {
        name: Some(name.to_owned()),
        dims: dims.to_vec(),
        data_type: Some(data_type(element)),
        raw_data: Some(bytes),
        ..TensorProto::default()
    }
}

/// `y = 2 x` over samples of this shape behind these leading dimensions.
pub fn doubling(leading: &[i64], shape: &[i64]) -> Graph {
    let dims: Vec<i64> = leading.iter().chain(shape).copied().collect();
    Graph::default().input("x", ElementType::F32, &dims).output("y", ElementType::F32, &dims).node(
        "Add",
        &["x", "x"],
        &["y"],
        &[],
    )
}

fn value(name: &str, data_type: i32, dims: &[i64]) -> ValueInfoProto {
    let dim = |extent: &i64| match *extent {
        FREE => DimensionProto { dim_value: None, dim_param: Some("batch".into()) },
        extent => DimensionProto { dim_value: Some(extent), dim_param: None },
    };
    let shape = TensorShapeProto { dim: dims.iter().map(dim).collect() };
    let tensor_type = TensorTypeProto { elem_type: Some(data_type), shape: Some(shape) };
    ValueInfoProto { name: Some(name.to_owned()), r#type: Some(TypeProto { tensor_type: Some(tensor_type) }) }
}
