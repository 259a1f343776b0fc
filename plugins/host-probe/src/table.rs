//! The entry point and the table of the plugin.

use std::{thread, time::Duration};

use proctor_plugin_api::{
    abi::*,
    versioned::{Elements, read},
};

use crate::{
    batch::{Batch, Way},
    call::Call,
    extensions::extension,
    in_flight,
    manifest::{Options, manifest},
    objects::{Backend, Instance, Model, leak},
    report::Report,
    request::{Place, Request, text},
    samples::Prepared,
    services::{Services, write_message},
    state::{LiveInstance, LoadedModel, Stage},
    visit::{Visit, calls, enter, expect_room, live},
};

static TABLE: ProctorPlugin = ProctorPlugin {
    size: size_of::<ProctorPlugin>(),
    abi_major: PROCTOR_ABI_MAJOR,
    abi_minor: PROCTOR_ABI_MINOR,
    describe: Some(describe),
    open: Some(open),
    load_model: Some(load_model),
    create_instance: Some(create_instance),
    prepare_samples: Some(prepare_samples),
    release_samples: Some(release_samples),
    warm_up: Some(warm_up),
    start: Some(start),
    execute: Some(execute),
    flush: Some(flush),
    stop: Some(stop),
    destroy_instance: Some(destroy_instance),
    unload_model: Some(unload_model),
    close: Some(close),
    extension: Some(extension),
};

/// Returns the entry point of the plugin.
///
/// # Safety
/// The host keeps to the contract of `ProctorPluginEntry`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn proctor_plugin_entry(
    speaks: *const ProctorVersionRange,
    refusal: *mut ProctorError,
) -> *const ProctorPlugin {
    // SAFETY: the host vouches for the range.
    let problem = match unsafe { read(speaks) } {
        Err(problem) => problem,
        Ok(range) if !(range.major_min..=range.major_max).contains(&PROCTOR_ABI_MAJOR) => {
            let (least, most) = (range.major_min, range.major_max);
            format!(
                "this plugin speaks ABI {PROCTOR_ABI_MAJOR}.{PROCTOR_ABI_MINOR}, the host {least} to {most}"
            )
        }
        Ok(range) if range.reserved != 0 => {
            format!("ProctorVersionRange.reserved is {}, not 0", range.reserved)
        }
        Ok(_) => return &raw const TABLE,
    };
    // SAFETY: the host vouches for the room.
    unsafe { write_message(refusal, &problem) };
    std::ptr::null()
}

unsafe extern "C" fn describe() -> *const ProctorManifest {
    manifest()
}

unsafe extern "C" fn open(
    request: *const ProctorOpenRequest,
    backend: *mut *mut ProctorBackend,
    error: *mut ProctorError,
) -> ProctorStatus {
    let mut report = Report::new(Call::Open);
    // SAFETY: the host vouches for the room.
    unsafe { expect_room(error, &mut report) };
    report.expect(!backend.is_null(), || "there is no room for the backend".to_owned());
    // SAFETY: the host vouches for the request and all that it points to.
    let opened = unsafe { read_open(request, &mut report) };
    if let Some((services, options)) = opened.filter(|_| report.is_clean()) {
        services.look(Call::Open, &mut report);
        services.look_from_own_thread(Call::Open, &mut report);
        if report.is_clean() {
            // SAFETY: not null as checked; the host vouches for it.
            unsafe { backend.write(leak(Backend::new(services, options))) };
            return PROCTOR_STATUS_OK;
        }
    }
    // SAFETY: the host vouches for the room.
    unsafe { write_message(error, report.first().unwrap_or_default()) };
    PROCTOR_STATUS_FAILED
}

/// # Safety
/// The host vouches for the request and all that it points to.
unsafe fn read_open(request: *const ProctorOpenRequest, report: &mut Report) -> Option<(Services, Options)> {
    // SAFETY: the caller's promise.
    let raw = report.value(unsafe { read(request) })?;
    let mut options = Options::default();
    let values = report.value(Elements::new(raw.options, raw.option_count, raw.option_stride))?;
    // SAFETY: the caller's promise.
    for value in unsafe { values.iter() } {
        report.expect(value.reserved == 0, || format!("an option has {} in reserved, not 0", value.reserved));
        // SAFETY: the caller's promise.
        let name = unsafe { text("the name of an option", value.name) };
        report.value(name.and_then(|name| options.set(name, &value)));
    }
    // SAFETY: the caller's promise.
    Some((unsafe { Services::read(raw.host, report) }?, options))
}

