//! The part of TensorFlow's messages that is read, field numbers as in `graph.proto`, `node_def.proto`,
//! `attr_value.proto` and `tensor.proto`. The decoder steps over other fields.

use std::collections::HashMap;

use prost::{Message, Oneof};

/// A file.
#[derive(Clone, PartialEq, Message)]
pub(super) struct GraphDef {
    #[prost(message, repeated, tag = "1")]
    pub(super) node: Vec<NodeDef>,
}

/// One operation.
#[derive(Clone, PartialEq, Message)]
pub(super) struct NodeDef {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(string, tag = "2")]
    pub(super) op: String,
    #[prost(string, repeated, tag = "3")]
    pub(super) input: Vec<String>,
    #[prost(map = "string, message", tag = "5")]
    pub(super) attr: HashMap<String, AttrValue>,
}

/// A parameter.
#[derive(Clone, PartialEq, Message)]
pub(super) struct AttrValue {
    #[prost(oneof = "AttrKind", tags = "1, 2, 3, 4, 5, 8")]
    pub(super) value: Option<AttrKind>,
}

/// The kinds of parameters that are read.
#[derive(Clone, PartialEq, Oneof)]
pub(super) enum AttrKind {
    #[prost(message, tag = "1")]
    List(ListValue),
    #[prost(bytes = "vec", tag = "2")]
    S(Vec<u8>),
    #[prost(int64, tag = "3")]
    I(i64),
    #[prost(float, tag = "4")]
    F(f32),
    #[prost(bool, tag = "5")]
    B(bool),
    #[prost(message, tag = "8")]
    Tensor(TensorProto),
}

/// A list; of its kinds the integers are read.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ListValue {
    #[prost(int64, repeated, tag = "3")]
    pub(super) i: Vec<i64>,
}

/// A constant. Its values are in `tensor_content`, or in the field of their type, where one that is missing is like the
/// last.
#[derive(Clone, PartialEq, Message)]
pub(super) struct TensorProto {
    #[prost(int32, tag = "1")]
    pub(super) dtype: i32,
    #[prost(message, optional, tag = "2")]
    pub(super) tensor_shape: Option<TensorShapeProto>,
    #[prost(bytes = "vec", tag = "4")]
    pub(super) tensor_content: Vec<u8>,
    #[prost(float, repeated, tag = "5")]
    pub(super) float_val: Vec<f32>,
    #[prost(int32, repeated, tag = "7")]
    pub(super) int_val: Vec<i32>,
    #[prost(int64, repeated, tag = "10")]
    pub(super) int64_val: Vec<i64>,
    #[prost(bool, repeated, tag = "11")]
    pub(super) bool_val: Vec<bool>,
    /// The bits of 16-bit floating point.
    #[prost(int32, repeated, tag = "13")]
    pub(super) half_val: Vec<i32>,
}

/// Extents of a constant.
#[derive(Clone, PartialEq, Message)]
pub(super) struct TensorShapeProto {
    #[prost(message, repeated, tag = "2")]
    pub(super) dim: Vec<Dim>,
}

/// One extent.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Dim {
    #[prost(int64, tag = "1")]
    pub(super) size: i64,
}
