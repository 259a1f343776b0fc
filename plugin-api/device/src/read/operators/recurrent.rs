//! Recurrent layers.

use proctor_onnx_file::Attributes;
use proctor_vocabulary::ElementType;

use super::parameters::NodeText;
use crate::{
    graph::ValueId,
    op::{Cell, Direction, Op, Recurrent},
    read::scope::{Operand, Rule, Scope, Words},
};

/// Number of operands of [`Op::Recurrent`], including ones that are left out.
const INPUT_COUNT: usize = 8;

/// Inputs and outputs whose second dimension is the batch: these steps have another order in files with the batch
/// first.
const SWAPPED: [usize; 3] = [1, 0, 2];

pub(super) fn recurrent(text: &NodeText<'_>, is_lstm: bool) -> Words<Rule> {
    let known = [
        "activations",
        "activation_alpha",
        "activation_beta",
        "clip",
        "direction",
        "hidden_size",
        // An output that the operator had before version 7 asked for; some exporters still write it.
        "output_sequence",
        if is_lstm { "input_forget" } else { "linear_before_reset" },
    ];
    let attributes = text.attributes_since(&known, &[(14, "layout")])?;
    if is_lstm && attributes.int("input_forget", 0)? != 0 {
        return Err("input_forget = 1 is not supported".to_owned());
    }
    let direction = match attributes.text("direction")?.as_deref().unwrap_or("forward") {
        "forward" => Direction::Forward,
        "reverse" => Direction::Reverse,
        "bidirectional" => Direction::Bidirectional,
        other => return Err(format!("direction \"{other}\" is not known")),
    };
    let functions: &[&str] = if is_lstm { &["Sigmoid", "Tanh", "Tanh"] } else { &["Sigmoid", "Tanh"] };
    check_activations(attributes, functions, direction.count())?;
    let cell = if is_lstm {
        Cell::Lstm
    } else {
        Cell::Gru { resets_after: attributes.flag("linear_before_reset", false)? }
    };
    let clip = attributes.float("clip")?.map(f64::from);
    if let Some(clip) = clip.filter(|clip| clip.is_nan() || *clip <= 0.0) {
        return Err(format!("clip = {clip} is not positive"));
    }
    let hidden = if attributes.has("hidden_size") { Some(attributes.int("hidden_size", 0)?) } else { None };
    let is_batch_first = attributes.flag("layout", false)?;
    Ok(Box::new(move |scope| {
        let layer = Layer { cell, direction, clip, hidden, is_batch_first };
        layer.add(scope)
    }))
}

fn check_activations(attributes: Attributes<'_>, functions: &[&str], directions: usize) -> Words<()> {
    for parameter in ["activation_alpha", "activation_beta"] {
        if attributes.floats(parameter)?.is_some_and(|values| !values.is_empty()) {
            return Err(format!("attribute \"{parameter}\" is not supported"));
        }
    }
    let given = attributes.texts("activations")?.unwrap_or_default();
    let expected = functions.iter().copied().cycle().take(functions.len() * directions);
    if given.is_empty() || given.iter().map(String::as_str).eq(expected) {
        return Ok(());
    }
    Err(format!("activations {} are not supported", given.join(", ")))
}

/// The attributes of a layer.
struct Layer {
    cell: Cell,
    direction: Direction,
    clip: Option<f64>,
    hidden: Option<i64>,
    /// True if the batch is the first dimension of X, Y and the states, not the second to last.
    is_batch_first: bool,
}

impl Layer {
    fn add(&self, scope: &mut Scope<'_>) -> Words<Vec<ValueId>> {
        let mut x = scope.real(0)?;
        if x.shape.len() != 3 {
            return Err(format!("X has the shape {:?}, expected three dimensions", x.shape));
        }
        if self.is_batch_first {
            x = swapped(scope, &x)?;
        }
        let [steps, batch, width] = x.shape[..] else { return Err("X is no sequence".to_owned()) };
        let directions = self.direction.count();
        let hidden = self.hidden(&scope.required_like(2, &x)?)?;
        let rows = hidden.checked_mul(self.cell.gate_count()).filter(|rows| rows.checked_mul(2).is_some());
        let rows = rows.ok_or_else(|| format!("hidden_size = {hidden}"))?;
        let state = vec![directions, batch, hidden];
        let mut inputs = vec![Some(x.id), None, None, None, None, None, None, None];
        for (index, name, shape) in [
            (1, "W", vec![directions, rows, width]),
            (2, "R", vec![directions, rows, hidden]),
            (3, "B", vec![directions, 2 * rows]),
            (4, "the sequence lengths", vec![batch]),
            (5, "the initial state", state.clone()),
            (6, "the initial cell", state.clone()),
            (7, "P", vec![directions, 3 * hidden]),
        ] {
            let operand = if index == 4 { scope.optional(4) } else { scope.optional_like(index, &x)? };
            let Some(mut operand) = operand else { continue };
            if self.is_batch_first && (5..7).contains(&index) && operand.shape.len() == 3 {
                operand = swapped(scope, &operand)?;
            }
            if index == 4 && operand.element != ElementType::I32 {
                return Err(format!("the sequence lengths hold {}, expected i32", operand.element));
            }
            if operand.shape != shape {
                return Err(format!("{name} has the shape {:?}, expected {shape:?}", operand.shape));
            }
            inputs[index] = Some(operand.id);
        }
        if inputs[1].is_none() {
            return Err("input 1 is missing".to_owned());
        }
        self.add_op(scope, &x, hidden, inputs, vec![steps, directions, batch, hidden], state)
    }

    fn add_op(
        &self,
        scope: &mut Scope<'_>,
        x: &Operand,
        hidden: usize,
        inputs: Vec<Option<ValueId>>,
        sequence: Vec<usize>,
        state: Vec<usize>,
    ) -> Words<Vec<ValueId>> {
        debug_assert_eq!(inputs.len(), INPUT_COUNT);
        let op =
            Op::Recurrent(Recurrent { cell: self.cell, hidden, direction: self.direction, clip: self.clip });
        let mut kinds = vec![(x.element, state); self.cell.result_count_max()];
        kinds[0].1 = sequence;
        let results = scope.add_of_many(op, inputs, kinds)?;
        if !self.is_batch_first {
            return Ok(results);
        }
        let mut turned = Vec::with_capacity(results.len());
        for result in results {
            let result = scope.operand(result);
            // The sequence is [step, direction, batch, hidden] here and [batch, step, direction, hidden] in the file.
            let order = if result.shape.len() == 4 { vec![2, 0, 1, 3] } else { SWAPPED.to_vec() };
            turned.push(scope.transposed(&result, order)?);
        }
        Ok(turned)
    }

    /// Returns the number of hidden units, from the recurrent weights and the attribute, which must agree.
    fn hidden(&self, weights: &Operand) -> Words<usize> {
        let hidden = match weights.shape[..] {
            [_, _, hidden] if hidden > 0 => hidden,
            _ => return Err(format!("R has the shape {:?}, expected three dimensions", weights.shape)),
        };
        match self.hidden {
            Some(said) if usize::try_from(said) != Ok(hidden) => {
                Err(format!("hidden_size is {said}, but R has the shape {:?}", weights.shape))
            }
            _ => Ok(hidden),
        }
    }
}

fn swapped(scope: &mut Scope<'_>, x: &Operand) -> Words<Operand> {
    let swapped = scope.transposed(x, SWAPPED.to_vec())?;
    Ok(scope.operand(swapped))
}
