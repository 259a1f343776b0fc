//! The threads of an instance.

use std::sync::Arc;

use proctor_plugin_api::PluginError;
use rayon::ThreadPoolBuilder;
use tract_onnx::prelude::multithread::Executor;

/// Makes the threads of one instance, held to these processors, or to none if the list is empty.
///
/// tract runs an operator on the pool alone, while the calling thread waits; so a pool of one would only cost two
/// switches of threads.
pub(crate) fn executor(threads: usize, instance: u32, cpus: &[u32]) -> Result<Executor, PluginError> {
    if threads <= 1 {
        return Ok(Executor::SingleThread);
    }
    let hold = hold_to(cpus);
    let pool = ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(move |thread| format!("tract-{instance}-{thread}"))
        .start_handler(move |_| hold())
        .build();
    let pool =
        pool.map_err(|error| PluginError::failed(format!("cannot start {threads} threads: {error}")))?;
    Ok(Executor::MultiThread(Arc::new(pool)))
}

/// Returns a function that holds the calling thread to these processors.
#[cfg(target_os = "linux")]
fn hold_to(cpus: &[u32]) -> impl Fn() + Send + Sync + 'static {
    use rustix::thread::{CpuSet, sched_setaffinity};

    let mut set = CpuSet::new();
    let cpus = cpus.iter().filter_map(|cpu| usize::try_from(*cpu).ok());
    cpus.filter(|cpu| *cpu < CpuSet::MAX_CPU).for_each(|cpu| set.set(cpu));
    move || {
        if set.count() > 0
            && let Err(error) = sched_setaffinity(None, &set)
        {
            tracing::warn!(%error, "a thread of tract is not held to the instance's processors");
        }
    }
}

/// Elsewhere threads go where the system puts them.
#[cfg(not(target_os = "linux"))]
fn hold_to(_cpus: &[u32]) -> impl Fn() + Send + Sync + 'static {
    || ()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thread_is_the_caller_and_more_are_a_pool() {
        assert!(matches!(executor(1, 0, &[]), Ok(Executor::SingleThread)));
        let Ok(Executor::MultiThread(pool)) = executor(3, 0, &[]) else { panic!("no pool") };
        assert_eq!(pool.current_num_threads(), 3);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn threads_keep_to_the_processors_of_the_instance() {
        use rustix::thread::{CpuSet, sched_getaffinity};

        let allowed = sched_getaffinity(None).unwrap();
        let first = (0..CpuSet::MAX_CPU).find(|cpu| allowed.is_set(*cpu)).unwrap();
        let Ok(Executor::MultiThread(pool)) = executor(2, 0, &[u32::try_from(first).unwrap()]) else {
            panic!("no pool")
        };
        for set in pool.broadcast(|_| sched_getaffinity(None).unwrap()) {
            assert_eq!((set.count(), set.is_set(first)), (1, true));
        }
        assert_eq!(sched_getaffinity(None).unwrap().count(), allowed.count(), "the caller is free");
    }
}
