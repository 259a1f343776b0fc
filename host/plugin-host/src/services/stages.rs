//! Checks the stages of a plugin's work, and collects their figures for a result.

use std::{
    collections::BTreeMap,
    fmt,
    mem::discriminant,
    ops::RangeInclusive,
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use proctor_plugin_api::{
    abi::{
        PROCTOR_STAGE_COUNT_MAX, PROCTOR_STAGE_NAME_COUNT_MAX, PROCTOR_STAGE_NAME_LENGTH_MAX, ProctorStage,
    },
    versioned::Elements,
};
use serde::{Deserialize, Serialize};

use crate::foreign::bytes_of;

/// A stage of one batch or of one completion, as the plugin reported it, if it is possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stage {
    name: Name,
    /// Instant at which it began, on the clock of the host.
    pub begin_ns: u64,
    /// Instant at which it ended.
    pub end_ns: u64,
}

/// The stages of one name: how many there were, and how long they took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PluginStage {
    /// Number of stages.
    pub count: u64,
    /// Duration of the shortest, in ns.
    pub least_ns: u64,
    /// Duration of the longest, in ns.
    pub greatest_ns: u64,
    /// Sum of all durations, in ns.
    pub total_ns: u64,
}

/// Reason why a stage is impossible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum StageProblem {
    #[error(
        "its name is not one to {PROCTOR_STAGE_NAME_LENGTH_MAX} characters of printable ASCII without spaces"
    )]
    Name,
    #[error("it ends before it begins")]
    Backwards,
    #[error("it begins before the work was handed over at {0} ns")]
    Early(u64),
    #[error("it ends after the work was handed back at {0} ns")]
    Late(u64),
    #[error("it begins before the stage before it ended at {0} ns")]
    Overlap(u64),
    #[error("there are stages of {PROCTOR_STAGE_NAME_COUNT_MAX} other names already")]
    TooManyNames,
}

/// Reason why the stages of a batch or of a completion are impossible.
#[derive(Debug, Clone, thiserror::Error, Serialize, Deserialize)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum StagesError {
    /// The array is null, not aligned, or too long; the text names the structure.
    #[error("told stages that cannot be: {0}")]
    Array(String),
    #[error("stage {name:?} from {begin_ns} to {end_ns} ns cannot be: {problem}")]
    Stage { name: String, begin_ns: u64, end_ns: u64, problem: StageProblem },
}

impl StagesError {
    /// Returns whether the other fault is of the same kind, if about another stage.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Stage { problem: one, .. }, Self::Stage { problem: other, .. }) => {
                discriminant(one) == discriminant(other)
            }
            (one, other) => discriminant(one) == discriminant(other),
        }
    }
}

/// The name of a stage, without memory of its own, so that it can be noted where nothing is allocated.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Name {
    bytes: [u8; PROCTOR_STAGE_NAME_LENGTH_MAX],
    length: usize,
}

/// The stages of a plugin so far. [any thread; takes no lock, except once for each name, and does not allocate]
#[derive(Debug)]
pub(crate) struct Stages([Entry; PROCTOR_STAGE_NAME_COUNT_MAX]);

/// Stages of one name; no entries follow the first empty one.
#[derive(Debug, Default)]
struct Entry {
    name: OnceLock<Name>,
    count: AtomicU64,
    total_ns: AtomicU64,
    /// All ones less the shortest duration, so that nothing is 0.
    below_most_ns: AtomicU64,
    greatest_ns: AtomicU64,
}

/// The stages that a plugin reports with a batch or with responses.
#[derive(Clone, Copy)]
pub(crate) struct RawStages {
    pub(crate) first: *const ProctorStage,
    pub(crate) count: usize,
    pub(crate) size: usize,
}

impl Stage {
    /// Returns the name, of printable ASCII.
    #[must_use]
    pub fn name(&self) -> &str {
        self.name.as_str()
    }

    /// Returns the duration, in ns.
    #[must_use]
    pub fn duration_ns(&self) -> u64 {
        self.end_ns - self.begin_ns
    }
}

impl PluginStage {
    /// Returns the mean duration, in ns.
    #[must_use]
    pub fn mean_ns(&self) -> f64 {
        self.total_ns as f64 / self.count as f64
    }
}

