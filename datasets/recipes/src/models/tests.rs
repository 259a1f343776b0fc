//! The contents of the files of the models.

use std::{collections::BTreeMap, fs, path::Path};

use proctor_onnx_file::{Dim, OnnxFile, Precision, ValueType, proto::ModelProto};
use prost::Message;
use safetensors::SafeTensors;

use super::*;
use crate::{
    files::{GeneratedModel, make_model},
    weights::TensorRecipe,
};

/// Number of parameters of the published models, without the statistics of batch norms.
fn trained_count(name: &str) -> u64 {
    let recipe = recipe(name).unwrap();
    let trained = recipe.tensors.iter().filter(|tensor| !tensor.name.contains(".running_"));
    trained.map(|tensor| tensor.element_count() as u64).sum()
}

#[test]
fn the_models_have_their_published_sizes() {
    // torchvision's documentation of resnet50.
    assert_eq!(trained_count("resnet50"), 25_557_032);
    // Keras has 4,253,864 with 1000 classes, including 21,888 statistics; there is one class more.
    assert_eq!(trained_count("mobilenet-v1"), 4_253_864 - 21_888 + 1025);
    assert_eq!(recipe("mobilenet-v1").unwrap().parameter_count(), 4_253_864 + 1025);
    // bert-base-uncased and bert-large-uncased have 109,482,240 and 335,141,888, with a pooler and without this head.
    let other_head = |width: u64| (2 * width + 2) as i64 - (width * width + width) as i64;
    assert_eq!(trained_count("bert-base") as i64, 109_482_240 + other_head(768));
    assert_eq!(trained_count("bert-large") as i64, 335_141_888 + other_head(1024));
    assert_eq!(trained_count("lstm-stack"), 3 * 4 * 512 * (512 + 512 + 2));
}

#[test]
fn the_networks_that_find_boxes_have_their_published_sizes() {
    // torchvision's resnet34 without its last stage and its classifier.
    let of_backbone = |name: &str| name.starts_with("model.") && !name.contains(".running_");
    let ssd = recipe("ssd-resnet34").unwrap();
    let backbone = ssd.tensors.iter().filter(|tensor| of_backbone(&tensor.name));
    let backbone: usize = backbone.map(TensorRecipe::element_count).sum();
    assert_eq!(backbone, 21_797_672 - 13_114_368 - 513_000);
    // torchvision's retinanet_resnet50_fpn counts no batch norms and has 91 classes; here resnext50_32x4d without its
    // classifier replaces resnet50, and there are 264 classes.
    let without_batch_norms = 25_557_032 - 2_049_000 - 53_120;
    let of_another_backbone = 25_028_904 - 2_049_000;
    let of_classes = (264 - 91) * 9 * (9 * 256 + 1);
    assert_eq!(
        trained_count("retinanet"),
        34_014_999 - without_batch_norms + of_another_backbone + of_classes
    );
    // 6.91 million by table 1 of MLPerf's paper, which does not say what is counted: within 2 %.
    assert!((6_780_000..7_040_000).contains(&trained_count("ssd-mobilenet")));
}

#[test]
fn narrow_networks_have_the_tensors_of_the_true_ones() {
    let of_images = ["resnet50-mlperf", "ssd-mobilenet", "ssd-resnet34", "retinanet"];
    let others = ["bert-large", "3d-unet-kits19", "3d-unet-brats"];
    let signature = |name: &str| {
        let model = ModelProto::decode(onnx(name).unwrap().as_slice()).unwrap();
        let graph = model.graph.unwrap();
        (graph.input, graph.output)
    };
    for name in of_images.into_iter().chain(others) {
        assert_eq!(signature(name), signature(&format!("{name}-narrow")), "{name}");
    }
    for name in of_images {
        assert!(input_recipe(name).is_some() == (name == "resnet50-mlperf"), "{name}");
    }
}

#[test]
fn variances_and_gains_are_positive() {
    for name in small() {
        let recipe = recipe(name).unwrap();
        for tensor in recipe.tensors.iter().filter(|tensor| tensor.center > 0.0) {
            let values = recipe.values(&tensor.name).unwrap();
            let (low, high) = (tensor.center - tensor.scale, tensor.center + tensor.scale);
            assert!(low > 0.0 && values.iter().all(|value| (low..=high).contains(value)), "{}", tensor.name);
        }
    }
}

/// Models whose files are small.
fn small() -> impl Iterator<Item = &'static str> {
    names().filter(|name| name.contains("-tiny") || name.ends_with("-narrow"))
}

fn tiny() -> impl Iterator<Item = &'static str> {
    names().filter(|name| name.contains("-tiny"))
}

fn make(name: &str, folder: &Path) -> (GeneratedModel, OnnxFile) {
    let made = make_model(name, folder, &mut |_, _| ()).unwrap();
    let file = OnnxFile::open(&made.file("onnx").unwrap().path).unwrap();
    (made, file)
}

