//! Operators that take each value by itself: activations, and sums and products of two tensors.

use std::rc::Rc;

use super::{
    call::Call,
    port::Order,
    value::{Computed, Extent, Ints, Pending, Reals, Value},
};
use crate::convolution::BatchNorm;

/// An operator of two tensors, of which the smaller one counts for each part of the larger one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Binary {
    Add,
    Sub,
    Mul,
}

impl Binary {
    fn name(self) -> &'static str {
        match self {
            Self::Add => "Add",
            Self::Sub => "Sub",
            Self::Mul => "Mul",
        }
    }

    fn of_ints(self, a: Extent, b: Extent) -> Option<Extent> {
        match self {
            Self::Add => a.plus(b),
            Self::Sub => a.minus(b),
            Self::Mul => a.times(b),
        }
    }
}

impl Call<'_> {
    /// An operator that ONNX has under some name.
    pub(crate) fn unary(&mut self, operator: &str) -> Result<Value, String> {
        let [x] = self.all()?;
        let x = self.writer.computed(x)?;
        let name = x.name.clone();
        Ok(self.write(operator, &[&name], x))
    }

    pub(crate) fn relu6(&mut self) -> Result<Value, String> {
        let [x] = self.all()?;
        let x = self.writer.computed(x)?;
        let (name, low, high) = (x.name.clone(), self.writer.float(0.0), self.writer.float(6.0));
        Ok(self.write("Clip", &[&name, &low, &high], x))
    }

    pub(crate) fn binary(&mut self, operator: Binary) -> Result<Value, String> {
        let [a, b] = self.all()?;
        self.combined(operator, a, b)
    }

    /// The sum of any number of tensors.
    pub(crate) fn sum(&mut self) -> Result<Value, String> {
        let [first, rest @ ..] = self.inputs else { return Err("has no inputs".to_owned()) };
        rest.iter().try_fold(first.clone(), |sum, value| self.combined(Binary::Add, &sum, value))
    }

    /// A batch norm with fixed statistics: a factor and a term for each channel.
    pub(crate) fn batch_norm(&mut self) -> Result<Value, String> {
        if self.node.flag("is_training", true)? {
            return Err("computes its statistics from the batch; freeze the graph for inference".to_owned());
        }
        let [x, scale, offset, mean, variance] = self.all()?;
        let [scale, offset, mean, variance] =
            [scale.reals()?, offset.reals()?, mean.reals()?, variance.reals()?];
        let channel_count = scale.values.len();
        if [offset, mean, variance].iter().any(|reals| reals.values.len() != channel_count) {
            return Err("has factors and statistics of different numbers of channels".to_owned());
        }
        let norm = BatchNorm {
            scale: &scale.values,
            offset: &offset.values,
            mean: &mean.values,
            variance: &variance.values,
            epsilon: self.node.float("epsilon", 1e-4)?,
        };
        let (factors, terms) = norm.factors_and_terms();
        if let Value::Pending(pending) = x
            && pending.convolution.channel_count() == channel_count
        {
            let mut pending = Pending::clone(pending);
            pending.convolution.scale(&factors);
            pending.convolution.shift(&terms);
            return Ok(Value::Pending(Rc::new(pending)));
        }
        let of_channels = |suffix: &str, values: Vec<f64>| {
            let values = values.into_iter().map(|value| value as f32).collect();
            let name = format!("{}.{suffix}", self.node.name);
            Value::Reals(Reals { name, dims: vec![channel_count], values: Rc::new(values) })
        };
        let (factors, terms) = (of_channels("factors", factors), of_channels("terms", terms));
        let scaled = self.combined(Binary::Mul, x, &factors)?;
        self.combined(Binary::Add, &scaled, &terms)
    }

    fn combined(&mut self, operator: Binary, a: &Value, b: &Value) -> Result<Value, String> {
        if let (Value::Ints(a), Value::Ints(b)) = (a, b) {
            return of_ints(operator, a, b).map(Value::Ints);
        }
        if let Some(pending) = folded(operator, a, b) {
            return Ok(Value::Pending(Rc::new(pending)));
        }
        let rank = a.dims().len().max(b.dims().len());
        let dims = broadcast(&a.dims(), &b.dims())?;
        let is_first = |value: &Value| match value {
            Value::Computed(computed) => computed.order == Order::ChannelsFirst,
            Value::Pending(_) => true,
            _ => false,
        };
        let may_be_first = |value: &Value| match value {
            Value::Reals(reals) => reals.dims.len() <= rank && of_channels(reals).is_some(),
            value => value.dims().len() == rank,
        };
        let both = [a, b];
        let channels_first =
            rank > 2 && both.iter().any(|it| is_first(it)) && both.iter().all(|it| may_be_first(it));
        let order = if channels_first { Order::ChannelsFirst } else { Order::ChannelsLast };
        let [a, b] = both.map(|value| match value {
            Value::Reals(reals) if channels_first => {
                let dims = match of_channels(reals) {
                    Some(1) | None => Vec::new(),
                    Some(count) => [count].into_iter().chain(std::iter::repeat_n(1, rank - 2)).collect(),
                };
                Ok(self.writer.constant(reals, &dims))
            }
            value => self.writer.in_order(value, order).map(|computed| computed.name),
        });
        let result = Computed { name: String::new(), dims, order };
        Ok(self.write(operator.name(), &[&a?, &b?], result))
    }
}

