//! The calls of a recording, made again one after another.

use std::{
    collections::BTreeMap,
    mem,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex};
use proctor_bed::{Interrupt, TestBed};
use proctor_plugin_host::{Begun, Call, Issuer, PluginHostError, hash_of};
use proctor_vocabulary::{
    CompletionSink, QueryPart, QuerySample, QuerySampleResponse, ResponseId, SampleIndex,
};
use proctor_words::{DataError, HostError, text::counted};

use super::{
    comparison::in_words,
    recorded::{Recorded, Step},
    replayed_instance::ReplayedInstance,
};

/// Pause before a query is issued again that the plugin was BUSY for.
const BUSY_PAUSE: Duration = Duration::from_micros(50);

/// The work of a replay, in words for an interrupt.
const MAKING_CALLS: &str = "making the calls of the recording";
const WAITING: &str = "waiting for samples that the plugin has not completed";

/// Makes the calls of a recording on a test bed.
pub(super) struct Player<'a, 'b> {
    bed: &'a TestBed<'b>,
    instances: BTreeMap<u32, ReplayedInstance>,
    issuer: Option<Issuer>,
    completed: Arc<Completed>,
    is_started: bool,
    interrupt: Interrupt,
    /// Maximum wait without any completion.
    limit: Duration,
    /// Reason why no further call is made.
    gave_up: Option<String>,
}

/// Counts the samples of queries that are completed: each once, and no others.
#[derive(Default)]
struct Completed {
    queries: Mutex<Queries>,
    came: Condvar,
}

/// The samples of the queries since the start.
#[derive(Default)]
struct Queries {
    completed_count: u64,
    /// Indices of the incomplete samples, by id.
    outstanding: BTreeMap<u64, u64>,
}

