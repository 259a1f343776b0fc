//! A plugin as a host of a later minor version would call it: each structure is longer than this host has it, and the
//! elements of each array are farther apart.
//!
//! A table in front of the plugin's own copies this host's data into such structures, makes the call, and
//! copies the plugin's output back.

use std::{ptr, sync::OnceLock};

use proctor_plugin_api::abi::{
    ProctorBackend, ProctorBatch, ProctorBatchSample, ProctorError, ProctorFile, ProctorHost,
    ProctorInstance, ProctorModel, ProctorModelRequest, ProctorOpenRequest, ProctorOptionValue,
    ProctorOutput, ProctorPlacement, ProctorPlugin, ProctorPreparedSample, ProctorQuery, ProctorQuerySample,
    ProctorSampleSet, ProctorStatus, ProctorTensor, ProctorTensorSpec,
};

use crate::{
    call::functions,
    load::{
        loaded_plugin::LoadedPlugin,
        other_hosts::Grown,
        table::{IssueFunction, Table},
    },
};

/// The plugin behind the table: the only one of the process that is called so.
struct Real {
    table: ProctorPlugin,
    issue: Option<IssueFunction>,
    warm_up_query: Option<IssueFunction>,
}

static REAL: OnceLock<Real> = OnceLock::new();

impl LoadedPlugin {
    /// Returns the plugin as a host of a later minor version calls it, to be opened and used as any other. The
    /// functions of drafts are called as ever, but batches are not submitted. Sample memory is never freed.
    ///
    /// Only the first plugin for which this is requested in a process is called so: it is for a test in its
    /// own process.
    #[must_use]
    pub fn under_newer_host(&self) -> Self {
        let table = self.table();
        let real =
            || Real { table: copy_of(&table.raw), issue: table.issue, warm_up_query: table.warm_up_query };
        let real = REAL.get_or_init(real);
        let raw = ProctorPlugin {
            open: real.table.open.map(|_| open as _),
            load_model: real.table.load_model.map(|_| load_model as _),
            create_instance: real.table.create_instance.map(|_| create_instance as _),
            prepare_samples: real.table.prepare_samples.map(|_| prepare_samples as _),
            warm_up: real.table.warm_up.map(|_| warm_up as _),
            execute: real.table.execute.map(|_| execute as _),
            ..copy_of(&real.table)
        };
        self.with_table(Table {
            raw,
            issue: real.issue.map(|_| issue as _),
            warm_up_query: real.warm_up_query.map(|_| warm_up_query as _),
            execute_virtual: table.execute_virtual,
            thread: table.thread,
            submit: None,
            live: None,
        })
    }
}

fn copy_of(table: &ProctorPlugin) -> ProctorPlugin {
    // SAFETY: a live table, which is plain data.
    unsafe { ptr::read(table) }
}

/// Returns the plugin behind the table.
fn real() -> &'static Real {
    REAL.get().expect("the table is handed out after the plugin was noted")
}

/// Copies an array of this host, whose elements lie side by side.
///
/// # Safety
/// There are `count` elements at `first`, which are plain data.
unsafe fn grown<T>(first: *const T, count: usize) -> Vec<Grown<T>> {
    // SAFETY: the caller's promise.
    (0..count).map(|index| Grown::new(unsafe { first.add(index).read() })).collect()
}

