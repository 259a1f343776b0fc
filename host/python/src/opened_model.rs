//! A plugin with its model, worked by hand: arrays in, arrays out.
//!
//! All calls of a plugin's life are made on one thread, which the opened model owns.

use std::{
    collections::HashMap,
    ffi::OsString,
    mem, process,
    sync::{
        Arc, Weak,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread,
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex};
use proctor_bed::{Dispatch, FittedModel, options_of};
use proctor_config::Settings;
use proctor_datasets::{DataRoot, FillError, SampleStore};
use proctor_display::{Relay, RelayedProgress};
use proctor_host::embedded;
use proctor_loadgen::{Clock, RealClock};
use proctor_plugin_host::{
    Backend, HostServices, Instance, LoadedPlugin, Model, PluginHostError, SampleBuffers, SearchPath,
    is_script,
};
use proctor_vocabulary::{
    CompletionSink, QueryPart, QuerySample, QuerySampleResponse, ResponseId, SampleIndex, SampleStatus,
    TensorSpec,
};
use proctor_words::{CacheFolder, HostError};
use pyo3::{
    prelude::*,
    pybacked::PyBackedBytes,
    types::{PyBytes, PyDict, PyList},
};

use crate::{
    data::specs,
    failure::Failure,
    measure::choose,
    turn::Turn,
    waiting::{END_LIMIT, END_LOOK, LOOK, receive},
};

/// Models in Python whose threads may be at work, which the end of the interpreter closes.
static IN_PYTHON: Mutex<Vec<InPython>> = Mutex::new(Vec::new());

/// Room for samples of one call, in bytes.
const LIMIT_BYTES: u64 = 1 << 40;

/// Inputs of a sample: extents and bytes of each.
type Sample = Vec<(Vec<usize>, PyBackedBytes)>;

/// Outcome of each sample: the bytes of its outputs.
type Outputs = Result<Vec<Vec<u8>>, Failure>;

/// Request to the thread of the model.
enum Request {
    Execute(Vec<Sample>, Sender<Outputs>),
    /// The plugin is to be closed.
    Close(Sender<Outputs>),
}

/// The way to the thread of a model; `None` once it is closed or was left behind.
type Requests = Mutex<Option<Sender<Request>>>;

/// A model in Python, as the end of the interpreter finds it.
struct InPython {
    /// Process that has opened it: a copy made by `fork` has no threads of its parent.
    process: u32,
    requests: Weak<Requests>,
    /// Held by its thread, and by those that wait for it.
    life: Weak<()>,
}

/// Facts of an opened model.
struct Facts {
    plugin: String,
    version: String,
    precision: String,
    model: String,
    inputs: Vec<TensorSpec>,
    outputs: Vec<TensorSpec>,
    last_output_varies: bool,
    inputs_vary: bool,
    batch_size: usize,
}

/// An opened plugin with a loaded model.
#[pyclass(module = "proctor._native", frozen)]
pub(crate) struct OpenedModel {
    facts: Facts,
    requests: Arc<Requests>,
    /// Held by the thread of the model, and by those that wait for it.
    life: Weak<()>,
}

#[pymethods]
impl OpenedModel {
    /// Opens the plugin and loads the model by the words of `host run`. With `backend` the plugin for Python stands for
    /// that class.
    #[new]
    #[pyo3(signature = (words, backend=None))]
    fn open(py: Python<'_>, words: Vec<OsString>, backend: Option<Bound<'_, PyAny>>) -> PyResult<Self> {
        // The plugin for Python stands for one class at a time: none is opened while a run may open its own.
        let turn = (backend.is_some() || is_in_python(&words)).then(|| Turn::take(py)).transpose()?;
        if let Some(class) = backend {
            choose(class)?;
        }
        let (asks, asked) = channel();
        let (tells, told) = channel();
        let (requests, life) = (Arc::new(Mutex::new(Some(asks))), Arc::new(()));
        if turn.is_some() {
            note(&requests, &life);
        }
        let of_thread = Arc::clone(&life);
        let work = move || {
            // Dropped last: the end of the interpreter waits for it.
            let _life = of_thread;
            let opened = Opened::open(words);
            drop(turn);
            match opened {
                Ok((opened, facts)) => {
                    if tells.send(Ok(facts)).is_ok() {
                        opened.serve(&asked);
                    }
                }
                Err(failure) => _ = tells.send(Err(failure)),
            }
        };
        thread::Builder::new().name("proctor-model".to_owned()).spawn(work)?;
        let facts = wait(py, told, None)?.map_err(|failure: Failure| failure.exception(py))?;
        Ok(Self { facts, requests, life: Arc::downgrade(&life) })
    }

    /// Returns what is known of plugin and model.
    fn facts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let known = &self.facts;
        let facts = PyDict::new(py);
        facts.set_item("plugin", &known.plugin)?;
        facts.set_item("version", &known.version)?;
        facts.set_item("precision", &known.precision)?;
        facts.set_item("model", &known.model)?;
        facts.set_item("inputs", specs(py, &known.inputs)?)?;
        facts.set_item("outputs", specs(py, &known.outputs)?)?;
        facts.set_item("last_output_varies", known.last_output_varies)?;
        facts.set_item("inputs_vary", known.inputs_vary)?;
        facts.set_item("batch_size", known.batch_size)?;
        Ok(facts)
    }

    /// Runs samples, and returns the bytes of the outputs of each. After the timeout, in seconds, the call is left
    /// behind.
    #[pyo3(signature = (samples, timeout_s=None))]
    fn execute<'py>(
        &self,
        py: Python<'py>,
        samples: Vec<Sample>,
        timeout_s: Option<f64>,
    ) -> PyResult<Bound<'py, PyList>> {
        let timeout = timeout_s.map(|timeout_s| {
            Duration::try_from_secs_f64(timeout_s).map_err(|_| {
                let text = format!("timeout is {timeout_s}, and must be a number of seconds from 0 on");
                Failure { kind: "SettingsError", text }.exception(py)
            })
        });
        let outputs = self.ask(py, timeout.transpose()?, |tells| Request::Execute(samples, tells))?;
        PyList::new(py, outputs.iter().map(|bytes| PyBytes::new(py, bytes)))
    }

    /// Closes the plugin.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        if self.requests.lock().is_none() {
            return Ok(());
        }
        self.ask(py, None, Request::Close)?;
        *self.requests.lock() = None;
        Ok(())
    }
}

