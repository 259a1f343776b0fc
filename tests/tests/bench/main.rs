//! The comparisons of `host bench`. No test asserts how fast anything is.

#![forbid(unsafe_code)]

mod data;
mod engines;
mod rnn;
