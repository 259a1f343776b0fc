//! Operators between real numbers and small integers.

use proctor_onnx_file::{ValueType, value_type};
use proctor_vocabulary::ElementType;

use super::parameters::NodeText;
use crate::{
    op::{Op, quantized_range},
    read::scope::{Operand, Rule, Scope, Words, axis},
    tensor::{Array, element_count, is_real},
};

/// Attributes of a node that place its scales.
#[derive(Debug, Clone, Copy)]
struct Scales {
    axis: i64,
    /// Type of the result, if an attribute says it.
    result: Option<ElementType>,
}

impl Scales {
    fn read(text: &NodeText<'_>, further: &[(i64, &str)]) -> Words<Self> {
        let since = [&[(13, "axis"), (21, "block_size")], further].concat();
        let attributes = text.attributes_since(&[], &since)?;
        // The precision of the division is f32 or wider here in any case, and `saturate` is about 8-bit floating point.
        let block_size = attributes.int("block_size", 0)?;
        if block_size != 0 {
            return Err(format!("blocks of {block_size} elements with a scale each are not supported"));
        }
        let result = match attributes.int("output_dtype", 0)? {
            0 => None,
            number => match value_type(i32::try_from(number).unwrap_or(0)) {
                ValueType::Tensor(element) => Some(element),
                ValueType::Other(name) => {
                    return Err(format!("its result is of {name}, which is not supported"));
                }
            },
        };
        Ok(Self { axis: attributes.int("axis", 1)?, result })
    }

    /// Returns the operand with the scales of a tensor, and the dimension that they belong to. A single scale gets the
    /// shape of a scalar.
    fn of(self, scope: &mut Scope<'_>, x: &Operand) -> Words<(Operand, usize)> {
        let scale = scope.real(1)?;
        if element_count(&scale.shape) == Some(1) {
            let single = scope.reshaped(&scale, Vec::new())?;
            return Ok((scope.operand(single), 0));
        }
        let axis = axis(self.axis, x.shape.len())?;
        if scale.shape != [x.shape[axis]] {
            return Err(format!("scales {:?} of {:?} along axis {axis}", scale.shape, x.shape));
        }
        Ok((scale, axis))
    }
}

/// Returns the zero points, which have the shape of the scales.
fn zero_point(scope: &mut Scope<'_>, scale: &Operand) -> Words<Option<Operand>> {
    let Some(zero) = scope.optional(2) else { return Ok(None) };
    if element_count(&zero.shape) != element_count(&scale.shape) {
        return Err(format!("zero points {:?} of scales {:?}", zero.shape, scale.shape));
    }
    let zero = scope.reshaped(&zero, scale.shape.clone())?;
    Ok(Some(scope.operand(zero)))
}

pub(super) fn quantize_linear(text: &NodeText<'_>) -> Words<Rule> {
    let further = [(19, "saturate"), (21, "output_dtype"), (23, "precision")];
    let scales = Scales::read(text, &further)?;
    scales.result.map(quantized_range).transpose()?;
    Ok(Box::new(move |scope| {
        let x = scope.real(0)?;
        scope.required_like(1, &x)?;
        let (scale, axis) = scales.of(scope, &x)?;
        let zero = match zero_point(scope, &scale)? {
            Some(zero) => zero,
            None => {
                let element = scales.result.unwrap_or(ElementType::U8);
                let count = element_count(&scale.shape).ok_or("too many scales")?;
                let zeros = Array::integer(element, &scale.shape, vec![0; count]);
                let zeros = scope.add_constant(zeros.tensor());
                scope.operand(zeros)
            }
        };
        quantized_range(zero.element)?;
        if scales.result.is_some_and(|result| result != zero.element) {
            return Err(format!("its zero point holds {}, not the type of the result", zero.element));
        }
        let op = Op::QuantizeLinear { axis };
        Ok(vec![scope.add(op, &[&x, &scale, &zero], zero.element, x.shape.clone())?])
    }))
}

pub(super) fn dequantize_linear(text: &NodeText<'_>) -> Words<Rule> {
    let scales = Scales::read(text, &[(23, "output_dtype")])?;
    Ok(Box::new(move |scope| {
        let x = scope.number(0)?;
        if is_real(x.element)? {
            return Err(format!("input 0 holds {}, not integers", x.element));
        }
        let (scale, axis) = scales.of(scope, &x)?;
        let zero = zero_point(scope, &scale)?;
        if let Some(zero) = zero.as_ref().filter(|zero| zero.element != x.element) {
            return Err(format!("its inputs hold {} and {}", x.element, zero.element));
        }
        if scales.result.is_some_and(|result| result != scale.element) {
            return Err(format!("its scale holds {}, not the type of the result", scale.element));
        }
        let inputs: Vec<_> = [&x, &scale].into_iter().chain(&zero).collect();
        let op = Op::DequantizeLinear { axis };
        Ok(vec![scope.add(op, &inputs, scale.element, x.shape.clone())?])
    }))
}
