//! What happens in one time step of a recurrent layer.
//!
//! A cell gets the input part of its gates ready-made (the products of all steps are one matrix product, see
//! [`crate::layer`]) and adds what depends on the state before: the hidden product and the element-wise part.

mod gru;
mod lstm;

use std::fmt;

pub use gru::{Gru, GruReset};
pub use lstm::Lstm;

use crate::Threads;

/// One step of a recurrence. Parameters only; the state is the caller's.
pub trait Cell: fmt::Debug + Send + Sync {
    /// Number of units: the width of the hidden state.
    fn hidden_count(&self) -> usize;

    /// Moves `state` on by one time step.
    ///
    /// `gates` is `[batch, gate, unit]`, contiguous: the input part of each gate with its bias. It is overwritten.
    /// [any thread] Allocates nothing.
    ///
    /// # Panics
    /// If `gates` or `state` is too small for `batch_size` samples.
    fn step(&self, gates: &mut [f32], state: &mut State, batch_size: usize, threads: Threads);
}

/// The state of one direction of one layer, and room for what a step computes on the way.
///
/// Each buffer begins with a matrix `[batch, unit]` of the current cell, contiguous, and may be longer.
#[derive(Debug)]
pub struct State {
    /// Hidden state h: what the step puts out.
    pub hidden: Vec<f32>,
    /// Cell state c of an LSTM.
    pub cell: Vec<f32>,
    /// Room for a GRU: the hidden part of the candidate n.
    candidate: Vec<f32>,
    /// Room for a GRU that resets before the product: r ∘ h.
    reset_hidden: Vec<f32>,
}

impl State {
    /// How many buffers of the given length a state has.
    pub(crate) const BUFFER_COUNT: usize = 4;

    /// Room for `batch * unit` elements.
    #[must_use]
    pub fn new(element_count: usize) -> Self {
        let zeros = || vec![0.0; element_count];
        Self { hidden: zeros(), cell: zeros(), candidate: zeros(), reset_hidden: zeros() }
    }

    /// Sets the first `element_count` elements of the hidden and the cell state to 0, as before the first step.
    pub fn reset(&mut self, element_count: usize) {
        self.hidden[..element_count].fill(0.0);
        self.cell[..element_count].fill(0.0);
    }
}

/// The logistic function. Runs to 0 and 1 without overflow; NaN stays NaN.
fn sigmoid(x: f32) -> f32 {
    // For large -x the exponential is infinite and the quotient 0, which is the limit.
    1.0 / (1.0 + (-x).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sigmoid_reaches_its_limits() {
        assert_eq!(sigmoid(0.0), 0.5);
        assert_eq!(sigmoid(-1000.0), 0.0);
        assert_eq!(sigmoid(1000.0), 1.0);
        assert!(sigmoid(f32::NAN).is_nan());
    }
}
