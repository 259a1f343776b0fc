//! The definitions of the family, made from the names.

use proctor_config::BenchmarkFamily;
use proctor_recipes::{RNN_PATTERN, RnnCell, RnnName};

inventory::submit! {
    BenchmarkFamily {
        pattern: RNN_PATTERN,
        help: "One recurrent layer of any size; cells lstm, gru, gru0 (reset before the product), rnn.",
        definition: definition_of,
        members: || rows().map(|row| (row.to_string(), "Table 1 of DeepCPU (USENIX ATC 2018).")).collect(),
    }
}

/// Maximum size of one sample's tensor, in values: 64 MiB.
const SAMPLE_VALUES_MAX: usize = 1 << 24;

/// Input, hidden, batch and sequence of each row of table 1 of the paper, each for LSTM and GRU.
pub const TABLE_1: [[usize; 4]; 15] = [
    [64, 64, 1, 100],
    [256, 64, 1, 100],
    [1024, 64, 1, 100],
    [64, 256, 1, 100],
    [64, 1024, 1, 100],
    [1024, 1024, 1, 100],
    [256, 256, 1, 1],
    [256, 256, 1, 10],
    [256, 256, 1, 100],
    [64, 64, 10, 100],
    [64, 64, 20, 100],
    [256, 256, 10, 100],
    [256, 256, 20, 100],
    [1024, 1024, 10, 100],
    [1024, 1024, 20, 100],
];

/// Returns the rows of table 1 of the paper: 15 of LSTM, then 15 of GRU.
fn rows() -> impl Iterator<Item = RnnName> {
    [RnnCell::Lstm, RnnCell::Gru].into_iter().flat_map(|cell| {
        TABLE_1.into_iter().map(move |[input, hidden, batch, seq]| RnnName {
            cell,
            input,
            hidden,
            batch,
            seq,
            bidirectional: false,
        })
    })
}

/// Returns the layer of a name.
///
/// # Errors
/// Returns a sentence about the mistake, with the near match or the grammar.
fn layer(name: &str) -> Result<RnnName, String> {
    let layer: RnnName = name.parse()?;
    if sample_values(&layer) > SAMPLE_VALUES_MAX {
        return Err(format!(
            "a sample would have {} values, more than {SAMPLE_VALUES_MAX}: take a shorter sequence",
            sample_values(&layer)
        ));
    }
    Ok(layer)
}

const fn words(cell: RnnCell) -> &'static str {
    match cell {
        RnnCell::Lstm => "LSTM",
        RnnCell::Gru => "GRU, reset after the product",
        RnnCell::Gru0 => "GRU, reset before the product",
        RnnCell::Rnn => "plain recurrent layer",
    }
}

/// Returns the operations of the matrix products of one sample; a multiplication and an addition are two.
fn operations(layer: &RnnName) -> f64 {
    let per_step = 2 * layer.cell.gate_count() * (layer.input + layer.hidden) * layer.hidden;
    (per_step * layer.directions()) as f64 * layer.seq as f64
}

/// Returns the values of the larger of input and output of one sample.
fn sample_values(layer: &RnnName) -> usize {
    layer.seq * layer.input.max(layer.hidden * layer.directions())
}

/// Returns the definition of the layer of this name; `None` if the name is not meant to be one of the family.
fn definition_of(name: &str) -> Option<Result<String, String>> {
    let is_meant =
        name.get(..4).is_some_and(|start| ["rnn-", "rnn_"].iter().any(|it| start.eq_ignore_ascii_case(it)))
            && !name.contains(std::path::is_separator)
            && !name.ends_with(".toml");
    is_meant.then(|| layer(name).map(|layer| definition(&layer)))
}

