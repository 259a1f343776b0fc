//! Calls into a plugin, noted before they are made: for the status that comes back, a hang or a crash; and the process
//! that both live in.
//!
//! `checked` makes a call, `during` and `activity` note it, `thread_state` and `changes` restore the thread; `crash`,
//! `handlers`, `report` and `last_words` tell of a crash; `process` ends the program, `parent` waits for it through
//! `shared` memory, and `interrupts` are the user's requests to end. `room` is the memory for messages of a plugin.

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
