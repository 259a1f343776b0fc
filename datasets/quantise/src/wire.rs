//! Changes of a file on the level of protobuf's fields: everything that is not changed keeps its bytes, also what
//! `proctor_onnx_file::proto` leaves out, such as the branches of conditions, functions and metadata.

use std::collections::{BTreeMap, BTreeSet};

use proctor_onnx_file::proto::{NodeProto, TensorProto, ValueInfoProto};
use prost::{
    Message,
    bytes::Buf,
    encoding::{
        DecodeContext, WireType, decode_key, decode_varint, encode_key, encode_varint, skip_field, string,
    },
};

/// Fields of `ModelProto`.
const IR_VERSION: u32 = 1;
const GRAPH: u32 = 7;

/// Fields of `GraphProto`.
const NODE: u32 = 1;
const INITIALIZER: u32 = 5;
const INPUT: u32 = 11;
const OUTPUT: u32 = 12;

/// Fields of `NodeProto`.
const NODE_INPUT: u32 = 1;
const NODE_ATTRIBUTE: u32 = 5;

/// Fields of `AttributeProto` that hold graphs.
const ATTRIBUTE_GRAPHS: [u32; 2] = [6, 11];

/// Version of the format from which on constants need not be inputs.
const IR_VERSION_MIN: u64 = 4;

/// Bytes that are no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed;

/// A field of a message.
struct Field<'a> {
    tag: u32,
    /// The field with its key.
    raw: &'a [u8],
    /// Contents of a field that has a length; else empty.
    contents: &'a [u8],
}

/// Changes of a graph, by the positions of its parts.
#[derive(Debug, Default)]
pub(crate) struct GraphEdit {
    /// New inputs of nodes.
    pub(crate) node_inputs: BTreeMap<usize, Vec<String>>,
    /// Nodes to put before all others.
    pub(crate) first: Vec<NodeProto>,
    /// Nodes to put before a node.
    pub(crate) before: BTreeMap<usize, Vec<NodeProto>>,
    /// Nodes to put behind a node.
    pub(crate) behind: BTreeMap<usize, Vec<NodeProto>>,
    /// Nodes to put behind all others.
    pub(crate) last: Vec<NodeProto>,
    /// Constants to leave out.
    pub(crate) without_initializers: BTreeSet<usize>,
    /// Constants to put in the place of others.
    pub(crate) replaced_initializers: BTreeMap<usize, TensorProto>,
    /// Constants to add.
    pub(crate) initializers: Vec<TensorProto>,
    /// Inputs to leave out.
    pub(crate) without_inputs: BTreeSet<usize>,
    /// New outputs, in place of all others.
    pub(crate) outputs: Option<Vec<ValueInfoProto>>,
}

fn fields(bytes: &[u8]) -> impl Iterator<Item = Result<Field<'_>, Malformed>> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        if !rest.has_remaining() {
            return None;
        }
        let field = next_field(&mut rest);
        if field.is_err() {
            rest = &[];
        }
        Some(field)
    })
}

fn next_field<'a>(rest: &mut &'a [u8]) -> Result<Field<'a>, Malformed> {
    let whole = *rest;
    let (tag, wire) = decode_key(rest).map_err(|_| Malformed)?;
    let mut contents: &[u8] = &[];
    if wire == WireType::LengthDelimited {
        let length = decode_varint(rest).map_err(|_| Malformed)?;
        let length = usize::try_from(length).map_err(|_| Malformed)?;
        contents = rest.get(..length).ok_or(Malformed)?;
        *rest = &rest[length..];
    } else {
        skip_field(wire, tag, rest, DecodeContext::default()).map_err(|_| Malformed)?;
    }
    Ok(Field { tag, raw: &whole[..whole.len() - rest.len()], contents })
}

fn put_message(tag: u32, message: &impl Message, to: &mut Vec<u8>) {
    put_bytes(tag, &message.encode_to_vec(), to);
}

fn put_bytes(tag: u32, bytes: &[u8], to: &mut Vec<u8>) {
    encode_key(tag, WireType::LengthDelimited, to);
    encode_varint(bytes.len() as u64, to);
    to.extend_from_slice(bytes);
}

/// Returns the file with a changed graph.
///
/// # Errors
/// If the bytes are no message, or have several graphs.
pub(crate) fn edited(model: &[u8], edit: &GraphEdit) -> Result<Vec<u8>, Malformed> {
    let mut edited = Vec::with_capacity(model.len());
    let mut graph_count = 0;
    for field in fields(model) {
        let field = field?;
        match field.tag {
            IR_VERSION => {
                let (mut raw, mut version) = (field.raw, 0);
                if let Ok((_, WireType::Varint)) = decode_key(&mut raw) {
                    version = decode_varint(&mut raw).map_err(|_| Malformed)?;
                }
                encode_key(IR_VERSION, WireType::Varint, &mut edited);
                encode_varint(version.max(IR_VERSION_MIN), &mut edited);
            }
            GRAPH => {
                graph_count += 1;
                put_bytes(GRAPH, &edited_graph(field.contents, edit)?, &mut edited);
            }
            _ => edited.extend_from_slice(field.raw),
        }
    }
    if graph_count == 1 { Ok(edited) } else { Err(Malformed) }
}

