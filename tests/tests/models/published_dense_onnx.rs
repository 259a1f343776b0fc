//! BERT on SQuAD through ONNX Runtime, on a made data set: the model gives start and end apart, and a response has them
//! as MLPerf has, in turn.

use proctor_accuracy::read_log;
use proctor_onnx_file::{Attribute, Dim, GraphBuilder};
use proctor_test_needs::skip;
use proctor_tests::{Bench, short};
use proctor_vocabulary::ElementType::{F32, I64};

/// Tokens of a sample.
const STEPS: usize = 384;

/// `TensorProto.DataType.FLOAT`.
const FLOAT: i64 = 1;

/// The benchmark bert but for what its answers are worth.
const DEFINITION: &str = r#"
schema_version = 1
id = "bert-apart"
task = "question answering"
description = "Start and end of answers, from a model that gives them apart."
dataset = "squad"
preprocessing = "squad-bert"

[model]
id = "bert-apart"
[model.files.onnx]
supplied = "a model with two outputs"

[[inputs]]
name = "input_ids"
element_type = "i64"
shape = [384]

[[inputs]]
name = "input_mask"
element_type = "i64"
shape = [384]

[[inputs]]
name = "segment_ids"
element_type = "i64"
shape = [384]

[[outputs]]
name = "logits"
element_type = "f32"
shape = [384, 2]

[quality]
metric = "close"
reference = 1.0
target_ratio = 1.0
answers = "computed"
[quality.tolerance]
f32 = 1e-5

[qsl]
total_sample_count = 10_833
performance_sample_count = 10_833

[scenarios.SingleStream]
single_stream_expected_latency_ns = 5_000

[scenarios.Offline]
offline_expected_qps = 1000
batch_size = 4
"#;

/// The file of a model whose start logits are the words, and whose end logits are the segment less the word.
fn apart() -> Vec<u8> {
    let dims = Dim::batch_of(&[STEPS]);
    let mut graph = GraphBuilder::new("apart");
    for name in ["input_ids", "input_mask", "segment_ids"] {
        graph.input(name, I64, &dims);
    }
    let real: [(&str, Attribute); 1] = [("to", FLOAT.into())];
    graph.node("Cast", "output_start_logits", &["input_ids"], &real);
    let mask = graph.node("Cast", "mask", &["input_mask"], &real);
    let segment = graph.node("Cast", "segment", &["segment_ids"], &real);
    let product = graph.node("Mul", "product", &["output_start_logits", &mask], &[]);
    graph.node("Sub", "output_end_logits", &[&segment, &product], &[]);
    for name in ["output_start_logits", "output_end_logits"] {
        graph.output(name, F32, &dims);
    }
    graph.into_bytes()
}

#[test]
fn logits_of_bert_come_in_turn() {
    let bench = Bench::new();
    let plan = bench.host("describe onnx --plan digits-mlp");
    if plan.stderr.contains("found no ONNX Runtime") {
        skip(plan.stderr.trim());
        return;
    }
    let folder = bench.file("squad");
    let made = bench.host(&format!("data generate squad --samples 12 --out {}", folder.display()));
    assert_eq!(made.code(), 0, "{made}");
    let (definition, model) = (bench.write("bert.toml", DEFINITION), bench.write("apart.onnx", apart()));
    for scenario in ["SingleStream", "Offline"] {
        let run = bench.run(&format!(
            "--plugin onnx --benchmark {} {} --mode performance --dataset-folder {} --model-file {} \
             --set cache_folder={} --set accuracy_log_probability=1",
            definition.display(),
            short(scenario),
            folder.display(),
            model.display(),
            bench.file("cache").display(),
        ));
        run.assert_valid();
        let log = read_log(&run.folder().join("mlperf_log_accuracy.json")).unwrap();
        assert!(log.len() >= 12, "{} responses of {scenario}", log.len());
        for record in log {
            let values: Vec<f32> =
                record.data.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
            assert_eq!(values.len(), 2 * STEPS);
            let pairs: Vec<[f32; 2]> = values.as_chunks::<2>().0.to_vec();
            // The first word is [CLS], of the first segment; the text behind the question has words of the second.
            assert!(pairs[0][0] > 0.0 && pairs[0][1] == -pairs[0][0], "{:?}", pairs[0]);
            let is_second = |pair: &[f32; 2]| pair[0] > 0.0 && pair[1] == 1.0 - pair[0];
            assert!(pairs.iter().any(is_second), "no word of the second segment");
            let is_any = |pair: &[f32; 2]| pair[1] == -pair[0] || is_second(pair);
            assert!(pairs.iter().all(is_any), "{pairs:?}");
        }
    }
}
