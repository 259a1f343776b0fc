//! Energy of the processor over the timed part of a test, by the counters of its packages.
//!
//! The counters are read right before the first query, once a second, and after the last completion. A thread of its
//! own reads in between, so that a counter that wraps around is seen to do so; each reading takes some microseconds.
//! Energy between the start of issuing and the last completion is interpolated from the readings around both.

mod powercap;

use std::{io, ops::Range, path::Path, sync::Arc, time::Duration};

use parking_lot::Mutex;
use proctor_loadgen::{LibraryError, QuerySampleLibrary, TestOutcome};
use proctor_vocabulary::SampleIndex;
use proctor_words::Ticker;

use self::powercap::{Packages, PowercapError};
use crate::measure::noise::NoiseWatch;

/// Root of the counters on Linux.
const POWERCAP: &str = "/sys/class/powercap";

/// Time between two readings. At 1000 W the smallest counters, of 32 bits of 15 uJ, wrap after a minute.
const INTERVAL: Duration = Duration::from_secs(1);

/// Energy of the processor packages together.
#[derive(Debug, Clone, PartialEq)]
pub struct PackageEnergy {
    /// The energy, in joules.
    pub joules: f64,
    /// The counters, such as `package-0`.
    pub packages: Vec<String>,
}

/// Reason why there is no figure.
#[derive(Debug, thiserror::Error)]
pub enum NoEnergy {
    /// Counters are missing, or cannot be read.
    #[error(transparent)]
    Counters(#[from] PowercapError),
    /// The system has no thread to read them.
    #[error("the system has no thread to read the counters: {0}")]
    Thread(io::Error),
    /// The test has several phases.
    #[error("the test has several phases")]
    SeveralPhases,
    /// The test ended before it was measured.
    #[error("the test ended before it was measured")]
    Unmeasured,
}

/// Reads the counters while a test runs.
pub(crate) struct Meter {
    readings: Arc<Mutex<Readings>>,
    now_ns: Arc<dyn Fn() -> u64 + Send + Sync>,
    /// `None` without a source.
    ticker: Option<Ticker>,
}

struct Readings {
    counters: Result<Packages, NoEnergy>,
    /// Instants in ns with the joules since the first reading, ascending.
    read: Vec<(u64, f64)>,
    /// True if the test is between begin and end.
    is_on: bool,
}

impl Meter {
    /// Looks for the counters of this machine; `now_ns` reads the clock of the test.
    pub(crate) fn of_machine(now_ns: Arc<dyn Fn() -> u64 + Send + Sync>) -> Self {
        Self::start(Path::new(POWERCAP), now_ns)
    }

    /// Looks for counters below `root`, and starts to read them between [`begin`](Self::begin) and [`end`](Self::end).
    fn start(root: &Path, now_ns: Arc<dyn Fn() -> u64 + Send + Sync>) -> Self {
        let counters = Packages::open(root).map_err(NoEnergy::from);
        let is_there = counters.is_ok();
        let readings = Arc::new(Mutex::new(Readings { counters, read: Vec::new(), is_on: false }));
        let mut meter = Self { readings, now_ns, ticker: None };
        if is_there {
            let (readings, now_ns) = (Arc::clone(&meter.readings), Arc::clone(&meter.now_ns));
            let look = move |_| {
                let mut readings = readings.lock();
                if readings.is_on {
                    readings.read(now_ns());
                }
                INTERVAL
            };
            match Ticker::start("energy", INTERVAL, look) {
                Ok(ticker) => meter.ticker = Some(ticker),
                Err(error) => meter.readings.lock().counters = Err(NoEnergy::Thread(error)),
            }
        }
        meter
    }

    /// Reads once, and continues to read. [before the timed part]
    fn begin(&self) {
        let mut readings = self.readings.lock();
        readings.read.clear();
        readings.is_on = true;
        readings.read((self.now_ns)());
    }

