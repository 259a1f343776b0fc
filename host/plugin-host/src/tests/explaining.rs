//! Explanations that a model writes, in one piece and in several.

use super::*;

/// The explanation that the host reads from these pieces.
fn explained(pieces: &[&'static [u8]]) -> Result<Option<String>, String> {
    EXPLANATION.set(leak(pieces.to_vec()));
    let model = good_backend().load_model(&demand()).unwrap();
    model.explain().map_err(|error| error.to_string())
}

#[test]
fn pieces_are_joined() {
    assert_eq!(
        explained(&[b"two threads,\n", b"", "für immer\n".as_bytes()]),
        Ok(Some("two threads,\nfür immer\n".to_owned()))
    );
    assert!(calls().contains(&"explain".to_owned()));
}

#[test]
fn a_plugin_without_the_extension_or_without_words_says_nothing() {
    assert_eq!(explained(&[]), Ok(None));
    assert!(!calls().contains(&"explain".to_owned()));
    assert_eq!(explained(&[b" \n"]), Ok(None));
}

#[test]
fn a_text_that_is_none_is_refused() {
    let message = explained(&[b"good ", b"b\xffd", b"never seen"]).unwrap_err();
    assert!(message.starts_with("hand-made: its explanation is not UTF-8"), "{message}");
    static LONG: [u8; 700_000] = [b'x'; 700_000];
    assert_eq!(explained(&[&LONG]).unwrap().map(|text| text.len()), Some(700_000));
    assert_eq!(
        explained(&[&LONG, &LONG, &LONG]).unwrap_err(),
        "hand-made: its explanation is longer than 1048576 bytes"
    );
}

#[test]
fn a_failure_has_its_reason() {
    assert_eq!(
        explained(&[b"half", b"fail"]).unwrap_err(),
        "plugin hand-made: explain failed (FAILED): no idea"
    );
}
