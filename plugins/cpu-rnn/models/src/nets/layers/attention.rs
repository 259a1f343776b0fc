//! Attention: weights over the rows of a sequence, and their uses.
//!
//! A score says how well a row fits a query; [`softmax`](fn@super::softmax) makes weights of scores; the context is the
//! [sum of the rows by these weights](super::weighted_sum).
//!
//! | score | of row `k` and query `q` | source |
//! |---|---|---|
//! | [`dot_scores`] | `k . q` | Luong et al. 2015 |
//! | [`Bilinear`] | `k . W q` | Luong et al. 2015, Chen et al. 2016 |
//! | [`Additive`] | `v . tanh(k + q + b)` | Bahdanau et al. 2015; Salimans and Kingma 2016 for the norm |
//! | [`TwoWay`] | `w . [h, u, h * u]`, both ways | Seo et al. 2017 |
//!
//! [`attention_sum`] adds the weights of the rows where a word occurs (Kadlec et al. 2016).

pub(crate) mod additive;
mod bilinear;
pub(crate) mod dot;
pub(crate) mod sum;
pub(crate) mod two_way;

pub use additive::Additive;
pub use bilinear::Bilinear;
pub use dot::dot_scores;
pub use sum::attention_sum;
pub use two_way::{TwoWay, TwoWayScratch};
