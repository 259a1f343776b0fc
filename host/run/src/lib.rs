//! Makes one run of a benchmark: takes settings and returns a result.
//!
//! It prints nothing and reads no command line; only its advice names flags of the program `host`.
//!
//! [`run`](run()) reads from top to bottom in the order of a run: plugin, data, model, accuracy run, performance run,
//! result, verdict. [`find_max`](find_max()) makes many tests in the same way to find the highest VALID load, and
//! [`scale`](scale()) finds batch size and instances under a latency target. All report to an [`Observer`], and end
//! early when the user [interrupts](Interrupt) them.
//!
//! 1. `frame` surrounds them: the folder, the watchdog, the note of an error. It opens the plugin and the data and
//!    loads the model; the result is a test bed.
//! 2. `bed` makes one test with the load generator. It has the glue between the load generator, the scheduler and the
//!    plugin, the placement of threads, the watchdog for calls into the plugin, and the scaler, which adjusts batch
//!    size and instances during a test.
//! 3. `overhead` is the same path with a plugin that takes no time: the harness's own floor.
//! 4. `accuracy` scores the answers, also those of a separate log ([`score_log`]); `result` makes `result.json` and the
//!    verdict.
//! 5. `ending` is the order at the end: first the results, then the end of the plugin.
//! 6. `replay` repeats the calls of a recording and compares.
//! 7. `energy` reads the counters of the processor over the timed part.
//! 8. `noise` runs the noise guard beside it.
//! 9. `files` are the files that a run reads and writes.
//! 10. [`spans`] are the `tracing` spans around all of this, for a timeline.

#![forbid(unsafe_code)]

mod accuracy;
mod bed;
mod ending;
mod energy;
mod error;
mod explain_model;
mod figures;
mod files;
mod find_max;
mod frame;
mod interrupt;
mod machine;
mod noise;
mod observer;
mod overhead;
mod performance_runs;
mod replay;
mod result;
mod run;
mod scale;
pub mod spans;
pub mod text;
mod threads;
mod warnings;

pub use crate::{
    accuracy::{
        logged::{LogResult, Reading, score_log},
        recorded::FoundLog,
    },
    bed::{
        dispatch::Dispatch,
        plugin::fitted_model::{FittedModel, row_for},
        plugin::options_of,
        plugin_instance::BatchStages,
        sample_library::read_samples,
        scaling::settings::scales,
        test_bed::TestBed,
    },
    error::HostError,
    explain_model::explain_model,
    figures::query_latencies,
    files::{
        cache_folder::lasting_folder,
        model_files::{FoundFile, find as find_model_files},
        run_folder::{folder_for_runs, output, write_json, write_whole},
    },
    find_max::{find_max, options::FindMaxOptions},
    frame::load_plugin,
    interrupt::Interrupt,
    machine::{Machine, process_memory_bytes, read_machine},
    observer::{Observer, ShownTest, TestPlan, VerdictForms},
    overhead::{direct_run::direct_run, isolated_call::IsolatedCall, null_run::NullRun},
    replay::{Replay, replay},
    result::{Conclusion, RunResult, arrivals::arrivals_remark},
    run::{run, settings_of_run},
    scale::{ScaleOptions, TargetChange, input::ScaleInput, scale},
    threads::Ticker,
    warnings::refuse_if_strict,
};
pub use proctor_noise::SoFar as NoiseSoFar;
pub use proctor_results::Program;
pub use proctor_scaling::Knobs;
