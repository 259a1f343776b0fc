//! The rotary position embedding: the angles by which queries and keys are turned.

use candle_core::{DType, Device, Result, Tensor};

/// Cosines and sines for each position, `[position, head_dim / 2]`.
#[derive(Debug, Clone)]
pub(super) struct Rotary {
    cos: Tensor,
    sin: Tensor,
}

impl Rotary {
    /// Returns the angles of the positions below `positions`: `position * theta^(-2 i / head_dim)`, computed in f64.
    pub(super) fn new(
        theta: f64,
        head_dim: usize,
        positions: usize,
        dtype: DType,
        device: &Device,
    ) -> Result<Self> {
        let half = head_dim / 2;
        let angle =
            |position: usize, i: usize| position as f64 * theta.powf(-2.0 * i as f64 / head_dim as f64);
        let angles: Vec<f64> =
            (0..positions).flat_map(|position| (0..half).map(move |i| angle(position, i))).collect();
        let table = |of: fn(f64) -> f64| {
            let values: Vec<f64> = angles.iter().copied().map(of).collect();
            Tensor::from_vec(values, (positions, half), device)?.to_dtype(dtype)
        };
        Ok(Self { cos: table(f64::cos)?, sin: table(f64::sin)? })
    }

    /// Turns the heads of whole prompts, `[batch, head, time, head_dim]`: each starts at position 0.
    pub(super) fn turn_prompts(&self, heads: &Tensor) -> Result<Tensor> {
        let time = heads.dim(2)?;
        candle_nn::rotary_emb::rope(heads, &self.cos.narrow(0, 0, time)?, &self.sin.narrow(0, 0, time)?)
    }

    /// Turns the heads of one word of each text, `[text, head, 1, head_dim]`. `positions` has one for each text.
    pub(super) fn turn_words(&self, heads: &Tensor, positions: &Tensor) -> Result<Tensor> {
        let of = |table: &Tensor| table.index_select(positions, 0)?.unsqueeze(1);
        candle_nn::rotary_emb::rope(heads, &of(&self.cos)?, &of(&self.sin)?)
    }
}
