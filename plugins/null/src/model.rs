//! A loaded model, which is a number of zeros, and its instances.

use std::sync::Arc;

use proctor_plugin_api::{
    Batch, Host, Instance, Model, Placement, PluginError, Response,
    vocabulary::{QuerySample, ResponseId, SampleStatus},
};

use crate::{plugin::Complete, worker::Worker};

/// A loaded model.
#[derive(Debug)]
pub struct NullModel {
    answers: Arc<Answers>,
    /// The thread that completes issued samples; without one, `issue` does.
    worker: Option<Worker>,
}

/// Nothing but a name: what executes at once needs nothing.
#[derive(Debug)]
pub struct NullInstance;

/// How samples are answered.
#[derive(Debug)]
pub(crate) struct Answers {
    host: Host,
    /// The response to any sample: all of its outputs.
    zeros: Box<[u8]>,
}

impl NullModel {
    pub(crate) fn new(host: Host, complete: Complete, response_size_bytes: usize) -> Self {
        let answers = Arc::new(Answers::new(host, response_size_bytes));
        let worker = (complete == Complete::Thread).then(|| Worker::new(Arc::clone(&answers)));
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

    fn issue(&self, samples: &[QuerySample]) -> Result<(), PluginError> {
        match &self.worker {
            None => {
                self.answers.complete(samples.iter().map(|sample| sample.id));
                Ok(())
            }
            Some(worker) => worker.push(samples),
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

impl Answers {
    pub(crate) fn new(host: Host, response_size_bytes: usize) -> Self {
        Self { host, zeros: vec![0; response_size_bytes].into_boxed_slice() }
    }

    /// Completes samples with zeros.
    pub(crate) fn complete(&self, ids: impl Iterator<Item = ResponseId>) {
        let respond = |id| Response { id, status: SampleStatus::OK, data: &self.zeros, token_count: 0 };
        self.host.complete_each(ids.map(respond));
    }
}
