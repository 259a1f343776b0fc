//! Operators that give a tensor another shape, and those that compute shapes.

use proctor_onnx_file::Attribute;

use super::{
    call::Call,
    port::Order,
    value::{Computed, Extent, Ints, Reals, Value, axis, shown},
};

impl Call<'_> {
    pub(crate) fn shape(&mut self) -> Result<Value, String> {
        let [x] = self.all()?;
        let values = x.dims();
        Ok(Value::Ints(Ints { dims: vec![values.len()], values }))
    }

    pub(crate) fn reshape(&mut self) -> Result<Value, String> {
        let [x, target] = self.all()?;
        let dims = reshaped(&x.dims(), &target.ints()?.values)?;
        self.with_dims(x, dims)
    }

    pub(crate) fn expand_dims(&mut self) -> Result<Value, String> {
        let [x, place] = self.all()?;
        let mut dims = x.dims();
        let place = axis(place.int()?, dims.len() + 1)?;
        dims.insert(place, Extent::Fixed(1));
        self.with_dims(x, dims)
    }

    /// Takes axes of a single row away: the ones that a parameter names, or all.
    pub(crate) fn squeeze(&mut self) -> Result<Value, String> {
        let [x] = self.all()?;
        let dims = x.dims();
        let named = self.node.ints("squeeze_dims")?.iter().map(|place| axis(*place, dims.len()));
        let named = named.collect::<Result<Vec<_>, _>>()?;
        if let Some(place) = named.iter().find(|place| dims[**place] != Extent::Fixed(1)) {
            return Err(format!("takes the axis {place} away, which has several rows"));
        }
        let is_taken = |place: usize| match &named[..] {
            [] => dims[place] == Extent::Fixed(1),
            named => named.contains(&place),
        };
        let kept = (0..dims.len()).filter(|place| !is_taken(*place)).map(|place| dims[place]).collect();
        self.with_dims(x, kept)
    }

    /// Gives a tensor other extents for the same values.
    fn with_dims(&mut self, x: &Value, dims: Vec<Extent>) -> Result<Value, String> {
        let fixed: Option<Vec<usize>> = dims.iter().map(|extent| extent.rows()).collect();
        match (x, fixed) {
            (Value::Ints(ints), Some(dims)) => Ok(Value::Ints(Ints { dims, values: ints.values.clone() })),
            (Value::Reals(reals), Some(dims)) => Ok(Value::Reals(Reals { dims, ..reals.clone() })),
            _ => {
                let x = self.writer.in_order(x, Order::ChannelsLast)?;
                // One extent may be left open, and no more than one depends on the batch.
                let target: Vec<i64> = dims.iter().map(|extent| extent.fixed().unwrap_or(-1)).collect();
                if target.iter().filter(|extent| **extent == -1).count() > 1 || target.contains(&0) {
                    return Err(
                        "makes a shape of which two extents depend on the batch, or one is 0".to_owned()
                    );
                }
                let target = self.writer.ints(&target);
                Ok(self.write("Reshape", &[&x.name, &target], Computed { dims, ..x.clone() }))
            }
        }
    }

    /// Puts tensors of one shape side by side along a new axis.
    pub(crate) fn pack(&mut self) -> Result<Value, String> {
        let [first, ..] = self.inputs else { return Err("has no inputs".to_owned()) };
        let mut dims = first.dims();
        if self.inputs.iter().any(|value| value.dims() != dims) {
            return Err("has inputs of different shapes".to_owned());
        }
        let place = axis(self.node.int("axis", 0)?, dims.len() + 1)?;
        dims.insert(place, Extent::of(self.inputs.len()));
        let lists: Option<Vec<&Ints>> = self.inputs.iter().map(|value| value.ints().ok()).collect();
        if let (Some(lists), [count]) = (lists, &dims[..]) {
            let values = lists.iter().flat_map(|ints| ints.values.clone()).collect();
            return Ok(Value::Ints(Ints { dims: count.rows().into_iter().collect(), values }));
        }
        let at = self.writer.ints(&[place as i64]);
        let mut parts = Vec::new();
        for value in self.inputs {
            let x = self.writer.in_order(value, Order::ChannelsLast)?;
            parts.push(self.writer.node(
                "Unsqueeze",
                &format!("{}.part", self.node.name),
                &[&x.name, &at],
                &[],
            ));
        }
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let name = self.writer.node("Concat", &self.node.name, &parts, &[("axis", (place as i64).into())]);
        Ok(Value::Computed(Computed { name, dims, order: Order::ChannelsLast }))
    }

    /// Takes a tensor apart along an axis, which the parts do not have.
    pub(crate) fn unpack(&mut self) -> Result<Vec<Value>, String> {
        let [x] = self.all()?;
        let x = self.writer.in_order(x, Order::ChannelsLast)?;
        let mut dims = x.dims.clone();
        let place = axis(self.node.int("axis", 0)?, dims.len())?;
        let count = dims.remove(place).rows().filter(|count| *count <= PARTS_MAX);
        let count = count.ok_or_else(|| format!("makes more than {PARTS_MAX} parts"))?;
        let attributes = [("axis", (place as i64).into())];
        let part = |index: usize| {
            let at = self.writer.index(index);
            let name = format!("{}.{index}", self.node.name);
            let name = self.writer.node("Gather", &name, &[&x.name, &at], &attributes);
            Value::Computed(Computed { name, dims: dims.clone(), order: Order::ChannelsLast })
        };
        Ok((0..count).map(part).collect())
    }

    /// Takes a part of a list of integers, such as a shape.
    pub(crate) fn strided_slice(&mut self) -> Result<Value, String> {
        let [x, begin, end, stride] = self.all()?;
        let x = x.ints()?;
        let [begin, end, stride] = [begin.int()?, end.int()?, stride.int()?];
        let flag = |name: &str| self.node.int(name, 0).map(|mask| mask & 1 == 1);
        if x.dims.len() != 1 || stride != 1 || flag("ellipsis_mask")? || flag("new_axis_mask")? {
            return Err("takes something else than a part of a list, which is not known".to_owned());
        }
        let length = i64::try_from(x.values.len()).unwrap_or(i64::MAX);
        let place = |value: i64| {
            (if value < 0 { value.saturating_add(length) } else { value }).clamp(0, length) as usize
        };
        let begin = if flag("begin_mask")? { 0 } else { place(begin) };
        if flag("shrink_axis_mask")? {
            let value = x.values.get(begin).ok_or("takes an integer that is not there")?;
            return Ok(Value::Ints(Ints { dims: Vec::new(), values: vec![*value] }));
        }
        let end = if flag("end_mask")? { x.values.len() } else { place(end) };
        let values = x.values.get(begin..end).unwrap_or_default().to_vec();
        Ok(Value::Ints(Ints { dims: vec![values.len()], values }))
    }

    /// Joins tensors along an axis, the last input.
    pub(crate) fn concat(&mut self) -> Result<Value, String> {
        let [parts @ .., place] = self.inputs else { return Err("has no inputs".to_owned()) };
        let [first, ..] = parts else { return Err("has no tensors".to_owned()) };
        let mut dims = first.dims();
        let place = axis(place.int()?, dims.len())?;
        let rest = |dims: &[Extent]| [&dims[..place], &dims[place + 1..]].concat();
        let mut extent = Extent::Fixed(0);
        for part in parts {
            let part = part.dims();
            if part.len() != dims.len() || rest(&part) != rest(&dims) {
                return Err("joins tensors whose shapes do not go together".to_owned());
            }
            extent = extent.plus(part[place]).ok_or("joins tensors along the batch")?;
        }
        dims[place] = extent;
        let is_first = |value: &Value| match value {
            Value::Computed(computed) => computed.order == Order::ChannelsFirst,
            value => matches!(value, Value::Pending(_)),
        };
        let order = if parts.iter().all(is_first) { Order::ChannelsFirst } else { Order::ChannelsLast };
        let names = parts.iter().map(|part| self.writer.in_order(part, order).map(|computed| computed.name));
        let names = names.collect::<Result<Vec<_>, _>>()?;
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let place = order.axes(dims.len()).iter().position(|axis| *axis == place).unwrap_or(place);
        let name = self.writer.node("Concat", &self.node.name, &names, &[("axis", (place as i64).into())]);
        Ok(Value::Computed(Computed { name, dims, order }))
    }

    pub(crate) fn transpose(&mut self) -> Result<Value, String> {
        let [x, order] = self.all()?;
        let order = order.fixed_ints()?;
        let x = self.writer.in_order(x, Order::ChannelsLast)?;
        let places = order.iter().map(|place| axis(*place, x.dims.len())).collect::<Result<Vec<_>, _>>()?;
        let is_whole = places.len() == x.dims.len() && (0..places.len()).all(|place| places.contains(&place));
        if !is_whole {
            return Err(format!("has the order of axes {order:?} for {}", x.dims.len()));
        }
        let dims = places.iter().map(|place| x.dims[*place]).collect();
        let perm = Attribute::Ints(places.iter().map(|place| *place as i64).collect());
        let name = self.writer.node("Transpose", &self.node.name, &[&x.name], &[("perm", perm)]);
        Ok(Value::Computed(Computed { name, dims, order: Order::ChannelsLast }))
    }

    /// Repeats a tensor along each axis.
    pub(crate) fn tile(&mut self) -> Result<Value, String> {
        let [x, repeats] = self.all()?;
        let repeats = repeats.ints()?.values.clone();
        let x = self.writer.in_order(x, Order::ChannelsLast)?;
        let times = |(extent, repeat): (&Extent, &Extent)| extent.times(*repeat);
        let dims = x.dims.iter().zip(&repeats).map(times).collect::<Option<Vec<_>>>();
        let dims = dims.filter(|dims| dims.len() == repeats.len() && dims.len() == x.dims.len());
        let dims = dims.ok_or("repeats a tensor in a way that cannot be known before it runs")?;
        let repeats = self.writer.extents(&repeats);
        Ok(self.write("Tile", &[&x.name, &repeats], Computed { dims, ..x.clone() }))
    }
}

