//! Computations of one element, as text for a kernel.

use std::fmt::Write as _;

use proctor_vocabulary::ElementType;

use crate::{
    op::{Binary, Unary, quantized_range},
    program::{library::Activation, types},
    tensor::is_real,
};

/// Computation of one element of a result from one element of each operand.
///
/// Terms are in order: each uses only earlier ones, and the last one is the result. Kernels compute in 32-bit
/// floating point and 64-bit integers, regardless of the stored type of the elements.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Expression {
    terms: Vec<(Term, ElementType)>,
}

/// Number of a term of an [`Expression`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TermId(usize);

/// A term of an [`Expression`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Term {
    /// Element of the operand of this number.
    Operand(usize, ElementType),
    /// A number, of a floating-point type.
    Number(f64, ElementType),
    /// Function of a term.
    Unary(Unary, TermId),
    /// Function of two terms.
    Binary(Binary, TermId, TermId),
    /// Second term if the first is true, else the third.
    Choice([TermId; 3]),
    /// A term as another type.
    Cast(TermId, ElementType),
    /// `round(x / scale) + zero point`, ties to even, within the range of the type.
    Quantized {
        /// Term of x.
        x: TermId,
        /// Term of the scale.
        scale: TermId,
        /// Zero point, of the type of the result.
        zero_point: TermId,
    },
    /// `(x - zero point) scale`.
    Dequantized {
        /// Term of x.
        x: TermId,
        /// Term of the scale.
        scale: TermId,
        /// Zero point; `None` means 0.
        zero_point: Option<TermId>,
    },
}

/// A sum of operands, with a function of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sum {
    /// Numbers of the operands, at least one.
    pub operands: Vec<usize>,
    /// Activation after the sum.
    pub activation: Activation,
}

impl Expression {
    /// Adds a term.
    ///
    /// # Errors
    /// If there is no such function for elements of these types, or they cannot be computed with.
    pub fn add(&mut self, term: Term) -> Result<TermId, String> {
        let element = self.element_of(term)?;
        is_real(element)?;
        self.terms.push((term, element));
        Ok(TermId(self.terms.len() - 1))
    }

    /// Adds the terms of another expression, whose operands have these numbers here, and returns its result.
    ///
    /// # Panics
    /// If it has no terms, or an operand without a number.
    pub fn append(&mut self, other: &Self, operands: &[usize]) -> TermId {
        let before = self.terms.len();
        let here = |term: TermId| TermId(term.0 + before);
        let moved = other.terms.iter().map(|(term, element)| {
            let term = match *term {
                Term::Operand(number, element) => Term::Operand(operands[number], element),
                Term::Number(..) => *term,
                Term::Unary(function, x) => Term::Unary(function, here(x)),
                Term::Binary(function, x, y) => Term::Binary(function, here(x), here(y)),
                Term::Choice(terms) => Term::Choice(terms.map(here)),
                Term::Cast(x, to) => Term::Cast(here(x), to),
                Term::Quantized { x, scale, zero_point } => {
                    Term::Quantized { x: here(x), scale: here(scale), zero_point: here(zero_point) }
                }
                Term::Dequantized { x, scale, zero_point } => {
                    Term::Dequantized { x: here(x), scale: here(scale), zero_point: zero_point.map(here) }
                }
            };
            (term, *element)
        });
        self.terms.extend(moved);
        self.result()
    }

    /// Returns the result: the last term.
    ///
    /// # Panics
    /// If there is no term.
    #[must_use]
    pub fn result(&self) -> TermId {
        TermId(self.terms.len().checked_sub(1).expect("an expression has terms"))
    }

    /// Returns the type of the result.
    ///
    /// # Panics
    /// If there is no term.
    #[must_use]
    pub fn element(&self) -> ElementType {
        self.element_at(self.result())
    }

