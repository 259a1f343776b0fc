//! ONNX files that are only as large as a test needs.

#![allow(dead_code, reason = "each test file needs a part of it")]

use std::path::{Path, PathBuf};

use proctor_onnx_file::{
    data_type,
    proto::{
        AttributeProto, DimensionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto,
        StringStringEntryProto, TensorProto, TensorShapeProto, TensorTypeProto, TypeProto, ValueInfoProto,
    },
};
use proctor_plugin_api::vocabulary::ElementType;
use prost::Message;

/// `TensorProto.DataLocation.EXTERNAL`.
const EXTERNAL: i32 = 1;

/// A graph that is being made, of operator set 17.
#[derive(Default)]
pub struct Graph(GraphProto);

impl Graph {
    /// Adds an input; a dimension of `None` is the free batch.
    pub fn input(mut self, name: &str, element_type: ElementType, dims: &[Option<i64>]) -> Self {
        self.0.input.push(value(name, data_type(element_type), dims));
        self
    }

    /// Adds an output.
    pub fn output(mut self, name: &str, element_type: ElementType, dims: &[Option<i64>]) -> Self {
        self.0.output.push(value(name, data_type(element_type), dims));
        self
    }

    /// Adds an output of a type by its number in ONNX.
    pub fn output_of_type(mut self, name: &str, data_type: i32, dims: &[Option<i64>]) -> Self {
        self.0.output.push(value(name, data_type, dims));
        self
    }

    /// Adds a node.
    pub fn node(self, operator: &str, name: &str, inputs: &[&str], output: &str) -> Self {
        self.node_with(operator, name, inputs, output, Vec::new())
    }

    /// Adds a node with attributes.
    pub fn node_with(
        self,
        operator: &str,
        name: &str,
        inputs: &[&str],
        output: &str,
        attributes: Vec<AttributeProto>,
    ) -> Self {
        self.node_outputs(operator, name, inputs, &[output], attributes)
    }

    /// Adds a node of several outputs; one without a name is not wanted.
    pub fn node_outputs(
        mut self,
        operator: &str,
        name: &str,
        inputs: &[&str],
        outputs: &[&str],
        attribute: Vec<AttributeProto>,
    ) -> Self {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        self.0.node.push(NodeProto {
            input: names(inputs),
            output: names(outputs),
            name: Some(name.to_owned()),
            op_type: Some(operator.to_owned()),
            attribute,
            domain: None,
        });
        self
    }

    /// Gives the last node a domain.
    pub fn of_domain(mut self, domain: &str) -> Self {
        self.0.node.last_mut().expect("there is a node").domain = Some(domain.to_owned());
        self
    }

    /// Adds a constant within the file.
    pub fn constant(mut self, name: &str, element_type: ElementType, dims: &[i64], bytes: &[u8]) -> Self {
        self.0.initializer.push(TensorProto {
            dims: dims.to_vec(),
            data_type: Some(data_type(element_type)),
            name: Some(name.to_owned()),
            raw_data: Some(bytes.to_vec()),
            ..TensorProto::default()
        });
        self
    }

    /// Adds a constant of f32 values in another file.
    pub fn external(mut self, name: &str, dims: &[i64], location: &str, offset_bytes: u64) -> Self {
        let length = 4 * dims.iter().product::<i64>();
        let entry =
            |key: &str, value: String| StringStringEntryProto { key: Some(key.into()), value: Some(value) };
        self.0.initializer.push(TensorProto {
            dims: dims.to_vec(),
            data_type: Some(data_type(ElementType::F32)),
            name: Some(name.to_owned()),
            external_data: vec![
                entry("location", location.to_owned()),
                entry("offset", offset_bytes.to_string()),
                entry("length", length.to_string()),
            ],
            data_location: Some(EXTERNAL),
            ..TensorProto::default()
        });
        self
    }

    /// Writes the file.
    pub fn write(self, folder: &Path, name: &str) -> PathBuf {
        let model = ModelProto {
            ir_version: Some(8),
            graph: Some(GraphProto { name: Some("test".into()), ..self.0 }),
            opset_import: vec![OperatorSetIdProto { domain: Some(String::new()), version: Some(17) }],
            ..ModelProto::default()
        };
        let path = folder.join(name);
        std::fs::write(&path, model.encode_to_vec()).expect("the folder can be written");
        path
    }
}

/// An attribute that is an integer.
pub fn integer(name: &str, value: i64) -> AttributeProto {
    AttributeProto { name: Some(name.into()), i: Some(value), r#type: Some(2), ..AttributeProto::default() }
}

/// An attribute that is a list of integers.
pub fn integers(name: &str, values: &[i64]) -> AttributeProto {
    AttributeProto {
        name: Some(name.into()),
        ints: values.to_vec(),
        r#type: Some(7),
        ..AttributeProto::default()
    }
}

fn value(name: &str, data_type: i32, dims: &[Option<i64>]) -> ValueInfoProto {
    let dim = |extent: &Option<i64>| DimensionProto {
        dim_value: *extent,
        dim_param: extent.is_none().then(|| "batch".to_owned()),
    };
    let shape = TensorShapeProto { dim: dims.iter().map(dim).collect() };
    let tensor = TensorTypeProto { elem_type: Some(data_type), shape: Some(shape) };
    let kind = TypeProto { tensor_type: Some(tensor) };
    ValueInfoProto { name: Some(name.into()), r#type: Some(kind) }
}