functions! {
    fn open(request: *const ProctorOpenRequest, backend: *mut *mut ProctorBackend; error) {
        // SAFETY: this host hands over a whole request, with its options; its table stays for ever.
        let (request, options, host) = unsafe {
            let request = request.read();
            let options = grown(request.options, request.option_count);
            let host = longer_host(&*request.host);
            (request, options, host)
        };
        let request = Grown::new(ProctorOpenRequest {
            size: size_of::<Grown<ProctorOpenRequest>>(),
            host,
            options: options.as_ptr().cast(),
            option_stride: size_of::<Grown<ProctorOptionValue>>(),
            ..request
        });
        let open = real().table.open.expect("it is there, or this would not be");
        // SAFETY: the plugin's own function, with arguments that live for the call; the host's table is leaked.
        unsafe { open((&raw const request).cast(), backend, error) }
    }

    fn load_model(
        backend: *mut ProctorBackend,
        request: *const ProctorModelRequest,
        model: *mut *mut ProctorModel;
        error
    ) {
        // SAFETY: this host hands over a whole request, with its arrays.
        let (request, files, inputs, outputs, placements) = unsafe {
            let request = request.read();
            let files = grown(request.files, request.file_count);
            let inputs = grown(request.inputs, request.input_count);
            let outputs = grown(request.outputs, request.output_count);
            let mut placements = grown(request.placements, request.placement_count);
            placements.iter_mut().for_each(|it| it.known.size = size_of::<Grown<ProctorPlacement>>());
            (request, files, inputs, outputs, placements)
        };
        let request = Grown::new(ProctorModelRequest {
            size: size_of::<Grown<ProctorModelRequest>>(),
            files: files.as_ptr().cast(),
            file_stride: size_of::<Grown<ProctorFile>>(),
            inputs: inputs.as_ptr().cast(),
            outputs: outputs.as_ptr().cast(),
            tensor_spec_stride: size_of::<Grown<ProctorTensorSpec>>(),
            placements: placements.as_ptr().cast(),
            placement_stride: size_of::<Grown<ProctorPlacement>>(),
            ..request
        });
        let load_model = real().table.load_model.expect("it is there, or this would not be");
        // SAFETY: the plugin's own function, with arguments that live for the call.
        unsafe { load_model(backend, (&raw const request).cast(), model, error) }
    }

    fn create_instance(
        model: *mut ProctorModel,
        placement: *const ProctorPlacement,
        instance: *mut *mut ProctorInstance;
        error
    ) {
        // SAFETY: this host hands over a whole placement.
        let placement = unsafe { placement.read() };
        let size = size_of::<Grown<ProctorPlacement>>();
        let placement = Grown::new(ProctorPlacement { size, ..placement });
        let create = real().table.create_instance.expect("it is there, or this would not be");
        // SAFETY: the plugin's own function, with arguments that live for the call.
        unsafe { create(model, (&raw const placement).cast(), instance, error) }
    }

    fn prepare_samples(model: *mut ProctorModel, set: *const ProctorSampleSet; error) {
        // SAFETY: this host hands over a whole set, with samples and inputs that stay until they are released.
        let (set, mut samples) = unsafe {
            let set = set.read();
            let samples = grown(set.samples, set.sample_count);
            (set, samples)
        };
        for sample in &mut samples {
            // SAFETY: as above.
            let inputs = unsafe { grown(sample.known.inputs, sample.known.input_count) };
            sample.known.inputs = inputs.leak().as_ptr().cast();
        }
        let set = Box::leak(Box::new(Grown::new(ProctorSampleSet {
            size: size_of::<Grown<ProctorSampleSet>>(),
            samples: samples.leak().as_ptr().cast(),
            sample_stride: size_of::<Grown<ProctorPreparedSample>>(),
            input_stride: size_of::<Grown<ProctorTensor>>(),
            // Ranges are left out, as by a host whose samples do not lie in whole pages.
            ranges: ptr::null(),
            range_count: 0,
            ..set
        })));
        let prepare = real().table.prepare_samples.expect("it is there, or this would not be");
        // SAFETY: the plugin's own function; the set stays for ever, the bytes of the samples until they are released.
        unsafe { prepare(model, ptr::from_ref(set).cast(), error) }
    }
}

/// Returns the host's table, longer, and forever.
fn longer_host(host: &ProctorHost) -> *const ProctorHost {
    // SAFETY: a live table, which is plain data.
    let copy = unsafe { ptr::read(host) };
    let longer = Grown::new(ProctorHost { size: size_of::<Grown<ProctorHost>>(), ..copy });
    ptr::from_ref(Box::leak(Box::new(longer))).cast()
}

type BatchFunction =
    unsafe extern "C" fn(*mut ProctorInstance, *mut ProctorBatch, *mut ProctorError) -> ProctorStatus;

