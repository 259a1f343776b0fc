//! The way the programs show what they measure: progress on a terminal while it goes on, and pages of figures at the end.
//!
//! [`Steps`] shows how far a benchmark is. A [`Page`] is tables with their notes and their [`Origin`], as text, in Markdown
//! and as JSON; a [`Spread`] sums up several values of one figure. [`start_log`], [`print`] and [`end`] are how each program
//! begins, answers and ends.

#![forbid(unsafe_code)]

mod log;
mod page;
mod program;
mod spread;
mod steps;

pub use crate::{
    log::start_log,
    page::{Origin, Page, Table, markdown_table, write_json},
    program::{end, print},
    spread::Spread,
    steps::Steps,
};