impl OpenedModel {
    fn ask(
        &self,
        py: Python<'_>,
        timeout: Option<Duration>,
        request: impl FnOnce(Sender<Outputs>) -> Request,
    ) -> PyResult<Vec<Vec<u8>>> {
        let closed =
            || Failure::plugin("the model is closed, or a call into it was left behind").exception(py);
        let (tells, told) = channel();
        let _life = self.life.upgrade();
        let requests = self.requests.lock().clone().ok_or_else(closed)?;
        requests.send(request(tells)).map_err(|_| closed())?;
        match wait(py, told, timeout) {
            Ok(outputs) => outputs.map_err(|failure| failure.exception(py)),
            Err(error) => {
                // The call may never return.
                *self.requests.lock() = None;
                Err(error)
            }
        }
    }
}

/// Returns whether the words name the file of a plugin in Python.
fn is_in_python(words: &[OsString]) -> bool {
    words.iter().filter_map(|word| word.to_str()?.strip_prefix("--set=plugin=")).any(is_script)
}

/// Notes a model in Python for the end of the interpreter.
fn note(requests: &Arc<Requests>, life: &Arc<()>) {
    let mut models = IN_PYTHON.lock();
    models.retain(|model| model.life.strong_count() > 0);
    let (requests, life) = (Arc::downgrade(requests), Arc::downgrade(life));
    models.push(InPython { process: process::id(), requests, life });
}

