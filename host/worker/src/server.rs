//! The calls of the main thread: requests of the host, and their answers.

use std::{
    collections::BTreeMap,
    io,
    os::fd::{AsFd as _, OwnedFd},
    sync::{Arc, OnceLock},
    thread,
    time::Duration,
};

use parking_lot::Mutex;
use proctor_isolated::{
    Capacity, Mailbox, SealedMemory, echo, monotonic_ns,
    protocol::{Answer, Code, Description, Failure, Opening, PlacedSample, Reply, Request},
};
use proctor_plugin_api::{ModelRequest, Options, abi, linked_plugins, vocabulary::InputForm};
use proctor_plugin_host::{
    Backend, HostServices, HostSide, LoadedPlugin, Model, ModelDemand, PluginLocation,
};
use proctor_vocabulary::SampleIndex;

use crate::{
    failure::{failure_of, failure_of_system, wrong_state},
    flushes::Flushes,
    instances::{Place, serve_instance, serve_issuer},
    reports::Reports,
    samples::Samples,
};

/// The plugin of this process, in its current state.
pub(crate) struct Server {
    reports: Reports,
    flushes: Flushes,
    host_side: Arc<OnceLock<HostSide>>,
    plugin: Option<LoadedPlugin>,
    backend: Option<Backend>,
    model: Option<(Model, ModelRequest)>,
    instances: BTreeMap<u32, Place>,
    /// Memory of samples that are about to be announced.
    ranges: Vec<SealedMemory>,
    /// Input forms of the last choice, and the request that they are for.
    forms: Option<(ModelRequest, Vec<InputForm>)>,
    spin: Duration,
}

impl Server {
    pub(crate) fn new(reports: Reports, flushes: Flushes) -> Self {
        Self {
            reports,
            flushes,
            host_side: Arc::default(),
            plugin: None,
            backend: None,
            model: None,
            instances: BTreeMap::new(),
            ranges: Vec::new(),
            forms: None,
            spin: Duration::ZERO,
        }
    }

    /// Returns the side of the plugin host, once the plugin is open.
    pub(crate) fn host_side(&self) -> Arc<OnceLock<HostSide>> {
        Arc::clone(&self.host_side)
    }

    /// Handles a request of the host.
    pub(crate) fn answer(&mut self, request: Request, files: Vec<OwnedFd>) -> Reply {
        let answer = self.make(request, files).unwrap_or_else(Answer::Failed);
        Reply { answer, notes: self.notes(), report_count: self.reports.count() }
    }

    /// Returns the reply in place of one that is longer than the host takes.
    pub(crate) fn too_long(&self, error: &io::Error) -> Reply {
        let answer = Answer::Failed(wrong_state(&format!("what it says is too long for the host: {error}")));
        Reply { answer, notes: Vec::new(), report_count: self.reports.count() }
    }

    fn make(&mut self, request: Request, files: Vec<OwnedFd>) -> Result<Answer, Failure> {
        let mut files = files.into_iter();
        let mut file = || files.next().ok_or_else(no_file);
        match request {
            Request::Load(code) => return self.load(&code),
            Request::Open(opening) => self.open(opening)?,
            Request::Devices => {
                return self
                    .backend()?
                    .devices()
                    .map(|list| Answer::Devices(list.devices))
                    .map_err(failure_of);
            }
            Request::InputForm(request, input) => return self.input_form(request, input),
            Request::LoadModel(request) => self.load_model(request)?,
            Request::Explain => return self.model()?.explain().map(Answer::Explanation).map_err(failure_of),
            Request::CreateInstance { index, capacity } => self.create_instance(index, capacity, file()?)?,
            Request::DestroyInstance(index) => {
                let place = self.instances.remove(&index);
                drop(place.and_then(|place| place.lock().take()));
            }
            Request::CreateIssuer(capacity) => self.create_issuer(capacity, file()?)?,
            Request::Range => self.ranges.push(SealedMemory::open(file()?).map_err(failure_of_system)?),
            Request::Prepare(placed) => self.prepare(placed)?,
            Request::Release => self.model()?.release().map_err(failure_of)?,
            Request::WarmUp { instance, samples } => self.warm_up(instance, &samples)?,
            Request::Start => self.model()?.start().map_err(failure_of)?,
            Request::ReadEnergy => {
                return self.model()?.read_energy().map(Answer::Energy).map_err(failure_of);
            }
            Request::Stop => self.model()?.stop().map_err(failure_of)?,
            Request::UnloadModel => self.unload_model(),
            Request::Notes => {}
            Request::MarkOutputs(are_marked) => self.model()?.mark_outputs(are_marked),
            Request::Close => {
                self.unload_model();
                self.backend = None;
            }
            Request::Echo => {
                let (file, spin) = (file()?, self.spin);
                let answer = move || echo(file, spin);
                thread::Builder::new().name("echo".to_owned()).spawn(answer).map_err(failure_of_system)?;
            }
        }
        Ok(Answer::Done)
    }

