//! Errors, conclusions, text for people, and files and folders of results: common to all programs of the host.
//!
//! 1. [`HostError`] ends a program without a result, with an enum for each subject; [`Conclusion`] tells how one with
//!    a result ended.
//! 2. [`Observer`] receives what a run shows; [`spans`] are the `tracing` spans of a run, for a timeline.
//! 3. [`text`] formats numbers and tables for people.
//! 4. [`RunFolder`] has its name once it is complete; [`write_whole`] and [`write_json`] write a file completely or not
//!    at all.
//! 5. [`CacheFolder`] is for what plugins keep from run to run; [`read_machine`] describes the machine; a [`Ticker`] is
//!    a thread that acts at intervals.
//!
//! It loads no plugin and makes no test, so that a crate that only reads or shows results need not wait for
//! crates that do.

#![forbid(unsafe_code)]

mod cache_folder;
mod conclusion;
mod error;
mod machine;
mod observer;
mod run_folder;
pub mod spans;
pub mod text;
mod threads;

pub use crate::{
    cache_folder::{CacheFolder, lasting_folder},
    conclusion::Conclusion,
    error::{
        HostError,
        command::CommandError,
        data::DataError,
        folder::FolderError,
        plugin::PluginError,
        scaling::ScalingError,
        search::{RunLength, SearchError},
        usage::{DevicesFault, UsageError},
    },
    machine::{process_memory_bytes, read_machine},
    observer::{Observer, RenderedVerdict, ShownTest, TestPlan},
    run_folder::{RunFolder, folder_for_runs, output, write_json, write_whole},
    threads::Ticker,
};
pub use proctor_noise::SoFar as NoiseSoFar;
pub use proctor_results::{MachinePart, Program};
pub use proctor_scaling::Knobs;
