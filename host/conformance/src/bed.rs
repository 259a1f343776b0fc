//! A plugin with a loaded model, and the phases that are made with it.

use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use proctor_bed::{Dispatch, FittedModel, row_for};
use proctor_config::Settings;
use proctor_datasets::DataRoot;
use proctor_plugin_host::{Backend, Instance, Issuer, LoadedPlugin, Model, PluginHostError, SampleBuffers};
use proctor_vocabulary::{QueryPart, QuerySample, SampleIndex, Scenario};

use crate::{
    answers::{Answer, Completions, Desk, Tray},
    compare::compare,
    samples::{Extreme, Samples},
    subject::{Nobody, Noticed, Subject, judge_work},
    verdict::{Verdict, ensure, failed, skipped},
};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) dispatch: Dispatch,
    /// Number of instances; at least 1.
    pub(crate) instances: usize,
    /// Maximum number of samples in a batch, if the plugin takes as many.
    pub(crate) batch_size: usize,
}

impl Shape {
    /// Returns one instance, and batches of up to `batch_size`.
    pub(crate) fn batches(batch_size: usize) -> Self {
        Self { dispatch: Dispatch::Batches, instances: 1, batch_size }
    }

    /// Creates a shape that takes whole queries.
    pub(crate) fn queries() -> Self {
        Self { dispatch: Dispatch::WholeQueries, instances: 1, batch_size: 1 }
    }
}

/// An opened plugin with a loaded model.
pub(crate) struct Bed {
    // In drop order. Only `without_model` takes the model.
    model: Option<Model>,
    pub(crate) backend: Backend,
    pub(crate) library: LoadedPlugin,
    pub(crate) fitted: FittedModel,
    pub(crate) settings: Settings,
    pub(crate) desk: Arc<Desk>,
    pub(crate) patience: Duration,
    /// Everything that the host has noticed of the plugin so far.
    noticed: Arc<Mutex<Noticed>>,
}

impl Subject {
    /// Returns the plugin with the benchmark's model loaded.
    pub(crate) fn bed(&self, shape: Shape) -> Verdict<Bed> {
        self.bed_in(shape, &self.settings)
    }

    /// Does the same as [`bed`](Self::bed), with other settings.
    pub(crate) fn bed_in(&self, shape: Shape, settings: &Settings) -> Verdict<Bed> {
        self.need_model()?;
        let library = self.load()?;
        need_dispatch(&library, shape.dispatch)?;
        let settings = shaped(settings, &library, shape);
        let backend = self.open(&library)?;
        let plugin = (library.manifest(), &backend);
        let root = DataRoot::new(settings.run.data_root.as_deref());
        let (counts, dispatch) = (settings.benchmark.qsl, shape.dispatch);
        let fitted = FittedModel::new(&settings, counts, &root, plugin, dispatch, Vec::new(), &Nobody)?;
        let model = backend.load_model(&fitted.demand)?;
        Ok(Bed {
            model: Some(model),
            backend,
            library,
            fitted,
            settings,
            desk: Arc::default(),
            patience: self.patience,
            noticed: Arc::default(),
        })
    }
}

/// Skips a case unless the plugin declares that it takes work so.
pub(crate) fn need_dispatch(library: &LoadedPlugin, dispatch: Dispatch) -> Verdict {
    match dispatch {
        Dispatch::Batches if !library.manifest().execute => {
            skipped("the plugin takes no batches: it does not declare PROCTOR_CAPABILITY_EXECUTE")
        }
        Dispatch::WholeQueries if !library.manifest().issue => {
            skipped("the plugin takes no whole queries: it does not declare PROCTOR_CAPABILITY_ISSUE")
        }
        _ => Ok(()),
    }
}

/// Returns the settings with a shape that the plugin allows.
fn shaped(settings: &Settings, library: &LoadedPlugin, shape: Shape) -> Settings {
    let mut settings = settings.clone();
    settings.run.instances = shape.instances;
    settings.run.batch_size = shape.batch_size.min(largest_batch(&settings, library).unwrap_or(usize::MAX));
    settings
}

