//! Reduces one run to the data that its resamples need.
//!
//! The run is cut into *atoms*, short stretches of neighbours. Each atom keeps only counts and sums,
//! accumulated from the first one on, so that the counts and sums of any block of neighbouring atoms are a
//! difference of two. Quantiles are read from counts of the latencies up to the points of a *grid* around
//! each quantile: every latency that a resample may have as its quantile is a point of it as long as they are
//! few, and the points lie an eighth of a standard error apart at most where they are many. So a run of ten
//! million samples takes as much to resample as one of some thousand.

use proctor_loadgen::{SampleRecord, percentile_rank};

use super::{correlation::Correlation, random::mix};
use crate::figure::Figure;

/// Maximum number of atoms of a run: a power of two.
const ATOMS_MAX: usize = 1 << ATOM_BITS;
const ATOM_BITS: u32 = 11;
/// Stands for the latency of a query without an answer, which is beyond any other.
const UNANSWERED_NS: u64 = (1 << (u64::BITS - ATOM_BITS)) - 1;
/// Largest latency that is distinguished from larger ones, in ns: 104 days.
const LATENCY_MAX_NS: u64 = UNANSWERED_NS - 1;
const GRID_POINTS: usize = 128;
/// Half the width of a grid in standard errors of its quantile.
const GRID_ERRORS: f64 = 8.0;
/// Minimum number of independent samples beyond a percentile: fewer do not show its variation.
const FEWEST_BEYOND: f64 = 10.0;

/// One run, reduced for resampling.
#[derive(Debug, Clone)]
pub(crate) struct Measured {
    /// Instants from which the latencies are measured, to recognise runs of one schedule: their number and a digest.
    pub(crate) schedule: (usize, u64),
    /// Digest of everything that was measured.
    pub(crate) digest: u64,
    pub(crate) count: usize,
    figures: Vec<(Figure, Table)>,
}

/// The sums of a figure over the atoms before each, and over all.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    pub(crate) kind: Kind,
    pub(crate) correlation: Correlation,
    /// The value of the whole run, in ns or per second.
    pub(crate) value: f64,
    /// True if there are enough samples for an interval.
    pub(crate) carries: bool,
}

#[derive(Debug, Clone)]
pub(crate) enum Kind {
    /// A quantile by counts on a grid.
    Quantile {
        quantile: f64,
        /// Points of the grid in ns, ascending.
        points_ns: Vec<f64>,
        /// True if no latency lies between a point and the one before.
        is_next: Vec<bool>,
        /// Latencies up to each point, and last their number, in the atoms before each and in all: the atoms of a point
        /// are neighbours, since a resample reads one point after another.
        counts: Vec<u32>,
    },
    /// Sum over number, or number over sum.
    Ratio {
        /// Sum and number in the atoms before.
        sums: Vec<(f64, f64)>,
    },
}

impl Table {
    /// Returns the number of atoms.
    pub(crate) fn atom_count(&self) -> usize {
        match &self.kind {
            Kind::Quantile { points_ns, counts, .. } => counts.len() / (points_ns.len() + 1) - 1,
            Kind::Ratio { sums } => sums.len() - 1,
        }
    }

    /// Returns the value of a resample, of blocks from a first atom to the one behind the last. A block has no end
    /// before its start.
    pub(crate) fn value_of(&self, blocks: &[(usize, usize)]) -> f64 {
        match &self.kind {
            Kind::Ratio { sums } => {
                let (sum, number) = blocks.iter().fold((0.0, 0.0), |(sum, number), (from, to)| {
                    (sum + sums[*to].0 - sums[*from].0, number + sums[*to].1 - sums[*from].1)
                });
                if number > 0.0 { sum / number } else { self.value }
            }
            Kind::Quantile { quantile, points_ns, is_next, counts } => {
                let ends = counts.len() / (points_ns.len() + 1);
                let up_to = |point: usize| -> u64 {
                    let of_point = &counts[point * ends..][..ends];
                    blocks.iter().map(|(from, to)| u64::from(of_point[*to] - of_point[*from])).sum()
                };
                let rank = percentile_rank(up_to(points_ns.len()), *quantile);
                let point = partition_point(points_ns.len() - 1, |column| up_to(column) <= rank);
                if point == 0 || is_next[point] {
                    return points_ns[point];
                }
                let (before, at) = (up_to(point - 1), up_to(point));
                let share = if at > before {
                    ((rank + 1).saturating_sub(before) as f64 / (at - before) as f64).min(1.0)
                } else {
                    1.0
                };
                points_ns[point - 1] + (points_ns[point] - points_ns[point - 1]) * share
            }
        }
    }
}

