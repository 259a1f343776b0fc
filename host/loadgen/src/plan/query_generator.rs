//! Selects the samples of each query, drawn in exactly LoadGen's order and only as far as requested.
//!
//! LoadGen makes all queries before the first is issued. Here the same sequence comes lazily: everything that LoadGen
//! draws before the first query is drawn (or skipped) by [`QueryGenerator::new`], and each query draws its own part
//! when it is reached. The memory is bounded by the loaded set.

use proctor_loadgen_settings::EffectiveSettings;
use proctor_mt19937::Mt19937;
use proctor_vocabulary::{SampleIndex, Scenario};

use crate::plan::{
    phases::{PhaseMode, PhasePlan},
    schedule::{GeneratedTotals, Schedule},
};

/// The next query to issue. Its samples come from [`QueryGenerator::samples`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GeneratedQuery {
    /// Due instant, in ns from the start of the phase. Only Server keeps to it.
    pub offset_ns: u64,
    /// Number of its samples.
    pub sample_count: u64,
}

/// The queries of one phase, in issue order.
#[derive(Debug, Clone)]
pub struct QueryGenerator {
    set: Vec<SampleIndex>,
    schedule: Schedule,
    samples_per_query: u64,
    rng: Mt19937,
    selection: Selection,
    /// Distance from one sample of a query to the next: a MultiStream query has neighbours, an Offline one gets here
    /// only to repeat a sample.
    step: usize,
    /// Position in the set of the current query's next sample, and how many are still to come.
    position: usize,
    remaining: u64,
}

/// Way to find the position in the set of a query's first sample.
#[derive(Debug, Clone)]
enum Selection {
    /// Uniform over this number of entries, from the first.
    Random(u32),
    /// The same every time.
    Same(usize),
    /// Starts from a shuffled list that holds each once.
    Once(std::vec::IntoIter<usize>),
    /// Starts from concatenated permutations of the set.
    Permutations(Box<Permutations>),
    /// Offline: copies of the whole set, one after another.
    Copies(Copies),
}

impl QueryGenerator {
    /// Returns the generator of a phase, ready for its first query.
    ///
    /// Source: LoadGen 6.0.17, `GenerateQueries`. The order of the draws matters, including unused ones.
    #[must_use]
    pub fn new(settings: &EffectiveSettings, phase: &PhasePlan) -> Self {
        let set = phase.set.indices.clone();
        let schedule = Schedule::new(settings, phase);
        let rule = schedule.rule();
        let accuracy = phase.mode == PhaseMode::Accuracy;
        let stride = match settings.request.scenario {
            Scenario::MultiStream => settings.samples_per_query as usize,
            _ => 1,
        };
        let mut rng = Mt19937::new(settings.request.sample_index_rng_seed);
        let mut shuffled_starts = || {
            let mut starts: Vec<usize> = (0..phase.set.end).step_by(stride).collect();
            rng.shuffle(&mut starts);
            starts.into_iter()
        };
        let accuracy_starts = accuracy.then(&mut shuffled_starts);
        let unique_starts = shuffled_starts();
        let permutations = Permutations::new(&mut rng, set.len(), rule.permutation_count);

        let equal_issue = settings.request.sample_concatenate_permutation;
        let selection = match settings.request.scenario {
            Scenario::Offline if !settings.request.performance_issue_same => {
                Selection::Copies(Copies::new(&set, rule.samples_per_query, equal_issue))
            }
            Scenario::SingleStream | Scenario::MultiStream | Scenario::Server
                if settings.request.performance_issue_unique =>
            {
                Selection::Once(unique_starts)
            }
            _ if settings.request.performance_issue_same => {
                Selection::Same(settings.request.performance_issue_same_index as usize)
            }
            Scenario::SingleStream | Scenario::Server if equal_issue => {
                Selection::Permutations(Box::new(permutations))
            }
            _ => match accuracy_starts {
                Some(starts) => Selection::Once(starts),
                None => Selection::Random(
                    u32::try_from(phase.set.end).expect("the settings bound a set below 2^32 samples"),
                ),
            },
        };
        Self {
            set,
            schedule,
            samples_per_query: rule.samples_per_query,
            rng,
            selection,
            step: usize::from(settings.request.scenario == Scenario::MultiStream),
            position: 0,
            remaining: 0,
        }
    }

