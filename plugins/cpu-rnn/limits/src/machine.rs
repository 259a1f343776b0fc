//! The limits of a machine, measured.

use std::{sync::Barrier, thread, time::Duration};

use proctor_rnn_kernels::{Buffer, HUGE_PAGE_BYTES};
use proctor_rnn_layer::pin_to;
use serde::Serialize;

use crate::caches::CacheSizes;
use crate::kernels::{CHAIN_CYCLES, chain, flops_per_call, isa, multiply_adds, read};
use crate::pinned::rate_on;

/// Length of one measurement.
const WINDOW: Duration = Duration::from_millis(20);
/// Number of windows; the best one counts.
const WINDOWS: usize = 5;
/// Length of a window of [`gflops_now`].
const NOW_WINDOW: Duration = Duration::from_millis(1);
/// Number of these windows; the median counts, so that a short interruption of a processor changes nothing.
const NOW_WINDOWS: usize = 9;
/// A pass over small memory reads at least this much, so that its beginning and end do not count.
const READ_BYTES: usize = 1 << 20;
/// Size of the chunks in which two cores read shared memory together: small enough for both to hold one at once.
const SHARED_CHUNK_BYTES: usize = 256 << 10;
/// Number of times they read a chunk, so that their reads overlap although one begins a little later.
const SHARED_READS: usize = 4;

/// The limits of a machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MachineLimits {
    /// Instruction set of the loops: `avx512`, `avx2` or `portable`.
    pub isa: &'static str,
    /// f32 values in a vector of these instructions.
    pub lanes: usize,
    /// Sizes of the caches.
    pub caches: CacheSizes,
    /// Speeds for each number of cores that was measured, ascending.
    pub speeds: Vec<Speeds>,
}

/// Speeds of `cores` cores at the same time. Each figure is for one of them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Speeds {
    /// Number of cores that work at the same time.
    pub cores: usize,
    /// Clock in GHz, cycles per ns.
    pub clock_ghz: f64,
    /// f32 multiply-adds in registers, counted as two, in 1e9 per second.
    pub peak_gflops: f64,
    /// Reads from half of the first level, in 1e9 bytes per second.
    pub l1_gb_per_s: f64,
    /// Reads from an eighth of the second level.
    pub l2_gb_per_s: f64,
    /// Reads from the last level, lines that only this core has held.
    pub l3_gb_per_s: f64,
    /// The same of lines that two cores have held at once; `None` with one processor.
    pub l3_shared_gb_per_s: Option<f64>,
}

/// More cores are requested than there are processors to measure on, or none.
#[derive(Debug, thiserror::Error)]
#[error("cannot measure {0} cores: there are {1} processors")]
pub struct LimitsError(usize, usize);

impl Speeds {
    /// Reads from the last level, the faster of the two ways, in 1e9 bytes per second.
    #[must_use]
    pub fn l3_best_gb_per_s(&self) -> f64 {
        self.l3_shared_gb_per_s.map_or(self.l3_gb_per_s, |shared| shared.max(self.l3_gb_per_s))
    }
}

impl MachineLimits {
    /// Measures for each of these numbers of cores, on the last ones of `cpus`: about half a second for each.
    ///
    /// # Errors
    /// [`LimitsError`].
    pub fn measure(cpus: &[usize], core_counts: &[usize]) -> Result<Self, LimitsError> {
        let mut counts = core_counts.to_vec();
        counts.sort_unstable();
        counts.dedup();
        let available = cpus.len();
        if let Some(&cores) = counts.iter().find(|count| !(1..=available).contains(*count)) {
            return Err(LimitsError(cores, available));
        }
        let caches = CacheSizes::read();
        let speeds = counts.into_iter().map(|cores| speeds(cpus, cores, caches)).collect();
        Ok(Self { isa: isa().name(), lanes: isa().lanes(), caches, speeds })
    }

    /// Returns the speeds of `cores` cores, or of the next smaller number that was measured.
    #[must_use]
    pub fn speeds_of(&self, cores: usize) -> Option<&Speeds> {
        self.speeds.iter().rev().find(|speeds| speeds.cores <= cores)
    }
}

/// Measures the f32 multiply-adds that each of these processors does now while all of them do, counted as two, in 1e9
/// per second. It is less than the peak where the clock is lower, another process has a processor, or a virtual machine
/// has two of them on one core. Takes some ms.
#[must_use]
pub fn gflops_now(cpus: &[usize]) -> f64 {
    let mut windows: Vec<_> = (0..NOW_WINDOWS).map(|_| peak_gflops(cpus, NOW_WINDOW)).collect();
    windows.sort_unstable_by(f64::total_cmp);
    windows[NOW_WINDOWS / 2]
}

/// Returns the multiply-adds in registers on these processors at the same time, in 1e9 per second for each.
fn peak_gflops(cpus: &[usize], window: Duration) -> f64 {
    rate_on(cpus, window, |_| multiply_adds()) * flops_per_call() / 1e9 / cpus.len() as f64
}

