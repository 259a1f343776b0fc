//! Turns a demand into the request of the ABI.

mod input_form;

use std::{path::PathBuf, ptr};

use proctor_plugin_api::{
    Placement,
    abi::{
        PROCTOR_REQUEST_INPUTS_VARY, PROCTOR_REQUEST_LAST_OUTPUT_VARIES, ProctorFile, ProctorModel,
        ProctorModelRequest, ProctorPlacement, ProctorTensorSpec,
    },
    vocabulary::TensorSpec,
};

use crate::{
    call::Call,
    error::PluginHostError,
    guard::{activity::Activity, checked::checked, handlers::watched},
    load::manifest::scenario_bit,
    objects::{
        backend::BackendInner,
        demand::{Match, ModelDemand},
        handle::{Handle, borrowed},
    },
};

/// Returns the extents of each tensor in the form of the ABI.
pub(crate) fn shapes_of(specs: &[TensorSpec]) -> Vec<Box<[u64]>> {
    specs.iter().map(|spec| spec.shape.iter().map(|&extent| extent as u64).collect()).collect()
}

fn raw_specs(specs: &[TensorSpec], shapes: &[Box<[u64]>]) -> Vec<ProctorTensorSpec> {
    let raw = |spec: &TensorSpec, shape: &[u64]| ProctorTensorSpec {
        name: borrowed(&spec.name),
        shape: shape.as_ptr(),
        rank: u32::try_from(shape.len()).expect("a tensor has few dimensions"),
        element_type: spec.element_type as u32,
    };
    specs.iter().zip(shapes).map(|(spec, shape)| raw(spec, shape)).collect()
}

/// Returns a placement in the form of the ABI, which borrows the list of processors.
pub(super) fn raw_placement(placement: &Placement) -> ProctorPlacement {
    let Placement { instance_index, instance_count, cpus, device_index } = placement;
    ProctorPlacement {
        size: size_of::<ProctorPlacement>(),
        instance_index: *instance_index,
        instance_count: *instance_count,
        cpus: if cpus.is_empty() { ptr::null() } else { cpus.as_ptr() },
        cpu_count: cpus.len(),
        device_index: *device_index,
        reserved: 0,
    }
}

fn flags(demand: &ModelDemand) -> u32 {
    let bits = [
        (demand.last_output_varies, PROCTOR_REQUEST_LAST_OUTPUT_VARIES),
        (demand.inputs_vary, PROCTOR_REQUEST_INPUTS_VARY),
    ];
    bits.iter().filter(|(is_set, _)| *is_set).fold(0, |flags, (_, bit)| flags | bit)
}

/// Calls the plugin with the request for a model, which lives for the call.
fn with_request<R>(demand: &ModelDemand, found: &Match, call: impl FnOnce(&ProctorModelRequest) -> R) -> R {
    let absolute = |(format, path): &(String, PathBuf)| {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
        (format.clone(), path.to_string_lossy().into_owned())
    };
    let files: Vec<(String, String)> = found.files.iter().map(absolute).collect();
    let raw_files: Vec<ProctorFile> = files
        .iter()
        .map(|(format, path)| ProctorFile { format: borrowed(format), path: borrowed(path) })
        .collect();
    let (input_shapes, output_shapes) = (shapes_of(&demand.inputs), shapes_of(&demand.outputs));
    let inputs = raw_specs(&demand.inputs, &input_shapes);
    let outputs = raw_specs(&demand.outputs, &output_shapes);
    let placements: Vec<ProctorPlacement> = demand.placements.iter().map(raw_placement).collect();
    let intent = &demand.intent;
    let request = ProctorModelRequest {
        size: size_of::<ProctorModelRequest>(),
        model: borrowed(&demand.model),
        precision: borrowed(&found.precision),
        device: borrowed(&found.device),
        files: raw_files.as_ptr(),
        file_count: raw_files.len(),
        file_stride: size_of::<ProctorFile>(),
        inputs: inputs.as_ptr(),
        input_count: inputs.len(),
        outputs: outputs.as_ptr(),
        output_count: outputs.len(),
        tensor_spec_stride: size_of::<ProctorTensorSpec>(),
        scenario: scenario_bit(demand.scenario),
        batch_size_max: demand.batch_size_max,
        instance_count: demand.instance_count,
        flags: flags(demand),
        latency_bound_ns: intent.latency_bound_ns.unwrap_or(0),
        first_token_bound_ns: intent.first_token_bound_ns.unwrap_or(0),
        per_token_bound_ns: intent.per_token_bound_ns.unwrap_or(0),
        target_qps: intent.target_qps.unwrap_or(0.0),
        samples_per_query: intent.samples_per_query.unwrap_or(0),
        expected_batch_size: intent.expected_batch_size.unwrap_or(0),
        reserved: 0,
        placements: placements.as_ptr(),
        placement_count: placements.len(),
        placement_stride: size_of::<ProctorPlacement>(),
    };
    call(&request)
}

/// Sends the request, and returns the handle of the model.
pub(crate) fn load_handle(
    backend: &BackendInner,
    activity: &'static Activity,
    demand: &ModelDemand,
    found: &Match,
) -> Result<Handle<ProctorModel>, PluginHostError> {
    let mut model = ptr::null_mut();
    let load = required!(backend.library.table(), load_model);
    with_request(demand, found, |request| {
        let call = |error: *mut _| {
            // SAFETY: the function is that of a checked table; the handle is live; the request and all that it points
            // to, the room for the model and `error` live for the call.
            unsafe { load(backend.handle.get(), request, &raw mut model, error) }
        };
        watched(backend.plugin(), Call::LoadModel, || checked(activity, Call::LoadModel, call))
    })?;
    Handle::new(model, backend.plugin(), Call::LoadModel)
}
