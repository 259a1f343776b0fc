//! Volumes in windows: 3D-UNet on KiTS19.

use std::fs;

use proctor_onnx_file::{Dim, GraphBuilder};
use proctor_plugin_api::vocabulary::ElementType;
use proctor_plugin_bed::{ModelDemand, Run, demand, f32_spec, spec};
use proctor_recipes::Stream;

use crate::{
    common::opened,
    dense::peer::{Input, Made, samples},
};

/// Extents of the largest volume.
const MAX: [usize; 3] = [32, 32, 32];

pub fn demand_for(onnx: &std::path::Path, max: [usize; 3]) -> ModelDemand {
    let shape = [1, max[0], max[1], max[2]];
    let labels = spec("labels", ElementType::U8, &shape);
    let demand = demand(onnx, &[f32_spec("volume", &shape)], &[labels]);
    ModelDemand { inputs_vary: true, last_output_varies: true, ..demand }
}

pub fn volumes(shapes: &[[u64; 3]]) -> Vec<Vec<Input>> {
    let volume = |(index, shape): (u64, &[u64; 3])| {
        let stream = Stream::new(6, "volume").of_sample(index);
        vec![Input::reals(stream, &[1, shape[0], shape[1], shape[2]], 2.0)]
    };
    (0..).zip(shapes).map(volume).collect()
}

fn run(options: &[(&str, &str)], demand: &ModelDemand, inputs: &[Vec<Input>]) -> Option<Result<Run, String>> {
    let backend = opened(options)?;
    let sizes = [usize::try_from(demand.batch_size_max).unwrap()];
    let bed = proctor_plugin_bed::Bed::load(&backend, demand);
    Some(bed.and_then(|mut bed| bed.run(&samples(inputs), &sizes)))
}

#[test]
fn labels_of_3d_unet_are_those_of_numpy() {
    let made = Made::new("3d-unet-kits19-tiny");
    let inputs = volumes(&[[16, 16, 16], [24, 16, 32], [32, 32, 24]]);
    let Some(expected) = made.answers("labels", 16, &inputs) else { return };
    let windows = 1 + 2 * 3 + 3 * 3 * 2;
    for (per_call, batch_size_max) in [("1", 1), ("4", 2)] {
        let demand = ModelDemand { batch_size_max, ..demand_for(&made.onnx, MAX) };
        let Some(run) = run(&[("windows", per_call)], &demand, &inputs) else { return };
        let run = run.unwrap();
        for (index, answer) in run.answers().iter().enumerate() {
            let (ours, theirs) = (&answer.outputs[0], expected.bytes(index));
            assert_eq!(ours.len(), theirs.len(), "volume {index}");
            let gaps = expected.gaps(index);
            // Where two classes are as good as each other, f32 and f64 may differ.
            let clear = gaps.iter().filter(|gap| **gap > 1e-4).count();
            assert!(clear * 1000 > gaps.len() * 998, "{clear} of {} voxels", gaps.len());
            let mut wrong =
                (0..ours.len()).filter(|&voxel| ours[voxel] != theirs[voxel] && gaps[voxel] > 1e-4);
            assert_eq!(wrong.next(), None, "volume {index}, {per_call} windows in a call");
            let found = |class| theirs.iter().filter(|label| **label == class).count() * 50 > theirs.len();
            assert!((0..3).all(found), "volume {index} has too few voxels of a class");
        }
        assert_eq!(run.metrics["input_bytes_copied"], f64::from(windows * 16 * 16 * 16 * 4));
    }
}

/// Class 1 where a voxel is negative, by a model for a fixed number of windows.
#[test]
fn a_model_of_a_fixed_number_of_windows_computes_those_that_are_missing() {
    let mut graph = GraphBuilder::new("sign");
    graph.input("x", ElementType::F32, &Dim::fixed(&[2, 1, 8, 8, 8]));
    let minus = graph.node("Neg", "minus", &["x"], &[]);
    graph.node("Concat", "y", &["x", &minus], &[("axis", 1.into())]);
    graph.output("y", ElementType::F32, &Dim::fixed(&[2, 2, 8, 8, 8]));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sign.onnx");
    fs::write(&path, graph.into_bytes()).unwrap();
    // 1, 6 and 27 windows.
    let inputs = volumes(&[[8, 8, 8], [12, 8, 16], [16, 16, 16]]);
    let Some(run) = run(&[("windows", "5")], &demand_for(&path, [16, 16, 16]), &inputs) else { return };
    for (answer, input) in run.unwrap().answers().iter().zip(&inputs) {
        let values = proctor_plugin_bed::f32_values(&input[0].bytes);
        let expected: Vec<u8> = values.iter().map(|value| u8::from(*value < 0.0)).collect();
        assert_eq!(answer.outputs[0], expected);
    }
}

#[test]
fn volumes_that_no_windows_tile_or_that_are_too_large_fail_the_batch() {
    let made = Made::new("3d-unet-kits19-tiny");
    for (shape, said) in [
        ([16, 20, 16], "sample 0: windows of 16 voxels every 8 do not tile [16, 20, 16]"),
        ([16, 8, 16], "sample 0: windows of 16 voxels every 8 do not tile [16, 8, 16]"),
        ([16, 16, 40], "has the shape [1, 16, 16, 40] instead of at most [1, 32, 32, 32]"),
    ] {
        let Some(run) = run(&[], &demand_for(&made.onnx, MAX), &volumes(&[shape])) else { return };
        let error = run.unwrap_err();
        assert!(error.contains(said), "{error}");
    }
}
