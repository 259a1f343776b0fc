//! A queue in a few lines, on its own, to search for the peak of.

use std::{cmp::Reverse, collections::BinaryHeap, rc::Rc};

use proctor_search::{
    Backlog, Confirmation, Constraint, Dependence, ProbeEnd, ProbeLimits, ProbeMonitor, ProbeRecord, Search,
    SearchEnd, Side, Step,
};
use rand::{SeedableRng, rngs::SmallRng};
use rand_distr::{Distribution, Exp1};

/// Draws the service time of a query in seconds.
pub type Service = fn(&mut SmallRng) -> f64;

/// Poisson arrivals, first in first out, some servers.
#[derive(Debug, Clone)]
pub struct Queue {
    /// Gap at a rate of 1, and service time, of each query: the same at each rate, as LoadGen has it.
    pub draws: Rc<[(f64, f64)]>,
    pub servers: usize,
    pub bound_s: f64,
    pub run_s: f64,
}

/// The bound on lateness.
const QUANTILE: f64 = 0.99;
/// Number of queries of the smallest run that early stopping takes.
const FEWEST_QUERIES: u64 = 662;

/// Arrival and completion of each query in seconds.
pub struct Queries<'a> {
    draws: &'a [(f64, f64)],
    free: BinaryHeap<Reverse<Time>>,
    rate: f64,
    now: f64,
}

#[derive(PartialEq)]
struct Time(f64);

impl PartialOrd for Time {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Eq for Time {}

impl Ord for Time {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl Iterator for Queries<'_> {
    type Item = (f64, f64);

    fn next(&mut self) -> Option<(f64, f64)> {
        let ((gap, service_s), rest) = self.draws.split_first()?;
        self.draws = rest;
        self.now += gap / self.rate;
        let Reverse(Time(free)) = self.free.pop().unwrap();
        let done = free.max(self.now) + service_s;
        self.free.push(Reverse(Time(done)));
        Some((self.now, done))
    }
}

/// Random numbers for a number of queries.
pub fn draws(seed: u64, count: usize, service: Service) -> Rc<[(f64, f64)]> {
    let mut random = SmallRng::seed_from_u64(seed);
    (0..count).map(|_| (Exp1.sample(&mut random), service(&mut random))).collect()
}

impl Queue {
    pub fn queries(&self, rate: f64) -> Queries<'_> {
        let free = (0..self.servers).map(|_| Reverse(Time(0.0))).collect();
        Queries { draws: &self.draws, free, rate, now: 0.0 }
    }

    pub fn full_count(&self, rate: f64) -> u64 {
        ((rate * self.run_s) as u64).max(FEWEST_QUERIES)
    }

    /// Returns how many may be late, by a normal approximation of early stopping at a confidence of 0.99.
    pub fn allowed_count(&self, rate: f64) -> u64 {
        let count = self.full_count(rate) as f64;
        let mean = count * (1.0 - QUANTILE);
        (mean - 2.326 * (mean * QUANTILE).sqrt()).max(1.0) as u64
    }

    fn limit_share(&self, rate: f64) -> f64 {
        self.allowed_count(rate) as f64 / self.full_count(rate) as f64
    }

    /// Runs a probe as a host does: looks at the running queue, and ends it.
    pub fn probe(&self, rate: f64, error_probability: f64) -> ProbeRecord {
        let full_count = self.full_count(rate);
        self.run(rate, (full_count / 5).max(2048).min(full_count), error_probability)
    }

    pub fn full_run(&self, rate: f64) -> Confirmation {
        let mut seen = self.run(rate, u64::MAX, 0.5);
        let is_valid = seen.constraints[0].missed_count <= self.allowed_count(rate);
        seen.side = if is_valid { Side::Under } else { Side::Over };
        confirmation(is_valid, seen)
    }

