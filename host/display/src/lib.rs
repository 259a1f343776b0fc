//! The way the programs show what they measure: progress on a terminal while it goes on, and pages of figures at the
//! end.
//!
//! A [`Terminal`] observes a run; [`Steps`] shows how far a benchmark is. A [`Page`] is tables with their notes and
//! their [`Origin`], as text, in Markdown and as JSON; a [`Spread`] sums up several values of one figure.
//! [`start_log`], [`print`](print()) and [`end`] are how each program begins, answers and ends, with one of the
//! [`EXIT_CODES`].

#![forbid(unsafe_code)]

mod exit_code;
mod file_line;
mod log;
mod page;
mod program;
mod progress_line;
mod spread;
mod steps;
mod terminal;

pub use crate::{
    exit_code::EXIT_CODES,
    file_line::FileLine,
    log::start_log,
    page::{Origin, Page, Table, markdown_table},
    program::{end, print},
    spread::Spread,
    steps::Steps,
    terminal::Terminal,
};
