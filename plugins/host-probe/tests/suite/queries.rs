//! Whole queries and their parts.

use crate::{Row, assert_told};

#[test]
fn queries_that_cannot_be_are_told() {
    let rows: &[Row] = &[
        ("ProctorQuery has 8 bytes", |host| host.started().issue(|query, _| query.size = 8)),
        ("ProctorQuerySample has 8 bytes", |host| host.started().issue(|query, _| query.sample_stride = 8)),
        ("the query has no samples", |host| {
            host.started().issue(|query, _| (query.sample_count, query.total_sample_count) = (0, 0))
        }),
        ("sample 50 is not among the prepared ones", |host| {
            host.started().issue(|_, samples| samples[1].index = 50)
        }),
        ("has come before", |host| host.started().issue(|_, samples| samples[1].id = samples[0].id)),
        ("has come before", |host| {
            let mut id = 0;
            host.started().issue(|_, samples| id = samples[0].id)?;
            host.issue(|_, samples| samples[1].id = id)
        }),
        ("the query of a warm-up is a part of one", |host| {
            host.ready().warm_up_query(|query, _| query.total_sample_count = 9)
        }),
        ("sample 50 is not among the prepared ones", |host| {
            host.ready().warm_up_query(|_, samples| samples[1].index = 50)
        }),
    ];
    assert_told(&[], 0, rows);
}

#[test]
fn parts_that_do_not_fit_together_are_told() {
    let rows: &[Row] = &[
        ("sample_offset is 2, where 0 samples were handed over before", |host| {
            host.started().issue(|query, _| (query.sample_offset, query.total_sample_count) = (2, 4))
        }),
        ("sample_offset is 0, where 2 samples were handed over before", |host| {
            host.started().issue(|query, _| query.total_sample_count = 4)?;
            host.issue(|_, _| {})
        }),
        ("total_sample_count is 8, and was 6 in the part before", |host| {
            host.started().issue(|query, _| query.total_sample_count = 6)?;
            host.issue(|query, _| (query.sample_offset, query.total_sample_count) = (2, 8))
        }),
        ("4 samples of a query of 3 are handed over", |host| {
            host.started().issue(|query, _| query.total_sample_count = 3)?;
            host.issue(|query, _| (query.sample_offset, query.total_sample_count) = (2, 3))
        }),
        ("2 of 4 samples of the last query have come", |host| {
            host.started().issue(|query, _| query.total_sample_count = 4)?;
            host.flush()
        }),
    ];
    assert_told(&[], 0, rows);
}