/// Closes the models in Python before the interpreter ends: a later call into it would be a crash.
#[pyfunction]
pub(crate) fn close_all(py: Python<'_>) {
    let mut models = mem::take(&mut *IN_PYTHON.lock());
    models.retain(|model| model.process == process::id());
    for requests in models.iter().filter_map(|model| model.requests.upgrade()) {
        *requests.lock() = None;
    }
    let begun = Instant::now();
    let is_used = || models.iter().any(|model| model.life.strong_count() > 0);
    while is_used() && begun.elapsed() < END_LIMIT {
        py.detach(|| thread::sleep(END_LOOK));
    }
}

/// Waits for an answer, until the timeout, and for Ctrl-C.
fn wait<T: Send>(py: Python<'_>, mut told: Receiver<T>, timeout: Option<Duration>) -> PyResult<T> {
    let begun = Instant::now();
    loop {
        let (back, next) = receive(py, told);
        told = back;
        match next {
            Ok(answer) => return Ok(answer),
            Err(RecvTimeoutError::Timeout) => {
                py.check_signals()?;
                if let Some(timeout) = timeout.filter(|timeout| begun.elapsed() >= *timeout) {
                    let text = "the plugin did not answer within the timeout";
                    let text = format!(
                        "{text} of {} s: the call is left behind, and the model is closed",
                        timeout.as_secs_f64()
                    );
                    return Err(Failure::plugin(text).exception(py));
                }
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Failure::plugin("the thread of the model has ended").exception(py));
            }
        }
    }
}

/// The plugin on its thread. In drop order.
struct Opened {
    instance: Option<Instance>,
    model: Model,
    backend: Backend,
    _cache: CacheFolder,
    inputs: Vec<TensorSpec>,
    inputs_vary: bool,
    batch_size: usize,
    patience: Duration,
    /// Number of samples so far: ids come once.
    sample_count: u64,
}

impl Opened {
    fn open(words: Vec<OsString>) -> Result<(Self, Facts), Failure> {
        let mut settings = embedded::settings(words)?;
        settings.run.instances = 1;
        Ok(Self::open_with(&settings)?)
    }

    fn open_with(settings: &Settings) -> Result<(Self, Facts), HostError> {
        let location = SearchPath::standard(&settings.run.plugin_path).find(&settings.run.plugin)?;
        let library = LoadedPlugin::load(&location)?;
        let manifest = library.manifest().clone();
        let options = library.options(&options_of(settings, &manifest.name)?)?;
        let cache = CacheFolder::open(settings);
        let clock = RealClock::new();
        let now_ns = Arc::new(move || clock.now_ns());
        let backend =
            library.open(&options, HostServices { now_ns, cache_folder: cache.of(&manifest.name) })?;
        let dispatch = if manifest.execute { Dispatch::Batches } else { Dispatch::WholeQueries };
        let root = DataRoot::new(settings.run.data_root.as_deref());
        let silent = Relay::new(RelayedProgress::Nothing, |_| ());
        let (counts, plugin) = (settings.benchmark.qsl, (&manifest, &backend));
        let fitted = FittedModel::new(settings, counts, &root, plugin, dispatch, Vec::new(), &silent)?;
        let demand = &fitted.demand;
        let model = backend.load_model(demand)?;
        let instance = manifest.execute.then(|| model.create_instance(0)).transpose()?;
        let facts = Facts {
            plugin: manifest.name,
            version: manifest.version,
            precision: model.precision().to_owned(),
            model: demand.model.clone(),
            inputs: demand.inputs.clone(),
            outputs: demand.outputs.clone(),
            last_output_varies: demand.last_output_varies,
            inputs_vary: demand.inputs_vary,
            batch_size: settings.run.batch_size,
        };
        let opened = Self {
            instance,
            backend,
            _cache: cache,
            inputs: demand.inputs.clone(),
            inputs_vary: demand.inputs_vary,
            batch_size: settings.run.batch_size.max(1),
            patience: Duration::from_millis(settings.run.watchdog_ms),
            sample_count: 0,
            model,
        };
        Ok((opened, facts))
    }

