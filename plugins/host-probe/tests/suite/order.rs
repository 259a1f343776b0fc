//! The life of a model: each call in its place, and each that ends something once.

use crate::{
    Row, assert_told,
    driver::{Driver, call},
};

#[test]
fn calls_out_of_order_are_told() {
    let rows: &[Row] = &[
        ("create_instance: the model has samples prepared", |host| host.ready().create(1, |_| {})),
        ("create_instance: the model is started", |host| host.started().create(1, |_| {})),
        ("prepare_samples: the model has samples prepared", |host| host.ready().prepare(|_| {})),
        ("prepare_samples: the model is started", |host| host.started().prepare(|_| {})),
        ("prepare_samples: the model is stopped", |host| {
            host.started().stop()?;
            host.prepare(|_| {})
        }),
        ("warm_up: the model has no samples prepared", |host| host.loaded().warm_up(0, |_| {})),
        ("warm_up: the model is started", |host| host.started().warm_up(0, |_| {})),
        ("start: the model has no samples prepared", |host| host.loaded().start()),
        ("start: the model is started", |host| host.started().start()),
        ("start: the model is stopped", |host| {
            host.started().stop()?;
            host.start()
        }),
        ("start: there are 1 of 2 instances", |host| {
            host.load(|_, _| {})?;
            host.create(0, |_| {})?;
            host.prepare(|_| {})?;
            host.start()
        }),
        ("execute: the model has samples prepared", |host| host.ready().execute(0, |_| {})),
        ("execute: the model is stopped", |host| {
            host.started().stop()?;
            host.execute(0, |_| {})
        }),
        ("flush: instance_count of the model request is 2", |host| host.started().flush()),
        ("stop: the model has samples prepared", |host| host.ready().stop()),
        ("stop: the model is stopped", |host| {
            host.started().stop()?;
            host.stop()
        }),
        ("release_samples: the model has no samples prepared", |host| host.loaded().release()),
        ("release_samples: the model is started", |host| host.started().release()),
        ("destroy_instance: the model has samples prepared", |host| host.ready().destroy(0)),
        ("destroy_instance: instance 0 is destroyed", |host| {
            host.loaded().destroy(0)?;
            host.destroy(0)
        }),
        ("execute: instance 0 is destroyed", |host| {
            host.loaded().destroy(0)?;
            host.execute(0, |_| {})
        }),
        ("unload_model: the model has samples prepared", |host| host.ready().unload()),
        ("unload_model: 2 instances are not destroyed", |host| host.loaded().unload()),
        ("unload_model: the model is unloaded", |host| {
            host.loaded().destroy(0)?;
            host.destroy(1)?;
            host.unload()?;
            host.unload()
        }),
        ("prepare_samples: the model is unloaded", |host| {
            host.loaded().destroy(0)?;
            host.destroy(1)?;
            host.unload()?;
            host.prepare(|_| {})
        }),
        ("close: the model is not unloaded", |host| host.loaded().close()),
        ("close: the backend is closed", |host| {
            host.close()?;
            host.close()
        }),
        ("load_model: the backend is closed", |host| {
            host.close()?;
            host.load(|_, _| {})
        }),
    ];
    assert_told(&[], 2, rows);
}

#[test]
fn whole_queries_have_an_order_too() {
    let rows: &[Row] = &[
        ("create_instance: instance_count of the model request is 0", |host| host.ready().create(0, |_| {})),
        ("ProctorIssue.issue: the model has samples prepared", |host| host.ready().issue(|_, _| {})),
        ("ProctorIssue.issue: it comes after flush", |host| {
            host.started().flush()?;
            host.issue(|_, _| {})
        }),
        ("ProctorIssue.issue: the model is stopped", |host| {
            host.started().stop()?;
            host.issue(|_, _| {})
        }),
        ("ProctorIssue.warm_up: the model is started", |host| host.started().warm_up_query(|_, _| {})),
        ("flush: the model has samples prepared", |host| host.ready().flush()),
        ("flush: it comes more than once between start and stop", |host| {
            host.started().flush()?;
            host.flush()
        }),
        ("stop: there was no flush after 1 queries", |host| {
            host.started().issue(|_, _| {})?;
            host.stop()
        }),
    ];
    assert_told(&[], 0, rows);
}

#[test]
fn a_handle_that_was_never_handed_out_is_refused() {
    let mut host = Driver::new(&[], 1);
    host.loaded();
    let execute = host.table.start.unwrap();
    // SAFETY: null is refused before anything is read, and the handle of an instance is memory of the plugin.
    let [null, other] = [std::ptr::null_mut(), host.instances[&0].cast()]
        .map(|handle| call(|error| unsafe { execute(handle, error) }).unwrap_err());
    assert_eq!(null, "start: the ProctorModel is 0x0, which was never handed out");
    assert!(other.ends_with("is none of a ProctorModel"), "{other}");
}
