//! The processor time that the first tier may take.

use std::fs;

use anyhow::{Result, bail};

/// Processor time of all tests of the first tier together: 830 s were measured, and slower machines take more.
/// `CONTRIBUTING.md` says why there is a budget.
const BUDGET_S: u64 = 1200;

/// Ticks of a second in the files of `/proc`, on every architecture that Linux has today.
const TICKS_PER_SECOND: u64 = 100;

/// Returns the processor time of all child processes that have ended; `None` if the system does not report it.
pub(crate) fn processor_time_s() -> Option<u64> {
    children_time_s(&fs::read_to_string("/proc/self/stat").ok()?)
}

fn children_time_s(stat: &str) -> Option<u64> {
    // The name of the program, in brackets, may have spaces. Of the fields after it the 14th and the 15th count.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut times = fields.split_whitespace().skip(13).map(str::parse::<u64>);
    let ticks = times.next()?.ok()? + times.next()?.ok()?;
    Some(ticks / TICKS_PER_SECOND)
}

/// Reports the duration of the first tier.
///
/// # Errors
/// If that is over the budget by half and `is_enforced`.
pub(crate) fn hold(taken_s: u64, is_enforced: bool) -> Result<()> {
    println!("processor time of the first tier: {taken_s} s; its budget is {BUDGET_S} s");
    let limit_s = BUDGET_S + BUDGET_S / 2;
    if is_enforced && taken_s > limit_s {
        bail!(
            "the first tier took {taken_s} s of processor time, and its limit is {limit_s} s: \
             make its slowest tests cheaper, or move what proves a thing case by case into a group of the second tier"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_children_is_read_behind_any_name() {
        let stat = "12 (a) (b c) S 1 1 1 0 -1 4194304 100 200 0 0 7 8 2150 450 20 0 1 0 5 6 7";
        assert_eq!(children_time_s(stat), Some(26));
        assert_eq!(children_time_s("12 (a) S 1"), None);
        assert!(processor_time_s().is_some());
    }

    #[test]
    fn only_what_is_over_by_half_fails_and_only_where_it_is_enforced() {
        assert!(hold(BUDGET_S * 3 / 2, true).is_ok());
        assert!(hold(BUDGET_S * 3 / 2 + 1, true).is_err());
        assert!(hold(BUDGET_S * 9, false).is_ok());
    }
}
