//! A recurrent layer as an ONNX file of one node.
//!
//! The node has constant weights; its input is `X` `[time, batch, input]`, its output `Y` `[time, direction, batch,
//! hidden]`, and of a case with an initial state `initial_h` and `initial_c` `[direction, batch, hidden]` are inputs,
//! too. The batch is fixed in the file for peers, which may use that, and free in the one for a plugin, which gets
//! samples of one sequence each.

use proctor_onnx_file::{Attribute, Dim, GraphBuilder};
use proctor_recurrent_layers::LayerDirection;
use proctor_vocabulary::ElementType::F32;

use super::cases::{Kind, LayerCase};

/// Returns the bytes of the file, with this extent of the batch.
pub(super) fn model(layer: &LayerCase, weights: &[LayerDirection], batch: &Dim) -> Vec<u8> {
    let LayerCase { kind, input, hidden, time, .. } = *layer;
    let directions = layer.direction_count();
    let gates = kind.gate_count() * hidden;
    let joined =
        |of: &dyn Fn(&LayerDirection) -> Vec<f32>| -> Vec<f32> { weights.iter().flat_map(of).collect() };
    let ordered = |rows: &[f32]| in_order(kind, rows);
    let w = joined(&|weights| ordered(&weights.input));
    let r = joined(&|weights| ordered(&weights.hidden));
    let b = joined(&|weights| [ordered(&weights.input_bias), ordered(&weights.hidden_bias)].concat());
    let mut graph = GraphBuilder::new("layer");
    graph.constant("W", &[directions, gates, input], &w);
    graph.constant("R", &[directions, gates, hidden], &r);
    graph.constant("B", &[directions, 2 * gates], &b);
    let batch = || batch.clone();
    graph.input("X", F32, &[Dim::Fixed(time), batch(), Dim::Fixed(input)]);
    let states = initial_states(layer);
    for name in states {
        graph.input(name, F32, &[Dim::Fixed(directions), batch(), Dim::Fixed(hidden)]);
    }
    // The lengths, which are left out, come before the states.
    let lengths: &[&str] = if states.is_empty() { &[] } else { &[""] };
    let inputs = [&["X", "W", "R", "B"], lengths, states].concat();
    let operator = kind.prefix().to_uppercase();
    graph.node(&operator, "Y", &inputs, &attributes(layer));
    graph.output("Y", F32, &[Dim::Fixed(time), Dim::Fixed(directions), batch(), Dim::Fixed(hidden)]);
    graph.into_bytes()
}

/// Returns the names of the inputs with states.
fn initial_states(layer: &LayerCase) -> &'static [&'static str] {
    match (layer.has_initial_state(), layer.kind) {
        (false, _) => &[],
        (true, Kind::Lstm) => &["initial_h", "initial_c"],
        (true, _) => &["initial_h"],
    }
}

fn attributes(layer: &LayerCase) -> Vec<(&'static str, Attribute)> {
    let direction = if layer.bidirectional { "bidirectional" } else { "forward" };
    let mut attributes = vec![("hidden_size", (layer.hidden as i64).into()), ("direction", direction.into())];
    if layer.kind != Kind::Lstm {
        attributes.push(("linear_before_reset", i64::from(layer.kind == Kind::Gru).into()));
    }
    attributes
}

/// Returns the gates in ONNX's order: LSTM i, o, f, c; GRU z, r, h.
fn in_order(kind: Kind, rows: &[f32]) -> Vec<f32> {
    let order: &[usize] = if kind == Kind::Lstm { &[0, 3, 1, 2] } else { &[1, 0, 2] };
    let gate = rows.len() / kind.gate_count();
    order.iter().flat_map(|position| &rows[position * gate..][..gate]).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rnn::problem::Problem;

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
        let contains = |layer, text: &[u8]| {
            let file = model(&layer, &Problem::new(layer).directions, &Dim::Fixed(1));
            file.windows(text.len()).any(|window| window == text)
        };
        assert!(contains(layer, b"initial_h") && !contains(layer, b"initial_c"));
        assert!(!contains(LayerCase { time: 2, ..layer }, b"initial_h"));
        assert!(contains(LayerCase { kind: Kind::Lstm, ..layer }, b"initial_c"));
    }
}
