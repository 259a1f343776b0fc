//! A wrong request or file is refused when the model is loaded, with the names of file and tensor.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    path::PathBuf,
};

use candle_sut::Candle;
use proctor_plugin_api::{Host, ModelFile, ModelRequest, Options, Plugin, vocabulary::ElementType};
use proctor_plugin_bed::{Bed, ModelDemand, Samples, digits, f32_spec, spec};
use safetensors::{Dtype, SafeTensors, serialize, tensor::TensorView};

use crate::bed;

/// The error of loading `digits-mlp` after a change of the demand.
fn refusal(change: impl FnOnce(&mut ModelDemand)) -> String {
    let mut demand = digits::model("digits-mlp.safetensors");
    change(&mut demand);
    crate::refusal(&demand)
}

/// The host's refusal after a change of the demand, before the plugin hears of it, and the plugin's if it is
/// asked all the same.
fn refusals(change: impl Fn(&mut ModelDemand)) -> [String; 2] {
    let mut demand = digits::model("digits-mlp.safetensors");
    change(&mut demand);
    let by_host = Bed::open("candle", &[], &demand).unwrap_err();
    let request = ModelRequest {
        model: demand.model,
        precision: demand.precision.unwrap_or_else(|| "f32".into()),
        device: demand.device.unwrap_or_else(|| "cpu".into()),
        files: demand.files.into_iter().map(|(format, path)| ModelFile { format, path }).collect(),
        inputs: demand.inputs,
        outputs: demand.outputs,
        scenario: demand.scenario,
        batch_size_max: demand.batch_size_max,
        instance_count: demand.instance_count,
        last_output_varies: false,
        inputs_vary: false,
        intent: demand.intent,
        placements: demand.placements,
    };
    let options = Options::resolve(&Candle::manifest().options, &BTreeMap::new()).unwrap();
    let plugin = Candle::open(Host::detached(), &options).unwrap();
    [by_host, plugin.load_model(&request).map(drop).unwrap_err().to_string()]
}

/// A folder with a file of these bytes, and what loading it as `digits-mlp` says.
fn refusal_of_file(bytes: &[u8]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("changed.safetensors");
    fs::write(&path, bytes).unwrap();
    let message = refusal(|demand| demand.files[0].1.clone_from(&path));
    assert!(message.contains("changed.safetensors"), "{message}");
    message
}

type Tensors = HashMap<String, (Dtype, Vec<usize>, Vec<u8>)>;

/// The bytes of `digits-mlp.safetensors` after a change of its tensors.
fn changed(change: impl FnOnce(&mut Tensors)) -> Vec<u8> {
    let bytes = fs::read(digits::file("digits-mlp.safetensors")).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let owned = |(name, view): (String, TensorView<'_>)| {
        (name, (view.dtype(), view.shape().to_vec(), view.data().to_vec()))
    };
    let mut tensors: Tensors = file.tensors().into_iter().map(owned).collect();
    change(&mut tensors);
    let mut views = Vec::new();
    for (name, (dtype, shape, data)) in &tensors {
        views.push((name, TensorView::new(*dtype, shape.clone(), data).unwrap()));
    }
    serialize(views, None).unwrap()
}

#[test]
fn a_file_is_needed_and_has_to_be_there() {
    let [by_host, message] = refusals(|demand| demand.files.clear());
    assert!(by_host.contains("plugin candle does not declare file format"), "{by_host}");
    assert_eq!(message, "model \"digits-mlp\" comes without a safetensors file");
    let message = refusal(|demand| demand.files[0].1 = PathBuf::from("/nowhere.safetensors"));
    assert!(message.starts_with("cannot read weights /nowhere.safetensors: "), "{message}");
}

