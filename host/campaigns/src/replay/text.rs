//! A replay in words.

use std::fmt::Write as _;

use super::{
    Replay,
    comparison::{AnswerDifference, CallDifference, Comparison, Spread, Times},
    recorded::Recorded,
};
use proctor_words::text::{counted, duration, table};

/// Returns the comparison, in lines.
pub(super) fn in_words(
    replay: &Replay,
    recorded: &Recorded,
    replayed: &Recorded,
    comparison: &Comparison,
) -> String {
    let name = |recorded: &Recorded| {
        let plugin = recorded.plugin.as_ref();
        plugin.map_or_else(String::new, |plugin| {
            let sha256 = plugin.sha256.as_deref().unwrap_or("-");
            let short = sha256.get(..12).unwrap_or(sha256);
            format!("{} {}, SHA-256 {short}", plugin.name, plugin.version)
        })
    };
    let cut_note = if recorded.is_whole() { "" } else { "; it was cut off, or its run ended early" };
    let rows = [
        ("recorded", format!("{} ({}){cut_note}", name(recorded), replay.recording.display())),
        ("replayed", format!("{} ({})", name(replayed), replay.plugin)),
        ("calls", calls(comparison)),
        ("answers", answers(comparison)),
    ];
    let verdict = if comparison.is_same() { "SAME" } else { "DIFFERENT" };
    let gave_up = comparison.gave_up.as_ref().map(|reason| ("gave up", reason.clone()));
    let rows = rows.into_iter().chain(gave_up).chain([("verdict", verdict.to_owned())]);
    let rows: Vec<_> = rows.map(|(name, value)| vec![name.to_owned(), value]).collect();
    let mut text = table(&rows);
    let _ = write!(text, "\nHow long calls took, which is not compared:\n{}", times(&comparison.times));
    text
}

fn calls(comparison: &Comparison) -> String {
    let count = comparison.call_count;
    match &comparison.call {
        None => match &comparison.unreturned {
            None => format!("{count} are the same"),
            Some((number, call)) => format!(
                "{count} are the same as far as they were recorded; call {number}, {call}, did not return in the \
                 recording, and does in the replay"
            ),
        },
        Some(CallDifference { number, call, difference }) => {
            format!("{count} are the same; call {number}, {call}: {difference}")
        }
    }
}

fn answers(comparison: &Comparison) -> String {
    let Comparison { differing_count, answered_count, answer, .. } = comparison;
    let samples = counted(*answered_count as u64, "sample");
    let Some(AnswerDifference { id, index, difference }) = answer else {
        return format!("those to {samples} are the same");
    };
    let whose = index.map_or_else(|| "to no sample".to_owned(), |index| format!("of sample {index}"));
    format!(
        "those to {differing_count} of {samples} differ; the first is that {whose} (id {id:#x}): {difference}"
    )
}

fn times(times: &[Times]) -> String {
    let head = ["call", "recorded", "median", "longest", "replayed", "median", "longest"].map(str::to_owned);
    let cells = |spread: &Spread| {
        let Spread { count, median_ns, greatest_ns } = *spread;
        [count.to_string(), duration(median_ns), duration(greatest_ns)]
    };
    let row = |times: &Times| {
        let cells = cells(&times.recorded).into_iter().chain(cells(&times.replayed));
        std::iter::once(times.call.clone()).chain(cells).collect()
    };
    let rows: Vec<Vec<String>> = std::iter::once(head.to_vec()).chain(times.iter().map(row)).collect();
    table(&rows)
}
