//! The numbers: right answers, and inputs that no data set has.

use proctor_plugin_host::is_declared;
use proctor_run::run;
use proctor_vocabulary::{SampleIndex, TestMode};
use proctor_words::Conclusion;

use super::lifecycle::dispatches;
use crate::{
    bed::{Bed, Shape, all_good, batches_of},
    case::Case,
    compare::floats,
    samples::Extreme,
    subject::{Subject, undisturbed},
    verdict::{Verdict, ensure, failed, skipped},
};

const EXTREME_RULE: &str =
    "a sample that cannot be computed fails by itself, with a status and a message; the batch goes on";
const EXTREME_FIX: &str = "let numbers take their course, or fail the sample; do not trap floating-point exceptions, index by \
                           a value without a check, or loop until something converges";

pub(super) const CASES: &[Case] = &[
    Case {
        name: "numerics/accuracy",
        about: "the answers to the whole data set reach the accuracy that the benchmark asks for",
        rule: "the manifest says which models the plugin runs; a benchmark says how good their answers have to be",
        fix: "compare the outputs of single samples with those of the reference, layer by layer; look at the layout of inputs",
        needs: "lifecycle/start-and-stop",
        run: accuracy,
    },
    Case {
        name: "numerics/finite-answers",
        about: "the answers to samples of the data set are finite numbers",
        rule: "execute writes the outputs of each sample, computed from its inputs",
        fix: "look for overflow of the precision, and for room that is read before it is written",
        needs: "batches/one-sample",
        run: finite_answers,
    },
    Case {
        name: "numerics/nan-inputs",
        about: "samples that are NaN throughout are answered or fail, and nothing else changes",
        rule: EXTREME_RULE,
        fix: EXTREME_FIX,
        needs: "batches/one-sample",
        run: |subject| extreme(subject, Extreme::NotANumber),
    },
    Case {
        name: "numerics/infinite-inputs",
        about: "samples that are infinite throughout are answered or fail, and nothing else changes",
        rule: EXTREME_RULE,
        fix: EXTREME_FIX,
        needs: "batches/one-sample",
        run: |subject| extreme(subject, Extreme::Infinite),
    },
    Case {
        name: "numerics/huge-inputs",
        about: "samples of the largest numbers are answered or fail, and nothing else changes",
        rule: EXTREME_RULE,
        fix: EXTREME_FIX,
        needs: "batches/one-sample",
        run: |subject| extreme(subject, Extreme::Huge),
    },
    Case {
        name: "numerics/tiny-inputs",
        about: "samples of the least numbers above 0 are answered or fail, and nothing else changes",
        rule: EXTREME_RULE,
        fix: EXTREME_FIX,
        needs: "batches/one-sample",
        run: |subject| extreme(subject, Extreme::Tiny),
    },
    Case {
        name: "numerics/neighbours-of-nan",
        about: "a sample that is NaN changes no answer of the others in its batch",
        rule: "the samples of a batch have nothing to do with each other",
        fix: "have no sum or maximum go over the samples of a batch, as for a common scale",
        needs: "batches/one-sample",
        run: neighbours_of_nan,
    },
];

fn accuracy(subject: &Subject) -> Verdict {
    subject.need_model()?;
    let library = subject.load()?;
    let model = &subject.settings.benchmark.model;
    let formats: Vec<_> = model.formats().map(|(format, _)| format).collect();
    let names_a_format = library
        .manifest()
        .models
        .iter()
        .any(|row| is_declared(&row.model, &model.id) && formats.contains(&row.format.as_str()));
    if !names_a_format {
        return skipped("the manifest promises no answers of a model: it takes any file, or none");
    }
    let mut settings = subject.settings.clone();
    settings.run.mode = Some(TestMode::AccuracyOnly);
    settings.run.output_folder = Some(subject.folder.join("run"));
    settings.run.watchdog_ms = subject.watchdog_ms();
    match run(settings, &undisturbed())?.conclusion() {
        Conclusion::Good => Ok(()),
        _ => failed(format!(
            "the accuracy run of {} did not pass; `host run --mode accuracy` shows its figures",
            subject.settings.benchmark.id
        )),
    }
}

/// Samples in each batch of these cases.
const BATCH: usize = 4;
const SAMPLE_COUNT: usize = 8;

fn finite_answers(subject: &Subject) -> Verdict {
    let bed = subject.bed(Shape::batches(BATCH))?;
    let samples = bed.samples(64)?;
    let mut instance = bed.instance(0)?;
    let batches = batches_of(&samples.indices(), &[bed.batch_size()]);
    let answers = bed.phase(&samples, || bed.execute(&mut instance, &batches))?;
    all_good(&answers)?;
    for (number, answer) in answers.iter().flatten().enumerate() {
        let mut rest = &answer[..];
        for output in &bed.fitted.demand.outputs {
            let (bytes, after) = rest.split_at(output.size_bytes().min(rest.len()));
            rest = after;
            let is_finite = floats(output.element_type, bytes)
                .is_none_or(|values| values.iter().all(|value| value.is_finite()));
            ensure(is_finite, || format!("output \"{}\" of sample {number} is not finite", output.name))?;
        }
    }
    drop(instance);
    bed.end()
}

/// Returns the answers of an instance to all samples, some of which have extreme values.
fn extreme(subject: &Subject, value: Extreme) -> Verdict {
    if !dispatches(subject)?.contains(&proctor_bed::Dispatch::Batches) {
        return skipped("the plugin takes whole queries alone");
    }
    let bed = subject.bed(Shape::batches(BATCH))?;
    let mut instance = bed.instance(0)?;
    let good = bed.samples(SAMPLE_COUNT)?;
    let batches = batches_of(&good.indices(), &[bed.batch_size()]);
    let before = bed.phase(&good, || bed.execute(&mut instance, &batches))?;
    all_good(&before)?;
    let all_extreme = bed.extreme_samples(SAMPLE_COUNT, &good.indices(), value)?;
    let answers = bed.phase(&all_extreme, || bed.execute(&mut instance, &batches))?;
    ensure(answers.len() == before.len(), || {
        format!("{} answers to {} samples", answers.len(), before.len())
    })?;
    let after = bed.phase(&good, || bed.execute(&mut instance, &batches))?;
    bed.same(&before, &after, "after such inputs")?;
    drop(instance);
    bed.end()
}

fn neighbours_of_nan(subject: &Subject) -> Verdict {
    let bed = subject.bed(Shape::batches(BATCH))?;
    if bed.batch_size() < 2 {
        return skipped("the plugin takes batches of one sample");
    }
    let good = bed.samples(BATCH)?;
    let before = answered(&bed, &good)?;
    all_good(&before)?;
    let bad = SampleIndex(1);
    let mixed = bed.extreme_samples(BATCH, &[bad], Extreme::NotANumber)?;
    let after = answered(&bed, &mixed)?;
    for index in good.indices().into_iter().filter(|index| *index != bad) {
        let position = usize::try_from(index.0).unwrap_or(usize::MAX);
        let (before, after) = (&before[position..=position], &after[position..=position]);
        bed.same(before, after, &format!("beside a sample that is NaN, sample {index}"))?;
    }
    bed.end()
}

fn answered(
    bed: &Bed,
    samples: &std::sync::Arc<crate::samples::Samples>,
) -> Verdict<Vec<crate::answers::Answer>> {
    let mut instance = bed.instance(0)?;
    bed.phase(samples, || bed.execute(&mut instance, &batches_of(&samples.indices(), &[bed.batch_size()])))
}