impl CompletionSink for Completed {
    fn complete(&self, responses: &[QuerySampleResponse<'_>]) {
        let mut queries = self.queries.lock();
        let first = responses.iter().filter(|response| queries.outstanding.remove(&response.id.0).is_some());
        let count = first.count() as u64;
        queries.completed_count += count;
        drop(queries);
        self.came.notify_all();
    }

    fn first_token(&self, _: &[QuerySampleResponse<'_>]) {}
}

impl<'a, 'b> Player<'a, 'b> {
    pub(super) fn new(bed: &'a TestBed<'b>, interrupt: &Interrupt) -> Self {
        interrupt.replaying(MAKING_CALLS);
        let completed = Arc::<Completed>::default();
        bed.plugin.backend.set_sink(Some(Arc::clone(&completed) as _));
        let limit = Duration::from_millis(bed.settings().run.watchdog_ms);
        Self {
            bed,
            instances: BTreeMap::new(),
            issuer: None,
            completed,
            is_started: false,
            interrupt: interrupt.clone(),
            limit,
            gave_up: None,
        }
    }

    /// Makes all calls, or returns why it gave up because the plugin did not finish its work. The recording of the
    /// replay holds the failure of a call; a failed call that begins something ends the replay.
    ///
    /// # Errors
    /// If the samples differ from the recording's, or the replay cannot continue for a reason other than the plugin.
    pub(super) fn play(mut self, recorded: &Recorded) -> Result<Option<String>, HostError> {
        for step in recorded.repeated() {
            match self.make(step) {
                Ok(()) if self.gave_up.is_some() => break,
                Ok(()) => {}
                Err(HostError::Plugin(PluginHostError::CallFailed { .. })) => break,
                Err(error) => return Err(error),
            }
        }
        if self.is_started && self.gave_up.is_none() {
            // The recording ends in the middle of a test.
            self.wait_while(|queries| !queries.outstanding.is_empty());
        }
        self.bed.plugin.backend.set_sink(None);
        if self.gave_up.is_some() {
            // The plugin may be at work with its samples for as long as the process lives.
            self.bed.library.leave();
            self.bed.model().abandon();
            mem::forget(mem::take(&mut self.instances));
        }
        Ok(self.gave_up)
    }

    fn make(&mut self, step: &Step) -> Result<(), HostError> {
        let (bed, begun) = (self.bed, &step.begun);
        let indices = || begun.samples.iter().map(|(_, index)| SampleIndex(*index)).collect::<Vec<_>>();
        let limit = self.limit_of(step);
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
            *self.completed.queries.lock() = Queries::default();
            self.is_started = true;
        } else if step.is(Call::Execute) || step.is(Call::Submit) {
            if let Some(instance) = instance
                && !instance.execute(batch(begun), limit)?
            {
                let (call, limit_ms) = (in_words(step), self.limit.as_millis());
                self.gave_up = Some(format!("{call} did not return within watchdog_ms = {limit_ms}"));
            }
        } else if step.is(Call::ExecuteVirtual) {
            let busy_instances = begun.busy.unwrap_or(1);
            instance.into_iter().for_each(|instance| instance.execute_virtual(&batch(begun), busy_instances));
        } else if step.is(Call::Issue) {
            if self.wait_for(step) {
                self.issue(begun)?;
            }
        } else if step.is(Call::Flush) {
            // What goes wrong in the calls that end something is in the recording of the replay.
            _ = bed.library.flush().start();
            _ = bed.library.flush().wait();
        } else if step.is(Call::Stop) {
            if self.wait_for(step) {
                self.is_started = false;
                _ = bed.model().stop();
            }
        } else if step.is(Call::ReleaseSamples) {
            _ = bed.library.release();
        } else if step.is(Call::DestroyInstance) {
            begun.instance.and_then(|number| self.instances.remove(&number));
        }
        // All others come by themselves.
        Ok(())
    }

    /// Prepares samples once they are known to match the recording, so that their layout in memory is the recorded one.
    fn prepare(&self, begun: &Begun) -> Result<(), HostError> {
        let (library, inputs) = (&self.bed.library, &begun.prepared);
        let indices: Vec<_> = inputs.iter().map(|input| SampleIndex(input.index)).collect();
        let failed = |error: proctor_loadgen::LibraryError| match error.downcast::<PluginHostError>() {
            Ok(error) => HostError::Plugin(*error),
            Err(error) => HostError::data(error),
        };
        let store = library.read(&indices).map_err(failed)?;
        for input in inputs {
            let index = SampleIndex(input.index);
            let tensors = (0..store.inputs().len()).filter_map(|number| store.tensor(index, number).ok());
            let hash = hash_of(tensors);
            if let Some(recorded) = input.hash.clone().filter(|recorded| *recorded != hash) {
                let dataset = self.bed.settings().benchmark.dataset.clone();
                return Err(DataError::OtherSample { index, dataset, hash, recorded }.into());
            }
        }
        drop(store);
        let listed: Vec<_> = begun.listed.iter().copied().map(SampleIndex).collect();
        library.prepare(if listed.is_empty() { &indices } else { &listed }).map_err(failed)
    }

    /// Returns the time that a batch may take. A run may have had batches longer than its limit, as long as others
    /// ended.
    fn limit_of(&self, step: &Step) -> Duration {
        let took_ns = step.returned.as_ref().map_or(0, |returned| returned.took_ns);
        self.limit.max(Duration::from_nanos(took_ns.saturating_mul(2)))
    }

    /// Waits until as many samples are completed as were before this call, or none is outstanding.
    fn wait_for(&mut self, step: &Step) -> bool {
        let goal = step.completed_before;
        self.wait_while(|queries| queries.completed_count < goal && !queries.outstanding.is_empty())
    }

    /// Waits, and returns whether that ended. As a run does, it gives up once no sample was completed for the limit.
    fn wait_while(&mut self, waits: impl Fn(&Queries) -> bool) -> bool {
        let completed = Arc::clone(&self.completed);
        if !waits(&completed.queries.lock()) {
            return true;
        }
        self.interrupt.replaying(WAITING);
        let mut queries = completed.queries.lock();
        let (mut seen_count, mut since) = (queries.completed_count, Instant::now());
        while waits(&queries) {
            let left = self.limit.saturating_sub(since.elapsed());
            if left.is_zero() {
                self.gave_up = Some(self.missing(&queries));
                return false;
            }
            completed.came.wait_for(&mut queries, left);
            if queries.completed_count != seen_count {
                (seen_count, since) = (queries.completed_count, Instant::now());
            }
        }
        drop(queries);
        self.interrupt.replaying(MAKING_CALLS);
        true
    }

    /// Names the samples that are outstanding.
    fn missing(&self, queries: &Queries) -> String {
        let first = queries.outstanding.first_key_value();
        let first = first.map_or_else(String::new, |(id, index)| format!("sample {index} (id {id:#x})"));
        let others = match queries.outstanding.len().saturating_sub(1) {
            0 => String::new(),
            count => format!(" and {} more", counted(count as u64, "sample")),
        };
        let limit_ms = self.limit.as_millis();
        format!("no answer to {first}{others} within watchdog_ms = {limit_ms}; no call was made after that")
    }

    fn issue(&mut self, begun: &Begun) -> Result<(), HostError> {
        if self.issuer.is_none() {
            self.issuer = self.bed.model().issuers(1)?.pop();
        }
        let Some(issuer) = &self.issuer else { return Ok(()) };
        let samples = batch(begun);
        let (offset, total) = begun.part.unwrap_or((0, samples.len() as u64));
        let part = QueryPart { offset, total, ..QueryPart::whole(&samples) };
        // The plugin may complete them before it returns.
        let asked = samples.iter().map(|sample| (sample.id.0, sample.index.0));
        self.completed.queries.lock().outstanding.extend(asked);
        let (mut seen_count, mut since) = (None, Instant::now());
        while let Err(error) = issuer.issue(part) {
            let mut queries = self.completed.queries.lock();
            if seen_count != Some(queries.completed_count) {
                (seen_count, since) = (Some(queries.completed_count), Instant::now());
            }
            let is_stuck = error.is_busy() && since.elapsed() > self.limit;
            if is_stuck {
                let limit_ms = self.limit.as_millis();
                self.gave_up = Some(format!(
                    "an issue stayed BUSY for watchdog_ms = {limit_ms} while no sample completed"
                ));
            }
            if is_stuck || !error.is_busy() {
                // It does not have them.
                for sample in &samples {
                    queries.outstanding.remove(&sample.id.0);
                }
                break;
            }
            drop(queries);
            thread::sleep(BUSY_PAUSE);
        }
        Ok(())
    }
}

fn batch(begun: &Begun) -> Vec<QuerySample> {
    let sample = |(id, index): &(u64, u64)| QuerySample { id: ResponseId(*id), index: SampleIndex(*index) };
    begun.samples.iter().map(sample).collect()
}
