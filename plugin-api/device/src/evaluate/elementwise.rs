//! Operators that go element by element.

use std::cmp::Ordering;

use half::{bf16, f16};
use proctor_vocabulary::ElementType;

use crate::{
    evaluate::{
        operands::{Form, Operands, check_same_type},
        walk::{broadcast_strides, walk},
    },
    op::{Binary, Unary},
    tensor::{Array, Values, broadcast, is_real},
};

pub(super) fn unary(function: Unary, operands: &Operands<'_>, form: Form<'_>) -> Result<Array, String> {
    let ([x], []) = operands.take()?;
    form.check(x.element, &x.shape)?;
    let values = match &x.values {
        Values::Real(values) => Values::Real(values.iter().map(|value| of_real(function, *value)).collect()),
        Values::Integer(_) if x.element == ElementType::Bool || !function.takes_integers() => {
            return Err(format!("{function:?} of {}", x.element.name()));
        }
        Values::Integer(values) => {
            let of_integer = |value: &i64| wrap(x.element, of_integer(function, *value));
            Values::Integer(values.iter().map(of_integer).collect())
        }
    };
    Ok(form.array(values))
}

fn of_real(function: Unary, x: f64) -> f64 {
    match function {
        Unary::Relu => greater(x, 0.0),
        Unary::Clip { least, greatest } => lesser(greater(x, least), greatest),
        Unary::Sigmoid => sigmoid(x),
        Unary::Tanh => x.tanh(),
        Unary::Erf => libm::erf(x),
        Unary::Gelu => x / 2.0 * (1.0 + libm::erf(x / std::f64::consts::SQRT_2)),
        Unary::GeluTanh => {
            let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x.powi(3));
            x / 2.0 * (1.0 + inner.tanh())
        }
        Unary::Sqrt => x.sqrt(),
        Unary::Exp => x.exp(),
        Unary::Neg => -x,
        Unary::Reciprocal => 1.0 / x,
    }
}

/// Returns the value of a function that integers have, before it is wrapped.
fn of_integer(function: Unary, x: i64) -> i64 {
    match function {
        Unary::Relu => x.max(0),
        Unary::Neg => x.wrapping_neg(),
        // The conversion saturates, so that an infinite bound has no effect.
        Unary::Clip { least, greatest } => x.max(least as i64).min(greatest as i64),
        other => unreachable!("{other:?} does not take integers"),
    }
}

/// Returns `1 / (1 + e^-x)`.
pub(super) fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// Returns the greater number; a NaN if there is one.
pub(super) fn greater(x: f64, y: f64) -> f64 {
    if x.is_nan() || x > y { x } else { y }
}

/// Returns the lesser number; a NaN if there is one.
fn lesser(x: f64, y: f64) -> f64 {
    if x.is_nan() || x < y { x } else { y }
}

pub(super) fn binary(function: Binary, operands: &Operands<'_>, form: Form<'_>) -> Result<Array, String> {
    let ([a, b], []) = operands.take()?;
    if function != Binary::Pow {
        check_same_type(a, [b])?;
    }
    if !function.takes(a.element) || !function.takes(b.element) {
        return Err(format!("{function:?} of {} and {}", a.element.name(), b.element.name()));
    }
    let compares = matches!(function, Binary::Equal | Binary::Less | Binary::Greater);
    form.check(function.result(a.element), &broadcast(&a.shape, &b.shape)?)?;

    let left = walk(form.shape, 0, broadcast_strides(&a.shape, form.shape)?);
    let right = walk(form.shape, 0, broadcast_strides(&b.shape, form.shape)?);
    let offsets = left.zip(right);
    let values = match (&a.values, &b.values) {
        (Values::Real(a), Values::Real(b)) => {
            let pairs = offsets.map(|(left, right)| (a[left], b[right]));
            if compares {
                Values::Integer(pairs.map(|(x, y)| holds(function, x.partial_cmp(&y))).collect())
            } else {
                Values::Real(pairs.map(|(x, y)| of_reals(function, x, y)).collect())
            }
        }
        (Values::Integer(a), Values::Integer(b)) => {
            let pairs = offsets.map(|(left, right)| (a[left], b[right]));
            if compares {
                Values::Integer(pairs.map(|(x, y)| holds(function, Some(x.cmp(&y)))).collect())
            } else {
                let of_pair = |(x, y)| of_integers(function, x, y).map(|value| wrap(form.element, value));
                Values::Integer(pairs.map(of_pair).collect::<Result<_, _>>()?)
            }
        }
        // Powers alone come here.
        (Values::Real(a), Values::Integer(b)) => {
            Values::Real(offsets.map(|(left, right)| a[left].powf(b[right] as f64)).collect())
        }
        (Values::Integer(a), Values::Real(b)) => {
            let powers = offsets.map(|(left, right)| (a[left] as f64).powf(b[right]));
            Values::Integer(powers.map(|power| wrap(form.element, power as i64)).collect())
        }
    };
    Ok(form.array(values))
}

