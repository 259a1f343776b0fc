//! The host's own process, as far as another process of the user can change it where the system asks nobody.

use std::{collections::BTreeMap, fs, path::Path};

use proctor_vocabulary::proc_value;

/// Folder in which the system shows this process.
const SELF: &str = "/proc/self";

/// Limits of the process, and what each of its threads is scheduled by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HostState {
    limits: String,
    threads: BTreeMap<String, Scheduling>,
}

/// Niceness, priority in real time, policy, and processors of a thread, as the system writes them.
type Scheduling = [String; 4];

/// Positions of the first three behind the name of a thread in its file `stat`.
const IN_STAT: [usize; 3] = [16, 37, 38];

impl HostState {
    /// The process as it is now. What the system does not show is left out.
    pub(super) fn read() -> Self {
        let limits = fs::read_to_string(format!("{SELF}/limits")).unwrap_or_default();
        let threads = fs::read_dir(format!("{SELF}/task")).into_iter().flatten().flatten();
        let threads = threads
            .filter_map(|entry| Some((entry.file_name().to_str()?.to_owned(), scheduling(&entry.path())?)));
        Self { limits, threads: threads.collect() }
    }

    /// The first thing that has changed since; threads that have come or gone meanwhile do not count.
    pub(super) fn change_since(&self, earlier: &Self) -> Option<&'static str> {
        if self.limits != earlier.limits {
            return Some("the limits of the host's process");
        }
        let both =
            earlier.threads.iter().filter_map(|(thread, before)| Some((before, self.threads.get(thread)?)));
        let has_changed = both.into_iter().any(|(before, now)| before != now);
        has_changed.then_some("the priority, scheduler or processors of the host's process")
    }
}

fn scheduling(thread: &Path) -> Option<Scheduling> {
    let stat = fs::read_to_string(thread.join("stat")).ok()?;
    let status = fs::read_to_string(thread.join("status")).ok()?;
    // The name may have anything in it.
    let (_, fields) = stat.rsplit_once(')')?;
    let fields: Vec<_> = fields.split_whitespace().collect();
    let [niceness, priority, policy] = IN_STAT.map(|position| fields.get(position).copied());
    let processors = proc_value(&status, "Cpus_allowed_list")?;
    Some([niceness?, priority?, policy?, processors].map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use rustix::{process::setpriority_process, thread::gettid};

    use super::*;

    #[test]
    fn a_thread_whose_priority_changes_is_noticed_and_threads_that_come_are_not() {
        let before = HostState::read();
        assert!(!before.limits.is_empty() && !before.threads.is_empty(), "{before:?}");
        let (earlier, later) = std::thread::spawn(|| {
            let earlier = HostState::read();
            setpriority_process(Some(gettid()), 19).unwrap();
            (earlier, HostState::read())
        })
        .join()
        .unwrap();
        let what = later.change_since(&earlier);
        assert_eq!(what, Some("the priority, scheduler or processors of the host's process"));
        assert_eq!(later.change_since(&before), None);
        let limits = HostState { limits: before.limits.replace("Max", "Most"), ..before.clone() };
        assert_eq!(limits.change_since(&before), Some("the limits of the host's process"));
    }
}
