//! A session: one test from its settings to its outcome.

pub(crate) mod background_flush;
mod console;
mod driven;
mod find_peak;
pub(crate) mod load_gen;
pub(crate) mod options;
pub(crate) mod progress;
mod run;