/// Returns whether a comparison holds, 1 or 0. Two numbers without an order are a NaN and another.
fn holds(function: Binary, order: Option<Ordering>) -> i64 {
    let wanted = match function {
        Binary::Less => Ordering::Less,
        Binary::Greater => Ordering::Greater,
        _ => Ordering::Equal,
    };
    i64::from(order == Some(wanted))
}

/// Returns the value of a function of numbers; comparisons and logic have none.
fn of_reals(function: Binary, x: f64, y: f64) -> f64 {
    match function {
        Binary::Add => x + y,
        Binary::Sub => x - y,
        Binary::Mul => x * y,
        Binary::Div => x / y,
        Binary::Pow => x.powf(y),
        Binary::Max => greater(x, y),
        Binary::Min => lesser(x, y),
        Binary::Equal | Binary::Less | Binary::Greater | Binary::And => f64::NAN,
    }
}

/// Returns the value of a function of integers, before it is wrapped.
fn of_integers(function: Binary, x: i64, y: i64) -> Result<i64, String> {
    Ok(match function {
        Binary::Add => x.wrapping_add(y),
        Binary::Sub => x.wrapping_sub(y),
        Binary::Mul => x.wrapping_mul(y),
        Binary::Div if y == 0 => return Err(format!("the integer {x} is divided by 0")),
        Binary::Div => x.wrapping_div(y),
        Binary::Pow => power(x, y)?,
        Binary::Max => x.max(y),
        Binary::Min => x.min(y),
        Binary::And => i64::from(x != 0 && y != 0),
        Binary::Equal | Binary::Less | Binary::Greater => holds(function, Some(x.cmp(&y))),
    })
}

/// Returns the power of integers; of a negative exponent towards zero, as a quotient.
fn power(base: i64, exponent: i64) -> Result<i64, String> {
    if exponent < 0 {
        return match base {
            0 => Err(format!("the integer 0 to the power of {exponent}")),
            1 | -1 => power(base, exponent & 1),
            _ => Ok(0),
        };
    }
    let (mut square, mut left, mut result) = (base, exponent, 1_i64);
    while left > 0 {
        if left & 1 == 1 {
            result = result.wrapping_mul(square);
        }
        square = square.wrapping_mul(square);
        left >>= 1;
    }
    Ok(result)
}

pub(super) fn choose(operands: &Operands<'_>, form: Form<'_>) -> Result<Array, String> {
    let ([condition, a, b], []) = operands.take()?;
    check_same_type(a, [b])?;
    if condition.element != ElementType::Bool {
        return Err(format!("a condition of {}", condition.element.name()));
    }
    form.check(a.element, &broadcast(&condition.shape, &broadcast(&a.shape, &b.shape)?)?)?;
    let offsets = |operand: &Array| {
        broadcast_strides(&operand.shape, form.shape).map(|strides| walk(form.shape, 0, strides))
    };
    let conditions = condition.integers()?;
    let offsets = offsets(condition)?.zip(offsets(a)?.zip(offsets(b)?));
    let values = match (&a.values, &b.values) {
        (Values::Real(a), Values::Real(b)) => Values::Real(
            offsets.map(|(at, (left, right))| if conditions[at] != 0 { a[left] } else { b[right] }).collect(),
        ),
        (Values::Integer(a), Values::Integer(b)) => Values::Integer(
            offsets.map(|(at, (left, right))| if conditions[at] != 0 { a[left] } else { b[right] }).collect(),
        ),
        _ => return Err("operands of two types".to_owned()),
    };
    Ok(form.array(values))
}

