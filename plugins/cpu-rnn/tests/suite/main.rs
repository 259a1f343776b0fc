//! The integration tests of this crate, a module for each subject.

#[path = "../../engine/tests/suite/common.rs"]
mod common;
mod digits;
mod events;
mod every_schedule;
mod fingerprint;
mod no_allocation;
#[path = "../../models/tests/suite/common/owned_batch.rs"]
mod owned_batch;
mod plugin;
mod recheck;
mod shared_machine;
