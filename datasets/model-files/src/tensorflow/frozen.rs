//! Frozen graphs: the message `GraphDef`, with variables as constants.

use half::f16;
use prost::Message;

use super::{
    constant::{Constant, Values, count},
    error::GraphError,
    node::{Attribute, Node},
    proto::{AttrKind, AttrValue, GraphDef, NodeDef, TensorProto},
};

/// Maximum number of values, of all constants together, that a file need not have because they are like the one before.
const REPEATS_MAX: usize = 1 << 22;

/// `DataType` in `types.proto`.
mod data_type {
    pub(super) const FLOAT: i32 = 1;
    pub(super) const INT32: i32 = 3;
    pub(super) const INT64: i32 = 9;
    pub(super) const BOOL: i32 = 10;
    pub(super) const HALF: i32 = 19;
}

/// Returns the nodes of a file.
pub(super) fn nodes(data: &[u8]) -> Result<Vec<Node>, GraphError> {
    let graph = GraphDef::decode(data).map_err(GraphError::NotFrozen)?;
    let mut repeats = Repeats(REPEATS_MAX);
    graph.node.into_iter().map(|node| read(node, &mut repeats)).collect()
}

/// Number of repeated values that may still come.
struct Repeats(usize);

fn read(node: NodeDef, repeats: &mut Repeats) -> Result<Node, GraphError> {
    let NodeDef { name, op, input, attr } = node;
    let mut attributes = std::collections::BTreeMap::new();
    for (key, AttrValue { value }) in attr {
        let attribute = match value {
            None => Attribute::Other,
            Some(AttrKind::List(list)) => Attribute::Ints(list.i),
            Some(AttrKind::S(text)) => Attribute::Text(String::from_utf8_lossy(&text).into_owned()),
            Some(AttrKind::I(value)) => Attribute::Int(value),
            Some(AttrKind::F(value)) => Attribute::Float(value),
            Some(AttrKind::B(value)) => Attribute::Flag(value),
            Some(AttrKind::Tensor(tensor)) => Attribute::Constant(constant(&name, &tensor, repeats)?),
        };
        attributes.insert(key, attribute);
    }
    Ok(Node { name, operator: op, inputs: input, attributes })
}

fn constant(node: &str, tensor: &TensorProto, repeats: &mut Repeats) -> Result<Constant, GraphError> {
    let fault = |what: String| GraphError::Constant { node: node.to_owned(), what };
    let sizes = tensor.tensor_shape.iter().flat_map(|shape| &shape.dim).map(|dim| dim.size);
    let dims: Option<Vec<usize>> = sizes.clone().map(|size| usize::try_from(size).ok()).collect();
    let count = dims.as_deref().and_then(count);
    let (Some(dims), Some(count)) = (dims, count) else {
        return Err(fault(format!("has the shape {:?}", sizes.collect::<Vec<_>>())));
    };
    let content = &tensor.tensor_content;
    let values = if content.is_empty() { of_fields(tensor) } else { of_content(tensor.dtype, content) };
    let values = match values {
        Values::Reals(values) => Values::Reals(filled(values, count, repeats)?),
        Values::Ints(values) => Values::Ints(filled(values, count, repeats)?),
        other @ Values::Other(_) => return Ok(Constant { dims, values: other }),
    };
    if values.len() != count {
        return Err(fault(format!("has {} values, but the shape {dims:?} has {count}", values.len())));
    }
    Ok(Constant { dims, values })
}

fn of_content(data_type: i32, bytes: &[u8]) -> Values {
    match data_type {
        data_type::FLOAT => {
            Values::Reals(bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
        }
        data_type::HALF => Values::Reals(
            bytes.as_chunks().0.iter().map(|bytes| f16::from_le_bytes(*bytes).to_f32()).collect(),
        ),
        data_type::INT32 => {
            Values::Ints(bytes.as_chunks().0.iter().map(|bytes| i32::from_le_bytes(*bytes).into()).collect())
        }
        data_type::INT64 => {
            Values::Ints(bytes.as_chunks().0.iter().map(|bytes| i64::from_le_bytes(*bytes)).collect())
        }
        data_type::BOOL => Values::Ints(bytes.iter().map(|byte| i64::from(*byte != 0)).collect()),
        other => Values::Other(other),
    }
}

fn of_fields(tensor: &TensorProto) -> Values {
    match tensor.dtype {
        data_type::FLOAT => Values::Reals(tensor.float_val.clone()),
        data_type::HALF => {
            let real = |bits: &i32| f16::from_bits(u16::try_from(*bits).unwrap_or(0)).to_f32();
            Values::Reals(tensor.half_val.iter().map(real).collect())
        }
        data_type::INT32 => Values::Ints(tensor.int_val.iter().map(|value| i64::from(*value)).collect()),
        data_type::INT64 => Values::Ints(tensor.int64_val.clone()),
        data_type::BOOL => Values::Ints(tensor.bool_val.iter().map(|value| i64::from(*value)).collect()),
        other => Values::Other(other),
    }
}

/// Returns the values with the missing ones, which are like the last; zero where there is none.
fn filled<T: Copy + Default>(
    mut values: Vec<T>,
    count: usize,
    repeats: &mut Repeats,
) -> Result<Vec<T>, GraphError> {
    let missing = count.saturating_sub(values.len());
    let left = repeats.0.checked_sub(missing).ok_or(GraphError::Repeats { limit: REPEATS_MAX })?;
    *repeats = Repeats(left);
    values.resize(values.len() + missing, values.last().copied().unwrap_or_default());
    Ok(values)
}
