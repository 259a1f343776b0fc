//! The host's side of an opened plugin.

use std::collections::BTreeMap;

use proctor_plugin_api::MemoryKind;

use crate::services::{
    context::HostContext, failures::SampleFailure, faults::RepeatedFault, metric::PluginMetric,
    stages::PluginStage,
};

/// The host's side of an opened plugin, which does not keep it open and stays when it is closed: its threads may call
/// the host to the end of the process. Copies are the same one.
#[derive(Clone, Copy)]
pub struct HostSide(&'static HostContext);

impl HostSide {
    pub(crate) fn new(context: &'static HostContext) -> Self {
        Self(context)
    }

    /// Tells the plugin that all work should end soon.
    pub fn cancel(self) {
        self.0.cancel();
    }

    /// The figures that the plugin has reported so far.
    #[must_use]
    pub fn metrics(self) -> BTreeMap<String, PluginMetric> {
        self.0.metrics.all()
    }

    /// The stages that the plugin's work was made of so far, by name; those of warm-ups are left out.
    #[must_use]
    pub fn stages(self) -> BTreeMap<String, PluginStage> {
        self.0.stages.report()
    }

    /// Hands out the energy in joules between the last start and its stop, once; `None` if it was not counted.
    #[must_use]
    pub fn take_energy_joules(self) -> Option<f64> {
        self.0.energy.take()
    }

    /// Kinds of the memory that the samples lie in that were last prepared, one for each input; none before that, or
    /// where they lie in parts of pages.
    #[must_use]
    pub fn memory_kinds(self) -> Vec<MemoryKind> {
        self.0.lock_memory_kinds().clone()
    }

    /// The plugin's own words about samples that failed since the last call: the first few, and how many there were.
    #[must_use]
    pub fn take_failures(self) -> (Vec<SampleFailure>, u64) {
        self.0.failures.take()
    }

    /// Number of lines that were logged since the last call and not written, for there were more than 1000 in a
    /// second.
    #[must_use]
    pub fn take_left_out_lines(self) -> u64 {
        self.0.log_limit.take_left_out()
    }

    /// Misbehaviour noticed at the boundary since the last time that this was asked.
    #[must_use]
    pub fn take_faults(self) -> Vec<RepeatedFault> {
        self.0.faults.take()
    }
}
