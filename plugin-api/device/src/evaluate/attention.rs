//! Attention, expressed by basic operators.

use crate::{
    evaluate::{
        movement::transpose,
        operands::{Form, Operands, check_same_type},
        products::matmul,
        rows::softmax,
        walk::{broadcast_strides, walk},
    },
    tensor::{Array, Values, broadcast, transposed_order},
};

pub(super) fn attention(scale: f64, operands: &Operands<'_>, form: Form<'_>) -> Result<Array, String> {
    let ([q, k, v], [mask]) = operands.take()?;
    check_same_type(q, [k, v].into_iter().chain(mask))?;
    let ([q_stack @ .., rows, _], [k_stack @ .., keys, inner]) = (q.shape.as_slice(), k.shape.as_slice())
    else {
        return Err(format!("operands of shapes {:?} and {:?} are not matrices", q.shape, k.shape));
    };
    let of = |shape| Form { element: q.element, shape };

    let turned = [k_stack, &[*inner, *keys]].concat();
    let turned = transpose(&transposed_order(k.shape.len()), &Operands::new(&[Some(k)])?, of(&turned))?;

    let shape = [&broadcast(q_stack, k_stack)?, &[*rows, *keys][..]].concat();
    of(&shape).check_itself()?;
    let mut scores = matmul(&Operands::new(&[Some(q), Some(&turned)])?, of(&shape))?;
    if let Values::Real(scores) = &mut scores.values {
        scores.iter_mut().for_each(|score| *score *= scale);
        if let Some(mask) = mask {
            let summands = mask.reals()?;
            let offsets = walk(&shape, 0, broadcast_strides(&mask.shape, &shape)?);
            scores.iter_mut().zip(offsets).for_each(|(score, offset)| *score += summands[offset]);
        }
    }
    let shares = softmax(shape.len() - 1, &Operands::new(&[Some(&scores)])?, of(&shape))?;
    matmul(&Operands::new(&[Some(&shares), Some(v)])?, form)
}

#[cfg(test)]
mod tests {
    use proctor_vocabulary::ElementType;

    use crate::{
        evaluate::testing::{assert_close, f32s, result, values},
        op::Op,
    };

    #[test]
    fn values_have_shares_by_the_products_of_queries_and_keys() {
        // Products 2 ln 3 and 0, so that the shares are 3/4 and 1/4 after the scale.
        let (q, k) = (f32s(&[1, 2], &[3.0_f64.ln(), 5.0]), f32s(&[2, 2], &[2.0, 0.0, 0.0, 0.0]));
        let v = f32s(&[2, 3], &[4.0, 8.0, 0.0, 0.0, 4.0, 16.0]);
        let op = Op::Attention { scale: 0.5 };
        assert_close(&values(op.clone(), &[&q, &k, &v], &[1, 3]), &[3.0, 7.0, 4.0]);
        // The mask is for each row of queries, and has the other key alone, one of both alike, and none.
        let (low, none) = (f64::NEG_INFINITY, 0.0);
        let q = f32s(&[3, 2], &[3.0_f64.ln(), 0.0, 3.0_f64.ln(), 0.0, 3.0_f64.ln(), 0.0]);
        let mask = f32s(&[3, 2], &[low, none, -3.0_f64.ln(), none, low, low]);
        let masked = values(op.clone(), &[&q, &k, &v, &mask], &[3, 3]);
        assert_close(&masked[..6], &[0.0, 4.0, 16.0, 2.0, 6.0, 8.0]);
        assert!(masked[6..].iter().all(|value| value.is_nan()), "{masked:?}");
        let wide = f32s(&[2, 3, 2], &[0.0; 12]);
        let error = |inputs: &[&_]| result(op.clone(), inputs, ElementType::F32, &[3, 3]).unwrap_err();
        assert!(error(&[&q, &k, &v, &wide]).contains("cannot be broadcast"));
        assert!(error(&[&q, &f32s(&[2], &[0.0; 2]), &v]).contains("are not matrices"));
    }

    #[test]
    fn heads_may_share_keys_and_values() {
        let q = f32s(&[2, 1, 1], &[0.0, 3.0_f64.ln()]);
        let (k, v) = (f32s(&[2, 1], &[1.0, 0.0]), f32s(&[2, 1], &[4.0, 8.0]));
        assert_close(&values(Op::Attention { scale: 1.0 }, &[&q, &k, &v], &[2, 1, 1]), &[6.0, 5.0]);
    }
}
