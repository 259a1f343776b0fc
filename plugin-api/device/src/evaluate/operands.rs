//! Operands and results of an operator, checked once before it is computed.

use proctor_vocabulary::ElementType;

use crate::tensor::{Array, Values, element_count, is_real};

/// Operands of an operator, each with as many elements as its shape says, and of its type.
pub(super) struct Operands<'a>(&'a [Option<&'a Array>]);

impl<'a> Operands<'a> {
    /// Checks each operand on its own.
    pub(super) fn new(inputs: &'a [Option<&'a Array>]) -> Result<Self, String> {
        for input in inputs.iter().flatten() {
            let count = match &input.values {
                Values::Real(values) => values.len(),
                Values::Integer(values) => values.len(),
            };
            check_shape(&input.shape)?;
            if element_count(&input.shape) != Some(count) {
                return Err(format!("{count} elements in an operand of shape {:?}", input.shape));
            }
            if is_real(input.element)? != matches!(input.values, Values::Real(_)) {
                return Err(format!("an operand of {} holds other elements", input.element.name()));
            }
        }
        Ok(Self(inputs))
    }

    /// Returns the operands: the required ones, and the optional ones.
    pub(super) fn take<const NEEDED: usize, const OPTIONAL: usize>(
        &self,
    ) -> Result<([&'a Array; NEEDED], [Option<&'a Array>; OPTIONAL]), String> {
        let given = self.0.len();
        if given > NEEDED + OPTIONAL {
            return Err(format!("{given} operands where there are {} at most", NEEDED + OPTIONAL));
        }
        let find = |at: usize| self.0.get(at).copied().flatten();
        let needed: Option<Vec<_>> = (0..NEEDED).map(find).collect();
        let needed = needed.and_then(|needed| needed.try_into().ok());
        let needed = needed.ok_or_else(|| format!("one of the first {NEEDED} operands is missing"))?;
        Ok((needed, std::array::from_fn(|at| find(NEEDED + at))))
    }

    /// Returns all operands of an operator that takes any number of them, but at least one.
    pub(super) fn all(&self) -> Result<(&'a Array, Vec<&'a Array>), String> {
        let all: Option<Vec<_>> = self.0.iter().copied().collect();
        let all = all.ok_or("an operand is missing")?;
        Ok((*all.first().ok_or("there is no operand")?, all))
    }
}

/// Checks that all operands have the element type of the first.
pub(super) fn check_same_type<'a>(
    first: &Array,
    others: impl IntoIterator<Item = &'a Array>,
) -> Result<(), String> {
    match others.into_iter().find(|other| other.element != first.element) {
        None => Ok(()),
        Some(other) => Err(format!("operands of {} and {}", first.element.name(), other.element.name())),
    }
}

pub(super) fn check_operand(name: &str, operand: &Array, shape: &[usize]) -> Result<(), String> {
    if operand.shape == shape {
        return Ok(());
    }
    Err(format!("{name} of shape {:?}, not {shape:?}", operand.shape))
}

/// Type and shape of a result, as they were inferred.
#[derive(Debug, Clone, Copy)]
pub(super) struct Form<'a> {
    /// Type of the elements.
    pub(super) element: ElementType,
    /// Extent of each dimension.
    pub(super) shape: &'a [usize],
}

impl Form<'_> {
    /// Checks that there can be such a result.
    pub(super) fn check_itself(&self) -> Result<(), String> {
        is_real(self.element)?;
        check_shape(self.shape)
    }

    /// Checks that this is the type and shape that follows from the operands.
    pub(super) fn check(&self, element: ElementType, shape: &[usize]) -> Result<(), String> {
        if (self.element, self.shape) == (element, shape) {
            return Ok(());
        }
        let (is, wanted) = (element.name(), self.element.name());
        Err(format!("{is} of shape {shape:?} where {wanted} of shape {:?} is wanted", self.shape))
    }

    /// Returns the number of elements.
    pub(super) fn count(&self) -> usize {
        self.shape.iter().product()
    }

    /// Returns the result as an array.
    pub(super) fn array(&self, values: Values) -> Array {
        match values {
            Values::Real(values) => Array::real(self.element, self.shape, values),
            Values::Integer(values) => Array::integer(self.element, self.shape, values),
        }
    }
}

/// Checks that no product of extents overflows, not even of a shape without elements.
pub(super) fn check_shape(shape: &[usize]) -> Result<(), String> {
    let extents: Vec<usize> = shape.iter().map(|extent| *extent.max(&1)).collect();
    match element_count(&extents) {
        Some(_) => Ok(()),
        None => Err(format!("a tensor of shape {shape:?} does not fit into memory")),
    }
}
