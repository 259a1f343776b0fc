//! A recurrent layer as an ONNX file of one node, in the wire format of Protocol Buffers.
//!
//! Field numbers are those of `onnx.proto` (ONNX 1.16, IR version 8). The node has constant weights; its input is `X`
//! `[time, batch, input]`, its output `Y` `[time, direction, batch, hidden]`, and of a case with an initial state
//! `initial_h` and `initial_c` `[direction, batch, hidden]` are inputs, too.

use proctor_accuracy::LayerDirection;

use super::{
    cases::{Kind, LayerCase},
    problem::{Problem, bytes},
};

/// Version of the format that the file is in, and of the operators.
const IR_VERSION: u64 = 8;
const OPSET_VERSION: u64 = 14;
/// `TensorProto.DataType.FLOAT`.
const FLOAT: u64 = 1;
/// `AttributeProto.AttributeType`.
const ATTRIBUTE_INT: u64 = 2;
const ATTRIBUTE_STRING: u64 = 3;

/// The bytes of the file.
pub(super) fn model(problem: &Problem) -> Vec<u8> {
    let opset = Message::new().text(1, "").number(2, OPSET_VERSION);
    Message::new().number(1, IR_VERSION).text(2, "proctor").message(7, &graph(problem)).message(8, &opset).0
}

fn graph(problem: &Problem) -> Message {
    let LayerCase { kind, input, hidden, batch, time, .. } = problem.layer;
    let directions = problem.layer.direction_count();
    let gates = kind.gate_count() * hidden;
    let joined = |of: &dyn Fn(&LayerDirection) -> Vec<f32>| -> Vec<f32> {
        problem.directions.iter().flat_map(of).collect()
    };
    let ordered = |rows: &[f32]| in_order(kind, rows);
    let w = joined(&|weights| ordered(&weights.input));
    let r = joined(&|weights| ordered(&weights.hidden));
    let b = joined(&|weights| [ordered(&weights.input_bias), ordered(&weights.hidden_bias)].concat());
    let mut graph = Message::new()
        .message(1, &node(&problem.layer))
        .text(2, "layer")
        .message(5, &tensor("W", &[directions, gates, input], &w))
        .message(5, &tensor("R", &[directions, gates, hidden], &r))
        .message(5, &tensor("B", &[directions, 2 * gates], &b))
        .message(11, &value("X", &[time, batch, input]));
    for name in initial_states(&problem.layer) {
        graph = graph.message(11, &value(name, &[directions, batch, hidden]));
    }
    graph.message(12, &value("Y", &[time, directions, batch, hidden]))
}

/// Names of the inputs with states.
fn initial_states(layer: &LayerCase) -> &'static [&'static str] {
    match (layer.has_initial_state(), layer.kind) {
        (false, _) => &[],
        (true, Kind::Lstm) => &["initial_h", "initial_c"],
        (true, _) => &["initial_h"],
    }
}

fn node(layer: &LayerCase) -> Message {
    let operator = layer.kind.prefix().to_uppercase();
    let direction = if layer.bidirectional { "bidirectional" } else { "forward" };
    let mut node = ["X", "W", "R", "B"].into_iter().fold(Message::new(), |node, name| node.text(1, name));
    let states = initial_states(layer);
    if !states.is_empty() {
        // The place of the lengths, which are left out.
        node = states.iter().fold(node.text(1, ""), |node, name| node.text(1, name));
    }
    let integer = |name: &str, value: usize| {
        Message::new().text(1, name).number(3, value as u64).number(20, ATTRIBUTE_INT)
    };
    let text = Message::new().text(1, "direction").text(4, direction).number(20, ATTRIBUTE_STRING);
    let mut node = node
        .text(2, "Y")
        .text(3, "layer")
        .text(4, &operator)
        .message(5, &integer("hidden_size", layer.hidden))
        .message(5, &text);
    if layer.kind != Kind::Lstm {
        node = node.message(5, &integer("linear_before_reset", usize::from(layer.kind == Kind::Gru)));
    }
    node
}

/// Gates in ONNX's order: LSTM i, o, f, c; GRU z, r, h.
fn in_order(kind: Kind, rows: &[f32]) -> Vec<f32> {
    let order: &[usize] = if kind == Kind::Lstm { &[0, 3, 1, 2] } else { &[1, 0, 2] };
    let gate = rows.len() / kind.gate_count();
    order.iter().flat_map(|position| &rows[position * gate..][..gate]).copied().collect()
}

fn tensor(name: &str, shape: &[usize], values: &[f32]) -> Message {
    let dims = shape.iter().fold(Message::new(), |tensor, extent| tensor.number(1, *extent as u64));
    dims.number(2, FLOAT).text(8, name).bytes(9, &bytes(values))
}

fn value(name: &str, shape: &[usize]) -> Message {
    let dims = shape
        .iter()
        .fold(Message::new(), |shape, extent| shape.message(1, &Message::new().number(1, *extent as u64)));
    let tensor = Message::new().number(1, FLOAT).message(2, &dims);
    Message::new().text(1, name).message(2, &Message::new().message(1, &tensor))
}

/// A message of Protocol Buffers, field after field.
struct Message(Vec<u8>);

impl Message {
    fn new() -> Self {
        Self(Vec::new())
    }

    /// A field with an integer.
    fn number(mut self, field: u64, value: u64) -> Self {
        self.varint(field << 3);
        self.varint(value);
        self
    }

    /// A field with a length and so many bytes.
    fn bytes(mut self, field: u64, bytes: &[u8]) -> Self {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    fn text(self, field: u64, text: &str) -> Self {
        self.bytes(field, text.as_bytes())
    }

    fn message(self, field: u64, message: &Self) -> Self {
        self.bytes(field, &message.0)
    }

    /// Seven bits at a time, the lowest first; the highest bit of a byte says that more follow.
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_texts_are_written_as_the_format_has_it() {
        // The examples of the description of the format: field 1 with 150, field 2 with "testing".
        assert_eq!(Message::new().number(1, 150).0, [0x08, 0x96, 0x01]);
        assert_eq!(Message::new().text(2, "testing").0, *b"\x12\x07testing");
    }

    #[test]
    fn gates_change_their_places() {
        assert_eq!(
            in_order(Kind::Lstm, &[0.0, 0.1, 1.0, 1.1, 2.0, 2.1, 3.0, 3.1]),
            [0.0, 0.1, 3.0, 3.1, 1.0, 1.1, 2.0, 2.1]
        );
        assert_eq!(in_order(Kind::Gru, &[0.0, 1.0, 2.0]), [1.0, 0.0, 2.0]);
    }

    #[test]
    fn only_a_single_step_has_states() {
        let layer =
            LayerCase { kind: Kind::Gru0, bidirectional: false, input: 1, hidden: 2, batch: 1, time: 1 };
        let contains =
            |layer, text: &[u8]| model(&Problem::new(layer)).windows(text.len()).any(|window| window == text);
        assert!(contains(layer, b"initial_h") && !contains(layer, b"initial_c"));
        assert!(!contains(LayerCase { time: 2, ..layer }, b"initial_h"));
        assert!(contains(LayerCase { kind: Kind::Lstm, ..layer }, b"initial_c"));
    }
}
