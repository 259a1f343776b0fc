//! The machine, as far as schedules depend on it: its caches, and the cores that this process may use.
//!
//! Read from `/proc` and `/sys` of Linux; [`Machine::read_from`] takes another folder for them, so that files can
//! describe any machine. Missing values are assumed, and [`Machine::assumed`] lists them.

use std::{
    collections::BTreeSet,
    fmt,
    path::{Path, PathBuf},
};

/// The levels of caches, with sizes in bytes that are assumed if the system does not report any: the smallest of server
/// cores of the last ten years.
const CACHES: [(&str, usize); 3] =
    [("first-level data", 32 << 10), ("second-level", 1 << 20), ("last-level", 16 << 20)];

/// Features of a processor on which the speed of kernels depends; part of the identity.
const FEATURES: [&str; 6] = ["fma", "avx2", "avx512f", "avx512_bf16", "avx512_vnni", "amx_tile"];

/// A machine, as far as schedules depend on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// Name of the processor.
    pub processor: String,
    /// Family, model and stepping, and the features that kernels use.
    pub details: String,
    /// Logical processors of the machine.
    pub cores_present: usize,
    /// Number of them that this process may keep busy: its affinity, cut down to the quota of its control group.
    pub cores_allowed: usize,
    /// Size of the first-level data cache of a core.
    pub l1d_bytes: usize,
    /// Size of the private cache, `|L2|` of section 5.2.3.
    pub l2_bytes: usize,
    /// Size of the last-level cache.
    pub l3_bytes: usize,
    /// Sentences about values that could not be read and were assumed.
    pub assumed: Vec<String>,
}

impl Machine {
    /// Reads the machine that this process runs on.
    #[must_use]
    pub fn read() -> Self {
        Self::read_from(Path::new("/"))
    }

    /// Reads `proc` and `sys` below another folder.
    #[must_use]
    pub fn read_from(root: &Path) -> Self {
        let mut assumed = Vec::new();
        let cpuinfo = read(&root.join("proc/cpuinfo")).unwrap_or_default();
        let processor = first_value(&cpuinfo, "model name").unwrap_or_else(|| {
            assumed.push("the name of the processor is unknown".to_owned());
            format!("unknown {}", std::env::consts::ARCH)
        });
        let [l1d_bytes, l2_bytes, l3_bytes] = caches(root, &mut assumed);
        let cores_present = cores_present(root, &cpuinfo);
        let cores_allowed = cores_allowed(root, cores_present, &mut assumed);
        let details = details(&cpuinfo);
        Self { processor, details, cores_present, cores_allowed, l1d_bytes, l2_bytes, l3_bytes, assumed }
    }

    /// Returns a text that is equal for two machines only if the same schedule is best on both: the key of cached
    /// plans.
    #[must_use]
    pub fn identity(&self) -> String {
        format!("{}; {}; {self}", self.processor, self.details)
    }
}

/// Cores and caches in a few words.
impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kib = |bytes: usize| bytes >> 10;
        write!(
            f,
            "{} of {} cores; L1d {} KiB, L2 {} KiB, L3 {} KiB",
            self.cores_allowed,
            self.cores_present,
            kib(self.l1d_bytes),
            kib(self.l2_bytes),
            kib(self.l3_bytes)
        )
    }
}

