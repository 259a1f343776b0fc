//! The way the programs show what they measure: progress on a terminal while it goes on, and pages of figures at the
//! end.
//!
//! A [`Terminal`] observes a run in one of several [`Form`]s; [`Steps`] shows how far a benchmark is, [`CountLine`] how
//! far work of many alike things. A [`Page`] is tables with their notes and their [`Origin`], as text, in Markdown and
//! as JSON; a [`Spread`] sums up several values of one figure. A [`TimelineFile`] takes the spans of a run.
//!
//! [`command_line`] and [`run_program`] or [`run_program_with_plugin`] begin each program, which ends with one of the
//! [`EXIT_CODES`]; [`print`](print()) and [`tell`] are its ways to stdout and stderr. Text of files and plugins steers
//! no terminal there: both escape it, and so does the log. [`print_data`] leaves it as it is where no terminal shows
//! it.

#![forbid(unsafe_code)]

mod count_line;
pub mod exit_code;
mod file_line;
mod log;
mod page;
mod program;
mod progress;
mod spread;
mod stderr;
mod stdout;
mod steps;
mod terminal;
mod timeline;

pub use crate::{
    count_line::CountLine,
    exit_code::EXIT_CODES,
    file_line::FileLine,
    page::{Origin, Page, Table, markdown_table},
    program::{command_line, run_program, run_program_with_plugin},
    progress::Form,
    spread::Spread,
    stderr::tell,
    stdout::{print, print_data, stdout_for_successor},
    steps::Steps,
    terminal::Terminal,
    timeline::TimelineFile,
};
