//! Turns the log of an accuracy run into the verdict.

use std::{collections::BTreeMap, path::Path};

use proctor_datasets::DataRoot;
use proctor_scores::{ScoreError, five_figures, reaches, wilson_95};

use crate::{
    computed,
    error::AccuracyError,
    judge::{
        Judge, Judgement, WrongSample,
        defect::{DefectGroup, LogDefects},
        read_responses_before,
    },
    metric::{JudgeRequest, metric},
    response::ResponseForm,
    source::AnswerSource,
};

/// Maximum number of indices that a reason names; the result has all of them.
const NAMED_INDICES: usize = 5;

/// The part of a benchmark's definition that is about accuracy.
#[derive(Debug, Clone, PartialEq)]
pub struct AccuracyCheck {
    /// Source of the right answers.
    pub answers: AnswerSource,
    /// Name of the metric.
    pub metric: String,
    /// The form of a response.
    pub response: ResponseForm,
    /// Largest difference of a value from the right one, for metrics that compare values.
    pub tolerance: Option<f64>,
    /// Accuracy of the reference model in FP32, in the metric's own unit.
    pub reference_value: f64,
    /// Share of the reference that must be reached, such as 0.99.
    pub target_ratio: f64,
    /// Number of second records of a sample that the scenario explains: MultiStream pads each loaded set by
    /// `samples_per_query - 1`; 0 elsewhere.
    pub padding_record_count: u64,
    /// `seq_id` of the first sample of the performance phase of a SubmissionRun. Its records and those after it are
    /// not scored, as LoadGen chooses by chance which of them it logs. `None` if all records are scored.
    pub performance_seq_id: Option<u64>,
}

/// The accuracy of a run, and whether it is enough.
#[derive(Debug, Clone, PartialEq)]
pub struct AccuracyResult {
    /// Name of the metric.
    pub metric: String,
    /// The metric; larger is better.
    pub value: f64,
    /// Number of samples answered rightly; none if the value is not a share of samples.
    pub correct_count: Option<u64>,
    /// Lower and upper end of the 95 % interval of the value, if it is a share of samples.
    pub interval_95: Option<[f64; 2]>,
    /// Number of samples that the value is a share of: those with a known right answer, or else all answered samples.
    pub judged_count: u64,
    /// Number of samples in the data set, answered or not.
    pub sample_count: u64,
    /// Minimum value that passes: `reference_value * target_ratio`.
    pub target: f64,
    /// Whether it does, both rounded to five significant figures, on a log that is whole.
    pub passed: bool,
    /// Reason why it did not pass; empty if it did.
    pub reasons: Vec<String>,
    /// The line of the reference's script, for metrics of MLPerf's benchmarks.
    pub line: Option<String>,
    /// Samples without a record, ascending.
    pub missing_samples: Vec<u64>,
    /// Samples with a response of the wrong size, or damaged in another way, ascending.
    pub malformed_samples: Vec<u64>,
    /// Samples with a defective response, grouped by defect; a sample may have several.
    pub response_defects: Vec<DefectGroup>,
    /// Number of whole records of a log that is cut off, if the reference scores such logs.
    pub cut_after_record_count: Option<u64>,
    /// Samples of second and further records, in the order of the log. The first record of a sample counts.
    pub duplicate_samples: Vec<u64>,
    /// Indices in the log that the data set does not have, in the order of the log.
    pub unknown_samples: Vec<u64>,
    /// Further figures of the metric by name.
    pub details: BTreeMap<String, f64>,
    /// The first samples that were answered with a wrong class, ascending.
    pub wrong_samples: Vec<WrongSample>,
}

impl AccuracyCheck {
    /// Reads the log and the labels and scores the one against the other.
    ///
    /// A sample without a record is wrong. Besides reaching the target, every sample must be in the log exactly once,
    /// with a response of the right size, for the check to pass.
    ///
    /// # Errors
    /// [`AccuracyError`] if there is nothing to score: no readable log, no labels, an unknown name, an absurd target.
    pub fn run(&self, log: &Path, root: &DataRoot) -> Result<AccuracyResult, AccuracyError> {
        for (key, value) in [("reference_value", self.reference_value), ("target_ratio", self.target_ratio)] {
            if !(value.is_finite() && value > 0.0) {
                return Err(AccuracyError::Target { key, value });
            }
        }
        let mut judge = self.judge(root)?;
        let sample_count = judge.sample_count() as u64;
        let defects = read_responses_before(log, self.performance_seq_id, judge.as_mut())?;
        let judgement = match judge.judgement() {
            Ok(judgement) => judgement,
            // Without a single response that can be scored, the score is zero, and the defects say why. Any other error
            // is a fault of the labels, even if responses are damaged, too.
            Err(ScoreError::Empty { .. } | ScoreError::OneClass { .. }) if defects.lack_responses() => {
                Judgement::default()
            }
            Err(why) => return Err(AccuracyError::Score(why)),
        };
        let mut result = self.result(sample_count, judgement, defects);
        result.reasons = self.reasons(&result);
        result.passed = result.reasons.is_empty();
        Ok(result)
    }

