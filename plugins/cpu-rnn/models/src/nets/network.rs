//! What the networks are called and take: the way from an id to a model.

use proctor_rnn_engine::Team;
use proctor_vocabulary::{ElementType, TensorSpec};
use std::sync::Arc;

use super::{
    attention_sum_reader, bidaf, gnmt,
    layers::Embedding,
    recurrent::{Planner, Recurrent, Runner},
    rnnt, text_similarity,
};
use crate::{
    Dense, LoadError, LoadRequest, Model, RunError,
    model::MEMORY_BYTES_MAX,
    safetensors::{Weights, WeightsError, read_file},
};

/// A network: its id, and the tensors of one sample.
#[derive(Debug, Clone, PartialEq)]
pub struct Network {
    /// Id of the model, such as `gnmt`.
    pub id: &'static str,
    /// Inputs, in order.
    pub inputs: Vec<TensorSpec>,
    /// Outputs, in order. Those named `tokens` have as many elements as the model decides, up to their shape.
    pub outputs: Vec<TensorSpec>,
    kind: Kind,
}

/// Which code runs it, and at which sizes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    TextSimilarity(&'static text_similarity::Sizes),
    AttentionSumReader(&'static attention_sum_reader::Sizes),
    Bidaf(&'static bidaf::Sizes),
    Gnmt(&'static gnmt::Sizes),
    Rnnt(&'static rnnt::Sizes),
}

/// All networks. A `-tiny` one is the same code with small sizes, for tests.
#[must_use]
pub fn networks() -> Vec<Network> {
    let kinds = [
        ("text-similarity", Kind::TextSimilarity(&text_similarity::FULL)),
        ("text-similarity-tiny", Kind::TextSimilarity(&text_similarity::TINY)),
        ("attention-sum-reader", Kind::AttentionSumReader(&attention_sum_reader::FULL)),
        ("attention-sum-reader-tiny", Kind::AttentionSumReader(&attention_sum_reader::TINY)),
        ("bidaf", Kind::Bidaf(&bidaf::FULL)),
        ("bidaf-tiny", Kind::Bidaf(&bidaf::TINY)),
        ("gnmt", Kind::Gnmt(&gnmt::FULL)),
        ("gnmt-tiny", Kind::Gnmt(&gnmt::TINY)),
        ("rnnt", Kind::Rnnt(&rnnt::FULL)),
        ("rnnt-tiny", Kind::Rnnt(&rnnt::TINY)),
    ];
    kinds
        .into_iter()
        .map(|(id, kind)| Network { id, inputs: kind.inputs(), outputs: kind.outputs(), kind })
        .collect()
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
        let model = match self.kind {
            Kind::TextSimilarity(sizes) => text_similarity::load(*sizes, settings, &mut planner),
            Kind::AttentionSumReader(sizes) => attention_sum_reader::load(*sizes, settings, &mut planner),
            Kind::Bidaf(sizes) => bidaf::load(*sizes, settings, &mut planner),
            Kind::Gnmt(sizes) => gnmt::load(*sizes, settings, &mut planner),
            Kind::Rnnt(sizes) => rnnt::load(*sizes, settings, &mut planner),
        }?;
        weights.finish(|| format!("the model \"{}\"", self.id))?;
        Ok(model)
    }
}

impl Kind {
    fn inputs(self) -> Vec<TensorSpec> {
        match self {
            Self::TextSimilarity(sizes) => sizes.inputs(),
            Self::AttentionSumReader(sizes) => sizes.inputs(),
            Self::Bidaf(sizes) => sizes.inputs(),
            Self::Gnmt(sizes) => sizes.inputs(),
            Self::Rnnt(sizes) => sizes.inputs(),
        }
    }

    fn outputs(self) -> Vec<TensorSpec> {
        match self {
            Self::TextSimilarity(sizes) => sizes.outputs(),
            Self::AttentionSumReader(sizes) => sizes.outputs(),
            Self::Bidaf(sizes) => sizes.outputs(),
            Self::Gnmt(sizes) => sizes.outputs(),
            Self::Rnnt(sizes) => sizes.outputs(),
        }
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

/// How a network will be run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settings {
    pub(super) batch_size_max: usize,
}

impl Settings {
    /// Refuses batches whose buffers would be out of all proportion: so many f32 values for each sample.
    pub(super) fn check_memory(&self, time: usize, values_per_sample: usize) -> Result<(), RunError> {
        let batch_size_max = self.batch_size_max;
        let bytes = batch_size_max
            .checked_mul(values_per_sample)
            .and_then(|count| count.checked_mul(size_of::<f32>()));
        if bytes.is_some_and(|bytes| bytes <= MEMORY_BYTES_MAX) {
            return Ok(());
        }
        Err(RunError::TooLarge { time, batch_size_max, limit_bytes: MEMORY_BYTES_MAX })
    }
}

impl Planner<'_, '_> {
    /// Takes a table of vectors out of the file: `{prefix}.weight` `[vocabulary, width]`.
    pub(super) fn embedding(
        &mut self,
        prefix: &str,
        vocabulary: usize,
        width: usize,
    ) -> Result<Embedding, WeightsError> {
        Ok(Embedding::new(self.weights.take(&format!("{prefix}.weight"), &[vocabulary, width])?, width))
    }

    /// Takes a map out of the file: `{prefix}.weight` `[output, input]` and `{prefix}.bias` `[output]`.
    pub(super) fn linear(
        &mut self,
        prefix: &str,
        input: usize,
        output: usize,
    ) -> Result<Dense, WeightsError> {
        let weight = self.weights.take(&format!("{prefix}.weight"), &[output, input])?;
        let bias = self.weights.take(&format!("{prefix}.bias"), &[output])?;
        Ok(Dense::new(&weight, &bias, input))
    }

    /// Takes a map without bias.
    pub(super) fn matrix(
        &mut self,
        prefix: &str,
        input: usize,
        output: usize,
    ) -> Result<Dense, WeightsError> {
        let weight = self.weights.take(&format!("{prefix}.weight"), &[output, input])?;
        Ok(Dense::new(&weight, &[], input))
    }
}

impl Runner {
    /// Threads and memory for these layers.
    pub(super) fn new<'a>(team: Team, layers: impl IntoIterator<Item = &'a Recurrent>) -> Self {
        let mut runner = Self { team, workspace: proctor_rnn_engine::Workspace::default() };
        layers.into_iter().for_each(|layer| layer.ready(&mut runner.team));
        runner
    }
}

pub(super) fn f32_spec(name: &str, shape: &[usize]) -> TensorSpec {
    TensorSpec { name: name.to_owned(), element_type: ElementType::F32, shape: shape.to_vec() }
}

pub(super) fn i32_spec(name: &str, shape: &[usize]) -> TensorSpec {
    TensorSpec { name: name.to_owned(), element_type: ElementType::I32, shape: shape.to_vec() }
}

pub(super) fn zeros(count: usize) -> Vec<f32> {
    vec![0.0; count]
}
