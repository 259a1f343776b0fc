//! Threads, descriptors and memory of this process, as the system counts them.

use std::{collections::BTreeMap, fs};

use proctor_words::process_memory_bytes;

/// Returns the names of the threads of this process, by their ids.
pub(crate) fn threads() -> BTreeMap<String, String> {
    let ids = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    // A thread that has just ended has no status.
    let name = |id: &str| fs::read_to_string(format!("/proc/self/task/{id}/comm")).ok();
    ids.filter_map(|entry| entry.file_name().into_string().ok())
        .filter_map(|id| Some((name(&id)?.trim().to_owned(), id)))
        .map(|(name, id)| (id, name))
        .collect()
}

/// Returns the open files of this process by descriptor.
pub(crate) fn descriptors() -> BTreeMap<String, String> {
    let entries = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let target = fs::read_link(entry.path()).ok()?;
            Some((entry.file_name().into_string().ok()?, target.display().to_string()))
        })
        .collect()
}

/// Returns the ids of the other processes of this process's group: its children and their descendants, unless
/// they have left the group.
pub(crate) fn processes_of_group() -> Vec<String> {
    let group_of = |id: &str| {
        let status = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // State, parent and group stand behind the name, which may have spaces and brackets.
        status.rsplit_once(')')?.1.split_whitespace().nth(2).map(str::to_owned)
    };
    let (own, own_group) = (std::process::id().to_string(), group_of("self"));
    let ids = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = ids.filter_map(|entry| entry.file_name().into_string().ok());
    ids.filter(|id| id.bytes().all(|byte| byte.is_ascii_digit()) && *id != own)
        .filter(|id| own_group.is_some() && group_of(id) == own_group)
        .collect()
}

/// Returns the process's memory in RAM that is not file-backed, in bytes; `None` if not reported.
pub(crate) fn memory_bytes() -> Option<u64> {
    process_memory_bytes("RssAnon")
}

/// Returns the time that this thread was ready to run and did not, in ns; 0 if the system does not report it.
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
