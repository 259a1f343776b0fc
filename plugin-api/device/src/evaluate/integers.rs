//! Products of 8-bit integers.

use proctor_vocabulary::ElementType;

use crate::{
    evaluate::{
        operands::{Form, Operands, check_operand},
        products::matmul,
        windows::conv::conv,
    },
    op::Conv,
    tensor::{Array, Values},
};

pub(super) fn matmul_integer(operands: &Operands<'_>, form: Form<'_>) -> Result<Array, String> {
    product(operands, form, matmul)
}

pub(super) fn conv_integer(
    parameters: &Conv,
    operands: &Operands<'_>,
    form: Form<'_>,
) -> Result<Array, String> {
    product(operands, form, |operands, form| conv(parameters, operands, form))
}

/// Computes the product in real numbers, whose sums are exact below 2^53.
fn product(
    operands: &Operands<'_>,
    form: Form<'_>,
    of_reals: impl FnOnce(&Operands<'_>, Form<'_>) -> Result<Array, String>,
) -> Result<Array, String> {
    let ([a, b], [zero_of_a, zero_of_b]) = operands.take()?;
    form.check(ElementType::I32, form.shape)?;
    let [a, b] = [centred(a, zero_of_a)?, centred(b, zero_of_b)?];
    let reals = Form { element: ElementType::F64, shape: form.shape };
    let sums = of_reals(&Operands::new(&[Some(&a), Some(&b)])?, reals)?;
    Ok(form.array(Values::Integer(sums.reals()?.iter().map(|sum| i64::from(*sum as i64 as i32)).collect())))
}

/// Returns a factor less its zero point.
fn centred(factor: &Array, zero_point: Option<&Array>) -> Result<Array, String> {
    if !matches!(factor.element, ElementType::I8 | ElementType::U8) {
        return Err(format!("a factor of {}, not of i8 or u8", factor.element.name()));
    }
    let zero_point = match zero_point {
        None => 0,
        Some(zero_point) => {
            check_operand("a zero point", zero_point, &[])?;
            if zero_point.element != factor.element {
                let (is, wanted) = (zero_point.element.name(), factor.element.name());
                return Err(format!("a zero point of {is}, not {wanted}"));
            }
            zero_point.integers()?[0]
        }
    };
    let values = factor.integers()?.iter().map(|value| (value - zero_point) as f64).collect();
    Ok(Array::real(ElementType::F64, &factor.shape, values))
}

#[cfg(test)]
mod tests {
    use proctor_vocabulary::ElementType::{F32, I8, I32, U8};

    use super::*;
    use crate::{
        evaluate::testing::{f32s, result},
        op::Op,
    };

    #[test]
    fn factors_count_less_their_zero_points() {
        let a = Array::integer(U8, &[1, 2], vec![0, 255]);
        let b = Array::integer(I8, &[2, 1], vec![-128, 127]);
        let (of_a, of_b) = (Array::integer(U8, &[], vec![255]), Array::integer(I8, &[], vec![127]));
        let product = |inputs: &[&Array]| {
            result(Op::MatMulInteger, inputs, I32, &[1, 1]).map(|sums| sums.integers().unwrap().to_vec())
        };
        assert_eq!(product(&[&a, &b]), Ok(vec![255 * 127]));
        assert_eq!(product(&[&a, &b, &of_a]), Ok(vec![255 * 128]));
        assert_eq!(product(&[&a, &b, &of_a, &of_b]), Ok(vec![255 * 255]));
        assert_eq!(product(&[&a, &b, &of_b]), Err("a zero point of i8, not u8".to_owned()));
        assert_eq!(
            product(&[&f32s(&[1, 2], &[1.0; 2]), &b]).unwrap_err(),
            "a factor of f32, not of i8 or u8"
        );
        assert!(result(Op::MatMulInteger, &[&a, &b], F32, &[1, 1]).is_err());
    }

    #[test]
    fn pads_are_zero_points() {
        let image = Array::integer(U8, &[1, 1, 2], vec![7, 9]);
        let filter = Array::integer(I8, &[1, 1, 3], vec![1, 1, 1]);
        let zero_point = Array::integer(U8, &[], vec![7]);
        let conv = Conv { strides: vec![1], dilations: vec![1], pads_begin: vec![1], groups: 1 };
        let sums = result(Op::ConvInteger(conv), &[&image, &filter, &zero_point], I32, &[1, 1, 2]).unwrap();
        assert_eq!(sums.integers().unwrap(), [2, 2]);
    }
}
