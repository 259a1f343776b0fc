//! Which cores the threads of a team run on.

/// A set of cores that a thread may run on, as the operating system keeps it.
#[cfg(target_os = "linux")]
#[derive(Debug, Clone, Copy)]
pub(super) struct Affinity(rustix::thread::CpuSet);

#[cfg(target_os = "linux")]
impl Affinity {
    /// The affinity of the calling thread; `None` if the operating system does not tell.
    pub(super) fn of_this_thread() -> Option<Self> {
        rustix::thread::sched_getaffinity(None).ok().map(Self)
    }

    /// The cores, ascending.
    pub(super) fn cores(&self) -> Vec<usize> {
        (0..rustix::thread::CpuSet::MAX_CPU).filter(|core| self.0.is_set(*core)).collect()
    }

    /// Gives the calling thread this set. Returns whether the operating system agreed.
    pub(super) fn apply(&self) -> bool {
        rustix::thread::sched_setaffinity(None, &self.0).is_ok()
    }
}

/// Pins the calling thread to one core. Returns whether the operating system agreed.
#[cfg(target_os = "linux")]
pub(super) fn pin(core: usize) -> bool {
    if core >= rustix::thread::CpuSet::MAX_CPU {
        return false;
    }
    let mut set = rustix::thread::CpuSet::new();
    set.set(core);
    Affinity(set).apply()
}

/// Where the operating system has no way to pin, threads run where it puts them.
#[cfg(not(target_os = "linux"))]
#[derive(Debug, Clone, Copy)]
pub(super) struct Affinity;

#[cfg(not(target_os = "linux"))]
impl Affinity {
    pub(super) fn of_this_thread() -> Option<Self> {
        None
    }

    pub(super) fn cores(&self) -> Vec<usize> {
        Vec::new()
    }

    pub(super) fn apply(&self) -> bool {
        false
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn pin(_core: usize) -> bool {
    false
}
