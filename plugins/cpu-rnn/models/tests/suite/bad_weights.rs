//! Every file that cannot be used is refused with a message that names the file and the tensor.

use std::path::Path;

use proctor_rnn_layer::{GruReset, Precision};
use proctor_rnn_models::{
    Batch, RunError, SingleThread,
    safetensors::{Stack, StackOutput, StackSettings, WeightsError},
};
use proctor_test_needs::skip;
use proptest::prelude::*;
use zerocopy::IntoBytes;

use crate::common::{Architecture, Tensors, batch_of, instance, load, to_safetensors, try_instance};

const LSTM: Architecture = Architecture {
    prefix: "lstm",
    layer_count: 2,
    bidirectional: false,
    input_count: 3,
    hidden_count: 4,
    output_count: 5,
};

fn read(bytes: &[u8]) -> Result<Stack, WeightsError> {
    Stack::from_bytes(Path::new("m.safetensors"), bytes, GruReset::default(), Precision::F32)
}

fn message(bytes: &[u8]) -> String {
    read(bytes).map(drop).expect_err("a bad file").to_string()
}

fn message_after(change: impl FnOnce(&mut Tensors)) -> String {
    let mut tensors = LSTM.weights(0);
    change(&mut tensors);
    message(&to_safetensors(&tensors))
}

#[test]
fn the_sizes_of_a_sound_file_follow_from_its_shapes() {
    let model = read(&to_safetensors(&LSTM.weights(0))).unwrap();
    assert_eq!((model.input_count(), model.output_count()), (3, 5));
    let settings = StackSettings { time: 1, batch_size_max: 1, output: StackOutput::Last };
    assert_eq!(model.prepare(settings, &SingleThread).summary().lines().count(), 2);
    let bare = Architecture { prefix: "gru", bidirectional: true, output_count: 0, ..LSTM };
    assert_eq!(load(&bare.weights(0), GruReset::default()).output_count(), 8);
}

#[test]
fn a_file_that_is_not_there() {
    let error =
        Stack::load(Path::new("/nowhere/m.safetensors"), GruReset::default(), Precision::F32).unwrap_err();
    assert!(matches!(error, WeightsError::Read { .. }));
    assert!(error.to_string().starts_with("cannot read weights /nowhere/m.safetensors: "), "{error}");
}

#[test]
fn a_file_that_is_too_large() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.safetensors");
    // It has a hole instead of content.
    if let Err(error) = std::fs::File::create(&path).and_then(|file| file.set_len((16 << 30) + 1)) {
        return skip(format!("no file of 16 GiB can be made: {error}"));
    }
    let error = Stack::load(&path, GruReset::default(), Precision::F32).unwrap_err().to_string();
    assert!(error.ends_with("have 17179869185 bytes, more than the limit of 17179869184"), "{error}");
}

#[test]
fn something_else_than_safetensors() {
    for bytes in [&b""[..], b"short", b"\x08\x07onnx is not this format at all", &[0xff; 64]] {
        let message = message(bytes);
        assert!(message.starts_with("m.safetensors is not a safetensors file, or damaged: "), "{message}");
    }
    let pointer = message(b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n");
    assert!(
        pointer.starts_with("m.safetensors is not a safetensors file: it is a pointer of Git LFS"),
        "{pointer}"
    );
    let page = message(b"<html>404</html>");
    assert!(page.starts_with("m.safetensors is not a safetensors file: it is a web page"), "{page}");
}

#[test]
fn a_file_cut_short() {
    let bytes = to_safetensors(&LSTM.weights(0));
    let expected = "m.safetensors is cut short or damaged: its data are not as long as its header says";
    assert_eq!(message(&bytes[..bytes.len() - 1]), expected);
    assert_eq!(message(&[&bytes[..], b"x"].concat()), expected);
    for length in 0..bytes.len() {
        assert!(read(&bytes[..length]).is_err(), "the first {length} bytes");
    }
}

#[test]
fn a_header_that_claims_an_absurd_size() {
    let header =
        br#"{"lstm.weight_ih_l0":{"dtype":"F32","shape":[18446744073709551615,8],"data_offsets":[0,4]}}"#;
    let bytes = [&(header.len() as u64).to_le_bytes()[..], header, &[0; 4]].concat();
    assert!(matches!(read(&bytes), Err(WeightsError::NotSafetensors { .. })));
}

#[test]
fn no_recurrent_layer() {
    let message = message_after(|tensors| tensors.retain(|name, _| name.starts_with("fc.")));
    assert!(message.ends_with("is there, only \"fc.bias\", \"fc.weight\""), "{message}");
}

#[test]
fn each_missing_tensor_is_named() {
    for name in LSTM.weights(0).into_keys().filter(|name| !name.ends_with("weight_ih_l0")) {
        let message = message_after(|tensors| drop(tensors.remove(&name)));
        // Without its first tensor the second layer is not looked for, so the others have no place.
        let expected = if name.ends_with("weight_ih_l1") {
            "m.safetensors: tensor \"lstm.bias_hh_l1\" has no place in a model of 1 \"lstm\" layer(s) and \"fc\"".into()
        } else {
            format!("m.safetensors: tensor \"{name}\" is missing")
        };
        assert_eq!(message, expected);
    }
}

#[test]
fn each_tensor_of_a_wrong_shape_is_refused() {
    for name in LSTM.weights(0).into_keys() {
        for wrong in [vec![], vec![0], vec![0, 7], vec![7, 0], vec![1], vec![2, 3, 4], vec![17, 5]] {
            let size = wrong.iter().product();
            let message = message_after(|tensors| {
                tensors.insert(name.clone(), (wrong.clone(), vec![0.0; size]));
            });
            let shape_error = message.contains("has shape") && message.contains("expected");
            assert!(shape_error, "{name} {wrong:?}: {message}");
        }
    }
    let message = message_after(|tensors| {
        tensors.insert("lstm.bias_hh_l1".into(), (vec![15], vec![0.0; 15]));
    });
    assert_eq!(message, "m.safetensors: tensor \"lstm.bias_hh_l1\" has shape [15], expected [16]");
}

#[test]
fn another_element_type() {
    let header = br#"{"lstm.weight_ih_l0":{"dtype":"F16","shape":[4,1],"data_offsets":[0,8]},"lstm.weight_hh_l0":{"dtype":"F32","shape":[4,1],"data_offsets":[8,24]}}"#;
    let bytes = [&(header.len() as u64).to_le_bytes()[..], header, &[0; 24]].concat();
    assert_eq!(
        message(&bytes),
        "m.safetensors: tensor \"lstm.weight_ih_l0\" holds F16, but only F32 can be read; convert the file"
    );
}

#[test]
fn weights_that_are_not_finite() {
    for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let message = message_after(|tensors| tensors.get_mut("fc.weight").unwrap().1[7] = value);
        assert_eq!(message, format!("m.safetensors: tensor \"fc.weight\" holds {value} at element 7"));
    }
}

