//! Reports to the host that it has not requested: log, progress, and outcomes of samples.

use std::sync::{
    Arc,
    atomic::{
        AtomicU64,
        Ordering::{Acquire, Release},
    },
};

use parking_lot::Mutex;
use proctor_isolated::{ReportKind, ReportWriter, Socket, protocol::Event};
use proctor_vocabulary::{CompletionSink, QuerySampleResponse, ResponseId, SampleStatus};

/// The way of reports to the host. Clones share it.
#[derive(Clone)]
pub(crate) struct Reports(Arc<Way>);

struct Way {
    events: Arc<Socket>,
    samples: Mutex<ReportWriter>,
    /// Reports of samples that were written.
    count: AtomicU64,
}

impl Reports {
    pub(crate) fn new(events: Arc<Socket>, samples: ReportWriter) -> Self {
        Self(Arc::new(Way { events, samples: Mutex::new(samples), count: AtomicU64::new(0) }))
    }

    /// Sends an event to the host. If the host is gone, this process is ending, too.
    pub(crate) fn tell(&self, event: &Event) {
        let _ = self.0.events.send(event, &[]);
    }

    /// Returns the number of reports of samples that were written.
    pub(crate) fn count(&self) -> u64 {
        self.0.count.load(Acquire)
    }

    fn write(&self, kind: ReportKind, responses: &[QuerySampleResponse<'_>]) {
        let mut samples = self.0.samples.lock();
        samples.write(kind, responses);
        self.0.count.fetch_add(1, Release);
    }
}

/// The host judges reports about samples: whether they exist, and when.
impl CompletionSink for Reports {
    fn complete(&self, responses: &[QuerySampleResponse<'_>]) {
        self.write(ReportKind::Completed, responses);
    }

    fn first_token(&self, responses: &[QuerySampleResponse<'_>]) {
        self.write(ReportKind::FirstTokens, responses);
    }

    fn tokens(&self, _now_ns: u64, id: ResponseId, token_count: u32) {
        let tokens = QuerySampleResponse { id, status: SampleStatus::OK, token_count, data: &[] };
        self.write(ReportKind::Tokens, &[tokens]);
    }
}
