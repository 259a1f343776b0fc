//! The functions of the table for a plugin in Rust: each catches panics and turns results into statuses.

use std::{
    any::Any,
    ffi::c_void,
    marker::PhantomData,
    panic::{AssertUnwindSafe, catch_unwind},
    ptr,
};

use super::{
    batch::{Batch, submitted::SubmittedBatch},
    error::PluginError,
    forward,
    host::Host,
    manifest::{self, described},
    memory::PluginMemory,
    plugin::{Instance, Model, Plugin},
    query::Query,
    raw::{elements, slice_of, str_of, structure, text, write_error},
    request::{ModelRequest, Placement, PreparedSample, read_options},
    stage::spans,
};
use crate::abi;

/// The table of plugin `P`, and the tables of its extensions.
pub(super) struct Shims<P>(PhantomData<P>);

impl<P: Plugin> Shims<P> {
    pub(super) const TABLE: &'static abi::ProctorPlugin = &abi::ProctorPlugin {
        size: size_of::<abi::ProctorPlugin>(),
        abi_major: abi::PROCTOR_ABI_MAJOR,
        abi_minor: abi::PROCTOR_ABI_MINOR,
        describe: Some(describe::<P>),
        open: Some(open::<P>),
        load_model: Some(load_model::<P>),
        create_instance: Some(create_instance::<P>),
        prepare_samples: Some(prepare_samples::<P>),
        release_samples: Some(release_samples::<P>),
        warm_up: Some(warm_up::<P>),
        start: Some(start::<P>),
        execute: Some(execute::<P>),
        flush: Some(flush::<P>),
        stop: Some(stop::<P>),
        destroy_instance: Some(destroy_instance::<P>),
        unload_model: Some(unload_model::<P>),
        close: Some(close::<P>),
        extension: Some(extension::<P>),
    };
    const ISSUE: &'static abi::ProctorIssue = &abi::ProctorIssue {
        size: size_of::<abi::ProctorIssue>(),
        issue: Some(issue::<P>),
        warm_up: Some(warm_up_query::<P>),
    };
    const VIRTUAL_TIME: &'static abi::ProctorVirtualTime = &abi::ProctorVirtualTime {
        size: size_of::<abi::ProctorVirtualTime>(),
        execute: Some(execute_virtual::<P>),
    };
    const EXPLAIN: &'static abi::ProctorExplain =
        &abi::ProctorExplain { size: size_of::<abi::ProctorExplain>(), explain: Some(explain::<P>) };
    const ENERGY: &'static abi::ProctorEnergy =
        &abi::ProctorEnergy { size: size_of::<abi::ProctorEnergy>(), read: Some(read_energy::<P>) };
    const DEVICES: &'static abi::ProctorDevices = &abi::ProctorDevices {
        size: size_of::<abi::ProctorDevices>(),
        flags: if P::CREATES_IN_PARALLEL { abi::PROCTOR_DEVICES_PARALLEL } else { 0 },
        reserved: 0,
        list: Some(list_devices::<P>),
    };
    const INPUT_FORMS: &'static abi::ProctorInputForms = &abi::ProctorInputForms {
        size: size_of::<abi::ProctorInputForms>(),
        choose: Some(choose_input_form::<P>),
    };
    const MEMORY: &'static abi::ProctorMemory = &abi::ProctorMemory {
        size: size_of::<abi::ProctorMemory>(),
        allocate: Some(allocate::<P>),
        free: Some(free::<P>),
        copy: Some(copy::<P>),
    };
}

impl<P: Plugin> Shims<P> {
    const INSTANCE_THREAD: &'static abi::ProctorInstanceThread = &abi::ProctorInstanceThread {
        size: size_of::<abi::ProctorInstanceThread>(),
        begin: Some(begin_thread::<P>),
        end: Some(end_thread::<P>),
    };
    const LIVE_INSTANCES: &'static abi::ProctorLiveInstances = &abi::ProctorLiveInstances {
        size: size_of::<abi::ProctorLiveInstances>(),
        create: Some(create_instance::<P>),
        destroy: Some(destroy_instance::<P>),
    };
    const SUBMIT: &'static abi::ProctorSubmit = &abi::ProctorSubmit {
        size: size_of::<abi::ProctorSubmit>(),
        in_flight_max: Some(in_flight_max::<P>),
        submit: Some(submit::<P>),
    };
}

type ModelOf<P> = <P as Plugin>::Model;
type InstanceOf<P> = <ModelOf<P> as Model>::Instance;