    fn load(&mut self, code: &Code) -> Result<Answer, Failure> {
        let location = match code {
            Code::Library(path) => PluginLocation::Library(path.clone()),
            Code::Linked(name) => {
                let mut names = linked_plugins().map(|plugin| (plugin.name)());
                if !names.any(|linked| linked == *name) {
                    return Err(wrong_state(&format!(
                        "plugin {name} is linked into the program, and has no process of its own: name its library"
                    )));
                }
                PluginLocation::Linked(name.clone().leak())
            }
        };
        let plugin = LoadedPlugin::load(&location).map_err(failure_of)?;
        let identity = plugin.identity();
        let description = Description {
            manifest: plugin.manifest().clone(),
            abi: (identity.abi_major, identity.abi_minor),
            layout_checked: identity.layout_checked,
            has_warm_up: plugin.has_warm_up(),
        };
        self.plugin = Some(plugin);
        Ok(Answer::Loaded(Box::new(description)))
    }

    fn open(&mut self, opening: Opening) -> Result<(), Failure> {
        let Opening { options, cache_folder, clock_origin_ns, spin } = opening;
        self.spin = spin;
        let now_ns = Arc::new(move || monotonic_ns().saturating_sub(clock_origin_ns));
        let plugin = self.plugin.as_ref().ok_or_else(|| wrong_state("no plugin is loaded"))?;
        let services = HostServices { now_ns, cache_folder };
        let backend = plugin.open(&Options::from_values(options), services).map_err(failure_of)?;
        backend.set_sink(Some(Arc::new(self.reports.clone())));
        // The host reads it, by a request of its own.
        backend.host_side().leave_energy();
        let _ = self.host_side.set(backend.host_side());
        self.backend = Some(backend);
        Ok(())
    }

    fn input_form(&mut self, request: ModelRequest, input: usize) -> Result<Answer, Failure> {
        // The plugin chooses all at once.
        if self.forms.as_ref().is_none_or(|(known, _)| *known != request) {
            let forms = self.backend()?.input_forms(&demand(&request)).map_err(failure_of)?;
            self.forms = Some((request, forms));
        }
        let form = self.forms.as_ref().and_then(|(_, forms)| forms.get(input));
        form.copied().map(Answer::InputForm).ok_or_else(|| wrong_state("there is no such input"))
    }

    fn load_model(&mut self, request: ModelRequest) -> Result<(), Failure> {
        let model = self.backend()?.load_model(&demand(&request)).map_err(failure_of)?;
        self.flushes.set_model(Some(model.clone()));
        self.model = Some((model, request));
        Ok(())
    }

    fn unload_model(&mut self) {
        self.instances.clear();
        self.ranges.clear();
        self.flushes.set_model(None);
        self.model = None;
    }

    fn create_instance(&mut self, index: u32, capacity: Capacity, file: OwnedFd) -> Result<(), Failure> {
        let mailbox = Mailbox::open(file, capacity, self.spin).map_err(failure_of_system)?;
        let instance = self.model()?.create_instance(index).map_err(failure_of)?;
        if instance.in_flight_max() > 0 {
            return Err(Failure {
                status: abi::PROCTOR_STATUS_UNSUPPORTED,
                vendor_code: 0,
                message: "it takes several batches of an instance at a time, which a plugin in a process of its own is \
                          not given: leave out --isolate"
                    .to_owned(),
            });
        }
        let placements = self.model.iter().flat_map(|(_, request)| &request.placements);
        let placement = placements.into_iter().find(|placement| placement.instance_index == index);
        let cpus = placement.map(|placement| placement.cpus.clone()).unwrap_or_default();
        let place: Place = Arc::new(Mutex::new(Some(instance)));
        serve_instance(index, Arc::clone(&place), mailbox, self.reports.clone(), cpus)
            .map_err(failure_of_system)?;
        self.instances.insert(index, place);
        Ok(())
    }

