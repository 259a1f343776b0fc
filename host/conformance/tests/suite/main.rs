//! The integration tests of this crate, a module for each subject.

#![forbid(unsafe_code)]

mod linked;
