//! Entry, open, and the request for a model.

use proctor_plugin_api::abi::*;

use crate::{
    Row, assert_told,
    driver::{Driver, call, call_with, entry, open, text},
    services::host_table,
};

#[test]
fn versions_are_negotiated() {
    assert!(entry(1, 3, 0).is_ok());
    let speaks = format!("this plugin speaks ABI 1.{PROCTOR_ABI_MINOR}, the host 2 to 3");
    assert!(entry(2, 3, 0).unwrap_err().contains(&speaks));
    assert!(entry(1, 1, 7).unwrap_err().contains("ProctorVersionRange.reserved is 7"));
}

#[test]
fn an_opening_that_cannot_be_is_told() {
    type Spoil = fn(&mut ProctorOpenRequest, &mut [ProctorOptionValue]);
    let rows: &[(&str, Spoil)] = &[
        ("ProctorOpenRequest has 8 bytes", |request, _| request.size = 8),
        ("ProctorHost is null", |request, _| request.host = std::ptr::null()),
        ("ProctorOptionValue has 8 bytes", |request, _| request.option_stride = 8),
        ("option \"speed\" is none of the manifest", |_, values| values[0].name = text("speed")),
        ("option \"in_flight\" is 99, not from 0 to 8", |_, values| values[0].integer = 99),
        ("option \"in_flight\" is of kind 4", |_, values| values[0].kind = PROCTOR_OPTION_TEXT),
        ("an option has 3 in reserved", |_, values| values[0].reserved = 3),
    ];
    for (sentence, spoil) in rows {
        let message = open(host_table().1, &[("in_flight", 1)], spoil).unwrap_err();
        assert!(message.starts_with("open: ") && message.contains(sentence), "{message}");
    }
}

#[test]
fn a_host_table_that_cannot_be_is_told() {
    unsafe extern "C" fn now_ns(_: *mut std::ffi::c_void) -> u64 {
        static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1000);
        NEXT.fetch_sub(1, std::sync::atomic::Ordering::SeqCst)
    }
    unsafe extern "C" fn log_level(_: *mut std::ffi::c_void) -> u32 {
        77
    }
    unsafe extern "C" fn cache_folder(_: *mut std::ffi::c_void) -> ProctorString {
        static TURN: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let turn = TURN.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        text(if turn.is_multiple_of(2) { "/one" } else { "/other" })
    }
    unsafe extern "C" fn extension(_: *mut std::ffi::c_void, _: ProctorString) -> *const std::ffi::c_void {
        std::ptr::without_provenance(64)
    }
    type Spoil = fn(&mut ProctorHost);
    let rows: &[(&str, Spoil)] = &[
        ("ProctorHost has 8 bytes", |host| host.size = 8),
        ("ProctorHost.abi_major is 2", |host| host.abi_major = 2),
        ("the function ProctorHost.complete is null", |host| host.complete = None),
        ("the function ProctorHost.is_cancelled is null", |host| host.is_cancelled = None),
        ("ProctorHost.now_ns went back from 1000 to 999 ns", |host| host.now_ns = Some(now_ns)),
        ("ProctorHost.log_level is 77", |host| host.log_level = Some(log_level)),
        ("ProctorHost.cache_folder is another one", |host| host.cache_folder = Some(cache_folder)),
        ("ProctorHost.extension knows", |host| host.extension = Some(extension)),
    ];
    for (sentence, spoil) in rows {
        let mut host = host_table().1;
        spoil(&mut host);
        let message = open(host, &[], |_, _| {}).unwrap_err();
        assert!(message.contains(sentence), "{message}\ninstead of {sentence}");
    }
}

