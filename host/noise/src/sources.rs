//! The files of the system that a guard reads, and the counters in them.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::{
    kept_file::{Buffer, KeptFile},
    proc_text::{
        ProcessCounters, ProcessorTicks, cgroup_paths, involuntary_switches, number, process_counters,
        processor_ticks, quota_throttled_ns,
    },
};

/// Maximum number of processors whose frequency and throttling are read: enough to see a machine slow down, without
/// more work on hundreds of processors than on eight.
const SAMPLED_PROCESSORS_MAX: usize = 8;

/// Counters at an instant. `None` is unreadable.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counters {
    pub(crate) at_ns: u64,
    pub(crate) processors: Option<ProcessorTicks>,
    /// Processor time of this process and its children, in ticks.
    pub(crate) own_ticks: Option<u64>,
    pub(crate) minor_faults: Option<u64>,
    pub(crate) major_faults: Option<u64>,
    pub(crate) involuntary_switches: Option<u64>,
    pub(crate) least_khz: Option<u64>,
    pub(crate) greatest_khz: Option<u64>,
    pub(crate) thermal_throttles: Option<u64>,
    pub(crate) quota_throttled_ns: Option<u64>,
}

/// Threads that issue queries.
#[derive(Debug, Clone, Copy)]
pub struct Issuers {
    /// Number of them, the one that begins among them.
    pub count: usize,
    /// Beginning of the names of the others, which exist once issuing has begun.
    pub name: &'static str,
}

/// Open files, with the last reading of each that may end before the guard does.
#[derive(Debug)]
pub(crate) struct Sources {
    /// `/`, except in tests.
    root: PathBuf,
    processors: Vec<u32>,
    issuers: Issuers,
    buffer: Buffer,
    processor_times: io::Result<KeptFile>,
    /// This process, and from the beginning of the test its children.
    processes: Vec<(KeptFile, ProcessCounters)>,
    threads: Vec<IssuingThread>,
    frequencies: Vec<KeptFile>,
    throttles: Vec<KeptFile>,
    quota: Option<KeptFile>,
}

#[derive(Debug)]
struct IssuingThread {
    id: u32,
    status: KeptFile,
    switches: u64,
}

impl Sources {
    /// Opens the files below `root` about this process and these processors, which are ascending.
    pub(crate) fn open(root: &Path, processors: Vec<u32>, issuers: Issuers) -> Self {
        let sampled = spread(&processors, SAMPLED_PROCESSORS_MAX);
        let of_processor = |cpu: u32, file: &str| {
            KeptFile::open(&root.join(format!("sys/devices/system/cpu/cpu{cpu}/{file}"))).ok()
        };
        let frequencies =
            sampled.iter().filter_map(|cpu| of_processor(*cpu, "cpufreq/scaling_cur_freq")).collect();
        let cores =
            sampled.iter().filter_map(|cpu| of_processor(*cpu, "thermal_throttle/core_throttle_count"));
        let package = sampled.first();
        let package = package.and_then(|cpu| of_processor(*cpu, "thermal_throttle/package_throttle_count"));
        Self {
            throttles: cores.chain(package).collect(),
            frequencies,
            quota: quota_file(root),
            processor_times: KeptFile::open(&root.join("proc/stat")),
            processes: Vec::new(),
            threads: Vec::new(),
            buffer: Buffer::default(),
            root: root.to_owned(),
            processors,
            issuers,
        }
    }

    /// Looks for this process, its children, and the thread that is about to issue, or to start others that do.
    pub(crate) fn begin(&mut self, issuing_thread: u32) {
        self.processes.clear();
        let own = self.root.join("proc/self/stat");
        let children = descendants(&self.root, std::process::id());
        let children = children.into_iter().map(|id| self.root.join(format!("proc/{id}/stat")));
        let opened = [own].into_iter().chain(children).filter_map(|path| KeptFile::open(&path).ok());
        self.processes.extend(opened.map(|file| (file, ProcessCounters::default())));
        self.threads.clear();
        self.add_thread(issuing_thread);
    }

