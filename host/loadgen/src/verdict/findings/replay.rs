//! The queries of a Server run once more, at another rate.
//!
//! The model of the system is a queue with one server that works on queries in the order of their arrival,
//! plus a delay of every query. The arrivals `a` and completions `c` of the run give the times `s` for which
//! each query kept the server: with `b = c - delay`, `s[i] = b[i] - max(a[i], b[i-1])`, that is from when the
//! server could begin. With these times and the same arrivals the run comes out as it was; with other
//! arrivals, another one does. The arrivals of a run at another rate are known to the nanosecond. If it has
//! more queries than were measured, the times are used again from the first.
//!
//! The delay stands for work that several queries get at once. It is the time that a query that finds the system empty
//! takes beyond the server's time for one when there is a queue: 0 if queries are served one after another, three
//! quarters of the service time if four are served in parallel.
//!
//! Source: D. V. Lindley, "The theory of queues with a single server", 1952, for the recursion.

use std::collections::VecDeque;

/// Minimum share of the latency of a lone query from which the delay counts: below, it is noise.
const DELAY_SHARE_MIN: f64 = 0.2;

/// The times that each query of a run took of the system.
#[derive(Debug)]
pub(super) struct Replay {
    service_ns: Vec<u64>,
    delay_ns: u64,
}

/// The queries at a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Replayed {
    /// Number of queries in all.
    pub(super) count: u64,
    /// Number of queries over the bound.
    pub(super) over_count: u64,
    /// Maximum number outstanding at once.
    pub(super) outstanding_max: u64,
}

impl Replay {
    /// Takes scheduled instants and latencies in ns, in the order of issue. `None` without any.
    pub(super) fn new(samples: &[(u64, u64)]) -> Option<Self> {
        if samples.is_empty() {
            return None;
        }
        let delay_ns = delay_ns(samples);
        let mut free_ns = 0;
        let service = |&(arrival_ns, latency_ns): &(u64, u64)| {
            let begin_ns = free_ns.max(arrival_ns);
            free_ns = begin_ns.max(arrival_ns + latency_ns - delay_ns);
            free_ns - begin_ns
        };
        let service_ns = samples.iter().map(service).collect();
        Some(Self { service_ns, delay_ns })
    }

    /// Returns the run with these arrivals.
    pub(super) fn run(&self, arrivals_ns: impl Iterator<Item = u64>, bound_ns: u64) -> Replayed {
        let mut outstanding = VecDeque::new();
        let mut free_ns = 0;
        let mut replayed = Replayed { count: 0, over_count: 0, outstanding_max: 0 };
        for (arrival_ns, service_ns) in arrivals_ns.zip(self.service_ns.iter().cycle()) {
            free_ns = arrival_ns.max(free_ns) + service_ns;
            let end_ns = free_ns + self.delay_ns;
            replayed.count += 1;
            replayed.over_count += u64::from(end_ns - arrival_ns > bound_ns);
            // Ends are in order, since the server is.
            while outstanding.pop_front_if(|end_ns: &mut u64| *end_ns <= arrival_ns).is_some() {}
            outstanding.push_back(end_ns);
            replayed.outstanding_max = replayed.outstanding_max.max(outstanding.len() as u64);
        }
        replayed
    }

    /// Returns the latencies if each query had the system for itself, sorted ascending.
    pub(super) fn alone_ns(&self) -> Vec<u64> {
        let mut alone: Vec<_> = self.service_ns.iter().map(|service_ns| service_ns + self.delay_ns).collect();
        alone.sort_unstable();
        alone
    }
}

