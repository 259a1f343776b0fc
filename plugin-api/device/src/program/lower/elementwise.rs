//! Nodes that work element by element.

use std::{fmt::Write as _, mem};

use proctor_vocabulary::ElementType;

use super::{Lowering, ValueState, int, matrices::Product};
use crate::{
    graph::{Node, ValueId},
    kernels::KernelFile,
    op::Op,
    program::{
        call::{Argument, Kernel},
        expression::{Expression, Term, TermId},
        types,
        view::{View, collapsed},
    },
};

/// Maximum number of operands of an expression. Each takes a register or two of every item.
const OPERANDS_MAX: usize = 8;

/// Elements that are still to be computed.
#[derive(Debug, Clone)]
pub(super) struct Pending {
    /// Name of the node to name a call after, if it is known.
    pub label: Option<String>,
    /// A product whose elements the expression takes as operand [`OperandSource::Product`], if there is one.
    pub product: Option<Product>,
    pub expression: Expression,
    /// The operands of the expression, by number.
    pub operands: Vec<OperandSource>,
    pub shape: Vec<usize>,
}

/// Operand of a pending expression.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum OperandSource {
    Product,
    /// Stored elements, in the shape of the result.
    Stored(View),
}

impl Pending {
    /// Returns the elements of a view as they are.
    pub(super) fn copy_of(view: View) -> Result<Self, String> {
        let mut expression = Expression::default();
        expression.add(Term::Operand(0, view.element))?;
        let shape = view.shape.clone();
        Ok(Self {
            label: None,
            product: None,
            expression,
            operands: vec![OperandSource::Stored(view)],
            shape,
        })
    }

    /// Returns the elements of a product as they are.
    pub(super) fn of_product(label: &str, product: Product, shape: &[usize]) -> Result<Self, String> {
        let mut expression = Expression::default();
        expression.add(Term::Operand(0, product.element()))?;
        let shape = shape.to_vec();
        let (label, operands) = (Some(label.to_owned()), vec![OperandSource::Product]);
        Ok(Self { label, product: Some(product), expression, operands, shape })
    }

    /// Adds another operand, or finds it if it exists, and returns its number.
    fn operand(&mut self, operand: OperandSource) -> usize {
        self.operands.iter().position(|known| *known == operand).unwrap_or_else(|| {
            self.operands.push(operand);
            self.operands.len() - 1
        })
    }

    /// Takes over another expression, in the shape of this one, and returns its result.
    fn join(&mut self, other: Self) -> TermId {
        let Self { label, product, expression, operands, .. } = other;
        if product.is_some() {
            (self.label, self.product) = (label, product);
        }
        let numbers: Vec<usize> = operands
            .into_iter()
            .map(|operand| match operand {
                OperandSource::Stored(view) => {
                    let view = view.broadcast(&self.shape);
                    self.operand(OperandSource::Stored(view))
                }
                OperandSource::Product => self.operand(OperandSource::Product),
            })
            .collect();
        self.expression.append(&expression, &numbers)
    }
}

