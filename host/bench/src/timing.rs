//! Length of a measurement, and the figures of the times of its calls.

use std::time::Instant;

use serde::{Deserialize, Serialize};

/// Duration of a series of calls.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Window {
    /// Time before measurements count.
    pub(crate) warm_up_s: f64,
    /// Minimum time and minimum number of calls ...
    pub(crate) least_s: f64,
    pub(crate) least_calls: usize,
    /// ... but no call begins after this time.
    pub(crate) most_s: f64,
}

impl Window {
    pub(crate) const WHOLE: Self = Self { warm_up_s: 0.15, least_s: 0.4, least_calls: 200, most_s: 2.0 };
    /// Too short to rely on.
    pub(crate) const QUICK: Self = Self { warm_up_s: 0.0, least_s: 0.02, least_calls: 5, most_s: 0.2 };
}

/// Makes calls one right after the other, and returns the time of each in ns.
///
/// # Errors
/// Returns the error of the first call that fails.
pub(crate) fn times_ns<E>(window: &Window, mut call: impl FnMut() -> Result<(), E>) -> Result<Vec<u64>, E> {
    let begin = Instant::now();
    while begin.elapsed().as_secs_f64() < window.warm_up_s {
        call()?;
    }
    // Far more than there can be, so that nothing is moved between two calls.
    let mut times = Vec::with_capacity(1 << 22);
    let begin = Instant::now();
    let mut last = begin;
    loop {
        call()?;
        let now = Instant::now();
        times.push(u64::try_from((now - last).as_nanos()).unwrap_or(u64::MAX));
        last = now;
        let spent = (now - begin).as_secs_f64();
        let is_enough = spent >= window.least_s && times.len() >= window.least_calls;
        if is_enough || spent >= window.most_s || times.len() == times.capacity() {
            return Ok(times);
        }
    }
}

/// Figures of the times of a system's calls.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Times {
    pub(crate) median_ns: f64,
    pub(crate) p99_ns: f64,
    pub(crate) least_ns: f64,
    pub(crate) calls: usize,
}

impl Times {
    /// Computes the figures. Of an even number, the median is the mean of the two in the middle; the 99th percentile is
    /// the value at `floor(0.99 * calls)`. `None` without times.
    pub(crate) fn of(mut times_ns: Vec<u64>) -> Option<Self> {
        times_ns.sort_unstable();
        let calls = times_ns.len();
        let at = |index: usize| times_ns.get(index).map(|time| *time as f64);
        Some(Self {
            median_ns: (at((calls.checked_sub(1)?) / 2)? + at(calls / 2)?) / 2.0,
            p99_ns: at(calls * 99 / 100)?,
            least_ns: at(0)?,
            calls,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_has_half_of_the_calls_on_either_side() {
        let times = Times::of((1..=200).rev().collect()).unwrap();
        assert_eq!(times, Times { median_ns: 100.5, p99_ns: 199.0, least_ns: 1.0, calls: 200 });
        assert_eq!(Times::of(vec![7]).unwrap().p99_ns, 7.0);
        assert_eq!(Times::of(Vec::new()), None);
    }

    #[test]
    fn enough_calls_are_made_and_no_more() {
        let mut count = 0;
        let window = Window { warm_up_s: 0.0, least_s: 0.0, least_calls: 17, most_s: 60.0 };
        let times = times_ns(&window, || {
            count += 1;
            Ok::<_, ()>(())
        });
        assert_eq!((times.unwrap().len(), count), (17, 17));
        let window = Window { most_s: 0.0, ..window };
        assert_eq!(times_ns(&window, || Ok::<_, ()>(())).unwrap().len(), 1);
        assert_eq!(times_ns(&window, || Err("no")), Err("no"));
    }
}