fn edited_graph(graph: &[u8], edit: &GraphEdit) -> Result<Vec<u8>, Malformed> {
    let mut edited = Vec::with_capacity(graph.len());
    edit.first.iter().for_each(|node| put_message(NODE, node, &mut edited));
    let (mut nodes, mut initializers, mut inputs) = (0, 0, 0);
    for field in fields(graph) {
        let field = field?;
        match field.tag {
            NODE => {
                let put = |nodes: Option<&Vec<NodeProto>>, edited: &mut Vec<u8>| {
                    nodes.into_iter().flatten().for_each(|node| put_message(NODE, node, edited));
                };
                put(edit.before.get(&nodes), &mut edited);
                match edit.node_inputs.get(&nodes) {
                    None => edited.extend_from_slice(field.raw),
                    Some(inputs) => put_bytes(NODE, &edited_node(field.contents, inputs)?, &mut edited),
                }
                put(edit.behind.get(&nodes), &mut edited);
                nodes += 1;
            }
            INITIALIZER => {
                if let Some(tensor) = edit.replaced_initializers.get(&initializers) {
                    put_message(INITIALIZER, tensor, &mut edited);
                } else if !edit.without_initializers.contains(&initializers) {
                    edited.extend_from_slice(field.raw);
                }
                initializers += 1;
            }
            INPUT => {
                if !edit.without_inputs.contains(&inputs) {
                    edited.extend_from_slice(field.raw);
                }
                inputs += 1;
            }
            OUTPUT if edit.outputs.is_some() => {}
            _ => edited.extend_from_slice(field.raw),
        }
    }
    edit.last.iter().for_each(|node| put_message(NODE, node, &mut edited));
    edit.initializers.iter().for_each(|tensor| put_message(INITIALIZER, tensor, &mut edited));
    edit.outputs.iter().flatten().for_each(|output| put_message(OUTPUT, output, &mut edited));
    Ok(edited)
}

fn edited_node(node: &[u8], inputs: &[String]) -> Result<Vec<u8>, Malformed> {
    let mut edited = Vec::with_capacity(node.len());
    string::encode_repeated(NODE_INPUT, inputs, &mut edited);
    for field in fields(node) {
        let field = field?;
        if field.tag != NODE_INPUT {
            edited.extend_from_slice(field.raw);
        }
    }
    Ok(edited)
}

/// Returns whether a node of the file has graphs of its own, which may read any value of the whole graph by its name.
///
/// # Errors
/// If the bytes are no message.
pub(crate) fn has_inner_graphs(model: &[u8]) -> Result<bool, Malformed> {
    for (graph, node) in of_tag(model, GRAPH).map(|graph| (graph, NODE)) {
        for node in of_tag(graph?, node) {
            for attribute in of_tag(node?, NODE_ATTRIBUTE) {
                for field in fields(attribute?) {
                    if ATTRIBUTE_GRAPHS.contains(&field?.tag) {
                        return Ok(true);
                    }
                }
            }
        }
    }
    Ok(false)
}

fn of_tag(bytes: &[u8], tag: u32) -> impl Iterator<Item = Result<&[u8], Malformed>> {
    fields(bytes).filter_map(move |field| match field {
        Ok(field) if field.tag == tag => Some(Ok(field.contents)),
        Ok(_) => None,
        Err(malformed) => Some(Err(malformed)),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn unknown_fields_keep_their_bytes_and_known_ones_are_changed() {
        let mut node = NodeProto { op_type: Some("If".into()), ..NodeProto::default() }.encode_to_vec();
        put_bytes(NODE_INPUT, b"x", &mut node);
        let mut attribute = Vec::new();
        put_bytes(6, b"", &mut attribute);
        put_bytes(NODE_ATTRIBUTE, &attribute, &mut node);
        put_bytes(6, b"text", &mut node);
        let (mut graph, mut model) = (Vec::new(), Vec::new());
        put_bytes(NODE, &node, &mut graph);
        put_bytes(13, b"value_info", &mut graph);
        put_bytes(GRAPH, &graph, &mut model);
        put_bytes(14, b"metadata", &mut model);
        assert_eq!(has_inner_graphs(&model), Ok(true));
        assert_eq!(edited(&model, &GraphEdit::default()).unwrap(), model);
        let edit = GraphEdit { node_inputs: BTreeMap::from([(0, vec!["y".into()])]), ..GraphEdit::default() };
        let changed = edited(&model, &edit).unwrap();
        let has = |text: &[u8]| changed.windows(text.len()).any(|part| part == text);
        assert!(
            has(b"\x0a\x01y") && !has(b"\x0a\x01x") && has(b"text") && has(b"value_info") && has(b"metadata")
        );
        assert_eq!(edited(&[model.clone(), model.clone()].concat(), &edit), Err(Malformed));
    }

    proptest! {
        #[test]
        fn any_bytes_are_taken_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = edited(&bytes, &GraphEdit::default());
            let _ = has_inner_graphs(&bytes);
            let mut model = Vec::new();
            put_bytes(GRAPH, &bytes, &mut model);
            let edit = GraphEdit { node_inputs: BTreeMap::from([(0, vec![])]), ..GraphEdit::default() };
            let _ = edited(&model, &edit);
        }
    }
}
