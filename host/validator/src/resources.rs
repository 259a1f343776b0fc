//! Threads, descriptors and memory of this process, as the system counts them.

use std::{collections::BTreeMap, fs};

/// Names of the threads of this process, by their ids.
pub(crate) fn threads() -> BTreeMap<String, String> {
    let ids = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let name = |id: &str| fs::read_to_string(format!("/proc/self/task/{id}/comm")).unwrap_or_default();
    ids.filter_map(|entry| entry.file_name().into_string().ok())
        .map(|id| (id.clone(), name(&id).trim().to_owned()))
        .collect()
}

/// Open files of this process by descriptor.
pub(crate) fn descriptors() -> BTreeMap<String, String> {
    let entries = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let target = fs::read_link(entry.path()).ok()?;
            Some((entry.file_name().into_string().ok()?, target.display().to_string()))
        })
        .collect()
}

/// Ids of the child processes of this process.
pub(crate) fn children() -> Vec<String> {
    let lists = threads().into_keys().map(|id| fs::read_to_string(format!("/proc/self/task/{id}/children")));
    lists.flatten().flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// Memory of this process that is in RAM and not that of a file, in bytes; `None` if the system does not tell.
pub(crate) fn memory_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

/// Time that this thread was ready to run and did not, in ns; 0 if the system does not tell.
pub(crate) fn waiting_ns() -> u64 {
    let statistics = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    statistics.split_whitespace().nth(1).and_then(|field| field.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_shows_what_it_has() {
        assert!(!threads().is_empty() && descriptors().len() >= 3);
        assert!(memory_bytes().is_some_and(|bytes| bytes > 0));
        let file = fs::File::open("/proc/self/status").unwrap();
        assert!(descriptors().values().any(|target| target.ends_with("/status")));
        drop(file);
    }
}
