//! The threads of an instance: its own pool, in which the engine's products and convolutions run.

use candle_core::utils::get_num_threads;
use proctor_plugin_api::PluginError;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// Says so if the engine's own operations would use another number of threads: it takes it from the environment alone.
pub(crate) fn compare_with_environment(threads: usize) {
    let engine = get_num_threads();
    if engine != threads {
        tracing::warn!(
            threads,
            engine,
            "candle's own large operations go by the environment; set RAYON_NUM_THREADS={threads} to have them use as many threads"
        );
    }
}

/// Returns the pool of an instance, whose threads keep to `cpus` in turn if there are any.
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
        .map_err(|error| {
            PluginError::failed(format!("the operating system gives no {threads} threads: {error}"))
        })
}

/// Keeps the calling thread to the processors of its instance: any of them, since any free thread may take work.
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

#[cfg(test)]
mod tests {
    #[test]
    #[cfg(target_os = "linux")]
    fn threads_keep_to_the_processors_of_the_instance() {
        use rustix::thread::{CpuSet, sched_getaffinity};

        let allowed = sched_getaffinity(None).unwrap();
        let first = (0..CpuSet::MAX_CPU).find(|cpu| allowed.is_set(*cpu)).unwrap();
        let pool = super::pool(2, 0, &[u32::try_from(first).unwrap()]).unwrap();
        for set in pool.broadcast(|_| sched_getaffinity(None).unwrap()) {
            assert_eq!((set.count(), set.is_set(first)), (1, true));
        }
        assert_eq!(sched_getaffinity(None).unwrap().count(), allowed.count(), "the caller is free");
    }
}
