//! Requests to a worker that runs layers, and its replies.

use std::path::PathBuf;

use proctor_rnn_layer::Precision;
use serde::{Deserialize, Serialize};

use super::cases::LayerCase;
use crate::timing::Window;

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub(super) enum Request {
    /// Load the layer in this folder, call it once, and write the output there.
    Load {
        folder: PathBuf,
        layer: LayerCase,
        precision: Precision,
        has_initial_state: bool,
        /// The engine itself, in place of the plugin.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        on_engine: Option<OnEngine>,
    },
    /// Call it over and over, and write the times to the folder.
    Measure { window: Window },
    /// Forget the layer.
    Unload,
}

/// A way to run a layer other than through the plugin boundary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum OnEngine {
    /// One of the ways of the paper's figure 4.
    Stage(usize),
    /// One step after the other, with carried states.
    Stream,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Reply {
    /// Time of a load in ms, of the second one if there are two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) load_ms: Option<f64>,
    /// Time of the first of two loads in ms, in which a plugin may determine how to run the layer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) first_load_ms: Option<f64>,
    /// Number of weight bytes that one call of a stage brings into private caches, by the formula of section
    /// 5.2.3; in the reply to its load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) weight_bytes: Option<u64>,
    /// Share of the possible time for which the worker's threads had a processor during a measurement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) busy_share: Option<f64>,
}