unsafe extern "C" fn describe<P: Plugin>() -> *const abi::ProctorManifest {
    catch_unwind(|| ptr::from_ref(&manifest::describe::<P>().raw)).unwrap_or(ptr::null())
}

/// Functions of the table that return a status, by their arguments except for the room for a message.
macro_rules! shims {
    ($(fn $name:ident<$plugin:ident>($($argument:ident: $type:ty),* $(,)?) $body:block)*) => {$(
        unsafe extern "C" fn $name<$plugin: Plugin>(
            $($argument: $type,)*
            error: *mut abi::ProctorError,
        ) -> abi::ProctorStatus {
            guard(error, || $body)
        }
    )*};
}

shims! {
    fn open<P>(request: *const abi::ProctorOpenRequest, backend: *mut *mut abi::ProctorBackend) {
        // SAFETY: the host passes a request that is valid for the call.
        let request = unsafe { structure(request) }?;
        // SAFETY: the ABI says that the table is valid for the rest of the process.
        let host = unsafe { Host::from_table(request.host) }?;
        forward::install(host);
        let options = elements(request.options, request.option_count, request.option_stride)?;
        // SAFETY: the ABI says that the array is valid for the call.
        let options = unsafe { read_options(options) }?;
        // SAFETY: `backend` is where the host wants the new object.
        unsafe { put(backend, P::open(host, &options)?) }
    }

    fn load_model<P>(
        backend: *mut abi::ProctorBackend,
        request: *const abi::ProctorModelRequest,
        model: *mut *mut abi::ProctorModel,
    ) {
        // SAFETY: the host passes the object that `open` made and has not closed; the request is valid for the call.
        let (backend, request) = unsafe { (get::<P>(backend.cast())?, ModelRequest::read(request)?) };
        // SAFETY: `model` is where the host wants the new object.
        unsafe { put(model, backend.load_model(&request)?) }
    }

    fn choose_input_form<P>(
        backend: *mut abi::ProctorBackend,
        request: *const abi::ProctorModelRequest,
        input: usize,
        form: *mut abi::ProctorInputForm,
    ) {
        // SAFETY: the host passes the object that `open` made and has not closed; the request is valid for the call.
        let (backend, request) = unsafe { (get::<P>(backend.cast())?, ModelRequest::read(request)?) };
        // SAFETY: the form is ours for the call.
        unsafe { structure(form) }?;
        if input >= request.inputs.len() {
            return Err(PluginError::invalid_argument(format!("the request has no input {input}")));
        }
        let chosen = backend.input_form(&request, input)?;
        // SAFETY: the structure is as large as in the first version, which has these fields, as `structure` checked.
        unsafe {
            (&raw mut (*form).element_type).write(chosen.element_type as u32);
            (&raw mut (*form).layout).write(chosen.layout as u32);
            (&raw mut (*form).scale).write(chosen.quantization.scale);
            (&raw mut (*form).zero_point).write(chosen.quantization.zero_point);
        }
        Ok(())
    }

    fn create_instance<P>(
        model: *mut abi::ProctorModel,
        placement: *const abi::ProctorPlacement,
        instance: *mut *mut abi::ProctorInstance,
    ) {
        // SAFETY: the host passes a model that is loaded; the placement is valid for the call.
        let (model, placement) = unsafe { (get::<ModelOf<P>>(model.cast())?, Placement::read(placement)?) };
        // SAFETY: `instance` is where the host wants the new object.
        unsafe { put(instance, model.create_instance(&placement)?) }
    }

    fn prepare_samples<P>(model: *mut abi::ProctorModel, samples: *const abi::ProctorSampleSet) {
        // SAFETY: the host passes a model that is loaded and samples that are valid until they are released.
        let (model, samples) =
            unsafe { (get::<ModelOf<P>>(model.cast())?, PreparedSample::read_all(samples)?) };
        model.prepare_samples(&samples)
    }

    fn release_samples<P>(model: *mut abi::ProctorModel) {
        // SAFETY: the host passes a model that is loaded.
        unsafe { get::<ModelOf<P>>(model.cast()) }.map(Model::release_samples)
    }

    fn start<P>(model: *mut abi::ProctorModel) {
        // SAFETY: the host passes a model that is loaded.
        unsafe { get::<ModelOf<P>>(model.cast()) }?.start()
    }

    fn flush<P>(model: *mut abi::ProctorModel) {
        // SAFETY: the host passes a model that is loaded.
        unsafe { get::<ModelOf<P>>(model.cast()) }.map(Model::flush)
    }

    fn stop<P>(model: *mut abi::ProctorModel) {
        // SAFETY: the host passes a model that is loaded.
        unsafe { get::<ModelOf<P>>(model.cast()) }?.stop()
    }

    fn issue<P>(model: *mut abi::ProctorModel, query: *const abi::ProctorQuery) {
        // SAFETY: the host passes a model that is loaded and a query that is valid for the call.
        let (model, query) = unsafe { (get::<ModelOf<P>>(model.cast())?, Query::read(query)?) };
        model.issue(query)
    }

    fn warm_up_query<P>(model: *mut abi::ProctorModel, query: *const abi::ProctorQuery) {
        // SAFETY: the host passes a model that is loaded and a query that is valid for the call.
        let (model, query) = unsafe { (get::<ModelOf<P>>(model.cast())?, Query::read(query)?) };
        model.warm_up(query)
    }

    fn warm_up<P>(instance: *mut abi::ProctorInstance, batch: *mut abi::ProctorBatch) {
        // SAFETY: the host passes an instance that lives and that no other call uses, and a batch that is ours.
        unsafe { get_mut::<InstanceOf<P>>(instance)?.warm_up(&mut Batch::read(batch)?) }
    }

    fn execute<P>(instance: *mut abi::ProctorInstance, batch: *mut abi::ProctorBatch) {
        // SAFETY: the host passes an instance that lives and that no other call uses, and a batch that is ours.
        let (instance, mut batch) = unsafe { (get_mut::<InstanceOf<P>>(instance)?, Batch::read(batch)?) };
        spans::during(&mut batch, |batch| instance.execute(batch))
    }

    fn execute_virtual<P>(
        instance: *mut abi::ProctorInstance,
        batch: *mut abi::ProctorBatch,
        busy_instances: u32,
        service_time_ns: *mut u64,
    ) {
        // SAFETY: the host passes an instance that lives and that no other call uses, a batch that is ours, and
        // null or a place for the service time.
        let (instance, mut batch, service_time) =
            unsafe { (get_mut::<InstanceOf<P>>(instance)?, Batch::read(batch)?, service_time_ns.as_mut()) };
        let service_time =
            service_time.ok_or_else(|| PluginError::invalid_argument("service_time_ns is null"))?;
        *service_time = instance.execute_virtual(&mut batch, busy_instances)?;
        Ok(())
    }

    fn submit<P>(instance: *mut abi::ProctorInstance, batch: *mut abi::ProctorBatch) {
        // SAFETY: the host passes an instance that lives and that no other call uses, and a batch that is ours until
        // it is done, unless this fails.
        unsafe { get_mut::<InstanceOf<P>>(instance)?.submit(SubmittedBatch::read(batch)?) }
    }

    fn begin_thread<P>(instance: *mut abi::ProctorInstance) {
        // SAFETY: the host passes an instance that lives and that no other call uses.
        unsafe { get_mut::<InstanceOf<P>>(instance)?.begin_thread() }
    }

    fn end_thread<P>(instance: *mut abi::ProctorInstance) {
        // SAFETY: the host passes an instance that lives and that no other call uses.
        unsafe { get_mut::<InstanceOf<P>>(instance)?.end_thread() }
    }

    fn explain<P>(model: *mut abi::ProctorModel, sink: *const abi::ProctorTextSink) {
        // SAFETY: the host passes a model that is loaded, and null or a sink that is valid for the call.
        let (model, sink) = unsafe { (get::<ModelOf<P>>(model.cast())?, structure(sink)?) };
        let write = sink.write.ok_or_else(|| PluginError::invalid_argument("no sink for the text"))?;
        if let Some(explanation) = model.explain() {
            // SAFETY: the function and its context are those of the sink; it copies the text.
            unsafe { write(sink.context, text(&explanation)) };
        }
        Ok(())
    }

    fn read_energy<P>(model: *mut abi::ProctorModel, joules: *mut f64) {
        // SAFETY: the host passes a model that is loaded, and null or a place for the number.
        let (model, place) = unsafe { (get::<ModelOf<P>>(model.cast())?, joules.as_mut()) };
        let place = place.ok_or_else(|| PluginError::invalid_argument("joules is null"))?;
        let read = model.energy_joules()?;
        *place = read.ok_or_else(|| PluginError::unsupported("there is no counter of energy"))?;
        Ok(())
    }

    fn list_devices<P>(backend: *mut abi::ProctorBackend, sink: *const abi::ProctorDeviceSink) {
        // SAFETY: the host passes the object that `open` made and has not closed; the sink is valid for the call.
        let (backend, sink) = unsafe { (get::<P>(backend.cast())?, structure(sink)?) };
        let add = sink.add.ok_or_else(|| PluginError::invalid_argument("no sink for the devices"))?;
        for device in backend.devices()? {
            let raw = abi::ProctorDevice {
                size: size_of::<abi::ProctorDevice>(),
                name: text(&device.name),
                id: text(device.id.as_deref().unwrap_or_default()),
                memory_bytes: device.memory_bytes.unwrap_or(0),
                numa_node: device.numa_node.and_then(|node| i32::try_from(node).ok()).unwrap_or(-1),
                reserved: 0,
            };
            // SAFETY: the function and its context are those of the sink; it copies the device.
            unsafe { add(sink.context, &raw const raw) };
        }
        Ok(())
    }

    fn allocate<P>(model: *mut abi::ProctorModel, allocation: *mut abi::ProctorAllocation) {
        // SAFETY: the host passes a model that is loaded, and an allocation that is ours for the call.
        let (model, asked) = unsafe { (get::<ModelOf<P>>(model.cast())?, structure(allocation)?) };
        let memory = memory_of(model)?;
        let allocated = memory.allocate(asked.size_bytes, asked.alignment)?;
        // SAFETY: the structure is as large as in the first version, which has these fields, as `structure` checked.
        unsafe {
            (&raw mut (*allocation).memory).write(allocated.memory.cast());
            (&raw mut (*allocation).size_bytes).write(allocated.size_bytes);
            (&raw mut (*allocation).kind).write(allocated.kind.code());
        }
        Ok(())
    }

    fn free<P>(model: *mut abi::ProctorModel, memory: *mut c_void) {
        // SAFETY: the host passes a model that is loaded.
        memory_of(unsafe { get::<ModelOf<P>>(model.cast()) }?)?.free(memory.cast())
    }

    fn copy<P>(model: *mut abi::ProctorModel, to: *mut c_void, from: *const c_void, size_bytes: usize) {
        // SAFETY: the host passes a model that is loaded, and as many bytes that are valid for the call.
        let (model, from) =
            unsafe { (get::<ModelOf<P>>(model.cast())?, slice_of(from.cast::<u8>(), size_bytes)?) };
        memory_of(model)?.copy(to.cast(), from)
    }

    fn destroy_instance<P>(instance: *mut abi::ProctorInstance) {
        // SAFETY: the host passes an instance that `create_instance` made, once.
        unsafe { destroy::<InstanceOf<P>>(instance.cast()) }
    }

    fn unload_model<P>(model: *mut abi::ProctorModel) {
        // SAFETY: the host passes a model that `load_model` made, once.
        unsafe { destroy::<ModelOf<P>>(model.cast()) }
    }

    fn close<P>(backend: *mut abi::ProctorBackend) {
        // SAFETY: the host passes the object that `open` made, once.
        unsafe { destroy::<P>(backend.cast()) }
    }
}

