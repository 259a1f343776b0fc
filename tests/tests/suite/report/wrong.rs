//! The samples that a run has answered wrongly: in the file beside its result, and on its page.

use std::fs;

use proctor_tests::{Bench, datasets};
use serde_json::Value;

use crate::report::page::Page;

#[test]
fn wrong_answers_are_those_of_the_reference_and_have_their_pictures() {
    let bench = Bench::new();
    let run = bench.run("--benchmark digits-mlp --scenario Offline --mode accuracy");
    let wrong: Value = serde_json::from_str(&run.text("wrong_samples.json")).unwrap();
    let reference = fs::read_to_string(datasets().join("digits/reference.json")).unwrap();
    let reference: Value = serde_json::from_str(&reference).unwrap();
    let predictions = reference["models"]["digits-mlp"]["predictions"].as_str().unwrap();

    // 591 of 600 are right.
    assert_eq!((&wrong["wrong_count"], &wrong["dataset"]), (&9.into(), &"digits".into()));
    let samples = wrong["samples"].as_array().unwrap();
    assert_eq!(samples.len(), 9);
    for sample in samples {
        let place = usize::try_from(sample["sample"].as_u64().unwrap()).unwrap();
        assert_eq!(sample["given"].to_string(), predictions[place..=place], "{sample}");
        assert_ne!(sample["given"], sample["expected"], "{sample}");
        let rows = sample["picture"].as_array().unwrap();
        assert!(rows.len() == 8 && rows.iter().all(|row| row.as_str().unwrap().len() == 8), "{sample}");
        assert!(rows.iter().any(|row| row.as_str().unwrap().contains('f')), "{sample}");
    }

    let page = Page::of(&bench, &[run.folder().to_owned()]);
    assert_eq!(page.text.matches("viewBox=\"0 0 8 8\"").count(), 9);
    for text in ["Wrong answers: 9", "95 % interval", &format!("given {}", samples[0]["given"])] {
        assert!(page.text.contains(text), "{text}");
    }
}

#[test]
fn a_damaged_list_is_named_and_the_page_is_made() {
    let bench = Bench::new();
    let run = bench.run("--benchmark digits-mlp --scenario Offline --mode accuracy");
    fs::write(run.folder().join("wrong_samples.json"), "{\"schema_version\": 1}").unwrap();
    let page = Page::of(&bench, &[run.folder().to_owned()]);
    assert!(page.text.contains("wrong_samples.json") && !page.text.contains("Wrong answers"));
}
