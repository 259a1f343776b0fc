//! Description of the machine that a run took place on.

use std::{fs, thread};

use proctor_results::MachinePart;
use proctor_vocabulary::proc_value;

/// Reads the description of this machine from its system.
#[must_use]
pub fn read_machine() -> MachinePart {
    let text = |path: &str| fs::read_to_string(path).ok();
    let cpu_count = thread::available_parallelism().ok();
    MachinePart {
        cpu_model: text("/proc/cpuinfo").and_then(|text| cpu_model(&text)),
        cpu_count: cpu_count.map(|count| count.get() as u64),
        memory_bytes: text("/proc/meminfo").and_then(|text| bytes_of(&text, "MemTotal")),
        os: text("/etc/os-release").and_then(|text| os_name(&text)),
        kernel: text("/proc/sys/kernel/osrelease").map(|text| text.trim().to_owned()),
        architecture: Some(std::env::consts::ARCH.to_owned()),
        load_average: text("/proc/loadavg").and_then(|text| load_average(&text)),
    }
}

fn cpu_model(cpuinfo: &str) -> Option<String> {
    proc_value(cpuinfo, "model name").map(str::to_owned)
}

/// Returns a memory figure of this process in bytes, by its name in `/proc/self/status`: `VmHWM` is the peak.
/// `None` if the system does not report it.
#[must_use]
pub fn process_memory_bytes(name: &str) -> Option<u64> {
    bytes_of(&fs::read_to_string("/proc/self/status").ok()?, name)
}

/// Returns a size of memory in bytes, which Linux writes in units of 1024 bytes.
fn bytes_of(text: &str, name: &str) -> Option<u64> {
    let kib: u64 = proc_value(text, name)?.strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

fn os_name(os_release: &str) -> Option<String> {
    let name = os_release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(name.trim().trim_matches('"').to_owned())
}

fn load_average(text: &str) -> Option<[f64; 3]> {
    let mut numbers = text.split_whitespace().map(|word| word.parse().ok());
    Some([numbers.next()??, numbers.next()??, numbers.next()??])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_linux_writes() {
        let cpuinfo = "processor\t: 0\nmodel name\t: Fast CPU: 9\n\nprocessor\t: 1\nmodel name\t: Other\n";
        assert_eq!(cpu_model(cpuinfo).as_deref(), Some("Fast CPU: 9"));
        assert_eq!(bytes_of("MemTotal:       2 kB\nMemFree: 1 kB\n", "MemTotal"), Some(2048));
        assert_eq!(os_name("NAME=x\nPRETTY_NAME=\"Some Linux 1\"\n").as_deref(), Some("Some Linux 1"));
        assert_eq!(load_average("0.03 0.18 1.27 1/99 42\n"), Some([0.03, 0.18, 1.27]));
        assert_eq!(load_average("0.1 0.2"), None);
    }

    #[test]
    fn memory_is_read_in_bytes() {
        let status = "Name:\thost\nVmHWM:\t    5124 kB\nVmRSS:\t many kB\nThreads:\t1\n";
        assert_eq!(bytes_of(status, "VmHWM"), Some(5124 * 1024));
        assert_eq!([bytes_of(status, "VmRSS"), bytes_of(status, "VmPeak")], [None; 2]);
        assert!(process_memory_bytes("VmHWM").is_some_and(|bytes| bytes > 0));
    }
}