/// Returns the first number from 0 for which `holds` is false, or `end`.
fn partition_point(end: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, end);
    while low < high {
        let middle = low.midpoint(high);
        if holds(middle) { low = middle + 1 } else { high = middle }
    }
    low
}

/// The atoms of a sequence of queries.
#[derive(Clone, Copy)]
struct Atoms {
    query_count: usize,
    atom_count: usize,
}

impl Atoms {
    fn of(query_count: usize) -> Self {
        Self { query_count, atom_count: query_count.clamp(1, ATOMS_MAX) }
    }

    fn atom(self, query: usize) -> usize {
        // Both numbers are far below 2^52.
        query * self.atom_count / self.query_count.max(1)
    }
}

/// Sorted latencies with their atoms.
struct Sorted(Vec<u64>);

impl Sorted {
    fn latency_ns(&self, rank: usize) -> u64 {
        self.0[rank] >> ATOM_BITS
    }

    fn atom(packed: u64) -> usize {
        (packed % ATOMS_MAX as u64) as usize
    }
}

impl Measured {
    /// Reduces the samples of a run. A query has `samples_per_query` neighbours, and the latency of the slowest. A
    /// query with a failed or missing sample has no latency: for a percentile it is slower than all others, there is no
    /// mean, and a percentile that falls among such queries is not a latency and is left out.
    pub(crate) fn of(records: &[SampleRecord], samples_per_query: usize, wanted: &[Figure]) -> Self {
        let samples_per_query = samples_per_query.max(1);
        let queries = records.chunks(samples_per_query);
        let atoms = Atoms::of(queries.len());
        let mut sorted = Vec::with_capacity(if wanted.iter().any(|figure| figure.is_latency()) {
            queries.len()
        } else {
            0
        });
        let mut sums = vec![(0.0, 0.0); atoms.atom_count];
        let (mut schedule, mut digest, mut count) = (0, 0, 0);
        for (number, query) in queries.enumerate() {
            schedule = mix(schedule ^ query[0].scheduled_ns);
            if !query[0].is_issued() {
                continue;
            }
            let slowest = query
                .iter()
                .try_fold(0, |slowest: u64, record| Some(slowest.max(record.answered_latency_ns()?)));
            digest = mix(digest ^ slowest.unwrap_or(u64::MAX));
            let atom = atoms.atom(number);
            sums[atom].1 += 1.0;
            if let Some(latency_ns) = slowest {
                sums[atom].0 += latency_ns as f64;
                count += 1;
            }
            let latency_ns = slowest.map_or(UNANSWERED_NS, |latency_ns| latency_ns.min(LATENCY_MAX_NS));
            sorted.push(latency_ns << ATOM_BITS | atom as u64);
        }
        let is_whole = count == sorted.len();
        sorted.sort_unstable();
        let sorted = Sorted(sorted);
        let quantiles: Vec<_> = wanted
            .iter()
            .filter_map(|figure| match figure {
                Figure::Percentile(tenths) => Some((*figure, f64::from(*tenths) / 1000.0)),
                _ => None,
            })
            .collect();
        let mut figures = quantile_tables(&sorted, count, &sums, quantiles);
        drop(sorted);
        for figure in wanted {
            let table = match figure {
                Figure::Mean if is_whole => ratio_table(&sums),
                Figure::Throughput => throughput_table(records),
                _ => continue,
            };
            figures.extend(table.map(|table| (*figure, table)));
        }
        Self { schedule: (records.len(), schedule), digest: mix(digest ^ schedule), count, figures }
    }

    /// Returns the table of a figure, if it was wanted and the answers make one.
    pub(crate) fn table(&self, figure: Figure) -> Option<&Table> {
        self.figures.iter().find(|(other, _)| *other == figure).map(|(_, table)| table)
    }
}

