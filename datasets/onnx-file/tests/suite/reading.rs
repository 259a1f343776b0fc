//! Files are read, or refused in words that name the file and what is wrong.

use std::{fs, path::Path};

use proctor_onnx_file::{
    OnnxFile, OnnxFileError, Precision, data_type, fit,
    proto::{
        AttributeProto, DimensionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto,
        StringStringEntryProto, TensorProto, TensorShapeProto, TensorTypeProto, TypeProto, ValueInfoProto,
    },
};
use proctor_vocabulary::{ElementType, TensorSpec};
use proptest::prelude::*;
use prost::Message;

fn digits(model: &str) -> OnnxFile {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../digits").join(format!("{model}.onnx"));
    OnnxFile::open(&path).unwrap()
}

fn node(op_type: &str) -> NodeProto {
    NodeProto { op_type: Some(op_type.into()), ..NodeProto::default() }
}

fn constant(name: &str, element: ElementType, dims: &[i64]) -> TensorProto {
    TensorProto {
        name: Some(name.into()),
        dims: dims.to_vec(),
        data_type: Some(data_type(element)),
        ..TensorProto::default()
    }
}

/// A constant of four f32 values whose place is said by these entries.
fn external(entries: &[(&str, &str)]) -> TensorProto {
    let entry = |(key, value): &(&str, &str)| StringStringEntryProto {
        key: Some((*key).into()),
        value: Some((*value).into()),
    };
    TensorProto {
        data_location: Some(1),
        external_data: entries.iter().map(entry).collect(),
        ..constant("w", ElementType::F32, &[4])
    }
}

fn value(name: &str) -> ValueInfoProto {
    ValueInfoProto { name: Some(name.into()), r#type: Some(TypeProto::default()) }
}

/// A value of f32; -1 is a free extent.
fn shaped(name: &str, dims: &[i64]) -> ValueInfoProto {
    let dim = |extent: &i64| DimensionProto { dim_value: Some(*extent), dim_param: None };
    let shape = TensorShapeProto { dim: dims.iter().map(dim).collect() };
    let tensor = TensorTypeProto { elem_type: Some(data_type(ElementType::F32)), shape: Some(shape) };
    ValueInfoProto { name: Some(name.into()), r#type: Some(TypeProto { tensor_type: Some(tensor) }) }
}

fn model(node: Vec<NodeProto>, initializer: Vec<TensorProto>) -> ModelProto {
    ModelProto {
        ir_version: Some(8),
        graph: Some(GraphProto { node, initializer, output: vec![value("y")], ..GraphProto::default() }),
        opset_import: vec![OperatorSetIdProto { domain: Some("ai.onnx".into()), version: Some(17) }],
        ..ModelProto::default()
    }
}

fn read(model: &ModelProto) -> Result<OnnxFile, OnnxFileError> {
    OnnxFile::from_bytes(Path::new("model.onnx"), &model.encode_to_vec())
}

#[test]
fn the_digits_models_are_read_with_their_inputs_outputs_and_operators() {
    let file = digits("digits-cnn");
    let list = |values: &[proctor_onnx_file::ValueSpec]| {
        values.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    };
    assert_eq!(list(&file.signature.inputs), "image f32[batch, 1, 8, 8]");
    assert_eq!(list(&file.signature.outputs), "logits f32[batch, 10]");
    assert!(file.op_types.iter().any(|op| op.domain.is_empty() && op.name == "Conv"));
    assert_eq!(file.opsets.len(), 1);
    assert_eq!(file.precision, Precision::F32);
    assert!(file.external_data.is_empty());
    for other in ["digits-lstm", "digits-mlp"] {
        assert_eq!(digits(other).signature.inputs.len(), 1, "constants are no inputs");
    }
}

#[test]
fn the_precision_is_what_the_constants_and_operators_say() {
    let precision = |node: Vec<NodeProto>, element| {
        read(&model(node, vec![constant("w", element, &[1])])).unwrap().precision
    };
    assert_eq!(precision(vec![node("Conv")], ElementType::F32), Precision::F32);
    assert_eq!(precision(vec![node("Conv")], ElementType::F16), Precision::F16);
    assert_eq!(precision(vec![node("Conv")], ElementType::Bf16), Precision::Bf16);
    for quantising in
        ["QuantizeLinear", "DequantizeLinear", "QLinearConv", "MatMulInteger", "DynamicQuantizeLinear"]
    {
        assert_eq!(
            precision(vec![node("Conv"), node(quantising)], ElementType::F16),
            Precision::Int8,
            "{quantising}"
        );
    }
    let attribute =
        AttributeProto { t: Some(constant("", ElementType::F16, &[1])), ..AttributeProto::default() };
    let in_node = NodeProto { attribute: vec![attribute], ..node("Constant") };
    assert_eq!(precision(vec![in_node], ElementType::I64), Precision::F16);
}

#[test]
fn what_is_not_onnx_is_said_to_be_not_onnx() {
    let refused = |bytes: &[u8]| OnnxFile::from_bytes(Path::new("a.onnx"), bytes).unwrap_err();
    for bytes in [&b""[..], b"version https://example.org\n", b"PK\x03\x04 a zip archive", &[0x0a, 0x00]] {
        let error = refused(bytes);
        assert!(matches!(error, OnnxFileError::NotOnnx { .. }), "{error}");
        assert!(error.to_string().starts_with("a.onnx is not an ONNX file"), "{error}");
    }
    for (bytes, what) in [
        (&b"version https://git-lfs.github.com/spec/v1\n"[..], "it is a pointer of Git LFS"),
        (b"\n<!DOCTYPE html>", "it is a web page"),
        (b"\x1f\x8b\x08", "it is packed by gzip: unpack it"),
    ] {
        let error = refused(bytes).to_string();
        assert!(error.starts_with(&format!("a.onnx is not an ONNX file: {what}")), "{error}");
    }
}

/// Wherever a file is cut off, it is refused, and most often with exactly that reason.
#[test]
fn a_file_cut_off_anywhere_is_refused() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../digits/digits-mlp.onnx");
    let whole = fs::read(&path).unwrap();
    let mut cut_short = 0;
    for length in (0..whole.len()).step_by(97).chain(whole.len() - 24..whole.len()) {
        match OnnxFile::from_bytes(&path, &whole[..length]) {
            Err(OnnxFileError::CutShort { needed_bytes, size_bytes, .. }) => {
                assert!(needed_bytes > size_bytes && size_bytes == length as u64);
                cut_short += 1;
            }
            Err(OnnxFileError::NotOnnx { .. } | OnnxFileError::Incomplete { .. }) => {}
            other => panic!("cut off at {length}: {other:?}"),
        }
    }
    assert!(cut_short > whole.len() / 200, "{cut_short}");
}

#[test]
fn a_damaged_graph_is_refused() {
    // The graph is one node, whose text is longer than the node.
    let bytes = [0x08, 0x08, 0x3a, 0x04, 0x0a, 0x02, 0x22, 0x09];
    let error = OnnxFile::from_bytes(Path::new("a.onnx"), &bytes).unwrap_err();
    assert!(matches!(error, OnnxFileError::Damaged { .. }), "{error}");
}

#[test]
fn a_model_without_a_graph_operators_or_outputs_is_incomplete() {
    let whole = model(Vec::new(), Vec::new());
    let graph = whole.graph.clone().unwrap();
    let no_output = GraphProto { output: Vec::new(), ..graph };
    for (broken, missing) in [
        (ModelProto { graph: None, ..whole.clone() }, "graph"),
        (ModelProto { opset_import: Vec::new(), ..whole.clone() }, "operator set"),
        (ModelProto { graph: Some(no_output), ..whole.clone() }, "output"),
    ] {
        let error = read(&broken).unwrap_err().to_string();
        assert!(error.ends_with(&format!("it has no {missing}")), "{error}");
    }
}

#[test]
fn external_data_are_found_beside_the_model() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.onnx");
    let weights = folder.path().join("weights.bin");
    let open = |entries: &[(&str, &str)]| {
        fs::write(&path, model(Vec::new(), vec![external(entries)]).encode_to_vec()).unwrap();
        OnnxFile::open(&path)
    };
    let whole = [("location", "weights.bin"), ("offset", "4"), ("length", "16")];

    let error = open(&whole).unwrap_err();
    assert!(matches!(&error, OnnxFileError::ExternalMissing { file, .. } if *file == weights), "{error}");
    fs::write(&weights, [0; 19]).unwrap();
    let error = open(&whole).unwrap_err();
    assert!(
        matches!(error, OnnxFileError::ExternalCutShort { needed_bytes: 20, size_bytes: 19, .. }),
        "{error}"
    );
    fs::write(&weights, [0; 20]).unwrap();
    let file = open(&whole).unwrap();
    let [data] = &file.external_data[..] else { panic!("one constant is elsewhere") };
    assert_eq!((data.tensor.as_str(), data.offset_bytes, data.length_bytes), ("w", 4, 16));
    // Without a length it is what the shape needs.
    assert_eq!(open(&whole[..2]).unwrap().external_data, file.external_data);
    assert_eq!(open(&whole[..1]).unwrap().external_data[0].offset_bytes, 0);
}

