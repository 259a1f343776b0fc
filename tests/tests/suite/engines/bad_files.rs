//! Files that cannot be run: each with an error that names the file and what is wrong, before anything is timed.

use proctor_onnx_file::proto::{
    DimensionProto, ModelProto, StringStringEntryProto, TensorTypeProto, ValueInfoProto,
};
use proctor_tests::Bench;
use prost::Message;
use serde_json::Value;

use crate::engines::engine::{Engine, Replaced, original};

/// `TensorProto.DataType.STRING`.
const STRING: i32 = 8;
/// `TensorProto.DataLocation.EXTERNAL`.
const EXTERNAL: i32 = 1;

/// The file of the engine's first model, in the format that it reads.
fn file_of(engine: &Engine) -> String {
    format!("{}.{}", engine.model(), engine.format)
}

pub fn files_that_are_no_models(engine: &Engine) {
    let Some(bench) = engine.bench() else { return };
    let file = file_of(engine);
    let whole = original(&file);
    for bytes in [&[][..], b"<html>not found</html>\n", &whole[..whole.len() / 2], &whole[..20]] {
        Replaced::new(&bench, engine.model(), &file, bytes).assert_refused(&bench, engine, "", &[&file]);
    }
}

pub fn models_that_are_not_the_benchmarks(engine: &Engine) {
    let Some(bench) = engine.bench() else { return };
    match engine.format {
        "onnx" => onnx(engine, &bench),
        "safetensors" => safetensors(engine, &bench),
        other => panic!("no bad files in the format {other}"),
    }
}

fn onnx(engine: &Engine, bench: &Bench) {
    let file = file_of(engine);
    let changed = |change: fn(&mut ModelProto)| {
        let mut model = ModelProto::decode(&*original(&file)).unwrap();
        change(&mut model);
        Replaced::new(bench, engine.model(), &file, &model.encode_to_vec())
    };
    let refused = |change: fn(&mut ModelProto), flags: &str, texts: &[&str]| {
        changed(change).assert_refused(bench, engine, flags, texts);
    };
    refused(|model| graph(model).node[1].op_type = Some("Reloo".to_owned()), "", &["Reloo", &file]);
    refused(
        |model| {
            dims(&mut graph(model).input[0])[0] = fixed(2);
            dims(&mut graph(model).output[0])[0] = fixed(2);
        },
        "--batch-size 4",
        &["takes batches of 2", "may form batches of 4", &file],
    );
    refused(
        |model| dims(&mut graph(model).input[0])[2] = fixed(9),
        "",
        &["image f32[batch, 1, 9, 8]", "[1, 8, 8]", &file],
    );
    refused(
        |model| tensor(&mut graph(model).output[0]).elem_type = Some(STRING),
        "",
        &["output \"logits\"", "nothing can score", &file],
    );
    refused(external, "", &["\"conv1.weight\"", "elsewhere.bin", "cannot be read", &file]);
    let beside = changed(external).beside("elsewhere.bin", &[0; 100]);
    beside.assert_refused(bench, engine, "", &["\"conv1.weight\"", "elsewhere.bin", "cut short", &file]);
    if !engine.precisions.contains(&"int8") {
        return;
    }
    // A benchmark to be computed in 8 bits has a file of 32.
    let other = Replaced::new(bench, engine.model(), "digits-cnn-int8.onnx", &original(&file));
    other.assert_refused(bench, engine, "--precision int8", &["digits-cnn-int8.onnx", "f32", "int8"]);
}

fn graph(model: &mut ModelProto) -> &mut proctor_onnx_file::proto::GraphProto {
    model.graph.as_mut().unwrap()
}

fn tensor(value: &mut ValueInfoProto) -> &mut TensorTypeProto {
    value.r#type.as_mut().unwrap().tensor_type.as_mut().unwrap()
}

fn dims(value: &mut ValueInfoProto) -> &mut Vec<DimensionProto> {
    &mut tensor(value).shape.as_mut().unwrap().dim
}

fn fixed(extent: i64) -> DimensionProto {
    DimensionProto { dim_value: Some(extent), ..DimensionProto::default() }
}

/// Puts the weights of the first layer, 16 x 1 x 3 x 3 f32, into another file.
fn external(model: &mut ModelProto) {
    let constants = &mut graph(model).initializer;
    let constant = constants.iter_mut().find(|it| it.name.as_deref() == Some("conv1.weight")).unwrap();
    let entry = |key: &str, value: &str| StringStringEntryProto {
        key: Some(key.to_owned()),
        value: Some(value.to_owned()),
    };
    constant.external_data = vec![entry("location", "elsewhere.bin"), entry("length", "576")];
    constant.data_location = Some(EXTERNAL);
    constant.raw_data = None;
}

fn safetensors(engine: &Engine, bench: &Bench) {
    let file = file_of(engine);
    let name = if engine.model() == "digits-cnn" { "conv2.weight" } else { "lstm.weight_hh_l0" };
    let refused = |change: &dyn Fn(&mut Value), texts: &[&str]| {
        let bytes = with_header(&original(&file), change);
        Replaced::new(bench, engine.model(), &file, &bytes).assert_refused(bench, engine, "", texts);
    };
    let other_name = |header: &mut Value| {
        let tensors = header.as_object_mut().unwrap();
        let tensor = tensors.remove(name).unwrap();
        tensors.insert("somebody.else".to_owned(), tensor);
    };
    refused(&other_name, &[name, &file]);
    let other_shape = |header: &mut Value| {
        let shape = header[name]["shape"].as_array_mut().unwrap();
        shape.reverse();
        shape.push(1.into());
    };
    // Some take the sizes of a layer from this tensor, and find the next one wrong.
    refused(&other_shape, &["shape", &file]);
    refused(&|header| header[name]["dtype"] = "I32".into(), &[name, "I32", &file]);
}

/// A safetensors file with another header: eight bytes of length, the header in JSON, the values.
fn with_header(bytes: &[u8], change: &dyn Fn(&mut Value)) -> Vec<u8> {
    let length = usize::try_from(u64::from_le_bytes(bytes[..8].try_into().unwrap())).unwrap();
    let (header, values) = bytes[8..].split_at(length);
    let mut header: Value = serde_json::from_slice(header).unwrap();
    change(&mut header);
    let header = serde_json::to_vec(&header).unwrap();
    [&u64::try_from(header.len()).unwrap().to_le_bytes()[..], &header, values].concat()
}