/// Returns the definition of a member, in the form of a file.
fn definition(layer: &RnnName) -> String {
    let RnnName { cell, input, hidden, batch, seq, .. } = *layer;
    let name = layer.to_string();
    let output = hidden * layer.directions();
    let direction = if layer.bidirectional { " in both directions" } else { "" };
    let words = words(cell);
    let sample_count = sample_count(layer);
    let time_s = service_time_s(layer);
    // One fifth of the machine's capacity, in batches of one.
    let server_qps = two_digits(0.2 / time_s);
    let server_latency_ns = two_digits((20.0 * time_s * batch as f64).clamp(0.01, 3600.0) * 1e9);
    let offline_qps = two_digits(1.0 / time_s);
    let single_stream = if batch == 1 {
        format!("[scenarios.SingleStream]\nsingle_stream_expected_latency_ns = 100\nbatch_size = {batch}\n")
    } else {
        let single = RnnName { batch: 1, ..*layer };
        format!(
            "[refused]\nSingleStream = \"its queries have one sample, so that no batch of {batch} forms \
             (take {single}, or another scenario)\"\n"
        )
    };
    format!(
        r#"
schema_version = 1
id = "{name}"
task = "recurrent layer"
description = "{words}, of {hidden} units{direction}, inputs of {input} values, {seq} steps, batches of up to {batch}."
dataset = "generated"
preprocessing = "copy"

[model]
id = "{name}"
[model.files.safetensors]
generated = "{name}"

[[inputs]]
name = "x"
element_type = "f32"
shape = [{seq}, {input}]

[[outputs]]
name = "y"
element_type = "f32"
shape = [{seq}, {output}]

[quality]
metric = "close"
reference = 1.0
target_ratio = 1.0
answers = "computed"
[quality.tolerance]
f32 = {F32_TOLERANCE:e}
bf16 = {BF16_TOLERANCE:e}
int8 = {INT8_TOLERANCE:e}

[qsl]
total_sample_count = {sample_count}
performance_sample_count = {sample_count}

[scenarios.MultiStream]
multi_stream_samples_per_query = {batch}
multi_stream_expected_latency_ns = 100
multi_stream_target_latency_percentile = 0.9
batch_size = {batch}
[scenarios.Server]
server_target_qps = {server_qps:.6}
server_target_latency_ns = {server_latency_ns:.0}
server_target_latency_percentile = 0.9
batch_size = {batch}
[scenarios.Offline]
offline_expected_qps = {offline_qps:.6}
batch_size = {batch}
{single_stream}"#
    )
}

/// Maximum difference of a value from the one computed in f64: in f32 the accuracy of other implementations
/// on these layers.
const F32_TOLERANCE: f64 = 5e-6;
/// Tolerance with weights of 8 bits of precision, over a hundred steps.
const BF16_TOLERANCE: f64 = 1e-2;
/// Tolerance with weights and inputs in 255 steps.
const INT8_TOLERANCE: f64 = 5e-2;

/// Returns the samples of the library: 32 MiB of inputs or outputs at most, so that an accuracy log stays small.
fn sample_count(layer: &RnnName) -> usize {
    const VALUES: usize = 1 << 23;
    const COUNT_MAX: usize = 256;
    (VALUES / sample_values(layer)).clamp(1, COUNT_MAX).max(layer.batch)
}

/// Returns the time that one sample may take, in s: as on two cores of a server of 2020 at batch 1, or somewhat more.
fn service_time_s(layer: &RnnName) -> f64 {
    const OPERATIONS_PER_S: f64 = 15e9;
    const CALL_S: f64 = 20e-6;
    const STEP_S: f64 = 1e-6;
    CALL_S + STEP_S * (layer.seq * layer.directions()) as f64 + operations(layer) / OPERATIONS_PER_S
}

