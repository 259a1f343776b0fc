//! Memory for each issued query: how much more a process holds after more queries.
//!
//! A process does not give memory back in a way that can be relied on, so each length is measured in a new one.

use std::{error::Error, process::Command, sync::Arc, time::Duration};

use parking_lot::Mutex;
use proctor_loadgen::Progress;
use serde::{Deserialize, Serialize};

use super::experiment::{one_query, saturated};
use proctor_bed::{Interrupt, NullRun};
use proctor_display::Terminal;
use proctor_words::{CommandError, HostError, Ticker, process_memory_bytes};

/// Two lengths, in queries. The recorder's memory grows in steps that double; both lengths are at the end of a step, so
/// that unused memory does not count.
const LENGTHS: [u64; 2] = [((1 << 9) - 1) * 1024, ((1 << 12) - 1) * 1024];
const QUICK_LENGTHS: [u64; 2] = [((1 << 7) - 1) * 1024, ((1 << 9) - 1) * 1024];
const LOOK_INTERVAL: Duration = Duration::from_micros(500);

/// Memory that a process held while it tested.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct Held {
    /// Number of samples issued by the last look.
    issued_count: u64,
    resident_bytes: u64,
}

/// Returns the bytes for each issued query, to one decimal: memory is counted in pages, and is never quite still.
///
/// # Errors
/// If the processes cannot be started or do not report their memory.
pub(super) fn bytes_per_query(quick: bool) -> Result<f64, HostError> {
    let [short, long] = if quick { QUICK_LENGTHS } else { LENGTHS };
    let (of_short, of_long) = (held(short)?, held(long)?);
    let bytes = of_long.resident_bytes as f64 - of_short.resident_bytes as f64;
    Ok((bytes / (long - short) as f64 * 10.0).round() / 10.0)
}

/// Returns the memory that a process held shortly before the last of `query_count` queries. On a busy machine the look
/// may come too early, so it is tried some times.
fn held(query_count: u64) -> Result<Held, HostError> {
    const ATTEMPTS: u32 = 5;
    let is_late_enough = |held: &Held| held.issued_count >= query_count - query_count / 50;
    let mut best = held_once(query_count)?;
    for _ in 1..ATTEMPTS {
        if is_late_enough(&best) {
            break;
        }
        let held = held_once(query_count)?;
        if held.issued_count > best.issued_count {
            best = held;
        }
    }
    Ok(best)
}

/// Runs a test in another process of this program.
fn held_once(query_count: u64) -> Result<Held, HostError> {
    let program = std::env::current_exe().map_err(wrong)?;
    let run = Command::new(program).args(["bench", "memory-probe", &query_count.to_string()]).output();
    let run = run.map_err(wrong)?;
    if !run.status.success() {
        return Err(wrong(String::from_utf8_lossy(&run.stderr).trim()));
    }
    serde_json::from_slice(&run.stdout).map_err(wrong)
}

fn wrong(cause: impl Into<Box<dyn Error + Send + Sync>>) -> HostError {
    CommandError::Unmeasured { what: "the memory for queries", cause: cause.into() }.into()
}

/// Runs the test, with samples in their own queries or, in Offline, in one, and returns the memory that this process
/// held when the last of them were issued, as a line of JSON.
///
/// # Errors
/// If the test cannot be made, or the system does not report the memory of a process.
pub(super) fn probe(sample_count: u64, offline: bool) -> Result<String, HostError> {
    let last = Arc::new(Mutex::new(Held::default()));
    let observer = Mutex::new(None);
    let watch = |progress: Progress| {
        let last = Arc::clone(&last);
        let look = move |_| {
            // After the last completion results are made, not queries.
            let resident_bytes = process_memory_bytes("VmRSS");
            if let (Some(phase), Some(resident_bytes)) = (progress.current(), resident_bytes)
                && phase.completed_count < sample_count
            {
                let held = Held { issued_count: phase.issued_count, resident_bytes };
                *last.lock() = held;
            }
            LOOK_INTERVAL
        };
        let started = Ticker::start("memory", LOOK_INTERVAL, look);
        *observer.lock() = started.ok();
    };
    let settings = if offline { one_query(sample_count) } else { saturated(sample_count) };
    NullRun::inline(settings).run_watched(&Interrupt::never(Terminal::observer()), Some(&watch))?;
    if let Some(observer) = observer.into_inner() {
        observer.stop();
    }
    let held = *last.lock();
    if held.issued_count == 0 {
        return Err(wrong("the system does not tell how much a process holds"));
    }
    Ok(serde_json::to_string(&held).expect("two numbers can be written") + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_says_how_many_queries_took_how_much() {
        for offline in [false, true] {
            let held: Held = serde_json::from_str(&probe(200_000, offline).unwrap()).unwrap();
            assert!(held.issued_count > 0 && held.issued_count <= 200_000, "{held:?}");
            assert!(held.resident_bytes > 0, "{held:?}");
        }
    }
}