#[test]
fn graphs_have_the_tensors_of_a_sample_with_a_free_batch() {
    let folder = tempfile::tempdir().unwrap();
    for name in tiny() {
        let (_, file) = make(name, folder.path());
        let inputs = input_recipe(name).unwrap().tensors;
        assert_eq!(file.signature.inputs.len(), inputs.len());
        for (value, tensor) in file.signature.inputs.iter().zip(&inputs) {
            let expected = (tensor.name, ValueType::Tensor(tensor.element_type));
            assert_eq!((value.name.as_str(), value.value_type), expected);
            assert_eq!(value.dims, Some(Dim::batch_of(&tensor.shape)), "{name}");
        }
        for value in &file.signature.outputs {
            assert_eq!(value.value_type, ValueType::Tensor(ElementType::F32));
            assert_eq!(value.dims.as_ref().unwrap()[0], Dim::Free("batch".to_owned()), "{name}");
        }
        assert_eq!(file.precision, Precision::F32);
    }
}

/// Every constant of a graph is exactly one tensor of the file of weights, and no tensor is left over but those that
/// the model does not use.
#[test]
fn constants_are_the_tensors_of_the_file_of_weights() {
    let folder = tempfile::tempdir().unwrap();
    for name in small() {
        let (made, file) = make(name, folder.path());
        let bytes = fs::read(&made.safetensors.path).unwrap();
        let weights = SafeTensors::deserialize(&bytes).unwrap();
        let mut unused: BTreeMap<_, _> = weights.tensors().into_iter().collect();
        for constant in &file.external_data {
            assert_eq!(constant.file, made.safetensors.path);
            let tensor = unused.remove(&constant.tensor).unwrap();
            let start = usize::try_from(constant.offset_bytes).unwrap();
            let end = start + usize::try_from(constant.length_bytes).unwrap();
            assert_eq!(bytes[start..end].as_ptr_range(), tensor.data().as_ptr_range(), "{}", constant.tensor);
        }
        let unused: Vec<_> = unused.keys().map(String::as_str).collect();
        let head: &[&str] = &["qa_outputs.bias", "qa_outputs.weight"];
        assert_eq!(unused, if name.ends_with("embedding") { head } else { &[] }, "{name}");
    }
}

/// The files are the same everywhere and always: a change of one is a change of the recipe, and of the reference
/// outputs.
#[test]
fn the_files_are_the_same_as_ever() {
    let folder = tempfile::tempdir().unwrap();
    let made = make_model("lstm-stack-tiny", folder.path(), &mut |_, _| ()).unwrap();
    assert_eq!(made.safetensors.sha256, "27e3a453dfef24dde8ed919f4facff6ea679283a23f7f6606fc5242eea163ac0");
    assert_eq!(made.onnx.unwrap().sha256, "b0bdbaec328cdb4ba800ad228f4d705fd6cc8d822af2d2dfa5319cd0f045e395");
    let made = make_model("resnet50-tiny", folder.path(), &mut |_, _| ()).unwrap();
    assert_eq!(made.safetensors.sha256, "f562497b40144c2ecee91d9f7d066a4da426d6819d639911834eb51207cf8751");
    for (model, weights, graph) in [
        (
            "dlrm-tiny",
            "a2bd242396b276aee97cf5fc9de68d2684bea83caba3e2907df08ab72b43f9b7",
            "8098696f784d578a487eb0cf6665ba826b173cd5d72473816e6d3b2513dc6cbf",
        ),
        (
            "dlrm-v2-tiny",
            "9f71676af69c6e04c3778f06311d1436ae96dccae90e2713de1bf742cb3b35c5",
            "ef50d9591f18b13f4d6083b5e45a1d0a87cbac1d88473cec835ef957091f1e24",
        ),
        (
            "3d-unet-kits19-tiny",
            "da27c00b9fd7ea13893dcc85876d0c3c55d91057acc7e1101db2171beb021801",
            "73cea9f27233d96c6259586125160a8bf086fff3815543871ba9ece403b0fd9c",
        ),
        (
            "3d-unet-brats-tiny",
            "ad09e81334ef7a8a7f6479055700f7d7583b438460716a76cc2737dd145fd1bb",
            "9b585723c527d414b898879b89f01002b8ad550f3d8d53e54d8cbe6b37b88092",
        ),
    ] {
        let made = make_model(model, folder.path(), &mut |_, _| ()).unwrap();
        let found = [made.safetensors.sha256, made.onnx.unwrap().sha256];
        assert_eq!(found, [weights, graph], "{model}");
    }
}

#[test]
fn samples_have_their_shapes_and_differ() {
    for name in tiny() {
        let recipe = input_recipe(name).unwrap();
        let (first, second) = (recipe.sample(0), recipe.sample(1));
        for (tensor, bytes) in recipe.tensors.iter().zip(&first) {
            assert_eq!(bytes.len(), 4 * tensor.element_count(), "{name} {}", tensor.name);
        }
        assert_ne!(first, second, "{name}");
    }
}