    /// Returns the totals of the whole phase, regardless of the generator's position. See [`Schedule::totals`].
    #[must_use]
    pub fn totals(&self) -> GeneratedTotals {
        self.schedule.totals()
    }

    /// Advances to the next query, or returns `None` after the last. Skips the remaining samples of the current one.
    pub fn next_query(&mut self) -> Option<GeneratedQuery> {
        let offset_ns = self.schedule.next()?;
        self.samples().for_each(drop);
        self.position = match &mut self.selection {
            Selection::Random(end) => self.rng.below(*end) as usize,
            Selection::Same(position) => *position,
            Selection::Once(starts) => starts.next().expect("the list has a start for each generated query"),
            Selection::Permutations(permutations) => permutations.next_position(),
            Selection::Copies(_) => 0,
        };
        self.remaining = self.samples_per_query;
        Some(GeneratedQuery { offset_ns, sample_count: self.samples_per_query })
    }

    /// Returns the samples of the current query that were not taken yet.
    ///
    /// Dropping the iterator early keeps the rest, so that a query of any size can be taken in pieces.
    pub fn samples(&mut self) -> impl Iterator<Item = SampleIndex> {
        std::iter::from_fn(move || self.next_sample())
    }

    fn next_sample(&mut self) -> Option<SampleIndex> {
        self.remaining = self.remaining.checked_sub(1)?;
        if let Selection::Copies(copies) = &mut self.selection {
            return Some(copies.next_sample(&self.set, &mut self.rng));
        }
        let sample = self.set[self.position];
        self.position += self.step;
        Some(sample)
    }
}

/// The list of positions for equal issue: each permutation is shuffled out of the last, and after the final one the
/// first comes again.
///
/// LoadGen stores the list. This keeps the generator as it was at its start and makes one permutation at a time.
#[derive(Debug, Clone)]
struct Permutations {
    start: Mt19937,
    rng: Mt19937,
    current: Vec<u32>,
    position: usize,
    round: u64,
    round_count: u64,
}

impl Permutations {
    /// Consumes the draws of the whole list from `rng`.
    fn new(rng: &mut Mt19937, set_len: usize, round_count: u64) -> Self {
        let start = rng.clone();
        for _ in 0..round_count {
            rng.skip_shuffle(set_len);
        }
        let rng = start.clone();
        Self { start, rng, current: in_order(set_len), position: set_len, round: 0, round_count }
    }

    fn next_position(&mut self) -> usize {
        if self.position == self.current.len() {
            if self.round == self.round_count {
                self.rng = self.start.clone();
                self.current = in_order(self.current.len());
                self.round = 0;
            }
            self.rng.shuffle(&mut self.current);
            self.round += 1;
            self.position = 0;
        }
        self.position += 1;
        self.current[self.position - 1] as usize
    }
}

fn in_order(set_len: usize) -> Vec<u32> {
    (0..u32::try_from(set_len).expect("the settings bound a set below 2^32 samples")).collect()
}

/// The samples of Offline's query: whole copies of the set, each shuffled under equal issue, then the start of the
/// set in load order.
#[derive(Debug, Clone)]
struct Copies {
    shuffled: bool,
    whole_remaining: u64,
    copy: Vec<SampleIndex>,
    position: usize,
}

impl Copies {
    fn new(set: &[SampleIndex], sample_count: u64, shuffled: bool) -> Self {
        let whole_remaining = sample_count / set.len() as u64;
        Self { shuffled, whole_remaining, copy: set.to_vec(), position: set.len() }
    }

    fn next_sample(&mut self, set: &[SampleIndex], rng: &mut Mt19937) -> SampleIndex {
        if self.position == set.len() {
            self.position = 0;
            if self.shuffled {
                self.copy.copy_from_slice(set);
                if self.whole_remaining > 0 {
                    rng.shuffle(&mut self.copy);
                }
            }
            self.whole_remaining = self.whole_remaining.saturating_sub(1);
        }
        self.position += 1;
        self.copy[self.position - 1]
    }
}
