//! The table of networks: the way from an id to a model.

use std::sync::Arc;

use proctor_vocabulary::TensorSpec;

use super::{
    attention_sum_reader, bidaf, gnmt,
    known::{Known, Load, Settings},
    recurrent::Planner,
    rnnt, text_similarity,
};
use crate::load::{LoadError, LoadRequest};
use crate::model::Model;
use crate::safetensors::weights::{Weights, read_file};

/// Every network: one list for each file.
const NETWORKS: [&[Known]; 5] = [
    &text_similarity::NETWORKS,
    &attention_sum_reader::NETWORKS,
    &bidaf::NETWORKS,
    &gnmt::NETWORKS,
    &rnnt::NETWORKS,
];

/// A network: its id, and the tensors of one sample.
#[derive(Debug, Clone)]
pub struct Network {
    /// Id of the model, such as `gnmt`.
    pub id: &'static str,
    /// Inputs, in order.
    pub inputs: Vec<TensorSpec>,
    /// Outputs, in order. Those named `tokens` have as many elements as the model decides, up to their shape.
    pub outputs: Vec<TensorSpec>,
    load: Load,
}

/// All networks. A `-tiny` one is the same code with small sizes, for tests.
#[must_use]
pub fn networks() -> Vec<Network> {
    let network = |known: &Known| Network {
        id: known.id,
        inputs: (known.inputs)(),
        outputs: (known.outputs)(),
        load: known.load,
    };
    NETWORKS.into_iter().flatten().map(network).collect()
}

/// The network of this id.
#[must_use]
pub fn find(id: &str) -> Option<Network> {
    networks().into_iter().find(|network| network.id == id)
}

impl Network {
    /// Loads the weights of a request for this network and plans its layers.
    ///
    /// # Errors
    /// [`LoadError::NoFile`] without a safetensors file, [`LoadError::Tensors`] if the request's tensors are not the
    /// network's, [`LoadError::Weights`] if the file is not.
    pub fn load(&self, request: &LoadRequest<'_>) -> Result<Arc<dyn Model>, LoadError> {
        let Some(path) = request.safetensors else {
            return Err(LoadError::NoFile { model: self.id.to_owned(), formats: "safetensors" });
        };
        check_tensors("takes", &self.inputs, "has", request.inputs)?;
        check_tensors("gives", &self.outputs, "wants", request.outputs)?;
        let bytes = read_file(path)?;
        let mut weights = Weights::new(path, &bytes)?;
        let mut planner =
            Planner { weights: &mut weights, precision: request.precision, scheduler: request.scheduler };
        let settings = Settings { batch_size_max: request.batch_size_max.max(1) };
        let model = (self.load)(settings, &mut planner)?;
        weights.finish(|| format!("the model \"{}\"", self.id))?;
        Ok(model)
    }
}

/// Compares types and shapes; names are for people.
fn check_tensors(
    verb: &str,
    expected: &[TensorSpec],
    wish: &str,
    got: &[TensorSpec],
) -> Result<(), LoadError> {
    let same = |(a, b): (&TensorSpec, &TensorSpec)| a.element_type == b.element_type && a.shape == b.shape;
    if expected.len() == got.len() && expected.iter().zip(got).all(same) {
        return Ok(());
    }
    let list = |specs: &[TensorSpec]| specs.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let (has, wants) = (format!("{verb} {}", list(expected)), format!("{wish} {}", list(got)));
    Err(LoadError::Tensors { has, wants })
}