    /// Returns the sum that this represents, stored as elements of this type; `None` if it is anything else.
    pub fn sum(&self, stored: ElementType) -> Option<Sum> {
        let mut term = self.result();
        let mut activation = Activation::None;
        loop {
            match self.terms[term.0].0 {
                // To be stored does the same.
                Term::Cast(x, to) if to == stored && activation == Activation::None => term = x,
                Term::Unary(Unary::Relu, x) if activation == Activation::None => {
                    (term, activation) = (x, Activation::Relu);
                }
                Term::Unary(Unary::GeluTanh, x) if activation == Activation::None => {
                    (term, activation) = (x, Activation::GeluTanh);
                }
                _ => break,
            }
        }
        let (mut operands, mut left) = (Vec::new(), vec![term]);
        while let Some(term) = left.pop() {
            match self.terms[term.0].0 {
                Term::Operand(number, _) => operands.push(number),
                Term::Binary(Binary::Add, one, other) => left.extend([other, one]),
                _ => return None,
            }
        }
        Some(Sum { operands, activation })
    }

    /// Returns the statements of a function that returns the result, in the C that OpenCL and CUDA share, with the
    /// operands as `x0`, `x1` and so on.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (number, (term, element)) in self.terms.iter().enumerate() {
            // Writing to a string never fails.
            let _ = writeln!(
                text,
                "    {} t{number} = {};",
                types::computed(*element),
                self.right_side(*term, *element)
            );
        }
        let _ = writeln!(text, "    return t{};", self.result().0);
        text
    }

    fn element_at(&self, term: TermId) -> ElementType {
        self.terms[term.0].1
    }

    fn element_of(&self, term: Term) -> Result<ElementType, String> {
        Ok(match term {
            Term::Operand(_, element) | Term::Number(_, element) | Term::Cast(_, element) => element,
            Term::Unary(function, x) => {
                let element = self.element_at(x);
                if !function.takes_integers() && !is_real(element)? {
                    return Err(format!("{function:?} of {} is not supported", element.name()));
                }
                element
            }
            Term::Binary(Binary::Pow, x, _) if !is_real(self.element_at(x))? => {
                return Err(format!("powers of {} are not supported", self.element_at(x).name()));
            }
            Term::Binary(function, x, _) => function.result(self.element_at(x)),
            Term::Choice([_, x, _]) => self.element_at(x),
            Term::Quantized { zero_point, .. } => {
                let element = self.element_at(zero_point);
                quantized_range(element).map(|_| element)?
            }
            Term::Dequantized { scale, .. } => self.element_at(scale),
        })
    }

    /// Returns a term in C.
    fn right_side(&self, term: Term, element: ElementType) -> String {
        let is_real_term = |term: TermId| is_real(self.element_at(term)) == Ok(true);
        let name = |TermId(number): TermId| format!("t{number}");
        let text = match term {
            Term::Operand(number, _) => format!("x{number}"),
            Term::Number(number, _) => literal(number),
            Term::Unary(function, x) => unary(function, &name(x), is_real_term(x)),
            Term::Binary(function, x, y) => binary(function, &name(x), &name(y), is_real_term(x)),
            Term::Choice(terms) => {
                let [condition, x, y] = terms.map(name);
                format!("{condition} ? {x} : {y}")
            }
            Term::Cast(x, to) => match (to, is_real(to)) {
                (ElementType::Bool, _) => format!("{} != 0", name(x)),
                (ElementType::F16 | ElementType::Bf16, _) => {
                    let stored = types::stored(to).unwrap_or_default();
                    format!("ROUND_{stored}((real){})", name(x))
                }
                (_, Ok(true)) => format!("(real){}", name(x)),
                _ if is_real_term(x) => format!("TO_INTEGER({})", name(x)),
                _ => name(x),
            },
            Term::Quantized { x, scale, zero_point } => {
                let (least, greatest) = quantized_range(element).expect("the term was added");
                let [x, scale, zero_point] = [x, scale, zero_point].map(name);
                // Bounds of the rounded quotient, so that the sum is within the range of the type.
                let [least, greatest] =
                    [least, greatest].map(|bound| format!("(real)({bound} - {zero_point})"));
                format!("(integer)fmin(fmax(rint({x} / {scale}), {least}), {greatest}) + {zero_point}")
            }
            Term::Dequantized { x, scale, zero_point } => {
                let zero_point = zero_point.map_or(String::new(), |term| format!(" - {}", name(term)));
                format!("(real)({}{zero_point}) * {}", name(x), name(scale))
            }
        };
        types::wrapped(element, &text)
    }
}

