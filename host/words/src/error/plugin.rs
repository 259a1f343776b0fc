//! Demands that a plugin cannot meet.

use std::{io, path::PathBuf};

use super::Cause;

/// A demand of the settings that the plugin cannot meet.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
#[rustfmt::skip]
pub enum PluginError {
    #[error("{0}")] Stated(&'static str),
    #[error(transparent)] Other(Cause),
    #[error("plugin {plugin}: {cause}")] Of { plugin: String, cause: Cause },
    #[error("plugin {plugin}: cannot go on in a fresh process: {cause}")] FreshProcess { plugin: String, cause: Cause },
    #[error("cannot start {program}, which runs a plugin in a process of its own: {error}; build it with `cargo build \
             -p {worker}`, or leave out --isolate")]
    NoWorker { program: PathBuf, worker: &'static str, error: io::Error },
    #[error("there is no thread for an instance: {0}")] NoThread(io::Error),
    #[error("plugin {0} does not run in virtual time: leave out --virtual-time, or take a plugin that does, such as \
             mock")] NoVirtualTime(String),
    #[error("plugin {0} takes whole queries and no batches: leave out issue = false")] NoBatches(String),
    #[error("plugin {0} takes no whole queries: leave out issue = true, and it is given batches")]
    NoWholeQueries(String),
    #[error("plugin {plugin} takes whole queries and no batches, on which {setting} has no effect: leave it out")]
    OfBatches { plugin: String, setting: &'static str },
    #[error("an instance of plugin {plugin} takes {in_flight} batches at a time, which the host does not scale")]
    SeveralBatches { plugin: String, in_flight: u32 },
    #[error("{title} does not say how it runs a model: it has no explanation for model \"{model}\"")]
    NoExplanation { title: String, model: String },
    #[error("the Offline query of {samples} samples is longer than batches may wait for, {limit} samples; lower \
             expected_qps, min_duration_ms or min_query_count, or have the plugin take whole queries, with issue = \
             true")]
    QueryTooLong { samples: usize, limit: usize },
    #[error("the plugin does not come to an end: {}", .0.join("; "))] NoEnd(Vec<String>),
    #[error("the latency that --slo-x is a multiple of cannot be measured, as samples fail; the first: {first}")]
    BaseFails { first: String },
    #[error("batches of plugin {plugin} fail and take no virtual time, so there is nothing to scale; the first: \
             {first}")]
    FailsInNoTime { plugin: String, first: String },
    #[error("repeat {repeat}{} in {folder} is a run of plugin {found}, not of {wanted}, which it was to be of: its \
             settings name another plugin", if side.is_empty() { String::new() } else { format!(" of {side}") })]
    OtherInRepeat { repeat: u32, side: &'static str, folder: PathBuf, found: String, wanted: String },
}

impl PluginError {
    /// Creates an error of another crate, with the plugin that it does not name.
    pub fn of(plugin: &str, cause: impl Into<Cause>) -> Self {
        Self::Of { plugin: plugin.to_owned(), cause: cause.into() }
    }
}
