//! Calls that are not due, for those who test how a plugin takes them.

use crate::{call::Call, error::PluginHostError, objects::model::Model};

/// A call of a model's life that can be made when it is not due, without that anything is left dangling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutOfTurn {
    /// `start`.
    Start,
    /// `flush`.
    Flush,
    /// `stop`.
    Stop,
    /// `release_samples`; the host keeps the samples where they are.
    Release,
}

impl Model {
    /// Makes a call that is not due. The model's state stays as it was, and so do its samples. A function that the
    /// plugin does not have is as good as one that succeeds. [main thread]
    ///
    /// A host does not do so; a plugin that is not up to it may crash.
    ///
    /// # Errors
    /// The plugin's refusal.
    pub fn call_out_of_turn(&self, call: OutOfTurn) -> Result<(), PluginHostError> {
        let model = &*self.inner;
        let table = &model.table().raw;
        let (call, function) = match call {
            OutOfTurn::Start => (Call::Start, table.start),
            OutOfTurn::Flush => (Call::Flush, table.flush),
            OutOfTurn::Stop => (Call::Stop, table.stop),
            OutOfTurn::Release => (Call::ReleaseSamples, table.release_samples),
        };
        model.optional(model.activity, call, function)
    }
}