    /// Reads a last time. [after the timed part]
    fn end(&self) {
        let mut readings = self.readings.lock();
        if readings.is_on {
            readings.read((self.now_ns)());
            readings.is_on = false;
        }
    }

    /// Returns the energy from the start of issuing to the last completion of a test that began at `origin_ns`, within
    /// a few microseconds.
    ///
    /// # Errors
    /// If there is no figure.
    pub(crate) fn finish_test(
        self,
        origin_ns: u64,
        outcome: &TestOutcome,
    ) -> Result<PackageEnergy, NoEnergy> {
        let phase = outcome.only_phase().ok_or(NoEnergy::SeveralPhases)?;
        let start_ns = origin_ns + phase.start_ns;
        self.finish(start_ns..start_ns + phase.duration_ns)
    }

    /// Stops the thread and returns the energy between two instants of the clock.
    ///
    /// # Errors
    /// If there is no figure.
    fn finish(mut self, window_ns: Range<u64>) -> Result<PackageEnergy, NoEnergy> {
        self.stop();
        let mut readings = self.readings.lock();
        let counters = std::mem::replace(&mut readings.counters, Err(NoEnergy::Unmeasured))?;
        let at = |instant_ns| joules_at(&readings.read, instant_ns).ok_or(NoEnergy::Unmeasured);
        Ok(PackageEnergy { joules: at(window_ns.end)? - at(window_ns.start)?, packages: counters.names() })
    }

    fn stop(&mut self) {
        if let Some(ticker) = self.ticker.take() {
            ticker.stop();
        }
    }
}

impl Drop for Meter {
    /// Ends the thread of a test that could not begin.
    fn drop(&mut self) {
        self.stop();
    }
}

impl Readings {
    /// Takes a reading. The first that fails is the reason why there is no figure.
    fn read(&mut self, now_ns: u64) {
        let Ok(counters) = &mut self.counters else { return };
        match counters.read_joules() {
            Ok(joules) => self.read.push((now_ns, joules)),
            Err(error) => self.counters = Err(error.into()),
        }
    }
}

/// Returns the joules at an instant, interpolated linearly between the readings around it; outside their
/// range, the first or last reading. `None` if there are fewer than two readings.
fn joules_at(read: &[(u64, f64)], instant_ns: u64) -> Option<f64> {
    let after = read.partition_point(|(at_ns, _)| *at_ns < instant_ns).clamp(1, read.len().max(2) - 1);
    let ((from_ns, from), (to_ns, to)) = (*read.get(after - 1)?, *read.get(after)?);
    let share = (instant_ns as f64 - from_ns as f64) / (to_ns - from_ns).max(1) as f64;
    Some(from + share.clamp(0.0, 1.0) * (to - from))
}

/// The library of a test, which is called right before and right after the timed part.
pub(crate) struct MeteredLibrary<'a> {
    pub(crate) library: &'a dyn QuerySampleLibrary,
    pub(crate) meter: Option<&'a Meter>,
    pub(crate) noise: Option<&'a NoiseWatch>,
}

