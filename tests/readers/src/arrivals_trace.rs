//! Recorded traces of arrivals.

use proctor_loadgen::{ArrivalProcess, Trace, TraceError};
use proctor_vocabulary::beginning::BYTE_ORDER_MARK;

use crate::memory::bounded;

/// Eight bytes for an arrival, which two bytes can be, and room to grow.
const MEMORY_FACTOR: u64 = 16;
/// Largest offset that is compared: above it, a double cannot represent every nanosecond.
const EXACT_NS: f64 = 1e15;

/// Checks the reader of traces: a trace written in its normal form is read as the same, its instants are those that a
/// reader of doubles finds, and a refusal names a line of the file.
///
/// # Panics
/// If an invariant does not hold.
pub fn check_arrivals_trace(data: &[u8]) {
    let line_count = data.split(|byte| *byte == b'\n').count();
    let trace = match bounded(data.len(), MEMORY_FACTOR, || Trace::parse("trace", data)) {
        Ok(trace) => trace,
        Err(error) => {
            let line = match &error {
                TraceError::NotANumber { line, .. }
                | TraceError::UnknownHeader { line, .. }
                | TraceError::Negative { line, .. }
                | TraceError::TooLarge { line, .. }
                | TraceError::NotAscending { line, .. } => *line,
                TraceError::NoRate { count } => return assert!(*count <= line_count),
            };
            return assert!((1..=line_count).contains(&line) && !error.to_string().is_empty(), "{error}");
        }
    };
    let count = usize::try_from(trace.arrival_count()).expect("it fits into memory");
    let arrivals = ArrivalProcess::Trace(trace.clone().into());
    let offsets: Vec<u64> = arrivals.offsets(trace.rate_qps(), 0).take(count + 1).collect();
    assert!(offsets.is_sorted() && offsets[0] == 0 && offsets[count] == trace.period_ns());

    let written: String = offsets[..count].iter().map(|offset_ns| format!("{offset_ns}\n")).collect();
    assert_eq!(Trace::parse("trace", format!("ns\n{written}").as_bytes()).as_ref(), Ok(&trace));

    let text = String::from_utf8_lossy(data);
    let mut lines =
        text.trim_start_matches(BYTE_ORDER_MARK).lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().expect("a trace has arrivals");
    let unit_ns = match first.rsplit('_').next() {
        _ if first.parse::<f64>().is_ok() => 1e9,
        Some("ms") => 1e6,
        Some("us") => 1e3,
        Some("ns") => 1.0,
        _ => 1e9,
    };
    let instants_ns = Some(first).into_iter().chain(lines).filter_map(|line| line.parse::<f64>().ok());
    let instants_ns: Vec<f64> = instants_ns.map(|instant| instant * unit_ns).collect();
    assert_eq!(instants_ns.len(), count);
    for (offset_ns, instant_ns) in offsets.iter().zip(&instants_ns) {
        let differs_by_ns = *offset_ns as f64 - (instant_ns - instants_ns[0]);
        assert!(*instant_ns > EXACT_NS || differs_by_ns.abs() <= 2.0, "{offset_ns} for {instant_ns}");
    }
}
