//! Notes of a host about a plugin, for another host that has it in its own process.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::services::{faults::RepeatedFault, metric::PluginMetric, stages::PluginStage};

/// Notes of a host about a plugin.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Notes {
    /// Misbehaviour since the last notes.
    pub faults: Vec<RepeatedFault>,
    /// The figures of the plugin's own so far, by name.
    pub metrics: BTreeMap<String, PluginMetric>,
    /// The stages of the plugin's work so far, by name.
    pub stages: BTreeMap<String, PluginStage>,
}
