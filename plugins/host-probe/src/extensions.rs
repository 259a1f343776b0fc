//! The extensions: whole queries, virtual time, the threads of instances, and batches in flight.

use std::{ffi::c_void, thread, time::Duration};

use proctor_plugin_api::abi::*;

use crate::{
    batch::{Batch, Way},
    call::Call,
    in_flight,
    objects::Instance,
    query::check_query,
    request::text,
    state::Stage,
    visit::{Visit, calls, live},
};

static ISSUE: ProctorIssue =
    ProctorIssue { size: size_of::<ProctorIssue>(), issue: Some(issue), warm_up: Some(warm_up) };

static VIRTUAL_TIME: ProctorVirtualTime =
    ProctorVirtualTime { size: size_of::<ProctorVirtualTime>(), execute: Some(execute_virtual) };

static INSTANCE_THREAD: ProctorInstanceThread = ProctorInstanceThread {
    size: size_of::<ProctorInstanceThread>(),
    begin: Some(begin_thread),
    end: Some(end_thread),
};

static SUBMIT: ProctorSubmit = ProctorSubmit {
    size: size_of::<ProctorSubmit>(),
    in_flight_max: Some(in_flight_max),
    submit: Some(submit),
};

/// Returns the answer to an id.
///
/// # Safety
/// The host vouches for the text for the call.
pub(crate) unsafe extern "C" fn extension(id: ProctorString) -> *const c_void {
    // SAFETY: the caller's promise.
    let id = unsafe { text("the id of an extension", id) };
    match id.unwrap_or_default() {
        PROCTOR_EXTENSION_ISSUE => (&raw const ISSUE).cast(),
        PROCTOR_EXTENSION_VIRTUAL_TIME => (&raw const VIRTUAL_TIME).cast(),
        PROCTOR_EXTENSION_INSTANCE_THREAD => (&raw const INSTANCE_THREAD).cast(),
        PROCTOR_EXTENSION_SUBMIT => (&raw const SUBMIT).cast(),
        _ => std::ptr::null(),
    }
}

calls! {
    fn issue(visit, model: Model, query: *const ProctorQuery) for Issue {
        let checked = visit.check_model(model, |loaded, report| {
            loaded.expect_dispatch(false, report);
            loaded.expect_stage(Stage::Started, report);
            report.expect(!loaded.timed.is_flushed, || "it comes after flush".to_owned());
            // SAFETY: the host vouches for the query.
            let ids = unsafe { check_query(query, false, loaded, report) };
            (ids, loaded.request.answer_size_bytes())
        });
        if let Some((ids, size_bytes)) = checked.filter(|_| visit.is_clean()) {
            thread::sleep(Duration::from_micros(model.backend.options.service_us));
            model.backend.services.complete(&ids, &vec![0; size_bytes]);
        }
    }

    fn warm_up(visit, model: Model, query: *const ProctorQuery) for WarmUpQuery {
        visit.check_model(model, |loaded, report| {
            loaded.expect_dispatch(false, report);
            loaded.expect_stage(Stage::Prepared, report);
            // SAFETY: the host vouches for the query.
            unsafe { check_query(query, true, loaded, report) };
        });
    }

    fn execute_virtual(
        visit, instance: Instance,
        batch: *mut ProctorBatch,
        busy_instances: u32,
        service_time_ns: *mut u64
    ) for ExecuteVirtual {
        visit.check_instance(instance, |loaded, report| {
            loaded.expect_stage(Stage::Started, report);
            report.expect((1..=loaded.request.instance_count).contains(&busy_instances), || {
                format!("busy_instances is {busy_instances} of {} instances", loaded.request.instance_count)
            });
            report.expect(!service_time_ns.is_null(), || "service_time_ns is null".to_owned());
            // SAFETY: the host vouches for the batch.
            let batch = unsafe { Batch::take(batch, Way::Execute, loaded, report) };
            if report.is_clean() {
                // SAFETY: the batch has kept its promises; the room for the time is not null.
                unsafe {
                    batch.answer();
                    service_time_ns.write(instance.model.backend.options.service_us * 1000);
                }
            }
            batch.give_back(loaded);
        });
    }

    fn begin_thread(visit, instance: Instance) for BeginThread {
        let here = thread::current().id();
        visit.check_instance(instance, |loaded, report| {
            let Some(live) = live(loaded, instance) else { return };
            report.expect(!live.begun.contains(&here), || "the thread has begun before".to_owned());
            report.expect(live.thread != Some(here), || "the thread has run batches before".to_owned());
            let most = live.in_flight_max.unwrap_or(0).max(1) as usize;
            report.expect(live.begun.len() < most, || {
                format!("{} threads have begun, and {most} are enough", live.begun.len())
            });
            live.begun.push(here);
            loaded.knows_threads = true;
        });
    }

    fn end_thread(visit, instance: Instance) for EndThread {
        let here = thread::current().id();
        visit.check_instance(instance, |loaded, report| {
            let Some(live) = live(loaded, instance) else { return };
            report.expect(live.begun.contains(&here), || "the thread has not begun".to_owned());
            live.begun.retain(|thread| *thread != here);
        });
    }
}

unsafe extern "C" fn in_flight_max(instance: *mut ProctorInstance) -> u32 {
    // SAFETY: the host vouches for the handle; there is no room for a message.
    let entered = unsafe { Visit::of::<Instance>(instance, Call::InFlightMax, std::ptr::null_mut()) };
    let Ok((instance, mut visit)) = entered else { return 0 };
    let most = instance.model.backend.options.in_flight;
    let is_first = visit.check_instance(instance, |loaded, report| {
        let Some(live) = live(loaded, instance) else { return false };
        report.expect(live.in_flight_max.is_none(), || "it is asked more than once".to_owned());
        live.in_flight_max.replace(most).is_none()
    });
    if most > 0 && is_first == Some(true) {
        let host = visit.check(|_, report| instance.model.backend.services.submit_host(report));
        if let Some(host) = host {
            in_flight::start(instance, host);
        }
    }
    // It has no status: what it has found is said by close.
    visit.leave();
    most
}

calls! {
    fn submit(visit, instance: Instance, batch: *mut ProctorBatch) for Submit {
        let taken = visit.check_instance(instance, |loaded, report| {
            loaded.expect_stage(Stage::Started, report);
            loaded.expect_thread(instance.index, thread::current().id(), report);
            // SAFETY: the host vouches for the batch until it is done.
            let batch = unsafe { Batch::take(batch, Way::Submit, loaded, report) };
            if let Some(live) = live(loaded, instance) {
                let (now, most) = (live.in_flight + 1, live.in_flight_max.unwrap_or(0));
                report.expect(now <= most, || format!("{now} batches are in flight, more than {most}"));
            }
            batch
        });
        let Some(batch) = taken else { return visit.leave() };
        visit.check(|state, report| {
            let is_new = state.batch_ids.insert(batch.id);
            report.expect(is_new, || format!("batch id {:#x} has come before", batch.id));
        });
        let is_taken = visit.is_clean();
        visit.check_instance(instance, |loaded, _| match live(loaded, instance) {
            Some(live) if is_taken => live.in_flight += 1,
            _ => batch.give_back(loaded),
        });
        // The host may be told that the batch is done before this call returns.
        if is_taken {
            in_flight::push(instance, batch);
        }
    }
}