fn speeds(cpus: &[usize], cores: usize, caches: CacheSizes) -> Speeds {
    let used = &cpus[cpus.len() - cores..];
    let each = |total: f64| total / cores as f64;
    let best = |measure: &dyn Fn() -> f64| (0..WINDOWS).map(|_| measure()).fold(0.0, f64::max);
    let private = |bytes: usize| {
        let buffers: Vec<_> = used.iter().map(|_| ones(bytes)).collect();
        // Written by the thread that makes them; the first pass of each reader takes them over.
        let times = (READ_BYTES / bytes).max(1);
        let rate =
            best(&|| rate_on(used, WINDOW, |position| read(values_of(&buffers[position], bytes), times)));
        each(rate * (times * bytes) as f64 / 1e9)
    };
    let size = |bytes: u64| usize::try_from(bytes).expect("caches are small").next_multiple_of(64);
    let far = far_bytes(caches);
    Speeds {
        cores,
        clock_ghz: each(best(&|| rate_on(used, WINDOW, |_| chain())) * CHAIN_CYCLES / 1e9),
        peak_gflops: best(&|| peak_gflops(used, WINDOW)),
        l1_gb_per_s: private(size(caches.l1_bytes / 2)),
        l2_gb_per_s: private(size(caches.l2_bytes / 8)),
        l3_gb_per_s: private(far),
        l3_shared_gb_per_s: (cpus.len() > 1).then(|| {
            let buffer = ones(far * cores);
            let all = values_of(&buffer, far * cores);
            share(all, [cpus[0], cpus[cpus.len() - 1]]);
            let lines = all.as_chunks::<16>().0;
            let part = lines.len() / cores;
            let values = |position: usize| lines[position * part..][..part].as_flattened();
            let rate = best(&|| rate_on(used, WINDOW, |position| read(values(position), 1)));
            each(rate * (part * 64) as f64 / 1e9)
        }),
    }
}

/// Returns the memory for a window of `bytes` bytes to read from, every page of it written once.
///
/// Whole huge pages, however small the window: a smaller buffer would lie in 4 KB pages, and misses of the TLB would
/// count as slowness of the cache.
fn ones(bytes: usize) -> Buffer {
    let mut buffer = Buffer::zeroed_bytes(bytes.next_multiple_of(HUGE_PAGE_BYTES));
    buffer.values_mut().fill(1.0);
    buffer
}

/// Returns the first `bytes` bytes of a buffer: the window that is read.
fn values_of(buffer: &Buffer, bytes: usize) -> &[f32] {
    &buffer.values()[..bytes / size_of::<f32>()]
}

/// Returns the number of bytes for one core that do not fit its second level, but should fit the last.
fn far_bytes(caches: CacheSizes) -> usize {
    let wanted = 6 * caches.l2_bytes;
    let bytes = caches.l3_bytes.map_or(wanted, |all| wanted.min(all / 4)).max(2 * caches.l2_bytes);
    usize::try_from(bytes).expect("caches are small").next_multiple_of(64)
}

/// Reads the same memory on two processors together, a chunk at a time, so that each line is held by both.
fn share(values: &[f32], cpus: [usize; 2]) {
    let together = Barrier::new(2);
    thread::scope(|scope| {
        for cpu in cpus {
            let together = &together;
            scope.spawn(move || {
                // Elsewhere the lines may not become shared, which only makes the figure smaller.
                let _ = pin_to(&[cpu]);
                for chunk in values.chunks(SHARED_CHUNK_BYTES / size_of::<f32>()) {
                    together.wait();
                    read(chunk, SHARED_READS);
                }
            });
        }
    });
}

#[cfg(test)]
mod tests {
    use proctor_rnn_layer::allowed_cores;

    use super::*;

    #[test]
    fn a_machine_is_measured_for_each_number_of_cores() {
        let cpus = allowed_cores();
        let most = cpus.len().min(2);
        let limits = MachineLimits::measure(&cpus, &[most, 1, 1]).unwrap();
        let counts: Vec<_> = limits.speeds.iter().map(|speeds| speeds.cores).collect();
        assert_eq!(counts, if most == 1 { vec![1] } else { vec![1, most] });
        for speeds in &limits.speeds {
            let rates = [speeds.l1_gb_per_s, speeds.l2_gb_per_s, speeds.l3_best_gb_per_s()];
            let all = [[speeds.clock_ghz, speeds.peak_gflops].as_slice(), &rates].concat();
            assert!(all.iter().all(|speed| speed.is_finite() && *speed > 0.0), "{speeds:?}");
            assert_eq!(speeds.l3_shared_gb_per_s.is_some(), cpus.len() > 1);
        }
        assert_eq!(limits.lanes, isa().lanes());
        assert_eq!(limits.speeds_of(64), limits.speeds.last());
        assert_eq!(limits.speeds_of(0), None);
        let now = gflops_now(&cpus[..most]);
        assert!(now.is_finite() && now > 0.0, "{now}");
    }

    #[test]
    fn a_window_lies_in_huge_pages_however_small_it_is() {
        for bytes in [24 << 10, 256 << 10, 3 << 20] {
            let buffer = ones(bytes);
            let window = values_of(&buffer, bytes);
            assert_eq!(size_of_val(window), bytes);
            assert!(window.as_ptr().addr().is_multiple_of(HUGE_PAGE_BYTES));
            assert!(buffer.size_bytes().is_multiple_of(HUGE_PAGE_BYTES));
        }
    }

    #[test]
    fn more_cores_than_processors_are_refused() {
        let error = MachineLimits::measure(&[0], &[1, 2]).unwrap_err();
        assert_eq!(error.to_string(), "cannot measure 2 cores: there are 1 processors");
        assert!(MachineLimits::measure(&[0], &[0]).is_err());
    }
}
