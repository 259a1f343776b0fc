//! The integration tests of this crate, a module for each subject.

mod cases;
mod differential;
mod generated;