pub(super) fn cast(to: ElementType, operands: &Operands<'_>, form: Form<'_>) -> Result<Array, String> {
    let ([x], []) = operands.take()?;
    form.check(to, &x.shape)?;
    let values = match (&x.values, is_real(to)?) {
        (Values::Real(values), true) => {
            Values::Real(values.iter().map(|value| rounded(to, *value)).collect())
        }
        (Values::Integer(values), true) => {
            Values::Real(values.iter().map(|value| rounded(to, *value as f64)).collect())
        }
        (Values::Real(values), false) if to == ElementType::Bool => {
            Values::Integer(values.iter().map(|value| i64::from(*value != 0.0)).collect())
        }
        (Values::Real(values), false) => {
            Values::Integer(values.iter().map(|value| wrap(to, *value as i64)).collect())
        }
        (Values::Integer(values), false) => {
            Values::Integer(values.iter().map(|value| wrap(to, *value)).collect())
        }
    };
    Ok(form.array(values))
}

/// Returns the nearest number of a floating-point type, of two that are as near the even one.
fn rounded(element: ElementType, value: f64) -> f64 {
    match element {
        ElementType::F16 => f16::from_f64(value).to_f64(),
        ElementType::Bf16 => bf16::from_f64(value).to_f64(),
        ElementType::F32 => f64::from(value as f32),
        _ => value,
    }
}

