//! Sequence-to-sequence decoding with beam search.
//!
//! A [`Beam`] keeps the best hypotheses of one sequence, a [`Scorer`] says how likely each next word is. [`search()`]
//! brings them together for several sequences at once, so that one step of the scorer serves all live hypotheses of a
//! batch.
//!
//! The rules are those of `tensorflow/nmt`: hypotheses compete by `sum log p / length penalty`, ended ones keep their
//! place by their score, and the search of a sequence ends when all its hypotheses have ended or the steps are used up.
//! The coverage penalty (Wu et al. 2016, equation 14) counts for ended ones only. The first word of a text is certain
//! before its end: once all hypotheses begin with it.

pub(crate) mod hypotheses;
pub(crate) mod options;
pub(crate) mod search;
mod select;

#[cfg(test)]
mod tests;

pub use hypotheses::Beam;
pub use options::BeamOptions;
pub use search::{Row, Scorer, search};