#[test]
fn a_room_for_a_message_that_cannot_be_is_told() {
    let driver = Driver::new(&[], 1);
    let close = driver.table.close.unwrap();
    type Spoil = fn(&mut ProctorError);
    let spoiled: &[(&str, Spoil)] = &[
        ("ProctorError.length is 5, not 0", |error| error.length = 5),
        ("the room for a message has 0 bytes", |error| error.capacity = 0),
        ("ProctorError has 8 bytes", |error| error.size = 8),
    ];
    for (sentence, spoil) in spoiled {
        let driver = Driver::new(&[], 1);
        driver.table.close.unwrap();
        // Where there is no room the message is heard at the next call.
        // SAFETY: the handle is one of the plugin's, which are never freed.
        let _ = call_with(*spoil, |error| unsafe { close(driver.backend, error) });
        // SAFETY: as above.
        let message = call(|error| unsafe { close(driver.backend, error) }).unwrap_err();
        assert!(message.contains(sentence), "{message}");
    }
}

#[test]
fn a_request_for_a_model_that_cannot_be_is_told() {
    let rows: &[Row] = &[
        ("ProctorModelRequest has 8 bytes", |host| host.load(|request, _| request.size = 8)),
        ("model is empty", |host| host.load(|request, _| request.model = text(""))),
        ("model is null and 3 bytes long", |host| {
            host.load(|request, _| request.model = ProctorString { data: std::ptr::null(), length: 3 })
        }),
        ("precision is \"int8\"", |host| host.load(|request, _| request.precision = text("int8"))),
        ("device is \"cuda\"", |host| host.load(|request, _| request.device = text("cuda"))),
        ("there are 1 files", |host| host.load(|request, _| request.file_count = 1)),
        ("scenario is 0x3", |host| host.load(|request, _| request.scenario = 3)),
        ("batch_size_max is 65", |host| host.load(|request, _| request.batch_size_max = 65)),
        ("batch_size_max is 0", |host| host.load(|request, _| request.batch_size_max = 0)),
        ("target_qps is NaN", |host| host.load(|request, _| request.target_qps = f64::NAN)),
        ("reserved is 1, not 0", |host| host.load(|request, _| request.reserved = 1)),
        ("there are no outputs", |host| host.load(|request, _| request.output_count = 0)),
        ("ProctorTensorSpec has 8 bytes", |host| host.load(|request, _| request.tensor_spec_stride = 8)),
        ("the unknown element type 99", |host| host.load(|_, specs| specs[0].element_type = 99)),
        ("a shape is an array of 1 elements", |host| host.load(|_, specs| specs[1].shape = std::ptr::null())),
        ("placement 0 of 1 tells of 2 instances", |host| host.load(|request, _| request.placement_count = 1)),
        ("placement 0 is that of instance 1", |host| {
            host.load(|request, _| {
                request.placements = request.placements.wrapping_add(1);
                request.placement_count = 1;
            })
        }),
        ("ProctorPlacement has 8 bytes", |host| host.load(|request, _| request.placement_stride = 8)),
        ("the backend has a model already", |host| host.loaded().load(|_, _| {})),
    ];
    assert_told(&[], 2, rows);
}

#[test]
fn a_placement_that_cannot_be_is_told() {
    let rows: &[Row] = &[
        ("instance_index is 7 of 2 instances", |host| {
            host.load(|_, _| {})?;
            host.create(0, |place| place.instance_index = 7)
        }),
        ("instance_count is 3, and 2 in the request", |host| {
            host.load(|_, _| {})?;
            host.create(0, |place| place.instance_count = 3)
        }),
        ("the placement of instance 1 is not that of the request", |host| {
            host.load(|_, _| {})?;
            host.create(1, |place| place.cpu_count = 1)
        }),
        ("cpus is an array of 2 elements", |host| {
            host.load(|_, _| {})?;
            host.create(1, |place| place.cpus = std::ptr::null())
        }),
        ("device_index is 4", |host| {
            host.load(|_, _| {})?;
            host.create(1, |place| place.device_index = 4)
        }),
        ("ProctorPlacement.reserved is 1", |host| {
            host.load(|_, _| {})?;
            host.create(1, |place| place.reserved = 1)
        }),
        ("there is an instance 0", |host| host.loaded().create(0, |_| {})),
    ];
    assert_told(&[], 2, rows);
}
