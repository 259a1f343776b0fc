//! The query sample library: from the data set on disk to tensors in memory that the plugin may read.

mod content;
pub(crate) mod input_forms;
mod memory;
mod picture;
pub mod published;
pub(crate) mod verification;

use std::{collections::HashSet, mem, sync::Arc};

use parking_lot::{Mutex, MutexGuard};
use proctor_config::{QslCounts, Settings};
use proctor_datasets::{
    DataRoot, Dataset, DatasetRequest, OwnMemory, SampleMemory, SampleStore, StoreError, is_free,
    open_dataset_for,
};
use proctor_loadgen::{BackgroundFlush, LibraryError, Progress, QuerySampleLibrary};
use proctor_plugin_host::{Model, PluginHostError, SampleBuffers, expect_no_last_words};
use proctor_preprocess::Pipeline;
use proctor_results::{MachinePart, SamplesPart};
use proctor_vocabulary::{SampleIndex, TensorSpec};
use proctor_words::{DataError, HostError, enter, read_machine};

use self::{
    content::Content, input_forms::InputForms, memory::MemoryOfModel, picture::picture, published::Published,
};
use crate::fault::Fault;

/// Memory for samples if the system does not report how much it has.
const DEFAULT_LIMIT_BYTES: u64 = 1 << 30;

/// The data of a benchmark: opened, its sizes checked, nothing loaded.
pub struct Data {
    source: Source,
    inputs: Vec<TensorSpec>,
    /// True if the inputs of a sample may be smaller.
    inputs_vary: bool,
    counts: QslCounts,
    /// Share of the memory that loaded samples may take: half of it, since the model and the system need some, too.
    limit_bytes: u64,
}

/// Source of samples.
enum Source {
    /// The host reads and preprocesses the samples whenever it loads them.
    Here { dataset: Box<dyn Dataset>, pipeline: Box<dyn Pipeline> },
    /// Another program prepares the samples.
    Published(Box<Published>),
}

impl Source {
    fn name(&self) -> &str {
        match self {
            Self::Here { dataset, .. } => dataset.name(),
            Self::Published(published) => published.name(),
        }
    }

    fn sample_count(&self) -> u64 {
        match self {
            Self::Here { dataset, .. } => dataset.sample_count(),
            Self::Published(published) => published.sample_count(),
        }
    }
}

impl Data {
    /// Opens the data set, unless it is `published` and open already, and builds the preprocessing. An open data set
    /// may have fewer samples than the benchmark; the library is smaller then.
    ///
    /// # Errors
    /// If the data are missing or damaged, or the benchmark does not fit them.
    pub(crate) fn open(
        settings: &Settings,
        root: &DataRoot,
        machine: &MachinePart,
        published: Option<Published>,
    ) -> Result<Self, HostError> {
        let _span = enter!("open data");
        let benchmark = &settings.benchmark;
        let counts =
            published.as_ref().map_or(benchmark.qsl, |open| benchmark.qsl.within(open.sample_count()));
        let published = published.map_or_else(|| Published::open(settings, root), |open| Ok(Some(open)))?;
        let source = match published {
            Some(published) => Source::Published(Box::new(published)),
            None => {
                let request = DatasetRequest {
                    root,
                    model: &benchmark.model.id,
                    inputs: &benchmark.inputs,
                    sample_count: benchmark.qsl.total_sample_count,
                };
                Source::Here {
                    dataset: open_dataset_for(&benchmark.dataset, &request)?,
                    pipeline: benchmark.preprocessing.build(&benchmark.inputs)?,
                }
            }
        };
        let (declared, there) = (counts.total_sample_count, source.sample_count());
        if declared > there {
            let (file, dataset) = (benchmark.file.clone(), source.name().to_owned());
            return Err(DataError::TooFewSamples { file, declared, dataset, count: there }.into());
        }
        Ok(Self {
            source,
            inputs: benchmark.inputs.clone(),
            inputs_vary: benchmark.inputs_vary,
            counts,
            limit_bytes: machine.memory_bytes.map_or(DEFAULT_LIMIT_BYTES, |bytes| bytes / 2),
        })
    }

    /// Returns the samples that the program itself generates.
    pub(crate) fn made(
        dataset: Box<dyn Dataset>,
        pipeline: Box<dyn Pipeline>,
        inputs: Vec<TensorSpec>,
        counts: QslCounts,
    ) -> Self {
        let source = Source::Here { dataset, pipeline };
        Self { source, inputs, inputs_vary: false, counts, limit_bytes: DEFAULT_LIMIT_BYTES }
    }