impl QuerySampleLibrary for MeteredLibrary<'_> {
    fn name(&self) -> &str {
        self.library.name()
    }

    fn total_sample_count(&self) -> u64 {
        self.library.total_sample_count()
    }

    fn performance_sample_count(&self) -> u64 {
        self.library.performance_sample_count()
    }

    fn load(&self, samples: &[SampleIndex]) -> Result<(), LibraryError> {
        self.library.load(samples)?;
        self.meter.inspect(|meter| meter.begin());
        self.noise.inspect(|noise| noise.begin());
        Ok(())
    }

    fn unload(&self, samples: &[SampleIndex]) -> Result<(), LibraryError> {
        self.noise.inspect(|noise| noise.end());
        self.meter.inspect(|meter| meter.end());
        self.library.unload(samples)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        sync::atomic::{AtomicU64, Ordering::SeqCst},
    };

    use tempfile::TempDir;

    use super::*;

    /// Packages with these counters, of 1 J at most.
    fn packages(counters_uj: &[u64]) -> TempDir {
        let root = tempfile::tempdir().unwrap();
        for (number, uj) in counters_uj.iter().enumerate() {
            let folder = root.path().join(format!("intel-rapl:{number}"));
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("name"), format!("package-{number}\n")).unwrap();
            fs::write(folder.join("max_energy_range_uj"), "1000000\n").unwrap();
            fs::write(folder.join("energy_uj"), format!("{uj}\n")).unwrap();
        }
        root
    }

    fn set(root: &TempDir, number: usize, uj: u64) {
        fs::write(root.path().join(format!("intel-rapl:{number}/energy_uj")), format!("{uj}\n")).unwrap();
    }

    fn meter(root: &TempDir) -> (Meter, Arc<AtomicU64>) {
        let now_ns = Arc::new(AtomicU64::new(0));
        let clock = Arc::clone(&now_ns);
        (Meter::start(root.path(), Arc::new(move || clock.load(SeqCst))), now_ns)
    }

    #[test]
    fn all_packages_count_and_a_counter_may_wrap() {
        let root = packages(&[900_000, 100]);
        let (meter, now_ns) = meter(&root);
        meter.begin();
        now_ns.store(1_000_000_000, SeqCst);
        set(&root, 0, 200_000);
        set(&root, 1, 50_100);
        meter.end();
        let energy = meter.finish(0..1_000_000_000).unwrap();
        assert!((energy.joules - 0.35).abs() < 1e-9, "{}", energy.joules);
        assert_eq!(energy.packages, ["package-0", "package-1"]);
    }

    #[test]
    fn only_the_timed_part_counts() {
        // 100 J in the first second, 50 J in the next.
        let read = [(1_000_000_000, 0.0), (2_000_000_000, 100.0), (3_000_000_000, 150.0)];
        for (instant_s, joules) in
            [(0.5, 0.0), (1.0, 0.0), (1.25, 25.0), (2.0, 100.0), (2.5, 125.0), (9.0, 150.0)]
        {
            assert_eq!(joules_at(&read, (instant_s * 1e9) as u64), Some(joules), "{instant_s}");
        }
        assert_eq!(joules_at(&read[..1], 1), None);
        assert_eq!(joules_at(&[], 1), None);
    }

    #[test]
    fn what_vanishes_on_the_way_is_named_and_never_zero() {
        let root = packages(&[5]);
        let (meter, _) = meter(&root);
        meter.begin();
        fs::remove_file(root.path().join("intel-rapl:0/energy_uj")).unwrap();
        meter.end();
        let error = meter.finish(0..1).unwrap_err().to_string();
        assert!(error.contains("energy_uj: "), "{error}");
        let (meter, _) = self::meter(&packages(&[]));
        assert!(meter.finish(0..1).unwrap_err().to_string().starts_with("there is no processor package in "));
        let (meter, _) = self::meter(&packages(&[7]));
        assert_eq!(meter.finish(0..1).unwrap_err().to_string(), "the test ended before it was measured");
    }

    #[test]
    fn the_thread_reads_between_begin_and_end() {
        let root = packages(&[0]);
        let (meter, now_ns) = meter(&root);
        meter.begin();
        for (turn, uj) in [(1, 800_000), (2, 600_000)] {
            now_ns.store(turn, SeqCst);
            set(&root, 0, uj);
            let begun = std::time::Instant::now();
            while meter.readings.lock().read.last().is_none_or(|(at_ns, _)| *at_ns != turn) {
                assert!(begun.elapsed() < Duration::from_secs(30), "the thread does not read");
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        meter.end();
        // 0.8 J, and 0.8 J more by way of the end of the range.
        assert!((meter.finish(0..2).unwrap().joules - 1.6).abs() < 1e-5);
    }
}
