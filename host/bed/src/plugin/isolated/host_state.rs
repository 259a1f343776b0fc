//! Checks the host's own process, as far as another process of the same user can change it without special permission.

use std::{collections::BTreeMap, fmt, fs, path::Path, thread};

use proctor_vocabulary::proc_value;

/// Folder in which the system describes this process.
const SELF: &str = "/proc/self";

/// Folder in which the system describes the calling thread.
const THREAD: &str = "/proc/thread-self";

/// Limits of the process, and the scheduling of each of its threads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HostState {
    limits: String,
    threads: BTreeMap<String, Scheduling>,
}

/// Niceness, priority in real time and policy of a thread, and the processors that it may use, as the system writes
/// them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Scheduling {
    priority: [String; 3],
    processors: String,
}

/// Part of the host's process that has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostPart {
    /// Limits of its resources.
    Limits,
    /// Priority, scheduler and processors of its threads.
    Scheduling,
}

impl fmt::Display for HostPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Limits => "the limits of the host's process",
            Self::Scheduling => "the priority, scheduler or processors of the host's process",
        })
    }
}

/// Positions of `priority` in the file `stat` of a thread, behind its name.
const IN_STAT: [usize; 3] = [16, 37, 38];

impl HostState {
    /// Returns the current state of the process. If the system does not show it, it has no limits and no threads.
    pub(super) fn read() -> Self {
        let limits = fs::read_to_string(format!("{SELF}/limits")).unwrap_or_default();
        let threads = fs::read_dir(format!("{SELF}/task")).into_iter().flatten().flatten();
        let threads = threads
            .filter_map(|entry| Some((entry.file_name().to_str()?.to_owned(), scheduling(&entry.path())?)));
        Self { limits, threads: threads.collect() }
    }

    /// Returns the first part that has changed. Earlier threads are unchanged, and later ones are in `later`. A part
    /// that the system no longer shows has changed.
    pub(super) fn change_since(&self, before: &Self, later: &[Scheduling]) -> Option<HostPart> {
        if self.limits != before.limits {
            return Some(HostPart::Limits);
        }
        let has_changed = |(thread, now): (&String, &Scheduling)| match before.threads.get(thread) {
            Some(before) => now != before,
            None => !later.contains(now),
        };
        let is_hidden = self.threads.is_empty() && !before.threads.is_empty();
        let has_changed = is_hidden || self.threads.iter().any(has_changed);
        has_changed.then_some(HostPart::Scheduling)
    }
}

/// State of the host before the plugin's process started.
#[derive(Debug)]
pub(super) struct HostAtStart {
    state: HostState,
    /// Scheduling of a new thread; `None` if the system does not show it.
    made: Option<Scheduling>,
}

impl HostAtStart {
    pub(super) fn read() -> Self {
        let state = HostState::read();
        // Not what this one has: a priority may be one that is not handed on.
        let looked = thread::Builder::new().spawn(|| scheduling(Path::new(THREAD)));
        Self { state, made: looked.ok().and_then(|looked| looked.join().ok()).flatten() }
    }

    /// Returns the first part that has changed. The host may hold threads that it makes to the processors `held`.
    pub(super) fn change(&self, held: &[u32]) -> Option<HostPart> {
        HostState::read().change_since(&self.state, &self.later(&list_of(held)))
    }

    /// Returns the first part that has changed since this state, with the calling thread pinned as now: its new threads
    /// are pinned there, too.
    pub(super) fn change_during(&self, state: &HostState) -> Option<HostPart> {
        let own = scheduling(Path::new(THREAD)).map(|own| own.processors).unwrap_or_default();
        HostState::read().change_since(state, &self.later(&own))
    }

    /// Returns the known threads that the host makes.
    fn later(&self, held: &str) -> Vec<Scheduling> {
        let made_and_held =
            |made: &Scheduling| [made.clone(), Scheduling { processors: held.to_owned(), ..made.clone() }];
        self.made.iter().flat_map(made_and_held).collect()
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
    let priority = [niceness?, priority?, policy?].map(str::to_owned);
    Some(Scheduling { priority, processors: processors.to_owned() })
}

/// Returns the processors as the system lists them, such as `0,4-7`.
fn list_of(processors: &[u32]) -> String {
    let mut sorted = processors.to_vec();
    sorted.sort_unstable();
    let ranges = sorted.chunk_by(|one, next| one + 1 == *next).map(|range| match range {
        [first, .., last] => format!("{first}-{last}"),
        one => one.iter().map(u32::to_string).collect(),
    });
    ranges.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use rustix::{process::setpriority_process, thread::gettid};

    use super::*;

    #[test]
    fn a_thread_whose_priority_changes_is_noticed() {
        let change = thread::spawn(|| {
            let start = HostAtStart::read();
            assert!(!start.state.limits.is_empty() && start.made.is_some(), "{start:?}");
            // Other tests may hold threads of theirs meanwhile.
            let own = gettid().as_raw_nonzero().to_string();
            let state = |state: HostState| HostState {
                threads: state.threads.into_iter().filter(|(thread, _)| *thread == own).collect(),
                ..state
            };
            let before = state(HostState::read());
            let unchanged = state(HostState::read()).change_since(&before, &[]);
            setpriority_process(Some(gettid()), 19).unwrap();
            (unchanged, state(HostState::read()).change_since(&before, &[]))
        });
        assert_eq!(change.join().unwrap(), (None, Some(HostPart::Scheduling)));
    }

    #[test]
    fn a_later_thread_is_as_it_was_made_and_an_earlier_one_as_it_was() {
        let of = |niceness: &str, processors: &str| Scheduling {
            priority: [niceness, "0", "0"].map(str::to_owned),
            processors: processors.to_owned(),
        };
        let state = |threads: &[(&str, Scheduling)]| HostState {
            limits: "Max open files 1024".to_owned(),
            threads: threads.iter().map(|(thread, it)| ((*thread).to_owned(), it.clone())).collect(),
        };
        let start = HostAtStart { state: state(&[("1", of("-5", "0-3"))]), made: Some(of("0", "0-3")) };
        let later = start.later("0-1");
        let change = |threads: &[(&str, Scheduling)]| state(threads).change_since(&start.state, &later);
        let scheduling = Some(HostPart::Scheduling);
        for (thread, now, expected) in [
            ("1", of("-5", "0-3"), None),
            ("1", of("0", "0-3"), scheduling),
            ("1", of("-5", "2"), scheduling),
            // Held, which it was not.
            ("1", of("-5", "0-1"), scheduling),
            ("2", of("0", "0-3"), None),
            ("2", of("5", "0-3"), scheduling),
            ("2", of("0", "2"), scheduling),
            ("2", of("0", "0-1"), None),
        ] {
            assert_eq!(change(&[(thread, now.clone())]), expected, "{thread} {now:?}");
        }
        assert_eq!(change(&[]), scheduling, "what is hidden has changed");
        let gone = state(&[("1", of("-5", "0-3")), ("3", of("0", "0-3"))]);
        let left = state(&[("1", of("-5", "0-3"))]);
        assert_eq!(left.change_since(&gone, &later), None, "threads that have gone do not count");
        let limits = HostState { limits: "Max open files 1023".to_owned(), ..left };
        assert_eq!(limits.change_since(&start.state, &later), Some(HostPart::Limits));
    }

    #[test]
    fn processors_are_listed_as_the_system_does() {
        for (processors, list) in
            [(vec![], ""), (vec![3], "3"), (vec![1, 0], "0-1"), (vec![6, 4, 0, 5], "0,4-6")]
        {
            assert_eq!(list_of(&processors), list);
        }
    }
}