/// Counts the latencies up to each of `points_ns`, which ascend, by atoms.
fn counts_at(sorted: &Sorted, points_ns: &[u64], atom_count: usize, mut take: impl FnMut(usize, &[u32])) {
    let mut counts = vec![0; atom_count];
    let mut rank = 0;
    for (number, point_ns) in points_ns.iter().enumerate() {
        while rank < sorted.0.len() && sorted.latency_ns(rank) <= *point_ns {
            counts[Sorted::atom(sorted.0[rank])] += 1;
            rank += 1;
        }
        take(number, &counts);
    }
}

/// Latencies around a quantile, up to which the latencies of a resample are counted.
struct Grid {
    /// Points in ns, ascending, each once.
    points_ns: Vec<u64>,
    /// True if no latency lies between a point and the one before.
    is_next: Vec<bool>,
    /// True if it ends among the queries with an answer: a resample that ends among the others has no value.
    is_answered: bool,
}

impl Grid {
    /// Lays a grid around the latency of rank `middle`, from which a resample's rank is off by `error`; the
    /// first `answered` latencies are of queries with an answer.
    fn around(sorted: &Sorted, middle: usize, error: f64, answered: usize) -> Self {
        let last = sorted.0.len() - 1;
        // Positive and cut by the number of latencies.
        let half = ((error * GRID_ERRORS) as usize).saturating_add(8);
        let (from, to) = (middle.saturating_sub(half), middle.saturating_add(half).min(last));
        let steps = (to - from).min(GRID_POINTS);
        let mut ranks: Vec<_> = (0..=steps).map(|step| from + (to - from) * step / steps.max(1)).collect();
        ranks.push(middle);
        ranks.push(last);
        ranks.sort_unstable();
        ranks.dedup_by_key(|rank| sorted.latency_ns(*rank));
        let next = |pair: &[usize]| {
            (pair[0] + 1..pair[1]).all(|rank| {
                let latency_ns = sorted.latency_ns(rank);
                latency_ns == sorted.latency_ns(pair[0]) || latency_ns == sorted.latency_ns(pair[1])
            })
        };
        let is_next = std::iter::once(true)
            .chain(ranks.windows(2).map(|pair| pair[1] - pair[0] < 64 && next(pair)))
            .collect();
        let points_ns = ranks.into_iter().map(|rank| sorted.latency_ns(rank)).collect();
        Self { points_ns, is_next, is_answered: to < answered }
    }
}

