//! The batches that a plugin has taken and will report as done.

use std::sync::{Arc, Weak};

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use proctor_plugin_api::abi::ProctorDone;
use serde::{Deserialize, Serialize};

/// Reason why a batch cannot have been done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[non_exhaustive]
pub enum DoneProblem {
    /// The structure is null, not aligned, or of a size that cannot be; the text names it.
    #[error("{0}")]
    Structure(String),
    /// No batch has ever had this id.
    #[error("no batch has this id")]
    Unknown,
    /// The batch was done before.
    #[error("it was done before")]
    Twice,
    /// The batch's instance has ended, or is destroyed.
    #[error("its instance has come to its end")]
    Ended,
    /// The call that submitted it has failed.
    #[error("the plugin had refused it")]
    Refused,
}

/// The place of a batch that a plugin has taken.
pub(crate) trait Place: Send + Sync {
    /// Takes the batch back. [any thread]
    ///
    /// # Safety
    /// The plugin vouches for what `done` points to, and for what the batch points to that is the plugin's.
    unsafe fn done(&self, done: &ProctorDone) -> Result<(), DoneProblem>;
}

/// The places of a backend. The upper half of a batch's id is the number of its place, from 1.
#[derive(Default)]
pub(crate) struct Places {
    /// Read without a lock by the threads of the plugin.
    list: ArcSwap<Vec<Weak<dyn Place>>>,
    adding: Mutex<()>,
}

impl Places {
    /// Adds a place, and returns the id before its first batch.
    pub(crate) fn add(&self, place: &Arc<impl Place + 'static>) -> u64 {
        let _alone = self.adding.lock();
        let mut list = Vec::clone(&self.list.load());
        let place: Weak<dyn Place> = Arc::<_>::downgrade(place) as _;
        list.push(place);
        let number = list.len() as u64;
        self.list.store(Arc::new(list));
        number << 32
    }

    /// Takes a batch back. [any thread]
    ///
    /// # Safety
    /// Same as [`Place::done`].
    pub(crate) unsafe fn done(&self, done: &ProctorDone) -> Result<(), DoneProblem> {
        let list = self.list.load();
        let place =
            usize::try_from(done.batch_id >> 32).ok().and_then(|number| list.get(number.checked_sub(1)?));
        let place = place.ok_or(DoneProblem::Unknown)?.upgrade().ok_or(DoneProblem::Ended)?;
        // SAFETY: the caller's promise.
        unsafe { place.done(done) }
    }
}
