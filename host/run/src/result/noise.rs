//! How quiet the machine was, in the file and for people.

use proctor_noise::{Cause, CauseKind, Noise, NoisyInterval, Quantity, State};
use proctor_results::{
    NoiseCause, NoiseCostPart, NoisePart, NoiseSeriesPart, NoiseState, NoisyInterval as IntervalPart,
    QuantitiesPart,
};
use proctor_words::text::duration;

/// Returns how quiet the machine was, in the form of the file.
pub(super) fn noise_part(noise: &Noise) -> NoisePart {
    let Noise { cost, series, .. } = noise;
    NoisePart {
        state: match noise.state {
            State::Quiet => NoiseState::Quiet,
            State::Noisy => NoiseState::Noisy,
            State::Unknown => NoiseState::Unknown,
        },
        unknown_reason: noise.unknown_reason.clone(),
        observed_ns: noise.observed_ns,
        interval_count: noise.interval_count,
        noisy_interval_count: noise.noisy_interval_count,
        noisy_ns: noise.noisy_ns,
        processor_count: noise.processor_count,
        issuing_thread_count: noise.issuing_thread_count,
        timer_slack_ns: noise.timer_slack_ns,
        totals: quantities(|quantity| noise.totals.get(quantity)),
        noisy_intervals: noise.noisy_intervals.iter().map(interval_part).collect(),
        cost: NoiseCostPart {
            thread_ns: cost.thread_ns,
            share_of_processor: cost.share_of_processor,
            reading_count: cost.reading_count,
        },
        series: NoiseSeriesPart {
            interval_ns: series.interval_ns,
            end_ns: series.rows.iter().map(|(end_ns, ..)| *end_ns).collect(),
            is_noisy: series.rows.iter().map(|(.., is_noisy)| *is_noisy).collect(),
            columns: quantities(|quantity| {
                let column: Vec<_> = series.rows.iter().map(|(_, values, _)| values.get(quantity)).collect();
                Some(column).filter(|column| column.iter().any(Option::is_some))
            }),
        },
    }
}

fn interval_part(interval: &NoisyInterval) -> IntervalPart {
    let cause_part = |cause: &Cause| NoiseCause {
        kind: cause.kind.name().to_owned(),
        value: cause.value,
        threshold: cause.threshold,
        unit: cause.unit.to_owned(),
    };
    let NoisyInterval { begin_ns, end_ns, causes } = interval;
    IntervalPart { begin_ns: *begin_ns, end_ns: *end_ns, causes: causes.iter().map(cause_part).collect() }
}

fn quantities<T>(of: impl Fn(Quantity) -> T) -> QuantitiesPart<T> {
    QuantitiesPart {
        steal_ns: of(Quantity::Steal),
        foreign_ns: of(Quantity::Foreign),
        own_ns: of(Quantity::Own),
        involuntary_switches: of(Quantity::InvoluntarySwitches),
        minor_faults: of(Quantity::MinorFaults),
        major_faults: of(Quantity::MajorFaults),
        frequency_least_khz: of(Quantity::LeastFrequency),
        frequency_greatest_khz: of(Quantity::GreatestFrequency),
        thermal_throttle_events: of(Quantity::ThermalThrottles),
        quota_throttled_ns: of(Quantity::QuotaThrottled),
    }
}

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
    let mut worst: Vec<(&NoisyInterval, Cause)> = Vec::new();
    for (interval, cause) in all_causes(noise) {
        match worst.iter_mut().find(|(_, known)| known.kind == cause.kind) {
            Some(known) if is_worse(&cause, &known.1) => *known = (interval, cause),
            Some(_) => {}
            None => worst.push((interval, cause)),
        }
    }
    let causes: Vec<_> = worst.into_iter().map(|(interval, cause)| in_words(interval, cause)).collect();
    format!("in {noisy:.digits$} of {observed}: {}", causes.join(", "))
}

fn all_causes(noise: &Noise) -> impl Iterator<Item = (&NoisyInterval, Cause)> {
    noise.noisy_intervals.iter().flat_map(|it| it.causes.iter().map(move |cause| (it, *cause)))
}

fn is_worse(a: &Cause, b: &Cause) -> bool {
    if a.kind == CauseKind::Frequency { a.value < b.value } else { a.value > b.value }
}

/// Formats `2.0 s`, `10 s`.
fn seconds(ns: u64) -> String {
    let digits = usize::from(ns < 10_000_000_000);
    format!("{:.digits$} s", ns as f64 / 1e9)
}

fn in_words(interval: &NoisyInterval, cause: Cause) -> String {
    let Cause { kind, value, .. } = cause;
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
    use proctor_noise::{Cost, Series, Values};
    use serde_json::{Value, json};

    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    fn noise(noisy_intervals: Vec<NoisyInterval>) -> Noise {
        let noisy_ns = noisy_intervals.iter().map(|it| it.end_ns - it.begin_ns).sum();
        Noise {
            state: State::Noisy,
            unknown_reason: None,
            observed_ns: 12 * SECOND_NS,
            interval_count: 12,
            noisy_interval_count: noisy_intervals.len() as u64,
            noisy_ns,
            processor_count: 2,
            issuing_thread_count: 1,
            timer_slack_ns: Some(1),
            totals: Values::default(),
            noisy_intervals,
            cost: Cost::default(),
            series: Series { interval_ns: SECOND_NS, rows: Vec::new() },
        }
    }

    fn cause(kind: CauseKind, value: u64) -> Cause {
        Cause { kind, value, threshold: 0, unit: "" }
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
        let values = Values::default().with(Quantity::Foreign, Some(430_000_000));
        let rows = vec![(SECOND_NS, Values::default(), false), (2 * SECOND_NS, values, true)];
        let causes = vec![cause(CauseKind::ForeignLoad, 430_000_000)];
        let intervals = vec![NoisyInterval { begin_ns: SECOND_NS, end_ns: 2 * SECOND_NS, causes }];
        let series = Series { interval_ns: SECOND_NS, rows };
        let part = noise_part(&Noise { totals: values, series, ..noise(intervals) });
        let text = serde_json::to_string(&part).unwrap();
        assert_eq!(serde_json::from_str::<NoisePart>(&text).unwrap(), part);
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