/// Returns the largest batch that the plugin declares for the benchmark's model; `None` if there is no limit.
pub(crate) fn largest_batch(settings: &Settings, library: &LoadedPlugin) -> Option<usize> {
    let mut settings = settings.clone();
    settings.run.batch_size = 1;
    let row = row_for(&settings, library.manifest(), Dispatch::Batches).ok()?;
    (row.batch_size_max != 0).then(|| usize::try_from(row.batch_size_max).unwrap_or(usize::MAX))
}

impl Bed {
    pub(crate) fn model(&self) -> &Model {
        self.model.as_ref().expect("only `without_model` takes it")
    }

    /// Returns the plugin with its model unloaded.
    pub(crate) fn without_model(self) -> Self {
        Self { model: None, ..self }
    }

    /// Returns the maximum number of samples in a batch.
    pub(crate) fn batch_size(&self) -> usize {
        self.settings.run.batch_size
    }

    /// Returns the first samples of the benchmark, as many as there are up to `count`.
    pub(crate) fn samples(&self, count: usize) -> Verdict<Arc<Samples>> {
        let indices = self.indices(count);
        let pairs: Vec<_> = indices.iter().map(|index| (*index, *index)).collect();
        self.samples_at(&pairs)
    }

    /// Returns the samples of the benchmark under other indices: the first of a pair is the one that the benchmark has.
    pub(crate) fn samples_at(&self, pairs: &[(SampleIndex, SampleIndex)]) -> Verdict<Arc<Samples>> {
        let from: Vec<_> = pairs.iter().map(|(from, _)| *from).collect();
        let store = self.fitted.samples(&self.settings, &from)?;
        Ok(Arc::new(Samples::from_store(&store, pairs)))
    }

    /// Returns the first samples, some of them with extreme values.
    pub(crate) fn extreme_samples(
        &self,
        count: usize,
        extreme: &[SampleIndex],
        value: Extreme,
    ) -> Verdict<Arc<Samples>> {
        let indices = self.indices(count);
        let store = self.fitted.samples(&self.settings, &indices)?;
        Ok(Arc::new(Samples::with_extreme(&store, &indices, extreme, value)))
    }

    fn indices(&self, count: usize) -> Vec<SampleIndex> {
        let there = self.settings.benchmark.qsl.performance_sample_count;
        (0..there.min(count as u64)).map(SampleIndex).collect()
    }

    /// Returns all instances that were announced to the plugin; none if it takes whole queries.
    pub(crate) fn instances(&self) -> Verdict<Vec<Instance>> {
        (0..self.fitted.demand.instance_count).map(|index| self.instance(index)).collect()
    }

    /// Warms up with samples, outside of a phase: an instance, or the model if it takes whole queries.
    pub(crate) fn warm_up(&self, instance: Option<&mut Instance>, samples: &Arc<Samples>) -> Verdict {
        let indices = samples.indices();
        self.model().prepare(&indices, Arc::clone(samples) as _)?;
        match instance {
            Some(instance) => instance.warm_up(&indices[..self.batch_size().min(indices.len())])?,
            None => self.model().warm_up(&indices)?,
        }
        self.model().release()?;
        self.judge()
    }

    pub(crate) fn instance(&self, index: u32) -> Verdict<Instance> {
        Ok(self.model().create_instance(index)?)
    }

    /// Runs an action from the announcement of the samples to their release, between start and stop.
    pub(crate) fn phase<T>(&self, samples: &Arc<Samples>, work: impl FnOnce() -> Verdict<T>) -> Verdict<T> {
        self.phase_with(&samples.indices(), Arc::clone(samples) as _, work)
    }

    /// Does the same as [`phase`](Self::phase), with samples in any memory.
    pub(crate) fn phase_with<T>(
        &self,
        indices: &[SampleIndex],
        samples: Arc<dyn SampleBuffers>,
        work: impl FnOnce() -> Verdict<T>,
    ) -> Verdict<T> {
        self.model().prepare(indices, samples)?;
        self.timed_part(work).inspect_err(|_| self.model().abandon())
    }

