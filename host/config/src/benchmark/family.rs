//! The family `rnn-<cell>-<input>-<hidden>-<batch>-<seq>[-bi]`: one recurrent layer of any size, its definition made from
//! its name.
//!
//! The rows of table 1 of "DeepCPU: Serving RNN-based Deep Learning Models 10x Faster" (USENIX ATC 2018) are members.

use std::{fmt, path::Path, str::FromStr};

use proctor_vocabulary::did_you_mean;

use super::Benchmark;
use crate::ConfigError;

/// What a name of the family looks like.
pub(super) const PATTERN: &str = "rnn-<cell>-<input>-<hidden>-<batch>-<seq>[-bi]";
const PREFIX: &str = "rnn-";
const BIDIRECTIONAL: &str = "bi";

/// Largest sizes: far above any real layer, far below where products of them overflow.
const WIDTH_MAX: usize = 16_384;
const BATCH_MAX: usize = 4096;
const SEQ_MAX: usize = 16_384;
/// Largest tensor of one sample, in values: 64 MiB.
const SAMPLE_VALUES_MAX: usize = 1 << 24;

/// Input, hidden, batch and sequence of each row of table 1 of the paper, each for LSTM and GRU.
const TABLE_1: [[usize; 4]; 15] = [
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

/// What a recurrent layer computes in each step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RnnCell {
    /// LSTM.
    Lstm,
    /// GRU whose reset gate acts after the hidden product, as in PyTorch and cuDNN.
    Gru,
    /// GRU whose reset gate acts on the state before the hidden product, as in the paper and TensorFlow 1.
    Gru0,
    /// Plain recurrent layer with tanh.
    Rnn,
}

impl RnnCell {
    /// All cells.
    pub const ALL: [Self; 4] = [Self::Lstm, Self::Gru, Self::Gru0, Self::Rnn];

    /// As it stands in names.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lstm => "lstm",
            Self::Gru => "gru",
            Self::Gru0 => "gru0",
            Self::Rnn => "rnn",
        }
    }

    const fn gate_count(self) -> usize {
        match self {
            Self::Lstm => 4,
            Self::Gru | Self::Gru0 => 3,
            Self::Rnn => 1,
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Lstm => "LSTM",
            Self::Gru => "GRU, reset after the product",
            Self::Gru0 => "GRU, reset before the product",
            Self::Rnn => "plain recurrent layer",
        }
    }
}

/// A name of the family, understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RnnName {
    /// What is computed in each step.
    pub cell: RnnCell,
    /// Values of a step that come in.
    pub input: usize,
    /// Units of each direction.
    pub hidden: usize,
    /// Most samples of a batch, and samples of a MultiStream query.
    pub batch: usize,
    /// Steps of a sample.
    pub seq: usize,
    /// Whether there is a second direction, from the last step to the first.
    pub bidirectional: bool,
}

impl RnnName {
    /// The rows of table 1 of the paper: 15 of LSTM, then 15 of GRU.
    pub fn table_1() -> impl Iterator<Item = Self> {
        let cells = [RnnCell::Lstm, RnnCell::Gru];
        cells.into_iter().flat_map(|cell| {
            TABLE_1.into_iter().map(move |[input, hidden, batch, seq]| Self {
                cell,
                input,
                hidden,
                batch,
                seq,
                bidirectional: false,
            })
        })
    }

    /// Number of directions.
    #[must_use]
    pub const fn directions(self) -> usize {
        1 + self.bidirectional as usize
    }

    /// Operations of the matrix products of one sample; a multiplication and an addition are two.
    #[must_use]
    pub fn operations(self) -> f64 {
        let per_step = 2 * self.cell.gate_count() * (self.input + self.hidden) * self.hidden;
        (per_step * self.directions()) as f64 * self.seq as f64
    }

    /// Values of the larger of input and output of one sample.
    fn sample_values(self) -> usize {
        self.seq * self.input.max(self.hidden * self.directions())
    }
}

