//! The worker that runs a plugin: the path of a user's batch, from buffers of the host through the plugin boundary to
//! buffers of the host, without the load generator.

use std::{
    collections::BTreeMap,
    io::{self, BufRead},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use proctor_datasets::SampleStore;
use proctor_plugin_host::{
    HostServices, Instance, LoadedPlugin, Model, ModelDemand, PluginHostError, SampleBuffers, SearchPath,
};
use proctor_rnn_layer::{Precision, pin_to};
use proctor_vocabulary::{ElementType, Intent, QuerySample, ResponseId, SampleIndex, Scenario, TensorSpec};
use rustix::time::{ClockId, clock_gettime};

use super::{
    ablation::Staged,
    cases::{Kind, LayerCase},
    flags::{WorkerFlags, precision_name},
    problem::{INITIAL_CELL, INITIAL_HIDDEN, INPUT, ONNX_FREE_BATCH, OUTPUT, SAFETENSORS},
    request::{OnEngine, Reply, Request},
    streamed::Streamed,
};
use crate::{
    answers::{answers, bytes, floats},
    timing::{Window, times_ns},
    worker::{Hello, Refusal, read, say, write, write_times},
};
use proctor_words::{CommandError, Conclusion, HostError};

/// Options that are set if the plugin has them.
const THREADS: &str = "threads";
const GRU_RESET: &str = "gru_reset";

/// Answers all requests.
///
/// # Errors
/// If the plugin cannot be loaded.
pub(crate) fn work(flags: &WorkerFlags) -> Result<Conclusion, HostError> {
    pin_to(&flags.cpus).map_err(|error| CommandError::Cpus { cpus: flags.cpus.clone(), error })?;
    let location = SearchPath::standard(&[]).find(&flags.plugin)?;
    let library = LoadedPlugin::load(&location)?;
    let manifest = library.manifest();
    say(&Hello { version: format!("{} {}", manifest.name, manifest.version) });
    let mut loaded: Option<Loaded> = None;
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        let done = match serde_json::from_str(&line) {
            Ok(request) => reply_to(&request, &library, flags, &mut loaded),
            Err(error) => Err(error.to_string()),
        };
        match done {
            Ok(reply) => say(&reply),
            Err(error) => say(&Refusal { error }),
        }
    }
    Ok(Conclusion::Good)
}

fn reply_to(
    request: &Request,
    library: &LoadedPlugin,
    flags: &WorkerFlags,
    loaded: &mut Option<Loaded>,
) -> Result<Reply, String> {
    match request {
        Request::Load { folder, layer, precision, on_engine, .. } => {
            // The loaded model goes first, with its memory and its threads.
            *loaded = None;
            let (measure, reply) = match on_engine {
                Some(OnEngine::Stage(stage)) => load_stage(flags, folder, *layer, *stage)?,
                Some(OnEngine::Stream) => load_stream(flags, folder, *layer)?,
                None => load_twice(library, flags, folder, *layer, *precision)?,
            };
            *loaded = Some(Loaded { folder: folder.clone(), measure });
            Ok(reply)
        }
        Request::Measure { window } => {
            let loaded = loaded.as_mut().ok_or("nothing is loaded")?;
            let (begin, before) = (Instant::now(), processor_time());
            write_times(&loaded.folder, &(loaded.measure)(window)?)?;
            let (elapsed, ran) = (begin.elapsed(), processor_time().saturating_sub(before));
            let busy_share = ran.as_secs_f64() / elapsed.as_secs_f64() / flags.threads as f64;
            Ok(Reply { busy_share: Some(busy_share), ..Reply::default() })
        }
        Request::Unload => {
            *loaded = None;
            Ok(Reply::default())
        }
    }
}

/// Returns the time for which the threads of this process have run on a processor.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Loads one of the paper's stages, and writes its output.
fn load_stage(
    flags: &WorkerFlags,
    folder: &Path,
    layer: LayerCase,
    stage: usize,
) -> Result<(Measure, Reply), String> {
    let mut staged = Staged::new(layer, stage, flags.threads)?;
    staged.call();
    write(&folder.join(OUTPUT), &bytes(&staged.output))?;
    let weight_bytes = Some(staged.weight_bytes);
    let measure: Measure = Box::new(move |window: &Window| {
        times_ns(window, || {
            staged.call();
            Ok(())
        })
    });
    Ok((measure, Reply { weight_bytes, ..Reply::default() }))
}

