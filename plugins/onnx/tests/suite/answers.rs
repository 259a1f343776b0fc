//! Outputs that are made of the model's: records of boxes and positions of classes, from the outputs that published
//! files have, and outputs that vary in size.

use std::{fs, path::PathBuf};

use proctor_onnx_file::{Dim, GraphBuilder};
use proctor_plugin_api::vocabulary::{ElementType, Layout, TensorSpec};
use proctor_plugin_bed::{ModelDemand, Samples, demand, f32_spec, f32_values, spec};
use tempfile::TempDir;

use crate::common::{opened, run};

/// Number of values of a sample of `x`, an image of three channels, two rows and four columns.
const COUNT: usize = 24;

/// A graph from an image `x` to the parts that its numbers are cut into, by name and number.
fn cut(batch: Dim, parts: &[(&str, usize)], more: impl FnOnce(&mut GraphBuilder)) -> Vec<u8> {
    let mut graph = GraphBuilder::new("cut");
    let dims: Vec<Dim> = [batch].into_iter().chain(Dim::fixed(&[3, 2, 4])).collect();
    graph.input("x", ElementType::F32, &dims);
    let flat = graph.node("Flatten", "flat", &["x"], &[("axis", 1.into())]);
    let used: usize = parts.iter().map(|(_, count)| count).sum();
    let sizes: Vec<i64> =
        parts.iter().map(|(_, count)| *count).chain([COUNT - used]).map(|it| it as i64).collect();
    let sizes = graph.ints(&sizes);
    let values =
        graph.node_of_many("Split", "parts", &[&flat, &sizes], parts.len() + 1, &[("axis", 1.into())]);
    for ((name, _), value) in parts.iter().zip(&values) {
        graph.node("Identity", name, &[value], &[]);
    }
    more(&mut graph);
    graph.into_bytes()
}

/// Gives a value another shape, under another name.
fn reshape(graph: &mut GraphBuilder, name: &str, from: &str, shape: &[i64]) {
    let shape = graph.ints(shape);
    graph.node("Reshape", name, &[from, &shape], &[]);
}

/// Samples whose first numbers are these.
fn samples(firsts: &[&[f32]]) -> Samples {
    let whole = |first: &&[f32]| first.iter().copied().chain([0.0; COUNT]).take(COUNT).collect();
    Samples::of_f32(&firsts.iter().map(whole).collect::<Vec<_>>())
}

/// A demand for a file of these bytes, which is there as long as the folder is.
fn wanted(bytes: Vec<u8>, output: TensorSpec, varies: bool) -> (TempDir, ModelDemand) {
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf = folder.path().join("model.onnx");
    fs::write(&path, bytes).unwrap();
    let demand = demand(&path, &[f32_spec("x", &[3, 2, 4])], &[output]);
    (folder, ModelDemand { last_output_varies: varies, ..demand })
}

/// The answers of a model to samples, in batches of a size; `None` where there is no runtime library.
fn answers(
    demand: &ModelDemand,
    samples: &Samples,
    batch_size_max: u32,
) -> Option<Result<Vec<Vec<u8>>, String>> {
    let demand = ModelDemand { batch_size_max, ..demand.clone() };
    let run = run(&opened(&[])?, &demand, samples);
    Some(run.map(|run| run.answers().iter().map(|answer| answer.outputs[0].clone()).collect()))
}

/// Records of boxes, as numbers.
fn records(demand: &ModelDemand, samples: &Samples, batch_size_max: u32) -> Option<Vec<Vec<f32>>> {
    let answers = answers(demand, samples, batch_size_max)?.unwrap();
    Some(answers.iter().map(|bytes| f32_values(bytes)).collect())
}

#[test]
fn boxes_of_tensorflow_are_taken_up_to_their_number_in_batches_too() {
    let bytes = cut(Dim::Free("batch".into()), &[("b", 8), ("c", 2), ("s", 2), ("n", 1)], |graph| {
        reshape(graph, "detection_boxes:0", "b", &[-1, 2, 4]);
        graph.node("Identity", "detection_classes:0", &["c"], &[]);
        graph.node("Identity", "detection_scores:0", &["s"], &[]);
        reshape(graph, "num_detections:0", "n", &[-1]);
        for (name, own) in [
            ("num_detections:0", &[][..]),
            ("detection_boxes:0", &[2, 4]),
            ("detection_scores:0", &[2]),
            ("detection_classes:0", &[2]),
        ] {
            graph.output(name, ElementType::F32, &Dim::batch_of(own));
        }
    });
    let (_folder, demand) = wanted(bytes, f32_spec("detections", &[14]), true);
    let samples = samples(&[
        &[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 90.0, 17.0, 0.9, 0.01, 2.0],
        &[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0, 2.0, 0.9, 0.8, 1.0],
        &[0.0; 13],
    ]);
    let expected = [
        vec![0.0, 0.1, 0.2, 0.3, 0.4, 0.9, 90.0, 0.0, 0.5, 0.6, 0.7, 0.8, 0.01, 17.0],
        vec![1.0, 0.1, 0.2, 0.3, 0.4, 0.9, 1.0],
        vec![],
    ];
    for batch_size in [1, 2] {
        let Some(records) = records(&demand, &samples, batch_size) else { return };
        assert_eq!(records, expected, "batches of {batch_size}");
    }
}

