//! The flush of a plugin that takes whole queries, on a thread of its own.
//!
//! A plugin may return from a flush only when everything is complete. The issuing thread must not wait for that: it is
//! the one that notices when nothing completes any more, and that gives up when the user wants it to. Nothing else is
//! asked of the plugin until the flush has returned.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
};

use proctor_plugin_host::{Model, PluginHostError};

type Running = JoinHandle<Result<(), PluginHostError>>;

/// Flushes a model, one flush at a time. Clones share it.
#[derive(Clone)]
pub(crate) struct Flush {
    model: Model,
    running: Arc<Mutex<Option<Running>>>,
}

impl Flush {
    pub(crate) fn new(model: Model) -> Self {
        Self { model, running: Arc::default() }
    }

    /// Starts a flush and does not wait for it; only for the one before, if nobody has.
    ///
    /// # Errors
    /// The error of the flush before; or of this one, if no thread could be started and it ran on this thread.
    pub(crate) fn start(&self) -> Result<(), PluginHostError> {
        let mut running = self.running();
        let before = end(&mut running);
        let model = self.model.clone();
        match thread::Builder::new().name("flush".to_owned()).spawn(move || model.flush()) {
            Ok(thread) => {
                *running = Some(thread);
                before
            }
            Err(error) => {
                tracing::warn!(%error, "cannot start a thread for the flush");
                before.and(self.model.flush())
            }
        }
    }

    /// Waits for the end of the flush that was started, if any.
    ///
    /// # Errors
    /// The error of the flush.
    pub(crate) fn wait(&self) -> Result<(), PluginHostError> {
        end(&mut self.running())
    }

    fn running(&self) -> MutexGuard<'_, Option<Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn end(running: &mut Option<Running>) -> Result<(), PluginHostError> {
    match running.take().map(JoinHandle::join) {
        Some(Ok(flushed)) => flushed,
        // The boundary lets no panic out; what panicked is the host.
        Some(Err(panic)) => std::panic::resume_unwind(panic),
        None => Ok(()),
    }
}