    fn timed_part<T>(&self, work: impl FnOnce() -> Verdict<T>) -> Verdict<T> {
        self.model().start()?;
        self.backend.set_sink(Some(Arc::clone(&self.desk) as _));
        let done = work()?;
        self.model().end_issue();
        self.backend.set_sink(None);
        self.model().stop()?;
        self.model().release()?;
        let wrong = self.desk.take_wrong();
        ensure(wrong.is_empty(), || wrong.join("; "))?;
        self.judge()?;
        Ok(done)
    }

    /// Runs batches on a thread of the instance's own, and returns the answers to all samples in turn.
    pub(crate) fn execute(
        &self,
        instance: &mut Instance,
        batches: &[Vec<SampleIndex>],
    ) -> Verdict<Vec<Answer>> {
        on_own_thread(instance, |instance| {
            let answers = batches.iter().map(|batch| self.execute_here(instance, batch));
            Ok(answers.collect::<Verdict<Vec<_>>>()?.concat())
        })
    }

    /// Runs a batch on the calling thread, which is the instance's own in this phase.
    pub(crate) fn execute_here(
        &self,
        instance: &mut Instance,
        batch: &[SampleIndex],
    ) -> Verdict<Vec<Answer>> {
        let batch = self.desk.lend(batch);
        instance.execute(&batch)?;
        let tray = Tray::default();
        instance.complete(&batch, &tray);
        Ok(tray.empty(&self.desk))
    }

    /// Runs a batch in virtual time on the calling thread: its answers, and its service time in ns.
    pub(crate) fn execute_virtual(
        &self,
        instance: &mut Instance,
        batch: &[SampleIndex],
    ) -> Verdict<(Vec<Answer>, u64)> {
        let batch = self.desk.lend(batch);
        let time_ns = instance.execute_virtual(&batch, 1)?;
        let tray = Tray::default();
        instance.complete(&batch, &tray);
        Ok((tray.empty(&self.desk), time_ns))
    }

    /// Issues queries one after another, flushes, waits for all of them, and returns the answers to all samples in
    /// turn.
    pub(crate) fn issue_all(&self, queries: &[Vec<SampleIndex>]) -> Verdict<Vec<Answer>> {
        let issuers = self.model().issuers(1)?;
        let mut issued = Vec::new();
        for query in queries {
            issued.extend(self.issue(&issuers[0], query)?);
        }
        self.flush_and_wait()?;
        Ok(self.desk.answers(&issued))
    }

    /// Issues a query, repeatedly while the plugin is BUSY. The plugin need not complete refused samples.
    pub(crate) fn issue(&self, issuer: &Issuer, query: &[SampleIndex]) -> Verdict<Vec<QuerySample>> {
        let samples = self.desk.expect(query);
        let issued = self.issue_part(issuer, QueryPart::whole(&samples));
        issued.inspect_err(|_| self.desk.take_back(&samples))?;
        Ok(samples)
    }

