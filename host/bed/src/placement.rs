//! Processors for the instances of a model and for the issuing thread.
//!
//! A sleeping thread woken on a core that another thread spins on has to wait for it: where the issuing thread and an
//! instance happen to share a processor, latencies of a microsecond become several. So, unless `placement = off`:
//!
//! - The allowed processors are divided among the instances, whole cores first. An instance gets its list, and its
//!   thread is held to it. A plugin that pins threads of its own pins them there: the first one named is for the thread
//!   that executes.
//! - The issuing thread keeps to the first allowed core while a test runs. That core stands last in the list of the
//!   last instance: a plugin with a thread for every processor uses it too, and shares it with an issuing thread that
//!   mostly waits by then.
//! - With more instances than processors there is no division, and nothing is held anywhere.
//!
//! Nothing is changed outside of a test, so threads that a plugin starts when it is opened or loads a model go where
//! the system puts them.

pub(crate) mod devices;

use std::{collections::BTreeMap, fs, sync::OnceLock};

use proctor_config::Settings;
use proctor_plugin_api as plugin_api;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use self::devices::Devices;
use crate::plugin::dispatch::Dispatch;

/// Processors of the instances and of the issuing thread. An empty list means any.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Placement {
    instances: Vec<Vec<u32>>,
    issuer: Vec<u32>,
}

impl Placement {
    /// Returns the placement of instances and issuing threads on this machine. A plugin that takes whole
    /// queries places its own threads, so the issuing threads are not pinned.
    pub(crate) fn new(settings: &Settings, dispatch: Dispatch) -> Self {
        if settings.run.placement == "off" || settings.run.virtual_time {
            return Self::default();
        }
        let issuer_count = usize::try_from(settings.test.server_num_issue_query_threads);
        let mut placement =
            Self::plan(allowed_cores(), settings.run.instances, issuer_count.unwrap_or(usize::MAX));
        if dispatch == Dispatch::WholeQueries {
            placement.issuer.clear();
        }
        tracing::debug!(instances = ?placement.instances, issuer = ?placement.issuer, "placement");
        placement
    }

    /// Divides cores, each given by its processors.
    fn plan(cores: &[Vec<u32>], instance_count: usize, issuer_count: usize) -> Self {
        let processor_count: usize = cores.iter().map(Vec::len).sum();
        if instance_count == 0 || instance_count > processor_count {
            return Self::default();
        }
        // The issuing thread's core comes last.
        let order: Vec<&Vec<u32>> = cores[1..].iter().chain(&cores[..1]).collect();
        let instances: Vec<Vec<u32>> = if instance_count <= order.len() {
            divided(&order, instance_count).map(processors).collect()
        } else {
            divided(&processors(&order), instance_count).map(<[u32]>::to_vec).collect()
        };
        let is_first = |cpu: &u32| instances.iter().any(|list| list.first() == Some(cpu));
        let issuer: Vec<u32> = cores[0].iter().copied().filter(|cpu| !is_first(cpu)).collect();
        let issuer = if issuer.len() >= issuer_count.max(1) { issuer } else { Vec::new() };
        Self { instances, issuer }
    }

    /// Returns the processors of an instance; none if it may be anywhere.
    pub(crate) fn of_instance(&self, number: usize) -> &[u32] {
        self.instances.get(number).map_or(&[], Vec::as_slice)
    }

    /// Returns the processors of the issuing thread; none if it may be anywhere.
    pub(crate) fn of_issuer(&self) -> &[u32] {
        &self.issuer
    }

    /// Returns the placement of `instance_count` instances in the form the plugin receives.
    pub(crate) fn told(&self, instance_count: usize, devices: &Devices) -> Vec<plugin_api::Placement> {
        let number = |count: usize| u32::try_from(count).expect("settings allow 1024 instances");
        let told = |index: usize| plugin_api::Placement {
            instance_index: number(index),
            instance_count: number(instance_count),
            cpus: self.of_instance(index).to_vec(),
            device_index: devices.of_instance(number(index)),
        };
        (0..instance_count).map(told).collect()
    }

    /// Holds the calling thread to the issuing thread's processors until the result is dropped.
    pub(crate) fn hold_issuer(&self) -> Held {
        let before = (!self.issuer.is_empty()).then(|| sched_getaffinity(None).ok()).flatten();
        if before.is_some() {
            hold(&self.issuer);
        }
        Held(before)
    }
}

/// A thread that is pinned to some processors. Dropping this restores its earlier processors.
#[derive(Debug)]
pub(crate) struct Held(Option<CpuSet>);

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(before) = &self.0
            && let Err(error) = sched_setaffinity(None, before)
        {
            tracing::warn!(%error, "cannot give the issuing thread its processors back");
        }
    }
}

/// Holds the calling thread to these processors, if there are any. A failure is no reason not to run.
pub(crate) fn hold(cpus: &[u32]) {
    if cpus.is_empty() {
        return;
    }
    let mut set = CpuSet::new();
    cpus.iter().for_each(|cpu| set.set(*cpu as usize));
    if let Err(error) = sched_setaffinity(None, &set) {
        tracing::warn!(%error, ?cpus, "cannot hold a thread to its processors");
    }
}

