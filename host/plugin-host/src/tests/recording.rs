//! A recording of a whole life. One test: a process has one recording.

use super::*;
use crate::{
    Answer, Begun, Call, Head, Line, RECORDING_VERSION, Recorder, Returned, hash_of, read_recording,
    record::entry::through,
};

#[test]
fn a_recording_has_each_call_with_its_batch_and_its_answers() {
    let folder = tempfile::tempdir().unwrap();
    let head = Head { recording: RECORDING_VERSION, program: "p".to_owned(), settings: BTreeMap::new() };
    let recorder = Recorder::create(folder.path(), head).unwrap();
    TABLE.set(leak(table()));
    MANIFEST.set(leak(manifest(vec![model_row()], vec![option_row()])));
    let library =
        LoadedPlugin::from_entry(through(entry, &recorder).unwrap(), "hand", Origin::linked(), &mut |_| ())
            .unwrap();
    assert!(through(entry, &recorder).unwrap_err().to_string().contains("records a plugin already"));
    let options = library.options(&BTreeMap::new()).unwrap();
    let services = HostServices { now_ns: Arc::new(|| 42), cache_folder: None };
    let backend = library.open(&options, services).unwrap();
    let sink = Arc::new(Kept::default());
    backend.set_sink(Some(Arc::clone(&sink) as _));

    let model = backend.load_model(&demand()).unwrap();
    let mut instance = model.create_instance(1).unwrap();
    prepare(&model, &[3, 2]).unwrap();
    model.start().unwrap();
    instance.execute(&query(&[3, 2])).unwrap();
    let issuers = model.issuers(1).unwrap();
    issuers[0].issue(proctor_plugin_api::vocabulary::QueryPart::whole(&query(&[2]))).unwrap();
    FAILING.set("stop");
    assert!(model.stop().is_err());
    model.release().unwrap();
    drop((issuers, instance, model, backend));
    recorder.finish().unwrap();

    let lines = read_recording(folder.path()).unwrap();
    let begun: Vec<&Begun> = lines
        .iter()
        .filter_map(|line| if let Line::Call(begun) = line { Some(begun) } else { None })
        .collect();
    let names: Vec<_> = begun.iter().map(|begun| begun.call.0.as_str()).collect();
    let expected = [
        "open",
        "load_model",
        "create_instance",
        "prepare_samples",
        "start",
        "execute",
        "issue",
        "stop",
        "release_samples",
        "destroy_instance",
        "unload_model",
        "close",
    ];
    assert_eq!(names, expected);
    assert_eq!(begun[0].arguments, BTreeMap::from([("threads".to_owned(), "2".to_owned())]));
    assert_eq!(begun[1].arguments["outputs"], "logits u8[8], label u8[]");
    let hashes: Vec<_> = begun[3].prepared.iter().map(|input| input.hash.clone().unwrap()).collect();
    assert_eq!(hashes, [2, 3].map(|value| hash_of([&[value; 8][..]])));
    assert_eq!(begun[3].listed, [3, 2]);
    let execute = begun[5];
    assert_eq!((execute.instance, &execute.samples[..]), (Some(1), &[(103, 3), (102, 2)][..]));
    let returned = |begun: &Begun| {
        let is_it = |line: &&Line| matches!(line, Line::Return(returned) if returned.number == begun.number);
        let Some(Line::Return(returned)) = lines.iter().find(is_it) else { panic!("{begun:?} returned") };
        returned.clone()
    };
    let answer = |id, value: u8| Answer {
        id,
        size_bytes: 9,
        hash: Some(hash_of([&[value; 9][..]])),
        token_count: 5,
        ..Answer::default()
    };
    assert_eq!(returned(execute).answers, [answer(103, 3), answer(102, 2)]);
    let Returned { status, message, .. } = returned(begun[7]);
    assert_eq!((status, message.as_str()), (PROCTOR_STATUS_DEVICE_LOST, "the driver is gone"));
    assert!(begun[7].call.is(Call::Stop));
    let is_complete = |line: &&Line| matches!(line, Line::Host(told) if told.call == "complete");
    let Some(Line::Host(told)) = lines.iter().find(is_complete) else { panic!("the sample was completed") };
    assert_eq!(told.answers.iter().map(|answer| answer.id).collect::<Vec<_>>(), [102]);
    assert_eq!(sink.take().len(), 1);
}