    /// Returns the sizes of the library.
    pub(crate) fn counts(&self) -> QslCounts {
        self.counts
    }

    /// Returns the data with the inputs in the forms that the plugin has chosen.
    ///
    /// # Errors
    /// If a form cannot be had.
    pub(crate) fn in_forms(self, forms: &InputForms) -> Result<Self, HostError> {
        let source = match self.source {
            Source::Here { dataset, pipeline } => Source::Here { dataset, pipeline: forms.of(pipeline)? },
            Source::Published(published) => {
                Source::Published(Box::new(published.in_forms(&self.inputs, forms.forms())?))
            }
        };
        Ok(Self { source, inputs: forms.formed().to_vec(), ..self })
    }

    /// Reads and preprocesses samples into this memory.
    ///
    /// # Errors
    /// If one cannot be read, or there is no room for it.
    pub(super) fn load(
        &self,
        samples: &[SampleIndex],
        memory: Box<dyn SampleMemory>,
    ) -> Result<SampleStore, LibraryError> {
        let store = SampleStore::new(self.inputs.clone(), self.source.sample_count(), self.limit_bytes);
        let mut store = store.with_memory(memory);
        let loaded = match &self.source {
            Source::Here { dataset, pipeline } => {
                let shapes = |index| Ok::<_, LibraryError>(pipeline.shapes(&dataset.read(index)?)?);
                let fill = |index, tensors: &mut [&mut [u8]]| {
                    let sample = dataset.read(index)?;
                    pipeline.run(&sample, tensors)?;
                    Ok::<_, LibraryError>(())
                };
                if self.inputs_vary {
                    store.load_varying(samples, shapes, fill)
                } else {
                    store.load(samples, fill)
                }
            }
            Source::Published(published) => published.load(samples, self.inputs_vary, &mut store),
        };
        match loaded {
            Ok(()) => Ok(store),
            // It is the plugin's own.
            Err(StoreError::Memory(error)) if error.is::<PluginHostError>() => Err(error),
            Err(error) => Err(error.into()),
        }
    }
}

/// Reads and preprocesses samples of the benchmark: one tensor for each of its inputs and each sample.
///
/// # Errors
/// If the data are missing or damaged, or there is no room for them.
pub fn read_samples(settings: &Settings, samples: &[SampleIndex]) -> Result<SampleStore, HostError> {
    let root = DataRoot::new(settings.run.data_root.as_deref());
    let data = Data::open(settings, &root, &read_machine(), None)?;
    data.load(samples, Box::new(OwnMemory)).map_err(HostError::data)
}

/// The library that the load generator loads and unloads. It hands the samples on to the plugin.
///
/// A load reads and preprocesses the samples, and has the model prepare them and start. An unload is the reverse, but
/// only announces it: the plugin may hang or crash while it does this, so the measurements are written first.
/// [`end_phase`](Self::end_phase) or the next load carries it out. Nothing of it happens while samples are outstanding:
/// the plugin may be reading the memory, and a plugin that hangs gets no further calls.
pub struct SampleLibrary {
    data: Data,
    model: Model,
    flush: BackgroundFlush<PluginHostError>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    loaded: Option<Arc<Buffers>>,
    progress: Option<Progress>,
    abandoned: bool,
    /// True if the plugin has yet to end a phase that is over.
    is_due: bool,
    /// Errors of the plugin in the ends of phases.
    faults: Vec<Fault>,
    /// The samples that tests have loaded.
    content: Content,
}

/// Samples in memory, as the plugin boundary wants them.
struct Buffers {
    store: SampleStore,
    /// Each sample with its checksum, to notice a plugin that writes to read-only data.
    sums: Vec<(SampleIndex, u64)>,
    /// Sums of the copies, in their order.
    copy_sums: Vec<u64>,
}

impl Buffers {
    fn new(store: SampleStore, samples: &[SampleIndex]) -> Self {
        let sums = samples.iter().map(|index| (*index, sum(&store, *index))).collect();
        let copy_sums = (0..store.copies().len()).map(|position| sum_of_copy(&store, position)).collect();
        Self { store, sums, copy_sums }
    }

    /// Returns the fault of samples that have changed since they were loaded.
    fn overwritten(&self) -> Option<Fault> {
        let changed = self.sums.iter().filter(|(index, before)| sum(&self.store, *index) != *before);
        let copies = self.store.copies().iter().zip(&self.copy_sums).enumerate();
        let copies = copies.filter(|(position, (_, before))| sum_of_copy(&self.store, *position) != **before);
        let changed = changed.map(|(index, _)| *index).chain(copies.map(|(_, (index, _))| *index));
        let mut seen = HashSet::new();
        let mut changed = changed.filter(|index| seen.insert(*index));
        changed.next().map(|first| Fault::Overwritten { first, count: 1 + changed.count() as u64 })
    }
}