/// Tables have as many rows as in the published data sets, up to ten thousand; nothing of the computation is left out.
#[test]
fn the_networks_of_dlrm_are_whole_and_their_tables_are_not() {
    let tables = |name: &str, word: &str| {
        let tensors = recipe(name).unwrap().tensors;
        let (tables, layers): (Vec<_>, Vec<_>) =
            tensors.into_iter().partition(|tensor| tensor.name.contains(word));
        assert!(tables.iter().all(|table| table.shape[1] == 128));
        let rows: Vec<usize> = tables.iter().map(|table| table.shape[0]).collect();
        (rows, layers.iter().map(|layer| layer.element_count()).sum::<usize>())
    };
    let layer = |pair: &[usize]| pair[0] * pair[1] + pair[1];
    let mlp = |sizes: &[usize]| sizes.windows(2).map(layer).sum::<usize>();
    let bottom = mlp(&[13, 512, 256, 128]);
    let (rows, layers) = tables("dlrm-small-tables", "emb_l.");
    let mut small: Vec<_> = rows.iter().filter(|rows| **rows < 10_000).copied().collect();
    small.sort_unstable();
    assert_eq!(small, [3, 4, 10, 14, 36, 63, 108, 155, 976, 1543, 2208, 7120, 7420]);
    assert_eq!((rows.len(), rows.iter().max()), (26, Some(&10_000)));
    assert_eq!(layers, bottom + mlp(&[128 + 27 * 26 / 2, 1024, 1024, 512, 256, 1]));
    let (rows, layers) = tables("dlrm-v2-small-tables", "embedding_bags.");
    assert_eq!((rows.len(), rows.iter().max()), (26, Some(&10_000)));
    let features = 27 * 128;
    let cross = 3 * (2 * 512 * features + features);
    assert_eq!(layers, bottom + cross + mlp(&[features, 1024, 1024, 512, 256, 1]));
}

/// A narrow network takes and gives what the whole one does.
#[test]
fn narrow_networks_have_the_inputs_and_outputs_of_whole_ones() {
    for name in ["3d-unet-kits19", "3d-unet-brats"] {
        let signature = |name: &str| {
            let bytes = onnx(name).unwrap();
            // The constants are not there, and do not matter.
            let model = proctor_onnx_file::proto::ModelProto::decode(bytes.as_slice()).unwrap();
            let graph = model.graph.unwrap();
            (graph.input, graph.output)
        };
        let narrow = format!("{name}-narrow");
        assert_eq!(signature(name), signature(&narrow));
        let sizes = [name, &narrow].map(|name| recipe(name).unwrap().parameter_count());
        assert!(sizes[0] > 10_000_000 && sizes[1] < 10_000, "{sizes:?}");
    }
}

#[test]
fn texts_are_masked_beyond_their_lengths() {
    let integers = |bytes: &[u8]| -> Vec<i32> {
        bytes.as_chunks().0.iter().map(|bytes| i32::from_ne_bytes(*bytes)).collect()
    };
    for (name, low, first) in [("bert-base", 128, 8..=24), ("bert-base-embedding", 16, 16..=128)] {
        let recipe = input_recipe(name).unwrap();
        for sample in 0..40 {
            let sample: Vec<_> = recipe.sample(sample).iter().map(|bytes| integers(bytes)).collect();
            let [ids, mask, segments] = &sample[..] else { panic!("three inputs") };
            let length = mask.iter().filter(|value| **value == 1).count();
            assert!((low..=mask.len()).contains(&length));
            let is_used = |place: usize| place < length;
            assert!((0..mask.len()).all(|place| mask[place] == i32::from(is_used(place))));
            assert!((0..mask.len()).all(|place| is_used(place) == (999..30_522).contains(&ids[place])));
            let question = (0..length).filter(|place| segments[*place] == 0).count();
            assert!(first.contains(&question), "{question}");
            let expected = |place: usize| i32::from(place >= question && is_used(place));
            assert!((0..mask.len()).all(|place| segments[place] == expected(place)));
        }
    }
}

#[test]
fn tiles_of_an_image_have_a_colour_each() {
    let bytes = input_recipe("resnet50-tiny").unwrap().sample(3).remove(0);
    let values: Vec<f32> = bytes.as_chunks().0.iter().map(|bytes| f32::from_ne_bytes(*bytes)).collect();
    let mean_of_tile = |channel: usize, row: usize, column: usize| {
        let places = (0..256).map(|place| (row * 16 + place / 16) * 64 + column * 16 + place % 16);
        let tile: Vec<f32> = places.map(|place| values[channel * 64 * 64 + place]).collect();
        let mean = tile.iter().sum::<f32>() / 256.0;
        assert!(tile.iter().all(|value| (value - mean).abs() < 0.6), "{mean}");
        mean
    };
    let means: Vec<f32> = (0..48).map(|tile| mean_of_tile(tile / 16, tile / 4 % 4, tile % 4)).collect();
    assert!(means.iter().any(|mean| *mean > 1.0) && means.iter().any(|mean| *mean < -1.0));
}
