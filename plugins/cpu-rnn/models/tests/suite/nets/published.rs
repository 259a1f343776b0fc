//! The networks on the tensors of published data sets: recordings in, text out.

use std::{fs, path::Path, sync::Arc};

use proctor_recipes as recipes;
use proctor_rnn_layer::{GruReset, Precision};
use proctor_rnn_models::{LoadError, LoadRequest, Model, RunError, SingleThread, load};
use proctor_timed_steps::mel::{Dither, Mel};
use proctor_vocabulary::{ElementType, TensorSpec};

use super::common::{batch, load as load_generated, team, words};
use crate::common::owned_batch::OwnedBatch;

/// Number of samples of the longest recording here.
const WAVEFORM_MAX: usize = 20_000;
/// Number of bytes of the longest text here.
const TEXT_MAX: usize = 400;

fn row(name: &str, element_type: ElementType, length: usize) -> TensorSpec {
    TensorSpec { name: name.into(), element_type, shape: vec![length] }
}

/// Loads a network for these tensors.
fn load_for(
    id: &str,
    (inputs, outputs): (&[TensorSpec], &[TensorSpec]),
    vocabulary: Option<&Path>,
) -> Result<Arc<dyn Model>, LoadError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    recipes::write_safetensors(&recipes::recipe(id).unwrap(), &path, &mut |_| ()).unwrap();
    load(&LoadRequest {
        model: id,
        safetensors: Some(&path),
        onnx: None,
        vocabulary,
        inputs,
        outputs,
        batch_size_max: 3,
        precision: Precision::F32,
        reset: GruReset::AfterProduct,
        scheduler: &SingleThread,
    })
}

fn transducer() -> Arc<dyn Model> {
    let inputs = [row("waveform", ElementType::F32, WAVEFORM_MAX), row("length", ElementType::I32, 1)];
    load_for("rnnt-tiny", (&inputs, &[row("labels", ElementType::I64, 500)]), None).unwrap()
}

/// Loads the translator with a text in the place of the vocabulary.
fn translator(vocabulary: &str) -> Result<Arc<dyn Model>, LoadError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens");
    fs::write(&path, vocabulary).unwrap();
    load_for("gnmt-tiny", (&sentence(20), &[row("text", ElementType::U8, TEXT_MAX)]), Some(&path))
}

fn sentence(length: usize) -> [TensorSpec; 2] {
    [row("source", ElementType::I32, length), row("source_length", ElementType::I32, 1)]
}

/// A chord that changes.
fn waveform(samples: usize) -> Vec<f32> {
    let tone = |at: usize, hz: f32| (at as f32 * hz * std::f32::consts::TAU / 16_000.0).sin();
    (0..samples)
        .map(|at| 0.2 * tone(at, 300.0 + (at / 2000) as f32 * 400.0) + 0.1 * tone(at, 1750.0))
        .collect()
}

/// Adds a recording; what lies in the padding is not to be read.
fn push_waveform(batch: &mut OwnedBatch, waveform: &[f32]) {
    let mut padded = waveform.to_vec();
    padded.resize(WAVEFORM_MAX, f32::NAN);
    let bits = padded.iter().map(|sample| sample.to_bits()).collect();
    batch.push(vec![bits, vec![waveform.len() as u32]], &[2 * 500]);
}

fn labels(batch: &OwnedBatch, sample: usize) -> Vec<i64> {
    let values = batch.output_bytes(sample, 0).as_chunks().0;
    values.iter().map(|bytes| i64::from_ne_bytes(*bytes)).collect()
}

#[test]
fn a_recording_has_the_labels_of_its_features() {
    let lengths = [WAVEFORM_MAX, 481, 7777];
    let mut recordings = OwnedBatch::default();
    let mut features = OwnedBatch::default();
    for length in lengths {
        let waveform = waveform(length);
        push_waveform(&mut recordings, &waveform);
        let rows = Mel::row_count(length);
        let mut values = vec![0.0; rows * Mel::FEATURE_COUNT];
        Mel::new(Dither::On).compute(&waveform, &mut values).unwrap();
        values.resize(500 * Mel::FEATURE_COUNT, f32::NAN);
        let bits = values.iter().map(|value| value.to_bits()).collect();
        features.push(vec![bits, vec![rows as u32]], &[500]);
    }
    transducer().instance(team()).unwrap().execute(&mut recordings).unwrap();
    load_generated("rnnt-tiny", Precision::F32, 3).instance(team()).unwrap().execute(&mut features).unwrap();
    for sample in 0..lengths.len() {
        let expected = features.output_integers(sample, 0);
        assert_eq!(
            labels(&recordings, sample),
            expected.iter().map(|label| i64::from(*label)).collect::<Vec<_>>()
        );
    }
    assert!(labels(&recordings, 0).len() > 5, "{:?}", labels(&recordings, 0));
}