    /// Does what is asked for until the plugin is closed.
    fn serve(mut self, requests: &Receiver<Request>) {
        while let Ok(request) = requests.recv() {
            match request {
                // A caller that has left wants no outputs.
                Request::Execute(samples, tells) => _ = tells.send(self.execute(&samples)),
                Request::Close(tells) => {
                    let host = self.backend.host_side();
                    drop(self);
                    let faults: Vec<_> = host.take_faults().iter().map(ToString::to_string).collect();
                    let closed = if faults.is_empty() {
                        Ok(Vec::new())
                    } else {
                        Err(Failure::plugin(faults.join("; ")))
                    };
                    _ = tells.send(closed);
                    return;
                }
            }
        }
    }

    fn execute(&mut self, samples: &[Sample]) -> Outputs {
        let indices: Vec<_> = (0..samples.len() as u64).map(SampleIndex).collect();
        let buffers = buffers(&self.inputs, self.inputs_vary, samples, &indices)?;
        self.model.prepare(&indices, Arc::new(buffers)).map_err(refused)?;
        let started = self.model.start().map_err(refused);
        let outputs = started.and_then(|()| {
            let outputs = self.run(&indices);
            let stopped = self.model.stop().map_err(refused);
            outputs.and_then(|outputs| stopped.map(|()| outputs))
        });
        let released = self.model.release().map_err(refused);
        let outputs = outputs?;
        released?;
        let faults: Vec<_> = self.backend.host_side().take_faults().iter().map(ToString::to_string).collect();
        if faults.is_empty() { Ok(outputs) } else { Err(Failure::plugin(faults.join("; "))) }
    }

    /// Runs the prepared samples in batches, or as one query, and returns their outputs in turn.
    fn run(&mut self, indices: &[SampleIndex]) -> Outputs {
        let first = self.sample_count + 1;
        self.sample_count += indices.len() as u64;
        let queried =
            (first..).zip(indices).map(|(id, index)| QuerySample { id: ResponseId(id), index: *index });
        let queried: Vec<_> = queried.collect();
        let tray = Arc::new(Tray::new(first));
        if let Some(instance) = &mut self.instance {
            let (batch_size, sink) = (self.batch_size, tray.as_ref());
            // An instance has a thread of its own, which a plugin may bind to processors.
            let work = || {
                instance.begin_thread();
                let ran = queried.chunks(batch_size).try_for_each(|batch| {
                    instance.execute(batch).map_err(refused)?;
                    instance.complete(batch, sink);
                    Ok(())
                });
                instance.end_thread();
                ran
            };
            let ran = thread::scope(|scope| scope.spawn(work).join());
            ran.unwrap_or_else(|_| Err(Failure::plugin("a batch panicked")))?;
        } else {
            self.backend.set_sink(Some(Arc::clone(&tray) as _));
            let issued = self.issue(&queried, &tray);
            // Also after a call that failed, whose plugin may complete samples yet.
            self.model.end_issue();
            self.backend.set_sink(None);
            issued?;
        }
        queried.iter().map(|sample| tray.take(sample)).collect()
    }

    /// Issues a query, and waits for its answers.
    fn issue(&self, queried: &[QuerySample], tray: &Tray) -> Result<(), Failure> {
        let issuers = self.model.issuers(1).map_err(refused)?;
        issuers[0].issue(QueryPart::whole(queried)).map_err(refused)?;
        self.model.flush().map_err(refused)?;
        let (missing, count) = (tray.wait(queried.len(), self.patience), queried.len());
        if missing > 0 {
            let text = format!("the plugin did not complete {missing} of {count} samples");
            return Err(Failure::plugin(text));
        }
        Ok(())
    }
}

/// Returns the failure of a call of the plugin.
fn refused(error: PluginHostError) -> Failure {
    HostError::from(error).into()
}

