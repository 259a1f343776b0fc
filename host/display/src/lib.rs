//! Shows the measurements of the programs: progress on a terminal, and pages of figures at the end.
//!
//! A [`Terminal`] observes a run in one of several [`OutputFormat`]s. [`Steps`] shows the progress of a benchmark,
//! [`CountLine`] that of many similar items. A [`Page`] holds tables with their notes and [`Origin`], as text, Markdown
//! and JSON; a [`Spread`] summarises several values of one figure. A [`TimelineFile`] records the spans of a run.
//!
//! [`command_line`] and [`run_program`] or [`run_program_with_plugin`] start each program, which ends with one of the
//! [`EXIT_CODES`]; [`print`](print()) and [`tell`] write to stdout and stderr. Both, and the log, escape text from
//! files and plugins so that it cannot control the terminal. [`print_data`] leaves it unescaped if no terminal shows
//! it.
//!
//! # Where things are
//! - `terminal` shows a run, `relay` hands it to another program, `progress` its view, lines or events (`snapshot`: a
//!   test at an instant);
//! - `steps`, `count_line`: the progress of a benchmark; `page`, `spread`: its figures;
//! - `program`, `exit_code`: how each program begins and ends; `log`: its log; `timeline`: the spans of a run as a
//!   file;
//! - `stdout`: the answer; `stderr`: everything else.

#![forbid(unsafe_code)]

mod count_line;
pub mod exit_code;
mod file_line;
mod log;
mod page;
mod program;
mod progress;
mod relay;
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
    log::log_to,
    page::{Origin, Page, Table, markdown_table},
    program::{command_line, run_program, run_program_with_plugin},
    progress::OutputFormat,
    relay::{Relay, RelayedProgress, Shown},
    spread::Spread,
    stderr::tell,
    stdout::{print, print_data, stdout_for_successor},
    steps::Steps,
    terminal::Terminal,
    timeline::TimelineFile,
};
