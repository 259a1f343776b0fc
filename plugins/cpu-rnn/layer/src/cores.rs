//! The cores that a thread may run on.

use std::io;

/// Returns the cores that the calling thread may run on, ascending; empty if the operating system does not say.
///
/// These are the ones to choose from. How many of them may be kept busy at the same time is
/// [`Machine::cores_allowed`](crate::Machine::cores_allowed): a control group may allow less.
#[must_use]
pub fn allowed_cores() -> Vec<usize> {
    #[cfg(target_os = "linux")]
    {
        let set = rustix::thread::sched_getaffinity(None);
        let all = 0..rustix::thread::CpuSet::MAX_CPU;
        set.map(|set| all.filter(|core| set.is_set(*core)).collect()).unwrap_or_default()
    }
    #[cfg(not(target_os = "linux"))]
    Vec::new()
}

/// Pins the calling thread, and threads that it starts from now on, to these cores.
///
/// # Errors
/// Returns the system's error: a core is not there or not allowed, or threads cannot be pinned.
pub fn pin_to(cores: &[usize]) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::thread::{CpuSet, sched_setaffinity};
        let mut set = CpuSet::new();
        for core in cores {
            if *core >= CpuSet::MAX_CPU {
                return Err(io::ErrorKind::InvalidInput.into());
            }
            set.set(*core);
        }
        Ok(sched_setaffinity(None, &set)?)
    }
    #[cfg(not(target_os = "linux"))]
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_is_held_to_a_core_has_that_one_alone() {
        let cores = allowed_cores();
        assert!(cores.is_sorted() && !cores.is_empty(), "{cores:?}");
        let last = cores[cores.len() - 1];
        let held = std::thread::spawn(move || {
            pin_to(&[last]).unwrap();
            allowed_cores()
        });
        assert_eq!(held.join().unwrap(), [last]);
        assert_eq!(allowed_cores(), cores, "other threads keep theirs");
        assert!(pin_to(&[]).is_err() && pin_to(&[usize::MAX]).is_err());
    }
}
