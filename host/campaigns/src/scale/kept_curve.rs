//! Keeps a system's measured curve of latencies by number of instances, for later scaling.

use std::collections::BTreeMap;

use proctor_bed::scaling::settings::curves;
use proctor_config::Settings;
use proctor_results::KeptCurve;
use proctor_scaling::{CurveLibrary, Decision, Goal};
use proctor_words::{HostError, text::counted};

/// Minimum number of different instance counts that make a curve.
const MEASURED_MIN: usize = 3;

/// Saves measurements with saturated input in the file that the settings name, if they name one and that
/// is enough for a curve. `system` is the name of model and plugin.
///
/// # Errors
/// If the file is damaged or cannot be written.
pub(super) fn keep(
    settings: &Settings,
    system: &str,
    goal: &Goal,
    decisions: &[Decision],
) -> Result<Option<KeptCurve>, HostError> {
    let Some(path) = &settings.run.curves else { return Ok(None) };
    let batch_size = goal.least().batch_size;
    let network = match batch_size {
        1 => system.to_owned(),
        _ => format!("{system} in batches of {batch_size}"),
    };
    let measured = measured(batch_size, decisions);
    if measured.len() < MEASURED_MIN || !measured.contains_key(&1) {
        return Ok(None);
    }
    let library = curves(&settings.run)?;
    // Its own curve of an earlier time would estimate itself.
    let count = match path.exists() {
        true => library.count(),
        false => goal.most.instances.min(CurveLibrary::COUNT_MAX),
    };
    let known: Vec<_> = measured.iter().map(|(count, ms)| (*count, *ms)).collect();
    let mut latencies_ms = library.without(&network).complete(&known, count);
    for (instances, latency_ms) in (1..).zip(&mut latencies_ms) {
        *latency_ms = measured.get(&instances).copied().unwrap_or(*latency_ms);
        // To the nanosecond.
        *latency_ms = (*latency_ms * 1e6).round() / 1e6;
    }
    CurveLibrary::keep(path, &network, &latencies_ms).map_err(HostError::data)?;
    let measured = measured.into_keys().filter(|instances| *instances <= count).collect();
    Ok(Some(KeptCurve { path: path.clone(), network, measured, latencies_ms }))
}

/// Returns a line for people.
pub(super) fn text(curve: &KeptCurve) -> String {
    let KeptCurve { path, network, measured, latencies_ms } = curve;
    let numbers = counted(latencies_ms.len() as u64, "number");
    let rest = if measured.len() < latencies_ms.len() { ", the others estimated" } else { "" };
    format!(
        "the curve of latencies is kept in {} as \"{network}\": {} of {numbers} of instances measured{rest}\n",
        path.display(),
        measured.len()
    )
}

/// Returns the mean latencies in ms by number of instances, of the last window with each at this batch size.
fn measured(batch_size: usize, decisions: &[Decision]) -> BTreeMap<usize, f64> {
    let seen = decisions.iter().filter_map(|decision| decision.seen);
    seen.filter(|seen| seen.knobs.batch_size == batch_size)
        .map(|seen| (seen.knobs.instances, seen.mean_ns / 1e6))
        .collect()
}