impl Lowering<'_> {
    /// Makes the result of a node pending: other nodes may take the expression into their own.
    pub(super) fn elementwise(&mut self, node: &Node) -> Result<(), String> {
        let result = Self::result(node);
        let shape = self.shape(result).to_vec();
        let mut pending = Pending {
            label: Some(node.label.clone()),
            product: None,
            expression: Expression::default(),
            operands: Vec::new(),
            shape,
        };
        let mut terms = Vec::new();
        for (at, id) in node.inputs.iter().enumerate() {
            terms.push(match id {
                Some(id) => Some(self.term(&mut pending, node, at, *id)?),
                None => None,
            });
        }
        let optional = |at: usize| terms.get(at).copied().flatten();
        let term = |at: usize| optional(at).expect(super::HAS_INPUTS);
        let function = match &node.op {
            Op::Unary(function) => Term::Unary(*function, term(0)),
            Op::Binary(function) => Term::Binary(*function, term(0), term(1)),
            Op::Where => Term::Choice([term(0), term(1), term(2)]),
            Op::Cast(to) => Term::Cast(term(0), *to),
            Op::QuantizeLinear { .. } => Term::Quantized { x: term(0), scale: term(1), zero_point: term(2) },
            Op::DequantizeLinear { .. } => {
                Term::Dequantized { x: term(0), scale: term(1), zero_point: optional(2) }
            }
            _ => unreachable!("{} does not work element by element", node.label),
        };
        pending.expression.add(function)?;
        self.states[result.0] = Some(ValueState::Pending(Box::new(pending)));
        Ok(())
    }

    /// Adds an operand to an expression: its own expression, if it is pending and has no other reader, or its elements.
    fn term(&mut self, to: &mut Pending, node: &Node, at: usize, id: ValueId) -> Result<TermId, String> {
        let is_alone = self.reader_counts[id.0] == 1;
        if let Some(ValueState::Pending(pending)) = &self.states[id.0] {
            let fits = pending.operands.len() + to.operands.len() <= OPERANDS_MAX
                && (pending.shape == to.shape)
                && !(pending.product.is_some() && to.product.is_some());
            if is_alone
                && fits
                && let Some(ValueState::Pending(pending)) = self.states[id.0].take()
            {
                return Ok(to.join(*pending));
            }
        }
        let view = self.stored(id)?;
        let view = of_axis(node, at, view, &to.shape).broadcast(&to.shape);
        let element = view.element;
        let number = to.operand(OperandSource::Stored(view));
        to.expression.add(Term::Operand(number, element))
    }

    /// Adds the call that computes elements into a place.
    pub(super) fn emit(&mut self, mut pending: Pending, to: &View) -> Result<(), String> {
        // Under its own name, not the name of the node that wants it.
        let label = pending.label.take().unwrap_or_else(|| self.label.clone());
        let wanted_by = mem::replace(&mut self.label, label);
        let emitted = self.emit_here(pending, to);
        self.label = wanted_by;
        emitted
    }

    fn emit_here(&mut self, pending: Pending, to: &View) -> Result<(), String> {
        let Pending { product, expression, operands, .. } = pending;
        if let Some(product) = product {
            return self.emit_product(product, &expression, &operands, to);
        }
        let views: Vec<View> = operands
            .into_iter()
            .filter_map(|operand| match operand {
                OperandSource::Stored(view) => Some(view),
                OperandSource::Product => None,
            })
            .collect();
        let all: Vec<&View> = [to].into_iter().chain(&views).collect();
        let (extents, strides) = collapsed(&all);
        let mut layout: Vec<isize> = extents.iter().map(|extent| extent.cast_signed()).collect();
        for (view, strides) in all.iter().zip(&strides) {
            layout.push(view.offset);
            layout.extend(strides);
        }
        let layout: Result<Vec<i32>, _> = layout.into_iter().map(i32::try_from).collect();
        let layout = self.integers(&layout.map_err(|_| "a tensor has more than 2^31 elements".to_owned())?);
        let (mut parameters, mut places) = (String::new(), Vec::new());
        for (number, view) in views.iter().enumerate() {
            // Writing to a string never fails.
            let _ = write!(parameters, ", GLOBAL const {}* p{number}", types::stored(view.element)?);
            let at = format!("places[{}]", number + 1);
            places.push(types::read(view.element, &format!("p{number}"), &at)?);
        }
        let preamble = format!(
            "{}#define OPERAND_PARAMETERS {parameters}\n#define OPERAND_ARGUMENTS {}\n{}",
            types::result(to.element)?,
            places.join(", "),
            function(&expression, &views.iter().map(|view| view.element).collect::<Vec<_>>()),
        );
        let count: usize = to.shape.iter().product();
        let kernel = Kernel {
            file: KernelFile::Elementwise,
            function: "elementwise",
            defines: vec![("RANK", extents.len() as i64), ("OPERANDS", views.len() as i64)],
            preamble,
        };
        let mut arguments = vec![Argument::Buffer(to.buffer), int(count)?, Argument::Buffer(layout)];
        arguments.extend(views.iter().map(|view| Argument::Buffer(view.buffer)));
        self.call(kernel, arguments, [count, 1, 1], self.tuning.element_group, 0);
        Ok(())
    }
}

/// Returns the function `element` of an expression, of operands of these types.
pub(super) fn function(expression: &Expression, operands: &[ElementType]) -> String {
    let parameters: Vec<String> = (operands.iter().enumerate())
        .map(|(number, element)| format!("{} x{number}", types::computed(*element)))
        .collect();
    let result = types::computed(expression.element());
    format!("INLINE {result} element({}) {{\n{}}}\n", parameters.join(", "), expression.text())
}

/// Scales and zero points that belong to a dimension, in a shape that is broadcast along it.
fn of_axis(node: &Node, at: usize, view: View, shape: &[usize]) -> View {
    let axis = match node.op {
        Op::QuantizeLinear { axis } | Op::DequantizeLinear { axis } if at > 0 && view.shape.len() == 1 => {
            axis
        }
        _ => return view,
    };
    if view.shape[0] == 1 {
        return view;
    }
    let mut extents = vec![1; shape.len() - axis];
    let mut strides = vec![0; shape.len() - axis];
    (extents[0], strides[0]) = (view.shape[0], view.strides[0]);
    View { shape: extents, strides, ..view }
}