#[test]
fn a_file_of_another_kind_is_no_safetensors_file() {
    assert!(refusal_of_file(b"short").contains("is not a safetensors file: it has 5 bytes"));
    let message = refusal_of_file(b"\x08\x0eonnx, which has other things at its beginning");
    assert!(message.contains("is not a safetensors file: it begins with a header of"), "{message}");
    let message = refusal_of_file(b"\x05\0\0\0\0\0\0\0{\"a\":");
    assert!(message.contains("is not a safetensors file: its header: "), "{message}");
    let message = refusal_of_file(b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n");
    assert!(message.contains("is not a safetensors file: it is a pointer of Git LFS"), "{message}");
}

#[test]
fn a_truncated_file_is_told_by_its_length() {
    let bytes = changed(|_| ());
    for length in [bytes.len() - 1, bytes.len() / 2, 40] {
        let message = refusal_of_file(&bytes[..length]);
        assert!(message.contains(&format!("has {length} bytes, but its header speaks of")), "{message}");
        assert!(message.contains("truncated"), "{message}");
    }
    let message = refusal_of_file(&[bytes, vec![0]].concat());
    assert!(message.contains("written over"), "{message}");
}

#[test]
fn a_missing_tensor_is_named() {
    let message = refusal_of_file(&changed(|tensors| drop(tensors.remove("fc2.bias"))));
    assert!(message.ends_with("changed.safetensors has no tensor \"fc2.bias\" among its 5"), "{message}");
}

#[test]
fn a_tensor_of_another_shape_is_named_with_both_shapes() {
    let reshape = |tensors: &mut Tensors| tensors.get_mut("fc2.weight").unwrap().1 = vec![128, 64];
    let message = refusal_of_file(&changed(reshape));
    assert!(message.contains("tensor \"fc2.weight\" of "), "{message}");
    assert!(message.ends_with("changed.safetensors has the shape [128, 64], not [any, 128]"), "{message}");
    let flatten = |tensors: &mut Tensors| tensors.get_mut("fc3.bias").unwrap().1 = vec![1, 10];
    let message = refusal_of_file(&changed(flatten));
    assert!(message.ends_with("changed.safetensors has the shape [1, 10], not [10]"), "{message}");
}

#[test]
fn a_tensor_of_integers_is_named_with_its_type() {
    let retype = |tensors: &mut Tensors| tensors.get_mut("fc1.weight").unwrap().0 = Dtype::I32;
    let message = refusal_of_file(&changed(retype));
    assert!(message.contains("tensor \"fc1.weight\" of "), "{message}");
    assert!(message.ends_with("has elements of type I32, not F32, F64, F16 or BF16"), "{message}");
}

#[test]
fn a_tensor_of_fewer_bits_or_more_is_converted() {
    let widen = |tensors: &mut Tensors| {
        let (dtype, _, data) = tensors.get_mut("fc3.bias").unwrap();
        let wide = |word: &[u8; 4]| f64::from(f32::from_le_bytes(*word)).to_le_bytes();
        *data = data.as_chunks().0.iter().flat_map(wide).collect();
        *dtype = Dtype::F64;
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wide.safetensors");
    fs::write(&path, changed(widen)).unwrap();
    let samples = Samples::of_f32(&[(0..64_u8).map(|pixel| f32::from(pixel % 17) / 16.0).collect()]);
    let run = |demand: &ModelDemand| bed(demand).run(&samples, &[1]).unwrap().answers().to_vec();
    let demand = digits::model("digits-mlp.safetensors");
    let wide = ModelDemand { files: vec![("safetensors".into(), path)], ..demand.clone() };
    assert_eq!(run(&wide), run(&demand));
}

#[test]
fn an_unknown_precision_or_model_or_device_is_refused_with_what_there_is() {
    let [by_host, message] = refusals(|demand| demand.precision = Some("int8".into()));
    assert!(by_host.ends_with("does not declare precision int8; it declares bf16, f16, f32"), "{by_host}");
    assert_eq!(message, "model \"digits-mlp\" runs in f32, bf16, f16, not in \"int8\"");
    let [by_host, message] = refusals(|demand| demand.model = "gpt".into());
    assert!(by_host.contains("does not declare model gpt; it declares bert-"), "{by_host}");
    assert!(
        message.starts_with("there is no model \"gpt\"; there are digits-cnn, digits-lstm,"),
        "{message}"
    );
    let [by_host, message] = refusals(|demand| demand.device = Some("tpu".into()));
    assert!(by_host.contains("does not declare device tpu; it declares cpu"), "{by_host}");
    assert!(message.starts_with("device \"tpu\" is not supported; there is cpu"), "{message}");
}

#[test]
fn other_tensors_than_those_of_the_model_are_refused_with_both() {
    let message = refusal(|demand| demand.inputs = vec![f32_spec("image", &[8, 8])]);
    assert_eq!(message, "the model takes image f32[64], but the benchmark has image f32[8, 8]");
    let message = refusal(|demand| demand.inputs = vec![spec("image", ElementType::U8, &[64])]);
    assert_eq!(message, "the model takes image f32[64], but the benchmark has image u8[64]");
    let message = refusal(|demand| demand.outputs = vec![f32_spec("logits", &[11])]);
    assert_eq!(message, "the model gives logits f32[10], but the benchmark has logits f32[11]");
    let message = refusal(|demand| demand.outputs.push(f32_spec("more", &[1])));
    assert!(message.ends_with("the benchmark has logits f32[10], more f32[1]"), "{message}");
}

#[test]
fn the_file_of_another_model_names_the_first_tensor_that_is_not_there() {
    let message = refusal(|demand| demand.files[0].1 = digits::file("digits-cnn.safetensors"));
    assert!(message.contains("digits-cnn.safetensors has no tensor \"fc1.weight\""), "{message}");
}
