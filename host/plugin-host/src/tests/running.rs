//! A hand-made plugin through its whole life, well behaved and not.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use parking_lot::Mutex;
use proctor_plugin_api::vocabulary::QueryPart;

use super::*;

/// A model that is started, with samples 2 to 5 prepared, and one instance.
fn running(backend: &Backend) -> (Model, crate::Instance) {
    let model = backend.load_model(&demand()).unwrap();
    let instance = model.create_instance(0).unwrap();
    prepare(&model, &[5, 2, 3, 4]).unwrap();
    model.start().unwrap();
    (model, instance)
}

fn faults(backend: &Backend) -> Vec<String> {
    backend.host_side().take_faults().iter().map(ToString::to_string).collect()
}

#[test]
fn a_whole_life_reaches_the_plugin_in_order() {
    let backend = good_backend();
    let (model, mut instance) = running(&backend);
    let batch = query(&[3, 5]);
    instance.execute(&batch).unwrap();
    let sink = Kept::default();
    instance.complete(&batch, &sink);
    assert_eq!(
        sink.take(),
        [(103, 0, vec![3, 3, 3, 3, 3, 3, 3, 3, 3]), (105, 0, vec![5, 5, 5, 5, 5, 5, 5, 5, 5])]
    );
    model.flush().unwrap();
    model.stop().unwrap();
    model.release().unwrap();
    drop((instance, model, backend));
    let expected = [
        "open [2]",
        "load_model",
        "create_instance",
        "prepare 4",
        "start",
        "execute",
        "flush",
        "stop",
        "release_samples",
        "destroy_instance",
        "unload_model",
        "close",
    ];
    assert_eq!(calls(), expected);
}

#[test]
fn the_set_of_samples_stays_until_it_is_released() {
    let backend = good_backend();
    let (model, mut instance) = running(&backend);
    instance.execute(&query(&[3, 5])).unwrap();
    // SAFETY: the header promises that the set stays until `release_samples`.
    let set = unsafe { SET.get().read() };
    assert_eq!((set.size, set.sample_count), (size_of::<ProctorSampleSet>(), 4));
    // SAFETY: and so do the samples that it lists.
    let indices = unsafe { std::slice::from_raw_parts(set.samples, 4) }.iter().map(|sample| sample.index);
    assert_eq!(indices.collect::<Vec<_>>(), [2, 3, 4, 5]);
    model.stop().unwrap();
}

#[test]
fn a_plugin_is_told_the_load_and_the_placement_of_each_instance() {
    let backend = good_backend();
    drop(backend.load_model(&demand()).unwrap());
    assert_eq!(REQUEST.take(), "anywhere, 0 ns, 0 qps, 0 samples");
    let intent = Intent {
        latency_bound_ns: Some(15_000_000),
        target_qps: Some(2.5),
        samples_per_query: Some(8),
        ..Intent::default()
    };
    let placement = |instance_index, cpus: &[u32]| Placement {
        instance_index,
        instance_count: 2,
        cpus: cpus.to_vec(),
        device_index: 0,
    };
    let placements = vec![placement(0, &[3]), placement(1, &[2, 5])];
    let whole = ModelDemand { instance_count: 0, intent, placements, ..demand() };
    let model = backend.load_model(&whole).unwrap();
    assert_eq!(REQUEST.take(), "1 of 2 on [2, 5], 15000000 ns, 2.5 qps, 8 samples");
    let error = model.create_instance(0).map(drop).unwrap_err().to_string();
    assert!(error.contains("as many as demanded"), "{error}");
}

#[test]
fn a_plugin_warms_up_whole_queries_and_completes_none() {
    let backend = good_backend();
    let model = backend.load_model(&ModelDemand { instance_count: 0, ..demand() }).unwrap();
    let samples = [2, 3].map(SampleIndex);
    assert!(model.warm_up(&samples).unwrap_err().to_string().contains("warm_up does not fit the state"));
    prepare(&model, &[2, 3, 4]).unwrap();
    calls();
    model.warm_up(&samples).unwrap();
    assert_eq!(calls(), ["warm_up 2"]);
    assert_eq!(faults(&backend), [""; 0]);
    BEHAVIOUR.set(Behaviour::CompletesWarmUp);
    model.warm_up(&samples).unwrap();
    model.start().unwrap();
    let fault = "plugin hand-made: answered samples in warm_up, which completes none";
    assert_eq!(faults(&backend), [fault]);
    // From here on it is no warm-up.
    issue(&model, &[2]);
    assert!(faults(&backend)[0].starts_with("plugin hand-made: answered samples while no test was running"));
}

