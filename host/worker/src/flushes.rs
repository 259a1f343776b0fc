//! Runs flushes, which overlap the calls of the main thread.

use std::sync::Arc;

use parking_lot::Mutex;
use proctor_isolated::protocol::Event;
use proctor_plugin_host::{Model, PluginFault, PluginHostError, RepeatedFault};

use crate::reports::Reports;

/// The flush of the model, on its own thread. Clones share it.
#[derive(Clone)]
pub(crate) struct Flushes {
    model: Arc<Mutex<Option<Model>>>,
    faults: Arc<Mutex<Vec<RepeatedFault>>>,
    reports: Reports,
}

impl Flushes {
    pub(crate) fn new(reports: Reports) -> Self {
        Self { model: Arc::default(), faults: Arc::default(), reports }
    }

    /// Sets the model to flush from now on.
    pub(crate) fn set_model(&self, model: Option<Model>) {
        *self.model.lock() = model;
    }

    /// Flushes the model; the host is notified when that is done.
    pub(crate) fn begin(&self) {
        let own = self.clone();
        let flush = move || {
            let model = own.model.lock().clone();
            if let Some(Err(error)) = model.as_ref().map(Model::flush) {
                own.note(error);
            }
            // Before the host goes on and has it unloaded.
            drop(model);
            own.reports.tell(&Event::Flushed);
        };
        if std::thread::Builder::new().name("flush".to_owned()).spawn(flush).is_err() {
            self.note(PluginHostError::WrongState("there is no room for a thread to flush on".to_owned()));
            self.reports.tell(&Event::Flushed);
        }
    }

    /// Returns the faults of flushes since the last time that this was asked.
    pub(crate) fn take_faults(&self) -> Vec<RepeatedFault> {
        std::mem::take(&mut *self.faults.lock())
    }

    fn note(&self, error: PluginHostError) {
        self.faults.lock().push(RepeatedFault { first: PluginFault::Call(Arc::new(error)), count: 1 });
    }
}
