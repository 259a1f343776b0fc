//! Runs the built `host` program from tests, and inspects its output.
//!
//! A [`Bench`] is a folder in which a test runs the program; a [`Run`] is one run of a benchmark there, with its exit
//! code, its output and its run folder. The tests themselves are in `tests/suite`, a module for each part of the
//! program's promise.
//!
//! # Choices
//! - The program is used as a user uses it: through its command line, in its own process. A crash or a hang fails one
//!   test, with the output shown.
//! - It is not built here. Cargo does not build the program of another package for a test, and a test that builds would
//!   measure the build; `cargo xtask test` builds everything first. The program and plugins are those in the target
//!   folder of the running test.
//! - No test asserts on time. A time limit only turns a hang into a failure.
//!
//! # Example
//! ```no_run
//! let bench = proctor_tests::Bench::new();
//! let run = bench.run("--plugin mock --scenario Offline --mode performance");
//! assert_eq!(run.result()["scenario"], "Offline");
//! ```
//!
//! # Limits
//! Linux only, like the plugins' file names.

#![forbid(unsafe_code)]

mod bench;
mod compile;
mod place;
mod process;
mod rows;
mod run;
mod scenarios;
mod workspace_copy;

pub use bench::Bench;
pub use compile::{
    compile, compile_against, compile_cpp, compile_program, compile_with_cpp, complaints_about_cpp,
};
pub use place::{built, datasets, find_plugin, plugin, workspace};
pub use process::{CRASHED, Finished, INTERRUPTED, OUTPUT, Started};
pub use rows::{check_rows, first_of_each};
pub use run::{PLACES, Run, json};
pub use scenarios::{SCENARIOS, short};
pub use workspace_copy::{WorkspaceCopy, files_of_workspace};
