//! Graph models of TensorFlow.js: the nodes as JSON, their constants in shards.

use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;
use serde_json::Value;

use super::{
    constant::Constant,
    error::GraphError,
    node::{Attribute, Node},
    weights::{self, Group},
};

/// The part of `model.json` that is read.
#[derive(Deserialize)]
struct GraphModel {
    #[serde(rename = "modelTopology")]
    topology: Topology,
    #[serde(rename = "weightsManifest")]
    manifest: Vec<Group>,
}

#[derive(Deserialize)]
struct Topology {
    node: Vec<JsonNode>,
}

#[derive(Deserialize)]
struct JsonNode {
    name: String,
    op: String,
    #[serde(default)]
    input: Vec<String>,
    #[serde(default)]
    attr: BTreeMap<String, JsonAttribute>,
}

/// A parameter: an object with one key, which says its kind.
#[derive(Deserialize)]
struct JsonAttribute {
    s: Option<Value>,
    i: Option<Value>,
    f: Option<f32>,
    b: Option<bool>,
    list: Option<JsonList>,
}

#[derive(Deserialize)]
struct JsonList {
    #[serde(default)]
    i: Vec<Value>,
}

/// Returns the nodes of a model; its constants have the values of the shards.
pub(super) fn nodes(model_json: &[u8], shards: &[Vec<u8>]) -> Result<Vec<Node>, GraphError> {
    let model: GraphModel = serde_json::from_slice(model_json).map_err(GraphError::NotGraphModel)?;
    let mut constants = weights::read(&model.manifest, shards)?;
    model.topology.node.into_iter().map(|node| read(node, &mut constants)).collect()
}

fn read(node: JsonNode, constants: &mut HashMap<String, Constant>) -> Result<Node, GraphError> {
    let JsonNode { name, op, input, attr } = node;
    let mut attributes: BTreeMap<_, _> =
        attr.into_iter().map(|(key, value)| (key, value.attribute())).collect();
    if op == "Const" {
        let missing =
            || GraphError::Constant { node: name.clone(), what: "is not in the model's manifest".to_owned() };
        let constant = constants.remove(&name).ok_or_else(missing)?;
        attributes.insert("value".to_owned(), Attribute::Constant(constant));
    }
    Ok(Node { name, operator: op, inputs: input, attributes })
}

impl JsonAttribute {
    fn attribute(self) -> Attribute {
        let of_list = |list: JsonList| list.i.iter().map(integer).collect::<Option<_>>().map(Attribute::Ints);
        let found = self.i.as_ref().and_then(integer).map(Attribute::Int);
        let found = found.or_else(|| self.s.as_ref().and_then(text).map(Attribute::Text));
        let found = found.or_else(|| self.f.map(Attribute::Float)).or_else(|| self.b.map(Attribute::Flag));
        found.or_else(|| self.list.and_then(of_list)).unwrap_or(Attribute::Other)
    }
}

/// Returns an integer, which protobuf's JSON writes as a text.
fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::String(text) => text.parse().ok(),
        value => value.as_i64(),
    }
}

/// Returns a text, which is written as the numbers of its bytes or in base64.
fn text(value: &Value) -> Option<String> {
    let bytes: Vec<u8> = match value {
        Value::Array(bytes) => {
            bytes.iter().map(|byte| byte.as_u64()?.try_into().ok()).collect::<Option<_>>()?
        }
        Value::String(text) => base64(text)?,
        _ => return None,
    };
    String::from_utf8(bytes).ok()
}

fn base64(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    };
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0_u32, 0);
    for byte in text.trim_end_matches('=').bytes() {
        bits = bits << 6 & 0xffff | u32::from(digit(byte)?);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count & 0xff) as u8);
        }
    }
    Some(bytes)
}
