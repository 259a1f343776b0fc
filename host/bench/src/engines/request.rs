//! Requests to a worker, and its replies. `python_worker.py` speaks the same.

use serde::{Deserialize, Serialize};

use crate::timing::Window;

/// File to which a worker writes the outputs of the first batch, sample after sample.
pub(super) const OUTPUT: &str = "output.bin";

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub(super) enum Request {
    /// Load the model, call it with the first samples, and write the output.
    Load,
    /// Call it over and over in this way, and write the times.
    Measure { way: Way, window: Window },
}

/// Way to call a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Way {
    /// A test of LoadGen, through scheduler, plugin boundary and plugin.
    Host,
    /// `session.run` of Python.
    Run,
    /// `session.run_with_iobinding` of Python, with everything bound ahead: the minimum of Python's work.
    Binding,
}

/// Reply to [`Request::Load`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Loaded {
    /// Load time, in ms.
    pub(super) load_ms: f64,
    /// Rough length of a call, in ms.
    pub(super) call_ms: f64,
    /// Name of the plugin, as it reports it.
    #[serde(default)]
    pub(super) plugin: Option<String>,
    /// Library of the runtime that the package brings, if others can load it.
    #[serde(default)]
    pub(super) library: Option<String>,
}

/// Reply to [`Request::Measure`]: medians over queries; empty for a package, of which only the times are known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Figures {
    /// Median of the time inside the engine, by the stages that the plugin reports.
    pub(super) engine_ns: Option<f64>,
    /// Median of the rest of the latency.
    pub(super) outside_ns: Option<f64>,
    /// Median of the time in which inputs are copied, by the stages that the plugin reports.
    pub(super) copy_ns: Option<f64>,
    /// Number of input bytes that the plugin copied, by its own count.
    pub(super) input_bytes_copied: Option<f64>,
}
