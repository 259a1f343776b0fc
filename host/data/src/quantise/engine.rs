//! The plugin onnx, which runs a model on the samples and gives the ranges of its tensors.

use std::{
    collections::BTreeMap,
    fs,
    num::NonZero,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Instant,
};

use parking_lot::Mutex;
use proctor_config::{Benchmark, Settings};
use proctor_datasets::SampleStore;
use proctor_display::CountLine;
use proctor_onnx_file::Batching;
use proctor_plugin_host::{
    Backend, HostServices, Instance, LoadedPlugin, Model, ModelDemand, PluginHostError, SampleBuffers,
    SearchPath,
};
use proctor_preprocess::{Pipeline, in_form, with_forms};
use proctor_quantise::{Plan, Ranges};
use proctor_vocabulary::{
    CompletionSink, ElementType, InputForm, Intent, QuerySample, QuerySampleResponse, ResponseId,
    SampleIndex, Scenario, TensorSpec,
};
use proctor_words::{HostError, PluginError, output};

use super::{option_of_engine, samples::CalibrationSamples};
use crate::prepare::Source;

/// Name of the plugin.
pub(super) const PLUGIN: &str = "onnx";

/// Memory for samples at a time.
const ROOM_BYTES: u64 = 1 << 28;

/// Ranges of a model's tensors on the samples.
pub(super) struct Observed {
    pub(super) ranges: Ranges,
    /// Name and version of the plugin.
    pub(super) engine: String,
}

/// The model that gives ranges, loaded.
struct Observer {
    model: Model,
    backend: Backend,
    pipeline: Box<dyn Pipeline>,
    /// Number of samples of a batch, as in the model's file.
    batch_size: usize,
    tensor_count: usize,
}

/// Runs the samples through the planned model, each on its own.
///
/// One thread computes a sample, and several samples are computed at a time: so the sums, and the bytes that follow
/// from them, do not depend on the number of processors.
///
/// # Errors
/// If the plugin or its library is not there, the model does not fit the benchmark, or a sample cannot be prepared.
pub(super) fn observe(
    plan: &Plan,
    path: &Path,
    benchmark: &Benchmark,
    settings: &Settings,
    samples: &CalibrationSamples,
) -> Result<Observed, HostError> {
    let library = LoadedPlugin::load(&SearchPath::standard(&settings.run.plugin_path).find(PLUGIN)?)?;
    let mut given = BTreeMap::from([("threads", "1"), ("session", "shared"), ("spin", "false")].map(owned));
    if let Some(of_user) = option_of_engine(settings, "library") {
        given.insert("library".to_owned(), of_user.clone());
    }
    let begin = Instant::now();
    let now_ns = move || u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX);
    let services = HostServices { now_ns: Arc::new(now_ns), cache_folder: None };
    let backend = library.open(&library.options(&given)?, services)?;
    let manifest = library.manifest();
    let engine = format!("{} {}", manifest.name, manifest.version);

    let folder = tempfile::tempdir().map_err(|source| output(&std::env::temp_dir(), source))?;
    let observer = Observer::load(plan, path, benchmark, backend, folder.path(), samples.indices.len())?;
    let ranges = observer.run(samples)?;
    Ok(Observed { ranges, engine })
}

fn owned((name, value): (&str, &str)) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

