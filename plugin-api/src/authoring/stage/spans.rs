//! Spans of `tracing` as stages of a batch: those with the target [`Stage::SPAN`].
//!
//! A thread notes the outermost of them as they are left, without a lock and without memory of its own, and they become
//! the stages of the batch that it executes, unless the plugin tells others.

use std::{
    cell::RefCell,
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use tracing::{Metadata, span::Id};

use crate::{
    abi,
    authoring::{batch::Batch, error::PluginError, host::Host, stage::Stage},
};

/// Id of every other span. Those of the stages follow, by their names.
const OTHER: u64 = 1;

/// The names of stages, in the order in which they came; the first place that has none is followed by no other.
static NAMES: [OnceLock<&'static str>; abi::PROCTOR_STAGE_NAME_COUNT_MAX] =
    [const { OnceLock::new() }; abi::PROCTOR_STAGE_NAME_COUNT_MAX];

/// Whether there has been a stage: a plugin that has none does not pay for them.
static ARE_USED: AtomicBool = AtomicBool::new(false);

thread_local! {
    static NOTED: RefCell<Noted> = const { RefCell::new(Noted::NOTHING) };
}

/// The stages that a thread has been through since it began a batch.
struct Noted {
    stages: [Stage; abi::PROCTOR_STAGE_COUNT_MAX],
    count: usize,
    /// Stages that the thread is in, one within the other; the outermost counts.
    depth: usize,
    begin_ns: u64,
}

impl Noted {
    const NOTHING: Self = Self {
        stages: [Stage::new("", 0, 0); abi::PROCTOR_STAGE_COUNT_MAX],
        count: 0,
        depth: 0,
        begin_ns: 0,
    };
}

/// Whether a span is a stage.
pub(in crate::authoring) fn is_stage(metadata: &Metadata<'_>) -> bool {
    metadata.is_span() && metadata.target() == Stage::SPAN
}

/// The id for a span: of a stage by its name, unless there are too many names already.
pub(in crate::authoring) fn id_of(metadata: &Metadata<'_>) -> Id {
    let place = is_stage(metadata).then(|| {
        ARE_USED.store(true, Relaxed);
        let name = metadata.name();
        NAMES.iter().position(|known| *known.get_or_init(|| name) == name)
    });
    let place = place.flatten().and_then(|place| u64::try_from(place).ok());
    Id::from_u64(place.map_or(OTHER, |place| OTHER + 1 + place))
}

/// The thread enters the span of this id.
pub(in crate::authoring) fn enter(id: &Id) {
    if name_of(id).is_none() {
        return;
    }
    let now_ns = now_ns();
    NOTED.with_borrow_mut(|noted| {
        if noted.depth == 0 {
            noted.begin_ns = now_ns;
        }
        noted.depth += 1;
    });
}

/// The thread leaves the span of this id.
pub(in crate::authoring) fn exit(id: &Id) {
    let Some(name) = name_of(id) else { return };
    let now_ns = now_ns();
    NOTED.with_borrow_mut(|noted| {
        noted.depth = noted.depth.saturating_sub(1);
        if noted.depth > 0 {
            return;
        }
        // The host takes no more of a batch.
        if let Some(stage) = noted.stages.get_mut(noted.count) {
            *stage = Stage::new(name, noted.begin_ns, now_ns);
            noted.count += 1;
        }
    });
}

/// Has `work` done on a batch, which gets the stages that this thread goes through meanwhile, if there are any.
///
/// # Errors
/// Those of the work.
#[inline]
pub(in crate::authoring) fn during(
    batch: &mut Batch<'_>,
    work: impl FnOnce(&mut Batch<'_>) -> Result<(), PluginError>,
) -> Result<(), PluginError> {
    if ARE_USED.load(Relaxed) {
        forget();
    }
    let done = work(batch);
    // Also after the first stage of all, before which there was nothing to forget.
    if ARE_USED.load(Relaxed) {
        tell(batch);
    }
    done
}

/// Forgets the stages before the batch that begins.
#[cold] // Most plugins have no such spans, and their path must not be slowed.
fn forget() {
    NOTED.with_borrow_mut(|noted| (noted.count, noted.depth) = (0, 0));
}

#[cold]
fn tell(batch: &mut Batch<'_>) {
    NOTED.with_borrow(|noted| {
        if noted.count > 0 && !batch.has_stages() {
            batch.set_stages(&noted.stages[..noted.count]);
        }
    });
}

/// The name of the stage with this id.
fn name_of(id: &Id) -> Option<&'static str> {
    let place = id.into_u64().checked_sub(OTHER + 1)?;
    NAMES.get(usize::try_from(place).ok()?)?.get().copied()
}

/// The time of the host that has opened a plugin last.
fn now_ns() -> u64 {
    Host::latest().map_or(0, |host| host.now_ns())
}