unsafe extern "C" fn in_flight_max<P: Plugin>(instance: *mut abi::ProctorInstance) -> u32 {
    // SAFETY: the host passes an instance that lives and that no other call uses.
    let ask = || unsafe { get_mut::<InstanceOf<P>>(instance) }.map(|instance| instance.in_flight_max());
    catch_unwind(ask).ok().and_then(Result::ok).unwrap_or(0)
}

fn memory_of(model: &impl Model) -> Result<&dyn PluginMemory, PluginError> {
    model.memory().ok_or_else(|| PluginError::unsupported("the memory of samples is left to the host"))
}

unsafe extern "C" fn extension<P: Plugin>(id: abi::ProctorString) -> *const c_void {
    let find = || {
        // SAFETY: the ABI says that the text is valid for the call.
        let id = unsafe { str_of(id) }.ok()?;
        let manifest = described::<P>().manifest;
        match id {
            abi::PROCTOR_EXTENSION_ISSUE if manifest.issue => Some(ptr::from_ref(Shims::<P>::ISSUE).cast()),
            abi::PROCTOR_EXTENSION_VIRTUAL_TIME if manifest.virtual_time => {
                Some(ptr::from_ref(Shims::<P>::VIRTUAL_TIME).cast())
            }
            abi::PROCTOR_EXTENSION_LIVE_INSTANCES if manifest.live_instances => {
                Some(ptr::from_ref(Shims::<P>::LIVE_INSTANCES).cast())
            }
            abi::PROCTOR_EXTENSION_ENERGY => Some(ptr::from_ref(Shims::<P>::ENERGY).cast()),
            abi::PROCTOR_EXTENSION_DEVICES => Some(ptr::from_ref(Shims::<P>::DEVICES).cast()),
            abi::PROCTOR_EXTENSION_INPUT_FORM => Some(ptr::from_ref(Shims::<P>::INPUT_FORMS).cast()),
            abi::PROCTOR_EXTENSION_MEMORY => Some(ptr::from_ref(Shims::<P>::MEMORY).cast()),
            abi::PROCTOR_EXTENSION_EXPLAIN => Some(ptr::from_ref(Shims::<P>::EXPLAIN).cast()),
            abi::PROCTOR_EXTENSION_SUBMIT => Some(ptr::from_ref(Shims::<P>::SUBMIT).cast()),
            abi::PROCTOR_EXTENSION_INSTANCE_THREAD => Some(ptr::from_ref(Shims::<P>::INSTANCE_THREAD).cast()),
            _ => None,
        }
    };
    catch_unwind(find).ok().flatten().unwrap_or(ptr::null())
}

