//! Plugins: for any contents of their tables, manifests, responses and batches, the host accepts them or says what is
//! wrong.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    mem::ManuallyDrop,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use proctor_contrived::{NAME, contrive};
use proctor_plugin_host::{
    Backend, HostServices, Instance, Issuer, LoadedPlugin, Model, ModelDemand, PluginHostError,
    PluginLocation, SampleBuffers,
};
use proctor_vocabulary::{
    CompletionSink, ElementType, Intent, QueryPart, QuerySample, QuerySampleResponse, ResponseId,
    SampleIndex, Scenario, TensorSpec,
};

/// Number of samples prepared.
const SAMPLE_COUNT: u64 = 4;

/// Size of the requested memory, in bytes.
const PAGE_BYTES: usize = 4096;

/// Size of an answer in bytes.
const ANSWER_BYTES: usize = 40;

/// Checks the host on a plugin that the bytes make, by the first of them: its tables, its answers, or how it is set up.
///
/// The host refuses in a sentence, and what it takes makes sense; it completes each sample of a batch once
/// and hands on no answer of another size, and it reads no memory but what the plugin has (which the address sanitizer
/// sees).
///
/// # Panics
/// If an invariant does not hold.
pub fn check_plugin(data: &[u8]) {
    let (first, rest) = data.split_first().unwrap_or((&0, &[]));
    match first % 3 {
        0 => check_tables(rest),
        1 => with_opened(|opened| opened.check_answers(rest)),
        _ => with_opened(|opened| opened.check_setup(rest)),
    }
}

fn load() -> Result<LoadedPlugin, String> {
    LoadedPlugin::load(&PluginLocation::Linked(NAME)).map_err(|error| error.to_string())
}

fn check_tables(data: &[u8]) {
    contrive(data);
    let plugin = match load() {
        Ok(plugin) => plugin,
        Err(problem) => return assert_sentence(&problem),
    };
    let manifest = plugin.manifest();
    let is_in_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    assert!(!manifest.name.is_empty() && manifest.name.chars().all(is_in_name), "{:?}", manifest.name);
    assert!(!manifest.models.is_empty() && manifest.models.iter().all(|row| !row.scenarios.is_empty()));
    for words in [&manifest.vendor, &manifest.version, &manifest.license, &manifest.description] {
        assert!(!words.contains(char::is_control), "{words:?}");
    }
    plugin.options(&BTreeMap::new()).expect("each default is a value of its option");
}

fn with_opened(act: impl FnOnce(&mut Opened)) {
    thread_local! {
        // Opened once: each opening leaks the host's table, which the plugin may keep for ever. Never closed: at the
        // end of the thread nothing of the plugin exists.
        static OPENED: RefCell<Option<ManuallyDrop<Opened>>> = const { RefCell::new(None) };
    }
    OPENED.with_borrow_mut(|opened| {
        act(opened.get_or_insert_with(|| ManuallyDrop::new(Opened::new())));
    });
}

/// The plugin without a fault, ready for batches and queries.
struct Opened {
    instance: Instance,
    issuers: Vec<Issuer>,
    _model: Model,
    backend: Backend,
    /// One without a model.
    second: Backend,
    sink: Arc<Sink>,
}

impl Opened {
    fn new() -> Self {
        contrive(&[]);
        let plugin = load().expect("without bytes it is right");
        let options = plugin.options(&BTreeMap::new()).expect("it has none");
        let services = HostServices { now_ns: Arc::new(|| 1_000), cache_folder: None };
        let open = || plugin.open(&options, services.clone()).expect("without bytes it is right");
        let (backend, second) = (open(), open());
        let sink = Arc::new(Sink::default());
        backend.set_sink(Some(Arc::clone(&sink) as _));
        let model = backend.load_model(&demand()).expect("without bytes it is right");
        let instance = model.create_instance(0).expect("without bytes it is right");
        let indices: Vec<_> = (0..SAMPLE_COUNT).map(SampleIndex).collect();
        model.prepare(&indices, Arc::new(NoInputs)).expect("there is nothing to prepare");
        model.start().expect("without bytes it is right");
        let issuers = model.issuers(1).expect("it takes queries");
        Self { instance, issuers, _model: model, backend, second, sink }
    }

