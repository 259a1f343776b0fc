//! The calls of a recording, made again one after the other.

use std::{
    collections::BTreeMap,
    sync::{Arc, Condvar, Mutex},
    thread,
    time::{Duration, Instant},
};

use proctor_plugin_host::{Begun, Call, Issuer, PluginHostError, hash_of};
use proctor_vocabulary::{
    CompletionSink, QueryPart, QuerySample, QuerySampleResponse, ResponseId, SampleIndex,
};

use super::{
    recorded::{Recorded, Step},
    replayed_instance::ReplayedInstance,
};
use crate::{bed::test_bed::TestBed, error::HostError, threads::lock};

/// Pause before a query is issued again that the plugin was BUSY for.
const BUSY_PAUSE: Duration = Duration::from_micros(50);

/// Makes the calls of a recording on a test bed.
pub(super) struct Player<'a, 'b> {
    bed: &'a TestBed<'b>,
    instances: BTreeMap<u32, ReplayedInstance>,
    issuer: Option<Issuer>,
    completed: Arc<Completed>,
    is_started: bool,
    /// Longest wait for completions.
    limit: Duration,
}

/// Counts the samples that are completed.
#[derive(Default)]
struct Completed {
    count: Mutex<u64>,
    came: Condvar,
}

impl CompletionSink for Completed {
    fn complete(&self, responses: &[QuerySampleResponse<'_>]) {
        *lock(&self.count) += responses.len() as u64;
        self.came.notify_all();
    }

    fn first_token(&self, _: &[QuerySampleResponse<'_>]) {}
}

impl<'a, 'b> Player<'a, 'b> {
    pub(super) fn new(bed: &'a TestBed<'b>) -> Self {
        let completed = Arc::<Completed>::default();
        bed.plugin.backend.set_sink(Some(Arc::clone(&completed) as _));
        let limit = Duration::from_millis(bed.settings().run.watchdog_ms);
        Self { bed, instances: BTreeMap::new(), issuer: None, completed, is_started: false, limit }
    }

    /// Makes all calls. The failure of one is in the recording of the replay; a call that begins something ends it.
    ///
    /// # Errors
    /// If the samples are not those of the recording, or nothing can go on for another reason than the plugin.
    pub(super) fn play(mut self, recorded: &Recorded) -> Result<(), HostError> {
        for step in recorded.repeated() {
            match self.make(step) {
                Ok(()) => {}
                Err(HostError::Plugin(PluginHostError::CallFailed { .. })) => break,
                Err(error) => return Err(error),
            }
        }
        self.bed.plugin.backend.set_sink(None);
        Ok(())
    }

    fn make(&mut self, step: &Step) -> Result<(), HostError> {
        let (bed, begun) = (self.bed, &step.begun);
        let indices = || begun.samples.iter().map(|(_, index)| SampleIndex(*index)).collect::<Vec<_>>();
        let instance = begun.instance.and_then(|number| self.instances.get_mut(&number));
        if step.is(Call::CreateInstance) {
            let Some(number) = begun.instance else { return Ok(()) };
            let instance = bed.model().create_instance(number)?;
            self.instances.insert(number, ReplayedInstance::new(instance, Arc::clone(&self.completed) as _));
        } else if step.is(Call::PrepareSamples) {
            self.prepare(begun)?;
        } else if step.is(Call::WarmUp) || (step.is(Call::Execute) && !self.is_started) {
            match instance {
                Some(instance) => instance.warm_up(&indices()),
                None => _ = bed.model().warm_up(&indices()),
            }
        } else if step.is(Call::Start) {
            bed.model().start()?;
            *lock(&self.completed.count) = 0;
            self.is_started = true;
        } else if step.is(Call::Execute) || step.is(Call::Submit) {
            instance.map_or(Ok(()), |instance| instance.execute(batch(begun)))?;
        } else if step.is(Call::ExecuteVirtual) {
            let busy_instances = begun.busy.unwrap_or(1);
            instance.into_iter().for_each(|instance| instance.execute_virtual(&batch(begun), busy_instances));
        } else if step.is(Call::Issue) {
            self.wait_for(step);
            self.issue(begun)?;
        } else if step.is(Call::Flush) {
            // What goes wrong in the calls that end something is in the recording of the replay.
            _ = bed.library.flush().start();
            _ = bed.library.flush().wait();
        } else if step.is(Call::Stop) {
            self.wait_for(step);
            self.is_started = false;
            _ = bed.model().stop();
        } else if step.is(Call::ReleaseSamples) {
            _ = bed.library.release();
        } else if step.is(Call::DestroyInstance) {
            begun.instance.and_then(|number| self.instances.remove(&number));
        }
        // All others come by themselves.
        Ok(())
    }

    /// Prepares samples, once they are seen to be those of the recording, so that they lie in memory as they did.
    fn prepare(&self, begun: &Begun) -> Result<(), HostError> {
        let (library, inputs) = (&self.bed.library, &begun.prepared);
        let indices: Vec<_> = inputs.iter().map(|input| SampleIndex(input.index)).collect();
        let failed = |error: proctor_loadgen::LibraryError| match error.downcast::<PluginHostError>() {
            Ok(error) => HostError::Plugin(*error),
            Err(error) => HostError::Data(error.to_string()),
        };
        let store = library.read(&indices).map_err(failed)?;
        for input in inputs {
            let index = SampleIndex(input.index);
            let tensors = (0..store.inputs().len()).filter_map(|number| store.tensor(index, number).ok());
            let hash = hash_of(tensors);
            if input.hash.as_ref().is_some_and(|recorded| *recorded != hash) {
                let recorded = input.hash.as_deref().unwrap_or("-");
                return Err(HostError::Data(format!(
                    "sample {index} of data set {} has the hash {hash}, and {recorded} in the recording: replay it \
                     with the data that it was made with (--data-root)",
                    self.bed.settings().benchmark.dataset
                )));
            }
        }
        drop(store);
        let listed: Vec<_> = begun.listed.iter().copied().map(SampleIndex).collect();
        library.prepare(if listed.is_empty() { &indices } else { &listed }).map_err(failed)
    }

    /// Waits until as many samples are completed as were before this call; not for ever, as one that does not come is a
    /// difference.
    fn wait_for(&self, step: &Step) {
        let count = lock(&self.completed.count);
        let waits = |count: &mut u64| *count < step.completed_before;
        drop(self.completed.came.wait_timeout_while(count, self.limit, waits));
    }

    fn issue(&mut self, begun: &Begun) -> Result<(), HostError> {
        if self.issuer.is_none() {
            self.issuer = self.bed.model().issuers(1)?.pop();
        }
        let Some(issuer) = &self.issuer else { return Ok(()) };
        let samples = batch(begun);
        let (offset, total) = begun.part.unwrap_or((0, samples.len() as u64));
        let part = QueryPart { offset, total, ..QueryPart::whole(&samples) };
        let begin = Instant::now();
        while let Err(error) = issuer.issue(part) {
            if !error.is_busy() || begin.elapsed() > self.limit {
                break;
            }
            thread::sleep(BUSY_PAUSE);
        }
        Ok(())
    }
}

fn batch(begun: &Begun) -> Vec<QuerySample> {
    let sample = |(id, index): &(u64, u64)| QuerySample { id: ResponseId(*id), index: SampleIndex(*index) };
    begun.samples.iter().map(sample).collect()
}
