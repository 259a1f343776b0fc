//! Benchmarks of rows, volumes and questions through ONNX Runtime, on generated data sets, in every scenario of their
//! suites: generated networks with true inputs and outputs, compared with its Python package on the same file.

use std::{fs, path::Path, process::Command};

use half::f16;
use proctor_prepared::Reader;
use proctor_test_needs::skip;
use proctor_tests::{Bench, workspace};
use proctor_vocabulary::{ElementType, SampleIndex};
use serde_json::{Value, json};

use crate::models::{
    onnx_peer::{needs, output, short},
    responses::logged,
};

/// A benchmark, and how it is run here.
struct Case {
    benchmark: &'static str,
    /// The recipe of its model.
    model: &'static str,
    sample_count: u64,
    inputs: &'static [ElementType],
    /// The form of answers, for the program in Python.
    form: &'static str,
    scenarios: &'static [&'static str],
    /// Flags in addition to a short run's.
    flags: &'static str,
}

/// Runs a benchmark in all its scenarios; `are_near` compares a response with Python's.
fn answers_are_those_of_python(case: &Case, are_near: fn(&[u8], &[u8]) -> bool) {
    let bench = Bench::new();
    if let Err(missing) = needs(&bench) {
        skip(missing);
        return;
    }
    let (models, data) = (bench.file("models"), bench.file("data"));
    let host = |arguments: String| {
        let finished = bench.host(&arguments);
        assert_eq!(finished.code(), 0, "{finished}");
        finished.stdout
    };
    let Case { benchmark, model, sample_count, .. } = case;
    host(format!("data make-model {model} --out {}", models.display()));
    host(format!("data generate {benchmark} --out {} --samples {sample_count}", data.display()));
    let prepared = host(format!("data prepare {benchmark} --folder {}", data.display()));
    let prepared = prepared.lines().last().and_then(|line| line.rsplit_once(": ")).unwrap().0;
    let model = models.join(format!("{model}.onnx"));
    let expected = answers_of_python(&bench, case, &model, Path::new(prepared));
    let mut values = Vec::new();
    for scenario in case.scenarios {
        let run = bench.run(&format!(
            "--plugin onnx --benchmark {benchmark} --dataset-folder {} --model-file {} --scenario {scenario} \
             --preset quick {} {} --set onnx.threads=1",
            data.display(),
            model.display(),
            short(scenario),
            case.flags,
        ));
        assert_eq!(run.result()["verdict"]["valid"], true, "{}", run.finished);
        values.push(run.result()["accuracy"]["value"].as_f64().unwrap());
        let responses = logged(&run);
        assert_eq!(responses.len(), expected.len(), "{scenario}");
        for (sample, (response, expected)) in responses.iter().zip(&expected).enumerate() {
            assert_eq!(response.len(), expected.len(), "{scenario}, sample {sample}");
            assert!(are_near(response, expected), "{scenario}, sample {sample}");
        }
    }
    let spread = values.iter().fold(0.0_f64, |most, value| most.max((value - values[0]).abs()));
    assert!(spread < 1e-3 * values[0].abs(), "the scenarios have {values:?}");
}

/// Answers to the prepared samples of a benchmark, as the bytes of responses.
fn answers_of_python(bench: &Bench, case: &Case, model: &Path, prepared: &Path) -> Vec<Vec<u8>> {
    let reader = Reader::open(prepared).unwrap();
    assert_eq!(reader.sample_count(), case.sample_count);
    let sample = |index: u64| {
        let shapes = reader.shapes(SampleIndex(index)).unwrap();
        let size = |(shape, element_type): (&Vec<usize>, &ElementType)| {
            element_type.bytes_of(shape.iter().product())
        };
        let mut tensors: Vec<_> = shapes.iter().zip(case.inputs).map(|input| vec![0; size(input)]).collect();
        let mut rooms: Vec<_> = tensors.iter_mut().map(Vec::as_mut_slice).collect();
        reader.read(SampleIndex(index), &mut rooms).unwrap();
        let describe = |(number, tensor): (usize, Vec<u8>)| {
            let file = format!("input-{index}-{number}.bin");
            bench.write(&file, tensor);
            json!({ "type": case.inputs[number].name(), "shape": shapes[number], "file": file })
        };
        tensors.into_iter().enumerate().map(describe).collect::<Value>()
    };
    let samples: Value = (0..case.sample_count).map(sample).collect();
    let path = bench
        .write("case.json", json!({ "model": model, "form": case.form, "samples": samples }).to_string());
    let script = workspace().join("tests/tests/suite/models/published_dense_onnx.py");
    output(Command::new("python3").arg("-B").arg(script).arg(&path));
    (0..case.sample_count)
        .map(|index| fs::read(bench.file(&format!("answer-{index}.bin"))).unwrap())
        .collect()
}

