//! Turns spans of `tracing` with the target [`Stage::SPAN`] into stages of a batch.
//!
//! A thread records the outermost of them as they are left, without a lock and without memory of its own, and
//! they become the stages of the batch that it executes, unless the plugin sets others.

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

/// Id of every other span.
const OTHER: u64 = 1;

/// Id of a stage for whose name there is no room. Those of the other stages follow, by their names.
const NAMELESS: u64 = 2;

/// Names of stages, in the order in which they came; no names follow the first empty place.
static NAMES: [OnceLock<&'static str>; abi::PROCTOR_STAGE_NAME_COUNT_MAX] =
    [const { OnceLock::new() }; abi::PROCTOR_STAGE_NAME_COUNT_MAX];

/// True if there has been a stage: a plugin without stages does not pay for them.
static ARE_USED: AtomicBool = AtomicBool::new(false);

/// True if the log already reports that there were too many stages.
static HAS_WARNED: AtomicBool = AtomicBool::new(false);

thread_local! {
    static NOTED: RefCell<Noted> = const { RefCell::new(Noted::NOTHING) };
}

/// The stages that a thread has been through since it began a batch.
struct Noted {
    stages: [Stage; abi::PROCTOR_STAGE_COUNT_MAX],
    count: usize,
    /// Number of further stages without room for them or their names.
    lost: usize,
    /// Depth of nested stages that the thread is in; the outermost counts.
    depth: usize,
    begin_ns: u64,
}

impl Noted {
    const NOTHING: Self = Self {
        stages: [Stage::new("", 0, 0); abi::PROCTOR_STAGE_COUNT_MAX],
        count: 0,
        lost: 0,
        depth: 0,
        begin_ns: 0,
    };
}

/// Returns whether a span is a stage.
pub(in crate::authoring) fn is_stage(metadata: &Metadata<'_>) -> bool {
    metadata.is_span() && metadata.target() == Stage::SPAN
}

/// Returns the id for a span: of a stage by its name, or [`NAMELESS`] if there are too many names already.
pub(in crate::authoring) fn id_of(metadata: &Metadata<'_>) -> Id {
    if !is_stage(metadata) {
        return Id::from_u64(OTHER);
    }
    ARE_USED.store(true, Relaxed);
    let name = metadata.name();
    let place = NAMES.iter().position(|known| *known.get_or_init(|| name) == name);
    let place = place.and_then(|place| u64::try_from(place).ok());
    Id::from_u64(place.map_or(NAMELESS, |place| NAMELESS + 1 + place))
}

/// Notes that the thread enters the span of this id.
pub(in crate::authoring) fn enter(id: &Id) {
    if id.into_u64() == OTHER {
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

/// Notes that the thread leaves the span of this id.
pub(in crate::authoring) fn exit(id: &Id) {
    if id.into_u64() == OTHER {
        return;
    }
    let now_ns = now_ns();
    NOTED.with_borrow_mut(|noted| {
        // A stage that began before the batch is not part of it.
        let Some(depth) = noted.depth.checked_sub(1) else { return };
        noted.depth = depth;
        if depth > 0 {
            return;
        }
        // The host takes no more of a batch.
        match (name_of(id), noted.stages.get_mut(noted.count)) {
            (Some(name), Some(stage)) => {
                *stage = Stage::new(name, noted.begin_ns, now_ns);
                noted.count += 1;
            }
            _ => noted.lost += 1,
        }
    });
}

/// Runs `work` on a batch. Stages that this thread goes through meanwhile are added to the batch.
///
/// # Errors
/// Returns the errors of the work.
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
    NOTED.with_borrow_mut(|noted| (noted.count, noted.lost, noted.depth) = (0, 0, 0));
}

/// Gives the batch its stages, unless it has some, or not all of them have room: a part would pass for the whole.
#[cold]
fn tell(batch: &mut Batch<'_>) {
    if batch.has_stages() {
        return;
    }
    let lost = NOTED.with_borrow(|noted| {
        if noted.count > 0 && noted.lost == 0 {
            batch.set_stages(&noted.stages[..noted.count]);
        }
        noted.lost
    });
    if lost > 0 && !HAS_WARNED.swap(true, Relaxed) {
        tracing::warn!(
            "a batch has {lost} spans too many to be its stages, and is left without stages, as is each such batch: at \
             most {} stages of a batch, and {} names of stages of a plugin",
            abi::PROCTOR_STAGE_COUNT_MAX,
            abi::PROCTOR_STAGE_NAME_COUNT_MAX
        );
    }
}

/// Returns the name of the stage with this id.
fn name_of(id: &Id) -> Option<&'static str> {
    let place = id.into_u64().checked_sub(NAMELESS + 1)?;
    NAMES.get(usize::try_from(place).ok()?)?.get().copied()
}

/// Returns the time of the host that has opened a plugin last.
fn now_ns() -> u64 {
    Host::latest().map_or(0, |host| host.now_ns())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The id of a stage that has a name.
    fn stage() -> Id {
        let _ = NAMES[0].get_or_init(|| Stage::COMPUTE);
        Id::from_u64(NAMELESS + 1)
    }

    fn go_through(id: &Id) {
        enter(id);
        exit(id);
    }

    fn noted_and_lost() -> (usize, usize) {
        NOTED.with_borrow(|noted| (noted.count, noted.lost))
    }

    #[test]
    fn a_span_that_began_before_the_batch_is_no_stage_of_it() {
        let stage = stage();
        enter(&stage);
        forget();
        exit(&stage);
        assert_eq!(noted_and_lost(), (0, 0));
        go_through(&stage);
        assert_eq!(noted_and_lost(), (1, 0));
    }

    #[test]
    fn stages_without_room_are_counted() {
        forget();
        for _ in 0..abi::PROCTOR_STAGE_COUNT_MAX + 2 {
            go_through(&stage());
        }
        assert_eq!(noted_and_lost(), (abi::PROCTOR_STAGE_COUNT_MAX, 2));
        forget();
        go_through(&Id::from_u64(NAMELESS));
        go_through(&Id::from_u64(OTHER));
        assert_eq!(noted_and_lost(), (0, 1));
        // A part of another stage needs no name.
        enter(&stage());
        go_through(&Id::from_u64(NAMELESS));
        exit(&stage());
        assert_eq!(noted_and_lost(), (1, 1));
    }
}
