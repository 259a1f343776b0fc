//! Records the boundary: the table of a plugin and its host's, with a note before and after each call.
//!
//! A plugin that is loaded with a [`Recorder`](log::Recorder) is spoken to through functions that write a
//! [`Line`](line::Line) and continue to the plugin's own; so nothing else in this crate knows of it, and without a
//! recorder nothing is slower.

mod batch;
pub(crate) mod entry;
mod extensions;
pub(crate) mod hash;
mod host;
pub(crate) mod line;
pub(crate) mod log;
mod read;
pub(crate) mod recording;
mod table;
