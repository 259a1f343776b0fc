//! A loaded model: the object that has loaded it, and those of further instances.

use std::sync::Arc;

use parking_lot::Mutex;
use proctor_plugin_api::{
    Host, Model, ModelRequest, OptionValue, Options, Placement, PluginError, PluginMemory, PreparedSample,
    Query, vocabulary::TensorSpec,
};
use pyo3::{IntoPyObjectExt as _, prelude::*, types::PyDict};

use crate::{
    calls::Call,
    errors::{backend_error, failed, helper},
    instance::{PythonInstance, Room, unload},
    issuer::{Context, Issuer},
    memory::PythonMemory,
    samples::{batch, query::Prepared},
    services::Services,
    tensors::{Form, Inputs},
};

/// A model that an object of the class has loaded.
pub struct PythonModel {
    class: Py<PyAny>,
    request: ModelRequest,
    options: Options,
    host: Host,
    memory: Arc<PythonMemory>,
    prepared: Arc<Prepared>,
    inputs: Arc<Inputs>,
    outputs: Vec<Form>,
    /// The object that has loaded the model, until it is an instance.
    first: Mutex<Option<Loaded>>,
    /// Takes whole queries, if the class does.
    issuer: Option<Issuer>,
}

/// An object of the class, and the model that it has loaded.
struct Loaded {
    made: Py<PyAny>,
    model: Py<PyAny>,
}

impl PythonModel {
    /// Makes an object of the class, and lets it load the model.
    ///
    /// # Errors
    /// Any exception of the class.
    pub(crate) fn load(
        py: Python<'_>,
        host: Host,
        class: &Py<PyAny>,
        options: &Options,
        request: &ModelRequest,
    ) -> PyResult<Self> {
        let packed = request.inputs.iter().find(|input| input.element_type.bits() < 8);
        if let Some(input) = packed.filter(|_| request.inputs_vary) {
            let text = format!(
                "the input {input} has values of less than a byte, and samples vary in shape: a class in Python gets \
                 such values as bytes, which do not say how many there are"
            );
            return Err(backend_error(py, &text));
        }
        let none = Placement { instance_count: request.instance_count, ..Placement::default() };
        let placement = request.placements.first().unwrap_or(&none);
        let model = told(py, request, options, &host, placement)?;
        let forms = |specs: &[TensorSpec]| specs.iter().map(Form::new).collect::<Vec<_>>();
        let inputs = Arc::new(Inputs::new(py, forms(&request.inputs), &model.getattr("inputs")?)?);
        let made = helper(py, "make")?.call1((class, &model))?.unbind();
        let (memory, prepared) = (Arc::<PythonMemory>::default(), Arc::<Prepared>::default());
        let manifest = helper(py, "manifest_of")?.call1((class,))?;
        let issuer = if manifest.getattr("issue")?.extract()? {
            let context = Context {
                prepared: Arc::clone(&prepared),
                inputs: Arc::clone(&inputs),
                memory: Arc::clone(&memory),
                host,
            };
            Some(Issuer::start(py, &made, &model, context)?)
        } else {
            None
        };
        Ok(Self {
            class: class.clone_ref(py),
            request: request.clone(),
            options: options.clone(),
            host,
            memory,
            prepared,
            inputs,
            outputs: forms(&request.outputs),
            first: Mutex::new(Some(Loaded { made, model: model.unbind() })),
            issuer,
        })
    }

    fn instance(&self, py: Python<'_>, placement: &Placement) -> PyResult<PythonInstance> {
        let is_first = placement.instance_index == 0;
        let first = if is_first { self.first.lock().take() } else { None };
        let Loaded { made, model } = match first {
            Some(loaded) => loaded,
            None => {
                let model = told(py, &self.request, &self.options, &self.host, placement)?;
                let made = helper(py, "make")?.call1((&self.class, &model))?.unbind();
                Loaded { made, model: model.unbind() }
            }
        };
        let context = Arc::new(batch::Context {
            inputs: Arc::clone(&self.inputs),
            memory: Arc::clone(&self.memory),
            host: self.host,
            inputs_vary: self.request.inputs_vary,
        });
        let rows = (self.request.batch_size_max as usize).max(1);
        let rooms = self.outputs.iter().map(|form| Room::new(py, form, rows));
        let rooms = rooms.collect::<PyResult<Vec<_>>>()?;
        let arrays: Vec<_> = rooms.iter().map(|room| room.bytes.array(py)).collect();
        let runner = helper(py, "Runner")?.call1((&made, model, arrays))?.unbind();
        Ok(PythonInstance { made, runner, context, rooms, thread: None })
    }

