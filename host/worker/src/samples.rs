//! The samples of the host, which are read where they are.

use std::collections::HashMap;

use proctor_isolated::{SealedMemory, protocol::PlacedSample};
use proctor_plugin_host::SampleBuffers;
use proctor_vocabulary::{SampleIndex, TensorSpec};

/// Samples in memory that the host has filled and sealed.
pub(crate) struct Samples {
    ranges: Vec<SealedMemory>,
    /// Number of the range and position there, of each input of each sample.
    places: HashMap<u64, Vec<(usize, usize)>>,
    /// Size of each input in bytes.
    sizes: Vec<usize>,
}

impl Samples {
    pub(crate) fn new(ranges: Vec<SealedMemory>, placed: Vec<PlacedSample>, inputs: &[TensorSpec]) -> Self {
        let places = placed.into_iter().map(|sample| (sample.index, sample.inputs)).collect();
        Self { ranges, places, sizes: inputs.iter().map(TensorSpec::size_bytes).collect() }
    }

    fn find(&self, index: SampleIndex, input: usize) -> Option<&[u8]> {
        let (range, begin) = *self.places.get(&index.0)?.get(input)?;
        let end = begin.checked_add(*self.sizes.get(input)?)?;
        self.ranges.get(range)?.bytes().get(begin..end)
    }
}

impl SampleBuffers for Samples {
    fn tensor(&self, index: SampleIndex, input: usize) -> &[u8] {
        // The plugin host refuses what has not its size.
        self.find(index, input).unwrap_or_default()
    }

    fn ranges(&self) -> Vec<&[u8]> {
        self.ranges.iter().map(SealedMemory::bytes).collect()
    }
}
