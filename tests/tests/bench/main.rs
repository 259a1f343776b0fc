//! The comparisons of `host bench`. No test asserts how fast anything is.

#![forbid(unsafe_code)]

mod engines;
mod rnn;
