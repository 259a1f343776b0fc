//! Competes for a processor, to show the effect of an unplanned program on a measurement.

use std::{
    fs,
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use proctor_rnn_layer::pin_to;
use serde::Serialize;

use super::numbers::Numbers;

/// Shortest and longest burst, in ms; all between are as likely.
pub(super) const BURST_MS: [f64; 2] = [1.0, 10.0];
/// Share of the time that is burnt: each burst has a pause behind it, four times as long.
pub(super) const SHARE: f64 = 0.2;

/// Interference that was requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct Interference {
    /// Processor to burn: the last one, which every worker has, even one with a single thread.
    pub(super) cpu: usize,
    /// Seed of the bursts.
    pub(super) seed: u64,
}

/// A thread of this process that burns its processor in bursts, until it is stopped or dropped.
#[derive(Debug)]
pub(super) struct Competitor {
    stop: Sender<()>,
    thread: JoinHandle<Result<Option<f64>, String>>,
}

impl Interference {
    /// Begins with the first burst; the bursts are the same in each measurement.
    pub(super) fn begin(self) -> Competitor {
        let (stop, stopped) = channel();
        let Self { cpu, seed } = self;
        let thread = thread::spawn(move || {
            pin_to(&[cpu]).map_err(|error| format!("--interference: processor {cpu}: {error}"))?;
            Ok(compete(bursts(seed), &stopped))
        });
        Competitor { stop, thread }
    }
}

impl Competitor {
    /// Ends it. Returns its share of the processor, from 0 to 1, if the system reports it: in its bursts it
    /// takes turns with the other threads there, so the share is mostly less than [`SHARE`].
    ///
    /// # Errors
    /// If it could not be held to its processor.
    pub(super) fn stop(self) -> Result<Option<f64>, String> {
        drop(self.stop);
        self.thread.join().expect("bursts do not panic")
    }
}

/// Returns the lengths of the bursts of a seed.
fn bursts(seed: u64) -> impl Iterator<Item = Duration> {
    let mut numbers = Numbers::seeded("bursts", seed);
    let [least, most] = BURST_MS;
    std::iter::repeat_with(move || Duration::from_secs_f64((least + (most - least) * numbers.unit()) / 1e3))
}

/// Burns and pauses, and returns the share of the processor that it had.
fn compete(bursts: impl Iterator<Item = Duration>, stopped: &Receiver<()>) -> Option<f64> {
    let (begin, before) = (Instant::now(), run_time());
    // Bursts begin at times that are laid down, however late the one before has ended.
    let mut next = begin;
    for burst in bursts {
        let end = Instant::now() + burst;
        while Instant::now() < end {}
        next += burst.div_f64(SHARE);
        let pause = next.saturating_duration_since(Instant::now());
        if stopped.recv_timeout(pause) != Err(RecvTimeoutError::Timeout) {
            break;
        }
    }
    let ran = run_time()?.saturating_sub(before?);
    Some((ran.as_secs_f64() / begin.elapsed().as_secs_f64()).min(1.0))
}

/// Returns the time for which this thread has run on a processor: the first number, in ns.
fn run_time() -> Option<Duration> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(Duration::from_nanos(text.split_whitespace().next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_are_of_every_length_and_the_same_for_each_seed() {
        let lengths = |seed| bursts(seed).take(1000).collect::<Vec<_>>();
        assert_eq!(lengths(7), lengths(7));
        assert_ne!(lengths(7), lengths(8));
        let ms: Vec<_> = lengths(7).iter().map(|burst| burst.as_secs_f64() * 1e3).collect();
        assert!(ms.iter().all(|ms| (1.0..=10.0).contains(ms)));
        assert!(ms.iter().any(|ms| *ms < 1.1) && ms.iter().any(|ms| *ms > 9.9));
        let mean = ms.iter().sum::<f64>() / 1000.0;
        assert!((mean - 5.5).abs() < 0.3, "{mean}");
    }

    #[test]
    fn a_competitor_burns_its_share_and_ends_when_it_is_told() {
        let cpus = proctor_rnn_layer::allowed_cores();
        let Some(&cpu) = cpus.last() else { return };
        let competitor = Interference { cpu, seed: 7 }.begin();
        thread::sleep(Duration::from_millis(400));
        let begin = Instant::now();
        let share = competitor.stop().unwrap();
        // At most the rest of a burst, however busy the machine is meanwhile.
        assert!(begin.elapsed() < Duration::from_secs(5));
        // If others kept it from beginning until now, it lasted for a single burst.
        assert!(share.is_none_or(|share| share > 0.0 && share <= 1.0), "{share:?}");
    }

    #[test]
    fn pauses_are_four_times_as_long_as_the_bursts() {
        let (stop, stopped) = channel();
        let begin = Instant::now();
        let ms = Duration::from_millis;
        let counted = [ms(2), ms(4)].into_iter();
        compete(counted, &stopped);
        // Of both: 5 times 2 ms, 5 times 4 ms.
        assert!(begin.elapsed() >= ms(30), "{:?}", begin.elapsed());
        drop(stop);
        let begin = Instant::now();
        compete(std::iter::repeat(ms(1)), &stopped);
        assert!(begin.elapsed() >= ms(1));
    }

    #[test]
    fn a_processor_that_is_not_there_is_an_error() {
        let error = Interference { cpu: usize::MAX, seed: 0 }.begin().stop().unwrap_err();
        assert!(error.starts_with("--interference: processor "), "{error}");
    }
}
