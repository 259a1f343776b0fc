//! Numbers as integers of few bits, and back.

use proctor_vocabulary::ElementType;

use crate::{
    evaluate::{
        operands::{Form, Operands, check_operand},
        walk::Around,
    },
    op::quantized_range,
    tensor::{Array, Values},
};

pub(super) fn quantize(axis: usize, operands: &Operands<'_>, form: Form<'_>) -> Result<Array, String> {
    let ([x, scale], [zero_point]) = operands.take()?;
    let (least, greatest) = quantized_range(form.element)?;
    form.check(form.element, &x.shape)?;
    let scales = Scales::new(x, scale, zero_point, axis, form.element)?;
    let of_element = |(at, value): (usize, &f64)| {
        let (scale, zero_point) = scales.at(at);
        // Beyond the range of i64 the conversion saturates too.
        let nearest = (value / scale).round_ties_even() as i64;
        nearest.saturating_add(zero_point).clamp(least, greatest)
    };
    Ok(form.array(Values::Integer(x.reals()?.iter().enumerate().map(of_element).collect())))
}

pub(super) fn dequantize(axis: usize, operands: &Operands<'_>, form: Form<'_>) -> Result<Array, String> {
    let ([x, scale], [zero_point]) = operands.take()?;
    form.check(scale.element, &x.shape)?;
    let scales = Scales::new(x, scale, zero_point, axis, x.element)?;
    let of_element = |(at, value): (usize, &i64)| {
        let (scale, zero_point) = scales.at(at);
        value.wrapping_sub(zero_point) as f64 * scale
    };
    Ok(form.array(Values::Real(x.integers()?.iter().enumerate().map(of_element).collect())))
}

/// Scale and zero point of each element.
struct Scales<'a> {
    scales: &'a [f64],
    zero_points: Option<&'a [i64]>,
    /// Distance of elements with neighbouring scales.
    inner: usize,
}

impl<'a> Scales<'a> {
    fn new(
        x: &Array,
        scale: &'a Array,
        zero_point: Option<&'a Array>,
        axis: usize,
        integer: ElementType,
    ) -> Result<Self, String> {
        let scales = scale.reals()?;
        let inner = if scales.len() == 1 {
            1
        } else {
            let around = Around::new(&x.shape, axis)?;
            check_operand("a scale", scale, &[around.extent])?;
            around.inner
        };
        if let Some(zero_point) = zero_point {
            check_operand("a zero point", zero_point, &scale.shape)?;
            if zero_point.element != integer {
                return Err(format!("a zero point of {}, not {}", zero_point.element.name(), integer.name()));
            }
        }
        let zero_points = zero_point.map(Array::integers).transpose()?;
        Ok(Self { scales, zero_points, inner })
    }

    fn at(&self, element: usize) -> (f64, i64) {
        let at = element / self.inner % self.scales.len();
        (self.scales[at], self.zero_points.map_or(0, |zero_points| zero_points[at]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        evaluate::testing::{f32s, result},
        op::Op,
    };

    fn quantized(x: &[f64], scale: f64, element: ElementType, zero_point: i64) -> Vec<i64> {
        let (x, scale) = (f32s(&[x.len()], x), f32s(&[], &[scale]));
        let zero_point = Array::integer(element, &[], vec![zero_point]);
        let result = result(Op::QuantizeLinear { axis: 0 }, &[&x, &scale, &zero_point], element, &x.shape);
        result.unwrap().integers().unwrap().to_vec()
    }

    #[test]
    fn ties_go_to_the_even_integer_and_the_rest_is_saturated() {
        let ties = [-1.25, -0.75, -0.25, 0.25, 0.75, 1.25];
        assert_eq!(quantized(&ties, 0.5, ElementType::I8, 0), [-2, -2, 0, 0, 2, 2]);
        // The zero point comes after rounding: with it before, ties would go the other way.
        assert_eq!(quantized(&ties, 0.5, ElementType::U8, 3), [1, 1, 3, 3, 5, 5]);
        let far = [-1e30, -1000.0, 1000.0, f64::INFINITY];
        assert_eq!(quantized(&far, 1.0, ElementType::I8, 5), [-128, -128, 127, 127]);
        assert_eq!(quantized(&far, 1.0, ElementType::U8, 5), [0, 0, 255, 255]);
        assert_eq!(quantized(&far, 1.0, ElementType::I16, 5), [-32_768, -995, 1005, 32_767]);
        assert_eq!(quantized(&far, 1.0, ElementType::U16, 5), [0, 0, 1005, 65_535]);
    }

    #[test]
    fn a_vector_of_scales_belongs_to_a_dimension() {
        let x = Array::integer(ElementType::I8, &[2, 2, 2], vec![1, 2, 3, 4, 5, 6, 7, 8]);
        let scale = f32s(&[2], &[0.5, 10.0]);
        let zero_point = Array::integer(ElementType::I8, &[2], vec![1, -1]);
        let of = |axis, inputs: &[&Array]| {
            let result = result(Op::DequantizeLinear { axis }, inputs, ElementType::F32, &[2, 2, 2]);
            result.map(|result| result.reals().unwrap().to_vec())
        };
        let all = &[&x, &scale, &zero_point];
        assert_eq!(of(0, all).unwrap(), [0.0, 0.5, 1.0, 1.5, 60.0, 70.0, 80.0, 90.0]);
        assert_eq!(of(1, all).unwrap(), [0.0, 0.5, 40.0, 50.0, 2.0, 2.5, 80.0, 90.0]);
        assert_eq!(of(2, all).unwrap(), [0.0, 30.0, 1.0, 50.0, 2.0, 70.0, 3.0, 90.0]);
        assert_eq!(of(0, &[&x, &scale]).unwrap(), [0.5, 1.0, 1.5, 2.0, 50.0, 60.0, 70.0, 80.0]);
        assert!(of(3, all).unwrap_err().contains("no dimension 3"));
        let other = Array::integer(ElementType::U8, &[2], vec![1, 1]);
        assert_eq!(of(0, &[&x, &scale, &other]).unwrap_err(), "a zero point of u8, not i8");
        let scale = f32s(&[3], &[1.0, 2.0, 3.0]);
        assert_eq!(of(0, &[&x, &scale]).unwrap_err(), "a scale of shape [3], not [2]");
    }
}