/// A model of one image with two boxes, which answers by these names.
fn two_boxes(boxes: &str, dims: &[usize]) -> Vec<u8> {
    cut(Dim::Fixed(1), &[("b", 8), ("c", 2), ("s", 2)], |graph| {
        let shape = |more: &[usize]| dims.iter().chain(more).copied().collect::<Vec<_>>();
        let extents = |more: &[usize]| shape(more).iter().map(|extent| *extent as i64).collect::<Vec<_>>();
        reshape(graph, boxes, "b", &extents(&[2, 4]));
        graph.node("Cast", "c.i64", &["c"], &[("to", 7.into())]);
        reshape(graph, "labels", "c.i64", &extents(&[2]));
        reshape(graph, "scores", "s", &extents(&[2]));
        graph.output(boxes, ElementType::F32, &Dim::fixed(&shape(&[2, 4])));
        graph.output("labels", ElementType::I64, &Dim::fixed(&shape(&[2])));
        graph.output("scores", ElementType::F32, &Dim::fixed(&shape(&[2])));
    })
}

#[test]
fn boxes_of_retinanet_are_pixels_and_end_at_a_low_score() {
    let (_folder, demand) = wanted(two_boxes("boxes", &[]), f32_spec("detections", &[70]), true);
    let samples = samples(&[
        &[1.0, 0.5, 3.0, 2.0, 0.0, 0.0, 4.0, 1.0, 263.0, 0.0, 0.9, 0.05],
        &[1.0, 0.5, 3.0, 2.0, 0.0, 0.0, 4.0, 1.0, 5.0, 6.0, 0.9, 0.049],
    ]);
    let Some(records) = records(&demand, &samples, 1) else { return };
    let first = [0.25, 0.25, 1.0, 0.75, 0.9];
    assert_eq!(records[0], [&[0.0][..], &first, &[263.0, 0.0, 0.0, 0.0, 0.5, 1.0, 0.05, 0.0]].concat());
    assert_eq!(records[1], [&[1.0][..], &first, &[5.0]].concat());
}

#[test]
fn classes_of_ssd_resnet34_are_positions_and_its_scores_at_least_a_half() {
    let (_folder, demand) = wanted(two_boxes("bboxes", &[1]), f32_spec("detections", &[14]), true);
    let samples = samples(&[
        &[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 80.0, 12.0, 0.9, 0.5],
        &[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 81.0, 12.0, 0.9, 0.49],
    ]);
    let Some(records) = records(&demand, &samples, 1) else { return };
    let first = [0.2, 0.1, 0.4, 0.3, 0.9];
    assert_eq!(records[0], [&[0.0][..], &first, &[90.0, 0.0, 0.6, 0.5, 0.8, 0.7, 0.5, 13.0]].concat());
    // There is no category at 81, and none with the number 0.
    assert_eq!(records[1], [&[1.0][..], &first, &[0.0]].concat());
}

#[test]
fn more_boxes_than_there_is_room_for_and_batches_of_one_image_are_errors() {
    let (_folder, demand) = wanted(two_boxes("bboxes", &[1]), f32_spec("detections", &[7]), true);
    let samples = samples(&[&[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0, 2.0, 0.9, 0.8]]);
    let Some(found) = answers(&demand, &samples, 1) else { return };
    let error = found.unwrap_err();
    assert!(error.contains("the model gives 2 boxes of a sample, and the benchmark takes 1"), "{error}");
    let error = answers(&demand, &samples, 2).unwrap().unwrap_err();
    assert!(error.contains("the model takes batches of 1 and no others"), "{error}");
}

/// A model of scores of `class_count` classes, the first twelve of them the numbers of `x`; also with their position.
fn scores(class_count: usize, with_position: bool) -> Vec<u8> {
    cut(Dim::Free("batch".into()), &[("few", 12)], |graph| {
        let pads = graph.ints(&[0, 0, 0, class_count as i64 - 12]);
        let least = graph.float(-9.0);
        graph.node("Pad", "softmax_tensor:0", &["few", &pads, &least], &[]);
        if with_position {
            let attributes = [("axis", 1.into()), ("keepdims", 0.into())];
            graph.node("ArgMax", "ArgMax:0", &["softmax_tensor:0"], &attributes);
            graph.output("ArgMax:0", ElementType::I64, &Dim::batch_of(&[]));
        }
        graph.output("softmax_tensor:0", ElementType::F32, &Dim::batch_of(&[class_count]));
    })
}

