//! Second stop: a loaded model and its life cycle.

use std::sync::Arc;

use proctor_plugin_api::{Model, Placement, PluginError, PluginMemory, PreparedSample, Query};

use crate::{
    instance::MockInstance,
    issue::{IssuePath, IssueSettings},
    shared::Shared,
};

/// A loaded model. The host makes instances of it, or issues queries to it.
#[derive(Debug)]
pub struct MockModel {
    shared: Arc<Shared>,
    pub(crate) issue: IssuePath,
}

impl MockModel {
    pub(crate) fn new(shared: Shared, issue: IssueSettings) -> Self {
        let shared = Arc::new(shared);
        Self { issue: IssuePath::new(Arc::clone(&shared), issue), shared }
    }
}

impl Model for MockModel {
    type Instance = MockInstance;

    /// Returns everything that `execute` will need is made here.
    fn create_instance(&self, placement: &Placement) -> Result<MockInstance, PluginError> {
        self.shared.count_creator();
        MockInstance::new(Arc::clone(&self.shared), placement.instance_index)
    }

    /// Prepares the samples of the next phase, before it starts: the place to copy them to a device, and to find faults
    /// that would otherwise come up in the timed part.
    fn prepare_samples(&self, samples: &[PreparedSample]) -> Result<(), PluginError> {
        for (tensor, input) in samples.iter().flat_map(|sample| sample.inputs.iter().zip(&self.shared.inputs))
        {
            // If shapes vary, the request has the largest ones.
            let fits = match self.shared.inputs_vary {
                true => tensor.size_bytes() <= input.size_bytes(),
                false => tensor.size_bytes() == input.size_bytes(),
            };
            if !fits {
                let text = format!("a sample has {} bytes for input {input}", tensor.size_bytes());
                return Err(PluginError::invalid_argument(text));
            }
        }
        if let Some(memory) = &self.shared.memory {
            let found = memory.count(samples);
            self.shared.host.metric("own_sample_bytes", "B", found.own_bytes as f64);
            self.shared.host.metric("copied_sample_bytes", "B", found.copied_bytes as f64);
        }
        samples.iter().try_for_each(|sample| self.shared.answers.check(sample.index))
    }

    /// Returns the energy at a power that does not change. A real plugin would read a counter of its driver.
    fn energy_joules(&self) -> Result<Option<f64>, PluginError> {
        let Shared { power_w, host, .. } = &*self.shared;
        Ok((*power_w > 0.0).then(|| power_w * host.now_ns() as f64 / 1e9))
    }

    /// Returns where samples go, if not into memory of the host. A real plugin would have them where its device reads.
    fn memory(&self) -> Option<&dyn PluginMemory> {
        self.shared.memory.as_ref().map(|memory| memory as &dyn PluginMemory)
    }

    /// Returns the text of `host describe mock --plan BENCHMARK`. A real plugin explains its choices here.
    fn explain(&self) -> Option<String> {
        let Shared { service, answers, .. } = &*self.shared;
        Some(format!("service   {service}\nanswers   {} outputs a sample\n", answers.output_count()))
    }

    /// Does the work of a query without its duration and its completion.
    fn warm_up(&self, query: Query<'_>) -> Result<(), PluginError> {
        let mut room = vec![0; self.shared.answers.size_bytes()];
        query.iter().for_each(|sample| _ = self.shared.write_outputs(sample.index, &mut room));
        Ok(())
    }

    fn start(&self) -> Result<(), PluginError> {
        self.issue.start()
    }

    fn issue(&self, query: Query<'_>) -> Result<(), PluginError> {
        self.issue.issue(query)
    }

    fn flush(&self) {
        self.issue.flush();
    }

    fn stop(&self) -> Result<(), PluginError> {
        self.issue.stop()
    }
}