impl RawStages {
    /// Reads the stages one after another, each once, up to the first that cannot be. Together they cannot be longer
    /// than `within`, as each begins after the previous one. Allocates nothing unless there is an error.
    ///
    /// # Errors
    /// Returns the first of them that cannot be, or that `take` does not take.
    ///
    /// # Safety
    /// The plugin vouches for the array and the names, until this returns.
    #[cold] // Most plugins have none, and their path must not be slowed.
    pub(crate) unsafe fn read(
        self,
        within: RangeInclusive<u64>,
        mut take: impl FnMut(&Stage) -> Result<(), StageProblem>,
    ) -> Result<(), StagesError> {
        if self.count > PROCTOR_STAGE_COUNT_MAX {
            let problem = format!("{} stages are more than {PROCTOR_STAGE_COUNT_MAX}", self.count);
            return Err(StagesError::Array(problem));
        }
        let elements = Elements::new(self.first, self.count, self.size).map_err(StagesError::Array)?;
        let mut free_ns = 0;
        // SAFETY: the caller's promise for the array.
        for raw in unsafe { elements.iter() } {
            // SAFETY: the caller's promise for the name.
            let name = unsafe { bytes_of(&raw.name, PROCTOR_STAGE_NAME_LENGTH_MAX + 1) };
            let taken = Name::new(name).ok_or(StageProblem::Name).and_then(|name| {
                let stage = Stage { name, begin_ns: raw.begin_ns, end_ns: raw.end_ns };
                check_order(&stage, &within, free_ns)?;
                take(&stage)
            });
            taken.map_err(|problem| StagesError::Stage {
                name: String::from_utf8_lossy(name).into_owned(),
                begin_ns: raw.begin_ns,
                end_ns: raw.end_ns,
                problem,
            })?;
            free_ns = raw.end_ns;
        }
        Ok(())
    }
}

/// Checks a stage, before which one ended at `free_ns`, or 0.
fn check_order(stage: &Stage, within: &RangeInclusive<u64>, free_ns: u64) -> Result<(), StageProblem> {
    if stage.end_ns < stage.begin_ns {
        return Err(StageProblem::Backwards);
    }
    if stage.begin_ns < free_ns {
        return Err(StageProblem::Overlap(free_ns));
    }
    if stage.begin_ns < *within.start() {
        return Err(StageProblem::Early(*within.start()));
    }
    if stage.end_ns > *within.end() {
        return Err(StageProblem::Late(*within.end()));
    }
    Ok(())
}

impl Default for Stages {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Entry::default()))
    }
}

impl Stages {
    /// Adds a stage to its statistics.
    pub(crate) fn add(&self, stage: &Stage) -> Result<(), StageProblem> {
        let is_of = |entry: &&Entry| *entry.name.get_or_init(|| stage.name) == stage.name;
        let entry = self.0.iter().find(is_of).ok_or(StageProblem::TooManyNames)?;
        let duration_ns = stage.duration_ns();
        entry.total_ns.fetch_add(duration_ns, Relaxed);
        entry.below_most_ns.fetch_max(u64::MAX - duration_ns, Relaxed);
        entry.greatest_ns.fetch_max(duration_ns, Relaxed);
        entry.count.fetch_add(1, Relaxed);
        Ok(())
    }

    pub(crate) fn report(&self) -> BTreeMap<String, PluginStage> {
        let counted = |entry: &Entry| {
            let stage = PluginStage {
                count: entry.count.load(Relaxed),
                least_ns: u64::MAX - entry.below_most_ns.load(Relaxed),
                greatest_ns: entry.greatest_ns.load(Relaxed),
                total_ns: entry.total_ns.load(Relaxed),
            };
            let name = entry.name.get().filter(|_| stage.count > 0)?;
            Some((name.as_str().to_owned(), stage))
        };
        self.0.iter().filter_map(counted).collect()
    }
}

/// Returns whether a stage can have this name.
pub(crate) fn is_stage_name(text: &str) -> bool {
    Name::new(text.as_bytes()).is_some()
}

impl Name {
    fn new(text: &[u8]) -> Option<Self> {
        let is_name = !text.is_empty()
            && text.len() <= PROCTOR_STAGE_NAME_LENGTH_MAX
            && text.iter().all(u8::is_ascii_graphic);
        is_name.then(|| {
            let mut bytes = [0; PROCTOR_STAGE_NAME_LENGTH_MAX];
            bytes[..text.len()].copy_from_slice(text);
            Self { bytes, length: text.len() }
        })
    }

