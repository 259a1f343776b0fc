//! Checks of the memory.
//!
//! Sources: Linux, Documentation/admin-guide/mm/transhuge.rst, hugetlbpage.rst, and sysctl/kernel.rst.

use super::{Check, CheckKind, place::Place};

const TRANSPARENT: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

pub(super) fn transparent_huge_pages(place: &Place) -> Check {
    let kind = CheckKind::TransparentHugePages;
    let text = place.read(TRANSPARENT).unwrap_or_default();
    let chosen = text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(word, _)| word);
    match chosen {
        Some(word @ ("madvise" | "never")) => kind.fine(word),
        Some(word @ "always") => kind.advice(
            word,
            "the kernel moves memory to make huge pages while a test runs; madvise has it do so only where a program asks",
            format!("echo madvise | sudo tee {TRANSPARENT}"),
        ),
        _ => kind.unknown("transparent_hugepage/enabled is not there, or has no choice in it"),
    }
}

pub(super) fn reserved_huge_pages(place: &Place) -> Check {
    let kind = CheckKind::ReservedHugePages;
    let figures = (place.memory_figure("HugePages_Total:"), place.memory_figure("HugePages_Free:"));
    let (Some(total), Some(free)) = figures else {
        return kind.unknown("/proc/meminfo does not tell");
    };
    match total {
        0 => kind.fine("none"),
        _ if free == total => kind.advice(
            format!("{total}, and nobody uses them"),
            "they are taken from the memory that data sets and files are kept in",
            "sudo sysctl vm.nr_hugepages=0",
        ),
        _ => kind.fine(format!("{total}, {free} of them free")),
    }
}

pub(super) fn swap(place: &Place) -> Check {
    let kind = CheckKind::Swap;
    let Ok(text) = place.read("/proc/swaps") else { return kind.unknown("/proc/swaps is not there") };
    let files: Vec<_> =
        text.lines().skip(1).filter_map(|line| line.split_ascii_whitespace().next()).collect();
    if files.is_empty() {
        return kind.fine("none");
    }
    kind.advice(
        files.join(", "),
        "samples that were prepared long before the test may lie on a disk when they are needed",
        "sudo swapoff -a",
    )
}

pub(super) fn numa_balancing(place: &Place) -> Check {
    let kind = CheckKind::NumaBalancing;
    let nodes = place.list("/sys/devices/system/node/online").map_or(0, |nodes| nodes.len());
    match (nodes, place.number("/proc/sys/kernel/numa_balancing")) {
        (1, _) => kind.fine("there is one node"),
        (2.., Some(0)) => kind.fine(format!("off, with {nodes} nodes")),
        (2.., Some(1..)) => kind.advice(
            format!("on, with {nodes} nodes"),
            "the kernel makes pages fault, to see who uses them, and moves them",
            "sudo sysctl kernel.numa_balancing=0",
        ),
        _ => kind.unknown("node/online or kernel.numa_balancing is not there"),
    }
}
