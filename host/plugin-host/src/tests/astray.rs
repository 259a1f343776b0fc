//! Simulates a host that makes mistakes, or is of another version: the base of the conformance suite.

use crate::{EntryAnswer, LoadStep, OtherHost, OutOfTurn};

use super::*;

/// A host that speaks major version 2 alone, with this much room for a refusal.
fn next_major(refusal_room: usize) -> OtherHost {
    OtherHost { major_min: 2, major_max: 2, minor_max: 0, refusal_room }
}

#[test]
fn another_host_gets_a_table_or_a_reason_as_far_as_there_is_room() {
    let library = good_library();
    let this = EntryAnswer::Table { major: PROCTOR_ABI_MAJOR, minor: PROCTOR_ABI_MINOR };
    assert_eq!(library.answer_to(next_major(64)).unwrap(), this);
    TABLE.set(ptr::null());
    REFUSAL.set("speaks 1 only");
    assert_eq!(library.answer_to(next_major(64)).unwrap(), EntryAnswer::Refusal("speaks 1 only".to_owned()));
    let error = library.answer_to(next_major(4)).unwrap_err().to_string();
    assert_eq!(error, "plugin hand-made: the entry writes beyond the 4 bytes of room for a refusal");
}

#[test]
fn the_step_that_fails_is_the_last_one_that_is_heard_of() {
    let steps = |table: ProctorPlugin, manifest: ProctorManifest| {
        TABLE.set(leak(table));
        MANIFEST.set(leak(manifest));
        let mut heard = Vec::new();
        let loaded = LoadedPlugin::from_entry(entry, "hand", Origin::linked(), &mut |step| heard.push(step));
        (loaded.is_ok(), heard.last().copied())
    };
    let good = || manifest(vec![model_row()], vec![option_row()]);
    assert_eq!(steps(table(), good()), (true, Some(LoadStep::Extensions)));
    let newer = ProctorPlugin { abi_major: 2, ..table() };
    assert_eq!(steps(newer, good()), (false, Some(LoadStep::Entry)));
    let cannot_load = ProctorPlugin { load_model: None, ..table() };
    assert_eq!(steps(cannot_load, good()), (false, Some(LoadStep::Functions)));
    let cannot_execute = ProctorPlugin { execute: None, ..table() };
    assert_eq!(steps(cannot_execute, good()), (false, Some(LoadStep::Functions)));
    assert_eq!(steps(table(), manifest(vec![], vec![])), (false, Some(LoadStep::Manifest)));
    let has_none = ProctorPlugin { extension: None, ..table() };
    assert_eq!(steps(has_none, good()), (false, Some(LoadStep::Extensions)));
}

#[test]
fn extensions_are_there_or_not() {
    let library = good_library();
    assert!(library.has_extension(PROCTOR_EXTENSION_ISSUE));
    assert!(!library.has_extension("vendor.unknown/1"));
}

#[test]
fn a_call_out_of_turn_reaches_the_plugin_and_leaves_the_state() {
    let backend = good_backend();
    let model = backend.load_model(&demand()).unwrap();
    calls();
    for call in [OutOfTurn::Stop, OutOfTurn::Start, OutOfTurn::Flush, OutOfTurn::Release] {
        model.call_out_of_turn(call).unwrap();
    }
    assert_eq!(calls(), ["stop", "start", "flush", "release_samples"]);
    prepare(&model, &[1]).unwrap();
    model.start().unwrap();
}
