//! Channels between both processes: messages, and memory of both.

pub(crate) mod echo;
pub(crate) mod mailbox;
pub(crate) mod memory;
pub(crate) mod reports;
pub(crate) mod ring;
pub(crate) mod signal;
pub(crate) mod socket;
