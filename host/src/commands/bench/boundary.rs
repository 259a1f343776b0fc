//! The plugin boundary: the null plugin behind it, beside the same answer from inside the load generator's own call.

use std::sync::Arc;

use proctor_loadgen::{
    LibraryError, LoadGen, LoadGenOptions, QuerySampleLibrary, RealClock, SystemUnderTest,
};
use proctor_run::{HostError, Interrupt};
use proctor_vocabulary::{
    CompletionSink, QuerySample, QuerySampleResponse, SampleIndex, SampleStatus, Scenario,
};

use super::experiment::{Lengths, closed_loop, inline, query_us};

/// Samples in the library, as many as with the null plugin.
const SAMPLE_COUNT: u64 = 1024;

/// Time that the boundary adds to a query of SingleStream, in ns: the plugin's table and the host's, the checks of
/// state and responses, and the note of the call under way.
///
/// # Errors
/// If one of the two tests could not be made.
pub(super) fn added_ns(lengths: &Lengths, interrupt: &Interrupt) -> Result<f64, HostError> {
    let settings = closed_loop(Scenario::SingleStream, lengths.duration_ms);
    let loadgen = LoadGen::new(settings.clone(), Arc::new(RealClock::new()), LoadGenOptions::default());
    let direct = loadgen.run(&Direct(loadgen.sink()), &Library)?;
    let behind = inline(settings).run(interrupt)?;
    // On a busy machine the difference may drown.
    Ok(((query_us(&behind) - query_us(&direct)) * 1e3).max(0.0))
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

struct Library;

impl QuerySampleLibrary for Library {
    fn name(&self) -> &str {
        "numbers"
    }

    fn total_sample_count(&self) -> u64 {
        SAMPLE_COUNT
    }

    fn performance_sample_count(&self) -> u64 {
        SAMPLE_COUNT
    }

    fn load(&self, _samples: &[SampleIndex]) -> Result<(), LibraryError> {
        Ok(())
    }

    fn unload(&self, _samples: &[SampleIndex]) -> Result<(), LibraryError> {
        Ok(())
    }
}
