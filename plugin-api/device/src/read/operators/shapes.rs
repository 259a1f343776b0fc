//! Operators that give the same elements another shape.

use super::parameters::NodeText;
use crate::{
    read::scope::{Operand, Rule, Scope, Words, axes, axis},
    tensor::{Values, broadcast, element_count},
};

/// Returns a rule that gives its first operand the shape that a function finds.
fn reshaping(shape: impl Fn(&Scope<'_>, &Operand) -> Words<Vec<usize>> + Send + Sync + 'static) -> Rule {
    Box::new(move |scope| {
        let x = scope.required(0)?;
        let shape = shape(scope, &x)?;
        Ok(vec![scope.reshaped(&x, shape)?])
    })
}

pub(super) fn flatten(text: &NodeText<'_>) -> Words<Rule> {
    let listed = text.attributes(&["axis"])?.int("axis", 1)?;
    Ok(reshaping(move |_, x| {
        // The place after the last dimension is allowed, too.
        let rank = x.shape.len();
        let place = if listed == rank as i64 { rank } else { axis(listed, rank)? };
        let (rows, columns) = x.shape.split_at(place);
        Ok(vec![rows.iter().product(), columns.iter().product()])
    }))
}

pub(super) fn reshape(text: &NodeText<'_>) -> Words<Rule> {
    let allows_zero = text.attributes_since(&[], &[(14, "allowzero")])?.flag("allowzero", false)?;
    Ok(reshaping(move |scope, x| {
        let wanted = scope.integers(1)?.ok_or("the new shape is missing")?;
        new_shape(&x.shape, &wanted, allows_zero)
            .ok_or_else(|| format!("a tensor {:?} cannot be given the shape {wanted:?}", x.shape))
    }))
}

fn new_shape(from: &[usize], wanted: &[i64], allows_zero: bool) -> Option<Vec<usize>> {
    let mut shape = Vec::with_capacity(wanted.len());
    let mut open = None;
    for (place, extent) in wanted.iter().enumerate() {
        shape.push(match extent {
            0 if !allows_zero => *from.get(place)?,
            -1 if open.is_none() => {
                open = Some(place);
                1
            }
            extent => usize::try_from(*extent).ok()?,
        });
    }
    let count = element_count(from)?;
    if let Some(place) = open {
        shape[place] = count.checked_div(element_count(&shape)?)?;
    }
    (element_count(&shape) == Some(count)).then_some(shape)
}

/// Returns the axes that are an attribute before version 13, and an input since.
fn listed_axes(text: &NodeText<'_>) -> Words<Option<Vec<i64>>> {
    let attributes = text.attributes(if text.opset < 13 { &["axes"] } else { &[] })?;
    Ok(attributes.ints("axes")?.map(<[i64]>::to_vec))
}

pub(super) fn squeeze(text: &NodeText<'_>) -> Words<Rule> {
    let listed = listed_axes(text)?;
    Ok(reshaping(move |scope, x| {
        let given = scope.integers(1)?;
        let gone = match given.as_ref().or(listed.as_ref()) {
            Some(listed) => axes(listed, x.shape.len())?,
            None => (0..x.shape.len()).filter(|at| x.shape[*at] == 1).collect(),
        };
        if let Some(at) = gone.iter().find(|at| x.shape[**at] != 1) {
            return Err(format!("dimension {at} of {:?} has not the extent 1", x.shape));
        }
        let left = x.shape.iter().enumerate().filter(|(at, _)| !gone.contains(at));
        Ok(left.map(|(_, extent)| *extent).collect())
    }))
}

pub(super) fn unsqueeze(text: &NodeText<'_>) -> Words<Rule> {
    let listed = listed_axes(text)?;
    Ok(reshaping(move |scope, x| {
        let given = scope.integers(1)?;
        let listed = given.as_ref().or(listed.as_ref()).ok_or("the axes are missing")?;
        let added = axes(listed, x.shape.len() + listed.len())?;
        let mut shape = x.shape.clone();
        // In ascending order, so that each is at its place when it is added.
        added.into_iter().for_each(|at| shape.insert(at, 1));
        Ok(shape)
    }))
}

pub(super) fn expand(text: &NodeText<'_>) -> Words<Rule> {
    text.attributes(&[])?;
    Ok(Box::new(|scope| {
        let x = scope.required(0)?;
        let wanted = scope.integers(1)?.ok_or("the shape is missing")?;
        let extents: Option<Vec<usize>> = wanted.iter().map(|extent| usize::try_from(*extent).ok()).collect();
        let extents = extents.ok_or_else(|| format!("a shape {wanted:?}"))?;
        let shape = broadcast(&x.shape, &extents)?;
        Ok(vec![scope.expanded(&x, shape)?])
    }))
}

pub(super) fn identity(text: &NodeText<'_>) -> Words<Rule> {
    text.attributes(&[])?;
    Ok(Box::new(|scope| Ok(vec![scope.required(0)?.id])))
}

/// Ignores the dropout: nothing is dropped at inference. The second result, which says where elements were kept, is not
/// supported.
pub(super) fn dropout(text: &NodeText<'_>) -> Words<Rule> {
    text.attributes(if text.opset < 12 { &["ratio"] } else { &["seed"] })?;
    Ok(Box::new(|scope| {
        let trains = match scope.constant(2)? {
            None => false,
            Some(tensor) => match tensor.array()?.values {
                Values::Integer(values) => values != [0],
                Values::Real(_) => true,
            },
        };
        if trains {
            Err("it drops elements, as in training".to_owned())
        } else {
            Ok(vec![scope.required(0)?.id])
        }
    }))
}
