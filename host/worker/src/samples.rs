//! Samples of the host, which are read in place.

use std::collections::HashMap;

use proctor_isolated::{
    SealedMemory,
    protocol::{PlacedSample, PlacedTensor},
};
use proctor_plugin_api::abi::PROCTOR_TENSOR_ALIGNMENT;
use proctor_plugin_host::SampleBuffers;
use proctor_vocabulary::{ElementType, SampleIndex, TensorSpec};

/// Samples in memory that the host has filled and sealed.
pub(crate) struct Samples {
    memory: Memory,
    /// Indices in the order in which the samples lie in memory.
    order: Vec<SampleIndex>,
    /// Places of each input of each sample.
    places: HashMap<u64, Vec<PlacedTensor>>,
    /// The samples that are stored in memory once more, behind the last.
    copies: Vec<SampleIndex>,
    /// Places of each input of each of these.
    places_of_copies: Vec<Vec<PlacedTensor>>,
}

/// The ranges of the samples.
struct Memory {
    ranges: Vec<SealedMemory>,
    /// Type of each input.
    types: Vec<ElementType>,
}

impl Memory {
    /// Returns the number of bytes of an input; `None` if no memory has as many.
    fn size_bytes(&self, input: usize, tensor: &PlacedTensor) -> Option<usize> {
        let count = tensor.shape.iter().try_fold(1_usize, |count, extent| count.checked_mul(*extent))?;
        Some(self.types.get(input)?.bytes_of(count))
    }

    /// Returns the bytes of an input, if its range has them.
    fn bytes(&self, input: usize, tensor: &PlacedTensor) -> Option<&[u8]> {
        let end = tensor.offset.checked_add(self.size_bytes(input, tensor)?)?;
        self.ranges.get(tensor.range)?.bytes().get(tensor.offset..end)
    }

    /// Returns the place of a sample behind another one, if its bytes are there.
    fn behind(&self, last: &[PlacedTensor], sample: &[PlacedTensor]) -> Option<Vec<PlacedTensor>> {
        let behind = |(input, (last, tensor)): (usize, (&PlacedTensor, &PlacedTensor))| {
            let end = last.offset.checked_add(self.size_bytes(input, last)?)?;
            let offset = end.checked_next_multiple_of(PROCTOR_TENSOR_ALIGNMENT)?;
            let copy = PlacedTensor { range: last.range, offset, shape: tensor.shape.clone() };
            (self.bytes(input, &copy)? == self.bytes(input, tensor)?).then_some(copy)
        };
        last.iter().zip(sample).enumerate().map(behind).collect()
    }
}

impl Samples {
    pub(crate) fn new(
        ranges: Vec<SealedMemory>,
        mut placed: Vec<PlacedSample>,
        inputs: &[TensorSpec],
    ) -> Self {
        // By all inputs: a sample without bytes of the first lies at the place of the next one.
        placed.sort_by_cached_key(|sample| {
            sample.inputs.iter().map(|tensor| (tensor.range, tensor.offset)).collect::<Vec<_>>()
        });
        let memory = Memory { ranges, types: inputs.iter().map(|input| input.element_type).collect() };
        let order = placed.iter().map(|sample| SampleIndex(sample.index)).collect();
        let (copies, places_of_copies) = copies(&memory, &placed).into_iter().unzip();
        let places = placed.into_iter().map(|sample| (sample.index, sample.inputs)).collect();
        Self { memory, order, places, copies, places_of_copies }
    }

    /// Returns the samples in the order in which they lie in memory.
    pub(crate) fn order(&self) -> &[SampleIndex] {
        &self.order
    }

    fn place(&self, index: SampleIndex, input: usize) -> Option<&PlacedTensor> {
        self.places.get(&index.0)?.get(input)
    }
}

/// Returns the copies that follow the last of the samples, which are in the order of their places, with their own.
///
/// The host announces each sample once. But if it repeats the first ones behind the last, their bytes are
/// there, and equal bytes are as good, regardless of their purpose.
fn copies(memory: &Memory, placed: &[PlacedSample]) -> Vec<(SampleIndex, Vec<PlacedTensor>)> {
    let mut copies = Vec::new();
    let has_bytes = |sample: &PlacedSample| {
        let mut tensors = sample.inputs.iter().enumerate();
        tensors.any(|(input, tensor)| memory.bytes(input, tensor).is_some_and(|bytes| !bytes.is_empty()))
    };
    // Those without any bytes would never reach the end of the memory.
    let Some(mut last) =
        placed.last().map(|sample| sample.inputs.clone()).filter(|_| placed.iter().any(has_bytes))
    else {
        return copies;
    };
    for sample in placed.iter().cycle() {
        let Some(copy) = memory.behind(&last, &sample.inputs) else { break };
        last.clone_from(&copy);
        copies.push((SampleIndex(sample.index), copy));
    }
    copies
}

impl SampleBuffers for Samples {
    fn tensor(&self, index: SampleIndex, input: usize) -> &[u8] {
        // The plugin host refuses anything of another size.
        let place = self.place(index, input);
        place.and_then(|tensor| self.memory.bytes(input, tensor)).unwrap_or_default()
    }

    fn shape(&self, index: SampleIndex, input: usize) -> Option<&[usize]> {
        self.place(index, input).map(|tensor| tensor.shape.as_slice())
    }

    fn copies(&self) -> &[SampleIndex] {
        &self.copies
    }

    fn copy(&self, position: usize, input: usize) -> &[u8] {
        let place = self.places_of_copies.get(position).and_then(|inputs| inputs.get(input));
        place.and_then(|tensor| self.memory.bytes(input, tensor)).unwrap_or_default()
    }

    fn ranges(&self) -> Vec<&[u8]> {
        self.memory.ranges.iter().map(SealedMemory::bytes).collect()
    }
}

#[cfg(test)]
mod tests {
    use proctor_isolated::SharedMemory;

    use super::*;

    #[test]
    fn samples_without_bytes_of_the_first_input_are_in_order_too() {
        let shared = SharedMemory::new(1).unwrap();
        shared.seal().unwrap();
        let memory = SealedMemory::open(shared.file().try_clone_to_owned().unwrap()).unwrap();
        let size_bytes = memory.bytes().len();
        let input = |name: &str| TensorSpec {
            name: name.to_owned(),
            element_type: ElementType::U8,
            shape: vec![PROCTOR_TENSOR_ALIGNMENT],
        };
        // The first input of neither has bytes. The second ones fill the memory but for one place: the copy's.
        let sample = |index, offset, size_bytes| PlacedSample {
            index,
            inputs: vec![
                PlacedTensor { range: 0, offset: 0, shape: vec![0] },
                PlacedTensor { range: 0, offset, shape: vec![size_bytes] },
            ],
        };
        let last = sample(3, PROCTOR_TENSOR_ALIGNMENT, size_bytes - 2 * PROCTOR_TENSOR_ALIGNMENT);
        let first = sample(7, 0, PROCTOR_TENSOR_ALIGNMENT);
        let samples = Samples::new(vec![memory], vec![last, first], &[input("empty"), input("full")]);
        assert_eq!(samples.order(), [7, 3].map(SampleIndex));
        assert_eq!(samples.copies(), [SampleIndex(7)]);
    }
}
