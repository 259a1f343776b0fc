//! The threads of an instance: a pool of its own, in which the engine's products and convolutions run.

use std::thread::available_parallelism;

use proctor_plugin_api::PluginError;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// Threads of each of so many instances: what was asked for, but not more than there are cores.
pub(crate) fn per_instance(asked: Option<usize>, instance_count: usize) -> usize {
    // What this process may use, with regard to its affinity and to control groups.
    let cores = available_parallelism().map_or(1, usize::from);
    match asked {
        None => (cores / instance_count.max(1)).max(1),
        Some(threads) if threads > cores => {
            tracing::warn!(threads, cores, "more threads than cores that the process may use; using the cores");
            cores
        }
        Some(threads) => threads,
    }
}

/// The pool of an instance, whose threads keep to `cpus` in turn if there are any.
///
/// # Errors
/// If the operating system gives no threads.
pub(crate) fn pool(threads: usize, instance_index: u32, cpus: &[u32]) -> Result<ThreadPool, PluginError> {
    let cpus: Vec<usize> = cpus.iter().filter_map(|cpu| usize::try_from(*cpu).ok()).collect();
    ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(move |thread| format!("candle-{instance_index}-{thread}"))
        .start_handler(move |thread| keep_to(&cpus, thread))
        .build()
        .map_err(|error| PluginError::failed(format!("the operating system gives no {threads} threads: {error}")))
}

/// Keeps the calling thread to the processors of its instance. All of them together: the engine hands work to whichever
/// thread is free, so a thread that is tied to one core would wait for it while others are idle.
fn keep_to(cpus: &[usize], thread: usize) {
    #[cfg(target_os = "linux")]
    if !cpus.is_empty() {
        let mut set = rustix::thread::CpuSet::new();
        cpus.iter().filter(|cpu| **cpu < rustix::thread::CpuSet::MAX_CPU).for_each(|cpu| set.set(*cpu));
        if let Err(error) = rustix::thread::sched_setaffinity(None, &set) {
            tracing::warn!(thread, %error, "cannot keep a thread to the processors of its instance");
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _unused = (cpus, thread);
}