#[test]
fn what_is_dropped_early_ends_in_due_order() {
    let backend = good_backend();
    let (model, instance) = running(&backend);
    calls();
    std::thread::spawn(|| drop(instance)).join().unwrap();
    assert!(calls().is_empty());
    drop((backend, model));
    assert_eq!(calls(), ["stop", "release_samples", "destroy_instance", "unload_model", "close"]);
}

#[test]
fn calls_out_of_order_do_not_reach_the_plugin() {
    let backend = good_backend();
    let model = backend.load_model(&demand()).unwrap();
    let mut instance = model.create_instance(1).unwrap();
    calls();
    let message = |result: Result<(), PluginHostError>| result.unwrap_err().to_string();
    assert_eq!(
        message(model.start()),
        "plugin hand-made: start does not fit the state \"loaded\" of the model"
    );
    assert!(message(instance.execute(&query(&[1]))).contains("execute does not fit the state \"loaded\""));
    assert!(message(instance.warm_up(&[SampleIndex(1)])).contains("warm_up does not fit"));
    assert!(message(model.create_instance(1).map(drop)).contains("create_instance does not fit"));
    assert!(message(model.create_instance(2).map(drop)).contains("create_instance does not fit"));
    let second = backend.load_model(&demand());
    assert!(message(second.map(drop)).contains("\"has a model already\" of the backend"));
    prepare(&model, &[1]).unwrap();
    instance.warm_up(&[SampleIndex(1)]).unwrap();
    assert!(message(instance.execute(&query(&[1]))).contains("\"samples prepared\""));
    assert!(message(model.stop()).contains("stop does not fit"));
    model.start().unwrap();
    assert!(message(model.release()).contains("release_samples does not fit the state \"started\""));
    // It does not declare that instances come and go.
    let created = message(model.create_instance(0).map(drop));
    assert!(created.contains("create_instance does not fit the state \"started\""), "{created}");
    let destroyed = message(instance.destroy());
    assert!(destroyed.contains("destroy_instance does not fit the state"), "{destroyed}");
    assert_eq!(calls(), ["prepare 1", "execute", "start"]);
}

#[test]
fn a_call_of_the_main_thread_comes_on_no_other() {
    let backend = good_backend();
    let model = backend.load_model(&demand()).unwrap();
    prepare(&model, &[1]).unwrap();
    let elsewhere = |call: &(dyn Fn() -> Result<(), PluginHostError> + Sync)| {
        let called = std::thread::scope(|scope| scope.spawn(call).join());
        called.unwrap().unwrap_err().to_string()
    };
    let refused =
        |call| format!("plugin hand-made: {call} is a call of the main thread, and came on another");
    assert_eq!(elsewhere(&|| model.start()), refused("start"));
    assert_eq!(elsewhere(&|| model.issuers(1).map(drop)), refused("issue"));
    model.start().unwrap();
    assert_eq!(elsewhere(&|| model.stop()), refused("stop"));
}

/// Stops the model when a sample completes, which may be inside issue.
struct StopsAtCompletion(Model, Mutex<Vec<String>>);

