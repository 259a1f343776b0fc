//! An instance of the plugin behind the scheduler.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use proctor_plugin_api::abi::ProctorStamps;
use proctor_plugin_host::{self as plugin_host, PluginHostError};
use proctor_scheduler::{BatchError, Instance};
use proctor_vocabulary::{CompletionSink, QuerySample};

use crate::bed::{fault::FirstError, placement};

/// An instance of the plugin, as the scheduler knows instances.
pub(crate) struct PluginInstance {
    pub(crate) instance: plugin_host::Instance,
    /// Processors that its thread keeps to; empty for any.
    pub(crate) cpus: Vec<u32>,
    /// Log of what the plugin reports of each batch, to show where a latency comes from.
    pub(crate) stamps: Option<StampLog>,
    pub(crate) first_error: FirstError,
}

impl PluginInstance {
    /// Keeps the first error of the test for the advice about it.
    fn batch_error(&self, error: PluginHostError) -> BatchError {
        let message = error.to_string();
        self.first_error.get_or_init(|| Arc::new(error));
        BatchError { message }
    }
}

/// Instants that a plugin reports of each batch, in the order of execution; all 0 where it reports none. Clones share
/// it.
#[derive(Debug, Clone, Default)]
pub(crate) struct StampLog(Arc<Mutex<Vec<ProctorStamps>>>);

impl StampLog {
    /// The stamps since the last call. Room is kept for `room` further ones, so that nothing grows between two batches.
    pub(crate) fn take(&self, room: usize) -> Vec<ProctorStamps> {
        std::mem::replace(&mut *self.lock(), Vec::with_capacity(room))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<ProctorStamps>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Instance for PluginInstance {
    fn enter_thread(&mut self) {
        placement::hold(&self.cpus);
    }

    fn execute(&mut self, batch: &[QuerySample]) -> Result<(), BatchError> {
        let done = self.instance.execute(batch);
        if let Some(log) = &self.stamps {
            log.lock().push(self.instance.stamps());
        }
        done.map_err(|error| self.batch_error(error))
    }

    fn execute_virtual(&mut self, batch: &[QuerySample], busy_instances: u32) -> Result<u64, BatchError> {
        let time_ns = self.instance.execute_virtual(batch, busy_instances);
        time_ns.map_err(|error| self.batch_error(error))
    }

    fn complete(&mut self, batch: &[QuerySample], sink: &dyn CompletionSink) {
        self.instance.complete(batch, sink);
    }
}
