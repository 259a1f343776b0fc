//! The samples of the host, which are read where they are.

use std::collections::HashMap;

use proctor_isolated::{
    SealedMemory,
    protocol::{PlacedSample, PlacedTensor},
};
use proctor_plugin_host::SampleBuffers;
use proctor_vocabulary::{ElementType, SampleIndex, TensorSpec};

/// Samples in memory that the host has filled and sealed.
pub(crate) struct Samples {
    ranges: Vec<SealedMemory>,
    /// Where each input of each sample is.
    places: HashMap<u64, Vec<PlacedTensor>>,
    /// Type of each input.
    types: Vec<ElementType>,
}

impl Samples {
    pub(crate) fn new(ranges: Vec<SealedMemory>, placed: Vec<PlacedSample>, inputs: &[TensorSpec]) -> Self {
        let places = placed.into_iter().map(|sample| (sample.index, sample.inputs)).collect();
        Self { ranges, places, types: inputs.iter().map(|input| input.element_type).collect() }
    }

    fn place(&self, index: SampleIndex, input: usize) -> Option<&PlacedTensor> {
        self.places.get(&index.0)?.get(input)
    }

    fn find(&self, index: SampleIndex, input: usize) -> Option<&[u8]> {
        let PlacedTensor { range, offset, shape } = self.place(index, input)?;
        let count = shape.iter().try_fold(1_usize, |count, extent| count.checked_mul(*extent))?;
        let end = offset.checked_add(self.types.get(input)?.bytes_of(count))?;
        self.ranges.get(*range)?.bytes().get(*offset..end)
    }
}

impl SampleBuffers for Samples {
    fn tensor(&self, index: SampleIndex, input: usize) -> &[u8] {
        // The plugin host refuses what has not its size.
        self.find(index, input).unwrap_or_default()
    }

    fn shape(&self, index: SampleIndex, input: usize) -> Option<&[usize]> {
        self.place(index, input).map(|tensor| tensor.shape.as_slice())
    }

    fn ranges(&self) -> Vec<&[u8]> {
        self.ranges.iter().map(SealedMemory::bytes).collect()
    }
}