/// Returns the time that every query takes in addition to its turn at the server.
fn delay_ns(samples: &[(u64, u64)]) -> u64 {
    let smallest_ns = samples.iter().map(|it| it.1).min().unwrap_or(0);
    let mut last_end_ns = 0;
    let (mut alone_ns, mut alone_count) = (0.0, 0.0);
    let (mut behind_ns, mut behind_count) = (0.0, 0.0);
    for &(arrival_ns, latency_ns) in samples {
        let end_ns = arrival_ns + latency_ns;
        if arrival_ns >= last_end_ns {
            alone_ns += latency_ns as f64;
            alone_count += 1.0;
        } else {
            behind_ns += end_ns.saturating_sub(last_end_ns) as f64;
            behind_count += 1.0;
        }
        last_end_ns = last_end_ns.max(end_ns);
    }
    if behind_count == 0.0 {
        return 0;
    }
    // The first query is always alone.
    let (alone_ns, behind_ns): (f64, f64) = (alone_ns / alone_count, behind_ns / behind_count);
    let delay_ns = alone_ns - behind_ns;
    if delay_ns < DELAY_SHARE_MIN * alone_ns { 0 } else { smallest_ns.min(delay_ns as u64) }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A queue with several servers, fed with these arrivals, each query taking this long.
    fn served(arrivals_ns: &[u64], servers: usize, service_ns: u64) -> Vec<(u64, u64)> {
        let mut free_ns = vec![0; servers];
        let serve = |arrival_ns: &u64| {
            let server = free_ns.iter_mut().min().expect("there is a server");
            *server = (*server).max(*arrival_ns) + service_ns;
            (*arrival_ns, *server - arrival_ns)
        };
        arrivals_ns.iter().map(serve).collect()
    }

    fn over_count(samples: &[(u64, u64)], bound_ns: u64) -> u64 {
        samples.iter().filter(|it| it.1 > bound_ns).count() as u64
    }

    #[test]
    fn a_single_server_comes_out_as_it_would_be_at_another_rate() {
        // Bursts of five every 10 ms, a query takes 1.5 ms; then half the rate, and twice as many queries.
        let arrivals: Vec<_> = (0..500_u64).map(|i| i / 5 * 10_000_000 + i % 5 * 1000).collect();
        let replay = Replay::new(&served(&arrivals, 1, 1_500_000)).unwrap();
        assert_eq!(replay.delay_ns, 0);
        let slower: Vec<_> = (0..1000_u64).map(|i| i / 5 * 20_000_000 + i % 5 * 2000).collect();
        for bound_ns in [1_499_999, 1_500_000, 4_000_000, 7_490_000] {
            let replayed = replay.run(slower.iter().copied(), bound_ns);
            let expected = over_count(&served(&slower, 1, 1_500_000), bound_ns);
            assert_eq!((replayed.count, replayed.over_count), (1000, expected));
        }
        assert_eq!(replay.run(arrivals.iter().copied(), 0).outstanding_max, 5);
        assert_eq!(replay.run((0..9).map(|i| i * 1_500_000), 0).outstanding_max, 1);
        assert_eq!(replay.alone_ns(), vec![1_500_000; 500]);
    }

    #[test]
    fn parallel_servers_show_as_a_delay() {
        // Four servers of 8 ms, overloaded: one query done each 2 ms; the first come alone.
        let arrivals: Vec<_> = (0..1000_u64).map(|i| i * 1_900_000).collect();
        let replay = Replay::new(&served(&arrivals, 4, 8_000_000)).unwrap();
        assert!((5_000_000..=7_000_000).contains(&replay.delay_ns), "{}", replay.delay_ns);
    }

    proptest! {
        #[test]
        fn at_the_same_rate_the_run_comes_out_as_it_was(
            gaps in prop::collection::vec(0_u64..10_000, 1..200),
            service_ns in 1_u64..5000,
            bound_ns in 0_u64..20_000,
        ) {
            let arrivals: Vec<_> = gaps.iter().scan(0, |at, gap| { *at += gap; Some(*at) }).collect();
            let samples = served(&arrivals, 1, service_ns);
            let replayed = Replay::new(&samples).unwrap().run(arrivals.into_iter(), bound_ns);
            prop_assert_eq!(replayed.over_count, over_count(&samples, bound_ns));
        }

        #[test]
        fn slower_arrivals_never_make_it_worse(
            gaps in prop::collection::vec((0_u64..10_000, 1_u64..9000), 1..200),
            stretch in 1_u64..10,
            bound_ns in 0_u64..20_000,
        ) {
            let mut arrival_ns = 0;
            let samples: Vec<_> =
                gaps.iter().map(|(gap, latency)| { arrival_ns += gap; (arrival_ns, *latency) }).collect();
            let replay = Replay::new(&samples).unwrap();
            let over_count = |stretch| replay.run(samples.iter().map(|it| it.0 * stretch), bound_ns).over_count;
            prop_assert!(over_count(stretch) <= over_count(1));
        }
    }
}
