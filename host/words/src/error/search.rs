//! Settings by which no highest load can be searched for.

use std::path::PathBuf;

use proctor_loadgen::Rules;

/// Settings by which no highest load can be searched for.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
#[rustfmt::skip]
pub enum SearchError {
    #[error("--record {0} is for one run: leave it out of a search, and record a run at its result")] Record(PathBuf),
    #[error("--from {from} --to {to}: give a range above 0 whose ends are in order")] Range { from: f64, to: f64 },
    #[error("--latency-bound: under {0} the bound of MultiStream is the setting multi_stream_interval_ms")]
    IntervalIsBound(Rules),
    #[error("{setting} = {limit} is in the way of find-max: {needed}; set {setting} = 0, which is no limit")]
    Limit { setting: &'static str, limit: u64, needed: RunLength },
    #[error("cannot resume {folder}: {key} was {before}, and is {now} now; give the flags of the interrupted search, \
             or begin a new one")] Resumed { folder: PathBuf, key: String, before: String, now: String },
}

/// Length that a full run needs.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
#[rustfmt::skip]
pub enum RunLength {
    #[error("a full run has at least {0} queries")] Queries(u64),
    #[error("a full run takes at least {0} ms")] Time(u64),
    #[error("a full run takes at least {least_ms} ms, and above {rate:.4} queries/s it would be shorter")]
    TimeAtRate { least_ms: u64, rate: f64 },
}