/// Runs the body of a function that returns a status.
fn guard(
    error: *mut abi::ProctorError,
    body: impl FnOnce() -> Result<(), PluginError>,
) -> abi::ProctorStatus {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => abi::PROCTOR_STATUS_OK,
        Ok(Err(failure)) => {
            // SAFETY: the host passes null or room for a message, for the duration of the call.
            unsafe { write_error(error, &failure.message, failure.vendor_code) };
            failure.failure_status()
        }
        Err(panic) => {
            // SAFETY: the host passes null or room for a message, and the failed body has not written to it.
            unsafe { write_error(error, &format!("the plugin panicked: {}", panic_text(&*panic)), 0) };
            abi::PROCTOR_STATUS_PANICKED
        }
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}

/// # Safety
/// `place` is null or where the address of the new object goes.
unsafe fn put<T, O>(place: *mut *mut O, object: T) -> Result<(), PluginError> {
    // SAFETY: `place` is null or the host's variable for the new object.
    let place = unsafe { place.as_mut() };
    let place = place.ok_or_else(|| PluginError::invalid_argument("no place for the new object"))?;
    *place = Box::into_raw(Box::new(object)).cast();
    Ok(())
}

/// # Safety
/// `object` is null or comes from `put::<T, _>` and lives for `'a`.
unsafe fn get<'a, T>(object: *mut c_void) -> Result<&'a T, PluginError> {
    // SAFETY: `object` is null or an address that `put::<T, _>` leaked and the host has not handed to `destroy`.
    unsafe { object.cast::<T>().as_ref() }.ok_or_else(|| PluginError::invalid_argument("object is null"))
}

