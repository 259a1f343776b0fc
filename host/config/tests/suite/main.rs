//! The integration tests of this crate, a module for each subject.

mod arrivals;
mod benchmarks;
mod conf_files;
mod families;
mod loader;
mod published;
mod rules;
mod sources;
mod suites;
