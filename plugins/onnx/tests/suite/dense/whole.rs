//! Samples of one shape whose outputs are given in another form: scores of 3D-UNet on BraTS, logits of BERT.

use proctor_plugin_api::vocabulary::ElementType;
use proctor_plugin_bed::{ModelDemand, Samples, demand, f32_spec, spec};
use proctor_recipes::{Stream, input_recipe};

use crate::{
    common::{opened, run},
    dense::peer::{Input, Made, samples},
};

#[test]
fn scores_of_3d_unet_in_f16_are_those_of_numpy() {
    let made = Made::new("3d-unet-brats-tiny");
    let shape = [4, 12, 16, 8];
    let volume = |index| Input::reals(Stream::new(7, "volume").of_sample(index), &[4, 12, 16, 8], 2.0);
    let inputs: Vec<_> = (0..3).map(|index| vec![volume(index)]).collect();
    let Some(expected) = made.answers("scores", 0, &inputs) else { return };
    for batch_size_max in [1, 2] {
        let Some(backend) = opened(&[]) else { return };
        let outputs = [spec("scores", ElementType::F16, &shape)];
        let demand = demand(&made.onnx, &[f32_spec("input", &shape)], &outputs);
        let run = run(&backend, &ModelDemand { batch_size_max, ..demand }, &samples(&inputs)).unwrap();
        for (index, answer) in run.answers().iter().enumerate() {
            let (ours, rest) = answer.outputs[0].as_chunks::<2>();
            let theirs = expected.reals(index);
            assert!(rest.is_empty() && ours.len() == theirs.len(), "volume {index}");
            for (voxel, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
                let ours = half::f16::from_le_bytes(*ours).to_f32();
                // A rounding to 11 bits, after the roundings of f32.
                let bound = theirs.abs() / 2048.0 + 1e-4;
                assert!((ours - theirs).abs() <= bound, "{voxel} of volume {index}: {ours}, not {theirs}");
            }
        }
    }
}

/// BERT's two outputs alternate in the one of the benchmark, and its words come as i64.
#[test]
fn logits_of_start_and_end_alternate() {
    let made = Made::new("bert-tiny");
    let recipe = input_recipe("bert-tiny").unwrap();
    let narrow: Vec<_> = (0..5).map(|index| recipe.sample(index)).collect();
    let names = ["input_ids", "input_mask", "segment_ids"];
    let inputs = |element_type| names.map(|name| spec(name, element_type, &[16]));
    let apart = [f32_spec("start_logits", &[16]), f32_spec("end_logits", &[16])];
    let Some(backend) = opened(&[]) else { return };
    let demand_apart = demand(&made.onnx, &inputs(ElementType::I32), &apart);
    let apart = run(&backend, &demand_apart, &Samples::new(&narrow)).unwrap();

    let widened = |bytes: &Vec<u8>| {
        let values = proctor_plugin_bed::i32_values(bytes);
        values.iter().flat_map(|value| i64::from(*value).to_le_bytes()).collect::<Vec<u8>>()
    };
    let wide: Vec<Vec<_>> = narrow.iter().map(|sample| sample.iter().map(widened).collect()).collect();
    for (element_type, batch_size_max) in
        [(ElementType::F32, 1), (ElementType::F32, 3), (ElementType::F16, 2)]
    {
        let backend = opened(&[]).unwrap();
        let logits = [spec("logits", element_type, &[16, 2])];
        let demand = demand(&made.onnx, &inputs(ElementType::I64), &logits);
        let demand = ModelDemand { batch_size_max, ..demand };
        // A benchmark's f16 of a model's f32.
        let together = run(&backend, &demand, &Samples::new(&wide)).unwrap();
        for (together, apart) in together.answers().iter().zip(apart.answers()) {
            let (start, end) = (apart.f32s(0), apart.f32s(1));
            let expected: Vec<f32> =
                start.into_iter().zip(end).flat_map(|(start, end)| [start, end]).collect();
            assert_eq!(together.outputs[0].len(), element_type.bytes_of(32));
            let ours: Vec<f32> = match element_type {
                ElementType::F32 => together.f32s(0),
                _ => {
                    let halves = together.outputs[0].as_chunks::<2>().0;
                    halves.iter().map(|half| half::f16::from_le_bytes(*half).to_f32()).collect()
                }
            };
            for (ours, expected) in ours.iter().zip(&expected) {
                let bound =
                    if element_type == ElementType::F32 { 1e-6 } else { expected.abs() / 2048.0 + 1e-6 };
                assert!((ours - expected).abs() <= bound, "{ours}, not {expected}");
            }
            assert!(expected.iter().any(|value| value.abs() > 0.1));
        }
    }
}
