//! The host's own process, as far as another process of the user can change it where the system asks nobody.

use std::{collections::BTreeMap, fs, path::Path, thread};

use proctor_vocabulary::proc_value;

/// Folder in which the system shows this process.
const SELF: &str = "/proc/self";

/// Folder in which the system shows the thread that looks.
const THREAD: &str = "/proc/thread-self";

/// Limits of the process, and what each of its threads is scheduled by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HostState {
    limits: String,
    threads: BTreeMap<String, Scheduling>,
    /// A thread as it is made; `None` where nobody has looked, or the system does not show it.
    made: Option<Scheduling>,
}

/// Niceness, priority in real time and policy of a thread, and the processors that it may use, as the system writes
/// them.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Scheduling {
    by: [String; 3],
    processors: String,
}

/// Positions of the first three behind the name of a thread in its file `stat`.
const IN_STAT: [usize; 3] = [16, 37, 38];

impl HostState {
    /// The process at the start, with what a thread of it has that is made later.
    pub(super) fn at_start() -> Self {
        let state = Self::read();
        // Not what this one has: a priority may be one that is not handed on.
        let looked = thread::Builder::new().spawn(|| scheduling(Path::new(THREAD)));
        let made = looked.ok().and_then(|looked| looked.join().ok()).flatten();
        Self { made, ..state }
    }

    /// The process as it is now. What the system does not show is left out.
    pub(super) fn read() -> Self {
        let limits = fs::read_to_string(format!("{SELF}/limits")).unwrap_or_default();
        let threads = fs::read_dir(format!("{SELF}/task")).into_iter().flatten().flatten();
        let threads = threads
            .filter_map(|entry| Some((entry.file_name().to_str()?.to_owned(), scheduling(&entry.path())?)));
        Self { limits, threads: threads.collect(), made: None }
    }

    /// The first thing that has changed since the start. A thread of then is as it was, and a later one as it was made;
    /// but the host itself holds some to the processors `held`.
    pub(super) fn change_since(&self, start: &Self, held: &[u32]) -> Option<&'static str> {
        if self.limits != start.limits {
            return Some("the limits of the host's process");
        }
        let held = list_of(held);
        let has_changed = |(thread, now): (&String, &Scheduling)| {
            let before = start.threads.get(thread).or(start.made.as_ref());
            before.is_some_and(|before| {
                now.by != before.by || now.processors != before.processors && now.processors != held
            })
        };
        let has_changed = self.threads.iter().any(has_changed);
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
    let by = [niceness?, priority?, policy?].map(str::to_owned);
    Some(Scheduling { by, processors: processors.to_owned() })
}

/// Processors as the system lists them, such as `0,4-7`.
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

    const SCHEDULING: Option<&str> = Some("the priority, scheduler or processors of the host's process");

    #[test]
    fn a_thread_whose_priority_changes_is_noticed() {
        let change = thread::spawn(|| {
            let start = HostState::at_start();
            assert!(
                !start.limits.is_empty() && !start.threads.is_empty() && start.made.is_some(),
                "{start:?}"
            );
            setpriority_process(Some(gettid()), 19).unwrap();
            HostState::read().change_since(&start, &[])
        });
        assert_eq!(change.join().unwrap(), SCHEDULING);
    }

    #[test]
    fn a_later_thread_is_as_it_was_made_and_an_earlier_one_as_it_was() {
        let of = |niceness: &str, processors: &str| Scheduling {
            by: [niceness, "0", "0"].map(str::to_owned),
            processors: processors.to_owned(),
        };
        let state = |threads: &[(&str, Scheduling)]| HostState {
            limits: "Max open files 1024".to_owned(),
            threads: threads.iter().map(|(thread, it)| ((*thread).to_owned(), it.clone())).collect(),
            made: None,
        };
        let start = HostState { made: Some(of("0", "0-3")), ..state(&[("1", of("-5", "0-3"))]) };
        let change = |threads: &[(&str, Scheduling)]| state(threads).change_since(&start, &[1, 0]);
        assert_eq!(change(&[]), None, "threads that have gone do not count");
        for (thread, now, expected) in [
            ("1", of("-5", "0-3"), None),
            ("1", of("0", "0-3"), SCHEDULING),
            ("1", of("-5", "2"), SCHEDULING),
            ("2", of("0", "0-3"), None),
            ("2", of("5", "0-3"), SCHEDULING),
            ("2", of("0", "2"), SCHEDULING),
            // The host holds it.
            ("1", of("-5", "0-1"), None),
            ("2", of("0", "0-1"), None),
        ] {
            assert_eq!(change(&[(thread, now.clone())]), expected, "{thread} {now:?}");
        }
        let limits = HostState { limits: "Max open files 1023".to_owned(), ..state(&[]) };
        assert_eq!(limits.change_since(&start, &[]), Some("the limits of the host's process"));
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
