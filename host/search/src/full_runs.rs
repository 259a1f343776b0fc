//! Statistics over all full runs of a search.

use crate::record::{Confirmation, ProbeRecord};

/// The full runs so far, by load.
pub(crate) struct FullRuns<'a> {
    runs: &'a [Confirmation],
    /// Record at the highest load at which all were VALID.
    pub(crate) good: Option<&'a ProbeRecord>,
    /// Record at the lowest load above that at which one was not.
    pub(crate) bad: Option<&'a ProbeRecord>,
}

impl<'a> FullRuns<'a> {
    /// Finds both records among the runs.
    pub(crate) fn new(runs: &'a [Confirmation]) -> Self {
        let by_load = |a: &&ProbeRecord, b: &&ProbeRecord| a.load.total_cmp(&b.load);
        let bad = runs.iter().filter(|run| !run.is_valid).map(|run| &run.seen);
        let failed_at = |load: f64| bad.clone().any(|seen| seen.load == load);
        let good = runs.iter().map(|run| &run.seen).filter(|seen| !failed_at(seen.load)).max_by(by_load);
        let bad = bad.clone().filter(|seen| good.is_none_or(|good| seen.load > good.load)).min_by(by_load);
        Self { runs, good, bad }
    }

    /// Returns at how many different loads there were any.
    pub(crate) fn load_count(&self) -> usize {
        let is_first = |(number, run): &(usize, &Confirmation)| {
            self.runs[..*number].iter().all(|earlier| earlier.seen.load != run.seen.load)
        };
        self.runs.iter().enumerate().filter(is_first).count()
    }
}