/// Functions that hand a batch or a query over in longer structures.
macro_rules! hand_over {
    ($($name:ident: $($place:ident).+ by $run:ident($handle:ty, $given:ty);)+) => {$(
        unsafe extern "C" fn $name(handle: $handle, given: $given, error: *mut ProctorError) -> ProctorStatus {
            let function = real().$($place).+.expect("it is there, or this would not be");
            // SAFETY: this host hands over a whole batch or query, which is the plugin's for the call.
            unsafe { $run(function, handle, given, error) }
        }
    )+};
}

hand_over! {
    execute: table.execute by run(*mut ProctorInstance, *mut ProctorBatch);
    warm_up: table.warm_up by run(*mut ProctorInstance, *mut ProctorBatch);
    issue: issue by take(*mut ProctorModel, *const ProctorQuery);
    warm_up_query: warm_up_query by take(*mut ProctorModel, *const ProctorQuery);
}

/// Runs a batch in longer structures, and copies the plugin's output back.
///
/// # Safety
/// The batch belongs to this host, with everything that it points to, and no other code touches it meanwhile.
unsafe fn run(
    function: BatchFunction,
    instance: *mut ProctorInstance,
    batch: *mut ProctorBatch,
    error: *mut ProctorError,
) -> ProctorStatus {
    // SAFETY: the caller's promise.
    let (known, mut samples) = unsafe {
        let known = batch.read();
        let samples = grown(known.samples, known.sample_count);
        (known, samples)
    };
    let (given, mut rooms) = (known.samples, Vec::with_capacity(samples.len()));
    for sample in &mut samples {
        let ProctorBatchSample { inputs, input_count, outputs, output_count, .. } = sample.known;
        // SAFETY: the caller's promise.
        let (inputs, mut outputs) = unsafe { (grown(inputs, input_count), grown(outputs, output_count)) };
        sample.known.inputs = inputs.as_ptr().cast();
        sample.known.outputs = outputs.as_mut_ptr().cast();
        rooms.push((inputs, outputs));
    }
    let mut longer = Grown::new(ProctorBatch {
        size: size_of::<Grown<ProctorBatch>>(),
        samples: samples.as_mut_ptr().cast(),
        sample_stride: size_of::<Grown<ProctorBatchSample>>(),
        input_stride: size_of::<Grown<ProctorTensor>>(),
        output_stride: size_of::<Grown<ProctorOutput>>(),
        ..known
    });
    // SAFETY: the plugin's own function, with arguments that live for the call.
    let status = unsafe { function(instance, (&raw mut longer).cast(), error) };
    for (index, (sample, (_, outputs))) in samples.iter().zip(rooms).enumerate() {
        // SAFETY: the caller's promise: as many samples and outputs were given as were copied.
        unsafe {
            let back = given.add(index);
            (*back).status = sample.known.status;
            (*back).token_count = sample.known.token_count;
            (*back).message = ptr::read(&raw const sample.known.message);
            (*back).vendor_code = sample.known.vendor_code;
            for (number, output) in outputs.into_iter().enumerate() {
                (*back).outputs.add(number).write(output.known);
            }
        }
    }
    // SAFETY: as above.
    unsafe {
        (*batch).stages = longer.known.stages;
        (*batch).stage_count = longer.known.stage_count;
        (*batch).stage_stride = longer.known.stage_stride;
    }
    status
}

/// Hands over a query in longer structures.
///
/// # Safety
/// The query is one of this host, with its samples.
unsafe fn take(
    function: IssueFunction,
    model: *mut ProctorModel,
    query: *const ProctorQuery,
    error: *mut ProctorError,
) -> ProctorStatus {
    // SAFETY: the caller's promise.
    let (query, samples) = unsafe {
        let query = query.read();
        let samples = grown(query.samples, query.sample_count);
        (query, samples)
    };
    let longer = Grown::new(ProctorQuery {
        size: size_of::<Grown<ProctorQuery>>(),
        samples: samples.as_ptr().cast(),
        sample_stride: size_of::<Grown<ProctorQuerySample>>(),
        ..query
    });
    // SAFETY: the plugin's own function, with arguments that live for the call.
    unsafe { function(model, (&raw const longer).cast(), error) }
}