/// # Safety
/// `object` is null or comes from `put::<T, _>`, lives for `'a`, and no other code uses it meanwhile.
unsafe fn get_mut<'a, T>(object: *mut abi::ProctorInstance) -> Result<&'a mut T, PluginError> {
    // SAFETY: `object` is null or an address that `put::<T, _>` leaked, and the ABI forbids a second call for one
    // instance.
    unsafe { object.cast::<T>().as_mut() }.ok_or_else(|| PluginError::invalid_argument("instance is null"))
}

/// # Safety
/// `object` is null or comes from `put::<T, _>`, and is not used again.
unsafe fn destroy<T>(object: *mut c_void) -> Result<(), PluginError> {
    if object.is_null() {
        return Err(PluginError::invalid_argument("object is null"));
    }
    // SAFETY: `object` is not null, so it is the box that `put` leaked, and the host does not use it again.
    drop(unsafe { Box::from_raw(object.cast::<T>()) });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_never_ok() {
        let failed =
            |status| guard(ptr::null_mut(), || Err(PluginError { status, ..PluginError::failed("") }));
        assert_eq!(failed(abi::PROCTOR_STATUS_OK), abi::PROCTOR_STATUS_FAILED);
        assert_eq!(failed(abi::PROCTOR_STATUS_BUSY), abi::PROCTOR_STATUS_BUSY);
        assert_eq!(guard(ptr::null_mut(), || Ok(())), abi::PROCTOR_STATUS_OK);
    }
}
