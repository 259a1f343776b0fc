//! Makes calls that are not due, to test the plugin's reaction.

use crate::{call::Call, error::PluginHostError, objects::model::Model};

/// A call of a model's life that can be made out of turn without leaving anything dangling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutOfTurn {
    /// `start`.
    Start,
    /// `flush`.
    Flush,
    /// `stop`.
    Stop,
    /// `release_samples`; the host keeps the samples in place.
    Release,
}

impl Model {
    /// Makes a call that is not due. The model's state and its samples do not change. A function that the
    /// plugin does not have counts as successful. [main thread]
    ///
    /// A host does not do so; a plugin that is not up to it may crash.
    ///
    /// # Errors
    /// Returns the refusal of the plugin.
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
