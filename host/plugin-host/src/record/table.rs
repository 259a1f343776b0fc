//! The table of a plugin that is recorded.

use std::{collections::BTreeMap, sync::atomic::Ordering};

use proctor_plugin_api::{abi::*, versioned::Elements, vocabulary::ElementType};

use crate::{
    call::{Call, functions},
    record::{
        batch::with_batch,
        extensions::extension,
        host,
        line::Begun,
        read::{elements, inputs_of, text},
        recording::recording,
    },
};

/// Returns the functions that record, for the functions that the plugin has. Optional functions that report the life of
/// a model are always there, so that the samples are hashed, and builds with and without them can be compared.
pub(super) fn of(plugin: &ProctorPlugin) -> ProctorPlugin {
    ProctorPlugin {
        size: size_of::<ProctorPlugin>(),
        abi_major: plugin.abi_major,
        abi_minor: plugin.abi_minor,
        describe: plugin.describe,
        open: plugin.open.and(Some(open)),
        load_model: plugin.load_model.and(Some(load_model)),
        create_instance: plugin.create_instance.and(Some(create_instance)),
        prepare_samples: Some(prepare_samples),
        release_samples: Some(release_samples),
        warm_up: plugin.warm_up.and(Some(warm_up)),
        start: Some(start),
        execute: plugin.execute.and(Some(execute)),
        flush: Some(flush),
        stop: Some(stop),
        destroy_instance: plugin.destroy_instance.and(Some(destroy_instance)),
        unload_model: plugin.unload_model.and(Some(unload_model)),
        close: plugin.close.and(Some(close)),
        extension: plugin.extension.and(Some(extension)),
    }
}

/// Defines a call for a model or a backend that reports only its status; OK if the plugin has no such function.
macro_rules! plain {
    ($($name:ident($handle:ty): $call:ident;)+) => {$(
        unsafe extern "C" fn $name(handle: *mut $handle, error: *mut ProctorError) -> ProctorStatus {
            let recording = recording();
            let call = || match recording.plugin.$name {
                // SAFETY: the host's call, handed on as it came.
                Some(function) => unsafe { function(handle, error) },
                None => PROCTOR_STATUS_OK,
            };
            // SAFETY: the host vouches for its room for a message.
            unsafe { recording.note(Call::$call, None, error, call) }
        }
    )+};
}

plain! {
    release_samples(ProctorModel): ReleaseSamples;
    start(ProctorModel): Start;
    flush(ProctorModel): Flush;
    stop(ProctorModel): Stop;
    unload_model(ProctorModel): UnloadModel;
    close(ProctorBackend): Close;
}

functions! {
    fn open(request: *const ProctorOpenRequest, backend: *mut *mut ProctorBackend; error) {
        let recording = recording();
        // SAFETY: the request is this host's own, with its options and its table, for the call.
        let (arguments, recorded) = unsafe {
            let given = &*request;
            let options: Elements<'_, ProctorOptionValue> =
                elements(given.options, given.option_count, given.option_stride);
            let arguments: BTreeMap<_, _> = options.iter().map(|option| option_in_words(&option)).collect();
            let host = host::of(&*given.host);
            (arguments, ProctorOpenRequest { host, ..std::ptr::read(request) })
        };
        let with = Begun { arguments, ..Begun::default() };
        let open = recording.plugin.open.expect("it is recorded because it is there");
        // SAFETY: the host's call with another table, which stays for ever.
        unsafe { recording.note_with(Call::Open, with, error, || open(&raw const recorded, backend, error)) }
    }

    fn load_model(
        backend: *mut ProctorBackend,
        request: *const ProctorModelRequest,
        model: *mut *mut ProctorModel;
        error
    ) {
        let recording = recording();
        // SAFETY: the request is this host's own, with all that it points to, for the call.
        let (arguments, answer_bytes) = unsafe { request_in_words(&*request) };
        recording.answer_bytes_max.store(answer_bytes, Ordering::Relaxed);
        let with = Begun { arguments, ..Begun::default() };
        let load = recording.plugin.load_model.expect("it is recorded because it is there");
        // SAFETY: the host's call, handed on as it came.
        unsafe { recording.note_with(Call::LoadModel, with, error, || load(backend, request, model, error)) }
    }

    fn create_instance(
        model: *mut ProctorModel,
        placement: *const ProctorPlacement,
        instance: *mut *mut ProctorInstance;
        error
    ) {
        let recording = recording();
        // SAFETY: the placement is this host's own.
        let number = unsafe { (*placement).instance_index };
        let create = recording.plugin.create_instance.expect("it is recorded because it is there");
        // SAFETY: the host's call, handed on as it came; the room for the handle is the host's own.
        unsafe {
            let call = || create(model, placement, instance, error);
            let status = recording.note(Call::CreateInstance, Some(number), error, call);
            if status == PROCTOR_STATUS_OK {
                recording.add_instance(*instance, number);
            }
            status
        }
    }

    fn prepare_samples(model: *mut ProctorModel, samples: *const ProctorSampleSet; error) {
        let recording = recording();
        // SAFETY: the set is this host's own.
        let prepared = unsafe { inputs_of(&*samples) };
        let mut listed = std::mem::take(&mut *recording.listed.lock());
        if listed.iter().eq(prepared.iter().map(|input| &input.index)) {
            listed.clear();
        }
        let with = Begun { prepared, listed, ..Begun::default() };
        let call = || match recording.plugin.prepare_samples {
            // SAFETY: the host's call, handed on as it came.
            Some(prepare) => unsafe { prepare(model, samples, error) },
            None => PROCTOR_STATUS_OK,
        };
        // SAFETY: the host vouches for its room for a message.
        unsafe { recording.note_with(Call::PrepareSamples, with, error, call) }
    }

    fn warm_up(instance: *mut ProctorInstance, batch: *mut ProctorBatch; error) {
        let warm_up = recording().plugin.warm_up.expect("it is recorded because it is there");
        // SAFETY: the host's call, handed on as it came.
        unsafe {
            let act = || (warm_up(instance, batch, error), None);
            with_batch(Call::WarmUp, instance, batch, error, Begun::default(), act)
        }
    }

    fn execute(instance: *mut ProctorInstance, batch: *mut ProctorBatch; error) {
        let execute = recording().plugin.execute.expect("it is recorded because it is there");
        // SAFETY: the host's call, handed on as it came.
        unsafe {
            let act = || (execute(instance, batch, error), None);
            with_batch(Call::Execute, instance, batch, error, Begun::default(), act)
        }
    }

    fn destroy_instance(instance: *mut ProctorInstance; error) {
        let recording = recording();
        let destroy = recording.plugin.destroy_instance.expect("it is recorded because it is there");
        // SAFETY: the host's call, handed on as it came.
        unsafe {
            let call = || destroy(instance, error);
            recording.note(Call::DestroyInstance, recording.instance(instance), error, call)
        }
    }
}

