//! A Chrome trace: the timeline of a run for viewers such as Perfetto.
//!
//! Tracks are the issuing thread, the samples of LoadGen's trace, and each instance with its batches and the stages of
//! the plugin's work; counters are the samples that are outstanding, and what the noise guard has seen.
//!
//! `events` has the form of an event, and `live` a trace that is written while it comes, such as the host's own.

pub(crate) mod events;
pub(crate) mod live;

use std::io::{self, Write};

use proctor_results::{Batch, Batches, Samples, Trace};
use serde_json::{Value, json};

use self::events::{Edge, Events, Track};

/// Maximum number of points of the counter of outstanding samples.
const POINTS_MAX: usize = 4096;
/// Track of the issuing thread.
const ISSUE_TRACK: Track = Track::Thread(0);

/// The timeline of a run.
#[derive(Debug, Clone, Copy)]
pub struct Timeline<'a> {
    /// Name of the run.
    pub name: &'a str,
    /// Samples of the run.
    pub samples: &'a Samples,
    /// LoadGen's trace, if there is one.
    pub trace: Option<&'a Trace>,
    /// The batches that were kept, if any were.
    pub batches: Option<&'a Batches>,
    /// The noise of the machine as in `result.json`, if available.
    pub noise: Option<&'a Value>,
}

/// Writes a timeline.
///
/// # Errors
/// If writing fails.
pub fn trace(timeline: &Timeline<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut events = Events::begin(out, timeline.name)?;
    if let Some(trace) = timeline.trace {
        issue_calls(trace, timeline.samples, &mut events)?;
    }
    if let Some(batches) = timeline.batches {
        instances(batches, &mut events)?;
    }
    outstanding(timeline.samples, &mut events)?;
    if let Some(noise) = timeline.noise {
        noise_counters(noise, &mut events)?;
    }
    events.end()
}

/// Writes the issue calls, and the chosen samples as spans that may overlap.
fn issue_calls(trace: &Trace, samples: &Samples, events: &mut Events<&mut dyn Write>) -> io::Result<()> {
    // Instants of the trace use their own clock; instants of samples count from the start of issuing.
    let place = |sequence: u64| samples.records.get(usize::try_from(sequence).ok()?);
    let origin_ns = trace.samples.iter().find_map(|sample| {
        let record = place(sample.sequence).filter(|record| record.is_issued())?;
        sample.scheduled_ns.checked_sub(record.scheduled_ns)
    });
    let Some(origin_ns) = origin_ns else { return Ok(()) };
    events.track(ISSUE_TRACK, "issue")?;
    for call in &trace.calls {
        let start_ns = call.start_ns.saturating_sub(origin_ns);
        let args = json!({"samples": call.sample_count});
        events.span(ISSUE_TRACK, "issue", start_ns, start_ns.saturating_add(call.length_ns), &args)?;
    }
    for sample in &trace.samples {
        let Some(record) = place(sample.sequence) else { continue };
        let args = json!({"sequence": sample.sequence, "index": sample.index});
        let end_ns = record.scheduled_ns.saturating_add(sample.latency_ns);
        for (edge, at_ns) in [(Edge::Begin, record.scheduled_ns), (Edge::End, end_ns)] {
            events.overlapping_edge(edge, ("sample", sample.sequence), ISSUE_TRACK, at_ns, &args)?;
        }
    }
    Ok(())
}

