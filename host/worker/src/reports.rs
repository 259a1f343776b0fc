//! Reports that the host is given unasked: log, progress, and what became of samples.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{
        AtomicU64,
        Ordering::{Acquire, Release},
    },
};

use proctor_isolated::{
    Socket,
    protocol::{Event, Response},
};
use proctor_vocabulary::{CompletionSink, QuerySampleResponse, ResponseId};

/// The way of reports to the host. Clones share it.
#[derive(Clone)]
pub(crate) struct Reports(Arc<Way>);

struct Way {
    events: Arc<Socket>,
    /// Held while a message is sent.
    turn: Mutex<()>,
    /// Reports of samples that were sent.
    count: AtomicU64,
}

impl Reports {
    pub(crate) fn new(events: Arc<Socket>) -> Self {
        Self(Arc::new(Way { events, turn: Mutex::default(), count: AtomicU64::new(0) }))
    }

    /// Tells the host. A host that is not there any more has ended this process.
    pub(crate) fn tell(&self, event: &Event) {
        let _turn = self.0.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = self.0.events.send(event, &[]);
    }

    /// Reports of samples that were sent.
    pub(crate) fn count(&self) -> u64 {
        self.0.count.load(Acquire)
    }

    fn tell_of_samples(&self, event: &Event) {
        let _turn = self.0.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = self.0.events.send(event, &[]);
        self.0.count.fetch_add(1, Release);
    }
}

/// The host judges what it is told of samples: which of them there are, and when.
impl CompletionSink for Reports {
    fn complete(&self, responses: &[QuerySampleResponse<'_>]) {
        self.tell_of_samples(&Event::Completed(responses.iter().map(owned).collect()));
    }

    fn first_token(&self, responses: &[QuerySampleResponse<'_>]) {
        self.tell_of_samples(&Event::FirstTokens(responses.iter().map(owned).collect()));
    }

    fn tokens(&self, _now_ns: u64, id: ResponseId, count: u32) {
        self.tell_of_samples(&Event::Tokens { id: id.0, count });
    }
}

fn owned(response: &QuerySampleResponse<'_>) -> Response {
    Response {
        id: response.id.0,
        status: response.status.0,
        token_count: response.token_count,
        data: response.data.to_vec(),
    }
}
