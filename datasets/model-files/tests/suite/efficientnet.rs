//! EfficientNet-Lite0 from a checkpoint of the right shapes.

use proctor_model_files::{ConvertError, TorchError, efficientnet_lite0};
use proctor_onnx_file::{OnnxFile, proto::ModelProto};
use prost::Message;

use crate::pickles::{Saved, zip_form};

/// Blocks of the network: window, expansion, input and output channels.
const BLOCKS: [(u32, u32, u32, u32); 16] = [
    (3, 1, 32, 16),
    (3, 6, 16, 24),
    (3, 6, 24, 24),
    (5, 6, 24, 40),
    (5, 6, 40, 40),
    (3, 6, 40, 80),
    (3, 6, 80, 80),
    (3, 6, 80, 80),
    (5, 6, 80, 112),
    (5, 6, 112, 112),
    (5, 6, 112, 112),
    (5, 6, 112, 192),
    (5, 6, 192, 192),
    (5, 6, 192, 192),
    (5, 6, 192, 192),
    (3, 6, 192, 320),
];

fn saved(name: String, shape: &[u32], value: f32) -> Saved {
    let count = shape.iter().product::<u32>() as usize;
    Saved::of_f32(name.leak(), shape, &vec![value; count])
}

/// Adds a convolution and the batch norm behind it.
fn add(tensors: &mut Vec<Saved>, convolution: String, norm: &str, shape: [u32; 4]) {
    tensors.push(saved(format!("{convolution}.weight"), &shape, 1.0));
    for (part, value) in [("weight", 2.0), ("bias", 1.0), ("running_mean", 3.0), ("running_var", 4.0 - 1e-3)]
    {
        tensors.push(saved(format!("{norm}.{part}"), &shape[..1], value));
    }
}

fn checkpoint() -> Vec<Saved> {
    let mut tensors = Vec::new();
    add(&mut tensors, "_conv_stem".to_owned(), "_bn0", [32, 3, 3, 3]);
    for (number, (window, expansion, inputs, outputs)) in BLOCKS.into_iter().enumerate() {
        let block = format!("_blocks.{number}");
        let wide = inputs * expansion;
        if expansion > 1 {
            add(
                &mut tensors,
                format!("{block}._expand_conv"),
                &format!("{block}._bn0"),
                [wide, inputs, 1, 1],
            );
        }
        add(
            &mut tensors,
            format!("{block}._depthwise_conv"),
            &format!("{block}._bn1"),
            [wide, 1, window, window],
        );
        add(&mut tensors, format!("{block}._project_conv"), &format!("{block}._bn2"), [outputs, wide, 1, 1]);
    }
    add(&mut tensors, "_conv_head".to_owned(), "_bn1", [1280, 320, 1, 1]);
    tensors.push(saved("_fc.weight".to_owned(), &[1000, 1280], 0.5));
    tensors.push(saved("_fc.bias".to_owned(), &[1000], 0.25));
    tensors
}

#[test]
fn batch_norms_are_part_of_the_weights() {
    let file = efficientnet_lite0(&zip_form(&checkpoint())).unwrap();
    let described = OnnxFile::from_bytes("lite0.onnx".as_ref(), &file).unwrap();
    assert_eq!(described.signature.inputs[0].to_string(), "image f32[batch, 3, 224, 224]");
    assert_eq!(described.signature.outputs[0].to_string(), "logits f32[batch, 1000]");
    let graph = ModelProto::decode(file.as_slice()).unwrap().graph.unwrap();
    let count =
        |operator: &str| graph.node.iter().filter(|node| node.op_type.as_deref() == Some(operator)).count();
    assert_eq!([count("Conv"), count("Clip"), count("Add"), count("Gemm")], [49, 33, 9, 1]);
    // The factor is 2 / sqrt(4), so the term 1 - 3.
    let constant = |name: &str| {
        let found = graph.initializer.iter().find(|tensor| tensor.name.as_deref() == Some(name)).unwrap();
        let bytes = found.raw_data.as_deref().unwrap();
        bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect::<Vec<_>>()
    };
    assert!(constant("_conv_stem.weight").iter().all(|value| (value - 1.0).abs() < 1e-6));
    assert!(constant("_blocks.7._project_conv.bias").iter().all(|value| (value + 2.0).abs() < 1e-5));
}

#[test]
fn the_checkpoint_of_another_network_is_refused() {
    let mut tensors = checkpoint();
    let place = tensors.iter().position(|saved| saved.name == "_blocks.3._depthwise_conv.weight").unwrap();
    tensors[place] = saved("_blocks.3._depthwise_conv.weight".to_owned(), &[144, 1, 3, 3], 0.0);
    match efficientnet_lite0(&zip_form(&tensors)) {
        Err(ConvertError::Checkpoint(TorchError::Shape { name, got, wanted })) => {
            assert_eq!(
                (name.as_str(), got, wanted),
                (tensors[place].name, vec![144, 1, 3, 3], vec![144, 1, 5, 5])
            );
        }
        other => panic!("{:?}", other.map(|file| file.len())),
    }
}
