//! Samples in memory, in a host's layout.

use std::sync::Arc;

use proctor_plugin_api::vocabulary::SampleIndex;
use proctor_plugin_host::SampleBuffers;

use crate::values::f32_bytes;

/// Alignment that the ABI promises for the tensors of a sample, in bytes.
const ALIGNMENT: usize = 64;

/// Samples in memory, each tensor on its own and aligned to 64 bytes. The first has the index 0. Clones share them.
#[derive(Clone)]
pub struct Samples {
    samples: Arc<[Vec<Aligned>]>,
    /// Shapes of their tensors, if they differ from the model's.
    shapes: Arc<[Vec<Vec<usize>>]>,
}

/// The bytes of a tensor, which begin where an aligned address is.
struct Aligned {
    memory: Vec<u8>,
    begin: usize,
    size_bytes: usize,
}

impl Samples {
    /// Returns the samples from the bytes of their tensors: `[sample][input]`.
    #[must_use]
    pub fn new(samples: &[Vec<Vec<u8>>]) -> Self {
        let sample = |inputs: &Vec<Vec<u8>>| inputs.iter().map(|bytes| Aligned::copy(bytes)).collect();
        Self { samples: samples.iter().map(sample).collect(), shapes: Arc::default() }
    }

    /// Returns the samples with a shape for each tensor: `[sample][input]`.
    #[must_use]
    pub fn with_shapes(self, shapes: Vec<Vec<Vec<usize>>>) -> Self {
        Self { shapes: shapes.into(), ..self }
    }

    /// Returns the samples of one tensor of f32.
    #[must_use]
    pub fn of_f32(samples: &[Vec<f32>]) -> Self {
        let samples = samples.iter().map(|values| vec![Aligned::copy(&f32_bytes(values))]).collect();
        Self { samples, shapes: Arc::default() }
    }

    /// Returns the index of every sample, in order.
    #[must_use]
    pub fn indices(&self) -> Vec<SampleIndex> {
        (0..self.samples.len() as u64).map(SampleIndex).collect()
    }
}

impl SampleBuffers for Samples {
    fn tensor(&self, index: SampleIndex, input: usize) -> &[u8] {
        self.samples[position(index)][input].bytes()
    }

    fn shape(&self, index: SampleIndex, input: usize) -> Option<&[usize]> {
        Some(&self.shapes.get(position(index))?[input])
    }
}

fn position(index: SampleIndex) -> usize {
    usize::try_from(index.0).expect("the samples are in memory")
}

impl Aligned {
    fn copy(bytes: &[u8]) -> Self {
        let mut memory = vec![0; bytes.len() + ALIGNMENT];
        let begin = memory.as_ptr().align_offset(ALIGNMENT);
        memory[begin..][..bytes.len()].copy_from_slice(bytes);
        Self { memory, begin, size_bytes: bytes.len() }
    }

    fn bytes(&self) -> &[u8] {
        &self.memory[self.begin..][..self.size_bytes]
    }
}