    /// Checks, before anything runs, that there are answers and that the metric can compare responses with them.
    ///
    /// # Errors
    /// [`AccuracyError`] if labels are missing or damaged, or if there are no answers at all. Answers that are computed
    /// from the weights are not computed yet.
    pub fn check_answers(&self, root: &DataRoot) -> Result<(), AccuracyError> {
        if let AnswerSource::Computed { model, .. } = &self.answers {
            metric(&self.metric)?;
            return computed::find(model).map(drop);
        }
        self.judge(root).map(drop)
    }

    fn judge(&self, root: &DataRoot) -> Result<Box<dyn Judge>, AccuracyError> {
        let metric = metric(&self.metric)?;
        let Self { answers, response: form, tolerance, .. } = self;
        (metric.judge)(&JudgeRequest { metric, answers, form: *form, tolerance: *tolerance, root })
    }

    /// Returns the result of a judgement, without a verdict.
    fn result(&self, sample_count: u64, judgement: Judgement, defects: LogDefects) -> AccuracyResult {
        let Judgement { value, share, line, details, doubts, wrong } = judgement;
        let mut malformed_samples: Vec<_> = defects.responses.iter().map(|(sample, _)| *sample).collect();
        malformed_samples.sort_unstable();
        malformed_samples.dedup();
        AccuracyResult {
            metric: self.metric.clone(),
            value,
            correct_count: share.map(|share| share.correct_count),
            interval_95: share.and_then(|share| wilson_95(share.correct_count, share.judged_count)),
            judged_count: share.map_or_else(
                || sample_count - defects.missing_samples.len() as u64,
                |share| share.judged_count,
            ),
            sample_count,
            target: self.reference_value * self.target_ratio,
            passed: false,
            reasons: Vec::new(),
            line,
            missing_samples: defects.missing_samples,
            malformed_samples,
            response_defects: DefectGroup::all(defects.responses.into_iter().chain(doubts).collect()),
            cut_after_record_count: defects.cut_after_record_count,
            duplicate_samples: defects.duplicate_samples,
            unknown_samples: defects.unknown_samples,
            details: details.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
            wrong_samples: wrong,
        }
    }

    /// Returns the reasons why the check does not pass, beginning with a value below the target.
    fn reasons(&self, result: &AccuracyResult) -> Vec<String> {
        let mut reasons = Vec::new();
        if result.correct_count.is_some() && result.judged_count == 0 {
            reasons.push("the right answer of no sample is known, so nothing is scored".to_owned());
        } else if !reaches(result.value, result.target) {
            let [value, target] = [result.value, result.target].map(five_figures);
            reasons.push(format!("{} is {value}, below the target of {target}", result.metric));
        }
        let explained = result.duplicate_samples.len() as u64 <= self.padding_record_count;
        for (indices, is_fine, what) in [
            (&result.missing_samples, false, "without a record"),
            (&result.malformed_samples, false, "with a damaged response"),
            (&result.duplicate_samples, explained, "with a second record"),
            (&result.unknown_samples, false, "that the data set does not have"),
        ] {
            if !indices.is_empty() && !is_fine {
                reasons.push(format!("samples {what}: {}", named(indices)));
            }
        }
        let damage = |DefectGroup { samples, first, .. }: &DefectGroup| {
            let [sample, others @ ..] = samples.as_slice() else { return None };
            let others = match others.len() {
                0 => String::new(),
                count => format!("; and {count} more like it"),
            };
            Some(format!("response of sample {sample}: {first}{others}"))
        };
        reasons.extend(result.response_defects.iter().filter_map(damage));
        reasons.extend(
            result
                .cut_after_record_count
                .map(|count| format!("the log is cut off after {count} whole records")),
        );
        reasons
    }
}

/// Describes a list of indices by its length and its first few.
fn named(indices: &[u64]) -> String {
    let first: Vec<_> = indices.iter().take(NAMED_INDICES).map(u64::to_string).collect();
    let rest = if indices.len() > NAMED_INDICES { ", ..." } else { "" };
    format!("{} ({}{rest})", indices.len(), first.join(", "))
}

#[cfg(test)]
mod tests {
    use std::{fs, path::PathBuf};

    use proctor_vocabulary::ElementType;
    use tempfile::TempDir;

    use super::*;
    use crate::{
        answers::Answers,
        labels::{LabelsRequest, read_labels},
    };

