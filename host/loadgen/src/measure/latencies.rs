//! Latencies of a phase in place: in the slots of its samples, or in a list.

use std::{fmt, sync::Arc};

use crate::record::{phase::Phase, slots::Counted};

/// The latency of each completed sample of a phase in ns, or of each that did not fail, in the order of their issue.
///
/// Latencies from a list, or a view of a phase's records: a run of a hundred million samples holds each latency once.
#[derive(Clone, Default)]
pub struct SampleLatencies(Held);

#[derive(Clone)]
enum Held {
    List(Vec<u64>),
    /// A phase that is over, which of its samples are in it, and how many these are.
    Recorded(Arc<Phase>, Counted, u64),
}

impl Default for Held {
    fn default() -> Self {
        Self::List(Vec::new())
    }
}

impl SampleLatencies {
    /// Returns the `count` latencies of a phase in which nothing more will complete.
    pub(crate) fn recorded(phase: Arc<Phase>, counted: Counted, count: u64) -> Self {
        Self(Held::Recorded(phase, counted, count))
    }

    /// Returns the number of latencies.
    #[must_use]
    pub fn len(&self) -> u64 {
        match &self.0 {
            Held::List(list) => list.len() as u64,
            Held::Recorded(_, _, count) => *count,
        }
    }

    /// Returns whether the list is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the intervals one after another, in ns.
    pub fn iter(&self) -> impl Iterator<Item = u64> {
        self.view().iter()
    }

    pub(crate) fn view(&self) -> Latencies<'_> {
        match &self.0 {
            Held::List(list) => Latencies::List(list),
            Held::Recorded(phase, counted, count) => Latencies::Recorded(phase, *counted, *count),
        }
    }
}

impl From<Vec<u64>> for SampleLatencies {
    fn from(list: Vec<u64>) -> Self {
        Self(Held::List(list))
    }
}

impl PartialEq for SampleLatencies {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for SampleLatencies {}

impl PartialEq<Vec<u64>> for SampleLatencies {
    fn eq(&self, other: &Vec<u64>) -> bool {
        self.iter().eq(other.iter().copied())
    }
}

impl fmt::Debug for SampleLatencies {
    /// Formats the first hundred.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 100;
        let mut list = f.debug_list();
        list.entries(self.iter().take(SHOWN));
        if self.len() > SHOWN as u64 { list.finish_non_exhaustive() } else { list.finish() }
    }
}

/// Borrowed latencies, in ns, in the order of their issue.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Latencies<'a> {
    List(&'a [u64]),
    /// Latencies of these samples of a phase, and how many there are.
    Recorded(&'a Phase, Counted, u64),
}

impl<'a> Latencies<'a> {
    pub(crate) fn len(self) -> u64 {
        match self {
            Self::List(list) => list.len() as u64,
            Self::Recorded(_, _, count) => count,
        }
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = u64> + use<'a> {
        let (list, phase) = match self {
            Self::List(list) => (list, None),
            Self::Recorded(phase, counted, _) => (&[][..], Some((phase, counted))),
        };
        let recorded = phase.into_iter().flat_map(|(phase, counted)| {
            phase.samples(0).filter_map(move |sample| counted.latency_ns(sample))
        });
        list.iter().copied().chain(recorded)
    }

    /// Calls `take` with each; faster than [`iter`](Self::iter) over many.
    pub(crate) fn for_each(self, mut take: impl FnMut(u64)) {
        match self {
            Self::List(list) => list.iter().copied().for_each(take),
            Self::Recorded(phase, counted, _) => phase.for_each_sample(|sample| {
                if let Some(latency_ns) = counted.latency_ns(sample) {
                    take(latency_ns);
                }
            }),
        }
    }
}

impl<'a> From<&'a [u64]> for Latencies<'a> {
    fn from(list: &'a [u64]) -> Self {
        Self::List(list)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::{
        plan::phases::PhaseMode,
        record::{phase::PhaseStart, slots::Completion},
    };

    #[test]
    fn what_a_phase_recorded_reads_as_a_list_does() {
        let start = PhaseStart {
            mode: PhaseMode::Performance,
            first_sample_id: 0,
            issuer_count: 1,
            arena_bytes: 0,
            first_tokens: None,
            token_capacity: None,
            is_driven: false,
        };
        let phase = Arc::new(Phase::new(&start, 1, 1, 0).unwrap());
        // Over three segments; every seventh sample is missing, every third has failed.
        let (mut expected, mut answered) = (Vec::new(), Vec::new());
        for number in 0..5000_u64 {
            let sequence = phase.issue(number, false);
            if number % 7 == 0 {
                continue;
            }
            let done = phase.slot(sequence).unwrap().complete(3 * number, number % 3 == 0);
            assert_eq!(done, Completion::Accepted { logged: false });
            expected.push(2 * number);
            answered.extend((number % 3 != 0).then_some(2 * number));
        }
        let of =
            |counted, list: &[u64]| SampleLatencies::recorded(Arc::clone(&phase), counted, list.len() as u64);
        assert_eq!(of(Counted::Answered, &answered), answered);
        let recorded = of(Counted::Completed, &expected);
        assert_eq!(recorded.len(), expected.len() as u64);
        assert_eq!(recorded, expected);
        assert_eq!(recorded, SampleLatencies::from(expected.clone()));
        let mut read = Vec::new();
        recorded.view().for_each(|latency_ns| read.push(latency_ns));
        assert_eq!(read, expected);
        assert_ne!(recorded, SampleLatencies::default());
        assert!(SampleLatencies::default().is_empty());
    }

    #[test]
    fn many_are_shown_in_part() {
        assert_eq!(format!("{:?}", SampleLatencies::from(vec![1, 2])), "[1, 2]");
        assert!(format!("{:?}", SampleLatencies::from(vec![7; 101])).ends_with("7, ..]"));
    }
}