    /// Issues a part of a query, and repeats it while the plugin is BUSY.
    pub(crate) fn issue_part(&self, issuer: &Issuer, part: QueryPart<'_>) -> Verdict {
        let begin = Instant::now();
        loop {
            match issuer.issue(part) {
                Ok(()) => return Ok(()),
                Err(error) if error.is_busy() && begin.elapsed() < self.patience => {
                    thread::sleep(Duration::from_micros(100));
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Flushes, as the host does at the end of a phase, and waits for everything that was issued.
    pub(crate) fn flush_and_wait(&self) -> Verdict {
        Ok(self.flush_and_await_all()??)
    }

    /// Does the same as [`flush_and_wait`](Self::flush_and_wait); the caller judges how the plugin ends the flush.
    pub(crate) fn flush_and_await_all(&self) -> Verdict<Result<(), PluginHostError>> {
        self.model().end_issue();
        let model = self.model().clone();
        // Not scoped: it may never come back.
        let flush = thread::spawn(move || model.flush());
        let missing = self.desk.wait(self.patience);
        if missing > 0 {
            return failed(format!(
                "{missing} samples that were issued were never completed, after {} s without any completion",
                self.patience.as_secs_f64()
            ));
        }
        match flush.join() {
            Ok(flushed) => Ok(flushed),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }

    /// Returns the order and tokens of the completions so far.
    pub(crate) fn completions(&self) -> Completions {
        self.desk.completions()
    }

    /// Checks that answers to the same samples agree up to rounding.
    pub(crate) fn same(&self, one: &[Answer], other: &[Answer], what: &str) -> Verdict {
        ensure(one.len() == other.len(), || {
            format!("{what}: {} answers instead of {}", other.len(), one.len())
        })?;
        for (position, (one, other)) in one.iter().zip(other).enumerate() {
            if let Err(problem) = compare(&self.fitted.demand.outputs, self.model().precision(), one, other) {
                return failed(format!("{what}: sample {position}: {problem}"));
            }
        }
        Ok(())
    }

    /// Fails with misbehaviour in the plugin's work that the host has noticed since the last time.
    pub(crate) fn judge(&self) -> Verdict {
        let noticed = self.backend.host_side().take_faults();
        let judged = judge_work(&noticed);
        self.noticed.lock().extend(noticed);
        judged
    }

    /// Ends everything in due order, and judges how the plugin does.
    pub(crate) fn end(self) -> Verdict {
        self.end_with_noticed().0
    }

    /// Does the same as [`end`](Self::end), with everything that the host has noticed of the plugin in its life.
    pub(crate) fn end_with_noticed(self) -> (Verdict, Noticed) {
        let host = self.backend.host_side();
        let noticed = Arc::clone(&self.noticed);
        drop(self);
        let last = host.take_faults();
        let ended = judge_work(&last);
        let mut noticed = std::mem::take(&mut *noticed.lock());
        noticed.extend(last);
        (ended, noticed)
    }
}

/// Works with an instance on a thread that begins and ends for it. In a phase an instance has one thread.
pub(crate) fn on_own_thread<T: Send>(
    instance: &mut Instance,
    work: impl FnOnce(&mut Instance) -> Verdict<T> + Send,
) -> Verdict<T> {
    let run = || {
        instance.begin_thread();
        let worked = work(&mut *instance);
        instance.end_thread();
        worked
    };
    thread::scope(|scope| match scope.spawn(run).join() {
        Ok(worked) => worked,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

/// Checks that no sample failed; names the first that did.
pub(crate) fn all_good(answers: &[Answer]) -> Verdict {
    match answers.iter().enumerate().find_map(|(position, answer)| Some((position, answer.as_ref().err()?))) {
        None => Ok(()),
        Some((position, status)) => failed(format!("sample {position} failed with status {}", status.0)),
    }
}

/// Splits samples into batches of these sizes in turn; the last has the rest.
pub(crate) fn batches_of(indices: &[SampleIndex], sizes: &[usize]) -> Vec<Vec<SampleIndex>> {
    let mut rest = indices;
    let mut batches = Vec::new();
    for size in sizes.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (batch, after) = rest.split_at(rest.len().min((*size).max(1)));
        batches.push(batch.to_vec());
        rest = after;
    }
    batches
}

pub(crate) fn in_scenario(settings: &Settings, scenario: Scenario) -> Settings {
    let mut settings = settings.clone();
    (settings.run.scenario, settings.test.scenario) = (scenario.into(), scenario);
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_take_turns_and_the_last_batch_is_what_is_left() {
        let indices: Vec<SampleIndex> = (0..8).map(SampleIndex).collect();
        let sizes: Vec<_> = batches_of(&indices, &[3, 1]).iter().map(Vec::len).collect();
        assert_eq!(sizes, [3, 1, 3, 1]);
        assert!(batches_of(&[], &[3]).is_empty());
    }
}
