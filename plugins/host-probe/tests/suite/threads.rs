//! The thread that each call comes on, and which calls come at the same time.

use crate::{
    Row, assert_told,
    driver::{Driver, call, elsewhere},
};

#[test]
fn calls_of_the_main_thread_elsewhere_are_told() {
    let rows: &[Row] = &[
        ("load_model: it comes on another thread than open", |host| elsewhere(|| host.load(|_, _| {}))),
        ("create_instance: it comes on another thread than open", |host| {
            host.load(|_, _| {})?;
            elsewhere(|| host.create(0, |_| {}))
        }),
        ("prepare_samples: it comes on another thread than open", |host| {
            host.loaded();
            elsewhere(|| host.prepare(|_| {}))
        }),
        ("warm_up: it comes on another thread than open", |host| {
            host.ready();
            elsewhere(|| host.warm_up(0, |_| {}))
        }),
        ("start: it comes on another thread than open", |host| {
            host.ready();
            elsewhere(|| host.start())
        }),
        ("stop: it comes on another thread than open", |host| {
            host.started();
            elsewhere(|| host.stop())
        }),
        ("release_samples: it comes on another thread than open", |host| {
            host.ready();
            elsewhere(|| host.release())
        }),
        ("destroy_instance: it comes on another thread than open", |host| {
            host.loaded();
            elsewhere(|| host.destroy(0))
        }),
        ("unload_model: it comes on another thread than open", |host| {
            host.loaded().destroy(0)?;
            host.destroy(1)?;
            elsewhere(|| host.unload())
        }),
        ("close: it comes on another thread than open", |host| elsewhere(|| host.close())),
    ];
    assert_told(&[], 2, rows);
}

#[test]
fn threads_of_instances_are_held_to_them() {
    let rows: &[Row] = &[
        ("instance 1 runs on the thread of instance 0", |host| {
            host.started().execute(0, |_| {})?;
            host.execute(1, |_| {})
        }),
        ("instance 0 runs on another thread than its batches before", |host| {
            host.started().execute(0, |_| {})?;
            elsewhere(|| host.execute(0, |_| {}))
        }),
        ("instance 1 runs on a thread that has not begun", |host| {
            host.started();
            elsewhere(|| host.begin_thread(0))?;
            host.execute(1, |_| {})
        }),
        ("the thread has begun before", |host| {
            host.started().begin_thread(0)?;
            host.begin_thread(0)
        }),
        ("the thread has run batches before", |host| {
            host.started().execute(0, |_| {})?;
            host.begin_thread(0)
        }),
        ("1 threads have begun, and 1 are enough", |host| {
            host.started().begin_thread(0)?;
            elsewhere(|| host.begin_thread(0))
        }),
        ("the thread has not begun", |host| {
            host.started().begin_thread(0)?;
            elsewhere(|| host.end_thread(0))
        }),
        ("1 threads of instance 0 have not ended", |host| {
            host.loaded().begin_thread(0)?;
            host.destroy(0)
        }),
    ];
    assert_told(&[], 2, rows);
}

#[test]
fn a_flush_has_a_thread_of_its_own() {
    let rows: &[Row] = &[
        ("flush: it comes on the main thread or one that issues", |host| host.started().flush_here()),
        ("flush: it comes on the main thread or one that issues", |host| {
            host.started();
            elsewhere(|| {
                host.issue(|_, _| {})?;
                host.flush_here()
            })
        }),
    ];
    assert_told(&[], 0, rows);
}

#[test]
fn a_call_inside_another_one_is_told() {
    let mut host = Driver::new(&[], 0);
    host.started();
    let (flush, model) = (host.table.flush.unwrap(), host.model.expose_provenance());
    // A completion comes inside of issue.
    *host.services.inside.lock() = Some(Box::new(move || {
        let model = std::ptr::with_exposed_provenance_mut(model);
        // SAFETY: the handle is one of the plugin's, which are never freed.
        let message = elsewhere(|| call(|error| unsafe { flush(model, error) })).unwrap_err();
        assert_eq!(message, "flush: it comes while ProctorIssue.issue has not returned");
    }));
    host.issue(|_, _| {}).unwrap();
    assert!(host.services.inside.lock().is_none());
    let closed = host.close().unwrap_err();
    assert!(closed.contains("flush: it comes while ProctorIssue.issue has not returned"), "{closed}");
}
