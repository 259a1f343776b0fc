//! The comparisons of `host bench`. No test asserts how fast anything is.

mod data;
mod engines;
mod rnn;