    fn issuer(&self) -> Result<&Issuer, PluginError> {
        self.issuer.as_ref().ok_or_else(|| PluginError::unsupported("the class takes no whole queries"))
    }
}

/// Returns the request as the class sees it.
fn told<'py>(
    py: Python<'py>,
    request: &ModelRequest,
    options: &Options,
    host: &Host,
    placement: &Placement,
) -> PyResult<Bound<'py, PyAny>> {
    let model = PyDict::new(py);
    let forms = |specs: &[TensorSpec]| specs.iter().map(Form::new).collect::<Vec<_>>();
    let (inputs, outputs) = (forms(&request.inputs), forms(&request.outputs));
    model.set_item("inputs", inputs.iter().map(Form::told).collect::<Vec<_>>())?;
    model.set_item("outputs", outputs.iter().map(Form::told).collect::<Vec<_>>())?;
    let files = PyDict::new(py);
    for file in &request.files {
        files.set_item(&file.format, &file.path)?;
    }
    model.set_item("files", files)?;
    let values = PyDict::new(py);
    for (name, value) in options.iter() {
        let (kind, value) = match value {
            OptionValue::Boolean(value) => ("", value.into_bound_py_any(py)?),
            OptionValue::Integer(value) => ("", value.into_bound_py_any(py)?),
            OptionValue::Float(value) => ("", value.into_bound_py_any(py)?),
            OptionValue::Text(value) | OptionValue::Choice(value) => ("", value.into_bound_py_any(py)?),
            OptionValue::Path(value) => ("path", value.as_os_str().into_bound_py_any(py)?),
        };
        values.set_item(name, (kind, value))?;
    }
    model.set_item("options", values)?;
    model.set_item("cpus", &placement.cpus)?;
    model.set_item("cache_folder", host.cache_folder())?;
    model.set_item("host", Py::new(py, Services(*host))?)?;
    model.set_item("name", &request.model)?;
    model.set_item("precision", &request.precision)?;
    model.set_item("device", &request.device)?;
    model.set_item("scenario", request.scenario.name())?;
    model.set_item("batch_size_max", request.batch_size_max)?;
    model.set_item("instance", placement.instance_index)?;
    model.set_item("instance_count", request.instance_count)?;
    model.set_item("last_output_varies", request.last_output_varies)?;
    model.set_item("inputs_vary", request.inputs_vary)?;
    let intent = &request.intent;
    model.set_item("latency_bound_ns", intent.latency_bound_ns)?;
    model.set_item("first_token_bound_ns", intent.first_token_bound_ns)?;
    model.set_item("per_token_bound_ns", intent.per_token_bound_ns)?;
    model.set_item("target_qps", intent.target_qps)?;
    model.set_item("samples_per_query", intent.samples_per_query)?;
    model.set_item("expected_batch_size", intent.expected_batch_size)?;
    helper(py, "model_of")?.call((), Some(&model))
}

impl Model for PythonModel {
    type Instance = PythonInstance;

    fn create_instance(&self, placement: &Placement) -> Result<PythonInstance, PluginError> {
        let _call = Call::begin();
        Python::attach(|py| self.instance(py, placement).map_err(|error| failed(py, error)))
    }

    fn memory(&self) -> Option<&dyn PluginMemory> {
        Some(&*self.memory)
    }

    fn prepare_samples(&self, samples: &[PreparedSample]) -> Result<(), PluginError> {
        if self.issuer.is_some() {
            self.prepared.prepare(samples, self.request.inputs_vary);
        }
        Ok(())
    }

    fn release_samples(&self) {
        self.prepared.release();
    }

    fn warm_up(&self, query: Query<'_>) -> Result<(), PluginError> {
        self.issuer()?.warm_up(query)
    }

    fn issue(&self, query: Query<'_>) -> Result<(), PluginError> {
        self.issuer()?.issue(query)
    }

    fn flush(&self) {
        if let Some(issuer) = &self.issuer {
            issuer.flush();
        }
    }
}

impl Drop for PythonModel {
    fn drop(&mut self) {
        // Its thread may wait for the interpreter.
        self.issuer = None;
        let _call = Call::begin();
        Python::attach(|py| {
            if let Some(Loaded { made, .. }) = self.first.lock().take() {
                unload(py, &made, &self.host);
            }
            // What was printed is written, whatever comes of it.
            let _ = helper(py, "flush_streams").and_then(|flush| flush.call0());
        });
    }
}
