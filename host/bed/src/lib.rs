//! Runs one test on one plugin: connects the plugin with the scheduler and its samples with the load generator.
//!
//! 1. [`TestBed`] opens the plugin and the data, loads the model, and makes tests.
//! 2. `plugin` finds, loads and opens the plugin, in its own process if requested. `plugin_instance` adapts
//!    an instance of the plugin to the scheduler, `sample_library` adapts the samples to the load generator,
//!    and `system` combines instances and scheduler.
//! 3. [`scaling`] adjusts batch size and instances during a test.
//! 4. `placement` assigns processors to threads and devices to instances.
//! 5. `call_watchdog` detects calls that hang; [`Interrupt`] ends a test early at Ctrl-C.
//! 6. `measure` reads the processor's counters and runs the noise guard during a test; [`figures`] are the
//!    metrics of its results.
//! 7. `overhead` is the same path with a plugin that takes no time: the harness's own floor.
//! 8. `files` are the files that a test reads and writes.
//!
//! It judges no run and writes no `result.json`.

#![forbid(unsafe_code)]

mod call_watchdog;
mod clock;
pub mod engine;
mod fault;
mod files;
mod interrupt;
mod measure;
mod overhead;
mod placement;
mod plugin;
mod plugin_instance;
mod sample_library;
pub mod scaling;
mod system;
mod test;
mod test_bed;

pub use crate::{
    call_watchdog::{
        Watchdog,
        watched::{load_plugin, watch_without_folder, watchdog},
    },
    clock::HostClock,
    fault::{Fault, FirstError},
    files::{dataset_folder::dataset_folder, model_files, recording},
    interrupt::Interrupt,
    measure::{
        energy::{NoEnergy, PackageEnergy},
        figures,
    },
    overhead::{direct_run::direct_run, floor, isolated_call::IsolatedCall, null_run::NullRun},
    plugin::{
        dispatch::{Dispatch, SCHEDULER_KEYS},
        explain_model::explain_model,
        fitted_model::{FittedModel, row_for},
        isolated::host_state::HostPart,
        options_of,
    },
    plugin_instance::BatchStages,
    sample_library::{input_forms::InputForms, published, read_samples, verification::verify_dataset},
    system::{SystemReport, busy::BusyCounts, scheduler_config},
    test::{
        Test, TestRequest,
        watch::{Watch, WatchedSystem},
    },
    test_bed::{Equipment, TestBed},
};