/// Returns the tables of those quantiles that fall among the `answered` first of the latencies.
fn quantile_tables(
    sorted: &Sorted,
    answered: usize,
    sums: &[(f64, f64)],
    mut quantiles: Vec<(Figure, f64)>,
) -> Vec<(Figure, Table)> {
    let (count, atom_count) = (sorted.0.len(), sums.len());
    let rank = |quantile: f64| percentile_rank(count as u64, quantile) as usize;
    quantiles.retain(|(_, quantile)| rank(*quantile) < answered);
    if quantiles.is_empty() {
        return Vec::new();
    }
    let at: Vec<_> = quantiles.iter().map(|(_, quantile)| sorted.latency_ns(rank(*quantile))).collect();
    let mut correlations = Vec::new();
    counts_at(sorted, &at, atom_count, |_, counts| {
        let share = counts.iter().map(|count| f64::from(*count)).sum::<f64>() / count as f64;
        let excess = counts.iter().zip(sums).map(|(below, (_, of_atom))| f64::from(*below) - share * of_atom);
        correlations.push((Correlation::of(&excess.collect::<Vec<_>>()), share));
    });
    // Nothing is left to chance if all latencies are equal.
    let is_constant = sorted.latency_ns(0) == sorted.latency_ns(count - 1);
    let grid = |((_, quantile), (correlation, _)): (&(Figure, f64), &(Correlation, f64))| {
        let error = (correlation.long_run_variance * atom_count as f64).sqrt();
        Grid::around(sorted, rank(*quantile), error, answered)
    };
    let grids: Vec<_> = quantiles.iter().zip(&correlations).map(grid).collect();
    // The points of all grids in one ascending list, so that one walk along the sorted latencies fills them.
    let mut all: Vec<_> = grids.iter().flat_map(|grid| &grid.points_ns).copied().collect();
    all.sort_unstable();
    all.dedup();
    let mut tables: Vec<Vec<u32>> =
        grids.iter().map(|grid| vec![0; (atom_count + 1) * (grid.points_ns.len() + 1)]).collect();
    counts_at(sorted, &all, atom_count, |number, counts| {
        for (grid, table) in grids.iter().zip(&mut tables) {
            let Ok(point) = grid.points_ns.binary_search(&all[number]) else { continue };
            let of_point = &mut table[point * (atom_count + 1)..][..=atom_count];
            let mut before = 0;
            for (count, place) in counts.iter().zip(&mut of_point[1..]) {
                before += count;
                *place = before;
            }
        }
    });
    let mut found = Vec::new();
    for (((figure, quantile), (correlation, share)), (grid, mut counts)) in
        quantiles.iter().zip(correlations).zip(grids.into_iter().zip(tables))
    {
        let Grid { points_ns, is_next, is_answered } = grid;
        let mut before = 0;
        for ((_, of_atom), place) in sums.iter().zip(&mut counts[points_ns.len() * (atom_count + 1) + 1..]) {
            // A whole number far below 2^32.
            before += *of_atom as u32;
            *place = before;
        }
        // A row of late neighbours says as much as one of them.
        let independent = correlation.long_run_variance * atom_count as f64 / count as f64;
        let clustered = (independent / (share * (1.0 - share)).max(f64::MIN_POSITIVE)).max(1.0);
        let beyond = quantile.min(1.0 - quantile) * count as f64 / clustered;
        let points_ns = points_ns.iter().map(|point| *point as f64).collect();
        let value = sorted.latency_ns(rank(*quantile)) as f64;
        let kind = Kind::Quantile { quantile: *quantile, points_ns, is_next, counts };
        let carries = is_answered && (beyond >= FEWEST_BEYOND || is_constant);
        found.push((*figure, Table { kind, correlation, value, carries }));
    }
    found
}

/// Returns the table of sum over number.
fn ratio_table(sums: &[(f64, f64)]) -> Option<Table> {
    let (sum, number) = sums.iter().fold((0.0, 0.0), |all, atom| (all.0 + atom.0, all.1 + atom.1));
    if number == 0.0 || sum == 0.0 {
        return None;
    }
    let value = sum / number;
    let excess: Vec<_> = sums.iter().map(|(sum, number)| sum - value * number).collect();
    let correlation = Correlation::of(&excess);
    let mut before = vec![(0.0, 0.0)];
    for (sum, number) in sums {
        let (sum_before, number_before) = before[before.len() - 1];
        before.push((sum_before + sum, number_before + number));
    }
    let carries = number >= FEWEST_BEYOND;
    Some(Table { kind: Kind::Ratio { sums: before }, correlation, value, carries })
}

/// Returns the table of answered samples over time: the stretches from each completion to the next add up to the run.
fn throughput_table(records: &[SampleRecord]) -> Option<Table> {
    let good = records.iter().filter(|record| !record.is_failed());
    let mut completed: Vec<_> = good.filter_map(|record| record.completed_ns()).collect();
    completed.sort_unstable();
    let atoms = Atoms::of(completed.len());
    let mut sums = vec![(0.0, 0.0); atoms.atom_count];
    let mut before_ns = 0;
    for (number, completed_ns) in completed.iter().enumerate() {
        let atom = &mut sums[atoms.atom(number)];
        atom.0 += 1.0;
        atom.1 += (completed_ns - before_ns) as f64 / 1e9;
        before_ns = *completed_ns;
    }
    // Time after the last answer counts, too.
    let issued = records.iter().filter(|record| record.is_issued());
    let end_ns = issued.map(|record| record.completed_ns().unwrap_or(record.scheduled_ns)).max();
    if let Some((last, end_ns)) = sums.last_mut().zip(end_ns) {
        last.1 += end_ns.saturating_sub(before_ns) as f64 / 1e9;
    }
    let mut table = ratio_table(&sums)?;
    table.carries = completed.len() as f64 >= FEWEST_BEYOND;
    Some(table)
}