    fn as_str(&self) -> &str {
        str::from_utf8(&self.bytes[..self.length]).expect("a name is of ASCII")
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use proctor_plugin_api::abi::ProctorString;

    use super::*;

    fn raw(name: &'static str, begin_ns: u64, end_ns: u64) -> ProctorStage {
        ProctorStage { name: ProctorString { data: name.as_ptr(), length: name.len() }, begin_ns, end_ns }
    }

    /// Reads stages of a call from 10 to 20 ns, and returns the counted stages and the first error.
    fn read(raw: &[ProctorStage]) -> (BTreeMap<String, PluginStage>, Option<String>) {
        let stages = Stages::default();
        let raw = RawStages { first: raw.as_ptr(), count: raw.len(), size: size_of::<ProctorStage>() };
        // SAFETY: array and names live for the call.
        let done = unsafe { raw.read(10..=20, |stage| stages.add(stage)) };
        (stages.report(), done.err().map(|error| error.to_string()))
    }

    #[test]
    fn stages_in_order_are_counted_by_name() {
        let stages =
            [raw("copy_in", 10, 10), raw("compute", 11, 15), raw("compute", 15, 17), raw("x", 17, 20)];
        let (counted, fault) = read(&stages);
        assert_eq!(fault, None);
        let compute = PluginStage { count: 2, least_ns: 2, greatest_ns: 4, total_ns: 6 };
        assert_eq!((counted.len(), counted["compute"], compute.mean_ns()), (3, compute, 3.0));
        assert_eq!(counted["copy_in"], PluginStage { count: 1, least_ns: 0, greatest_ns: 0, total_ns: 0 });
    }

    #[test]
    fn a_stage_that_cannot_be_is_named_and_not_counted() {
        let too_long = "x".repeat(PROCTOR_STAGE_NAME_LENGTH_MAX + 1).leak();
        for (stage, problem) in [
            (raw("b", 16, 15), "it ends before it begins"),
            (raw("b", 13, 16), "it begins before the stage before it ended at 14 ns"),
            (raw("b", 9, 9), "it begins before the stage before it ended at 14 ns"),
            (raw("b", 16, 21), "it ends after the work was handed back at 20 ns"),
            (raw("", 16, 17), "its name is not one to 64 characters of printable ASCII without spaces"),
            (raw("b c", 16, 17), "its name is not one to 64 characters"),
            (raw(too_long, 16, 17), "its name is not one to 64 characters"),
        ] {
            let (counted, fault) = read(&[raw("a", 12, 14), stage]);
            let fault = fault.unwrap();
            assert!(fault.contains(problem) && fault.starts_with("stage \""), "{fault}");
            assert_eq!(counted.keys().collect::<Vec<_>>(), ["a"], "{problem}");
        }
        let (_, fault) = read(&[raw("early", 9, 12)]);
        let expected =
            "stage \"early\" from 9 to 12 ns cannot be: it begins before the work was handed over at 10 ns";
        assert_eq!(fault.unwrap(), expected);
    }

    #[test]
    fn no_more_stages_and_names_than_the_limits() {
        let stages: Vec<_> =
            (0..=PROCTOR_STAGE_NAME_COUNT_MAX).map(|number| number.to_string().leak()).collect();
        let stages: Vec<_> = stages.into_iter().map(|name| raw(name, 10, 10)).collect();
        let (_, fault) = read(&stages);
        assert_eq!(fault.unwrap(), "told stages that cannot be: 65 stages are more than 64");
        let counted = Stages::default();
        let add = |stage: &ProctorStage| {
            let raw = RawStages { first: stage, count: 1, size: size_of::<ProctorStage>() };
            // SAFETY: array and names live for the call.
            unsafe { raw.read(10..=20, |stage| counted.add(stage)) }
        };
        let mut added: Vec<_> = stages.iter().map(add).collect();
        let last = added.pop().unwrap().unwrap_err().to_string();
        assert!(last.ends_with("there are stages of 64 other names already"), "{last}");
        assert!(added.iter().all(Result::is_ok) && counted.report().len() == PROCTOR_STAGE_NAME_COUNT_MAX);
        let null = RawStages { first: ptr::null(), count: 1, size: size_of::<ProctorStage>() };
        // SAFETY: a pointer of null is never read through.
        let error = unsafe { null.read(10..=20, |_| Ok(())) }.unwrap_err();
        assert_eq!(error.to_string(), "told stages that cannot be: ProctorStage is null");
    }

    #[test]
    fn nothing_is_allocated_for_stages_that_are_right() {
        let counted = Stages::default();
        let stages = [raw("copy_in", 10, 12), raw("compute", 12, 18)];
        let raw = RawStages { first: stages.as_ptr(), count: 2, size: size_of::<ProctorStage>() };
        let allocated = allocation_counter::measure(|| {
            // SAFETY: array and names live for the call.
            unsafe { raw.read(10..=20, |stage| counted.add(stage)) }.unwrap();
        });
        assert_eq!((allocated.count_total, counted.report().len()), (0, 2));
    }
}