/// Loads a layer to be streamed, and writes the output of its first step.
fn load_stream(flags: &WorkerFlags, folder: &Path, layer: LayerCase) -> Result<(Measure, Reply), String> {
    let mut streamed = Streamed::new(layer, flags.threads)?;
    write(&folder.join(OUTPUT), &bytes(streamed.step()?))?;
    let measure: Measure = Box::new(move |window: &Window| times_ns(window, || streamed.step().map(drop)));
    Ok((measure, Reply::default()))
}

/// Loads a layer through the plugin boundary and writes its output. The first time the plugin may have to find out how
/// to run it; the second time it knows, unless it was not sure.
fn load_twice(
    library: &LoadedPlugin,
    flags: &WorkerFlags,
    folder: &Path,
    layer: LayerCase,
    precision: Precision,
) -> Result<(Measure, Reply), String> {
    let load = || {
        let start = Instant::now();
        let served = Served::new(library, flags, folder, layer, precision)?;
        Ok::<_, String>((served, start.elapsed().as_secs_f64() * 1e3))
    };
    let (first, first_load_ms) = load()?;
    drop(first);
    let (mut second, load_ms) = load()?;
    write(&folder.join(OUTPUT), &second.output()?)?;
    let reply = Reply { load_ms: Some(load_ms), first_load_ms: Some(first_load_ms), ..Reply::default() };
    let measure: Measure = Box::new(move |window: &Window| {
        times_ns(window, || second.call()).map_err(|error| error.to_string())
    });
    Ok((measure, reply))
}

/// Calls a layer for a while, and returns the time of each call in ns.
type Measure = Box<dyn FnMut(&Window) -> Result<Vec<u64>, String>>;

/// A layer that is ready to be called, and the folder of its files.
struct Loaded {
    folder: PathBuf,
    measure: Measure,
}

/// A layer behind the plugin boundary.
struct Served {
    layer: LayerCase,
    // The instance goes before the model that it is of.
    instance: Instance,
    model: Model,
    batch: Vec<QuerySample>,
}

impl Served {
    fn new(
        library: &LoadedPlugin,
        flags: &WorkerFlags,
        folder: &Path,
        layer: LayerCase,
        precision: Precision,
    ) -> Result<Self, String> {
        let batch_size = u64::try_from(layer.batch).map_err(|error| error.to_string())?;
        let buffers = Arc::new(Buffers(samples(folder, &layer)?));
        let prepare = || -> Result<(Model, Instance), PluginHostError> {
            let start = Instant::now();
            let now_ns = move || u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
            let cache_folder = Some(flags.cache_folder.clone());
            let services = HostServices { now_ns: Arc::new(now_ns), cache_folder };
            let backend = library.open(&library.options(&options(library, flags, &layer))?, services)?;
            let model = backend.load_model(&demand(folder, &layer, precision))?;
            let mut instance = model.create_instance(0)?;
            let indices: Vec<_> = (0..batch_size).map(SampleIndex).collect();
            model.prepare(&indices, buffers)?;
            instance.warm_up(&indices)?;
            model.start()?;
            Ok((model, instance))
        };
        let (model, instance) = prepare().map_err(|error| error.to_string())?;
        let batch =
            (0..batch_size).map(|number| QuerySample { id: ResponseId(number), index: SampleIndex(number) });
        Ok(Self { layer, instance, model, batch: batch.collect() })
    }

    fn call(&mut self) -> Result<(), PluginHostError> {
        self.instance.execute(&self.batch)
    }

    /// Calls once, and returns the bytes of the output `[time, batch, direction * hidden]`.
    fn output(&mut self) -> Result<Vec<u8>, String> {
        self.call().map_err(|error| error.to_string())?;
        let width = self.layer.direction_count() * self.layer.hidden;
        let mut output = vec![f32::NAN; self.layer.time * self.layer.batch * width];
        for (sample, data) in answers(&mut self.instance, &self.batch) {
            for (step, row) in floats(&data).chunks_exact(width).enumerate() {
                let place = (step * self.layer.batch + usize::try_from(sample).unwrap_or(usize::MAX)) * width;
                output[place..][..width].copy_from_slice(row);
            }
        }
        Ok(bytes(&output))
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // Errors of the plugin at its end do not change the measurements.
        let _ = self.model.stop();
        let _ = self.model.release();
    }
}

