//! The misbehaviour of a plugin that does not end a run.

use std::{
    fmt,
    mem::{self, discriminant},
    sync::Arc,
};

use parking_lot::Mutex;
use proctor_vocabulary::ResponseId;
use serde::{Deserialize, Serialize};

use crate::{
    error::PluginHostError,
    services::{done::DoneProblem, stages::StagesError},
};

/// Misbehaviour of a plugin that was noticed at the boundary and did not end a run.
#[derive(Debug, Clone, thiserror::Error, Serialize, Deserialize)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum PluginFault {
    #[error("the host panicked in a service that the plugin called")]
    HostPanicked,
    #[error("plugin {plugin}: handed over responses that cannot be: {problem}")]
    Responses { plugin: String, problem: String },
    #[error("plugin {plugin}: reported progress that cannot be: {problem}")]
    Progress { plugin: String, problem: String },
    #[error("plugin {plugin}: called {service} with a context that is {}not that of its host's table", if *is_null { "null, " } else { "" })]
    Context { plugin: String, service: String, is_null: bool },
    #[error("plugin {plugin}: answered samples while no test was running")]
    NoTest { plugin: String },
    #[error("plugin {plugin}: answered samples in warm_up, which completes none")]
    WarmUp { plugin: String },
    #[error("plugin {plugin}: response {id} has {}{got} bytes instead of {expected}", if *is_null { "null with " } else { "" })]
    ResponseSize { plugin: String, id: ResponseId, is_null: bool, got: u64, expected: String },
    #[error("plugin {plugin}: first token of {id} has {}{got} bytes instead of at most {most}", if *is_null { "null with " } else { "" })]
    FirstTokenSize { plugin: String, id: ResponseId, is_null: bool, got: u64, most: u64 },
    #[error("plugin {plugin}: reported tokens that cannot be: {problem}")]
    Tokens { plugin: String, problem: String },
    #[error("plugin {plugin}: reported 0 tokens of {id}, where each report has at least 1")]
    NoTokens { plugin: String, id: ResponseId },
    #[error("plugin {plugin}: reported batch {batch:#x} as done: {problem}")]
    Done { plugin: String, batch: u64, problem: DoneProblem },
    /// The plugin reported impossible stages.
    #[error("plugin {plugin}: {problem}")]
    Stages { plugin: String, problem: StagesError },
    #[error(
        "plugin {plugin}: the energy counter said {} J at the start and {} J at the stop, which cannot be",
        short(*begin), short(*end)
    )]
    Energy { plugin: String, begin: f64, end: f64 },
    #[error("plugin {plugin}: metric {name:?} = {value} is not taken: {why}")]
    Metric { plugin: String, name: String, value: f64, why: String },
    #[error("plugin {plugin}: a batch was completed that instance {instance} had not executed")]
    Batch { plugin: String, instance: u32 },
    /// The process that the plugin had for itself has ended by itself or by a signal, or was ended as the plugin hung.
    #[error("plugin {plugin}: {how}")]
    Ended { plugin: String, how: String },
    /// The process that the plugin had for itself has noted a fault in words that cannot be shown as they are.
    #[error("plugin {plugin}: {words}")]
    Garbled {
        plugin: String,
        /// The words, as far as they are printable.
        words: String,
    },
    /// A call failed, or its outputs are wrong.
    #[error(transparent)]
    Call(Arc<PluginHostError>),
}

/// Returns a number without hundreds of digits.
fn short(value: f64) -> String {
    if value.abs() < 1e15 { value.to_string() } else { format!("{value:e}") }
}