impl fmt::Display for RnnName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cell, input, hidden, batch, seq, bidirectional } = *self;
        write!(f, "{PREFIX}{}-{input}-{hidden}-{batch}-{seq}", cell.name())?;
        if bidirectional { write!(f, "-{BIDIRECTIONAL}") } else { Ok(()) }
    }
}

impl FromStr for RnnName {
    type Err = String;

    /// # Errors
    /// A sentence on what is wrong, with the near match or the grammar.
    fn from_str(name: &str) -> Result<Self, String> {
        let grammar = || format!("names of this family are {PATTERN}, such as rnn-lstm-256-256-1-100");
        let parts: Vec<_> = name.strip_prefix(PREFIX).ok_or_else(grammar)?.split('-').collect();
        let (cell, sizes, bidirectional) = match parts[..] {
            [cell, input, hidden, batch, seq] => (cell, [input, hidden, batch, seq], false),
            [cell, input, hidden, batch, seq, BIDIRECTIONAL] => (cell, [input, hidden, batch, seq], true),
            _ => return Err(grammar()),
        };
        let known = RnnCell::ALL.map(RnnCell::name);
        let cell = RnnCell::ALL.into_iter().find(|it| it.name() == cell).ok_or_else(|| {
            format!("the cell \"{cell}\" is none of {}{}", known.join(", "), did_you_mean(cell, known))
        })?;
        let mut numbers = [0; 4];
        let limits = [("input", WIDTH_MAX), ("hidden", WIDTH_MAX), ("batch", BATCH_MAX), ("seq", SEQ_MAX)];
        for ((number, text), (what, most)) in numbers.iter_mut().zip(sizes).zip(limits) {
            let is_plain = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
            let parsed = text.parse().ok().filter(|value| is_plain && (1..=most).contains(value));
            *number = parsed.ok_or_else(|| {
                format!(
                    "<{what}> is \"{text}\", but has to be a whole number from 1 to {most}; {}",
                    grammar()
                )
            })?;
        }
        let [input, hidden, batch, seq] = numbers;
        let parsed = Self { cell, input, hidden, batch, seq, bidirectional };
        if parsed.sample_values() > SAMPLE_VALUES_MAX {
            return Err(format!(
                "a sample would have {} values, more than {SAMPLE_VALUES_MAX}: take a shorter sequence",
                parsed.sample_values()
            ));
        }
        Ok(parsed)
    }
}

/// The benchmark of this name; `None` if it is not meant to be one of the family.
pub(super) fn benchmark(name: &str) -> Option<Result<Benchmark, String>> {
    let is_meant =
        name.get(..4).is_some_and(|start| ["rnn-", "rnn_"].iter().any(|it| start.eq_ignore_ascii_case(it)))
            && !name.contains(std::path::is_separator)
            && !name.ends_with(".toml");
    is_meant.then(|| {
        let definition = definition(name.parse()?);
        let made = Benchmark::parse(&definition, Path::new(name));
        made.map_err(|errors| errors.iter().map(ConfigError::to_string).collect::<Vec<_>>().join("; "))
    })
}