#[test]
fn classes_are_positions_without_the_background() {
    let samples = samples(&[&[0.0, 0.5, 2.0, 2.0], &[3.0, 1.0], &[0.0, 0.0, 0.0, 1.0]]);
    for (class_count, with_position, expected) in [
        (1000, false, [2, 0, 3]),
        (1001, false, [1, -1, 2]),
        (1001, true, [1, -1, 2]),
        (1000, true, [2, 0, 3]),
    ] {
        for (element, batch_size) in [(ElementType::I64, 2), (ElementType::I32, 1)] {
            let output = spec("class", element, &[1]);
            let (_folder, demand) = wanted(scores(class_count, with_position), output, false);
            let Some(found) = answers(&demand, &samples, batch_size) else { return };
            let expected: Vec<Vec<u8>> = match element {
                ElementType::I64 => {
                    expected.map(|class: i32| i64::from(class).to_ne_bytes().to_vec()).to_vec()
                }
                _ => expected.map(|class| class.to_ne_bytes().to_vec()).to_vec(),
            };
            assert_eq!(found.unwrap(), expected, "{class_count} {with_position} {element}");
        }
    }
}

/// A model that gives the numbers of `x` that are not 0.
fn those_above_zero() -> Vec<u8> {
    cut(Dim::Fixed(1), &[("all", 12)], |graph| {
        let zero = graph.float(0.0);
        graph.node("Greater", "is", &["all", &zero], &[]);
        reshape(graph, "mask", "is", &[-1]);
        graph.node("Compress", "y", &["all", "mask"], &[("axis", 1.into())]);
        graph.output("y", ElementType::F32, &[Dim::Fixed(1), Dim::Free("found".into())]);
    })
}

#[test]
fn an_output_that_varies_is_as_large_as_it_comes() {
    let samples = samples(&[&[1.0, 0.0, 3.0], &[], &[4.0, 5.0, 6.0]]);
    let (_folder, demand) = wanted(those_above_zero(), f32_spec("y", &[3]), true);
    let Some(found) = records(&demand, &samples, 1) else { return };
    assert_eq!(found, [vec![1.0, 3.0], vec![], vec![4.0, 5.0, 6.0]]);

    let (_folder, demand) = wanted(those_above_zero(), f32_spec("y", &[2]), true);
    let error = answers(&demand, &samples, 1).unwrap().unwrap_err();
    assert!(error.contains("\"y\" [1, 3] has 12 bytes for a sample, and the benchmark takes 8"), "{error}");
}

#[test]
fn images_come_with_the_channels_where_the_model_has_them() {
    let layout = |dims: &[usize]| {
        let mut graph = GraphBuilder::new("same");
        graph.input("x", ElementType::U8, &Dim::batch_of(dims));
        graph.node("Identity", "y", &["x"], &[]);
        graph.output("y", ElementType::U8, &Dim::batch_of(dims));
        let (_folder, demand) = wanted(graph.into_bytes(), spec("y", ElementType::U8, dims), false);
        let demand = ModelDemand { inputs: vec![spec("x", ElementType::U8, &[3, 2, 4])], ..demand };
        opened(&[]).map(|backend| backend.input_forms(&demand).unwrap()[0].layout)
    };
    for (dims, expected) in [([3, 2, 4], Layout::AsGiven), ([2, 4, 3], Layout::ChannelsLast)] {
        let Some(layout) = layout(&dims) else { return };
        assert_eq!(layout, expected);
    }
}

/// A model that gives each token of a row the vector of its number and the square of it.
fn vectors_of_tokens() -> Vec<u8> {
    let mut graph = GraphBuilder::new("tokens");
    let row = [Dim::Free("batch".into()), Dim::Free("tokens".into())];
    graph.input("input_ids", ElementType::I64, &row);
    graph.input("attention_mask", ElementType::I64, &row);
    graph.node("Cast", "ids", &["input_ids"], &[("to", 1.into())]);
    let last = graph.ints(&[2]);
    graph.node("Unsqueeze", "first", &["ids", &last], &[]);
    graph.node("Mul", "second", &["first", "first"], &[]);
    graph.node("Concat", "last_hidden_state", &["first", "second"], &[("axis", 2.into())]);
    let [batch, tokens] = row;
    graph.output("last_hidden_state", ElementType::F32, &[batch, tokens, Dim::Fixed(2)]);
    graph.into_bytes()
}

