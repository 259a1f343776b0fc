//! The same test without a plugin: the load generator gets the null plugin's answer from inside its own call.
//!
//! It is in this crate to be compiled as the path through a plugin is.

use std::sync::Arc;

use proctor_loadgen::{
    BareLibrary, LoadGen, LoadGenOptions, RealClock, SystemUnderTest, TestOutcome, TestSettings,
};
use proctor_vocabulary::{CompletionSink, QuerySample, QuerySampleResponse, SampleStatus, TestMode};
use proctor_words::HostError;

use super::null_run::SAMPLE_COUNT;

/// Runs the performance run of `settings` in real time, without a plugin.
///
/// # Errors
/// If it could not begin.
pub fn direct_run(settings: &TestSettings) -> Result<TestOutcome, HostError> {
    let settings = TestSettings { mode: TestMode::PerformanceOnly, ..settings.clone() };
    let loadgen = LoadGen::new(settings, Arc::new(RealClock::new()), LoadGenOptions::default());
    Ok(loadgen.run(&Direct(loadgen.sink()), &BareLibrary::of(SAMPLE_COUNT))?)
}

/// Completes with the answer of the null plugin.
struct Direct(Arc<dyn CompletionSink>);

impl SystemUnderTest for Direct {
    fn name(&self) -> &str {
        "direct"
    }

    fn issue(&self, samples: &[QuerySample]) {
        for QuerySample { id, .. } in samples.iter().copied() {
            self.0.complete(&[QuerySampleResponse {
                id,
                status: SampleStatus::OK,
                data: &[0; 4],
                token_count: 0,
            }]);
        }
    }

    fn flush(&self) {}
}
