//! Calls into a plugin, noted before they are made: for the status that comes back, a hang or a crash; and the process
//! that both live in.

pub(crate) mod activity;
pub(crate) mod changes;
pub(crate) mod checked;
pub mod crash;
mod during;
pub(crate) mod handlers;
pub mod interrupts;
pub(crate) mod last_words;
pub mod parent;
pub mod process;
mod report;
mod report_file;
mod room;
mod shared;
pub(crate) mod thread_state;