/// Splits the list into `part_count` non-empty parts, earlier ones longer if need be.
fn divided<T>(list: &[T], part_count: usize) -> impl Iterator<Item = &[T]> {
    let (least, longer_count) = (list.len() / part_count, list.len() % part_count);
    let start = move |part: usize| part * least + part.min(longer_count);
    (0..part_count).map(move |part| &list[start(part)..start(part + 1)])
}

/// Returns the processors of cores: one of each core, then the second ones, and so on.
fn processors<C: AsRef<[u32]>>(cores: &[C]) -> Vec<u32> {
    let widest = cores.iter().map(|core| core.as_ref().len()).max().unwrap_or(0);
    let of_rank = |rank: usize| cores.iter().filter_map(move |core| core.as_ref().get(rank).copied());
    (0..widest).flat_map(of_rank).collect()
}

/// Returns the processors that this process may use, core by core, as they were at the first call, which must precede
/// the loading of a plugin: it may pin the calling thread to some of them.
pub(crate) fn allowed_cores() -> &'static [Vec<u32>] {
    static AT_FIRST: OnceLock<Vec<Vec<u32>>> = OnceLock::new();
    AT_FIRST.get_or_init(read_allowed_cores)
}

/// Returns the calling thread's processors by core. If the system reports no cores, each processor is one.
fn read_allowed_cores() -> Vec<Vec<u32>> {
    // It fails if there are more processors than the set has room for; then nothing is placed.
    let Ok(allowed) = sched_getaffinity(None) else { return Vec::new() };
    let allowed = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu));
    let mut cores: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for cpu in allowed.filter_map(|cpu| u32::try_from(cpu).ok()) {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        let first = fs::read_to_string(path).ok().and_then(|list| first_number(&list));
        cores.entry(first.unwrap_or(cpu)).or_default().push(cpu);
    }
    cores.into_values().collect()
}

/// Returns the first number of a list such as `3,11` or `3-4`.
fn first_number(list: &str) -> Option<u32> {
    let end = list.find(|c: char| !c.is_ascii_digit()).unwrap_or(list.len());
    list[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(count: u32) -> Vec<Vec<u32>> {
        (0..count).map(|cpu| vec![cpu]).collect()
    }

    fn planned(cores: &[Vec<u32>], instances: usize) -> (Vec<Vec<u32>>, Vec<u32>) {
        let Placement { instances, issuer } = Placement::plan(cores, instances, 1);
        (instances, issuer)
    }

    #[test]
    fn instances_get_lists_of_their_own_and_the_issuer_the_first_core() {
        assert_eq!(planned(&plain(1), 1), (vec![vec![0]], vec![]));
        assert_eq!(planned(&plain(2), 1), (vec![vec![1, 0]], vec![0]));
        assert_eq!(planned(&plain(2), 2), (vec![vec![1], vec![0]], vec![]));
        assert_eq!(planned(&plain(5), 2), (vec![vec![1, 2, 3], vec![4, 0]], vec![0]));
        assert_eq!(planned(&plain(2), 3), (vec![], vec![]));
        assert_eq!(planned(&[], 1), (vec![], vec![]));
    }

    #[test]
    fn the_two_threads_of_a_core_stay_together_if_they_can() {
        let cores = [vec![0, 4], vec![1, 5], vec![2, 6], vec![3, 7]];
        assert_eq!(planned(&cores, 2), (vec![vec![1, 2, 5, 6], vec![3, 0, 7, 4]], vec![0, 4]));
        let (instances, issuer) = planned(&cores, 8);
        assert_eq!(instances, [[1], [2], [3], [0], [5], [6], [7], [4]]);
        assert_eq!(issuer, Vec::<u32>::new());
    }

    #[test]
    fn several_issuing_threads_are_not_crowded_onto_one_processor() {
        assert_eq!(Placement::plan(&plain(4), 1, 2).issuer, Vec::<u32>::new());
        assert_eq!(Placement::plan(&[vec![0, 2], vec![1, 3]], 1, 2).issuer, [0, 2]);
    }

    #[test]
    fn every_processor_is_in_one_list() {
        for (core_count, width) in [(1, 1), (3, 1), (4, 2), (7, 2), (5, 4)] {
            let cores: Vec<Vec<u32>> = (0..core_count)
                .map(|core| (0..width).map(|rank| core + rank * core_count).collect())
                .collect();
            for instances in 1..=(core_count * width) as usize {
                let (lists, _) = planned(&cores, instances);
                assert_eq!(lists.len(), instances);
                assert!(lists.iter().all(|list| !list.is_empty()));
                let mut all = lists.concat();
                all.sort_unstable();
                assert_eq!(all, (0..core_count * width).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn the_machine_has_cores_and_a_thread_can_be_held_and_let_go() {
        let cores = allowed_cores();
        assert!(!cores.is_empty() && cores.iter().all(|core| !core.is_empty()));
        let allowed = || sched_getaffinity(None).unwrap();
        let before = allowed();
        let first = cores[0][0];
        let placement = Placement { instances: Vec::new(), issuer: vec![first] };
        let held = placement.hold_issuer();
        assert!(allowed().count() == 1 && allowed().is_set(first as usize));
        drop(held);
        assert_eq!(allowed(), before);
        assert_eq!(
            (first_number("3-4\n"), first_number("12,40"), first_number("\n")),
            (Some(3), Some(12), None)
        );
    }
}
