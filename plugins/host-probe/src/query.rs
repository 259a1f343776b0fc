//! Whole queries, and the parts of large ones.

use std::thread;

use proctor_plugin_api::{
    abi::*,
    versioned::{Elements, read},
};

use crate::{report::Report, state::LoadedModel};

/// Reads and checks a query or a part of one, and returns the ids of its samples. Of a warm-up they mean nothing.
///
/// # Safety
/// The host vouches for the query and its samples for the call.
pub(crate) unsafe fn check_query(
    query: *const ProctorQuery,
    is_warm_up: bool,
    loaded: &mut LoadedModel,
    report: &mut Report,
) -> Vec<u64> {
    // SAFETY: the caller's promise.
    let Some(raw) = report.value(unsafe { read(query) }) else { return Vec::new() };
    report.expect(raw.sample_count > 0, || "the query has no samples".to_owned());
    let found = Elements::new(raw.samples, raw.sample_count, raw.sample_stride);
    let Some(samples) = report.value(found) else { return Vec::new() };
    if is_warm_up {
        let is_whole = raw.sample_offset == 0 && raw.total_sample_count == raw.sample_count as u64;
        report.expect(is_whole, || "the query of a warm-up is a part of one".to_owned());
    } else {
        loaded.timed.issuing.insert(thread::current().id());
        expect_part(&raw, loaded, report);
    }
    let mut ids = Vec::with_capacity(samples.len());
    // SAFETY: the caller's promise.
    for sample in unsafe { samples.iter() } {
        let is_prepared = loaded.prepared.as_ref().is_some_and(|prepared| prepared.has(sample.index));
        report.expect(is_prepared, || format!("sample {} is not among the prepared ones", sample.index));
        if !is_warm_up {
            loaded.expect_new_id(sample.id, report);
            ids.push(sample.id);
        }
    }
    ids
}

/// Checks that the parts of a query come one after another, and add up to the whole.
fn expect_part(raw: &ProctorQuery, loaded: &mut LoadedModel, report: &mut Report) {
    let timed = &mut loaded.timed;
    let (offset, total, count) = (raw.sample_offset, raw.total_sample_count, raw.sample_count as u64);
    let is_first = timed.handed_over == 0;
    report.expect(offset == timed.handed_over, || {
        format!("sample_offset is {offset}, where {} samples were handed over before", timed.handed_over)
    });
    report.expect(is_first || total == timed.total, || {
        format!("total_sample_count is {total}, and was {} in the part before", timed.total)
    });
    let end = offset.saturating_add(count);
    report.expect(end <= total, || format!("{end} samples of a query of {total} are handed over"));
    timed.total = total;
    timed.query_count += u64::from(is_first);
    timed.handed_over = if end >= total { 0 } else { end };
}
