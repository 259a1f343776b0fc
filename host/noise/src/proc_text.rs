//! Reads the texts of `/proc` and `/sys`. No text makes it panic.
//!
//! Sources: Linux, Documentation/filesystems/proc.rst and Documentation/admin-guide/cgroup-v2.rst; proc(5).

/// Times of some processors together since the system began, in ticks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ProcessorTicks {
    /// Time without work, also while waiting for a disk.
    pub(crate) idle: u64,
    /// Given to others by the hypervisor.
    pub(crate) steal: u64,
    /// All of the time, as the system has counted it.
    pub(crate) all: u64,
}

/// Returns the times of these processors, which are ascending, in `/proc/stat`; `None` if one of them is missing.
pub(crate) fn processor_ticks(stat: &str, processors: &[u32]) -> Option<ProcessorTicks> {
    let mut sum = ProcessorTicks::default();
    let mut wanted = processors.iter().copied().peekable();
    for line in stat.lines() {
        let Some(&next) = wanted.peek() else { break };
        // Lines of processors come first; the one without a number is all of them.
        let Some(line) = line.strip_prefix("cpu") else { break };
        let mut words = line.split_ascii_whitespace();
        if line.starts_with(' ') || words.next().and_then(number::<u32>) != Some(next) {
            continue;
        }
        let mut ticks = [0_u64; 8];
        for (tick, word) in ticks.iter_mut().zip(words) {
            *tick = number(word)?;
        }
        let [user, nice, system, idle, io_wait, interrupts, soft_interrupts, steal] = ticks;
        sum.idle = sum.idle.checked_add(idle)?.checked_add(io_wait)?;
        sum.steal = sum.steal.checked_add(steal)?;
        for part in [user, nice, system, idle, io_wait, interrupts, soft_interrupts, steal] {
            sum.all = sum.all.checked_add(part)?;
        }
        wanted.next();
    }
    wanted.peek().is_none().then_some(sum)
}

/// Returns the ticks in which these processors, which are ascending, were busy or another guest used them, by
/// `/proc/stat`.
#[must_use]
pub fn busy_ticks(stat: &str, processors: &[u32]) -> Option<u64> {
    processor_ticks(stat, processors).map(|ticks| ticks.all - ticks.idle)
}

/// Returns the processor time of a process in ticks, from its file `stat`.
#[must_use]
pub fn process_ticks(stat: &str) -> Option<u64> {
    process_counters(stat).map(|counters| counters.ticks)
}

/// Counters of a process in its file `stat`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ProcessCounters {
    pub(crate) parent: u32,
    pub(crate) minor_faults: u64,
    pub(crate) major_faults: u64,
    /// Processor time of all of its threads, in ticks.
    pub(crate) ticks: u64,
}

/// Returns the counters of a process. Its name is in parentheses and may contain some, so the counters follow the last
/// one.
pub(crate) fn process_counters(stat: &str) -> Option<ProcessCounters> {
    let (_, after) = stat.rsplit_once(')')?;
    let words: Vec<_> = after.split_ascii_whitespace().take(13).collect();
    let at = |position: usize| words.get(position).copied().and_then(number::<u64>);
    Some(ProcessCounters {
        parent: words.get(1).copied().and_then(number)?,
        minor_faults: at(7)?,
        major_faults: at(9)?,
        ticks: at(11)?.checked_add(at(12)?)?,
    })
}

/// Switches of a thread that it did not ask for, in its file `status`.
pub(crate) fn involuntary_switches(status: &str) -> Option<u64> {
    value_of(status, "nonvoluntary_ctxt_switches:").and_then(number)
}

/// Returns the time in ns for which the quota of a cgroup held its threads, from its file `cpu.stat` of either version.
pub(crate) fn quota_throttled_ns(cpu_stat: &str) -> Option<u64> {
    let second = value_of(cpu_stat, "throttled_usec ").and_then(number::<u64>);
    match second {
        Some(us) => us.checked_mul(1000),
        None => value_of(cpu_stat, "throttled_time ").and_then(number),
    }
}

/// Returns the folders of this process's cgroup below the root of their hierarchy, in `/proc/self/cgroup`: of the
/// second version, and of the first for a controller.
pub(crate) fn cgroup_paths<'a>(cgroup: &'a str, controller: &str) -> (Option<&'a str>, Option<&'a str>) {
    let (mut second, mut first) = (None, None);
    for line in cgroup.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        if controllers.is_empty() {
            second = Some(path);
        } else if controllers.split(',').any(|name| name == controller) {
            first = Some(path);
        }
    }
    (second, first)
}

/// Returns the numbers of a list such as `0-3,8`, ascending as they come. At most `count_max`.
pub(crate) fn number_list(text: &str, count_max: usize) -> Vec<u32> {
    let ranges = text.trim().split(',').filter_map(|range| {
        let (from, to) = range.split_once('-').unwrap_or((range, range));
        Some(number::<u32>(from.trim())?..=number::<u32>(to.trim())?)
    });
    ranges.flatten().take(count_max).collect()
}

/// Returns a number that is the whole text.
pub(crate) fn number<N: std::str::FromStr>(word: &str) -> Option<N> {
    word.trim().parse().ok()
}

