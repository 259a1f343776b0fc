//! Formats the figures of the tables.

use crate::rnn::table::{Best, Entry};
use proctor_words::text::four_digits;

/// Returns the cell of a figure, or a dash if there is no figure.
pub(super) fn or_none<T>(figure: Option<T>, cell: impl FnOnce(T) -> String) -> String {
    figure.map_or_else(|| "-".to_owned(), cell)
}

pub(super) fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

pub(super) fn milliseconds(ns: f64) -> String {
    let ms = ns / 1e6;
    if ms < 1.0 { format!("{ms:.4}") } else { four_digits(ms) }
}

pub(super) fn microseconds(ns: f64) -> String {
    four_digits(ns / 1e3)
}

/// Returns a median, marked if the answer differs.
pub(super) fn outcome_cell(entry: &Entry) -> String {
    let Some(measured) = entry.measured() else { return "error".to_owned() };
    let mark = if measured.is_same_answer() { "" } else { " !" };
    format!("{}{mark}", milliseconds(measured.times.median_ns))
}

/// Returns a time with its number of threads.
pub(super) fn best_cell(best: &Best<'_>) -> String {
    format!("{}/{}", milliseconds(best.ns), best.entry.threads)
}

pub(super) fn peer_cell(best: &Best<'_>, is_fastest: bool) -> String {
    let mark = if best.measured.is_same_answer() { "" } else { " !" };
    let star = if is_fastest { " *" } else { "" };
    format!("{}{star}{mark}", best_cell(best))
}

/// Formats a ratio; below 1, ours is the slower one.
pub(super) fn ratio_cell(ratio: f64) -> String {
    if ratio < 1.0 { format!("{ratio:.2} SLOWER") } else { format!("{ratio:.2}") }
}