/// The definition of a member, as it would stand in a file.
fn definition(name: RnnName) -> String {
    let RnnName { cell, input, hidden, batch, seq, .. } = name;
    let output = hidden * name.directions();
    let direction = if name.bidirectional { " in both directions" } else { "" };
    let words = cell.words();
    let sample_count = sample_count(name);
    let time_s = service_time_s(name);
    // One fifth of what the machine can do, in batches of one.
    let server_qps = two_digits(0.2 / time_s);
    let server_latency_ns = two_digits((20.0 * time_s * batch as f64).max(0.01) * 1e9);
    let offline_qps = two_digits(1.0 / time_s);
    let single_stream = if batch == 1 {
        format!("[scenarios.SingleStream]\nsingle_stream_expected_latency_ns = 100\nbatch_size = {batch}\n")
    } else {
        let single = RnnName { batch: 1, ..name };
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

/// How far a value may lie from the one computed in f64. In f32 it is what other implementations reach on these layers.
const F32_TOLERANCE: f64 = 5e-6;
/// With weights of 8 bits of precision, over a hundred steps.
const BF16_TOLERANCE: f64 = 2e-2;
/// With weights and inputs in 255 steps.
const INT8_TOLERANCE: f64 = 1e-1;

/// Samples of the library: 32 MiB of inputs or outputs at most, so that an accuracy log stays small.
fn sample_count(name: RnnName) -> usize {
    const VALUES: usize = 1 << 23;
    const COUNT_MAX: usize = 256;
    (VALUES / name.sample_values()).clamp(1, COUNT_MAX).max(name.batch)
}

/// How long one sample may take, in s: what two cores of a server of 2020 need at batch 1, or somewhat more.
fn service_time_s(name: RnnName) -> f64 {
    const OPERATIONS_PER_S: f64 = 15e9;
    const CALL_S: f64 = 20e-6;
    const STEP_S: f64 = 1e-6;
    CALL_S + STEP_S * (name.seq * name.directions()) as f64 + name.operations() / OPERATIONS_PER_S
}

/// Rounded to two digits, as a person would write it.
fn two_digits(value: f64) -> f64 {
    let unit = 10_f64.powf(value.log10().floor() - 1.0);
    (value / unit).round() * unit
}

#[cfg(test)]
mod tests {
    use proctor_vocabulary::Scenario;

    use super::*;
    use crate::{AnswerSource, ModelFile, Value};

    fn made(name: &str) -> Benchmark {
        benchmark(name).unwrap().unwrap()
    }

    fn problem(name: &str) -> String {
        benchmark(name).unwrap().unwrap_err()
    }

    #[test]
    fn the_rows_of_the_paper_are_members_and_come_back_from_their_names() {
        let rows: Vec<_> = RnnName::table_1().collect();
        assert_eq!(rows.len(), 30);
        for row in rows {
            assert_eq!(row.to_string().parse(), Ok(row));
            let benchmark = made(&row.to_string());
            assert_eq!(benchmark.id, row.to_string());
            assert_eq!(benchmark.inputs[0].shape, [row.seq, row.input]);
            assert_eq!(benchmark.outputs[0].shape, [row.seq, row.hidden]);
            assert_eq!(benchmark.scenarios.contains_key(&Scenario::SingleStream), row.batch == 1);
            assert!(benchmark.qsl.total_sample_count >= row.batch as u64);
        }
    }

    #[test]
    fn a_name_says_what_the_definition_has() {
        let benchmark = made("rnn-gru0-24-32-5-63-bi");
        assert_eq!(benchmark.outputs[0].shape, [63, 64]);
        let files: Vec<_> = benchmark.model.files.values().collect();
        assert_eq!(files, [&ModelFile::Generated { recipe: "rnn-gru0-24-32-5-63-bi".to_owned() }]);
        assert_eq!(benchmark.quality.answers, AnswerSource::Computed);
        let multi_stream = &benchmark.scenarios[&Scenario::MultiStream];
        assert_eq!(multi_stream["multi_stream_samples_per_query"], Value::Integer(5));
        assert_eq!(multi_stream["batch_size"], Value::Integer(5));
        let reason = &benchmark.refused[&Scenario::SingleStream];
        assert!(reason.contains("rnn-gru0-24-32-1-63-bi"), "{reason}");
    }

    #[test]
    fn what_is_no_name_is_met_with_the_near_match_or_the_grammar() {
        assert!(problem("rnn-lsmt-256-256-1-100").contains("did you mean \"lstm\"?"));
        for name in
            ["rnn-lstm-256-256-1", "rnn-", "rnn_lstm_1_1_1_1", "rnn-lstm-1-1-1-1-by", "RNN-lstm-1-1-1-1"]
        {
            assert!(problem(name).contains(PATTERN), "{name}");
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
        assert!(benchmark("digits-lstm").is_none() && benchmark("./rnn-x.toml").is_none());
    }

    #[test]
    fn the_extremes_are_members() {
        for name in ["rnn-rnn-1-1-1-1", "rnn-lstm-16384-16384-4096-1-bi", "rnn-gru-1-1-4096-16384"] {
            let benchmark = made(name);
            let qps = &benchmark.scenarios[&Scenario::Server]["server_target_qps"];
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