/// Returns the rest of the first line that begins so.
pub(crate) fn value_of<'a>(text: &'a str, beginning: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(beginning)).map(str::trim)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// From a virtual machine of two processors.
    const STAT: &str = "\
cpu  2350747 119649 381227 3154570 18667 0 2592 2595 0 0
cpu0 1198816 58854 168198 1580614 6745 0 151 1285 0 0
cpu1 1151930 60794 213028 1573956 11921 0 2440 1309 0 0
intr 16836617 0 0 0
ctxt 44792555
";

    #[test]
    fn the_times_are_those_of_the_processors_that_were_asked_for() {
        let first = processor_ticks(STAT, &[0]).unwrap();
        assert_eq!(first, ProcessorTicks { idle: 1_580_614 + 6745, steal: 1285, all: 3_014_663 });
        let second = processor_ticks(STAT, &[1]).unwrap();
        let both = processor_ticks(STAT, &[0, 1]).unwrap();
        assert_eq!((both.idle, both.steal, both.all), {
            (first.idle + second.idle, first.steal + second.steal, first.all + second.all)
        });
        assert_eq!(processor_ticks(STAT, &[0, 2]), None);
        assert_eq!(busy_ticks(STAT, &[0]), Some(1_198_816 + 58_854 + 168_198 + 151 + 1285));
        assert_eq!(processor_ticks("", &[0]), None);
        // Kernels before 2.6.11 have no steal.
        assert_eq!(processor_ticks("cpu0 1 2 3 4 5 6 7\n", &[0]).map(|it| (it.idle, it.steal)), Some((9, 0)));
        assert_eq!(processor_ticks("cpu0 1 2 x 4\n", &[0]), None);
    }

    #[test]
    fn the_name_of_a_process_may_hold_anything() {
        let stat =
            "681 (a) R (b) S 674 674 24852 0 -1 4194304 99 7 3 1 20 5 0 0 20 0 1 0 3022020 3133440 390";
        let counters = ProcessCounters { parent: 674, minor_faults: 99, major_faults: 3, ticks: 25 };
        assert_eq!(process_counters(stat), Some(counters));
        assert_eq!(process_counters("681 (a) S 674 674"), None);
        assert_eq!(process_counters("681 (a"), None);
    }

    #[test]
    fn switches_and_quotas_are_found_among_other_lines() {
        let status = "Name:\thost\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t34\n";
        assert_eq!(involuntary_switches(status), Some(34));
        assert_eq!(involuntary_switches("Name:\thost\n"), None);
        let second = "usage_usec 20\nnr_periods 3\nnr_throttled 1\nthrottled_usec 7\n";
        assert_eq!(quota_throttled_ns(second), Some(7000));
        assert_eq!(quota_throttled_ns("nr_periods 3\nnr_throttled 1\nthrottled_time 12345\n"), Some(12345));
        assert_eq!(quota_throttled_ns("usage_usec 20\n"), None);
    }

    #[test]
    fn cgroups_have_a_folder_in_either_version() {
        let both = "4:memory:/a/b\n2:cpu,cpuacct:/c:d\n0::/e\n";
        assert_eq!(cgroup_paths(both, "cpu"), (Some("/e"), Some("/c:d")));
        assert_eq!(cgroup_paths(both, "memory"), (Some("/e"), Some("/a/b")));
        assert_eq!(cgroup_paths("0::/\n", "cpu"), (Some("/"), None));
        assert_eq!(cgroup_paths("nonsense", "cpu"), (None, None));
    }

    #[test]
    fn lists_of_processors_have_ranges() {
        assert_eq!(number_list("0-3,8\n", 100), [0, 1, 2, 3, 8]);
        assert_eq!(number_list("\n", 100), [0_u32; 0]);
        assert_eq!(number_list("5-2,x,7", 100), [7]);
        assert_eq!(number_list("0-4294967295", 3), [0, 1, 2]);
    }

    proptest! {
        #[test]
        fn no_text_makes_a_reader_panic(text in "(cpu[0-9]{0,3}|[a-z_]{0,30})[ :)(]{0,3}([0-9 ]{0,60}|.{0,60})\n?.{0,99}") {
            let _ = processor_ticks(&text, &[0, 1]);
            let _ = process_counters(&text);
            let _ = involuntary_switches(&text);
            let _ = quota_throttled_ns(&text);
            let _ = cgroup_paths(&text, "cpu");
            prop_assert!(number_list(&text, 9).len() <= 9);
        }

        #[test]
        fn written_times_are_read_back(ticks in proptest::array::uniform8(0_u64..1 << 40), cpu in 0_u32..999) {
            let words: Vec<_> = ticks.iter().map(u64::to_string).collect();
            let stat = format!("cpu  1 2 3\ncpu{cpu} {} 0 0\n", words.join(" "));
            let read = processor_ticks(&stat, &[cpu]).unwrap();
            prop_assert_eq!(read.idle, ticks[3] + ticks[4]);
            prop_assert_eq!(read.all, ticks.iter().sum::<u64>());
        }
    }
}
