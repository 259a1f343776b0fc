//! A loaded model, which is a number of zeros, and its instances.

use std::sync::Arc;

use proctor_plugin_api::{Batch, Host, Instance, Model, Placement, PluginError, Query};

use crate::{answers::Answers, worker::Worker};

/// Thread that completes an issued sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Completer {
    /// The issuing thread.
    Inline,
    /// A thread of the plugin's own.
    Thread,
}

/// A loaded model.
#[derive(Debug)]
pub struct NullModel {
    answers: Arc<Answers>,
    /// The thread that completes issued samples; without one, `issue` does.
    worker: Option<Worker>,
}

/// Nothing but a name: immediate execution needs nothing.
#[derive(Debug)]
pub struct NullInstance;

impl NullModel {
    pub(crate) fn new(host: Host, complete: Completer, response_size_bytes: usize) -> Self {
        let answers = Arc::new(Answers::new(host, response_size_bytes));
        let worker = (complete == Completer::Thread).then(|| Worker::new(Arc::clone(&answers)));
        Self { answers, worker }
    }
}

impl Model for NullModel {
    type Instance = NullInstance;

    fn create_instance(&self, _placement: &Placement) -> Result<NullInstance, PluginError> {
        Ok(NullInstance)
    }

    fn start(&self) -> Result<(), PluginError> {
        self.worker.as_ref().map_or(Ok(()), Worker::start)
    }

    fn issue(&self, query: Query<'_>) -> Result<(), PluginError> {
        match &self.worker {
            None => {
                self.answers.complete(query.iter().map(|sample| sample.id));
                Ok(())
            }
            Some(worker) => worker.push(query.iter()),
        }
    }

    fn stop(&self) -> Result<(), PluginError> {
        self.worker.as_ref().map_or(Ok(()), Worker::stop)
    }
}

impl Instance for NullInstance {
    fn execute(&mut self, batch: &mut Batch<'_>) -> Result<(), PluginError> {
        for mut sample in batch.samples() {
            for output in 0..sample.output_count() {
                sample.output_mut(output).fill(0);
            }
        }
        Ok(())
    }
}