#[test]
fn external_data_that_make_no_sense_are_refused() {
    let refused = |entries: &[(&str, &str)]| {
        let error = read(&model(Vec::new(), vec![external(entries)])).unwrap_err();
        assert!(matches!(error, OnnxFileError::ExternalEntry { .. }), "{error}");
        error.to_string()
    };
    assert!(refused(&[]).contains("does not say in which"));
    assert!(refused(&[("location", "../weights.bin")]).contains("must lie beside the model"));
    assert!(refused(&[("location", "/weights.bin")]).contains("must lie beside the model"));
    assert!(
        refused(&[("location", "w"), ("length", "15")])
            .contains("has 15 bytes in \"w\", but its shape needs 16")
    );
    assert!(refused(&[("location", "w"), ("offset", "-1")]).contains("the offset \"-1\""));
}

proptest! {
    /// Any bytes of a model may be wrong: it is read or refused, and what was read can be fitted or is refused.
    #[test]
    fn a_model_with_wrong_bytes_is_read_or_refused(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
    ) {
        let mut bytes = model(vec![node("Add")], vec![external(&[("location", "w"), ("length", "16")])]);
        let graph = bytes.graph.get_or_insert_default();
        graph.input = vec![shaped("x", &[-1, 4])];
        graph.output = vec![shaped("y", &[-1, 4])];
        let mut bytes = bytes.encode_to_vec();
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        let tensor = |name: &str| TensorSpec { name: name.into(), element_type: ElementType::F32, shape: vec![4] };
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("w"), [0; 16]).unwrap();
        if let Ok(file) = OnnxFile::from_bytes(&folder.path().join("model.onnx"), &bytes) {
            let fitted = fit(&file.signature, &[tensor("x")], &[tensor("y")], 2);
            prop_assert!(fitted.is_err() || fitted.is_ok_and(|fitted| fitted.inputs.len() == 1));
        }
    }
}