#[test]
fn recordings_without_features_are_refused_and_silence_of_no_length_has_no_labels() {
    let mut instance = transducer().instance(team()).unwrap();
    let mut run = |length: usize| {
        let mut batch = OwnedBatch::default();
        push_waveform(&mut batch, &waveform(length));
        instance.execute(&mut batch).map(|()| labels(&batch, 0))
    };
    assert_eq!(run(0).unwrap(), [0_i64; 0]);
    let error = run(480).unwrap_err();
    assert!(
        matches!(error, RunError::Features(0, _)) && error.to_string().contains("480 samples"),
        "{error}"
    );
    let mut batch = OwnedBatch::default();
    batch.push(vec![vec![0; WAVEFORM_MAX], vec![WAVEFORM_MAX as u32 + 1]], &[1000]);
    let error = instance.execute(&mut batch).unwrap_err().to_string();
    assert!(error.contains("length of the waveform of sample 0 holds 20001"), "{error}");
}

/// 40 tokens; every fourth one goes on.
fn vocabulary() -> Vec<String> {
    let special = ["<unk>", "<s>", "</s>"].map(str::to_owned);
    let token =
        |number: usize| if number.is_multiple_of(4) { format!("t{number}@@") } else { format!("t{number}") };
    special.into_iter().chain((3..40).map(token)).collect()
}

/// Sentences of up to 20 words for the translator, and the same for the one that gives numbers.
fn sentences() -> (OwnedBatch, OwnedBatch) {
    let numbers = batch("gnmt-tiny", 0..3);
    let mut texts = OwnedBatch::default();
    for sample in 0..3 {
        let mut inputs: Vec<Vec<u32>> = recipes::input_recipe("gnmt-tiny")
            .unwrap()
            .sample(sample)
            .iter()
            .map(|bytes| words(bytes))
            .collect();
        inputs[0].resize(20, 2);
        texts.push(inputs, &[TEXT_MAX / 4]);
    }
    (texts, numbers)
}

fn text(batch: &OwnedBatch, sample: usize) -> &str {
    std::str::from_utf8(batch.output_bytes(sample, 0)).unwrap()
}

#[test]
fn a_translation_is_the_text_of_its_words() {
    let (mut texts, mut numbers) = sentences();
    let tokens = vocabulary();
    let short = tokens[..20].join("\n");
    load_generated("gnmt-tiny", Precision::F32, 3).instance(team()).unwrap().execute(&mut numbers).unwrap();
    assert!((0..3).any(|sample| numbers.output_integers(sample, 0).len() > 3));
    for (file, known) in [(tokens.join("\n"), 40), (short, 20)] {
        translator(&file).unwrap().instance(team()).unwrap().execute(&mut texts).unwrap();
        for sample in 0..3 {
            let of = |word: &i32| tokens[if *word < known { *word as usize } else { 0 }].as_str();
            let words: Vec<_> = numbers.output_integers(sample, 0).iter().map(of).collect();
            // As the reference does: a part that is the last one is lost.
            let spaced = words.join(" ").replace("@@ ", "");
            let expected = match spaced.rsplit_once(' ') {
                _ if !spaced.ends_with("@@") => spaced.as_str(),
                Some((whole, _)) => whole,
                None => "",
            };
            assert_eq!(text(&texts, sample), expected);
        }
    }
}

#[test]
fn what_a_translator_lacks_is_named() {
    let tensors = (&sentence(20)[..], &[row("text", ElementType::U8, TEXT_MAX)][..]);
    let error = load_for("gnmt-tiny", tensors, None).unwrap_err().to_string();
    assert_eq!(error, "model \"gnmt-tiny\" comes without a vocabulary file");
    let error = load_for("gnmt-tiny", tensors, Some(Path::new("/no/tokens"))).unwrap_err().to_string();
    assert!(error.starts_with("cannot read /no/tokens: "), "{error}");
    let error = translator("a\na\n").unwrap_err().to_string();
    assert!(error.contains("tokens: token \"a\" has the numbers 3 and 4"), "{error}");
    let wide = [row("text", ElementType::F32, TEXT_MAX)];
    let error = load_for("gnmt-tiny", (&sentence(20), &wide), None).unwrap_err().to_string();
    assert!(error.contains("a text u8[m] of words i32[n] and their number i32[1]"), "{error}");
}

#[test]
fn a_text_that_does_not_fit_is_refused() {
    let (texts, _) = sentences();
    let tokens: Vec<_> = vocabulary().iter().map(|token| format!("{}{token}", "long".repeat(40))).collect();
    let error = translator(&tokens.join("\n")).unwrap().instance(team()).unwrap().execute(&mut texts.clone());
    let error = error.unwrap_err().to_string();
    assert!(error.contains("an output of sample 2 has 400 values"), "{error}");
}

#[test]
fn a_second_batch_allocates_nothing() {
    let mut recordings = OwnedBatch::default();
    for length in [9000, WAVEFORM_MAX, 700] {
        push_waveform(&mut recordings, &waveform(length));
    }
    let (texts, _) = sentences();
    let translator = translator(&vocabulary().join("\n")).unwrap();
    for (model, mut batch) in [(transducer(), recordings), (translator, texts)] {
        let name = model.summary();
        let mut instance = model.instance(team()).unwrap();
        instance.execute(&mut batch).unwrap();
        let counted = allocation_counter::measure(|| instance.execute(&mut batch).unwrap());
        assert_eq!(counted.count_total, 0, "{name}");
    }
}