/// Returns the threads and the convention of a GRU, if the plugin has such options, and the user's options.
fn options(library: &LoadedPlugin, flags: &WorkerFlags, layer: &LayerCase) -> BTreeMap<String, String> {
    let reset = if layer.kind == Kind::Gru0 { "before" } else { "after" };
    let set = [(THREADS, flags.threads.to_string()), (GRU_RESET, reset.to_owned())];
    let has = |name: &str| library.manifest().options.iter().any(|option| option.name == name);
    let set = set.into_iter().filter(|(name, _)| has(name)).map(|(name, value)| (name.to_owned(), value));
    set.chain(flags.set.iter().cloned()).collect()
}

fn tensor(name: &str, shape: &[usize]) -> TensorSpec {
    TensorSpec { name: name.to_owned(), element_type: ElementType::F32, shape: shape.to_vec() }
}

/// Returns the input tensors of one sample: its sequence, and its states if there are any. With states it is
/// a step as in a user's ONNX file, and the names match the file.
fn inputs(layer: &LayerCase) -> Vec<TensorSpec> {
    let sequence = [layer.time, layer.input];
    if !layer.has_initial_state() {
        return vec![tensor("x", &sequence)];
    }
    let states = [layer.direction_count(), layer.hidden];
    let mut inputs = vec![tensor("X", &sequence), tensor("initial_h", &states)];
    inputs.extend((layer.kind == Kind::Lstm).then(|| tensor("initial_c", &states)));
    inputs
}

fn demand(folder: &Path, layer: &LayerCase, precision: Precision) -> ModelDemand {
    // Only an ONNX file can say that a layer goes on from a state.
    let (format, file, output) = if layer.has_initial_state() {
        ("onnx", ONNX_FREE_BATCH, tensor("Y", &[layer.time, layer.direction_count(), layer.hidden]))
    } else {
        ("safetensors", SAFETENSORS, tensor("y", &[layer.time, layer.direction_count() * layer.hidden]))
    };
    ModelDemand {
        model: layer.model_id(),
        precision: Some(precision_name(precision).to_owned()),
        device: None,
        files: vec![(format.to_owned(), folder.join(file))],
        inputs: inputs(layer),
        outputs: vec![output],
        last_output_varies: false,
        inputs_vary: false,
        scenario: if layer.batch == 1 { Scenario::SingleStream } else { Scenario::MultiStream },
        batch_size_max: u32::try_from(layer.batch).unwrap_or(u32::MAX),
        instance_count: 1,
        intent: Intent::default(),
        placements: Vec::new(),
    }
}

/// Extracts each sample's tensors from the batch's, which are laid out time by time, then by direction.
fn samples(folder: &Path, layer: &LayerCase) -> Result<SampleStore, String> {
    let values = |name: &str| Ok::<_, String>(floats(&read(&folder.join(name))?));
    let sources = [
        (values(INPUT)?, layer.input),
        (values(INITIAL_HIDDEN)?, layer.hidden),
        (values(INITIAL_CELL)?, layer.hidden),
    ];
    let count = layer.batch as u64;
    let mut store = SampleStore::new(inputs(layer), count, u64::MAX);
    let indices: Vec<_> = (0..count).map(SampleIndex).collect();
    let fill = |index: SampleIndex, tensors: &mut [&mut [u8]]| {
        let sample = usize::try_from(index.0)?;
        for (tensor, (values, width)) in tensors.iter_mut().zip(&sources) {
            let rows = values.chunks_exact(*width).skip(sample).step_by(layer.batch);
            for (to, row) in tensor.chunks_exact_mut(4 * width).zip(rows) {
                to.copy_from_slice(&bytes(row));
            }
        }
        Ok::<_, std::num::TryFromIntError>(())
    };
    store.load(&indices, fill).map_err(|error| error.to_string())?;
    Ok(store)
}

struct Buffers(SampleStore);

impl SampleBuffers for Buffers {
    fn tensor(&self, index: SampleIndex, input: usize) -> &[u8] {
        self.0.tensor(index, input).unwrap_or_default()
    }
}