    fn check_answers(&mut self, data: &[u8]) {
        contrive(data);
        let sample = |index| QuerySample { id: ResponseId(index + 1), index: SampleIndex(index) };
        let batch: Vec<_> = (0..SAMPLE_COUNT).map(sample).collect();
        if let Err(error) = self.instance.execute(&batch) {
            assert_sentence(&error.to_string());
        }
        let before = self.sink.count.load(Relaxed);
        self.instance.complete(&batch, &*self.sink);
        assert_eq!(self.sink.count.load(Relaxed) - before, SAMPLE_COUNT, "each sample is completed once");
        if let Err(error) = self.issuers[0].issue(QueryPart::whole(&batch)) {
            assert_sentence(&error.to_string());
        }
        self.check_notes();
    }

    /// Opens another backend that lies, and lets it list devices, load a model and allocate memory.
    fn check_setup(&mut self, data: &[u8]) {
        contrive(data);
        let refused = self.set_up().err();
        refused.iter().for_each(|error| assert_sentence(&error.to_string()));
        self.check_notes();
    }

    fn set_up(&mut self) -> Result<(), PluginHostError> {
        let backend = &self.second;
        for device in backend.devices()?.devices {
            assert_sentence(&device.name);
        }
        let input =
            TensorSpec { name: "image".to_owned(), element_type: ElementType::F32, shape: vec![3, 4, 4] };
        let demand = ModelDemand { inputs: vec![input], ..demand() };
        let model = backend.load_model(&demand)?;
        if let Some(mut range) = model.allocate(PAGE_BYTES)? {
            range.bytes_mut().fill(1);
            range.finish()?;
        }
        Ok(())
    }

    /// Checks the host's notes about the plugin.
    fn check_notes(&self) {
        for host in [self.backend.host_side(), self.second.host_side()] {
            host.take_faults().iter().for_each(|fault| assert_sentence(&fault.to_string()));
            host.take_failures().0.iter().for_each(|failure| assert_sentence(&failure.to_string()));
            for (name, metric) in host.metrics() {
                assert!(name.chars().all(|c| c.is_ascii_graphic()), "{name:?}");
                assert!(metric.last.is_finite() && metric.least <= metric.greatest, "{metric:?}");
            }
        }
    }
}

fn demand() -> ModelDemand {
    ModelDemand {
        model: "any".to_owned(),
        precision: None,
        device: None,
        files: vec![("onnx".to_owned(), "any.onnx".into())],
        inputs: Vec::new(),
        outputs: vec![TensorSpec {
            name: "logits".to_owned(),
            element_type: ElementType::F32,
            shape: vec![ANSWER_BYTES / size_of::<f32>()],
        }],
        last_output_varies: false,
        inputs_vary: false,
        scenario: Scenario::Server,
        batch_size_max: u32::try_from(SAMPLE_COUNT).expect("it is small"),
        instance_count: 1,
        intent: Intent::default(),
        placements: Vec::new(),
    }
}

struct NoInputs;

impl SampleBuffers for NoInputs {
    fn tensor(&self, _: SampleIndex, _: usize) -> &[u8] {
        &[]
    }
}

/// Counts completions, and reads their data.
#[derive(Default)]
struct Sink {
    count: AtomicU64,
}

impl CompletionSink for Sink {
    fn complete(&self, responses: &[QuerySampleResponse<'_>]) {
        for response in responses {
            let size = if response.status.is_ok() { ANSWER_BYTES } else { 0 };
            assert_eq!(response.data.len(), size, "{:?}", response.id);
            assert_eq!(
                response.data.iter().fold(0, |bits, byte| bits | byte) & 0x80,
                0,
                "there are no such bytes"
            );
            self.count.fetch_add(1, Relaxed);
        }
    }

    fn first_token(&self, responses: &[QuerySampleResponse<'_>]) {
        assert!(responses.iter().all(|response| response.data.len() <= ANSWER_BYTES));
    }

    fn tokens(&self, _: u64, _: ResponseId, token_count: u32) {
        assert!(token_count > 0);
    }
}

/// Asserts that a text can be shown on one line.
fn assert_sentence(text: &str) {
    assert!(!text.is_empty() && !text.contains(char::is_control), "{text:?}");
}