/// Copies the samples into memory as plugins are given it.
fn buffers(
    inputs: &[TensorSpec],
    vary: bool,
    samples: &[Sample],
    indices: &[SampleIndex],
) -> Result<Buffers, Failure> {
    let wrong = |text: String| Failure { kind: "SettingsError", text };
    for (number, sample) in samples.iter().enumerate() {
        if sample.len() != inputs.len() {
            return Err(wrong(format!(
                "sample {number} has {} inputs, and the model takes {}",
                sample.len(),
                inputs.len()
            )));
        }
        for ((shape, bytes), input) in sample.iter().zip(inputs) {
            let has_shape = vary || *shape == input.shape;
            if !has_shape || bytes.len() != input.element_type.bytes_of(shape.iter().product()) {
                return Err(wrong(format!("sample {number} has the shape {shape:?} for input {input}")));
            }
        }
    }
    let mut store = SampleStore::new(inputs.to_vec(), samples.len() as u64, LIMIT_BYTES);
    let of = |index: SampleIndex| &samples[usize::try_from(index.0).unwrap_or(usize::MAX)];
    let fill = |index, tensors: &mut [&mut [u8]]| {
        for (tensor, (_, bytes)) in tensors.iter_mut().zip(of(index)) {
            tensor.copy_from_slice(bytes);
        }
        Ok::<_, FillError>(())
    };
    let shapes = |index| Ok::<_, FillError>(of(index).iter().map(|(shape, _)| shape.clone()).collect());
    let loaded = if vary { store.load_varying(indices, shapes, fill) } else { store.load(indices, fill) };
    loaded.map_err(|error| Failure::data(error.to_string()))?;
    Ok(Buffers(store))
}

/// The samples of a call, as the plugin boundary wants them.
struct Buffers(SampleStore);

impl SampleBuffers for Buffers {
    fn tensor(&self, index: SampleIndex, input: usize) -> &[u8] {
        self.0.tensor(index, input).unwrap_or_default()
    }

    fn shape(&self, index: SampleIndex, input: usize) -> Option<&[usize]> {
        self.0.shape(index, input).ok()
    }

    fn ranges(&self) -> Vec<&[u8]> {
        self.0.buffers().collect()
    }
}

/// Takes the responses of a call.
struct Tray {
    /// Id of the first sample. Answers to those before come too late.
    first: u64,
    responses: Mutex<HashMap<u64, Result<Vec<u8>, SampleStatus>>>,
    came: Condvar,
}

impl Tray {
    fn new(first: u64) -> Self {
        Self { first, responses: Mutex::default(), came: Condvar::new() }
    }

    /// Waits for this many responses, or until none has come for a while, and returns how many are missing.
    fn wait(&self, count: usize, patience: Duration) -> usize {
        let mut responses = self.responses.lock();
        let (mut seen, mut since) = (responses.len(), Instant::now());
        while responses.len() < count && since.elapsed() < patience {
            self.came.wait_for(&mut responses, LOOK);
            if responses.len() > seen {
                (seen, since) = (responses.len(), Instant::now());
            }
        }
        count - responses.len().min(count)
    }

    fn take(&self, sample: &QuerySample) -> Result<Vec<u8>, Failure> {
        match self.responses.lock().remove(&sample.id.0) {
            Some(Ok(bytes)) => Ok(bytes),
            Some(Err(status)) => Err(Failure::plugin(format!(
                "the plugin failed sample {} with status {}",
                sample.index, status.0
            ))),
            None => Err(Failure::plugin(format!("the plugin did not complete sample {}", sample.index))),
        }
    }
}

impl CompletionSink for Tray {
    fn complete(&self, responses: &[QuerySampleResponse<'_>]) {
        let mut taken = self.responses.lock();
        for response in responses.iter().filter(|response| response.id.0 >= self.first) {
            let answer =
                if response.status.is_ok() { Ok(response.data.to_vec()) } else { Err(response.status) };
            taken.insert(response.id.0, answer);
        }
        self.came.notify_all();
    }

    fn first_token(&self, _responses: &[QuerySampleResponse<'_>]) {}
}