    fn check() -> AccuracyCheck {
        AccuracyCheck {
            answers: AnswerSource::Labels { dataset: "digits".into(), published: None },
            metric: "top1".into(),
            response: ResponseForm::exactly(ElementType::F32, 10),
            tolerance: None,
            reference_value: 1.0,
            target_ratio: 0.99,
            padding_record_count: 0,
            performance_seq_id: None,
        }
    }

    /// Qsl index and response of a run that is right throughout, in an order other than the samples'.
    fn oracle() -> Vec<(u64, Vec<u8>)> {
        let labels =
            read_labels("digits", &LabelsRequest { root: &DataRoot::search(), published: None }).unwrap();
        let Answers::Classes { labels, .. } = labels else { panic!("digits have classes") };
        let logits =
            |label: u64| (0..10).flat_map(move |class| f32::from(class == label).to_le_bytes()).collect();
        let mut records: Vec<_> = (0..).zip(labels).map(|(index, label)| (index, logits(label))).collect();
        records.reverse();
        records
    }

    fn run(check: &AccuracyCheck, records: &[(u64, Vec<u8>)]) -> AccuracyResult {
        let (_folder, log) = written(records);
        check.run(&log, &DataRoot::search()).unwrap()
    }

    /// Writes a log of these records in a folder that lasts as long as its value.
    fn written(records: &[(u64, Vec<u8>)]) -> (TempDir, PathBuf) {
        let lines: Vec<_> = (0..)
            .zip(records)
            .map(|(seq_id, (qsl_idx, data)): (u64, _)| {
                let hex: String = data.iter().map(|byte| format!("{byte:02X}")).collect();
                format!("{{ \"seq_id\" : {seq_id}, \"qsl_idx\" : {qsl_idx}, \"data\" : \"{hex}\" }}")
            })
            .collect();
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("mlperf_log_accuracy.json");
        fs::write(&log, format!("[\n{}\n]\n", lines.join(",\n"))).unwrap();
        (folder, log)
    }

    /// Makes the first `count` answers wrong.
    fn spoil(records: &mut [(u64, Vec<u8>)], count: usize) {
        records.iter_mut().take(count).for_each(|(_, data)| data.rotate_left(4));
    }

    #[test]
    fn an_oracle_is_right_throughout() {
        let result = run(&check(), &oracle());
        assert!(result.passed, "{:?}", result.reasons);
        assert_eq!((result.value, result.correct_count, result.sample_count), (1.0, Some(600), 600));
        assert_eq!(result.target, 0.99);
    }

    #[test]
    fn the_share_of_right_answers_is_exact_and_the_target_itself_passes() {
        let mut records = oracle();
        spoil(&mut records, 6);
        let result = run(&check(), &records);
        assert_eq!((result.value, result.passed), (0.99, true));
        let mut records = oracle();
        spoil(&mut records, 7);
        let result = run(&check(), &records);
        assert!(!result.passed);
        assert_eq!(result.correct_count, Some(593));
        assert!(result.reasons[0].starts_with("top1 is 0.988"), "{:?}", result.reasons);
    }

    #[test]
    fn the_target_is_reached_in_five_figures() {
        let mut records = oracle();
        spoil(&mut records, 6);
        let of = |reference_value| run(&AccuracyCheck { reference_value, ..check() }, &records);
        // The targets 0.9900049 and 0.9900149; the first is 0.99000 in five figures.
        let (passed, failed) = (of(1.000_005), of(1.000_015));
        assert!(passed.passed && passed.value < passed.target, "{passed:?}");
        assert!(!failed.passed && failed.reasons[0].starts_with("top1 is 0.99000, below"), "{failed:?}");
    }

    #[test]
    fn a_missing_sample_does_not_pass_however_good_the_rest() {
        let mut records = oracle();
        records.pop();
        let result = run(&check(), &records);
        assert_eq!((result.correct_count, result.passed), (Some(599), false));
        assert_eq!(result.reasons, ["samples without a record: 1 (0)"]);
        assert_eq!(result.missing_samples, [0]);
    }

    #[test]
    fn the_first_of_two_records_counts_and_only_padding_explains_the_second() {
        let mut records = oracle();
        records.push((0, vec![0; 40]));
        let result = run(&check(), &records);
        assert_eq!((result.correct_count, result.passed), (Some(600), false));
        assert_eq!(result.reasons, ["samples with a second record: 1 (0)"]);
        let padded = run(&AccuracyCheck { padding_record_count: 7, ..check() }, &records);
        assert!(padded.passed);
        assert_eq!(padded.duplicate_samples, [0]);
    }

    #[test]
    fn records_of_the_performance_phase_are_not_scored() {
        let mut records = oracle();
        records.extend([(0, vec![0; 40]), (600, vec![])]);
        let of = |performance_seq_id| run(&AccuracyCheck { performance_seq_id, ..check() }, &records);
        let result = of(Some(600));
        assert!(result.passed && result.duplicate_samples.is_empty(), "{:?}", result.reasons);
        assert_eq!(of(Some(601)).duplicate_samples, [0]);
        assert_eq!(of(Some(599)).missing_samples, [0]);
        assert_eq!(of(None).reasons.len(), 2);
    }

