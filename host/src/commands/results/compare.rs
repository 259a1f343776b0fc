//! `host compare`: whether runs differ, and by how much.

use std::{io::Write, path::PathBuf};

use clap::Args;
use proctor_compare::{CompareError, Comparison, Condition, Figure, Method, Side};
use proctor_display::print;
use proctor_words::{Conclusion, HostError, UsageError, write_whole};
use serde_json::Value;

use crate::values::confidence;

/// The flags of a comparison.
#[derive(Debug, Args)]
pub(crate) struct CompareFlags {
    /// Run folders, or folders with repeats of a run: the baseline A, then those to compare with it; a single folder
    /// with repeats shows how they vary
    #[arg(value_name = "FOLDER", required = true, num_args = 1..)]
    folders: Vec<PathBuf>,
    /// Fail if a figure is certainly worse by more than this, as in "p99 > 5%", or a run is INVALID; may be repeated
    #[arg(long, value_name = "CONDITION")]
    fail_if: Vec<String>,
    /// Confidence level of the intervals
    #[arg(long, value_name = "SHARE", default_value_t = Method::default().confidence, value_parser = confidence)]
    confidence: f64,
    /// Seed for resampling
    #[arg(long, default_value_t = Method::default().seed)]
    seed: u64,
    /// Write a picture of the percentile shifts to this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Print the comparison as JSON
    #[arg(long)]
    json: bool,
}

impl CompareFlags {
    /// Compares two sides, and returns the answer as JSON.
    pub(crate) fn value(&self) -> Result<Value, HostError> {
        let [a, b] = &*self.folders else {
            return Err(UsageError::Stated("a comparison is of two folders").into());
        };
        let method = Method { confidence: self.confidence, seed: self.seed };
        let comparison = Comparison::of(&Side::open(a)?, &Side::open(b)?, method)?;
        let mut judged = Vec::new();
        for text in &self.fail_if {
            let condition: Condition = text.parse().map_err(CompareError::from)?;
            judged.push((condition, comparison.fails(&condition)?));
        }
        let mut value = comparison.json(&judged);
        value["text"] = in_text(&[(comparison, judged)]).into();
        Ok(value)
    }

    /// Compares, and prints the answer.
    pub(crate) fn run(&self) -> Result<Conclusion, HostError> {
        // Before minutes are spent on reading.
        let parsed = self.fail_if.iter().map(|text| text.parse::<Condition>().map_err(CompareError::from));
        let conditions = parsed.collect::<Result<Vec<_>, _>>()?;
        if self.svg.is_some() && self.folders.len() != 2 {
            return Err(UsageError::Stated("--svg draws one comparison: give two folders").into());
        }
        let method = Method { confidence: self.confidence, seed: self.seed };
        let (a, others) = self.folders.split_first().expect("clap asks for a folder");
        let a = Side::open(a)?;
        if others.is_empty() {
            let spread = a.spread()?;
            print(if self.json { format!("{:#}\n", spread.json()) } else { spread.text() });
            return Ok(Conclusion::Good);
        }
        let mut answers = Vec::new();
        let mut conclusion = Conclusion::Good;
        for b in others {
            let comparison = Side::open(b).and_then(|b| Comparison::of(&a, &b, method))?;
            let judged = conditions
                .iter()
                .map(|condition| comparison.fails(condition).map(|fails| (*condition, fails)));
            let judged = judged.collect::<Result<Vec<_>, _>>()?;
            if judged.iter().any(|(_, fails)| *fails == Some(true)) {
                conclusion = Conclusion::Bad;
            }
            if let Some(path) = &self.svg {
                write_whole(path, |out| out.write_all(comparison.svg().as_bytes()))?;
            }
            answers.push((comparison, judged));
        }
        print(if self.json { in_json(&answers) } else { in_text(&answers) });
        Ok(conclusion)
    }
}

type Answer = (Comparison, Vec<(Condition, Option<bool>)>);

/// Returns a single comparison as an object, several as a list.
fn in_json(answers: &[Answer]) -> String {
    let mut all: Vec<_> = answers.iter().map(|(comparison, judged)| comparison.json(judged)).collect();
    let value = if all.len() == 1 { all.remove(0) } else { Value::Array(all) };
    format!("{value:#}\n")
}

fn in_text(answers: &[Answer]) -> String {
    let one = |(comparison, judged): &Answer| {
        let why = comparison.obstacle().map_or(String::new(), |obstacle| format!(": {obstacle}"));
        let lines = judged.iter().map(|(condition, fails)| match fails {
            Some(true) => format!("  FAIL      {condition}{why}\n"),
            Some(false) => format!("  pass      {condition}\n"),
            None if condition.figure == Figure::Accuracy => {
                format!("  no answer {condition}: one run each does not tell\n")
            }
            None => format!("  no answer {condition}: too few samples to tell\n"),
        });
        comparison.text() + &lines.collect::<String>()
    };
    answers.iter().map(one).collect::<Vec<_>>().join("\n")
}

pub(crate) const COMPARE_HELP: &str = "\
Examples:
  host compare runs/before runs/after
  host compare runs/before runs/after --fail-if \"p99 > 5%\" --fail-if \"throughput > 2%\"
  host run --plugin mine --repeat 5 --against ./new/libmine_sut.so -o runs/both
  host compare runs/both/a runs/both/b --json --svg shifts.svg

The output first lists everything but the figures that differs. Then come the figures:
latency percentiles and mean, throughput, and accuracy. Each difference has a confidence
interval, from resampling blocks of neighbouring samples and, if a folder has several
runs, the runs. If the interval contains 0, the difference is within the noise. See
docs/comparing-runs.md for the method.

A condition names a figure (p50, p90, p95, p97, p99, p99.9, mean, throughput, accuracy)
and how much worse it may get: up for latencies, down for throughput and accuracy. It
fails, with exit code 1, only if the whole interval lies beyond that. Every condition
fails, with a reason, if
  - a run is INVALID, has errors in its detail log, did not pass its accuracy, or has
    a samples.bin with a different number of samples than its result;
  - a repeat is incomplete, for example after a crash;
  - B leaves a larger fraction of its samples unanswered than A;
  - a figure is withheld.";