/// # Safety
/// The value is this host's own.
unsafe fn option_in_words(value: &ProctorOptionValue) -> (String, String) {
    let words = match value.kind {
        PROCTOR_OPTION_BOOLEAN => (value.integer != 0).to_string(),
        PROCTOR_OPTION_INTEGER => value.integer.to_string(),
        PROCTOR_OPTION_FLOAT => value.number.to_string(),
        // SAFETY: the caller's promise.
        _ => unsafe { text(&value.text) },
    };
    // SAFETY: as above.
    (unsafe { text(&value.name) }, words)
}

/// Returns the demands of a request, without paths, and the number of bytes of an answer.
///
/// # Safety
/// The request is this host's own.
unsafe fn request_in_words(request: &ProctorModelRequest) -> (BTreeMap<String, String>, usize) {
    let stride = request.tensor_spec_stride;
    // SAFETY: the caller's promise.
    let (files, inputs, outputs) = unsafe {
        let files: Elements<'_, ProctorFile> =
            elements(request.files, request.file_count, request.file_stride);
        let formats: Vec<_> = files.iter().map(|file| text(&file.format)).collect();
        let inputs = tensors_in_words(elements(request.inputs, request.input_count, stride));
        (formats, inputs, tensors_in_words(elements(request.outputs, request.output_count, stride)))
    };
    // SAFETY: as above.
    let [model, precision, device] =
        [&request.model, &request.precision, &request.device].map(|name| unsafe { text(name) });
    let words = [
        ("model", model),
        ("precision", precision),
        ("device", device),
        ("files", files.join(", ")),
        ("inputs", inputs.0),
        ("outputs", outputs.0),
        ("scenario", request.scenario.to_string()),
        ("batch_size_max", request.batch_size_max.to_string()),
        ("instance_count", request.instance_count.to_string()),
        ("flags", request.flags.to_string()),
    ];
    (words.map(|(name, value)| (name.to_owned(), value)).into(), outputs.1)
}

/// Returns the name, type and shape of each tensor, and the bytes of all of them.
///
/// # Safety
/// The tensors are this host's own.
unsafe fn tensors_in_words(tensors: Elements<'_, ProctorTensorSpec>) -> (String, usize) {
    let mut size_bytes = 0;
    let in_words = |tensor: ProctorTensorSpec| {
        let rank = tensor.rank as usize;
        // SAFETY: the caller's promise.
        let shape = if rank == 0 { &[] } else { unsafe { std::slice::from_raw_parts(tensor.shape, rank) } };
        let element_type = ElementType::from_code(tensor.element_type).map_or("?", ElementType::name);
        let count = shape
            .iter()
            .try_fold(1, |count: usize, extent| count.checked_mul(usize::try_from(*extent).ok()?));
        size_bytes += ElementType::from_code(tensor.element_type)
            .map_or(0, |element_type| element_type.bytes_of(count.unwrap_or(0)));
        // SAFETY: the caller's promise.
        format!("{} {element_type}{shape:?}", unsafe { text(&tensor.name) })
    };
    // SAFETY: the caller's promise.
    let words: Vec<_> = unsafe { tensors.iter() }.map(in_words).collect();
    (words.join(", "), size_bytes)
}
