//! The samples that a run has answered with a wrong class, for the page of the run.

use proctor_accuracy::{AccuracyResult, WrongSample, class_names};
use proctor_bed::TestBed;
use proctor_results::{SCHEMA_VERSION, WrongSamplePart, WrongSamples};
use proctor_vocabulary::SampleIndex;

/// Returns the first wrong samples in the form of the file, with their pictures where those may be passed on; `None` if
/// there are none, or answers are no classes.
pub(crate) fn wrong_samples(
    accuracy: &AccuracyResult,
    dataset: &str,
    bed: &TestBed<'_>,
) -> Option<WrongSamples> {
    let correct_count = accuracy.correct_count.filter(|_| !accuracy.wrong_samples.is_empty())?;
    let part = |wrong: &WrongSample| WrongSamplePart {
        sample: wrong.sample,
        expected: wrong.expected,
        given: wrong.given,
        picture: bed.library.picture(SampleIndex(wrong.sample)),
    };
    Some(WrongSamples {
        schema_version: SCHEMA_VERSION,
        dataset: dataset.to_owned(),
        wrong_count: accuracy.judged_count - correct_count,
        class_names: class_names(dataset).iter().map(|name| (*name).to_owned()).collect(),
        samples: accuracy.wrong_samples.iter().map(part).collect(),
    })
}