    #[test]
    fn a_foreign_sample_or_a_short_response_does_not_pass() {
        let mut records = oracle();
        records.push((600, vec![0; 40]));
        records.push((u64::MAX, vec![]));
        records[0].1.truncate(36);
        let result = run(&check(), &records);
        assert_eq!(
            result.reasons,
            [
                "samples with a damaged response: 1 (599)",
                "samples that the data set does not have: 2 (600, 18446744073709551615)",
                "response of sample 599: 36 bytes instead of 40 bytes",
            ]
        );
    }

    #[test]
    fn damaged_responses_are_grouped_by_what_is_wrong_with_them() {
        let mut records = oracle();
        let nan = f32::NAN.to_le_bytes();
        // Their labels are right where the number stands, so each of them is one less.
        for (place, damaged) in [(0, nan.repeat(10)), (1, vec![1]), (2, nan.repeat(10)), (3, vec![])] {
            records[place].1 = damaged;
        }
        let result = run(&check(), &records);
        assert_eq!((result.correct_count, result.passed), (Some(596), false));
        assert_eq!(result.line.as_deref(), Some("accuracy=99.333%, good=596, total=600"));
        assert_eq!(result.malformed_samples, [596, 597, 598, 599]);
        let group = |DefectGroup { kind, samples, first }: &DefectGroup| serde_json::json!({"kind": kind, "samples": samples, "first": first.to_string()});
        let groups: serde_json::Value = result.response_defects.iter().map(group).collect();
        let expected = serde_json::json!([
            {
                "kind": "not-finite", "samples": [597, 599],
                "first": "10 records with a number that is not finite, from record 0"
            },
            { "kind": "size", "samples": [596, 598], "first": "0 bytes instead of 40 bytes" },
        ]);
        assert_eq!(groups, expected);
        assert_eq!(
            result.reasons[1..],
            [
                "response of sample 597: 10 records with a number that is not finite, from record 0; and 1 more \
                 like it",
                "response of sample 596: 0 bytes instead of 40 bytes; and 1 more like it",
            ]
        );
    }

    #[test]
    fn a_check_keeps_one_response_at_a_time() {
        let all: Vec<_> = (0..600).map(|sample| (sample, vec![0; 2_000])).collect();
        let peak = |records: &[(u64, Vec<u8>)]| {
            let (folder, log) = written(records);
            let memory = allocation_counter::measure(|| {
                check().run(&log, &DataRoot::search()).unwrap();
            });
            drop(folder);
            memory.bytes_max
        };
        let (few, many) = (peak(&all[..3]), peak(&all));
        assert!(many < few + 500_000, "{few} and {many} bytes");
    }

    #[test]
    fn answers_that_a_metric_does_not_judge_are_named() {
        let shipped = |model: &str, output: &str| AnswerSource::Shipped {
            model: model.into(),
            outputs: vec![output.into()],
            sample_count: 4,
        };
        let (values, tokens) = (shipped("bidaf-tiny", "start"), shipped("gnmt-tiny", "tokens"));
        let (reals, integers) =
            (ResponseForm::exactly(ElementType::F32, 9), ResponseForm::up_to(ElementType::I32, 16));
        for (metric, answers, response, tolerance) in [
            ("top1", tokens.clone(), integers, None),
            ("close", values.clone(), reals, None),
            ("close", tokens, integers, Some(0.1)),
            ("tokens", values.clone(), reals, None),
            ("f1", check().answers, reals, None),
        ] {
            let check = AccuracyCheck { metric: metric.into(), answers, response, tolerance, ..check() };
            let error = check.check_answers(&DataRoot::search()).unwrap_err().to_string();
            assert!(error.starts_with(&format!("metric \"{metric}\" does not fit")), "{error}");
        }
        let fits = AccuracyCheck {
            metric: "close".into(),
            answers: values,
            response: reals,
            tolerance: Some(0.1),
            ..check()
        };
        fits.check_answers(&DataRoot::search()).unwrap();
    }

    #[test]
    fn what_cannot_be_scored_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("absent.json");
        let error = |check: AccuracyCheck| check.run(&log, &DataRoot::search()).unwrap_err().to_string();
        assert!(
            error(check()).starts_with("cannot read the accuracy log")
                && error(check()).contains("absent.json")
        );
        let absurd = AccuracyCheck { target_ratio: f64::NAN, ..check() };
        assert_eq!(error(absurd), "target_ratio is NaN, but must be a number above 0");
        assert!(
            error(AccuracyCheck { metric: "top2".into(), ..check() }).starts_with("unknown metric \"top2\"")
        );
    }
}
