//! Runs a benchmark once: takes settings and returns a result.
//!
//! It prints nothing and reads no command line; only its advice names flags of the program `host`.
//!
//! [`run`](run()) reads from top to bottom in the order of a run: plugin, data, model, accuracy run, performance run,
//! result, verdict. It reports to an [`Observer`](proctor_words::Observer), and ends early when the user
//! [interrupts](proctor_bed::Interrupt) it.
//!
//! 1. [`Frame`] surrounds a run or a campaign: the folder, the watchdog, the note of an error. It opens the plugin and
//!    the data and loads the model; the result is a test bed.
//! 2. `accuracy` scores the answers, including those of a separate log ([`score_log`]); `result` makes
//!    `result.json` and the verdict.
//! 3. `ending` is the order at the end: first the results, then the end of the plugin.
//! 4. [`warnings`] are about settings, before a run.
//! 5. [`prove`](prove()) makes an accuracy run on data that it has looked at, and writes a record of both.

#![forbid(unsafe_code)]

mod accuracy;
mod ending;
mod engine;
mod frame;
mod performance_runs;
mod prove;
mod result;
mod run;
pub mod warnings;

pub use crate::{
    accuracy::{
        logged::{LogResult, Reading, score_log},
        recorded::FoundLog,
    },
    engine::check_official,
    frame::{Frame, OpenBed},
    performance_runs::PerformanceRuns,
    prove::prove,
    result::{
        RunResult, Tests,
        arrivals::{self, arrivals_remark},
        breach::objections,
        deviations, finished_at_utc, plugin_part,
    },
    run::{run, settings_of_run},
};