calls! {
    fn load_model(
        visit, backend: Backend,
        request: *const ProctorModelRequest,
        model: *mut *mut ProctorModel
    ) for LoadModel {
        let number = visit.check(|state, report| {
            report.expect(state.model.is_none(), || "the backend has a model already".to_owned());
            report.expect(!model.is_null(), || "there is no room for the model".to_owned());
            // SAFETY: the host vouches for the request.
            let request = unsafe { Request::read(request, report) }.filter(|_| report.is_clean())?;
            let number = state.next_number();
            state.model = Some(LoadedModel::new(number, request));
            Some(number)
        });
        if let Some(number) = number {
            // SAFETY: not null as checked; the host vouches for it.
            unsafe { model.write(leak(Model::new(backend, number))) };
        }
    }

    fn create_instance(
        visit, model: Model,
        placement: *const ProctorPlacement,
        instance: *mut *mut ProctorInstance
    ) for CreateInstance {
        let number = visit.check(|state, _| state.next_number());
        let index = visit.check_model(model, |loaded, report| {
            loaded.expect_dispatch(true, report);
            loaded.expect_stage(Stage::Loaded, report);
            report.expect(!instance.is_null(), || "there is no room for the instance".to_owned());
            // SAFETY: the host vouches for the placement.
            let place = unsafe { Place::read(placement, report) }?;
            loaded.request.expect_place(&place, report);
            let index = place.instance_index;
            report.expect(!loaded.instances.contains_key(&index), || format!("there is an instance {index}"));
            report.is_clean().then(|| {
                let (thread, begun) = (None, Vec::new());
                let created = LiveInstance { number, thread, begun, in_flight_max: None, in_flight: 0 };
                loaded.instances.insert(index, created);
                index
            })
        });
        if let Some(index) = index.flatten() {
            // SAFETY: not null as checked; the host vouches for it.
            unsafe { instance.write(leak(Instance::new(model, index, number))) };
        }
    }

    fn prepare_samples(visit, model: Model, samples: *const ProctorSampleSet) for PrepareSamples {
        visit.check_model(model, |loaded, report| {
            loaded.expect_stage(Stage::Loaded, report);
            // SAFETY: the host vouches for the samples until they are released.
            let prepared = unsafe { Prepared::read(samples, &loaded.request, report) };
            if report.is_clean() {
                loaded.prepared = prepared;
                loaded.stage = Stage::Prepared;
            }
        });
    }

    fn release_samples(visit, model: Model) for ReleaseSamples {
        visit.check_model(model, |loaded, report| {
            let may_come = matches!(loaded.stage, Stage::Prepared | Stage::Stopped);
            if !may_come {
                loaded.expect_stage(Stage::Stopped, report);
            }
            if let Some(prepared) = loaded.prepared.take() {
                // SAFETY: the host vouches for the samples until this call returns.
                unsafe { prepared.expect_unchanged(&loaded.request, report) };
            }
            loaded.stage = Stage::Loaded;
        });
    }

    fn warm_up(visit, instance: Instance, batch: *mut ProctorBatch) for WarmUp {
        // SAFETY: the host vouches for the batch for the call.
        unsafe { run_batch(instance, &mut visit, batch, Way::WarmUp) };
    }

    fn start(visit, model: Model) for Start {
        visit.check_model(model, |loaded, report| {
            loaded.expect_stage(Stage::Prepared, report);
            let (created, count) = (loaded.instances.len(), loaded.request.instance_count);
            report.expect(created == count as usize, || format!("there are {created} of {count} instances"));
            if report.is_clean() {
                loaded.start();
            }
        });
    }

    fn execute(visit, instance: Instance, batch: *mut ProctorBatch) for Execute {
        // SAFETY: the host vouches for the batch for the call.
        unsafe { run_batch(instance, &mut visit, batch, Way::Execute) };
    }

    fn flush(visit, model: Model) for Flush {
        let here = thread::current().id();
        visit.check_model(model, |loaded, report| {
            loaded.expect_dispatch(false, report);
            loaded.expect_stage(Stage::Started, report);
            let timed = &mut loaded.timed;
            report.expect(!timed.is_flushed, || "it comes more than once between start and stop".to_owned());
            report.expect(here != model.backend.main_thread && !timed.issuing.contains(&here), || {
                "it comes on the main thread or one that issues, not on a thread of its own".to_owned()
            });
            report.expect(timed.handed_over == 0, || {
                format!("{} of {} samples of the last query have come", timed.handed_over, timed.total)
            });
            timed.is_flushed = true;
        });
    }

    fn stop(visit, model: Model) for Stop {
        expect_nothing_in_flight(model, &mut visit);
        visit.check_model(model, |loaded, report| {
            loaded.expect_stage(Stage::Started, report);
            let timed = &loaded.timed;
            report.expect(timed.query_count == 0 || timed.is_flushed, || {
                format!("there was no flush after {} queries", timed.query_count)
            });
            if loaded.stage == Stage::Started {
                loaded.stage = Stage::Stopped;
            }
        });
    }

    fn destroy_instance(visit, instance: Instance) for DestroyInstance {
        expect_nothing_in_flight(instance.model, &mut visit);
        in_flight::end(instance);
        visit.check_instance(instance, |loaded, report| {
            loaded.expect_stage(Stage::Loaded, report);
            let Some(live) = live(loaded, instance) else { return };
            let begun = live.begun.len();
            report
                .expect(begun == 0, || format!("{begun} threads of instance {} have not ended", instance.index));
            loaded.instances.remove(&instance.index);
        });
    }

    fn unload_model(visit, model: Model) for UnloadModel {
        visit.check_model(model, |loaded, report| {
            loaded.expect_stage(Stage::Loaded, report);
            let left = loaded.instances.len();
            report.expect(left == 0, || format!("{left} instances are not destroyed"));
        });
        visit.check(|state, _| state.model.take_if(|loaded| loaded.number == model.number));
    }
}