fn unary(function: Unary, x: &str, is_real: bool) -> String {
    match function {
        Unary::Neg => format!("-{x}"),
        // NaN stays NaN: fmax would take the other one.
        Unary::Relu if is_real => format!("{x} < 0.0f ? 0.0f : {x}"),
        Unary::Relu => format!("{x} > 0 ? {x} : 0"),
        Unary::Clip { least, greatest } if is_real => clipped(x, least, greatest),
        Unary::Clip { least, greatest } => clipped_integer(x, least, greatest),
        Unary::Sigmoid => format!("1.0f / (1.0f + exp(-{x}))"),
        Unary::Tanh => format!("tanh({x})"),
        Unary::Erf => format!("erf({x})"),
        Unary::Gelu => format!("0.5f * {x} * (1.0f + erf({x} * 0.70710678f))"),
        Unary::GeluTanh => {
            // As a sigmoid, which comes to 0 where 1 + tanh leaves a rounding of 1.
            format!("{x} / (1.0f + exp(-1.5957691f * ({x} + 0.044715f * {x} * {x} * {x})))")
        }
        Unary::Sqrt => format!("sqrt({x})"),
        Unary::Exp => format!("exp({x})"),
        Unary::Reciprocal => format!("1.0f / {x}"),
    }
}

fn binary(function: Binary, x: &str, y: &str, is_real: bool) -> String {
    match (function, is_real) {
        (Binary::Add, _) => format!("{x} + {y}"),
        (Binary::Sub, _) => format!("{x} - {y}"),
        (Binary::Mul, _) => format!("{x} * {y}"),
        (Binary::Div, true) => format!("{x} / {y}"),
        // Either would end a process that computes on a processor.
        (Binary::Div, false) => format!("{y} == 0 ? 0 : {y} == -1 ? -{x} : {x} / {y}"),
        (Binary::Pow, _) => format!("pow({x}, {y})"),
        (Binary::Max, true) => format!("{x} > {y} || {x} != {x} ? {x} : {y}"),
        (Binary::Min, true) => format!("{x} < {y} || {x} != {x} ? {x} : {y}"),
        (Binary::Max, false) => format!("{x} > {y} ? {x} : {y}"),
        (Binary::Min, false) => format!("{x} < {y} ? {x} : {y}"),
        (Binary::Equal, _) => format!("{x} == {y}"),
        (Binary::Less, _) => format!("{x} < {y}"),
        (Binary::Greater, _) => format!("{x} > {y}"),
        (Binary::And, _) => format!("{x} && {y}"),
    }
}

fn clipped(x: &str, least: f64, greatest: f64) -> String {
    let mut text = x.to_owned();
    for (relation, bound) in [('>', greatest), ('<', least)] {
        if bound.is_finite() {
            let bound = literal(bound);
            text = format!("{x} {relation} {bound} ? {bound} : {text}");
        }
    }
    text
}

/// Returns an integer within bounds. A bound saturates at 64 bits, so that an infinite one has no effect.
#[expect(clippy::cast_possible_truncation, reason = "bounds of integers are integers, or infinite")]
fn clipped_integer(x: &str, least: f64, greatest: f64) -> String {
    let (least, greatest) = (least as i64, greatest as i64);
    let below = if greatest == i64::MAX {
        x.to_owned()
    } else {
        format!("{x} > {0} ? {0} : {x}", integer_literal(greatest))
    };
    if least == i64::MIN {
        below
    } else {
        // The lower bound counts first.
        format!("{x} < {} ? {} : {below}", integer_literal(least), integer_literal(least.min(greatest)))
    }
}

/// Returns a number as an integer literal. The least one would be the negation of a number that is not an integer.
fn integer_literal(number: i64) -> String {
    if number == i64::MIN { format!("({} - 1)", number + 1) } else { number.to_string() }
}

