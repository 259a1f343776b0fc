use tempfile::TempDir;

use super::*;

/// A folder with these files.
fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

const CPUINFO: (&str, &str) = (
    "proc/cpuinfo",
    "processor\t: 0\ncpu family\t: 6\nmodel\t\t: 207\nmodel name\t: Fast CPU\nstepping\t: 2\n\
     flags\t\t: fpu fma avx2 avx512f\n\nprocessor\t: 1\nmodel name\t: Fast CPU\n",
);

fn with_caches(more: &[(&'static str, &'static str)]) -> TempDir {
    let cache = "sys/devices/system/cpu/cpu0/cache";
    let mut files: Vec<(String, &str)> = Vec::new();
    for (index, level, kind, size) in [
        (0, "1", "Data", "48K"),
        (1, "1", "Instruction", "32K"),
        (2, "2", "Unified", "2048K"),
        (3, "3", "Unified", "260M"),
    ] {
        for (name, text) in [("level", level), ("type", kind), ("size", size)] {
            files.push((format!("{cache}/index{index}/{name}"), text));
        }
    }
    files.push((CPUINFO.0.to_owned(), CPUINFO.1));
    files.push(("sys/devices/system/cpu/online".to_owned(), "0-7\n"));
    files.extend(more.iter().map(|(path, text)| ((*path).to_owned(), *text)));
    let borrowed: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    folder(&borrowed)
}

const STATUS: (&str, &str) = ("proc/self/status", "Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t0-2,5\n");

#[test]
fn everything_is_read_where_it_is_there() {
    let files = with_caches(&[STATUS]);
    let machine = Machine::read_from(files.path());
    assert_eq!(machine.processor, "Fast CPU");
    assert_eq!((machine.l1d_bytes, machine.l2_bytes, machine.l3_bytes), (48 << 10, 2 << 20, 260 << 20));
    assert_eq!((machine.cores_present, machine.cores_allowed), (8, 4));
    assert_eq!(machine.assumed, Vec::<String>::new());
    assert_eq!(
        machine.identity(),
        "Fast CPU; family 6 model 207 stepping 2, fma avx2 avx512f; 4 of 8 cores; L1d 48 KiB, L2 2048 KiB, L3 266240 KiB"
    );
}

#[test]
fn nothing_at_all_gives_one_core_and_small_caches_and_says_so() {
    let files = folder(&[]);
    let machine = Machine::read_from(files.path());
    assert_eq!((machine.cores_present, machine.cores_allowed), (1, 1));
    assert_eq!(machine.l2_bytes, CACHES[1].1);
    assert_eq!(machine.assumed.len(), 5, "{:?}", machine.assumed);
}

#[test]
fn a_quota_cuts_the_cores_down() {
    let version_2 = ("proc/self/cgroup", "0::/a/b\n");
    let version_1 = ("proc/self/cgroup", "3:cpuset:/\n2:cpu,cpuacct:/a/b\n");
    for (files, expected) in [
        (vec![version_2, ("sys/fs/cgroup/a/b/cpu.max", "250000 100000\n")], 2),
        (vec![version_2, ("sys/fs/cgroup/a/b/cpu.max", "50000 100000\n")], 1),
        (vec![version_2, ("sys/fs/cgroup/a/b/cpu.max", "max 100000\n")], 4),
        // The limit of a group around ours counts, too.
        (
            vec![
                version_2,
                ("sys/fs/cgroup/a/b/cpu.max", "max 100000\n"),
                ("sys/fs/cgroup/a/cpu.max", "300000 100000"),
            ],
            3,
        ),
        (
            vec![
                version_1,
                ("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "200000\n"),
                ("sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n"),
            ],
            2,
        ),
        (
            vec![
                version_1,
                ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n"),
                ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
            ],
            4,
        ),
        // A period of nothing is no limit.
        (vec![version_2, ("sys/fs/cgroup/a/b/cpu.max", "100000 0\n")], 4),
        (vec![version_2, ("sys/fs/cgroup/a/b/cpu.max", "")], 4),
    ] {
        let mut files = files;
        files.push(STATUS);
        let made = with_caches(&files);
        assert_eq!(Machine::read_from(made.path()).cores_allowed, expected, "{files:?}");
    }
}

#[test]
fn more_than_enough_quota_or_affinity_changes_nothing() {
    let status = ("proc/self/status", "Cpus_allowed_list:\t0-255\n");
    let quota = ("sys/fs/cgroup/cpu.max", "6400000 100000\n");
    let files = with_caches(&[status, quota, ("proc/self/cgroup", "0::/\n")]);
    assert_eq!(Machine::read_from(files.path()).cores_allowed, 8);
}

#[test]
fn nonsense_is_as_good_as_absent() {
    for (text, len) in
        [("0", Some(1)), ("0-1", Some(2)), ("3-1", None), ("a", None), ("", None), ("1,,2", None)]
    {
        assert_eq!(list_len(text), len, "{text}");
    }
    for (text, bytes) in [
        ("48K", Some(48 << 10)),
        ("3M", Some(3 << 20)),
        ("7", Some(7)),
        ("0K", None),
        ("K", None),
        ("", None),
        ("-1K", None),
    ] {
        assert_eq!(size_bytes(text), bytes, "{text}");
    }
}

#[test]
fn this_machine_is_read_without_a_contradiction() {
    let machine = Machine::read();
    assert!(1 <= machine.cores_allowed && machine.cores_allowed <= machine.cores_present, "{machine:?}");
    assert!(machine.l1d_bytes <= machine.l2_bytes && machine.l2_bytes <= machine.l3_bytes, "{machine:?}");
}
