//! Values between nodes: known ones, and those that the ONNX file computes.

use std::{fmt, rc::Rc};

use super::port::Order;
use crate::convolution::Convolution;

/// A result of a node.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    /// Known real numbers.
    Reals(Reals),
    /// Known integers, such as a shape.
    Ints(Ints),
    /// A tensor of f32 that the file computes.
    Computed(Computed),
    /// A convolution that no node was written for yet: what follows may become part of its weights.
    Pending(Rc<Pending>),
    /// The result of a branch that is not taken.
    Dead,
}

/// Real numbers, with the name of the constant that they come from.
#[derive(Debug, Clone)]
pub(crate) struct Reals {
    pub(crate) name: String,
    pub(crate) dims: Vec<usize>,
    pub(crate) values: Rc<Vec<f32>>,
}

/// Integers.
#[derive(Debug, Clone)]
pub(crate) struct Ints {
    pub(crate) dims: Vec<usize>,
    pub(crate) values: Vec<Extent>,
}

/// A tensor by its name.
#[derive(Debug, Clone)]
pub(crate) struct Computed {
    pub(crate) name: String,
    /// Extents in TensorFlow's order, whichever the tensor has.
    pub(crate) dims: Vec<Extent>,
    pub(crate) order: Order,
}

/// A convolution with its input.
#[derive(Debug, Clone)]
pub(crate) struct Pending {
    pub(crate) name: String,
    pub(crate) input: String,
    pub(crate) convolution: Convolution,
    pub(crate) dims: Vec<Extent>,
}

/// An integer, or a multiple of the number of samples in a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    Fixed(i64),
    Batches(i64),
}

impl Extent {
    pub(crate) fn of(count: usize) -> Self {
        Self::Fixed(i64::try_from(count).unwrap_or(i64::MAX))
    }

    pub(crate) fn fixed(self) -> Option<i64> {
        match self {
            Self::Fixed(value) => Some(value),
            Self::Batches(_) => None,
        }
    }

    /// Returns a number of rows, if it is one that does not depend on the batch.
    pub(crate) fn rows(self) -> Option<usize> {
        usize::try_from(self.fixed()?).ok()
    }

    pub(crate) fn times(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::Fixed(a), Self::Fixed(b)) => Some(Self::Fixed(a.checked_mul(b)?)),
            (Self::Fixed(a), Self::Batches(b)) | (Self::Batches(b), Self::Fixed(a)) => {
                Some(Self::Batches(a.checked_mul(b)?))
            }
            (Self::Batches(_), Self::Batches(_)) => None,
        }
    }

    pub(crate) fn plus(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::Fixed(a), Self::Fixed(b)) => Some(Self::Fixed(a.checked_add(b)?)),
            (Self::Batches(a), Self::Batches(b)) => Some(Self::Batches(a.checked_add(b)?)),
            _ => None,
        }
    }

    pub(crate) fn minus(self, other: Self) -> Option<Self> {
        let negative = other.times(Self::Fixed(-1))?;
        self.plus(negative)
    }
}

impl Value {
    /// Returns integers.
    pub(crate) fn ints(&self) -> Result<&Ints, String> {
        match self {
            Self::Ints(ints) => Ok(ints),
            _ => Err("needs integers that are known before it runs".to_owned()),
        }
    }

    /// Returns integers that do not depend on the batch.
    pub(crate) fn fixed_ints(&self) -> Result<Vec<i64>, String> {
        let fixed: Option<Vec<i64>> = self.ints()?.values.iter().map(|value| value.fixed()).collect();
        fixed.ok_or_else(|| "needs integers that do not depend on the batch".to_owned())
    }

    /// Returns a single integer that does not depend on the batch.
    pub(crate) fn int(&self) -> Result<i64, String> {
        match self.fixed_ints()?[..] {
            [value] => Ok(value),
            _ => Err("needs a single integer".to_owned()),
        }
    }

    /// Returns real numbers that are known.
    pub(crate) fn reals(&self) -> Result<&Reals, String> {
        match self {
            Self::Reals(reals) => Ok(reals),
            _ => Err("needs constant weights".to_owned()),
        }
    }

    /// Returns the extents.
    pub(crate) fn dims(&self) -> Vec<Extent> {
        match self {
            Self::Reals(Reals { dims, .. }) | Self::Ints(Ints { dims, .. }) => {
                dims.iter().map(|extent| Extent::of(*extent)).collect()
            }
            Self::Computed(computed) => computed.dims.clone(),
            Self::Pending(pending) => pending.dims.clone(),
            Self::Dead => Vec::new(),
        }
    }
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(value) => value.fmt(f),
            Self::Batches(1) => f.pad("batch"),
            Self::Batches(count) => write!(f, "{count} batch"),
        }
    }
}

/// Returns extents as a text.
pub(crate) fn shown(extents: &[Extent]) -> String {
    let extents: Vec<String> = extents.iter().map(ToString::to_string).collect();
    format!("[{}]", extents.join(", "))
}

/// Returns the place of an axis that is counted from the end if it is negative.
pub(crate) fn axis(axis: i64, rank: usize) -> Result<usize, String> {
    let rank_i = i64::try_from(rank).unwrap_or(i64::MAX);
    let from_start = if axis < 0 { axis.checked_add(rank_i) } else { Some(axis) };
    let found = from_start.and_then(|axis| usize::try_from(axis).ok()).filter(|axis| *axis < rank);
    found.ok_or_else(|| format!("has the axis {axis} of {rank}"))
}