/// Returns the number of values, if they differ along the last axis alone.
fn of_channels(reals: &Reals) -> Option<usize> {
    let count = reals.values.len();
    (count == 1 || reals.dims.last() == Some(&count)).then_some(count)
}

/// Returns a convolution that the other operand has become part of.
fn folded(operator: Binary, a: &Value, b: &Value) -> Option<Pending> {
    let (pending, reals) = match (a, b) {
        (Value::Pending(pending), Value::Reals(reals)) => (pending, reals),
        (Value::Reals(reals), Value::Pending(pending)) if operator != Binary::Sub => (pending, reals),
        _ => return None,
    };
    let channel_count = pending.convolution.channel_count();
    let count = of_channels(reals).filter(|_| reals.dims.len() <= pending.dims.len())?;
    if count != 1 && count != channel_count {
        return None;
    }
    let values: Vec<f64> = (0..channel_count).map(|index| f64::from(reals.values[index % count])).collect();
    let mut pending = Pending::clone(pending);
    match operator {
        Binary::Mul => pending.convolution.scale(&values),
        Binary::Add => pending.convolution.shift(&values),
        Binary::Sub => pending.convolution.shift(&values.iter().map(|value| -value).collect::<Vec<_>>()),
    }
    Some(pending)
}

fn of_ints(operator: Binary, a: &Ints, b: &Ints) -> Result<Ints, String> {
    let extents = |ints: &Ints| ints.dims.iter().map(|extent| Extent::of(*extent)).collect::<Vec<_>>();
    let dims: Option<Vec<usize>> =
        broadcast(&extents(a), &extents(b))?.into_iter().map(Extent::rows).collect();
    let dims = dims.unwrap_or_default();
    let count = a.values.len().max(b.values.len());
    if [a, b].iter().any(|it| it.values.len() != count && it.values.len() != 1)
        || dims.iter().try_fold(1_usize, |all, extent| all.checked_mul(*extent)) != Some(count)
    {
        return Err("has lists of integers of different lengths".to_owned());
    }
    let at = |ints: &Ints, index: usize| ints.values[if ints.values.len() == 1 { 0 } else { index }];
    let values =
        (0..count).map(|index| operator.of_ints(at(a, index), at(b, index))).collect::<Option<Vec<_>>>();
    let values = values.ok_or("computes integers that cannot be known before it runs")?;
    Ok(Ints { dims, values })
}

/// Returns the extents of a result of two tensors, of which one may have single rows where the other has several.
fn broadcast(a: &[Extent], b: &[Extent]) -> Result<Vec<Extent>, String> {
    let (longer, shorter) = if a.len() >= b.len() { (a, b) } else { (b, a) };
    let (front, back) = longer.split_at(longer.len() - shorter.len());
    let each = back.iter().zip(shorter).map(|(a, b)| match (a, b) {
        (a, b) if a == b => Some(*a),
        (a, Extent::Fixed(1)) => Some(*a),
        (Extent::Fixed(1), b) => Some(*b),
        _ => None,
    });
    let each: Option<Vec<Extent>> = each.collect();
    let each = each.ok_or("has tensors whose shapes do not go together")?;
    Ok(front.iter().copied().chain(each).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ints(dims: &[usize], values: &[i64]) -> Ints {
        let values = values.iter().map(|value| Extent::Fixed(*value)).collect();
        Ints { dims: dims.to_vec(), values }
    }

    #[test]
    fn integers_have_as_many_values_as_their_extents_say() {
        let sum = |a: &Ints, b: &Ints| of_ints(Binary::Add, a, b).map(|sum| (sum.dims, sum.values));
        let three = ints(&[3], &[1, 2, 3]);
        for one in [ints(&[], &[1]), ints(&[1], &[1])] {
            assert_eq!(sum(&one, &three), sum(&three, &one));
            let (dims, values) = sum(&one, &three).unwrap();
            assert_eq!((dims, values), (vec![3], ints(&[], &[2, 3, 4]).values));
        }
        let (dims, _) = sum(&ints(&[1, 1], &[1]), &three).unwrap();
        assert_eq!(dims, [1, 3]);
        for other in [ints(&[2], &[1, 2]), ints(&[3, 1], &[1, 2, 3])] {
            assert!(sum(&other, &three).is_err(), "{other:?}");
        }
    }
}
