//! The state of a backend and its model in their life cycles.

use std::{
    collections::{BTreeMap, HashSet},
    thread::ThreadId,
};

use crate::{call::Call, memory::Extents, report::Report, request::Request, samples::Prepared};

/// Stage of a model's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Without samples.
    Loaded,
    /// Samples are prepared, and `start` has not been called.
    Prepared,
    /// Between `start` and `stop`.
    Started,
    /// Behind `stop`, with samples.
    Stopped,
}

impl Stage {
    fn words(self) -> &'static str {
        match self {
            Self::Loaded => "has no samples prepared",
            Self::Prepared => "has samples prepared and is not started",
            Self::Started => "is started",
            Self::Stopped => "is stopped, with samples that are not released",
        }
    }
}

/// A call that has not returned.
#[derive(Debug)]
pub(crate) struct UnderWay {
    pub(crate) call: Call,
    pub(crate) instance: Option<u32>,
    pub(crate) thread: ThreadId,
}

/// A backend from `open` to `close`.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) is_closed: bool,
    pub(crate) under_way: Vec<UnderWay>,
    pub(crate) model: Option<LoadedModel>,
    /// Number of the latest model and instance, which identifies an object.
    pub(crate) last_number: u64,
    /// Ids of the batches that were submitted.
    pub(crate) batch_ids: HashSet<u64>,
}

/// A model from `load_model` to `unload_model`.
#[derive(Debug)]
pub(crate) struct LoadedModel {
    pub(crate) number: u64,
    pub(crate) request: Request,
    pub(crate) stage: Stage,
    /// Live instances, by the index of the placement.
    pub(crate) instances: BTreeMap<u32, LiveInstance>,
    pub(crate) prepared: Option<Prepared>,
    pub(crate) timed: Timed,
    /// Whether the host knows the extension for the threads of instances.
    pub(crate) knows_threads: bool,
    /// Memory of the outputs of batches that are being worked on.
    pub(crate) rooms: Extents,
}

/// The timed part of a test.
#[derive(Debug, Default)]
pub(crate) struct Timed {
    /// Ids of all samples.
    pub(crate) ids: HashSet<u64>,
    /// Number of passed samples of the query that comes in parts, and of the whole query.
    pub(crate) handed_over: u64,
    pub(crate) total: u64,
    pub(crate) query_count: u64,
    pub(crate) is_flushed: bool,
    /// Threads that queries came on.
    pub(crate) issuing: HashSet<ThreadId>,
}

/// An instance from `create_instance` to `destroy_instance`.
#[derive(Debug)]
pub(crate) struct LiveInstance {
    pub(crate) number: u64,
    /// The thread of its batches since the start.
    pub(crate) thread: Option<ThreadId>,
    /// Threads that have begun and not ended.
    pub(crate) begun: Vec<ThreadId>,
    /// Maximum number of batches that it takes at a time, as declared; `None` until the host asks.
    pub(crate) in_flight_max: Option<u32>,
    /// Number of batches that it has now.
    pub(crate) in_flight: u32,
}

impl State {
    /// Returns a new number for an object.
    pub(crate) fn next_number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }
}

impl LoadedModel {
    pub(crate) fn new(number: u64, request: Request) -> Self {
        Self {
            number,
            request,
            stage: Stage::Loaded,
            instances: BTreeMap::new(),
            prepared: None,
            timed: Timed::default(),
            knows_threads: false,
            rooms: Extents::default(),
        }
    }

    /// Notes a broken promise, unless the model is at this stage.
    pub(crate) fn expect_stage(&self, stage: Stage, report: &mut Report) {
        report.expect(self.stage == stage, || format!("the model {}", self.stage.words()));
    }

    /// Notes a broken promise, unless the model is given batches, or else whole queries.
    pub(crate) fn expect_dispatch(&self, is_batches: bool, report: &mut Report) {
        report.expect((self.request.instance_count > 0) == is_batches, || {
            format!("instance_count of the model request is {}", self.request.instance_count)
        });
    }

    /// Notes that the timed part begins.
    pub(crate) fn start(&mut self) {
        self.timed = Timed::default();
        self.instances.values_mut().for_each(|instance| instance.thread = None);
        self.stage = Stage::Started;
    }

    /// Notes ids of samples that are being worked on; each id must be new.
    pub(crate) fn expect_new_id(&mut self, id: u64, report: &mut Report) {
        let is_new = self.timed.ids.insert(id);
        report.expect(is_new, || format!("sample id {id:#x} has come before"));
    }

    /// Notes the thread of a batch: one for each instance, and another for each.
    pub(crate) fn expect_thread(&mut self, index: u32, here: ThreadId, report: &mut Report) {
        let others = self.instances.iter().filter(|(other, _)| **other != index);
        let shared =
            others.filter(|(_, instance)| instance.thread == Some(here) || instance.begun.contains(&here));
        let shared = shared.map(|(other, _)| *other).next();
        report.expect(shared.is_none(), || {
            format!("instance {index} runs on the thread of instance {}", shared.unwrap_or(0))
        });
        let Some(instance) = self.instances.get_mut(&index) else { return };
        report.expect(!self.knows_threads || instance.begun.contains(&here), || {
            format!("instance {index} runs on a thread that has not begun (ProctorInstanceThread)")
        });
        // With several batches in flight there are several threads.
        let is_same =
            instance.in_flight_max.unwrap_or(0) > 0 || instance.thread.is_none_or(|thread| thread == here);
        report.expect(is_same, || format!("instance {index} runs on another thread than its batches before"));
        instance.thread = Some(here);
    }
}