#[test]
fn tensors_without_a_place() {
    // A projection, a second network, a reverse direction of one layer only.
    for name in ["lstm.weight_hr_l0", "gru.weight_ih_l0", "lstm.bias_hh_l1_reverse", "encoder.weight"] {
        let message = message_after(|tensors| drop(tensors.insert(name.into(), (vec![1], vec![0.0]))));
        assert!(
            message.contains(&format!("tensor \"{name}\" has no place in a model of 2 \"lstm\"")),
            "{message}"
        );
    }
}

#[test]
fn an_instance_that_would_take_all_memory_is_refused() {
    for (time, batch_size_max) in
        [(usize::MAX, 1), (1, usize::MAX), (usize::MAX, usize::MAX), (1 << 20, 1 << 20)]
    {
        let settings = StackSettings { time, batch_size_max, output: StackOutput::Last };
        let stack = load(&LSTM.weights(0), GruReset::default());
        let error = try_instance(stack, settings, 1).map(drop).unwrap_err();
        assert!(matches!(error, RunError::TooLarge { .. }), "{time} {batch_size_max}: {error}");
    }
}

#[test]
fn a_batch_that_does_not_fit_is_refused_and_the_next_one_runs() {
    let mut instance = instance(load(&LSTM.weights(0), GruReset::default()), 2, 2, 1);
    let mut execute = |lens: &[usize], output_len| {
        let samples: Vec<Vec<f32>> = lens.iter().map(|len| vec![0.0; *len]).collect();
        instance.execute(&mut batch_of(&samples, output_len)).map_err(|error| error.to_string())
    };
    assert_eq!(execute(&[6, 5], 5).unwrap_err(), "an input of sample 1 has 5 values, the model has 6");
    assert_eq!(execute(&[6, 6], 4).unwrap_err(), "the output of sample 0 has 4 values, the model has 5");
    assert_eq!(
        execute(&[6, 6, 6], 5).unwrap_err(),
        "batch of 3 samples, but the instance was made for at most 2"
    );
    assert_eq!(execute(&[6, 6], 5), Ok(()));
    assert_eq!(execute(&[], 5), Ok(()));
}

/// One sample whose input or output begins in the middle of a value.
struct Askew {
    input: Vec<f32>,
    output: Vec<f32>,
    /// Bytes left out at the beginning of input and output.
    skipped: [usize; 2],
}

// SAFETY: the two vectors are never moved or grown while the batch is borrowed.
unsafe impl Batch for Askew {
    fn sample_count(&self) -> usize {
        1
    }

    fn input(&self, _sample: usize, _input: usize) -> &[u8] {
        &self.input.as_bytes()[self.skipped[0]..]
    }

    fn output_mut(&mut self, _sample: usize, _output: usize) -> &mut [u8] {
        &mut self.output.as_mut_bytes()[self.skipped[1]..]
    }

    fn set_output_size(&mut self, _sample: usize, _output: usize, _size_bytes: usize, _token_count: usize) {}
}

#[test]
fn tensors_that_are_not_whole_values_are_refused() {
    let mut instance = instance(load(&LSTM.weights(0), GruReset::default()), 2, 2, 1);
    for (skipped, expected) in [([0, 0], Ok(())), ([1, 0], Err(())), ([0, 2], Err(()))] {
        let mut batch = Askew { input: vec![0.5; 6], output: vec![0.0; 5], skipped };
        let done = instance.execute(&mut batch);
        assert_eq!(done, expected.map_err(|()| RunError::Alignment(0)), "{skipped:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    /// Damage anywhere gives an error or another model, never a panic.
    #[test]
    fn damage_never_panics(place in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = to_safetensors(&Architecture { hidden_count: 1, ..LSTM }.weights(0));
        let place = place.index(bytes.len());
        bytes[place] = byte;
        drop(read(&bytes));
    }
}
