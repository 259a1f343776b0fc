//! Whether a busy machine fails tests.

use std::{
    collections::BTreeMap,
    hint,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use anyhow::{Result, bail};

use super::runner::{self, Outcome};

/// Number of repetitions of the tests by the real clock.
const REPEATS: usize = 30;

/// Runs the first tier once and the tests by the real clock many times, with a load on every processor, and names the
/// failures.
///
/// # Errors
/// If a test failed, or if the tests cannot be run.
pub(crate) fn run() -> Result<()> {
    let failed = beside_a_load(|| -> Result<_> {
        let mut failed: BTreeMap<String, usize> = BTreeMap::new();
        let mut add = |outcome: Outcome| {
            for case in outcome.cases.into_iter().filter(|case| case.has_failed) {
                *failed.entry(case.name).or_default() += 1;
            }
        };
        add(runner::run("default", &[])?);
        for round in 1..=REPEATS {
            println!("\nreal clock, round {round} of {REPEATS}");
            add(runner::run("default", &["-E".to_owned(), "group(real-clock)".to_owned()])?);
        }
        Ok(failed)
    })?;
    println!(
        "\nbeside a load on every processor: the first tier once, the tests by the real clock {REPEATS} times"
    );
    if failed.is_empty() {
        println!("no test failed");
        return Ok(());
    }
    for (name, count) in &failed {
        println!("failed {count} times: {name}");
    }
    bail!("{} tests fail on a busy machine", failed.len());
}

/// Does `work` while each processor has another thread to run.
fn beside_a_load<T>(work: impl FnOnce() -> T) -> T {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        // Ends the load even if the work panics: the scope waits for its threads.
        let _ends = Ends(&is_over);
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    hint::spin_loop();
                }
            });
        }
        work()
    })
}

/// Ends the load when it is dropped.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::panic;

    use super::beside_a_load;

    #[test]
    fn the_load_ends_with_the_work() {
        assert_eq!(beside_a_load(|| 7), 7);
        assert!(panic::catch_unwind(|| beside_a_load(|| panic!("as asked"))).is_err());
    }
}