impl CompletionSink for StopsAtCompletion {
    fn complete(&self, _: &[QuerySampleResponse<'_>]) {
        self.1.lock().extend(self.0.stop().err().map(|error| error.to_string()));
    }

    fn first_token(&self, _: &[QuerySampleResponse<'_>]) {}
}

#[test]
fn a_model_is_not_stopped_while_a_thread_issues() {
    let backend = good_backend();
    let model = backend.load_model(&demand()).unwrap();
    prepare(&model, &[2]).unwrap();
    let issuers = model.issuers(2).unwrap();
    model.start().unwrap();
    let sink = Arc::new(StopsAtCompletion(model.clone(), Mutex::default()));
    backend.set_sink(Some(Arc::clone(&sink) as _));
    issuers[1].issue(QueryPart::whole(&query(&[2]))).unwrap();
    backend.set_sink(None);
    let refused = "plugin hand-made: stop does not fit the state \"is given a query\" of the model";
    assert_eq!(*sink.1.lock(), [refused]);
    model.stop().unwrap();
}

#[test]
fn a_model_may_follow_another_and_a_refusal_keeps_its_words() {
    let backend = good_backend();
    let error = backend.load_model(&ModelDemand { instance_count: 3, ..demand() }).err().unwrap();
    assert_eq!(error.to_string(), "plugin hand-made: load_model failed (UNSUPPORTED): too many instances");
    let error = backend.load_model(&ModelDemand { batch_size_max: 5, ..demand() }).err().unwrap();
    assert_eq!(
        error.to_string(),
        "plugin hand-made does not declare a batch size of 5; it declares at most 4: set batch_size to 4 or less"
    );
    drop(backend.load_model(&demand()).unwrap());
    assert_eq!(backend.load_model(&demand()).unwrap().precision(), "f32");
}

#[test]
fn an_output_of_wrong_size_fails_its_sample_alone() {
    let backend = good_backend();
    let (_model, mut instance) = running(&backend);
    BEHAVIOUR.set(Behaviour::Short);
    let batch = query(&[2, 3, 4]);
    instance.execute(&batch).unwrap();
    let sink = Kept::default();
    instance.complete(&batch, &sink);
    assert_eq!(sink.take().iter().map(|(_, status, _)| *status).collect::<Vec<_>>(), [0, 1, 0]);
    let expected = "plugin hand-made: output \"logits\" of sample 3 has 7 bytes instead of 8";
    assert_eq!(faults(&backend), [expected]);
    for _ in 0..40 {
        instance.execute(&batch).unwrap();
    }
    let expected =
        "plugin hand-made: output \"logits\" of sample 3 has 7 bytes instead of 8; and 39 more of this kind";
    assert_eq!(faults(&backend), [expected]);
}

#[test]
fn lent_outputs_are_copied_and_given_back_once() {
    let backend = good_backend();
    let (_model, mut instance) = running(&backend);
    BEHAVIOUR.set(Behaviour::Lends);
    let batch = query(&[2, 4]);
    calls();
    instance.execute(&batch).unwrap();
    assert_eq!(calls(), ["execute", "release_output", "release_output"]);
    let sink = Kept::default();
    instance.complete(&batch, &sink);
    assert_eq!(sink.take()[1], (104, 0, vec![4; 9]));
    BEHAVIOUR.set(Behaviour::LendsAndFails);
    let error = instance.execute(&batch).unwrap_err();
    assert_eq!(error.to_string(), "plugin hand-made: execute failed (FAILED): out of luck");
    assert_eq!(calls(), ["execute", "release_output", "release_output"]);
    instance.complete(&batch, &sink);
    assert_eq!(sink.take(), [(102, 1, vec![]), (104, 1, vec![])]);
    assert!(faults(&backend).is_empty());
}

#[test]
fn an_unknown_status_is_internal() {
    let backend = good_backend();
    let (_model, mut instance) = running(&backend);
    BEHAVIOUR.set(Behaviour::UnknownStatus);
    let batch = query(&[2, 4]);
    instance.execute(&batch).unwrap();
    let sink = Kept::default();
    instance.complete(&batch, &sink);
    assert_eq!(sink.take(), [(102, PROCTOR_STATUS_INTERNAL, vec![]), (104, 0, vec![4; 9])]);
}

#[test]
fn a_batch_has_to_be_prepared_fit_and_be_executed() {
    let backend = good_backend();
    let (_model, mut instance) = running(&backend);
    let message = |result: Result<(), PluginHostError>| result.unwrap_err().to_string();
    assert!(message(instance.execute(&query(&[9]))).ends_with("sample 9 is not among the prepared ones"));
    assert!(
        message(instance.execute(&query(&[2, 2, 2, 2]))).ends_with("a batch of 4 samples is larger than 3")
    );
    assert!(message(instance.execute(&[])).ends_with("the batch has no samples"));
    let sink = Kept::default();
    instance.complete(&query(&[2]), &sink);
    assert_eq!(sink.take(), [(102, 1, vec![])]);
    assert_eq!(faults(&backend).len(), 1);
}

#[test]
fn virtual_time_returns_the_service_time() {
    let backend = good_backend();
    let (_model, mut instance) = running(&backend);
    let batch = query(&[2]);
    assert_eq!(instance.execute_virtual(&batch, 3).unwrap(), 3000);
    let sink = Kept::default();
    instance.complete(&batch, &sink);
    assert_eq!(sink.take(), [(102, 0, vec![2; 9])]);
}

/// Keeps the ids of samples that are handed over, if it wants to know.
struct HandedOver(bool, Mutex<Vec<u64>>);

impl CompletionSink for HandedOver {
    fn complete(&self, _: &[QuerySampleResponse<'_>]) {}

    fn first_token(&self, _: &[QuerySampleResponse<'_>]) {}

    fn watches_hand_over(&self) -> bool {
        self.0
    }

    fn handed_over(&self, samples: &[QuerySample]) {
        self.1.lock().extend(samples.iter().map(|sample| sample.id.0));
    }
}

#[test]
fn a_sink_that_wants_to_know_is_told_of_each_batch_that_is_handed_over() {
    let backend = good_backend();
    let (_model, mut instance) = running(&backend);
    for (watches, expected) in [(false, &[0_u64; 0][..]), (true, &[102, 104, 103][..])] {
        let sink = Arc::new(HandedOver(watches, Mutex::default()));
        backend.set_sink(Some(Arc::clone(&sink) as _));
        instance.execute(&query(&[2, 4])).unwrap();
        instance.execute_virtual(&query(&[3]), 1).unwrap();
        instance.execute(&query(&[9])).unwrap_err();
        assert_eq!(*sink.1.lock(), expected, "{watches}");
    }
}

/// Issues a query on the only issuing thread.
fn issue(model: &Model, indices: &[u64]) {
    model.issuers(1).unwrap()[0].issue(QueryPart::whole(&query(indices))).unwrap();
}

#[test]
fn issued_samples_are_completed_through_the_sink_and_checked() {
    let backend = good_backend();
    let (model, _instance) = running(&backend);
    let sink = Arc::new(Kept::default());
    backend.set_sink(Some(sink.clone()));
    // More than are converted at a time, with sample 1 in the second part.
    let mut indices = vec![0; 99];
    indices[70] = 1;
    issue(&model, &indices);
    let responses = sink.take();
    let first_tokens = std::mem::take(&mut *sink.first_tokens.lock());
    assert_eq!((responses.len(), first_tokens.len()), (99, 99));
    assert_eq!((&first_tokens[0][..], &first_tokens[70][..]), (&[7; 9][..], &[7; 8][..]));
    assert_eq!(responses[70], (101, 1, vec![]));
    assert!(responses.iter().filter(|response| response.0 == 100).all(|response| response.2 == [7; 9]));
    assert_eq!(faults(&backend), ["plugin hand-made: response 0x65 has 8 bytes instead of 9"]);
    backend.set_sink(None);
    issue(&model, &[0]);
    assert_eq!(
        faults(&backend),
        ["plugin hand-made: answered samples while no test was running; and 1 more of this kind"]
    );
}

/// Keeps the instants that it receives; its clock advances with every reading.
#[derive(Default)]
struct Instants {
    readings: AtomicU64,
    completions: Mutex<Vec<u64>>,
    first_tokens: Mutex<Vec<u64>>,
}

impl CompletionSink for Instants {
    fn complete(&self, responses: &[QuerySampleResponse<'_>]) {
        self.complete_at(self.now_ns(), responses);
    }

    fn first_token(&self, responses: &[QuerySampleResponse<'_>]) {
        self.first_token_at(self.now_ns(), responses);
    }

    fn now_ns(&self) -> u64 {
        self.readings.fetch_add(1, Relaxed)
    }

    fn complete_at(&self, now_ns: u64, responses: &[QuerySampleResponse<'_>]) {
        self.completions.lock().extend(responses.iter().map(|_| now_ns));
    }

    fn first_token_at(&self, now_ns: u64, responses: &[QuerySampleResponse<'_>]) {
        self.first_tokens.lock().extend(responses.iter().map(|_| now_ns));
    }
}

#[test]
fn the_responses_of_one_call_have_one_instant() {
    let backend = good_backend();
    let (model, _instance) = running(&backend);
    for count in [1, 64, 65, 200] {
        let sink = Arc::new(Instants::default());
        backend.set_sink(Some(sink.clone()));
        issue(&model, &vec![0; count]);
        // The plugin reports the first tokens of all, and then completes all.
        assert_eq!(*sink.first_tokens.lock(), vec![0; count]);
        assert_eq!(*sink.completions.lock(), vec![1; count]);
    }
}

#[test]
fn the_data_of_a_first_token_are_no_longer_than_a_response() {
    let backend = good_backend();
    let _model = backend.load_model(&demand()).unwrap();
    let sink = Arc::new(Kept::default());
    backend.set_sink(Some(sink.clone()));
    let data = [5_u8; 64];
    for (data, size_bytes) in [(data.as_ptr(), 4), (data.as_ptr(), 10), (ptr::null(), 4), (ptr::null(), 0)] {
        let response = ProctorResponse {
            id: 1,
            data: data.cast(),
            size_bytes,
            status: PROCTOR_STATUS_OK,
            token_count: 0,
            vendor_code: 0,
            message: NULL,
        };
        let responses = ProctorResponses {
            size: size_of::<ProctorResponses>(),
            responses: &raw const response,
            response_count: 1,
            response_stride: size_of::<ProctorResponse>(),
            stages: ptr::null(),
            stage_count: 0,
            stage_stride: 0,
        };
        // SAFETY: the host table is valid for ever; the data are as long as they say, or what is tested.
        unsafe {
            let host = &*HOST.get();
            host.first_token.unwrap()(host.context, &raw const responses);
        }
    }
    assert_eq!(*sink.first_tokens.lock(), [vec![5; 4], vec![], vec![], vec![]]);
    let expected =
        "plugin hand-made: first token of 0x1 has 10 bytes instead of at most 9; and 1 more of this kind";
    assert_eq!(faults(&backend), [expected]);
}

#[test]
fn the_host_table_checks_what_it_is_given() {
    let backend = good_backend();
    backend.set_sink(Some(Arc::new(Kept::default())));
    // SAFETY: the host table is valid for ever, and the texts are static; wrong arguments are what is tested.
    unsafe {
        let host = &*HOST.get();
        assert_eq!(host.now_ns.unwrap()(host.context), 42);
        assert_eq!(host.now_ns.unwrap()(ptr::null_mut()), 0);
        assert_eq!(host.is_cancelled.unwrap()(host.context), 0);
        backend.host_side().cancel();
        assert_eq!(host.is_cancelled.unwrap()(host.context), 1);
        let folder = host.cache_folder.unwrap()(host.context);
        assert_eq!(std::slice::from_raw_parts(folder.data, folder.length), b"/cache");
        assert!(host.extension.unwrap()(host.context, text("x")).is_null());
        host.log.unwrap()(host.context, 99, NULL, text("hello"));
        let metric = |name, unit, value| {
            let metric = ProctorMetric {
                size: size_of::<ProctorMetric>(),
                name: text(name),
                unit: text(unit),
                value,
                at_ns: 0,
            };
            host.metric.unwrap()(host.context, &raw const metric);
        };
        metric("power", "W", 5.0);
        metric("power", "W", 6.0);
        for (name, unit, value) in
            [("power", "W", f64::NAN), ("", "W", 1.0), ("a b", "", 1.0), ("power", "mW", 1.0)]
        {
            metric(name, unit, value);
        }
        host.metric.unwrap()(host.context, ptr::null());
        host.complete.unwrap()(host.context, ptr::null());
        for (array, response_count) in
            [(ptr::null(), 3), (leak([0_u64; 16]).as_ptr().cast(), 1 << 29), (ptr::null(), 0)]
        {
            let responses = ProctorResponses {
                size: size_of::<ProctorResponses>(),
                responses: array,
                response_count,
                response_stride: size_of::<ProctorResponse>(),
                stages: ptr::null(),
                stage_count: 0,
                stage_stride: 0,
            };
            host.complete.unwrap()(host.context, &raw const responses);
        }
    }
    let metrics = backend.host_side().metrics();
    assert_eq!((metrics.len(), metrics["power"].last, metrics["power"].unit.as_str()), (1, 6.0, "W"));
    let faults: Vec<_> = backend.host_side().take_faults().iter().map(ToString::to_string).collect();
    assert_eq!(
        faults,
        [
            "plugin hand-made: called now_ns with a context that is null, not that of its host's table",
            "plugin hand-made: metric \"power\" = NaN is not taken: the value is not finite; and 4 more of this kind",
            "plugin hand-made: handed over responses that cannot be: ProctorResponses is null; and 2 more of this kind",
        ]
    );
}

#[test]
fn samples_are_checked_before_the_plugin_sees_them() {
    struct Wrong;
    impl SampleBuffers for Wrong {
        fn tensor(&self, _: SampleIndex, _: usize) -> &[u8] {
            &[0; 7]
        }
    }
    let backend = good_backend();
    let model = backend.load_model(&demand()).unwrap();
    let message = model.prepare(&[SampleIndex(4)], Arc::new(Wrong)).unwrap_err().to_string();
    assert!(message.contains("input \"image\" of sample 4 has 7 bytes"), "{message}");
    let message = good_library().open(&unknown_options(), services()).err().unwrap().to_string();
    assert_eq!(message, "plugin hand-made: the plugin has no option \"colour\"");
}

fn services() -> HostServices {
    HostServices { now_ns: Arc::new(|| 0), cache_folder: None }
}

fn unknown_options() -> Options {
    Options::from_values([("colour".to_owned(), proctor_plugin_api::OptionValue::Boolean(true))])
}

#[test]
fn a_call_that_ends_something_and_fails_is_a_fault() {
    for failing in ["flush", "stop", "release_samples", "destroy_instance", "unload_model", "close"] {
        FAILING.set(failing);
        let backend = good_backend();
        let host = backend.host_side();
        let model = backend.load_model(&demand()).unwrap();
        drop(model.create_instance(0).unwrap());
        prepare(&model, &[1]).unwrap();
        model.start().unwrap();
        let flushed = model.flush().err();
        let stopped = model.stop().err();
        model.release().unwrap();
        drop((model, backend));
        let mut failures: Vec<_> =
            flushed.into_iter().chain(stopped).map(|error| error.to_string()).collect();
        failures.extend(host.take_faults().iter().map(ToString::to_string));
        let expected = format!("plugin hand-made: {failing} failed (DEVICE_LOST): the driver is gone");
        assert_eq!(failures, [expected]);
    }
    FAILING.set("");
}

/// Sample 0, whose tensor has a shape of its own and as many bytes as that.
struct OfShape(Aligned, Vec<usize>);

impl SampleBuffers for OfShape {
    fn tensor(&self, _: SampleIndex, _: usize) -> &[u8] {
        &self.0.0[..self.1.iter().product()]
    }

    fn shape(&self, _: SampleIndex, _: usize) -> Option<&[usize]> {
        Some(&self.1)
    }
}

#[test]
fn samples_vary_within_the_shape_that_the_model_was_loaded_for() {
    let row = ProctorModelSupport { flags: PROCTOR_MODEL_DYNAMIC_SHAPES, ..model_row() };
    let library = load(table(), manifest(vec![row], vec![])).unwrap();
    let services = HostServices { now_ns: Arc::new(|| 42), cache_folder: None };
    let backend = library.open(&library.options(&BTreeMap::new()).unwrap(), services).unwrap();
    // The shape is [2, 4].
    let prepared = |inputs_vary, shape: &[usize]| {
        let model = backend.load_model(&ModelDemand { inputs_vary, ..demand() }).unwrap();
        let sample = Arc::new(OfShape(Aligned([0; 8]), shape.to_vec()));
        model.prepare(&[SampleIndex(0)], sample).map_err(|refused| refused.to_string())
    };
    for shape in [[2, 4], [1, 4], [2, 1]] {
        prepared(true, &shape).unwrap();
    }
    prepared(false, &[2, 4]).unwrap();
    for (inputs_vary, shape, expected) in [
        (true, &[3, 2][..], "has the shape [3, 2] instead of at most [2, 4]"),
        (true, &[1, 5], "has the shape [1, 5] instead of at most [2, 4]"),
        (true, &[8], "has the shape [8] instead of at most [2, 4]"),
        (true, &[1, 2, 4], "has the shape [1, 2, 4] instead of at most [2, 4]"),
        (false, &[1, 4], "has the shape [1, 4] instead of [2, 4]"),
    ] {
        let refused = prepared(inputs_vary, shape).unwrap_err();
        assert!(refused.contains(&format!("input \"image\" of sample 0 {expected}")), "{refused}");
    }
}
