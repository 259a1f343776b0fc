//! A matrix of weights, in either of the forms that files have.

use std::sync::Arc;

use candle_core::{Result, Tensor};

use super::{blocks::Blocks, product::product};

/// A matrix `[output, input]`. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) enum Matrix {
    /// Numbers, and as many zeros as there are outputs, which a product without an addend starts from.
    Dense(Tensor, Tensor),
    /// Blocks, on the CPU.
    Blocks(Arc<Blocks>),
}

impl Matrix {
    pub(crate) fn dense(weight: Tensor) -> Result<Self> {
        let zeros = Tensor::zeros(weight.dim(0)?, weight.dtype(), weight.device())?;
        Ok(Self::Dense(weight, zeros))
    }

    pub(crate) fn blocks(blocks: Blocks) -> Self {
        Self::Blocks(Arc::new(blocks))
    }

    /// Puts matrices of the same width one below the other.
    pub(crate) fn stack(parts: Vec<Self>) -> Result<Self> {
        let mut stacked: Option<Blocks> = None;
        for part in &parts {
            let Self::Blocks(part) = part else { return Self::dense(Self::cat(&parts)?) };
            let part = Blocks::clone(part);
            match &mut stacked {
                None => stacked = Some(part),
                Some(above) => {
                    if above.append(part).is_err() {
                        return Self::dense(Self::cat(&parts)?);
                    }
                }
            }
        }
        stacked.map_or_else(|| Self::dense(Self::cat(&parts)?), |blocks| Ok(Self::blocks(blocks)))
    }

    fn cat(parts: &[Self]) -> Result<Tensor> {
        let dense = |part: &Self| match part {
            Self::Dense(weight, _) => Ok(weight.clone()),
            Self::Blocks(blocks) => blocks.unpack(&(0..blocks.dims()[0]).collect::<Vec<_>>()),
        };
        Tensor::cat(&parts.iter().map(dense).collect::<Result<Vec<_>>>()?, 0)
    }

    /// Computes `W x` for each row of x, `[row, input]`.
    pub(crate) fn times(&self, x: &Tensor) -> Result<Tensor> {
        match self {
            Self::Dense(weight, zeros) => product(x, weight, zeros),
            Self::Blocks(blocks) => blocks.product(x, None),
        }
    }

    /// Computes `start + W x` for each row of x; `start` is `[row, output]`.
    pub(crate) fn times_plus(&self, x: &Tensor, start: &Tensor) -> Result<Tensor> {
        match self {
            Self::Dense(weight, _) => product(x, weight, start),
            Self::Blocks(blocks) => blocks.product(x, Some(start)),
        }
    }

    /// Returns the rows of these numbers, one for each.
    ///
    /// # Errors
    /// If there is no such row.
    pub(crate) fn rows(&self, numbers: &[u32]) -> Result<Tensor> {
        match self {
            Self::Dense(weight, _) => weight.index_select(&Tensor::new(numbers, weight.device())?, 0),
            Self::Blocks(blocks) => {
                let numbers: Vec<usize> =
                    numbers.iter().map(|number| usize::try_from(*number).unwrap_or(usize::MAX)).collect();
                blocks.unpack(&numbers)
            }
        }
    }
}