/// Whether all numbers in f32 are near.
fn reals_are_near(ours: &[u8], theirs: &[u8]) -> bool {
    let values =
        |bytes: &[u8]| bytes.as_chunks().0.iter().map(|it| f32::from_le_bytes(*it)).collect::<Vec<_>>();
    values(ours).iter().zip(values(theirs)).all(|(ours, theirs)| (ours - theirs).abs() < 1e-4)
}

/// Whether all numbers in f16 are near: they may be rounded to neighbours.
fn halves_are_near(ours: &[u8], theirs: &[u8]) -> bool {
    let values = |bytes: &[u8]| -> Vec<f32> {
        bytes.as_chunks().0.iter().map(|it| f16::from_le_bytes(*it).to_f32()).collect()
    };
    let are_near = |(ours, theirs): (&f32, f32)| (ours - theirs).abs() <= theirs.abs() / 512.0 + 1e-3;
    values(ours).iter().zip(values(theirs)).all(are_near)
}

/// Whether the labels are the same, except one in a thousand: two classes may be equally likely.
fn labels_are_near(ours: &[u8], theirs: &[u8]) -> bool {
    let differences = ours.iter().zip(theirs).filter(|(ours, theirs)| ours != theirs).count();
    (0..3).all(|class| ours.contains(&class)) && differences * 1000 < ours.len()
}

#[test]
fn dlrm_in_server_and_offline() {
    let case = Case {
        benchmark: "dlrm",
        model: "dlrm-small-tables",
        sample_count: 10,
        inputs: &[ElementType::F32, ElementType::I32],
        form: "rows",
        scenarios: &["Server", "Offline"],
        flags: "",
    };
    answers_are_those_of_python(&case, reals_are_near);
}

#[test]
fn dlrm_v2_in_server_and_offline() {
    const INPUTS: [ElementType; 27] = {
        let mut inputs = [ElementType::I32; 27];
        inputs[0] = ElementType::F32;
        inputs
    };
    let case = Case {
        benchmark: "dlrm-v2",
        model: "dlrm-v2-small-tables",
        sample_count: 10,
        inputs: &INPUTS,
        form: "rows",
        scenarios: &["Server", "Offline"],
        flags: "",
    };
    answers_are_those_of_python(&case, reals_are_near);
}

const KITS19: Case = Case {
    benchmark: "3d-unet-kits19",
    model: "3d-unet-kits19-narrow",
    sample_count: 3,
    inputs: &[ElementType::F32],
    form: "labels",
    scenarios: &["SingleStream", "Offline"],
    flags: "",
};

/// A single volume of a single window.
#[test]
fn unet_on_a_volume_of_kits19_in_offline() {
    let case = Case { sample_count: 1, scenarios: &["Offline"], flags: "--mode accuracy", ..KITS19 };
    answers_are_those_of_python(&case, labels_are_near);
}

#[test]
fn unet_on_kits19_in_single_stream_and_offline() {
    answers_are_those_of_python(&KITS19, labels_are_near);
}

#[test]
fn unet_on_brats_in_single_stream_and_offline() {
    let case = Case {
        benchmark: "3d-unet-brats",
        model: "3d-unet-brats-narrow",
        sample_count: 1,
        inputs: &[ElementType::F32],
        form: "scores",
        scenarios: &["SingleStream", "Offline"],
        flags: "",
    };
    answers_are_those_of_python(&case, halves_are_near);
}

#[test]
fn bert_in_single_stream_server_and_offline() {
    let case = Case {
        benchmark: "bert",
        model: "bert-large-narrow",
        sample_count: 12,
        inputs: &[ElementType::I64; 3],
        form: "pairs",
        scenarios: &["SingleStream", "Server", "Offline"],
        flags: "",
    };
    answers_are_those_of_python(&case, reals_are_near);
}