fn sum(store: &SampleStore, index: SampleIndex) -> u64 {
    sum_of((0..store.inputs().len()).filter_map(|input| store.tensor(index, input).ok()))
}

fn sum_of_copy(store: &SampleStore, position: usize) -> u64 {
    sum_of((0..store.inputs().len()).filter_map(|input| store.tensor_of_copy(position, input)))
}

/// Returns a sum of the bytes of a sample, eight at a time, that depends on their order and the sizes of the tensors.
/// Reads as fast as memory does, as data sets may be large.
fn sum_of<'a>(tensors: impl Iterator<Item = &'a [u8]>) -> u64 {
    let add = |sum: u64, word: u64| (sum.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    tensors.fold(1, |sum, tensor| {
        // Zeros in front would count for nothing without a number before them.
        let sum = add(sum, tensor.len() as u64);
        let (words, rest) = tensor.as_chunks::<8>();
        let sum = words.iter().fold(sum, |sum, word| add(sum, u64::from_le_bytes(*word)));
        rest.iter().fold(sum, |sum, byte| add(sum, u64::from(*byte)))
    })
}

impl SampleBuffers for Buffers {
    fn tensor(&self, index: SampleIndex, input: usize) -> &[u8] {
        // Nothing is issued that was not loaded. If the boundary asks for it anyway, it sees the wrong size.
        self.store.tensor(index, input).unwrap_or_default()
    }

    fn shape(&self, index: SampleIndex, input: usize) -> Option<&[usize]> {
        self.store.shape(index, input).ok()
    }

    fn copies(&self) -> &[SampleIndex] {
        self.store.copies()
    }

    fn copy(&self, position: usize, input: usize) -> &[u8] {
        self.store.tensor_of_copy(position, input).unwrap_or_default()
    }

    fn ranges(&self) -> Vec<&[u8]> {
        self.store.buffers().collect()
    }
}

impl SampleLibrary {
    pub(crate) fn new(data: Data, model: Model) -> Self {
        let flushed = model.clone();
        let flush = BackgroundFlush::new(move || flushed.flush());
        Self { data, flush, model, state: Mutex::default() }
    }

    /// Returns the sizes of the library. A published data set may have fewer samples than the benchmark.
    pub fn counts(&self) -> QslCounts {
        self.data.counts
    }

    /// Returns the data set of the samples, if it is a published one.
    pub fn published(&self) -> Option<&Published> {
        match &self.data.source {
            Source::Here { .. } => None,
            Source::Published(published) => Some(published),
        }
    }

    /// Returns the flush of the model. The end of the phase waits for it.
    pub fn flush(&self) -> &BackgroundFlush<PluginHostError> {
        &self.flush
    }

    /// Returns the number of samples that tests have loaded, with a hash of their inputs as the plugin had them; `None`
    /// if there are none.
    pub fn content(&self) -> Option<SamplesPart> {
        self.state().content.part()
    }

    /// Returns the picture of a sample for people, if the data set has small grey images that may be passed on: a text
    /// for each row, a hexadecimal digit for each pixel.
    pub fn picture(&self, index: SampleIndex) -> Option<Vec<String>> {
        let Source::Here { dataset, .. } = &self.data.source else { return None };
        let sample = is_free(dataset.name()).then(|| dataset.read(index).ok())??;
        picture(&sample)
    }

    /// Watches the samples of a test that begins now.
    pub(crate) fn watch(&self, progress: Progress) {
        self.state().progress = Some(progress);
    }

    /// Returns whether the plugin was left alone with samples that it did not complete.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.state().abandoned
    }

    /// Leaves the samples to the plugin, which may read them for as long as the process lives.
    pub fn leave(&self) {
        mem::forget(self.state().loaded.take());
    }

    /// Announces that the plugin's process has ended and nothing reads the samples any longer: the phase is over.
    pub(crate) fn take_back(&self) {
        let mut state = self.state();
        state.is_due |= mem::take(&mut state.abandoned);
    }

    /// Ends the plugin's part of a finished phase, if it has not ended yet: waits for its flush, stops it and
    /// releases the samples.
    pub(crate) fn end_phase(&self) {
        // Those that there are have been set.
        expect_no_last_words();
        if !mem::take(&mut self.state().is_due) {
            return;
        }
        let _span = enter!("stop model");
        let ended = [self.flush.wait(), self.model.stop(), self.release()];
        let failed = ended.into_iter().filter_map(Result::err);
        self.state().faults.extend(failed.map(|error| Fault::End(Arc::new(error))));
    }

    /// Returns the errors of the plugin in the ends of phases since the last time that this was asked.
    pub(crate) fn take_faults(&self) -> Vec<Fault> {
        mem::take(&mut self.state().faults)
    }

    /// Prepares samples, runs an action with them, and releases them: outside of a test, to warm up.
    ///
    /// # Errors
    /// If the samples cannot be loaded or prepared.
    pub(crate) fn with_prepared(
        &self,
        samples: &[SampleIndex],
        act: impl FnOnce(),
    ) -> Result<(), LibraryError> {
        self.prepare(samples)?;
        act();
        Ok(self.release()?)
    }

    /// Reads and preprocesses samples for the host's own use.
    ///
    /// # Errors
    /// If one cannot be read, or there is no room for it.
    pub fn read(&self, samples: &[SampleIndex]) -> Result<SampleStore, LibraryError> {
        self.data.load(samples, Box::new(OwnMemory))
    }

    /// Loads samples and lets the model prepare them.
    ///
    /// # Errors
    /// If they cannot be loaded or prepared.
    pub fn prepare(&self, samples: &[SampleIndex]) -> Result<(), LibraryError> {
        let _span = enter!("prepare samples", samples = samples.len());
        // MultiStream repeats the first samples at the end of the list. Pass each to the model once; it finds
        // the copies in batches.
        let mut seen = HashSet::new();
        let distinct: Vec<_> = samples.iter().copied().filter(|index| seen.insert(*index)).collect();
        let buffers = Arc::new(Buffers::new(self.data.load(samples, self.memory())?, &distinct));
        self.state().loaded = Some(Arc::clone(&buffers));
        self.model.prepare(&distinct, buffers)?;
        Ok(())
    }

    /// Releases the samples in the model.
    ///
    /// # Errors
    /// If the library is in the wrong state.
    pub fn release(&self) -> Result<(), PluginHostError> {
        // Looked at while the plugin has them: they may lie in its memory.
        let loaded = self.state().loaded.take();
        let overwritten = loaded.as_ref().and_then(|buffers| buffers.overwritten());
        self.state().faults.extend(overwritten);
        self.model.release()
    }

    fn memory(&self) -> Box<dyn SampleMemory> {
        Box::new(MemoryOfModel(self.model.clone()))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl Drop for SampleLibrary {
    /// Releases the samples of a phase that did not begin or end properly, so that nothing holds the model.
    fn drop(&mut self) {
        if self.state().loaded.is_some() {
            // If the model is not in that state, there is nothing to do.
            let _ = (self.model.stop(), self.model.release());
        }
    }
}

impl QuerySampleLibrary for SampleLibrary {
    fn name(&self) -> &str {
        self.data.source.name()
    }

    fn total_sample_count(&self) -> u64 {
        self.data.counts.total_sample_count
    }

    fn performance_sample_count(&self) -> u64 {
        self.data.counts.performance_sample_count
    }

    fn load(&self, samples: &[SampleIndex]) -> Result<(), LibraryError> {
        self.end_phase();
        self.prepare(samples)?;
        let mut state = self.state();
        if let Some(loaded) = state.loaded.clone() {
            state.content.add(&loaded.sums);
        }
        drop(state);
        self.model.start()?;
        Ok(())
    }

    fn unload(&self, _samples: &[SampleIndex]) -> Result<(), LibraryError> {
        let mut state = self.state();
        let current = state.progress.as_ref().and_then(Progress::current);
        if current.is_some_and(|phase| phase.completed_count < phase.issued_count) {
            state.abandoned = true;
            return Ok(());
        }
        state.is_due = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_and_the_ends_of_tensors_count_in_the_sum_of_a_sample() {
        let sum = |tensors: &[&[u8]]| sum_of(tensors.iter().copied());
        let samples: [&[&[u8]]; 7] =
            [&[&[]], &[&[0; 8]], &[&[0; 16]], &[&[0; 8], &[0; 8]], &[&[7]], &[&[0, 7]], &[&[7, 0]]];
        for (place, one) in samples.iter().enumerate() {
            for other in &samples[..place] {
                assert_ne!(sum(one), sum(other), "{one:?} and {other:?}");
            }
        }
        assert_eq!(sum(&[&[1, 2], &[3]]), sum(&[&[1, 2], &[3]]));
    }
}
