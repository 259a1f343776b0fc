//! How quiet the machine was, for people.

use proctor_noise::{Cause, CauseKind, Noise, NoisyInterval, State};
use proctor_words::text::duration;

/// Returns one line: how much of the time was not quiet, and the worst of each cause.
pub(super) fn text(noise: &Noise) -> String {
    if let (State::Unknown, Some(reason)) = (noise.state, &noise.unknown_reason) {
        return format!("not known: {reason}");
    }
    if noise.noisy_intervals.is_empty() {
        return format!("none in {}", seconds(noise.observed_ns));
    }
    let (noisy, observed) = (noise.noisy_ns as f64 / 1e9, seconds(noise.observed_ns));
    let digits = usize::from(noise.observed_ns < 10_000_000_000);
    let mut worst: Vec<(&NoisyInterval, &Cause)> = Vec::new();
    for (interval, cause) in all_causes(noise) {
        match worst.iter_mut().find(|(_, known)| known.kind == cause.kind) {
            Some(known) if is_worse(cause, known.1) => *known = (interval, cause),
            Some(_) => {}
            None => worst.push((interval, cause)),
        }
    }
    let causes: Vec<_> = worst.into_iter().map(|(interval, cause)| in_words(interval, cause)).collect();
    format!("in {noisy:.digits$} of {observed}: {}", causes.join(", "))
}

fn all_causes(noise: &Noise) -> impl Iterator<Item = (&NoisyInterval, &Cause)> {
    noise.noisy_intervals.iter().flat_map(|it| it.causes.iter().map(move |cause| (it, cause)))
}

fn is_worse(a: &Cause, b: &Cause) -> bool {
    if a.kind == CauseKind::Frequency { a.value < b.value } else { a.value > b.value }
}

/// Formats `2.0 s`, `10 s`.
fn seconds(ns: u64) -> String {
    let digits = usize::from(ns < 10_000_000_000);
    format!("{:.digits$} s", ns as f64 / 1e9)
}

fn in_words(interval: &NoisyInterval, cause: &Cause) -> String {
    let Cause { kind, value, .. } = *cause;
    let share = || {
        let lasted_ns = interval.end_ns.saturating_sub(interval.begin_ns).max(1);
        format!("{:.0} % of a processor", value as f64 * 100.0 / lasted_ns as f64)
    };
    match kind {
        CauseKind::Steal => format!("stolen up to {}", share()),
        CauseKind::ForeignLoad => format!("foreign load up to {}", share()),
        CauseKind::InvoluntarySwitches => format!("issuing interrupted up to {value} times"),
        CauseKind::MajorFaults => format!("up to {value} page faults from disk"),
        CauseKind::Frequency => format!("down to {:.2} GHz", value as f64 / 1e6),
        CauseKind::ThermalThrottling => "slowed down for heat".to_owned(),
        CauseKind::QuotaThrottling => format!("held by the cgroup's quota for up to {}", duration(value)),
    }
}

#[cfg(test)]
mod tests {
    use proctor_noise::{Quantities, Series, Values};
    use serde_json::{Value, json};

    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    fn noise(noisy_intervals: Vec<NoisyInterval>) -> Noise {
        let noisy_ns = noisy_intervals.iter().map(|it| it.end_ns - it.begin_ns).sum();
        Noise {
            state: State::Noisy,
            observed_ns: 12 * SECOND_NS,
            noisy_ns,
            timer_slack_ns: Some(1),
            noisy_intervals,
            ..Noise::default()
        }
    }

    fn cause(kind: CauseKind, value: u64) -> Cause {
        Cause { kind, value, threshold: 0, unit: "".into() }
    }

    #[test]
    fn the_worst_of_each_cause_is_told() {
        let interval = |second: u64, causes| NoisyInterval {
            begin_ns: second * SECOND_NS,
            end_ns: (second + 1) * SECOND_NS,
            causes,
        };
        let noise = noise(vec![
            interval(
                2,
                vec![cause(CauseKind::ForeignLoad, 120_000_000), cause(CauseKind::Frequency, 2_100_000)],
            ),
            interval(7, vec![cause(CauseKind::ForeignLoad, 430_000_000)]),
            interval(
                8,
                vec![cause(CauseKind::Frequency, 1_800_000), cause(CauseKind::InvoluntarySwitches, 25)],
            ),
        ]);
        assert_eq!(
            text(&noise),
            "in 3 of 12 s: foreign load up to 43 % of a processor, down to 1.80 GHz, issuing interrupted up to 25 times"
        );
    }

    #[test]
    fn quiet_is_short_and_ignorance_is_no_quiet() {
        let quiet = Noise { state: State::Quiet, observed_ns: 2_000_100_000, ..noise(Vec::new()) };
        assert_eq!(text(&quiet), "none in 2.0 s");
        let unknown = Noise { state: State::Unknown, unknown_reason: Some("no file".to_owned()), ..quiet };
        assert_eq!(text(&unknown), "not known: no file");
    }

    #[test]
    fn the_file_has_a_column_for_each_quantity_and_reads_as_it_was() {
        let values = Values { foreign_ns: Some(430_000_000), ..Values::default() };
        let causes = vec![cause(CauseKind::ForeignLoad, 430_000_000)];
        let intervals = vec![NoisyInterval { begin_ns: SECOND_NS, end_ns: 2 * SECOND_NS, causes }];
        let columns = Quantities { foreign_ns: Some(vec![None, Some(430_000_000)]), ..Quantities::default() };
        let series = Series { columns, ..Series::default() };
        let noise = Noise { totals: values, series, ..noise(intervals) };
        let text = serde_json::to_string(&noise).unwrap();
        assert_eq!(serde_json::from_str::<Noise>(&text).unwrap(), noise);
        let file: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&file["state"], file.get("unknown_reason")), (&json!("noisy"), None));
        assert_eq!(file["totals"]["foreign_ns"], 430_000_000);
        assert_eq!((&file["totals"]["steal_ns"], &file["timer_slack_ns"]), (&Value::Null, &json!(1)));
        let cause = json!({"kind": "foreign_load", "value": 430_000_000, "threshold": 0, "unit": ""});
        assert_eq!(file["noisy_intervals"][0]["causes"], json!([cause]));
        let keys: Vec<_> = file["series"].as_object().unwrap().keys().collect();
        assert_eq!((keys.len(), keys[3].as_str()), (13, "steal_ns"));
        assert_eq!(file["series"]["foreign_ns"], json!([null, 430_000_000]));
        assert_eq!(file["series"]["steal_ns"], Value::Null);
    }
}