fn read(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

/// Returns the value of the first line `key : value`.
fn first_value(text: &str, key: &str) -> Option<String> {
    let pairs = text.lines().filter_map(|line| line.split_once(':'));
    let mut values = pairs.filter(|(name, _)| name.trim() == key).map(|(_, value)| value.trim().to_owned());
    values.next().filter(|value| !value.is_empty())
}

fn details(cpuinfo: &str) -> String {
    let number = |key| first_value(cpuinfo, key).unwrap_or_else(|| "?".to_owned());
    let flags = first_value(cpuinfo, "flags").unwrap_or_default();
    let flags: BTreeSet<&str> = flags.split_whitespace().collect();
    let features: Vec<_> = FEATURES.into_iter().filter(|feature| flags.contains(feature)).collect();
    format!(
        "family {} model {} stepping {}, {}",
        number("cpu family"),
        number("model"),
        number("stepping"),
        if features.is_empty() { "no known features".to_owned() } else { features.join(" ") }
    )
}

/// Returns the sizes in bytes of the first-level data cache, the second and the third level of this machine, as the
/// system reports them.
#[must_use]
pub fn cache_sizes() -> [Option<usize>; 3] {
    cache_sizes_below(Path::new("/"))
}

/// Returns the same, as `sys` below `root` describes the first core.
fn cache_sizes_below(root: &Path) -> [Option<usize>; 3] {
    let mut sizes = [None; 3];
    let folder = root.join("sys/devices/system/cpu/cpu0/cache");
    for index in 0..8 {
        let entry = folder.join(format!("index{index}"));
        let text = |name: &str| read(&entry.join(name)).map(|text| text.trim().to_owned());
        let (Some(level), Some(kind), Some(size)) = (text("level"), text("type"), text("size")) else {
            continue;
        };
        let Some(place) = level.parse::<usize>().ok().and_then(|level| level.checked_sub(1)) else {
            continue;
        };
        if kind != "Instruction" && place < sizes.len() {
            sizes[place] = sizes[place].or(size_bytes(&size));
        }
    }
    sizes
}

/// Returns the sizes of the caches, assumed where the system does not report them.
fn caches(root: &Path, assumed: &mut Vec<String>) -> [usize; 3] {
    let sizes = cache_sizes_below(root);
    let mut known = [0; 3];
    for (place, (name, fallback)) in CACHES.into_iter().enumerate() {
        known[place] = sizes[place].unwrap_or_else(|| {
            assumed.push(format!("the size of the {name} cache is taken as {} KiB", fallback >> 10));
            fallback
        });
    }
    // A cache is never smaller than the level below it; a processor without a third level has its second as the last.
    known[1] = known[1].max(known[0]);
    known[2] = known[2].max(known[1]);
    known
}

/// Returns the number of bytes of `48K`, `2048K`, `260M` or `512`; none for zero.
fn size_bytes(text: &str) -> Option<usize> {
    let (digits, shift) = match text.as_bytes().last()? {
        b'K' => (&text[..text.len() - 1], 10),
        b'M' => (&text[..text.len() - 1], 20),
        b'G' => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    let count: usize = digits.parse().ok()?;
    count.checked_mul(1 << shift).filter(|bytes| *bytes > 0)
}

fn cores_present(root: &Path, cpuinfo: &str) -> usize {
    let online = read(&root.join("sys/devices/system/cpu/online")).and_then(|list| list_len(list.trim()));
    let listed =
        || cpuinfo.lines().filter(|line| line.split(':').next().map(str::trim) == Some("processor")).count();
    online.unwrap_or_else(listed).max(1)
}

/// Returns the number of elements of a list such as `0-3,8,10-11`.
fn list_len(list: &str) -> Option<usize> {
    let range_len = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (usize, usize) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        last.checked_sub(first)?.checked_add(1)
    };
    list.split(',').map(range_len).sum::<Option<usize>>().filter(|len| *len > 0)
}

fn cores_allowed(root: &Path, present: usize, assumed: &mut Vec<String>) -> usize {
    let status = read(&root.join("proc/self/status")).unwrap_or_default();
    let affinity = first_value(&status, "Cpus_allowed_list").and_then(|list| list_len(&list));
    if affinity.is_none() {
        assumed.push("the process may use every core".to_owned());
    }
    let allowed = affinity.unwrap_or(present).min(present);
    quota(root).map_or(allowed, |quota| allowed.min(quota)).max(1)
}

/// Returns the number of whole cores that the control groups of this process allow, at least 1; `None` without a limit.
///
/// A limit of 1.5 cores is 1: a spinning thread beyond the limit would stop all of them for the rest of the period.
fn quota(root: &Path) -> Option<usize> {
    let groups = read(&root.join("proc/self/cgroup"))?;
    let limits = groups.lines().filter_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (_, controllers, group) = (fields.next()?, fields.next()?, fields.next()?);
        group_quota(root, controllers, group)
    });
    limits.min()
}

/// Returns the lowest limit of a group and the groups around it.
fn group_quota(root: &Path, controllers: &str, group: &str) -> Option<usize> {
    let base = root.join("sys/fs/cgroup");
    let bases: Vec<PathBuf> = match controllers {
        // Version 2 has one tree; where both versions are mounted it lies in `unified`.
        "" => vec![base.clone(), base.join("unified")],
        list if list.split(',').any(|name| name == "cpu") => vec![base.join("cpu"), base.join(list)],
        _ => return None,
    };
    let group = Path::new(group.trim_start_matches('/'));
    let folders = bases.iter().flat_map(|base| group.ancestors().map(|part| base.join(part)));
    folders.filter_map(|folder| folder_quota(&folder)).min()
}

fn folder_quota(folder: &Path) -> Option<usize> {
    let version_2 = || {
        let text = read(&folder.join("cpu.max"))?;
        let mut words = text.split_whitespace();
        Some((words.next()?.parse::<u64>().ok()?, words.next()?.parse::<u64>().ok()?))
    };
    let version_1 = || {
        let number = |name| read(&folder.join(name))?.trim().parse::<u64>().ok();
        Some((number("cpu.cfs_quota_us")?, number("cpu.cfs_period_us")?))
    };
    let (quota, period) = version_2().or_else(version_1)?;
    // Without a limit the quota is "max" or -1, which is no u64.
    usize::try_from(quota.checked_div(period)?.max(1)).ok()
}

#[cfg(test)]
mod tests;
