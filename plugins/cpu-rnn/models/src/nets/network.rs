//! The table of networks: the way from an id to a model.

use std::sync::Arc;

use proctor_vocabulary::TensorSpec;

use super::{
    attention_sum_reader, bidaf, gnmt,
    known::{Known, are_alike},
    recurrent::LayerSource,
    rnnt, text_similarity,
};
use crate::model::Model;
use crate::request::{LoadError, LoadRequest};
use crate::safetensors::weights::{Weights, read_file};

/// Every network by its id. A `-tiny` one is the same code with small sizes, for tests.
const NETWORKS: [(&str, &dyn Known); 11] = [
    ("text-similarity", &text_similarity::FULL),
    ("text-similarity-33", &text_similarity::FULL_33),
    ("text-similarity-tiny", &text_similarity::TINY),
    ("attention-sum-reader", &attention_sum_reader::FULL),
    ("attention-sum-reader-tiny", &attention_sum_reader::TINY),
    ("bidaf", &bidaf::FULL),
    ("bidaf-tiny", &bidaf::TINY),
    ("gnmt", &gnmt::FULL),
    ("gnmt-tiny", &gnmt::TINY),
    ("rnnt", &rnnt::FULL),
    ("rnnt-tiny", &rnnt::TINY),
];

/// A network: its id, and the tensors of one sample.
#[derive(Debug, Clone)]
pub struct Network {
    /// Id of the model, such as `gnmt`.
    pub id: &'static str,
    /// Inputs, in order.
    pub inputs: Vec<TensorSpec>,
    /// Outputs, in order. An output named `tokens` has as many elements as the model decides, up to its shape.
    pub outputs: Vec<TensorSpec>,
    /// The formats of the files that it reads.
    pub formats: &'static [&'static str],
    sizes: &'static dyn Known,
}

/// Returns all networks.
#[must_use]
pub fn networks() -> Vec<Network> {
    let network = |(id, sizes): (_, &'static dyn Known)| Network {
        id,
        inputs: sizes.inputs(),
        outputs: sizes.outputs(),
        formats: sizes.formats(),
        sizes,
    };
    NETWORKS.map(network).into()
}

/// Returns the network of this id.
#[must_use]
pub fn find(id: &str) -> Option<Network> {
    networks().into_iter().find(|network| network.id == id)
}

impl Network {
    /// Loads the weights of a request for this network and plans its layers. The request's tensors are the ones above,
    /// or others that the network has a variant for, such as a published data set's.
    ///
    /// # Errors
    /// [`LoadError::NoFile`] without a safetensors file, [`LoadError::Tensors`] if the request's tensors are not the
    /// network's, [`LoadError::Weights`] if the file is not; [`LoadError::Vocabulary`] likewise.
    pub fn load(&self, request: &LoadRequest<'_>) -> Result<Arc<dyn Model>, LoadError> {
        let Some(path) = request.safetensors else {
            return Err(LoadError::NoFile { model: self.id.to_owned(), formats: "safetensors" });
        };
        let other = self.sizes.for_tensors(request.inputs, request.outputs);
        let sizes = match &other {
            Some(sizes) => &**sizes,
            None => {
                self.check_tensors("takes", &self.inputs, "has", request.inputs)?;
                self.check_tensors("gives", &self.outputs, "wants", request.outputs)?;
                self.sizes
            }
        };
        let bytes = read_file(path)?;
        let mut weights = Weights::new(path, &bytes)?;
        let LoadRequest { model, vocabulary, precision, scheduler, .. } = *request;
        let batch_size_max = request.batch_size_max.max(1);
        let model = sizes.load(&mut LayerSource {
            model,
            weights: &mut weights,
            vocabulary,
            precision,
            scheduler,
            batch_size_max,
        })?;
        weights.finish(|| format!("the model \"{}\"", self.id))?;
        Ok(model)
    }

    /// Refuses other tensors than these.
    fn check_tensors(
        &self,
        verb: &str,
        expected: &[TensorSpec],
        wish: &str,
        got: &[TensorSpec],
    ) -> Result<(), LoadError> {
        if are_alike(expected, got) {
            return Ok(());
        }
        let list =
            |specs: &[TensorSpec]| specs.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let other = self.sizes.other_tensors().map(|other| format!(" (else it makes {other})"));
        let has = format!("{verb} {}{}", list(expected), other.unwrap_or_default());
        Err(LoadError::Tensors { has, wants: format!("{wish} {}", list(got)) })
    }
}
