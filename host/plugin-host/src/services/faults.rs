//! The misbehaviour of a plugin that does not end a run.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use proctor_vocabulary::ResponseId;

use crate::error::PluginHostError;

/// Most faults that are kept.
const FAULTS_KEPT: usize = 32;

/// Misbehaviour of a plugin that was noticed at the boundary and did not end a run.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum PluginFault {
    /// A service of the host panicked while the plugin called it.
    #[error("the host panicked in a service that the plugin called")]
    HostPanicked,
    /// The array of responses is null, not aligned, or too long.
    #[error("plugin {plugin}: handed over {count} responses at {address:#x}, which cannot be")]
    Responses {
        /// Name of the plugin.
        plugin: String,
        /// Length of the array.
        count: usize,
        /// Address of the array.
        address: usize,
    },
    /// Samples were answered outside of a test.
    #[error("plugin {plugin}: answered samples while no test was running")]
    NoTest {
        /// Name of the plugin.
        plugin: String,
    },
    /// A response does not have the size of the model's outputs.
    #[error("plugin {plugin}: response {id} has {}{got} bytes instead of {expected}", if *is_null { "null with " } else { "" })]
    ResponseSize {
        /// Name of the plugin.
        plugin: String,
        /// The response.
        id: ResponseId,
        /// Whether its data are null.
        is_null: bool,
        /// Its size, in bytes.
        got: u64,
        /// The sizes that fit, in words.
        expected: String,
    },
    /// A metric has a name that is none, or a value that is not finite.
    #[error("plugin {plugin}: metric {name:?} = {value} is not taken")]
    Metric {
        /// Name of the plugin.
        plugin: String,
        /// Name of the metric.
        name: String,
        /// Its value.
        value: f64,
    },
    /// A batch was completed that was not executed before.
    #[error("plugin {plugin}: a batch was completed that instance {instance} had not executed")]
    Batch {
        /// Name of the plugin.
        plugin: String,
        /// Number of the instance.
        instance: u32,
    },
    /// A call failed, or its outputs are wrong.
    #[error(transparent)]
    Call(Arc<PluginHostError>),
}

/// Misbehaviour noticed at the boundary; the first ones are kept.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    kept: Mutex<Vec<PluginFault>>,
    count: AtomicU64,
}

impl Faults {
    /// Records a fault, which is made only if it is kept.
    pub(crate) fn record(&self, fault: impl FnOnce() -> PluginFault) {
        let before = self.count.fetch_add(1, Ordering::Relaxed);
        if before < FAULTS_KEPT as u64 {
            self.kept.lock().unwrap_or_else(PoisonError::into_inner).push(fault());
        }
    }

    /// Keeps the lock, to show who needs it.
    #[cfg(test)]
    pub(super) fn hold(&self) -> std::sync::MutexGuard<'_, Vec<PluginFault>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn kept(&self) -> Vec<PluginFault> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
