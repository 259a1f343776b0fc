//! Makes weights shared lines of the last-level cache.
//!
//! A last-level cache that takes in what the private caches drop treats a line that only one core has held as owned by
//! that core: each miss then also pushes an owned line back out. If all cores hold a line at the same moment once, the
//! cache keeps its own copy, nothing is pushed back, and the same reads get faster, for as long as the line stays in
//! the cache. So the threads of a team read the weights chunk by chunk, together. Whether that worked shows in the time
//! of a sweep; if it did not, it is done again, a few times. On a processor without this property nothing is lost but a
//! few milliseconds.

use std::{
    hint::black_box,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use crate::execution::split::part;
use crate::team::Team;

/// Size of the chunks that are read together: less than any private second-level cache of the last ten years.
const CHUNK_BYTES: usize = 256 << 10;

/// Size of a cache line in bytes; one byte of each is read.
const LINE: usize = 64;

/// A sweep has to get this much faster for the priming to count as taken.
const GAIN_MIN: f64 = 1.25;

const ATTEMPTS_MAX: u32 = 5;

/// Number of times an attempt reads everything. Once is seldom enough: a thread that is held up reads alone.
const ROUNDS: u32 = 4;

/// Effect of priming on the speed of reading the weights, by all threads, each its own part.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Primed {
    /// Number of bytes of weights.
    pub size_bytes: usize,
    /// Time of one sweep before.
    pub sweep_before: Duration,
    /// Time of one sweep after.
    pub sweep_after: Duration,
    /// Number of times the weights were read together, in several rounds each.
    pub attempts: u32,
}

impl Primed {
    /// Returns whether sweeps became faster than by noise.
    #[must_use]
    pub fn took(&self) -> bool {
        self.sweep_before.as_secs_f64() > GAIN_MIN * self.sweep_after.as_secs_f64()
    }
}

/// Primes these pieces of weights. A team of one thread shares with no other and only measures.
pub(crate) fn prime(team: &mut Team, weights: &[&[u8]]) -> Primed {
    let sweep_before = sweep(team, weights);
    let size_bytes = weights.iter().map(|piece| piece.len()).sum();
    let mut primed = Primed { size_bytes, sweep_before, sweep_after: sweep_before, attempts: 0 };
    while team.threads() > 1 && primed.attempts < ATTEMPTS_MAX && !primed.took() {
        read_together(team, weights);
        primed.sweep_after = sweep(team, weights);
        primed.attempts += 1;
    }
    primed
}

fn read_together(team: &mut Team, weights: &[&[u8]]) {
    team.run(|member| {
        for _ in 0..ROUNDS {
            for chunk in weights.iter().flat_map(|piece| piece.chunks(CHUNK_BYTES)) {
                member.barrier();
                touch(chunk);
            }
        }
    });
}

/// Returns the minimum time of a few sweeps in which each thread reads its own part; a sweep takes as long as its
/// slowest thread.
fn sweep(team: &mut Team, weights: &[&[u8]]) -> Duration {
    let mut least = Duration::MAX;
    for _ in 0..3 {
        let slowest_ns = AtomicU64::new(0);
        team.run(|member| {
            member.barrier();
            let start = Instant::now();
            for piece in weights {
                touch(&piece[part(piece.len(), member.threads(), member.index())]);
            }
            let ns = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
            slowest_ns.fetch_max(ns, Ordering::Relaxed);
        });
        least = least.min(Duration::from_nanos(slowest_ns.into_inner()));
    }
    least
}

/// Reads each cache line.
fn touch(bytes: &[u8]) {
    black_box(bytes.iter().step_by(LINE).fold(0, |sum: u8, byte| sum ^ byte));
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn priming_ends_whatever_the_machine_does() {
        let weights = vec![1; 1_200_004];
        let pieces: Vec<&[u8]> = vec![&weights[..1000], &[], &weights[1000..]];
        let alone = prime(&mut Team::new(1), &pieces);
        assert_eq!((alone.attempts, alone.size_bytes), (0, 1_200_004));
        let together = prime(&mut Team::new(2), &pieces);
        assert!((1..=ATTEMPTS_MAX).contains(&together.attempts));
        assert!(together.took() || together.attempts == ATTEMPTS_MAX);
    }
}