    /// Returns the number of processors that are examined.
    pub(crate) fn processor_count(&self) -> usize {
        self.processors.len()
    }

    /// Returns the number of issuing threads that were found.
    pub(crate) fn issuing_thread_count(&self) -> usize {
        self.threads.len()
    }

    /// Returns the apparent reason why the times of the processors cannot be read, if any.
    pub(crate) fn obstacle(&self) -> Option<String> {
        match &self.processor_times {
            Err(error) => Some(format!("cannot read /proc/stat: {error}")),
            Ok(_) if self.processors.is_empty() => {
                Some("the system does not tell which processors the process may use".to_owned())
            }
            Ok(_) => None,
        }
    }

    pub(crate) fn read(&mut self, at_ns: u64) -> Counters {
        self.find_threads();
        let buffer = &mut self.buffer;
        let processors = self.processor_times.as_ref().ok().and_then(|file| file.read(buffer).ok());
        let processors = processors.and_then(|text| processor_ticks(text, &self.processors));
        for (file, last) in &mut self.processes {
            // An ended thread keeps its used time.
            *last = file.read(buffer).ok().and_then(process_counters).unwrap_or(*last);
        }
        for thread in &mut self.threads {
            let switches = thread.status.read(buffer).ok().and_then(involuntary_switches);
            thread.switches = switches.unwrap_or(thread.switches);
        }
        let own = self.processes.first().map(|(_, own)| *own);
        let mut number_in = |file: &KeptFile| file.read(buffer).ok().and_then(number::<u64>);
        let mut counters = Counters {
            at_ns,
            processors,
            own_ticks: own.map(|_| self.processes.iter().map(|(_, process)| process.ticks).sum()),
            minor_faults: own.map(|own| own.minor_faults),
            major_faults: own.map(|own| own.major_faults),
            involuntary_switches: (!self.threads.is_empty())
                .then(|| self.threads.iter().map(|thread| thread.switches).sum()),
            ..Counters::default()
        };
        for khz in self.frequencies.iter().filter_map(&mut number_in) {
            counters.least_khz = Some(counters.least_khz.map_or(khz, |least| least.min(khz)));
            counters.greatest_khz = counters.greatest_khz.max(Some(khz));
        }
        let throttles = self.throttles.iter().filter_map(&mut number_in).reduce(u64::saturating_add);
        let quota = self.quota.as_ref().and_then(|file| file.read(buffer).ok());
        Counters {
            thermal_throttles: throttles,
            quota_throttled_ns: quota.and_then(quota_throttled_ns),
            ..counters
        }
    }

    /// Looks for the issuing threads after the first, which are started when issuing begins.
    fn find_threads(&mut self) {
        if self.threads.is_empty() || self.threads.len() >= self.issuers.count {
            return;
        }
        let entries = fs::read_dir(self.root.join("proc/self/task")).into_iter().flatten().flatten();
        for entry in entries {
            let Some(id) = entry.file_name().to_str().and_then(number) else { continue };
            let name = fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
            let is_known = self.threads.iter().any(|thread| thread.id == id);
            if name.starts_with(self.issuers.name) && !is_known {
                self.add_thread(id);
            }
        }
    }

    fn add_thread(&mut self, id: u32) {
        let path = self.root.join(format!("proc/self/task/{id}/status"));
        if let Ok(status) = KeptFile::open(&path) {
            self.threads.push(IssuingThread { id, status, switches: 0 });
        }
    }
}

/// Selects at most `count` of these, evenly spread.
fn spread(processors: &[u32], count: usize) -> Vec<u32> {
    let step = processors.len().div_ceil(count).max(1);
    processors.iter().copied().step_by(step).collect()
}