/// Writes a track for each instance, with its batches and their parts.
fn instances(batches: &Batches, events: &mut Events<&mut dyn Write>) -> io::Result<()> {
    let mut all: Vec<&Batch> = batches.slowest.iter().chain(&batches.even).collect();
    all.sort_by_key(|batch| (batch.instance, batch.started_ns));
    all.dedup_by_key(|batch| (batch.instance, batch.sequence));
    let mut named = None;
    for batch in all {
        let track = Track::Instance(batch.instance);
        if named.replace(batch.instance) != Some(batch.instance) {
            events.track(track, &format!("instance {}", batch.instance))?;
        }
        let args = json!({
            "sequence": batch.sequence, "samples": batch.sample_count, "queue_ns": batch.queue_ns(),
            "forming_ns": batch.forming_ns(), "latency_ns": batch.latency_ns()
        });
        events.span(track, "batch", batch.started_ns, batch.completed_ns.max(batch.started_ns), &args)?;
        for stage in &batch.stages {
            events.span(track, &stage.name, stage.start_ns, stage.end_ns, &json!({}))?;
        }
    }
    Ok(())
}

/// Writes the number of samples that are outstanding, at evenly chosen changes of it.
fn outstanding(samples: &Samples, events: &mut Events<&mut dyn Write>) -> io::Result<()> {
    let mut changes = Vec::with_capacity(2 * samples.records.len());
    // At one instant the ends come first, so spans without length are left out.
    for record in samples.issued().filter(|record| record.completed_latency_ns() != Some(0)) {
        changes.push((record.scheduled_ns, 1_i64));
        changes.extend(record.completed_ns().map(|completed_ns| (completed_ns, -1)));
    }
    changes.sort_unstable();
    let stride = changes.len().div_ceil(POINTS_MAX).max(1);
    let mut count = 0;
    for (place, (at_ns, change)) in changes.iter().enumerate() {
        count += change;
        if place % stride == 0 || place + 1 == changes.len() {
            events.counter("outstanding samples", *at_ns, &count.into())?;
        }
    }
    Ok(())
}

/// Writes the columns of the noise guard, each as a counter.
fn noise_counters(noise: &Value, events: &mut Events<&mut dyn Write>) -> io::Result<()> {
    let Some(series) = noise["series"].as_object() else { return Ok(()) };
    let ends: Vec<u64> = series
        .get("end_ns")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_u64)
        .collect();
    for (name, column) in series {
        let Some(values) = column.as_array().filter(|_| !matches!(name.as_str(), "end_ns" | "is_noisy"))
        else {
            continue;
        };
        for (at_ns, value) in ends.iter().zip(values) {
            events.counter(&format!("noise: {name}"), *at_ns, value)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proctor_loadgen::SampleRecord;

    fn written(timeline: &Timeline<'_>) -> Vec<Value> {
        let mut out = Vec::new();
        trace(timeline, &mut out).unwrap();
        let json: Value = serde_json::from_slice(&out).unwrap();
        json["traceEvents"].as_array().unwrap().clone()
    }

    #[test]
    fn a_timeline_has_tracks_and_counters() {
        let records =
            [(0, 50), (10, 90)].map(|(scheduled_ns, latency_ns)| SampleRecord { scheduled_ns, latency_ns });
        let samples = Samples { records: records.to_vec(), torn_bytes: 0 };
        let noise = json!({"series": {"interval_ns": 5, "end_ns": [100], "is_noisy": [true], "steal_ns": [7], "foreign_ns": null}});
        let timeline = Timeline {
            name: "a \"run\"",
            samples: &samples,
            trace: None,
            batches: None,
            noise: Some(&noise),
        };
        let events = written(&timeline);
        assert_eq!(events[0]["args"]["name"], "a \"run\"");
        let counters = |name: &str| -> Vec<_> {
            let found = events.iter().filter(|event| event["name"] == name);
            found.map(|event| (event["ts"].clone(), event["args"]["value"].clone())).collect()
        };
        let outstanding = [(0.0, 1), (0.01, 2), (0.05, 1), (0.1, 0)];
        assert_eq!(counters("outstanding samples"), outstanding.map(|(at, count)| (at.into(), count.into())));
        assert_eq!(counters("noise: steal_ns"), [(0.1.into(), 7.into())]);
        let nothing = Timeline { samples: &Samples::default(), noise: None, ..timeline };
        assert_eq!(written(&nothing).len(), 1);
    }
}