    fn run(&self, rate: f64, max_count: u64, error_probability: f64) -> ProbeRecord {
        let is_full = max_count == u64::MAX;
        let limit_share = self.limit_share(rate);
        let dependence = Dependence::OnLoad;
        let constraint = Constraint { name: "latency".to_owned(), limit_share, dependence };
        let mut monitor = ProbeMonitor::new(
            vec![constraint],
            ProbeLimits {
                longest_bound_ns: (self.bound_s * 1e9) as u64,
                max_query_count: max_count,
                error_probability,
            },
        );
        let mut queries = self.queries(rate);
        let mut issued: Vec<(f64, f64)> = Vec::new();
        let mut outstanding = BinaryHeap::new();
        let (mut frontier, mut late) = (0, 0);
        let end = loop {
            let (arrived, done) = queries.next().unwrap();
            issued.push((arrived, done));
            outstanding.push(Reverse(Time(done)));
            while outstanding.peek().is_some_and(|done| done.0.0 <= arrived) {
                outstanding.pop();
            }
            let count = issued.len() as u64;
            if is_full {
                late += u64::from(done - arrived > self.bound_s);
                // A host ends a full run that can no longer be VALID.
                if count == self.full_count(rate) || late > self.allowed_count(rate) {
                    break ProbeEnd::Budget;
                }
                continue;
            }
            if !count.is_multiple_of(64) && count != max_count {
                continue;
            }
            while let Some((from, to)) =
                issued.get(frontier).filter(|(from, to)| *to <= arrived || from + self.bound_s < arrived)
            {
                monitor.push(&[to - from > self.bound_s]);
                frontier += 1;
            }
            let backlog = Backlog {
                issued_count: count,
                completed_count: count - outstanding.len() as u64,
                elapsed_ns: (arrived * 1e9) as u64,
            };
            if let Some(end) = monitor.look(backlog) {
                break end;
            }
        };
        let (now, _) = *issued.last().unwrap();
        let throughput_qps = (issued.len() - outstanding.len()) as f64 / now;
        if end == ProbeEnd::Budget {
            issued[frontier..].iter().for_each(|(from, to)| monitor.push(&[to - from > self.bound_s]));
        }
        let mut latencies: Vec<f64> = issued.iter().map(|(from, to)| to - from).collect();
        latencies.sort_by(f64::total_cmp);
        let mut judgement = monitor.judge();
        let position = ((latencies.len() as f64 * (1.0 - limit_share)) as usize).min(latencies.len() - 1);
        judgement.constraints[0].tail_ratio = Some(latencies[position] / self.bound_s);
        ProbeRecord {
            load: rate,
            side: judgement.side,
            confidence: judgement.confidence,
            end,
            query_count: issued.len() as u64,
            full_query_count: self.full_count(rate),
            throughput_qps,
            constraints: judgement.constraints,
        }
    }

    /// Searches to the end.
    pub fn search(&self, search: &mut Search) -> SearchEnd {
        loop {
            match search.next_step() {
                Step::Probe { load, error_probability } => {
                    search.probes.push(self.probe(load, error_probability))
                }
                Step::Confirm { load, .. } => search.confirmations.push(self.full_run(load)),
                Step::Done(end) => return end,
            }
        }
    }

    /// Doubles or halves until there are two ends, then halves the gap until it is 1 %, each step a full run. Returns
    /// the highest rate that was VALID and the queries that it took.
    pub fn plain_search(&self, start: f64) -> (f64, u64) {
        let (mut lower, mut upper, mut rate, mut queries) = (None, None, start, 0);
        loop {
            let count = self.full_count(rate);
            let is_late = |(from, to): &(f64, f64)| to - from > self.bound_s;
            let late_count = self.queries(rate).take(count as usize).filter(is_late).count();
            queries += count;
            if late_count as u64 <= self.allowed_count(rate) {
                lower = Some(rate)
            } else {
                upper = Some(rate)
            }
            rate = match (lower, upper) {
                (Some(lower), Some(upper)) if upper / lower <= 1.01 => return (lower, queries),
                (Some(lower), Some(upper)) => (lower + upper) / 2.0,
                (Some(lower), None) => lower * 2.0,
                (None, _) => rate / 2.0,
            };
        }
    }

    /// The share of late queries in the long run, after the queue has filled.
    pub fn long_run_share(&self, rate: f64) -> f64 {
        let (mut count, mut late_count) = (0_u32, 0_u32);
        for (from, to) in self.queries(rate).skip(10_000) {
            count += 1;
            late_count += u32::from(to - from > self.bound_s);
        }
        f64::from(late_count) / f64::from(count)
    }
}

/// A full run without a reason of its own.
pub fn confirmation(is_valid: bool, seen: ProbeRecord) -> Confirmation {
    Confirmation { is_valid, reasons: Vec::new(), is_at_any_load: false, seen }
}