/// Returns the file with the time for which the quota of this process's cgroup has held it.
fn quota_file(root: &Path) -> Option<KeptFile> {
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).ok()?;
    let (second, first) = cgroup_paths(&groups, "cpu");
    let below = |hierarchy: &str, path: &str| root.join(hierarchy).join(path.trim_start_matches('/'));
    let folders = [
        second.map(|path| below("sys/fs/cgroup", path)),
        first.map(|path| below("sys/fs/cgroup/cpu", path)),
        first.map(|path| below("sys/fs/cgroup/cpu,cpuacct", path)),
    ];
    let has_figure =
        |path: &PathBuf| fs::read_to_string(path).ok().as_deref().and_then(quota_throttled_ns).is_some();
    let mut files = folders.into_iter().flatten().map(|folder| folder.join("cpu.stat"));
    files.find(has_figure).and_then(|path| KeptFile::open(&path).ok())
}

/// Returns the children of a process, their children and so on, as they are now.
fn descendants(root: &Path, ancestor: u32) -> Vec<u32> {
    let entries = fs::read_dir(root.join("proc")).into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str().and_then(number::<u32>));
    let parent = |id: u32| {
        let stat = fs::read_to_string(root.join(format!("proc/{id}/stat"))).ok()?;
        Some((id, process_counters(&stat)?.parent))
    };
    let parents: Vec<(u32, u32)> = ids.filter_map(parent).collect();
    let mut found = vec![ancestor];
    let mut position = 0;
    while let Some(&process) = found.get(position) {
        let children = parents.iter().filter(|(id, parent)| *parent == process && !found.contains(id));
        let children: Vec<_> = children.map(|(id, _)| *id).collect();
        found.extend(children);
        position += 1;
    }
    found.split_off(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_of_children_are_own_and_others_are_not() {
        let root = tempfile::tempdir().unwrap();
        for (id, parent) in [(10, 1), (11, 10), (12, 11), (13, 1), (14, 12)] {
            let folder = root.path().join(format!("proc/{id}"));
            fs::create_dir_all(&folder).unwrap();
            let stat = format!("{id} (x) S {parent} 0 0 0 -1 0 1 0 0 0 5 5 0 0\n");
            fs::write(folder.join("stat"), stat).unwrap();
        }
        let mut found = descendants(root.path(), 10);
        found.sort_unstable();
        assert_eq!(found, [11, 12, 14]);
        assert_eq!(descendants(root.path(), 99), [0_u32; 0]);
    }

    #[test]
    fn few_processors_are_all_read_and_many_evenly() {
        assert_eq!(spread(&[0, 2], 8), [0, 2]);
        assert_eq!(spread(&[], 8), [0_u32; 0]);
        let many = spread(&(0..100).collect::<Vec<_>>(), 8);
        assert_eq!((many.len(), many[0], many[7]), (8, 0, 91));
    }

    #[test]
    fn this_machine_shows_its_own_process() {
        let issuers = Issuers { count: 2, name: "second-issuer" };
        let mut sources = Sources::open(Path::new("/"), vec![0], issuers);
        let id = rustix::thread::gettid().as_raw_pid().unsigned_abs();
        sources.begin(id);
        let (tell, told) = std::sync::mpsc::channel::<()>();
        let (say, ready) = std::sync::mpsc::channel();
        let other = std::thread::Builder::new().name("second-issuer".to_owned());
        let other = other.spawn(move || say.send(()).is_ok() && told.recv().is_err()).unwrap();
        // It has its name once it runs.
        ready.recv().unwrap();
        let counters = sources.read(7);
        assert_eq!((counters.at_ns, sources.issuing_thread_count()), (7, 2));
        assert!(counters.own_ticks.is_some() && counters.involuntary_switches.is_some(), "{counters:?}");
        drop(tell);
        assert!(other.join().unwrap());
        // An ended thread keeps its counts.
        let later = sources.read(8);
        assert!(later.involuntary_switches >= counters.involuntary_switches, "{later:?}");
    }
}
