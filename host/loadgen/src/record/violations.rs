//! Violations of the rules by a system under test: counted in full, the first few kept by name.

use std::{
    fmt,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use proctor_vocabulary::{ResponseId, SampleStatus};

/// Maximum number of violations of each kind that are kept by name.
const KEPT: usize = 8;

/// A kind of wrong completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ViolationKind {
    /// The id belongs to no phase of this test.
    UnknownId,
    /// The id has the form of a sample that was not issued (yet).
    NotIssued,
    /// The sample was already complete.
    Duplicate,
    /// The phase of the sample was already over.
    Late,
    /// The sample was completed with a status other than OK.
    Failed,
    /// A first token came for an id that is unknown, not issued, or not of the present phase; or, in a token
    /// run, for a sample that the system had not received yet.
    FirstTokenOfNoSample,
    /// A first token came after the sample was complete.
    FirstTokenAfterCompletion,
    /// Token runs: a first token came twice.
    FirstTokenTwice,
    /// Tokens came for an id that is unknown, not issued, or not of the present phase; or, in a token run,
    /// for a sample that the system had not received yet.
    TokensOfNoSample,
    /// Tokens came after the sample was complete.
    TokensAfterCompletion,
    /// Token runs: the sample was completed with another number of tokens than had been reported.
    TokenCountDiffers,
    /// In token runs other than Offline: the sample was completed before a first token came.
    NoFirstToken,
    /// Token runs: the sample was completed with 0 tokens, as by a system that does not count.
    NoTokenCount,
    /// Token runs: the sample was completed with one token, which has no time per output token.
    SingleToken,
    /// Token runs: the sample was completed with more tokens than its data can hold.
    TooManyTokens,
}

impl ViolationKind {
    /// All kinds.
    pub const ALL: [Self; 15] = [
        Self::UnknownId,
        Self::NotIssued,
        Self::Duplicate,
        Self::Late,
        Self::Failed,
        Self::FirstTokenOfNoSample,
        Self::FirstTokenAfterCompletion,
        Self::FirstTokenTwice,
        Self::TokensOfNoSample,
        Self::TokensAfterCompletion,
        Self::TokenCountDiffers,
        Self::NoFirstToken,
        Self::NoTokenCount,
        Self::SingleToken,
        Self::TooManyTokens,
    ];

    /// Returns whether such a sample lacks tokens, or claims more than it has, so that displayed figures of
    /// tokens leave it out.
    pub(crate) fn is_of_tokenless(self) -> bool {
        matches!(self, Self::NoFirstToken | Self::NoTokenCount | Self::SingleToken | Self::TooManyTokens)
    }

    fn description(self) -> &'static str {
        match self {
            Self::UnknownId => "completed with an unknown response id",
            Self::NotIssued => "completed without having been issued",
            Self::Duplicate => "completed more than once",
            Self::Late => "completed after the end of their phase",
            Self::Failed => "failed",
            Self::FirstTokenOfNoSample => "given a first token without being outstanding",
            Self::FirstTokenAfterCompletion => "given a first token after their completion",
            Self::FirstTokenTwice => "given a first token more than once",
            Self::TokensOfNoSample => "given tokens without being outstanding",
            Self::TokensAfterCompletion => "given tokens after their completion",
            Self::TokenCountDiffers => "completed with another number of tokens than were reported",
            Self::NoFirstToken => "completed before their first token",
            Self::NoTokenCount => "completed without a number of tokens",
            Self::SingleToken => "completed with one token where at least two are needed",
            Self::TooManyTokens => "completed with more tokens than their data can hold",
        }
    }
}

/// All violations of one kind in a test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The rule that was broken.
    pub kind: ViolationKind,
    /// Number of times that it happened.
    pub count: u64,
    /// The first few, in the order of their arrival.
    pub first: Vec<ViolationSample>,
}

/// One completion that was wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ViolationSample {
    /// The id as received.
    pub id: ResponseId,
    /// The status as received.
    pub status: SampleStatus,
    /// The sample's number in the logs (`seq_id`), if the id belongs to a phase of this test.
    pub sample_id: Option<u64>,
}

