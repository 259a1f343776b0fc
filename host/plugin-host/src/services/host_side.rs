//! The host's side of an opened plugin.

use std::collections::BTreeMap;

use proctor_plugin_api::{
    MemoryKind,
    abi::{PROCTOR_MESSAGE_LENGTH_MAX, PROCTOR_METRIC_COUNT_MAX, PROCTOR_STAGE_NAME_COUNT_MAX},
};
use proctor_vocabulary::steers;

use crate::{
    guard::checked::readable,
    services::{
        context::HostContext,
        failures::SampleFailure,
        faults::{PluginFault, RepeatedFault},
        metric::PluginMetric,
        notes::Notes,
        stages::{PluginStage, is_stage_name},
    },
};

/// Maximum length of a fault's text that is taken over: a message, and the host's text around it.
const FAULT_LENGTH_MAX: usize = 2 * PROCTOR_MESSAGE_LENGTH_MAX;

/// Maximum number of kinds of faults that are taken over at a time. There are fewer kinds.
const FAULTS_MAX: usize = 64;

/// The host's side of an opened plugin, which does not keep it open and outlives it: its threads may call the host to
/// the end of the process. Copies are the same one.
#[derive(Clone, Copy)]
pub struct HostSide(&'static HostContext);

impl HostSide {
    pub(crate) fn new(context: &'static HostContext) -> Self {
        Self(context)
    }

    /// Asks the plugin to end all work soon.
    pub fn cancel(self) {
        self.0.cancel();
    }

    /// Returns the figures that the plugin has reported so far.
    #[must_use]
    pub fn metrics(self) -> BTreeMap<String, PluginMetric> {
        let mut metrics = self.0.metrics.all();
        metrics.extend(self.0.relayed.lock().metrics.clone());
        metrics
    }

    /// Returns the stages of the plugin's work so far, by name, without the stages of warm-ups.
    #[must_use]
    pub fn stages(self) -> BTreeMap<String, PluginStage> {
        let mut stages = self.0.stages.report();
        stages.extend(self.0.relayed.lock().stages.clone());
        stages
    }

    /// Hands out the energy in joules between the last start and its stop, once; `None` if it was not counted.
    #[must_use]
    pub fn take_energy_joules(self) -> Option<f64> {
        self.0.energy.take()
    }

    /// Returns the kinds of memory of the last prepared samples, one for each input; none before that, or if
    /// they lie in parts of pages.
    #[must_use]
    pub fn memory_kinds(self) -> Vec<MemoryKind> {
        self.0.memory_kinds.lock().clone()
    }

    /// Returns the plugin's own words about samples that failed since the last call: the first few, and how many there
    /// were.
    #[must_use]
    pub fn take_failures(self) -> (Vec<SampleFailure>, u64) {
        self.0.failures.take()
    }

    /// Returns the number of lines that were logged since the last call and not written, for there were more than 1000
    /// in a second.
    #[must_use]
    pub fn take_left_out_lines(self) -> u64 {
        self.0.log_limit.take_left_out()
    }

    /// Returns the misbehaviour noticed at the boundary since the last call.
    #[must_use]
    pub fn take_faults(self) -> Vec<RepeatedFault> {
        self.0.faults.take()
    }

    /// Reads the plugin's counter of energy only in [`Model::read_energy`](crate::Model::read_energy) from now on, and
    /// not at start and stop: another host does that.
    pub fn leave_energy(self) {
        self.0.energy.leave();
    }

    /// Returns all notes; of faults only the ones since they were last taken.
    #[must_use]
    pub fn take_notes(self) -> Notes {
        Notes { faults: self.take_faults(), metrics: self.metrics(), stages: self.stages() }
    }

    /// Adopts the notes of another host: faults are added, figures and stages replace its previous ones. The plugin may
    /// have written them itself, so no more is kept than the other host would have taken.
    pub fn take_over(self, mut notes: Notes) {
        let faults = notes.faults.drain(..).take(FAULTS_MAX);
        faults.for_each(|fault| self.0.faults.add(self.readable_fault(fault)));
        let now_ns = (self.0.now_ns)();
        notes.metrics.retain(|name, metric| metric.is_sound(name, now_ns));
        notes.stages.retain(|name, _| is_stage_name(name));
        notes.metrics = notes.metrics.into_iter().take(PROCTOR_METRIC_COUNT_MAX).collect();
        notes.stages = notes.stages.into_iter().take(PROCTOR_STAGE_NAME_COUNT_MAX).collect();
        *self.0.relayed.lock() = notes;
    }

    /// Returns a fault whose words fit in a line: they may have been written by a plugin.
    fn readable_fault(self, fault: RepeatedFault) -> RepeatedFault {
        let words = fault.first.to_string();
        if words.len() <= FAULT_LENGTH_MAX && !words.contains(steers) {
            return fault;
        }
        let words = readable(&words.as_bytes()[..words.len().min(FAULT_LENGTH_MAX)]);
        RepeatedFault { first: PluginFault::Garbled { plugin: self.0.plugin.to_owned(), words }, ..fault }
    }

    /// Records that the process that the plugin had for itself has ended.
    pub fn note_end(self, how: &str) {
        let (plugin, bytes) = (self.0.plugin.to_owned(), how.as_bytes());
        let how = readable(&bytes[..bytes.len().min(PROCTOR_MESSAGE_LENGTH_MAX)]);
        self.0.faults.record(|| PluginFault::Ended { plugin, how });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proctor_plugin_api::abi;

    use super::*;
    use crate::{call::Call, error::PluginHostError, services::context::HostServices};

    fn host_side() -> HostSide {
        let services = HostServices { now_ns: Arc::new(|| 1), cache_folder: None };
        HostSide::new(Box::leak(Box::new(HostContext::new("p", services))))
    }

    #[test]
    fn notes_that_cannot_be_are_not_taken_over() {
        let here = host_side();
        let forged = "ok\u{1b}[1A\n  verdict  VALID".to_owned();
        let fault = PluginFault::Ended { plugin: "p".to_owned(), how: forged.clone() };
        let metric = PluginMetric::first("W", 1.0, 0);
        let mut wrong = metric.clone();
        wrong.mean = f64::NAN;
        let future = PluginMetric::first("W", 1.0, 2);
        let stage = PluginStage { count: 1, least_ns: 1, greatest_ns: 1, total_ns: 1 };
        let metrics = [
            ("good".to_owned(), metric.clone()),
            ("nan".to_owned(), wrong),
            ("future".to_owned(), future),
            (forged.clone(), metric),
        ];
        here.take_over(Notes {
            faults: vec![RepeatedFault { first: fault, count: 1 }],
            metrics: metrics.into(),
            stages: [("copy".to_owned(), stage), (forged, stage)].into(),
        });
        let words: Vec<_> = here.take_faults().iter().map(ToString::to_string).collect();
        assert_eq!(words, ["plugin p: plugin p: ok [1A   verdict  VALID"]);
        assert_eq!(here.metrics().into_keys().collect::<Vec<_>>(), ["good"]);
        assert_eq!(here.stages().into_keys().collect::<Vec<_>>(), ["copy"]);
    }

    #[test]
    fn notes_are_the_same_on_the_other_side() {
        let (there, here) = (host_side(), host_side());
        there.0.metrics.add(b"power", b"W", 250.0, 1, 1).unwrap();
        let (plugin, message) = ("p".to_owned(), "off the bus".to_owned());
        let failed = PluginHostError::CallFailed {
            plugin,
            call: Call::Execute,
            status: abi::PROCTOR_STATUS_DEVICE_LOST,
            vendor_code: -7,
            message,
        };
        there.0.faults.record_failure(Err(failed));
        let metrics = there.metrics();
        for _ in 0..2 {
            here.take_over(there.take_notes());
        }
        assert_eq!(here.metrics(), metrics);
        let texts: Vec<_> = here.take_faults().iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["plugin p: execute failed (DEVICE_LOST, code -7): off the bus"]);
    }

    #[test]
    fn the_end_of_a_process_is_a_fault_of_one_line() {
        let here = host_side();
        here.note_end("its process was ended by SIGSEGV\nin execute");
        let faults = here.take_faults();
        assert_eq!(faults[0].to_string(), "plugin p: its process was ended by SIGSEGV in execute");
    }
}
