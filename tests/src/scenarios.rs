//! The scenarios, and flags for short runs.

/// All scenarios.
pub const SCENARIOS: [&str; 4] = ["SingleStream", "MultiStream", "Server", "Offline"];

/// Returns the flags that make a run of a scenario short, and its verdict independent of how busy the machine is. Only
/// SingleStream measures the harness's own floor. Batch sizes are the benchmark's.
#[must_use]
pub fn short(scenario: &str) -> String {
    let length = match scenario {
        "SingleStream" => "--duration 100ms",
        "MultiStream" => "--duration 100ms --set floor=false",
        "Server" => {
            "--duration 200ms --target-qps 200 --set server_target_latency_ns=600000000000 --set floor=false"
        }
        _ => "--set min_query_count=200 --set floor=false",
    };
    format!("--scenario {scenario} {length}")
}