unsafe extern "C" fn close(backend: *mut ProctorBackend, error: *mut ProctorError) -> ProctorStatus {
    enter!(visit, backend: Backend, Close, error);
    visit.check(|state, report| {
        report.expect(state.model.is_none(), || "the model is not unloaded".to_owned());
        state.is_closed = true;
    });
    visit.leave();
    let Some(summary) = backend.findings.summary() else { return PROCTOR_STATUS_OK };
    // SAFETY: the host vouches for the room.
    unsafe { write_message(error, &summary) };
    PROCTOR_STATUS_FAILED
}

/// Executes a batch, or warms up with one.
///
/// # Safety
/// The host vouches for the batch for the call.
unsafe fn run_batch(instance: &'static Instance, visit: &mut Visit, batch: *mut ProctorBatch, way: Way) {
    let taken = visit.check_instance(instance, |loaded, report| {
        if way == Way::WarmUp {
            loaded.expect_stage(Stage::Prepared, report);
        } else {
            loaded.expect_stage(Stage::Started, report);
            loaded.expect_thread(instance.index, thread::current().id(), report);
            let most = live(loaded, instance).and_then(|live| live.in_flight_max).unwrap_or(0);
            report.expect(most == 0, || format!("it comes instead of submit, for {most} batches at a time"));
        }
        // SAFETY: the caller's promise.
        unsafe { Batch::take(batch, way, loaded, report) }
    });
    let Some(batch) = taken else { return };
    if visit.is_clean() {
        thread::sleep(Duration::from_micros(instance.model.backend.options.service_us));
        // SAFETY: the caller's promise; and the batch has kept those of its fields.
        unsafe { batch.answer() };
    }
    visit.check_instance(instance, |loaded, _| batch.give_back(loaded));
}

/// Notes a broken promise if a batch was submitted and is not done.
fn expect_nothing_in_flight(model: &'static Model, visit: &mut Visit) {
    visit.check_model(model, |loaded, report| {
        for (index, live) in &loaded.instances {
            report.expect(live.in_flight == 0, || {
                format!("{} batches of instance {index} are not done", live.in_flight)
            });
        }
    });
}
