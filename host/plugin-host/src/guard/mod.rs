//! Calls into a plugin, noted before they are made: for the status that comes back, a hang or a crash.

pub(crate) mod activity;
pub(crate) mod checked;
pub mod crash;
pub(crate) mod last_words;
mod thread_state;