/// Returns the number of an integer type that is the same modulo its range; whether it is not 0, of truth values.
pub(super) fn wrap(element: ElementType, value: i64) -> i64 {
    match element {
        ElementType::I8 => i64::from(value as i8),
        ElementType::U8 => i64::from(value as u8),
        ElementType::I16 => i64::from(value as i16),
        ElementType::U16 => i64::from(value as u16),
        ElementType::I32 => i64::from(value as i32),
        ElementType::U32 => i64::from(value as u32),
        ElementType::Bool => i64::from(value != 0),
        _ => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        evaluate::testing::{assert_close, f32s, i64s, result, values},
        op::Op,
    };

    #[test]
    fn functions_of_one_number_have_their_known_values() {
        let x = f32s(&[3], &[-1.0, 0.0, 2.0]);
        let of = |function| values(Op::Unary(function), &[&x], &[3]);
        assert_eq!(of(Unary::Relu), [0.0, 0.0, 2.0]);
        assert_eq!(of(Unary::Clip { least: -0.5, greatest: 1.0 }), [-0.5, 0.0, 1.0]);
        assert_eq!(of(Unary::Neg), [1.0, 0.0, -2.0]);
        assert_eq!(of(Unary::Reciprocal), [-1.0, f64::INFINITY, 0.5]);
        assert_close(&of(Unary::Sigmoid), &[0.268_941_421_369_995_1, 0.5, 0.880_797_077_977_882_4]);
        assert_close(&of(Unary::Tanh), &[-0.761_594_155_955_764_9, 0.0, 0.964_027_580_075_816_9]);
        assert_close(&of(Unary::Erf), &[-0.842_700_792_949_714_9, 0.0, 0.995_322_265_018_952_7]);
        assert_close(&of(Unary::Exp), &[0.367_879_441_171_442_33, 1.0, 7.389_056_098_930_65]);
        // Of the normal distribution 15.87 % lie below -1, and 97.72 % below 2.
        assert_close(&of(Unary::Gelu), &[-0.158_655_253_931_457_07, 0.0, 1.954_499_736_103_641_8]);
        assert_close(&of(Unary::GeluTanh), &[-0.158_808_009_391_723_24, 0.0, 1.954_597_694_087_775]);
        assert_eq!(values(Op::Unary(Unary::Sqrt), &[&f32s(&[], &[2.25])], &[]), [1.5]);
        assert!(values(Op::Unary(Unary::Relu), &[&f32s(&[1], &[f64::NAN])], &[1])[0].is_nan());
    }

    #[test]
    fn integers_have_some_functions_and_wrap() {
        let x = Array::integer(ElementType::I8, &[3], vec![-128, 5, 100]);
        let of = |function| result(Op::Unary(function), &[&x], ElementType::I8, &[3]);
        assert_eq!(of(Unary::Neg).unwrap().integers().unwrap(), [-128, -5, -100]);
        assert_eq!(of(Unary::Relu).unwrap().integers().unwrap(), [0, 5, 100]);
        let clip = Unary::Clip { least: f64::NEG_INFINITY, greatest: 6.0 };
        assert_eq!(of(clip).unwrap().integers().unwrap(), [-128, 5, 6]);
        assert_eq!(of(Unary::Sqrt).unwrap_err(), "Sqrt of i8");
        assert!(result(Op::Unary(Unary::Exp), &[&x], ElementType::F32, &[3]).unwrap_err().contains("f32"));
    }

    #[test]
    fn two_tensors_are_broadcast_to_each_other() {
        let (column, row) = (f32s(&[2, 1], &[6.0, -7.0]), f32s(&[3], &[1.0, 2.0, -7.0]));
        let of = |function| values(Op::Binary(function), &[&column, &row], &[2, 3]);
        assert_eq!(of(Binary::Add), [7.0, 8.0, -1.0, -6.0, -5.0, -14.0]);
        assert_eq!(of(Binary::Sub), [5.0, 4.0, 13.0, -8.0, -9.0, 0.0]);
        assert_eq!(of(Binary::Mul), [6.0, 12.0, -42.0, -7.0, -14.0, 49.0]);
        assert_eq!(of(Binary::Div), [6.0, 3.0, -6.0 / 7.0, -7.0, -3.5, 1.0]);
        assert_eq!(of(Binary::Max), [6.0, 6.0, 6.0, 1.0, 2.0, -7.0]);
        assert_eq!(of(Binary::Min), [1.0, 2.0, -7.0, -7.0, -7.0, -7.0]);
        let compared = |function| {
            let compared =
                result(Op::Binary(function), &[&column, &row], ElementType::Bool, &[2, 3]).unwrap();
            compared.integers().unwrap().to_vec()
        };
        assert_eq!(compared(Binary::Equal), [0, 0, 0, 0, 0, 1]);
        assert_eq!(compared(Binary::Less), [0, 0, 0, 1, 1, 0]);
        assert_eq!(compared(Binary::Greater), [1, 1, 1, 0, 0, 0]);
        let nan = f32s(&[], &[f64::NAN]);
        assert!(values(Op::Binary(Binary::Max), &[&nan, &row], &[3]).iter().all(|value| value.is_nan()));
        assert!(values(Op::Binary(Binary::Min), &[&row, &nan], &[3]).iter().all(|value| value.is_nan()));
        let error = result(Op::Binary(Binary::Add), &[&column, &row], ElementType::F32, &[3, 2]).unwrap_err();
        assert_eq!(error, "f32 of shape [2, 3] where f32 of shape [3, 2] is wanted");
    }

    #[test]
    fn integers_are_divided_towards_zero_and_raised_exactly() {
        let of = |function, a: i64, b: i64| {
            let of =
                result(Op::Binary(function), &[&i64s(&[], &[a]), &i64s(&[], &[b])], ElementType::I64, &[]);
            of.map(|of| of.integers().unwrap()[0])
        };
        assert_eq!(of(Binary::Div, -7, 2), Ok(-3));
        assert_eq!(of(Binary::Div, i64::MIN, -1), Ok(i64::MIN));
        assert_eq!(of(Binary::Div, 7, 0).unwrap_err(), "the integer 7 is divided by 0");
        assert_eq!(of(Binary::Pow, 3, 39), Ok(4_052_555_153_018_976_267));
        assert_eq!(of(Binary::Pow, -2, 63), Ok(i64::MIN));
        assert_eq!((of(Binary::Pow, -1, -3), of(Binary::Pow, 2, -1)), (Ok(-1), Ok(0)));
        assert!(of(Binary::Pow, 0, -1).is_err());
        assert_eq!(of(Binary::Max, -7, 2), Ok(2));

        let bytes = |value| Array::integer(ElementType::U8, &[], vec![value]);
        let sum = result(Op::Binary(Binary::Add), &[&bytes(200), &bytes(100)], ElementType::U8, &[]).unwrap();
        assert_eq!(sum.integers().unwrap(), [44]);
        let error = result(Op::Binary(Binary::Add), &[&bytes(1), &i64s(&[], &[1])], ElementType::U8, &[]);
        assert_eq!(error.unwrap_err(), "operands of u8 and i64");
        let power =
            result(Op::Binary(Binary::Pow), &[&f32s(&[], &[1.5]), &i64s(&[], &[3])], ElementType::F32, &[]);
        assert_eq!(power.unwrap().reals().unwrap(), [3.375]);
        let root =
            result(Op::Binary(Binary::Pow), &[&i64s(&[], &[17]), &f32s(&[], &[0.5])], ElementType::I64, &[]);
        assert_eq!(root.unwrap().integers().unwrap(), [4]);
    }

    #[test]
    fn truth_values_are_joined_and_choose() {
        let truth =
            |shape: &[usize], values: &[i64]| Array::integer(ElementType::Bool, shape, values.to_vec());
        let (a, b) = (truth(&[4], &[0, 0, 1, 1]), truth(&[4], &[0, 1, 0, 1]));
        let both = result(Op::Binary(Binary::And), &[&a, &b], ElementType::Bool, &[4]).unwrap();
        assert_eq!(both.integers().unwrap(), [0, 0, 0, 1]);
        assert_eq!(
            result(Op::Binary(Binary::Add), &[&a, &b], ElementType::Bool, &[4]).unwrap_err(),
            "Add of bool and bool"
        );
        assert!(
            result(Op::Binary(Binary::And), &[&i64s(&[], &[1]), &i64s(&[], &[1])], ElementType::I64, &[])
                .is_err()
        );

        let condition = truth(&[2, 1], &[1, 0]);
        let (yes, no) = (f32s(&[3], &[1.0, 2.0, 3.0]), f32s(&[], &[-1.0]));
        let chosen = values(Op::Where, &[&condition, &yes, &no], &[2, 3]);
        assert_eq!(chosen, [1.0, 2.0, 3.0, -1.0, -1.0, -1.0]);
        assert!(result(Op::Where, &[&yes, &yes, &no], ElementType::F32, &[3]).unwrap_err().contains("f32"));
    }

    #[test]
    fn a_cast_goes_towards_zero_and_wraps_and_rounds() {
        let cast = |x: &Array, to| result(Op::Cast(to), &[x], to, &x.shape).unwrap();
        let x = f32s(&[6], &[-1.9, 1.9, 300.5, -129.0, f64::NAN, 1e30]);
        assert_eq!(cast(&x, ElementType::I8).integers().unwrap(), [-1, 1, 44, 127, 0, -1]);
        assert_eq!(cast(&x, ElementType::U8).integers().unwrap(), [255, 1, 44, 127, 0, 255]);
        assert_eq!(cast(&x, ElementType::I64).integers().unwrap(), [-1, 1, 300, -129, 0, i64::MAX]);
        let large = f32s(&[2], &[4_294_967_297.0, -4_294_967_298.5]);
        assert_eq!(cast(&large, ElementType::I32).integers().unwrap(), [1, -2]);
        assert_eq!(cast(&large, ElementType::U32).integers().unwrap(), [1, 4_294_967_294]);
        assert_eq!(
            cast(&f32s(&[3], &[0.25, 0.0, f64::NAN]), ElementType::Bool).integers().unwrap(),
            [1, 0, 1]
        );
        assert_eq!(cast(&i64s(&[3], &[256, 0, -1]), ElementType::Bool).integers().unwrap(), [1, 0, 1]);
        assert_eq!(cast(&i64s(&[2], &[40_000, -1]), ElementType::I16).integers().unwrap(), [-25_536, -1]);
        // Ties go to the even one: f16 has 11 bits, bf16 8.
        let tie = i64s(&[3], &[2049, 2051, 257]);
        assert_eq!(cast(&tie, ElementType::F16).reals().unwrap(), [2048.0, 2052.0, 257.0]);
        assert_eq!(cast(&tie, ElementType::Bf16).reals().unwrap(), [2048.0, 2048.0, 256.0]);
        assert_eq!(cast(&f32s(&[1], &[0.1]), ElementType::F32).reals().unwrap(), [f64::from(0.1_f32)]);
        assert_eq!(cast(&f32s(&[1], &[0.1]), ElementType::F64).reals().unwrap(), [0.1]);
    }
}
