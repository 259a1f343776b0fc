//! The target of `--slo-x`: a multiple of the latency of one sample on one instance, which is measured first.

use proctor_results::TargetBase;
use proctor_scaling::Seen;
use proctor_words::text::{counted, duration};

/// Returns the target of a multiple of the mean that was seen.
pub(super) fn base(slo_x: f64, seen: &Seen) -> TargetBase {
    let Seen { mean_ns, batches, .. } = *seen;
    let target_ns = (slo_x * mean_ns).round().max(1.0);
    TargetBase { slo_x, mean_ns, batches, slo_ms: target_ns / 1e6 }
}

/// Returns the target, in ns.
pub(super) fn target_ns(base: &TargetBase) -> u64 {
    (base.slo_ms * 1e6).round() as u64
}

/// Returns the line for the user.
pub(super) fn text(base: &TargetBase) -> String {
    let TargetBase { slo_x, mean_ns, batches, slo_ms } = base;
    format!(
        "one sample on one instance takes {} on average, over {}; {slo_x} times that is the target, --slo-ms {slo_ms}\n",
        duration(mean_ns.round() as u64),
        counted(*batches, "sample")
    )
}

#[cfg(test)]
mod tests {
    use proctor_scaling::Knobs;

    use super::*;

    #[test]
    fn the_target_is_the_multiple_of_the_mean() {
        let seen = Seen {
            knobs: Knobs::LEAST,
            batches: 100,
            samples: 100,
            violations: 0,
            duration_ns: 1,
            mean_ns: 4_100_000.4,
            tail_ns: 9_000_000,
            throughput_qps: 1.0,
            served_qps: None,
        };
        let base = base(3.0, &seen);
        assert_eq!((target_ns(&base), base.slo_ms), (12_300_001, 12.300_001));
        let line = "one sample on one instance takes 4.100 ms on average, over 100 samples; 3 times that is the target, \
                    --slo-ms 12.300001\n";
        assert_eq!(text(&base), line);
    }
}