/// Returns a number as a 32-bit floating-point literal.
#[expect(clippy::cast_possible_truncation, reason = "kernels compute in f32")]
fn literal(number: f64) -> String {
    match number as f32 {
        number if number.is_nan() => "NAN".to_owned(),
        f32::INFINITY => "INFINITY".to_owned(),
        f32::NEG_INFINITY => "-INFINITY".to_owned(),
        number => format!("{number:e}f"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_become_statements_and_the_last_is_returned() {
        let mut sum = Expression::default();
        let x = sum.add(Term::Operand(0, ElementType::F32)).unwrap();
        let bias = sum.add(Term::Operand(1, ElementType::F32)).unwrap();
        let moved = sum.add(Term::Binary(Binary::Add, x, bias)).unwrap();
        sum.add(Term::Unary(Unary::Clip { least: 0.0, greatest: 6.0 }, moved)).unwrap();
        let expected = "    real t0 = x0;\n    real t1 = x1;\n    real t2 = t0 + t1;\n    \
                        real t3 = t2 < 0e0f ? 0e0f : t2 > 6e0f ? 6e0f : t2;\n    return t3;\n";
        assert_eq!(sum.text(), expected);
        assert_eq!(sum.element(), ElementType::F32);
    }

    #[test]
    fn types_follow_from_the_functions() {
        let mut text = Expression::default();
        let [x, y] = [0, 1].map(|number| text.add(Term::Operand(number, ElementType::I32)).unwrap());
        let equal = text.add(Term::Binary(Binary::Equal, x, y)).unwrap();
        assert_eq!(text.element(), ElementType::Bool);
        text.add(Term::Binary(Binary::Div, x, y)).unwrap();
        let expected = "integer t3 = (int)(t1 == 0 ? 0 : t1 == -1 ? -t0 : t0 / t1);";
        assert!(text.text().contains(expected), "{}", text.text());
        let real = text.add(Term::Cast(equal, ElementType::F16)).unwrap();
        assert_eq!(text.element(), ElementType::F16);
        assert!(text.add(Term::Unary(Unary::Tanh, x)).unwrap_err().contains("Tanh of i32"));
        let quantized = Term::Quantized { x: real, scale: real, zero_point: x };
        assert!(text.add(quantized).unwrap_err().contains("quantisation to i32"));
        assert!(text.add(Term::Operand(2, ElementType::I4)).is_err());
    }

    #[test]
    fn integers_are_clipped_by_integers() {
        let clipped = |least, greatest| {
            let mut text = Expression::default();
            let x = text.add(Term::Operand(0, ElementType::I8)).unwrap();
            text.add(Term::Unary(Unary::Clip { least, greatest }, x)).unwrap();
            text.text()
        };
        let holds = |text: &str, part: &str| assert!(text.contains(part), "{part} in {text}");
        holds(&clipped(-3.0, 5.0), "(schar)(t0 < -3 ? -3 : t0 > 5 ? 5 : t0);");
        holds(&clipped(f64::NEG_INFINITY, 5.0), "(schar)(t0 > 5 ? 5 : t0);");
        holds(&clipped(-3.0, f64::INFINITY), "(schar)(t0 < -3 ? -3 : t0);");
        // The greatest value wins.
        holds(&clipped(7.0, 5.0), "(schar)(t0 < 7 ? 5 : t0 > 5 ? 5 : t0);");
        holds(&clipped(0.0, f64::NEG_INFINITY), "(-9223372036854775807 - 1)");
    }

    #[test]
    fn an_expression_goes_on_with_the_result_of_another() {
        let mut relu = Expression::default();
        let x = relu.add(Term::Operand(0, ElementType::F32)).unwrap();
        relu.add(Term::Unary(Unary::Relu, x)).unwrap();
        let mut sum = Expression::default();
        let x = sum.add(Term::Operand(0, ElementType::F32)).unwrap();
        let y = sum.append(&relu, &[3]);
        sum.add(Term::Binary(Binary::Add, x, y)).unwrap();
        let expected = "    real t0 = x0;\n    real t1 = x3;\n    real t2 = t1 < 0.0f ? 0.0f : t1;\n    \
                        real t3 = t0 + t2;\n    return t3;\n";
        assert_eq!(sum.text(), expected);
    }
}
