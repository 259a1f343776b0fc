//! Knobs that are turned while batches run: the batch size and the number of instances.

use std::sync::{Arc, Weak};

use crate::instance::Instance;

/// A handle to turn the knobs of a scheduler, real or simulated: batch size and instances. [any thread]
///
/// Each call is over at once: it waits neither for a batch nor for an instance that starts or ends. In real time an
/// added instance enters its own thread and takes batches when it has; a retired one finishes its batch, leaves its
/// thread and is dropped there. In virtual time both happen at the instant of the call, or of the end of the batch.
/// [`ScalingBounds`](crate::ScalingBounds) limits the knobs.
///
/// Instances have numbers. That of an instance that has been dropped is used again by the next one.
///
/// It does not keep the scheduler alive.
#[derive(Clone)]
pub struct KnobHandle(Weak<dyn Turn>);

/// Reason why a knob cannot be turned.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum KnobError {
    #[error("the scheduler has ended")]
    Ended,
    #[error("there are {instances_max} instances already, the most that there may be")]
    Full { instances_max: usize },
    #[error("instance {instance} is the last one")]
    Last { instance: usize },
    #[error("there is no instance {instance}")]
    Missing { instance: usize },
    #[error("cannot start a thread for another instance")]
    Spawn(#[source] std::io::Error),
}

impl KnobHandle {
    pub(crate) fn of<S: Turn + 'static>(scheduler: &Arc<S>) -> Self {
        let scheduler: Weak<S> = Arc::downgrade(scheduler);
        Self(scheduler)
    }

    /// Sets the size of the batches that are formed from now on, as near to `batch_size` as the bounds allow, and
    /// returns it. Batches that run stay as they are.
    ///
    /// # Errors
    /// [`KnobError::Ended`].
    pub fn set_batch_size(&self, batch_size: usize) -> Result<usize, KnobError> {
        Ok(self.scheduler()?.set_batch_size(batch_size))
    }

    /// Adds an instance and returns its number. It takes batches once it has entered its thread.
    ///
    /// # Errors
    /// [`KnobError::Full`], [`KnobError::Spawn`] or [`KnobError::Ended`]; the instance is dropped then.
    pub fn add_instance(&self, instance: Box<dyn Instance>) -> Result<usize, KnobError> {
        self.scheduler()?.add_instance(instance)
    }

    /// Retires the instance of this number. It takes no further batch, and is dropped when that which it runs is over.
    ///
    /// # Errors
    /// [`KnobError::Missing`] or [`KnobError::Ended`]; [`KnobError::Last`] if no other instance takes batches.
    pub fn retire_instance(&self, instance: usize) -> Result<(), KnobError> {
        self.scheduler()?.retire(Some(instance)).map(|_| ())
    }

    /// Retires the instance that was added last, as [`retire_instance`](Self::retire_instance), and returns its number.
    ///
    /// # Errors
    /// Same as [`retire_instance`](Self::retire_instance).
    pub fn retire_newest(&self) -> Result<usize, KnobError> {
        self.scheduler()?.retire(None)
    }

    /// Returns the numbers of the instances that were not retired, in the order in which they were added. At
    /// least one of them takes batches; a new one may still be entering its thread.
    ///
    /// # Errors
    /// [`KnobError::Ended`].
    pub fn instances(&self) -> Result<Vec<usize>, KnobError> {
        Ok(self.scheduler()?.instances())
    }

    fn scheduler(&self) -> Result<Arc<dyn Turn>, KnobError> {
        self.0.upgrade().ok_or(KnobError::Ended)
    }
}

impl std::fmt::Debug for KnobHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KnobHandle").finish_non_exhaustive()
    }
}

/// A scheduler whose knobs are turned.
pub(crate) trait Turn: Send + Sync {
    fn set_batch_size(self: Arc<Self>, batch_size: usize) -> usize;
    fn add_instance(self: Arc<Self>, instance: Box<dyn Instance>) -> Result<usize, KnobError>;
    /// Retires the instance of this number, or the newest.
    fn retire(self: Arc<Self>, instance: Option<usize>) -> Result<usize, KnobError>;
    fn instances(&self) -> Vec<usize>;
}