#[test]
fn a_sentence_has_the_mean_of_its_tokens_scaled_to_length_one() {
    let row = |numbers: [i64; 4]| numbers.iter().flat_map(|number| number.to_ne_bytes()).collect::<Vec<_>>();
    let sample = |ids, mask| vec![row(ids), row(mask)];
    let output = |name: &str, width| f32_spec(name, &[width]);
    let wanted = |output: TensorSpec| {
        let inputs = ["input_ids", "attention_mask"].map(|name| spec(name, ElementType::I64, &[4]));
        let (folder, demand) = wanted(vectors_of_tokens(), output, false);
        (folder, ModelDemand { inputs: inputs.into(), ..demand })
    };
    let samples = [([1, 2, 7, 9], [1, 1, 0, 0]), ([3, 0, 0, 0], [1, 0, 0, 0]), ([5, 1, 4, 1], [0, 1, 0, 1])];
    let samples = Samples::new(&samples.map(|(ids, mask)| sample(ids, mask)));
    let (_folder, demand) = wanted(output("sentence_embedding", 2));
    for batch_size in [1, 2] {
        let Some(found) = records(&demand, &samples, batch_size) else { return };
        for (found, sum) in found.iter().zip([[3.0_f32, 5.0], [3.0, 9.0], [2.0, 2.0]]) {
            let length = sum[0].hypot(sum[1]);
            let error = found.iter().zip(sum).map(|(found, sum)| (found - sum / length).abs());
            assert!(error.fold(0.0, f32::max) < 1e-6, "{found:?} {sum:?}");
        }
    }
    let padding = Samples::new(&[sample([1, 2, 3, 4], [0; 4])]);
    let error = answers(&demand, &padding, 1).unwrap().unwrap_err();
    assert!(error.contains("has no vector: \"attention_mask\" is 0 everywhere"), "{error}");
    for other in [output("sentence_embedding", 3), output("embedding", 2)] {
        let (_folder, demand) = wanted(other);
        let error = answers(&demand, &samples, 1).unwrap().unwrap_err();
        assert!(error.contains("last_hidden_state"), "{error}");
    }
}

/// A model that gives two boxes of an image, each with the scores of 91 columns: of the background and of the last
/// category, which are the greatest, of the category 17, and of the others, which are 0.1.
fn raw_boxes() -> Vec<u8> {
    cut(Dim::Free("batch".into()), &[("edges", 8), ("of 17", 2)], |graph| {
        reshape(graph, "boxes", "edges", &[-1, 2, 4]);
        reshape(graph, "column", "of 17", &[-1, 2, 1]);
        let pads = graph.ints(&[0, 0, 16, 0, 0, 72]);
        let low = graph.float(0.1);
        graph.node("Pad", "categories", &["column", &pads, &low], &[]);
        let pads = graph.ints(&[0, 0, 1, 0, 0, 1]);
        let high = graph.float(0.99);
        graph.node("Pad", "scores", &["categories", &pads, &high], &[]);
        graph.output("boxes", ElementType::F32, &Dim::batch_of(&[2, 4]));
        graph.output("scores", ElementType::F32, &Dim::batch_of(&[2, 91]));
    })
}

#[test]
fn raw_boxes_are_selected_by_their_scores_and_overlap() {
    let (_folder, demand) = wanted(raw_boxes(), f32_spec("detections", &[700]), true);
    let overlapping = [0.1, 0.2, 0.5, 0.6, 0.1, 0.2, 0.5, 0.59];
    let apart = [0.1, 0.2, 0.5, 0.6, 0.6, 0.7, 0.9, 0.8];
    let sample = |edges: [f32; 8], scores: [f32; 2]| [&edges[..], &scores].concat();
    let all = [sample(overlapping, [0.7, 0.8]), sample(apart, [0.7, 0.8]), sample(apart, [0.29, 0.31])];
    let samples = samples(&all.each_ref().map(Vec::as_slice));
    for batch_size in [1, 3] {
        let Some(records) = records(&demand, &samples, batch_size) else { return };
        let kept = |record: &[f32]| {
            record.chunks(7).filter(|it| it[6] == 17.0).flatten().copied().collect::<Vec<_>>()
        };
        let records: Vec<_> = records.iter().map(|records| kept(records)).collect();
        assert_eq!(records[0], [0.0, 0.1, 0.2, 0.5, 0.59, 0.8, 17.0]);
        let second = [1.0, 0.6, 0.7, 0.9, 0.8, 0.8, 17.0, 1.0, 0.1, 0.2, 0.5, 0.6, 0.7, 17.0];
        assert_eq!(records[1], second);
        assert_eq!(records[2], [2.0, 0.6, 0.7, 0.9, 0.8, 0.31, 17.0]);
    }
}
