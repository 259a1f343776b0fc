//! Threads that stay on their processors.

use std::{
    sync::Barrier,
    thread,
    time::{Duration, Instant},
};

use proctor_rnn_layer::pin_to;

/// Number of clock readings in a window.
const LOOKS: u128 = 50;

/// Runs `pass` over and over on each processor at the same time, for `window`, and returns how often it ran per second,
/// summed over the processors. `pass` gets the position of its processor in the list.
pub(crate) fn rate_on(cpus: &[usize], window: Duration, pass: impl Fn(usize) + Sync) -> f64 {
    let start = Barrier::new(cpus.len());
    let measure = |position: usize| {
        // If the system refuses, the thread stays where it is; the figure then belongs to another processor.
        let _ = pin_to(&cpus[position..=position]);
        // Enough passes between two looks at the clock for the looks not to count.
        let first = Instant::now();
        (0..4).for_each(|_| pass(position));
        let passes = 4 * window.as_nanos() / first.elapsed().as_nanos().max(1) / LOOKS;
        let passes = u32::try_from(passes).unwrap_or(u32::MAX).max(1);
        start.wait();
        let begin = Instant::now();
        let mut count = 0_u32;
        loop {
            (0..passes).for_each(|_| pass(position));
            count += passes;
            let elapsed = begin.elapsed();
            if elapsed >= window {
                return f64::from(count) / elapsed.as_secs_f64();
            }
        }
    };
    thread::scope(|scope| {
        let measure = &measure;
        let threads: Vec<_> =
            (0..cpus.len()).map(|position| scope.spawn(move || measure(position))).collect();
        threads.into_iter().map(|thread| thread.join().expect("the pass does not panic")).sum()
    })
}
