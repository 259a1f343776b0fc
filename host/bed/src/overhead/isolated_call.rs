//! Compares a call into a plugin's process with a bare round trip between the same processes over the same
//! kind of memory.

use std::{
    thread,
    time::{Duration, Instant},
};

use proctor_loadgen::TestSettings;
use proctor_plugin_host::Instance;
use proctor_vocabulary::{
    CompletionSink, QuerySample, QuerySampleResponse, ResponseId, SampleIndex, Scenario,
};
use proctor_words::HostError;

use super::null_run::NullRun;
use crate::{interrupt::Interrupt, plugin::dispatch::Dispatch};

/// Calls that are averaged to one figure: few enough to fit into one time slice in most cases.
const CALL_COUNT: u32 = 100;

/// Number of unmeasured calls before these.
const FIRST_COUNT: u32 = 10;

/// Time that both sides busy-wait, in us, if they must not sleep: longer than any of their waits.
const AWAKE_US: u64 = 2000;

/// Time for busy-waiting threads to fall asleep, so that they do not disturb the next measurement.
const SETTLING: Duration = Duration::from_millis(5);

/// Times of a call of the null plugin in its own process.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IsolatedCall {
    /// Time of a bare round trip, in us.
    pub round_trip_us: f64,
    /// Time that `execute` takes for a batch of one sample, through the tables of both processes, in us.
    pub execute_us: f64,
}

impl IsolatedCall {
    /// Measures pairs of both figures, one right after the other, where both sides wait awake or sleep at once.
    ///
    /// # Errors
    /// If the plugin could not be started.
    pub fn measure(awake: bool, pair_count: usize, interrupt: &Interrupt) -> Result<Vec<Self>, HostError> {
        let settings = TestSettings { scenario: Scenario::Offline, ..TestSettings::default() };
        let run = NullRun {
            dispatch: Dispatch::Batches,
            isolate: true,
            isolate_spin_us: Some(if awake { AWAKE_US } else { 0 }),
            ..NullRun::inline(settings)
        };
        run.on_bed(interrupt, |bed| {
            let mut instance = bed.model().create_instance(0)?;
            bed.with_started(&[SampleIndex(0)], || {
                (0..pair_count)
                    .map(|_| {
                        let round_trip_us = bed.plugin.round_trip_us(CALL_COUNT)?;
                        thread::sleep(SETTLING);
                        let execute_us = execute_us(&mut instance)?;
                        thread::sleep(SETTLING);
                        Ok(Self { round_trip_us, execute_us })
                    })
                    .collect()
            })
        })
    }
}

fn execute_us(instance: &mut Instance) -> Result<f64, HostError> {
    let mut execute = |number: u32| {
        let batch = [QuerySample { id: ResponseId(number.into()), index: SampleIndex(0) }];
        instance.execute(&batch)?;
        instance.complete(&batch, &Nowhere);
        Ok::<_, HostError>(())
    };
    // The first take until the threads are awake.
    (0..FIRST_COUNT).try_for_each(&mut execute)?;
    let begin = Instant::now();
    (0..CALL_COUNT).try_for_each(&mut execute)?;
    Ok(begin.elapsed().as_secs_f64() * 1e6 / f64::from(CALL_COUNT))
}

/// Receives completions, and keeps none.
struct Nowhere;

impl CompletionSink for Nowhere {
    fn complete(&self, _responses: &[QuerySampleResponse<'_>]) {}

    fn first_token(&self, _responses: &[QuerySampleResponse<'_>]) {}
}