impl Observer {
    fn load(
        plan: &Plan,
        path: &Path,
        benchmark: &Benchmark,
        backend: Backend,
        folder: &Path,
        sample_count: usize,
    ) -> Result<Self, HostError> {
        let processors = thread::available_parallelism().map_or(1, NonZero::get);
        let demand = ModelDemand {
            model: benchmark.model.id.clone(),
            precision: Some("f32".to_owned()),
            device: Some("cpu".to_owned()),
            files: vec![("onnx".to_owned(), path.to_owned())],
            inputs: benchmark.inputs.clone(),
            outputs: benchmark.outputs.clone(),
            last_output_varies: benchmark.last_output_varies,
            inputs_vary: false,
            scenario: Scenario::Offline,
            batch_size_max: 1,
            instance_count: 1,
            intent: Intent::default(),
            placements: Vec::new(),
        };
        let forms = backend.input_forms(&demand)?;
        let inputs = formed(&demand.inputs, &forms)?;
        let batching = plan.file().fit_inputs(&inputs, 1).map_err(HostError::data)?.batching;
        let batch_size = if let Batching::Fixed(count) = batching { count } else { 1 };
        let (bytes, ranges) = plan.observing(batching).map_err(HostError::data)?;
        let file = folder.join("ranges.onnx");
        fs::write(&file, bytes).map_err(|source| output(&file, source))?;
        let tensor_count = plan.observed().count();
        let instance_count = processors.min(sample_count.div_ceil(batch_size)).max(1);
        let demand = ModelDemand {
            files: vec![("onnx".to_owned(), file)],
            inputs,
            outputs: vec![TensorSpec {
                name: ranges,
                element_type: ElementType::F32,
                shape: vec![2 * tensor_count],
            }],
            last_output_varies: false,
            batch_size_max: number(batch_size),
            instance_count: number(instance_count),
            ..demand
        };
        let pipeline = benchmark.preprocessing.build(&benchmark.inputs)?;
        let pipeline = with_forms(pipeline, &forms).map_err(HostError::data)?;
        Ok(Self { model: backend.load_model(&demand)?, backend, pipeline, batch_size, tensor_count })
    }

    fn run(&self, samples: &CalibrationSamples) -> Result<Ranges, HostError> {
        let demand = self.model.demand();
        let instances = (0..demand.instance_count).map(|index| self.model.create_instance(index));
        let mut instances = instances.collect::<Result<Vec<_>, _>>()?;
        let sample_bytes: usize = demand.inputs.iter().map(TensorSpec::size_bytes).sum();
        let room = usize::try_from(ROOM_BYTES).unwrap_or(usize::MAX) / sample_bytes.max(1);
        let chunk = room.max(1).next_multiple_of(self.batch_size);
        let mut line = CountLine::new("measuring ranges on", "samples");
        let total = samples.indices.len();
        let mut ranges = Ranges::new(self.tensor_count);
        for (number, indices) in samples.indices.chunks(chunk).enumerate() {
            let answers = self.phase(samples, indices, &mut instances)?;
            for answer in answers {
                ranges.add(&answer).map_err(HostError::data)?;
            }
            line.show(((number * chunk) + indices.len()) as u64, total as u64);
        }
        Ok(ranges)
    }

    /// Runs some samples, which lie in memory meanwhile; gives the ranges of each batch.
    fn phase(
        &self,
        samples: &CalibrationSamples,
        indices: &[u64],
        instances: &mut [Instance],
    ) -> Result<Vec<Vec<f32>>, HostError> {
        let demand = self.model.demand();
        let mut list: Vec<SampleIndex> = indices.iter().copied().map(SampleIndex).collect();
        let source =
            Source { dataset: &*samples.dataset, pipeline: &*self.pipeline, names: &samples.names_of_all };
        let limit = ROOM_BYTES.saturating_mul(4);
        let mut store = SampleStore::new(demand.inputs.clone(), samples.dataset.sample_count(), limit);
        let fill = |index, tensors: &mut [&mut [u8]]| source.fill(index, tensors);
        store.load(&list, fill).map_err(HostError::data)?;
        self.model.prepare(&list, Arc::new(Buffers(store)))?;
        // Where batches have a fixed size, the last one is filled up with the first samples.
        let missing = list.len().next_multiple_of(self.batch_size) - list.len();
        let first: Vec<SampleIndex> = list.iter().copied().cycle().take(missing).collect();
        list.extend(first);
        let batch = |(number, batch): (usize, &[SampleIndex])| {
            let id = |place: usize| ResponseId(1 + (number * self.batch_size + place) as u64);
            let sample = |(place, index): (usize, &SampleIndex)| QuerySample { id: id(place), index: *index };
            batch.iter().enumerate().map(sample).collect::<Vec<_>>()
        };
        let batches: Vec<Vec<QuerySample>> = list.chunks(self.batch_size).enumerate().map(batch).collect();
        self.model.start()?;
        let ran = execute(instances, &batches);
        self.model.flush()?;
        self.model.stop()?;
        self.model.release()?;
        let answers = ran?;
        let faults: Vec<String> =
            self.backend.host_side().take_faults().iter().map(ToString::to_string).collect();
        match faults.is_empty() {
            true => Ok(answers),
            false => Err(PluginError::of(PLUGIN, faults.join("; ")).into()),
        }
    }
}

