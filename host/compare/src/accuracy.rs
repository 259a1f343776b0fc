//! The accuracy of both sides, and how it varies from run to run.

use std::{
    io::{self, Read},
    path::Path,
};

use proctor_vocabulary::open_regular;

use crate::{
    side::Side,
    statistics::{estimate::Between, student::student_quantile},
};

/// Bytes of an accuracy log that are read at once.
const CHUNK_BYTES: usize = 1 << 16;

/// Returns the accuracy metric of a side, and the value of each run; `None` if a run has no accuracy.
pub(crate) fn accuracies(side: &Side) -> Option<(&str, Vec<f64>)> {
    let parts = side.runs.iter().map(|run| run.result.accuracy.as_ref()).collect::<Option<Vec<_>>>()?;
    Some((&parts[0].metric, parts.iter().map(|part| part.value).collect()))
}

/// Returns the mean of at least one value.
pub(crate) fn mean(values: &[f64]) -> f64 {
    // From the first, so that the mean of equal values is that value to the last bit.
    values[0] + values.iter().map(|value| value - values[0]).sum::<f64>() / values.len() as f64
}

/// Returns half the width of the interval of the difference of two means, from the variation between runs; `None` if
/// each side has one run. A single run on one side is assumed to vary as the runs of the other side do.
pub(crate) fn half_width(a: &[f64], b: &[f64], confidence: f64) -> Option<f64> {
    let (of_a, of_b) = (between(a).or_else(|| between(b))?, between(b).or_else(|| between(a))?);
    let of_mean = |of: Between, count: usize| Between { variance: of.variance / count as f64, ..of };
    let (of_a, of_b) = (of_mean(of_a, a.len()), of_mean(of_b, b.len()));
    let variance = of_a.variance + of_b.variance;
    if variance <= 0.0 {
        return Some(0.0);
    }
    let student = student_quantile(f64::midpoint(1.0, confidence), of_a.freedom_with(of_b));
    Some(student * variance.sqrt())
}

/// Returns the variance between values; `None` of a single one.
fn between(values: &[f64]) -> Option<Between> {
    let freedom = values.len() as f64 - 1.0;
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (freedom > 0.0).then(|| Between { variance: squares / freedom, freedom })
}

/// Returns whether each side has one run, and both have logged the same answers.
pub(crate) fn have_same_answers(a: &Side, b: &Side) -> bool {
    match (&a.runs[..], &b.runs[..]) {
        // A log that cannot be read is the same as none.
        ([a], [b]) => have_same_bytes(&a.accuracy_log, &b.accuracy_log).unwrap_or(false),
        _ => false,
    }
}

fn have_same_bytes(a: &Path, b: &Path) -> io::Result<bool> {
    let (mut a, mut b) = (open_regular(a)?, open_regular(b)?);
    if a.metadata()?.len() != b.metadata()?.len() {
        return Ok(false);
    }
    let (mut of_a, mut of_b) = (vec![0; CHUNK_BYTES], vec![0; CHUNK_BYTES]);
    loop {
        let count = a.read(&mut of_a)?;
        b.read_exact(&mut of_b[..count])?;
        if count == 0 || of_a[..count] != of_b[..count] {
            return Ok(count == 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn accuracies_differ_by_more_than_they_vary_from_run_to_run_or_not() {
        let (a, b) = ([0.75, 0.76, 0.77], [0.73, 0.74, 0.75]);
        // The variance of each mean is 1e-4 / 3, and Student's quantile of four degrees of freedom 2.776.
        let half = half_width(&a, &b, 0.95).unwrap();
        assert!((half - 2.776_45 * (2e-4_f64 / 3.0).sqrt()).abs() < 1e-5, "{half}");
        assert!(half > mean(&a) - mean(&b));
        // A single run is taken to vary as much as one of the others.
        let beside = half_width(&a, &b[..1], 0.95).unwrap();
        assert_eq!(beside, half_width(&b[..1], &a, 0.95).unwrap());
        assert!(beside > half, "{beside}");
        // Nothing varies, and nothing is known.
        assert_eq!(half_width(&[0.7; 3], &[0.6; 3], 0.95), Some(0.0));
        assert_eq!(half_width(&a[..1], &b[..1], 0.95), None);
        assert_eq!(mean(&[0.1; 3]), 0.1);
    }

    #[test]
    fn answers_are_the_same_by_every_byte() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            fs::write(&path, bytes).unwrap();
            path
        };
        let mut bytes = vec![7; 2 * CHUNK_BYTES + 1];
        let [one, same] = ["one", "same"].map(|name| write(name, &bytes));
        let shorter = write("shorter", &bytes[1..]);
        bytes[2 * CHUNK_BYTES] = 8;
        let other = write("other", &bytes);
        for (path, expected) in [(&same, true), (&shorter, false), (&other, false)] {
            assert_eq!(have_same_bytes(&one, path).unwrap(), expected, "{}", path.display());
        }
        assert!(have_same_bytes(&one, &folder.path().join("none")).is_err());
    }
}
