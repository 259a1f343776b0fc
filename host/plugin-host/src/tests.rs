//! A plugin made by hand: raw tables, as a vendor in C would write them, with a defect for each test.

mod astray;
// Miri starts no process, handles no signal and opens no shared library.
#[cfg(not(miri))]
mod crashing;
mod explaining;
#[cfg(not(miri))]
mod files;
mod memory;
mod plugin;
#[cfg(not(miri))]
mod recording;
mod running;
mod tables;

use std::{collections::BTreeMap, ptr, sync::Arc};

use parking_lot::Mutex;
use proctor_plugin_api::{
    Options, Placement,
    abi::*,
    vocabulary::{
        CompletionSink, ElementType, Intent, QuerySample, QuerySampleResponse, ResponseId, SampleIndex,
        Scenario, TensorSpec,
    },
};

use plugin::*;

use crate::{
    Backend, HostServices, LoadedPlugin, Model, ModelDemand, PluginHostError, SampleBuffers,
    load::loaded_plugin::Origin,
};

fn leak<T>(value: T) -> &'static mut T {
    Box::leak(Box::new(value))
}

fn text(text: &'static str) -> ProctorString {
    ProctorString { data: text.as_ptr(), length: text.len() }
}

const NULL: ProctorString = ProctorString { data: ptr::null(), length: 0 };

/// A table without defects.
fn table() -> ProctorPlugin {
    ProctorPlugin {
        size: size_of::<ProctorPlugin>(),
        abi_major: PROCTOR_ABI_MAJOR,
        abi_minor: PROCTOR_ABI_MINOR,
        describe: Some(describe),
        open: Some(open),
        load_model: Some(load_model),
        create_instance: Some(create_instance),
        prepare_samples: Some(prepare_samples),
        release_samples: Some(release_samples),
        warm_up: None,
        start: Some(start),
        execute: Some(execute),
        flush: Some(flush),
        stop: Some(stop),
        destroy_instance: Some(destroy_instance),
        unload_model: Some(unload_model),
        close: Some(close),
        extension: Some(extension),
    }
}

fn model_row() -> ProctorModelSupport {
    ProctorModelSupport {
        model: text("digits-lstm"),
        format: text("none"),
        precision: text("f32"),
        device: text("cpu"),
        scenarios: PROCTOR_SCENARIO_SERVER | PROCTOR_SCENARIO_OFFLINE,
        batch_size_max: 4,
        flags: 0,
        memory_bytes: 0,
    }
}

fn option_row() -> ProctorOptionSpec {
    ProctorOptionSpec {
        name: text("threads"),
        help: text("Threads."),
        default_value: text("2"),
        kind: PROCTOR_OPTION_INTEGER,
        choice_count: 0,
        choices: ptr::null(),
        integer_min: 1,
        integer_max: 8,
        float_min: 0.0,
        float_max: 0.0,
    }
}

/// A manifest without defects, with one model and one option.
fn manifest(models: Vec<ProctorModelSupport>, options: Vec<ProctorOptionSpec>) -> ProctorManifest {
    let (models, options) = (leak(models), leak(options));
    ProctorManifest {
        size: size_of::<ProctorManifest>(),
        name: text("hand-made"),
        vendor: NULL,
        version: text("1.2.3"),
        license: text("MIT"),
        description: NULL,
        capabilities: PROCTOR_CAPABILITY_EXECUTE | PROCTOR_CAPABILITY_ISSUE | PROCTOR_CAPABILITY_VIRTUAL_TIME,
        models: models.as_ptr(),
        model_count: models.len(),
        model_stride: size_of::<ProctorModelSupport>(),
        options: options.as_ptr(),
        option_count: options.len(),
        option_stride: size_of::<ProctorOptionSpec>(),
    }
}

fn load(table: ProctorPlugin, manifest: ProctorManifest) -> Result<LoadedPlugin, PluginHostError> {
    TABLE.set(leak(table));
    MANIFEST.set(leak(manifest));
    LoadedPlugin::from_entry(entry, "hand", Origin::linked(), &mut |_| ())
}

fn good_library() -> LoadedPlugin {
    load(table(), manifest(vec![model_row()], vec![option_row()])).unwrap()
}

fn good_backend() -> Backend {
    let library = good_library();
    let options = library.options(&BTreeMap::new()).unwrap();
    library
        .open(&options, HostServices { now_ns: Arc::new(|| 42), cache_folder: Some("/cache".into()) })
        .unwrap()
}

fn demand() -> ModelDemand {
    let spec = |name: &str, element_type, shape: &[usize]| TensorSpec {
        name: name.into(),
        element_type,
        shape: shape.into(),
    };
    ModelDemand {
        model: "digits-lstm".into(),
        precision: None,
        device: None,
        files: vec![],
        inputs: vec![spec("image", ElementType::U8, &[2, 4])],
        last_output_varies: false,
        inputs_vary: false,
        outputs: vec![spec("logits", ElementType::U8, &[8]), spec("label", ElementType::U8, &[])],
        scenario: Scenario::Server,
        batch_size_max: 3,
        instance_count: 2,
        intent: Intent::default(),
        placements: Vec::new(),
    }
}

#[repr(align(64))]
struct Aligned([u8; 8]);

/// Sample `i` is eight bytes of value `i`.
struct Buffers(Vec<Aligned>);

impl Buffers {
    fn new() -> Arc<Self> {
        Arc::new(Self((0..10).map(|index| Aligned([index; 8])).collect()))
    }
}

impl SampleBuffers for Buffers {
    fn tensor(&self, index: SampleIndex, _: usize) -> &[u8] {
        &self.0[usize::try_from(index.0).unwrap()].0
    }
}

fn prepare(model: &Model, indices: &[u64]) -> Result<(), PluginHostError> {
    let indices: Vec<SampleIndex> = indices.iter().copied().map(SampleIndex).collect();
    model.prepare(&indices, Buffers::new())
}

fn query(indices: &[u64]) -> Vec<QuerySample> {
    indices
        .iter()
        .map(|&index| QuerySample { id: ResponseId(100 + index), index: SampleIndex(index) })
        .collect()
}

/// Keeps id, status and data of each response, and the data of each first token.
#[derive(Default)]
struct Kept {
    responses: Mutex<Vec<(u64, i32, Vec<u8>)>>,
    first_tokens: Mutex<Vec<Vec<u8>>>,
}

impl CompletionSink for Kept {
    fn complete(&self, responses: &[QuerySampleResponse<'_>]) {
        let kept =
            responses.iter().map(|response| (response.id.0, response.status.0, response.data.to_vec()));
        self.responses.lock().extend(kept);
    }

    fn first_token(&self, responses: &[QuerySampleResponse<'_>]) {
        self.first_tokens.lock().extend(responses.iter().map(|response| response.data.to_vec()));
    }
}

impl Kept {
    fn take(&self) -> Vec<(u64, i32, Vec<u8>)> {
        std::mem::take(&mut self.responses.lock())
    }
}

/// Options given as text.
fn given(name: &str, value: &str) -> BTreeMap<String, String> {
    BTreeMap::from([(name.to_owned(), value.to_owned())])
}