    fn create_issuer(&mut self, capacity: Capacity, file: OwnedFd) -> Result<(), Failure> {
        let mailbox = Mailbox::open(file, capacity, self.spin).map_err(failure_of_system)?;
        let issuers = self.model()?.issuers(1).map_err(failure_of)?;
        let issuer = issuers.into_iter().next().ok_or_else(|| wrong_state("there is nobody to issue"))?;
        serve_issuer(issuer, mailbox, self.reports.clone()).map_err(failure_of_system)
    }

    fn prepare(&mut self, placed: Vec<PlacedSample>) -> Result<(), Failure> {
        let ranges = std::mem::take(&mut self.ranges);
        let (model, request) = self.model.as_ref().ok_or_else(no_model)?;
        let samples = Arc::new(Samples::new(ranges, placed, &request.inputs));
        // Copies lie behind the last.
        let order = samples.order().to_vec();
        model.prepare(&order, samples).map_err(failure_of)
    }

    fn warm_up(&mut self, instance: Option<u32>, samples: &[u64]) -> Result<(), Failure> {
        let samples: Vec<_> = samples.iter().map(|index| SampleIndex(*index)).collect();
        let Some(index) = instance else { return self.model()?.warm_up(&samples).map_err(failure_of) };
        let place = self.instances.get(&index).ok_or_else(|| wrong_state("there is no such instance"))?;
        let mut place = place.lock();
        let instance = place.as_mut().ok_or_else(|| wrong_state("the instance has ended"))?;
        instance.warm_up(&samples).map_err(failure_of)
    }

    fn backend(&self) -> Result<&Backend, Failure> {
        self.backend.as_ref().ok_or_else(|| wrong_state("the plugin is not open"))
    }

    fn model(&self) -> Result<&Model, Failure> {
        self.model.as_ref().map(|(model, _)| model).ok_or_else(no_model)
    }

    /// Notes about the plugin, for the host to decode; empty if nothing was.
    fn notes(&self) -> Vec<u8> {
        let Some(host_side) = self.host_side.get() else { return Vec::new() };
        self.log_failures(*host_side);
        let mut notes = host_side.take_notes();
        notes.faults.extend(self.flushes.take_faults());
        if notes.faults.is_empty() && notes.metrics.is_empty() && notes.stages.is_empty() {
            return Vec::new();
        }
        postcard::to_stdvec(&notes).unwrap_or_default()
    }

    /// Logs the plugin's messages about failed samples, as the host does.
    fn log_failures(&self, host_side: HostSide) {
        let (first, count) = host_side.take_failures();
        first.iter().for_each(|failure| tracing::warn!(target: "plugin", "{failure}"));
        let more = count - first.len() as u64;
        if more > 0 {
            tracing::warn!(target: "plugin", "{more} more failed samples have a message");
        }
        let left_out = host_side.take_left_out_lines();
        if left_out > 0 {
            tracing::warn!(target: "plugin", "{left_out} lines were left out: more than 1000 in a second");
        }
    }
}

/// Returns the model that the host requests of the plugin, already checked against the manifest by its own plugin host.
fn demand(request: &ModelRequest) -> ModelDemand {
    let request = request.clone();
    ModelDemand {
        model: request.model,
        precision: Some(request.precision),
        device: Some(request.device),
        files: request.files.into_iter().map(|file| (file.format, file.path)).collect(),
        inputs: request.inputs,
        outputs: request.outputs,
        last_output_varies: request.last_output_varies,
        inputs_vary: request.inputs_vary,
        scenario: request.scenario,
        batch_size_max: request.batch_size_max,
        instance_count: request.instance_count,
        intent: request.intent,
        placements: request.placements,
    }
}

/// Returns the failure for a file missing from a request: the system leaves out files for which it has no descriptor.
fn no_file() -> Failure {
    match io::stdin().as_fd().try_clone_to_owned() {
        Ok(_) => wrong_state("its memory is missing"),
        Err(error) => wrong_state(&format!(
            "its process can be given no more files ({error}): the plugin has opened as many as `ulimit -n` allows, or has \
             lowered that limit"
        )),
    }
}

fn no_model() -> Failure {
    wrong_state("no model is loaded")
}
