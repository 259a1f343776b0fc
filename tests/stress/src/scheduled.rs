//! The scheduler, with instances that complete at once.

use std::sync::Arc;

use proctor_loadgen::RealClock;
use proctor_scheduler::{BatchError, Instance, SchedulerConfig, ThreadedScheduler};
use proctor_vocabulary::{CompletionSink, QuerySample, QuerySampleResponse, SampleStatus};

const INSTANCE_COUNT: usize = 4;

/// A scheduler whose instances race for small batches.
pub(crate) fn start(sink: Arc<dyn CompletionSink>, clock: Arc<RealClock>) -> ThreadedScheduler {
    let config = SchedulerConfig {
        policy: "size-or-timeout".into(),
        batch_size: 3,
        instances: INSTANCE_COUNT,
        scaling: None,
        batch_timeout_us: 100,
        queue_capacity: 1 << 16,
    };
    let instances = (0..INSTANCE_COUNT).map(|_| Box::new(Echo) as Box<dyn Instance>).collect();
    ThreadedScheduler::start("scheduler", &config, instances, sink, clock, None)
        .expect("the settings make a scheduler")
}

/// Answers each sample with its index.
struct Echo;

impl Instance for Echo {
    fn execute(&mut self, _: &[QuerySample]) -> Result<(), BatchError> {
        Ok(())
    }

    fn execute_virtual(&mut self, _: &[QuerySample], _: u32) -> Result<u64, BatchError> {
        Ok(0)
    }

    fn complete(&mut self, batch: &[QuerySample], sink: &dyn CompletionSink) {
        complete(batch, sink);
    }
}

/// Completes samples with their indices as the data.
pub(crate) fn complete(samples: &[QuerySample], sink: &dyn CompletionSink) {
    let data: Vec<_> = samples.iter().map(|sample| sample.index.0.to_le_bytes()).collect();
    let responses: Vec<_> = samples
        .iter()
        .zip(&data)
        .map(|(sample, data)| QuerySampleResponse {
            id: sample.id,
            status: SampleStatus::OK,
            data,
            token_count: 2,
        })
        .collect();
    sink.first_token(&responses);
    sink.complete(&responses);
}
