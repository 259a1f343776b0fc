//! The plugin in the hands of the real plugin host, with samples and an instance or several.

#![allow(dead_code, reason = "each test file needs a part of it")]

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    thread,
    time::Instant,
};

use proctor_datasets::SampleStore;
use proctor_plugin_api::{
    abi::ProctorStamps,
    vocabulary::{
        CompletionSink, ElementType, QuerySample, QuerySampleResponse, ResponseId, SampleIndex, Scenario,
        TensorSpec,
    },
};
use proctor_plugin_host::{
    Backend, HostServices, Instance, Model, ModelDemand, PluginLibrary, PluginLocation, SampleBuffers,
};
// The plugin is linked in by being named.
use tract_sut as _;

/// Room for the samples of a test.
const LIMIT_BYTES: u64 = 1 << 28;

/// Answers by sample: the outputs one after the other.
pub type Answers = BTreeMap<u64, Vec<u8>>;

/// A loaded model with its backend.
pub struct Bed {
    pub backend: Backend,
    pub model: Model,
}

/// What one instance had to say of one batch.
#[derive(Debug, Clone)]
pub struct Ran {
    pub answers: Answers,
    pub stamps: ProctorStamps,
}

/// A tensor of a sample.
pub fn spec(name: &str, element_type: ElementType, shape: &[usize]) -> TensorSpec {
    TensorSpec { name: name.into(), element_type, shape: shape.to_vec() }
}

/// A file below the repository's data.
pub fn data(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../datasets").join(path)
}

/// A demand for one ONNX file, in f32, by one instance.
pub fn demand(
    path: &Path,
    inputs: &[TensorSpec],
    outputs: &[TensorSpec],
    batch_size_max: u32,
) -> ModelDemand {
    ModelDemand {
        model: "a model".into(),
        precision: Some("f32".into()),
        device: None,
        files: vec![("onnx".into(), path.to_owned())],
        inputs: inputs.to_vec(),
        outputs: outputs.to_vec(),
        last_output_varies: false,
        scenario: Scenario::Offline,
        batch_size_max,
        instance_count: 1,
    }
}

/// Opens the plugin with these options and loads a model; the error is what a user would read.
pub fn load(demand: &ModelDemand, options: &[(&str, &str)]) -> Result<Bed, String> {
    let library = PluginLibrary::load(&PluginLocation::Linked("tract")).map_err(|error| error.to_string())?;
    let given = options.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    let options = library.options(&given).map_err(|error| error.to_string())?;
    let begin = Instant::now();
    let now_ns = move || u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX) + 1;
    let services = HostServices { now_ns: Arc::new(now_ns), cache_folder: None };
    let backend = library.open(&options, services).map_err(|error| error.to_string())?;
    let model = backend.load_model(demand).map_err(|error| error.to_string())?;
    Ok(Bed { backend, model })
}

/// The message with which a demand is refused.
pub fn refusal(demand: &ModelDemand, options: &[(&str, &str)]) -> String {
    load(demand, options).err().expect("the demand is refused")
}

impl Bed {
    /// Runs all samples in batches of these sizes, in turn over and over, on each of so many instances at once, and
    /// returns what each of them answered. Each sample is its input tensors' bytes.
    pub fn run(&self, demand: &ModelDemand, samples: &[Vec<Vec<u8>>], sizes: &[usize]) -> Vec<Vec<Ran>> {
        let instances: Vec<Instance> = (0..demand.instance_count)
            .map(|index| self.model.create_instance(index).expect("an instance"))
            .collect();
        let list: Vec<SampleIndex> = (0..samples.len() as u64).map(SampleIndex).collect();
        self.model.prepare(&list, Arc::new(Samples::new(demand, samples))).expect("samples");
        let batches = batches(&list, sizes);
        let mut instances = instances;
        for instance in &mut instances {
            let largest = list.len().min(demand.batch_size_max as usize);
            instance.warm_up(&list[..largest]).expect("a warm-up");
        }
        self.model.start().expect("a start");
        let ran = thread::scope(|scope| {
            let threads: Vec<_> = instances
                .iter_mut()
                .map(|instance| scope.spawn(|| execute(instance, &batches, demand)))
                .collect();
            threads.into_iter().map(|thread| thread.join().expect("it does not panic")).collect()
        });
        self.model.stop().expect("a stop");
        assert_eq!(self.backend.faults(), Vec::<String>::new());
        drop(instances);
        self.model.release().expect("the samples");
        ran
    }

    /// As [`run`](Self::run) on one instance, all answers together.
    pub fn answers(&self, demand: &ModelDemand, samples: &[Vec<Vec<u8>>], sizes: &[usize]) -> Answers {
        self.run(demand, samples, sizes).into_iter().flatten().flat_map(|ran| ran.answers).collect()
    }
}

/// The little-endian values of a tensor.
pub fn f32s(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|value| f32::from_le_bytes(*value)).collect()
}

/// The bytes of such values.
pub fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn batches(list: &[SampleIndex], sizes: &[usize]) -> Vec<Vec<QuerySample>> {
    let mut rest = list;
    let mut batches = Vec::new();
    for size in sizes.iter().cycle() {
        let (batch, after) = rest.split_at((*size).min(rest.len()));
        batches.push(batch.iter().map(|&index| QuerySample { id: ResponseId(index.0 + 1), index }).collect());
        rest = after;
        if rest.is_empty() {
            return batches;
        }
    }
    unreachable!("there is a size")
}

fn execute(instance: &mut Instance, batches: &[Vec<QuerySample>], demand: &ModelDemand) -> Vec<Ran> {
    let size_bytes: usize = demand.outputs.iter().map(TensorSpec::size_bytes).sum();
    let run = |batch: &Vec<QuerySample>| {
        instance.execute(batch).unwrap_or_else(|error| panic!("{error}"));
        let collected = Collected::default();
        instance.complete(batch, &collected);
        let answers = collected.0.into_inner().expect("nobody panicked");
        assert!(answers.values().all(|answer| answer.len() == size_bytes), "all outputs are whole");
        Ran { answers, stamps: instance.stamps() }
    };
    batches.iter().map(run).collect()
}

/// Samples in aligned memory.
struct Samples(SampleStore);

impl Samples {
    fn new(demand: &ModelDemand, samples: &[Vec<Vec<u8>>]) -> Self {
        let list: Vec<SampleIndex> = (0..samples.len() as u64).map(SampleIndex).collect();
        let mut store = SampleStore::new(demand.inputs.clone(), list.len() as u64, LIMIT_BYTES);
        let filled = store.load(&list, |index, tensors| {
            let sample = &samples[usize::try_from(index.0).expect("it is small")];
            tensors.iter_mut().zip(sample).for_each(|(tensor, bytes)| tensor.copy_from_slice(bytes));
            Ok::<_, std::io::Error>(())
        });
        filled.expect("they fit into memory");
        Self(store)
    }
}

impl SampleBuffers for Samples {
    fn tensor(&self, index: SampleIndex, input: usize) -> &[u8] {
        self.0.tensor(index, input).expect("it is loaded")
    }
}

/// Keeps what is completed.
#[derive(Default)]
struct Collected(Mutex<Answers>);

impl CompletionSink for Collected {
    fn complete(&self, responses: &[QuerySampleResponse<'_>]) {
        let mut answers = self.0.lock().expect("nobody panicked");
        for response in responses {
            assert!(response.status.is_ok(), "{:?}", response.id);
            answers.insert(response.id.0 - 1, response.data.to_vec());
        }
    }

    fn first_token(&self, _responses: &[QuerySampleResponse<'_>]) {}
}
