//! Second stop: a loaded model and its life cycle.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use proctor_plugin_api::{
    Host, Model, Placement, PluginError, PreparedSample,
    vocabulary::{QuerySample, SampleIndex},
};

use crate::{
    MockInstance,
    answers::Answers,
    issue::{IssuePath, IssueSettings},
    service::Service,
};

/// A loaded model. The host makes instances of it, or issues queries to it.
#[derive(Debug)]
pub struct MockModel {
    shared: Arc<Shared>,
    pub(crate) issue: IssuePath,
}

/// What all instances and threads of a model read. A real plugin has its weights here, once.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) host: Host,
    pub(crate) service: Service,
    pub(crate) answers: Answers,
    /// How many instances or threads are serving right now. Only counted, so no order with other memory is needed.
    busy: AtomicU32,
}

impl MockModel {
    pub(crate) fn new(host: Host, service: Service, answers: Answers, issue: IssueSettings) -> Self {
        let shared = Arc::new(Shared { host, service, answers, busy: AtomicU32::new(0) });
        Self { issue: IssuePath::new(Arc::clone(&shared), issue), shared }
    }
}

impl Model for MockModel {
    type Instance = MockInstance;

    /// Everything that `execute` will need is made here.
    fn create_instance(&self, placement: &Placement) -> Result<MockInstance, PluginError> {
        Ok(MockInstance::new(Arc::clone(&self.shared), placement.instance_index))
    }

    /// The samples of the next phase, before it starts: the place to copy them to a device, and to find out what
    /// would otherwise fail in the timed part.
    fn prepare_samples(&self, samples: &[PreparedSample]) -> Result<(), PluginError> {
        samples.iter().try_for_each(|sample| self.shared.answers.check(sample.index))
    }

    /// What `host describe mock --plan BENCHMARK` shows. A real plugin tells what it has chosen, and why.
    fn explain(&self) -> Option<String> {
        let Shared { service, answers, .. } = &*self.shared;
        Some(format!("service   {service}\nanswers   {} outputs a sample\n", answers.output_count()))
    }

    fn start(&self) -> Result<(), PluginError> {
        self.issue.start()
    }

    fn issue(&self, samples: &[QuerySample]) -> Result<(), PluginError> {
        self.issue.issue(samples)
    }

    fn flush(&self) {
        self.issue.flush();
    }

    fn stop(&self) -> Result<(), PluginError> {
        self.issue.stop()
    }
}

impl Shared {
    /// Counts the caller as busy until the guard is dropped.
    pub(crate) fn serve(&self) -> Busy<'_> {
        Busy { count: self.busy.fetch_add(1, Ordering::Relaxed) + 1, busy: &self.busy }
    }

    /// Writes the outputs of one sample to `room`, one after the other, as [`Host::complete`] wants them.
    pub(crate) fn write_outputs(&self, index: SampleIndex, mut room: &mut [u8]) {
        for output in 0..self.answers.output_count() {
            let (bytes, rest) = room.split_at_mut(self.answers.output_size_bytes(output));
            self.answers.write(index, output, bytes);
            room = rest;
        }
    }
}

/// One that is serving.
pub(crate) struct Busy<'a> {
    /// How many are serving, this one included, as of when it began.
    pub(crate) count: u32,
    busy: &'a AtomicU32,
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.busy.fetch_sub(1, Ordering::Relaxed);
    }
}