/// Rounds to two digits, as a person would write it.
fn two_digits(value: f64) -> f64 {
    let unit = 10_f64.powf(value.log10().floor() - 1.0);
    (value / unit).round() * unit
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proctor_config::{AnswerKind, Benchmark, ModelFile, RoundScenario, Value};
    use proctor_vocabulary::Scenario;

    use super::*;

    fn member(name: &str) -> Benchmark {
        let text = definition_of(name).unwrap().unwrap();
        Benchmark::parse(&text, Path::new(name)).unwrap()
    }

    fn problem(name: &str) -> String {
        definition_of(name).unwrap().unwrap_err()
    }

    #[test]
    fn the_rows_of_the_paper_are_members_and_come_back_from_their_names() {
        let rows: Vec<_> = rows().collect();
        assert_eq!(rows.len(), 30);
        for row in rows {
            assert_eq!(layer(&row.to_string()), Ok(row));
            let benchmark = member(&row.to_string());
            assert_eq!(benchmark.id, row.to_string());
            assert_eq!(benchmark.inputs[0].shape, [row.seq, row.input]);
            assert_eq!(benchmark.outputs[0].shape, [row.seq, row.hidden]);
            assert_eq!(
                benchmark.scenarios.contains_key(&RoundScenario::from(Scenario::SingleStream)),
                row.batch == 1
            );
            assert!(benchmark.qsl.total_sample_count >= row.batch as u64);
        }
    }

    #[test]
    fn a_name_says_what_the_definition_has() {
        let benchmark = member("rnn-gru0-24-32-5-63-bi");
        assert_eq!(benchmark.outputs[0].shape, [63, 64]);
        let files: Vec<_> = benchmark.model.files.values().collect();
        assert_eq!(files, [&ModelFile::Generated { recipe: "rnn-gru0-24-32-5-63-bi".to_owned() }]);
        assert_eq!(benchmark.quality.answers, AnswerKind::Computed);
        let multi_stream = &benchmark.scenarios[&RoundScenario::from(Scenario::MultiStream)];
        assert_eq!(multi_stream["multi_stream_samples_per_query"], Value::Integer(5));
        assert_eq!(multi_stream["batch_size"], Value::Integer(5));
        let reason = &benchmark.refused[&RoundScenario::from(Scenario::SingleStream)];
        assert!(reason.contains("rnn-gru0-24-32-1-63-bi"), "{reason}");
    }

    #[test]
    fn what_is_no_name_is_met_with_the_near_match_or_the_grammar() {
        assert!(problem("rnn-lsmt-256-256-1-100").contains("did you mean \"lstm\"?"));
        for name in
            ["rnn-lstm-256-256-1", "rnn-", "rnn_lstm_1_1_1_1", "rnn-lstm-1-1-1-1-by", "RNN-lstm-1-1-1-1"]
        {
            assert!(problem(name).contains(RNN_PATTERN), "{name}");
        }
        for (name, expected) in [
            ("rnn-lstm-0-256-1-100", "<input> is \"0\""),
            ("rnn-lstm-64-1e3-1-100", "<hidden> is \"1e3\""),
            ("rnn-lstm-64-64-+1-100", "<batch> is \"+1\""),
            ("rnn-lstm-64-64-1-99999999999999999999999", "<seq> is"),
            ("rnn-lstm-16384-64-1-16384", "take a shorter sequence"),
        ] {
            assert!(problem(name).contains(expected), "{name}: {}", problem(name));
        }
        assert!(definition_of("digits-lstm").is_none() && definition_of("./rnn-x.toml").is_none());
    }

    #[test]
    fn the_extremes_are_members() {
        for name in ["rnn-rnn-1-1-1-1", "rnn-lstm-16384-16384-16384-1-bi", "rnn-gru-1-1-1-16384"] {
            let benchmark = member(name);
            let qps = &benchmark.scenarios[&RoundScenario::from(Scenario::Server)]["server_target_qps"];
            assert!(matches!(qps, Value::Number(qps) if *qps > 0.0), "{name}: {qps:?}");
        }
    }

    #[test]
    fn numbers_have_two_digits() {
        assert_eq!(
            [1234.0, 0.0567, 99.9].map(two_digits).map(|it| (it * 1e6).round() / 1e6),
            [1200.0, 0.057, 100.0]
        );
    }
}