/// Runs the batches on the instances, each on a thread of its own.
fn execute(instances: &mut [Instance], batches: &[Vec<QuerySample>]) -> Result<Vec<Vec<f32>>, HostError> {
    let next = AtomicUsize::new(0);
    let answers = Answers::default();
    thread::scope(|scope| {
        let (next, answers) = (&next, &answers);
        let start = |instance| scope.spawn(move || work(instance, batches, next, answers));
        let started: Vec<_> = instances.iter_mut().map(start).collect();
        // A panic of a plugin is an error of the call, so that a thread ends well.
        started.into_iter().try_for_each(|thread| thread.join().unwrap_or(Ok(())))
    })?;
    Ok(of_all(answers.0.into_inner(), batches.len())?)
}

/// Returns the ranges of the batches, if all of them were answered: ranges of fewer would be too narrow.
fn of_all(answers: Vec<Option<Vec<f32>>>, batch_count: usize) -> Result<Vec<Vec<f32>>, PluginError> {
    let (got, refused) = (answers.len(), || PluginError::of(PLUGIN, "a sample was refused".to_owned()));
    if got != batch_count {
        let text = format!("{got} of {batch_count} batches of samples were answered");
        return Err(PluginError::of(PLUGIN, text));
    }
    answers.into_iter().collect::<Option<Vec<_>>>().ok_or_else(refused)
}

/// Runs batches on one instance until none is left or one fails.
fn work(
    instance: &mut Instance,
    batches: &[Vec<QuerySample>],
    next: &AtomicUsize,
    answers: &Answers,
) -> Result<(), PluginHostError> {
    instance.begin_thread();
    let mut ran = Ok(());
    while ran.is_ok()
        && let Some(batch) = batches.get(next.fetch_add(1, Ordering::Relaxed))
    {
        ran = instance.execute(batch).map(|()| instance.complete(batch, answers));
    }
    instance.end_thread();
    ran
}

/// The ranges of each batch; `None` of one that failed.
#[derive(Default)]
struct Answers(Mutex<Vec<Option<Vec<f32>>>>);

impl CompletionSink for Answers {
    fn complete(&self, responses: &[QuerySampleResponse<'_>]) {
        // All samples of a batch have the ranges of all.
        let Some(response) = responses.first() else { return };
        let values = || {
            let (words, _) = response.data.as_chunks::<4>();
            words.iter().map(|word| f32::from_le_bytes(*word)).collect()
        };
        self.0.lock().push(response.status.is_ok().then(values));
    }

    fn first_token(&self, _responses: &[QuerySampleResponse<'_>]) {}
}

/// Samples in memory, as the plugin boundary wants them.
struct Buffers(SampleStore);

impl SampleBuffers for Buffers {
    fn tensor(&self, index: SampleIndex, input: usize) -> &[u8] {
        self.0.tensor(index, input).unwrap_or_default()
    }
}

fn formed(inputs: &[TensorSpec], forms: &[InputForm]) -> Result<Vec<TensorSpec>, HostError> {
    let formed = inputs.iter().zip(forms).map(|(input, form)| in_form(input, form));
    formed
        .collect::<Result<_, _>>()
        .map_err(|error| HostError::InputForm { plugin: PLUGIN.to_owned(), error })
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_fewer_samples_than_there_are_count_for_nothing() {
        let one = || Some(vec![0.0, 1.0]);
        assert_eq!(of_all(vec![one(), one()], 2).unwrap().len(), 2);
        let error = of_all(vec![one()], 2).unwrap_err().to_string();
        assert!(error.contains("1 of 2 batches of samples were answered"), "{error}");
        assert!(of_all(vec![one(), None], 2).is_err());
    }
}