/// Maximum number of parts of one tensor.
const PARTS_MAX: usize = 64;

/// Returns the extents of a target, of which one may be -1: as many as the others leave.
fn reshaped(dims: &[Extent], target: &[Extent]) -> Result<Vec<Extent>, String> {
    const OPEN: Extent = Extent::Fixed(-1);
    let product =
        |dims: &[Extent]| dims.iter().try_fold(Extent::Fixed(1), |product, extent| product.times(*extent));
    let fault = || format!("makes {} of {}", shown(target), shown(dims));
    let full = product(dims).ok_or_else(fault)?;
    let known: Vec<Extent> = target.iter().copied().filter(|extent| *extent != OPEN).collect();
    let known = product(&known).ok_or_else(fault)?;
    let mut places = target.iter().enumerate().filter(|(_, extent)| **extent == OPEN);
    let mut made = target.to_vec();
    match (places.next(), places.next()) {
        (None, _) if known == full => {}
        (Some((place, _)), None) => {
            let exact = |a: i64, b: i64| (b > 0 && a % b == 0).then(|| a / b);
            let open = match (full, known) {
                (Extent::Fixed(full), Extent::Fixed(known)) => exact(full, known).map(Extent::Fixed),
                (Extent::Batches(full), Extent::Fixed(known)) => exact(full, known).map(Extent::Batches),
                (Extent::Batches(full), Extent::Batches(known)) => exact(full, known).map(Extent::Fixed),
                (Extent::Fixed(_), Extent::Batches(_)) => None,
            };
            made[place] = open.ok_or_else(fault)?;
        }
        _ => return Err(fault()),
    }
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BATCH: Extent = Extent::Batches(1);

    fn fixed(values: &[i64]) -> Vec<Extent> {
        values.iter().map(|value| Extent::Fixed(*value)).collect()
    }

    #[test]
    fn an_open_extent_takes_what_the_others_leave() {
        let heads = [BATCH, Extent::Fixed(19), Extent::Fixed(19), Extent::Fixed(12)];
        let made = reshaped(&heads, &[BATCH, Extent::Fixed(-1), Extent::Fixed(1), Extent::Fixed(4)]).unwrap();
        assert_eq!(made, [BATCH, Extent::Fixed(1083), Extent::Fixed(1), Extent::Fixed(4)]);
        assert_eq!(reshaped(&made, &fixed(&[-1, 4])).unwrap(), [Extent::Batches(1083), Extent::Fixed(4)]);
        assert_eq!(reshaped(&fixed(&[6]), &fixed(&[2, 3])).unwrap(), fixed(&[2, 3]));
    }

    #[test]
    fn shapes_of_other_numbers_of_values_are_refused() {
        for target in [&[-1, -1][..], &[5], &[-1, 4], &[0, -1], &[i64::MAX, i64::MAX, -1]] {
            assert!(reshaped(&fixed(&[6]), &fixed(target)).is_err(), "{target:?}");
        }
        assert!(reshaped(&[BATCH, Extent::Fixed(4)], &fixed(&[4])).is_err());
        assert!(reshaped(&[BATCH, BATCH], &[BATCH]).is_err());
    }
}
