//! What the tests share: the plugin behind a real host, the digits, and small models made on the spot.

#![allow(dead_code, reason = "each test program uses a part")]

pub mod graphs;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Instant,
};

// Linked in, and so known to the host.
use onnx_sut as _;
use proctor_plugin_api::vocabulary::{
    CompletionSink, ElementType, QuerySample, QuerySampleResponse, ResponseId, SampleIndex, Scenario,
    TensorSpec,
};
use proctor_plugin_host::{
    Backend, HostServices, Instance, Model, ModelDemand, PluginLibrary, PluginLocation, SampleBuffers,
};

/// The bytes of each sample's outputs.
pub type Answers = Vec<Vec<u8>>;

/// What the plugin reported, by name.
pub type Figures = BTreeMap<String, f64>;

/// Says that a test did not run, in the form that the test run reports.
pub fn skipped(reason: &str) {
    println!("skipped: {reason}");
}

/// Opens the plugin, as a host does.
pub fn open(options: &[(&str, &str)]) -> Result<Backend, String> {
    let library = PluginLibrary::load(&PluginLocation::Linked("onnx")).map_err(|error| error.to_string())?;
    let given: BTreeMap<String, String> =
        options.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    let options = library.options(&given).map_err(|error| error.to_string())?;
    let begin = Instant::now();
    let now_ns = Arc::new(move || u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX));
    library.open(&options, HostServices { now_ns, cache_folder: None }).map_err(|error| error.to_string())
}

/// The opened plugin; `None`, and said so, where there is no runtime library.
pub fn opened(options: &[(&str, &str)]) -> Option<Backend> {
    match open(options) {
        Ok(backend) => Some(backend),
        Err(error) if error.contains("found no ONNX Runtime") => {
            skipped(&error);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

pub fn spec(name: &str, element_type: ElementType, shape: &[usize]) -> TensorSpec {
    TensorSpec { name: name.into(), element_type, shape: shape.to_vec() }
}

pub fn f32_spec(name: &str, shape: &[usize]) -> TensorSpec {
    spec(name, ElementType::F32, shape)
}

/// A demand for one instance and batches of one.
pub fn demand(path: &Path, inputs: Vec<TensorSpec>, outputs: Vec<TensorSpec>) -> ModelDemand {
    ModelDemand {
        model: "test".into(),
        precision: None,
        device: None,
        files: vec![("onnx".into(), path.to_owned())],
        inputs,
        outputs,
        last_output_varies: false,
        scenario: Scenario::Offline,
        batch_size_max: 1,
        instance_count: 1,
    }
}

/// Samples in memory as the host has them: each tensor on its own, aligned to 64.
pub struct Samples(Vec<Vec<Aligned>>);

struct Aligned {
    bytes: Vec<u8>,
    begin: usize,
    size_bytes: usize,
}

impl Samples {
    /// `[sample][input]`, the bytes of a tensor.
    pub fn new(samples: Vec<Vec<Vec<u8>>>) -> Arc<Self> {
        let aligned = |tensor: Vec<u8>| {
            let mut bytes = vec![0; tensor.len() + 64];
            let begin = bytes.as_ptr().align_offset(64);
            bytes[begin..][..tensor.len()].copy_from_slice(&tensor);
            Aligned { bytes, begin, size_bytes: tensor.len() }
        };
        Arc::new(Self(samples.into_iter().map(|inputs| inputs.into_iter().map(aligned).collect()).collect()))
    }

    /// Samples of one f32 tensor.
    pub fn of_f32(samples: &[Vec<f32>]) -> Arc<Self> {
        Self::new(samples.iter().map(|sample| vec![f32_bytes(sample)]).collect())
    }

    pub fn indices(&self) -> Vec<SampleIndex> {
        (0..self.0.len() as u64).map(SampleIndex).collect()
    }
}

impl SampleBuffers for Samples {
    fn tensor(&self, index: SampleIndex, input: usize) -> &[u8] {
        let tensor = &self.0[usize::try_from(index.0).expect("a small number")][input];
        &tensor.bytes[tensor.begin..][..tensor.size_bytes]
    }
}

pub fn f32_bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

pub fn f32_values(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

/// Keeps responses by the sample that they answer; the id of a sample is its index plus 1.
#[derive(Default)]
struct Sink(Mutex<BTreeMap<u64, Result<Vec<u8>, i32>>>);

impl CompletionSink for Sink {
    fn complete(&self, responses: &[QuerySampleResponse<'_>]) {
        let mut kept = self.0.lock().expect("no test panics while it holds this");
        for response in responses {
            let answer =
                if response.status.is_ok() { Ok(response.data.to_vec()) } else { Err(response.status.0) };
            kept.insert(response.id.0 - 1, answer);
        }
    }

    fn first_token(&self, _responses: &[QuerySampleResponse<'_>]) {}
}

/// Runs these samples in batches of this size; the answer of each.
pub fn execute(
    instance: &mut Instance,
    samples: &[SampleIndex],
    batch_size: usize,
) -> Result<Answers, String> {
    let sink = Sink::default();
    for part in samples.chunks(batch_size) {
        let batch: Vec<QuerySample> =
            part.iter().map(|index| QuerySample { id: ResponseId(index.0 + 1), index: *index }).collect();
        instance.execute(&batch).map_err(|error| error.to_string())?;
        let stamps = instance.stamps();
        let instants = [stamps.copy_in_ns, stamps.compute_ns, stamps.copy_out_ns, stamps.end_ns];
        assert!(instants.is_sorted() && stamps.copy_in_ns > 0, "{stamps:?}");
        instance.complete(&batch, &sink);
    }
    let answers = sink.0.into_inner().expect("no test panics while it holds this");
    answers.into_values().map(|answer| answer.map_err(|status| format!("status {status}"))).collect()
}

/// Loads, runs all samples in batches, and returns the answers and the figures of the run.
pub fn run(
    backend: &Backend,
    demand: &ModelDemand,
    samples: &Arc<Samples>,
) -> Result<(Answers, Figures), String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let model: Model = backend.load_model(demand).map_err(|error| text(&error))?;
    let mut instance = model.create_instance(0).map_err(|error| text(&error))?;
    let indices = samples.indices();
    let batch_size = usize::try_from(demand.batch_size_max).expect("a small number");
    let prepared: Arc<dyn SampleBuffers> = samples.clone();
    model.prepare(&indices, prepared).map_err(|error| text(&error))?;
    instance.warm_up(&indices[..indices.len().min(batch_size)]).map_err(|error| text(&error))?;
    model.start().map_err(|error| text(&error))?;
    let answers = execute(&mut instance, &indices, batch_size)?;
    model.stop().map_err(|error| text(&error))?;
    model.release().map_err(|error| text(&error))?;
    Ok((answers, backend.metrics()))
}

/// A file of the digits benchmark.
pub fn digits(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../datasets/digits").join(file)
}

/// The validation images, pixels within [0, 1].
pub fn validation_images() -> Vec<Vec<f32>> {
    #[derive(serde::Deserialize)]
    struct Split {
        validation: Vec<usize>,
    }
    const IMAGE_HEADER_BYTES: usize = 16;
    let read = |file: &str| fs::read(digits(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
    let split: Split = toml::from_slice(&read("split.toml")).expect("split.toml is sound");
    let pixels = read("images.idx3-ubyte");
    let image = |index: &usize| {
        let pixels = &pixels[IMAGE_HEADER_BYTES + index * 64..][..64];
        pixels.iter().map(|pixel| f32::from(*pixel) / 16.0).collect()
    };
    split.validation.iter().map(image).collect()
}
