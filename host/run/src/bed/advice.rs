//! Advice about a plugin that misbehaved, where the misbehaviour tells what to do.

/// Parts of what the host notices, and the advice. The first that fits counts.
const ADVICE: &[(&str, &str)] = &[
    (
        "did not return from",
        "raise watchdog_ms if a batch may take that long; otherwise the plugin hangs in `execute`",
    ),
    (
        " bytes instead of ",
        "the plugin has to give each output the element type and shape that the benchmark's definition states",
    ),
    (
        "answered samples while no test was running",
        "the plugin has to complete every sample before `flush` returns, and none after it",
    ),
    ("was completed that instance", "the plugin may only complete what it is executing"),
    ("which cannot be", "the plugin has to hand over an aligned array that is not null"),
    (" is not taken", "a metric needs a name in UTF-8 and a finite value"),
    ("failed to warm up", "the plugin has to execute a batch of the first samples of the library"),
    (" panicked", "the message above says where; `PROCTOR_LOG=debug` shows what the plugin logged before"),
    (" failed", "the message is the plugin's own; `PROCTOR_LOG=debug` shows what it logged before"),
    (
        "the plugin refused",
        "the message is the plugin's own; `PROCTOR_LOG=debug` shows what it logged before",
    ),
];

/// Advice about a problem; `None` if it says itself what to do.
pub(crate) fn advice(problem: &str) -> Option<&'static str> {
    if problem.starts_with("queue full: ") {
        return None;
    }
    ADVICE.iter().find(|(part, _)| problem.contains(part)).map(|(_, advice)| *advice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_host_notices_has_advice() {
        for (problem, expected) in [
            ("instance 0 did not return from a batch of 1 sample", Some("raise watchdog_ms")),
            ("plugin p: response 0x5 has 36 bytes instead of 40", Some("the plugin has to give each output")),
            (
                "1 samples of 1 batches failed; the first on instance 0: execute panicked",
                Some("the message above"),
            ),
            ("plugin p: issue failed (status 1)", Some("the message is the plugin's own")),
            ("queue full: 3 of 5 samples did not fit and were failed; lower the rate", None),
            ("something else", None),
        ] {
            match (advice(problem), expected) {
                (Some(got), Some(expected)) => assert!(got.starts_with(expected), "{problem}: {got}"),
                (got, expected) => assert_eq!(got, expected, "{problem}"),
            }
        }
    }
}