impl PluginFault {
    /// Returns whether the other fault is of the same kind, if about another sample, metric or array.
    fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Call(one), Self::Call(other)) => match (&**one, &**other) {
                (
                    PluginHostError::CallFailed { call: one, .. },
                    PluginHostError::CallFailed { call: other, .. },
                ) => one == other,
                (one, other) => discriminant(one) == discriminant(other),
            },
            (Self::Done { problem: one, .. }, Self::Done { problem: other, .. }) => one == other,
            (Self::Stages { problem: one, .. }, Self::Stages { problem: other, .. }) => one.is_like(other),
            (one, other) => discriminant(one) == discriminant(other),
        }
    }
}

/// Misbehaviour of one kind: the first time, and how often it was noticed.
///
/// Displays as a sentence about the first time, with the number of the others.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RepeatedFault {
    /// The first of them.
    pub first: PluginFault,
    /// Number of such faults, including the first.
    pub count: u64,
}

impl fmt::Display for RepeatedFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count {
            0 | 1 => self.first.fmt(f),
            count => write!(f, "{}; and {} more of this kind", self.first, count - 1),
        }
    }
}

/// Misbehaviour noticed at the boundary, kind by kind, so that no number of faults hides one of another kind.
#[derive(Debug, Default)]
pub(crate) struct Faults(Mutex<Vec<RepeatedFault>>);

impl Faults {
    pub(crate) fn record(&self, fault: impl FnOnce() -> PluginFault) {
        self.add(RepeatedFault { first: fault(), count: 1 });
    }

    pub(super) fn add(&self, fault: RepeatedFault) {
        let mut noticed = self.0.lock();
        match noticed.iter_mut().find(|repeated| repeated.first.is_like(&fault.first)) {
            Some(repeated) => repeated.count = repeated.count.saturating_add(fault.count),
            None => noticed.push(fault),
        }
    }

    /// Records the failure of a call whose caller continues as if it had succeeded.
    pub(crate) fn record_failure(&self, done: Result<(), PluginHostError>) {
        if let Err(error) = done {
            self.record(|| PluginFault::Call(Arc::new(error)));
        }
    }

    /// Returns the faults recorded since the last call.
    pub(crate) fn take(&self) -> Vec<RepeatedFault> {
        mem::take(&mut *self.0.lock())
    }

    /// Holds the lock, to show which code needs it.
    #[cfg(test)]
    pub(super) fn hold(&self) -> parking_lot::MutexGuard<'_, Vec<RepeatedFault>> {
        self.0.lock()
    }
}

#[cfg(test)]
mod tests {
    use proctor_plugin_api::abi;

    use super::*;
    use crate::call::Call;

    fn metric(value: f64) -> PluginFault {
        PluginFault::Metric {
            plugin: "p".to_owned(),
            name: "m".to_owned(),
            value,
            why: "it is late".to_owned(),
        }
    }

    fn failed(call: Call) -> PluginFault {
        let (plugin, status, message) = ("p".to_owned(), abi::PROCTOR_STATUS_FAILED, String::new());
        let failed = PluginHostError::CallFailed { plugin, call, status, vendor_code: 0, message };
        PluginFault::Call(Arc::new(failed))
    }

    #[test]
    fn many_faults_of_a_kind_are_counted_and_hide_no_other() {
        let faults = Faults::default();
        for _ in 0..40 {
            faults.record(|| metric(f64::NAN));
        }
        faults.record(|| PluginFault::HostPanicked);
        let texts: Vec<_> = faults.take().iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            [
                "plugin p: metric \"m\" = NaN is not taken: it is late; and 39 more of this kind",
                "the host panicked in a service that the plugin called",
            ]
        );
        assert!(faults.take().is_empty());
        faults.record(|| metric(f64::NAN));
        assert_eq!(faults.take().len(), 1, "what comes later counts again");
    }

    #[test]
    fn calls_that_fail_are_told_apart() {
        let faults = Faults::default();
        for call in [Call::Stop, Call::Execute, Call::Stop] {
            faults.record(|| failed(call));
        }
        assert_eq!(faults.take().iter().map(|fault| fault.count).collect::<Vec<_>>(), [2, 1]);
    }
}