impl fmt::Display for Violation {
    /// Formats for example `2 samples failed: sample 7 (status 1), sample 9 (status 3)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let noun = if self.count == 1 { "sample" } else { "samples" };
        write!(f, "{} {noun} {}: ", self.count, self.kind.description())?;
        let names = self.first.iter().map(|sample| match sample.sample_id {
            Some(number) if self.kind == ViolationKind::Failed => {
                format!("sample {number} (status {})", sample.status.0)
            }
            Some(number) => format!("sample {number} (response id {})", sample.id),
            None => format!("response id {}", sample.id),
        });
        f.write_str(&list_first(names, self.count))
    }
}

/// Joins names with commas, and says how many of `count` are not among them.
pub(crate) fn list_first(names: impl Iterator<Item = String>, count: u64) -> String {
    let names: Vec<_> = names.collect();
    let unnamed = count.saturating_sub(names.len() as u64);
    let list = names.join(", ");
    if unnamed == 0 { list } else { format!("{list} and {unnamed} more") }
}

/// Tallies that any thread may add to without waiting.
#[derive(Debug, Default)]
pub(crate) struct Violations {
    tallies: [Tally; ViolationKind::ALL.len()],
}

#[derive(Debug, Default)]
struct Tally {
    count: AtomicU64,
    first: [(AtomicU64, AtomicU64); KEPT],
}

impl Violations {
    /// Counts one, and keeps it if it is among the first. [any thread, wait-free]
    pub(crate) fn note(&self, kind: ViolationKind, id: ResponseId, status: SampleStatus) {
        let tally = &self.tallies[kind as usize];
        let position = usize::try_from(tally.count.fetch_add(1, Relaxed)).unwrap_or(usize::MAX);
        if let Some((kept_id, kept_status)) = tally.first.get(position) {
            kept_id.store(id.0, Relaxed);
            kept_status.store(u64::from(status.0.cast_unsigned()), Relaxed);
        }
    }

    /// Returns the kinds that occurred. `sample_id` maps a response id to its number. A violation that is
    /// being recorded at this very moment may come out with id 0.
    pub(crate) fn report(&self, sample_id: impl Fn(ResponseId) -> Option<u64>) -> Vec<Violation> {
        let occurred = ViolationKind::ALL.into_iter().filter_map(|kind| {
            let tally = &self.tallies[kind as usize];
            let count = tally.count.load(Relaxed);
            let kept = usize::try_from(count).map_or(KEPT, |count| count.min(KEPT));
            let first = tally.first[..kept].iter().map(|(id, status)| {
                let id = ResponseId(id.load(Relaxed));
                let status = u32::try_from(status.load(Relaxed)).expect("stored from 32 bits");
                ViolationSample { id, status: SampleStatus(status.cast_signed()), sample_id: sample_id(id) }
            });
            (count > 0).then(|| Violation { kind, count, first: first.collect() })
        });
        occurred.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_all_and_names_the_first() {
        let violations = Violations::default();
        for id in 1..=10 {
            violations.note(ViolationKind::Duplicate, ResponseId(id), SampleStatus::OK);
        }
        violations.note(ViolationKind::Failed, ResponseId(3), SampleStatus(-2));
        let report = violations.report(|id| Some(id.0 * 10));
        assert_eq!(report.len(), 2);
        assert_eq!((report[0].count, report[0].first.len()), (10, KEPT));
        let text = report[0].to_string();
        assert!(
            text.starts_with("10 samples completed more than once: sample 10 (response id 0x1), "),
            "{text}"
        );
        assert!(text.ends_with("sample 80 (response id 0x8) and 2 more"), "{text}");
        assert_eq!(report[1].to_string(), "1 sample failed: sample 30 (status -2)");
    }

    #[test]
    fn an_id_of_no_phase_is_named_as_it_came() {
        let violations = Violations::default();
        violations.note(ViolationKind::UnknownId, ResponseId(0xdead), SampleStatus::OK);
        let text = violations.report(|_| None)[0].to_string();
        assert_eq!(text, "1 sample completed with an unknown response id: response id 0xdead");
    }
}
