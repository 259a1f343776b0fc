//! Samples in memory, in a host's layout.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
    ops::Range,
};

use proctor_datasets::SampleStore;
use proctor_plugin_api::abi::PROCTOR_TENSOR_ALIGNMENT;
use proctor_plugin_host::{Model, PluginHostError, PluginRange, SampleBuffers};
use proctor_vocabulary::{ElementType, SampleIndex, TensorSpec};

/// Size of a page; a plugin allocates in multiples of it.
const PAGE_BYTES: usize = 4096;

/// Samples in memory, each tensor on its own, aligned as the ABI promises.
pub(crate) struct Samples {
    samples: BTreeMap<u64, Vec<Aligned>>,
    sum: u64,
}

/// The bytes of a tensor, which begin where an aligned address is.
struct Aligned {
    memory: Vec<u8>,
    begin: usize,
    size_bytes: usize,
    shape: Vec<usize>,
}

/// Values of inputs that no data set has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extreme {
    /// NaN; of integers the smallest.
    NotANumber,
    /// Infinity; of integers the largest.
    Infinite,
    /// The largest finite number, with alternating signs; of integers the largest and the smallest.
    Huge,
    /// The smallest number above 0; of integers 0.
    Tiny,
}

impl Samples {
    /// Returns the samples from a store, under other indices: `from` is the one in the store, `to` the one here.
    pub(crate) fn from_store(store: &SampleStore, pairs: &[(SampleIndex, SampleIndex)]) -> Self {
        let inputs = 0..store.inputs().len();
        let copy = |from: SampleIndex| {
            let bytes = |input| store.tensor(from, input).unwrap_or_default();
            let shape = |input| store.shape(from, input).unwrap_or_default();
            inputs.clone().map(|input| Aligned::copy(bytes(input), shape(input))).collect()
        };
        Self::new(pairs.iter().map(|(from, to)| (to.0, copy(*from))).collect())
    }

    /// Returns the samples, some of which have all inputs full of extreme values.
    pub(crate) fn with_extreme(
        store: &SampleStore,
        indices: &[SampleIndex],
        extreme: &[SampleIndex],
        value: Extreme,
    ) -> Self {
        let pairs: Vec<_> = indices.iter().map(|index| (*index, *index)).collect();
        let mut samples = Self::from_store(store, &pairs).samples;
        for index in extreme {
            let filled = store.inputs().iter().enumerate().map(|(input, spec)| {
                let shape = store.shape(*index, input).unwrap_or(&spec.shape);
                Aligned::copy(&filled_with(&spec.of_shape(shape.to_vec()), value), shape)
            });
            samples.insert(index.0, filled.collect());
        }
        Self::new(samples)
    }

    fn new(samples: BTreeMap<u64, Vec<Aligned>>) -> Self {
        let mut made = Self { samples, sum: 0 };
        made.sum = made.current_sum();
        made
    }

    /// Returns the index of every sample, in order.
    pub(crate) fn indices(&self) -> Vec<SampleIndex> {
        self.samples.keys().copied().map(SampleIndex).collect()
    }

    /// Returns whether any byte is another than it was at first.
    pub(crate) fn are_overwritten(&self) -> bool {
        self.current_sum() != self.sum
    }

    fn current_sum(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        for (index, tensors) in &self.samples {
            index.hash(&mut hasher);
            tensors.iter().for_each(|tensor| tensor.bytes().hash(&mut hasher));
        }
        hasher.finish()
    }
}

impl Samples {
    fn find(&self, index: SampleIndex, input: usize) -> Option<&Aligned> {
        self.samples.get(&index.0)?.get(input)
    }
}

impl SampleBuffers for Samples {
    fn tensor(&self, index: SampleIndex, input: usize) -> &[u8] {
        self.find(index, input).map_or(&[], Aligned::bytes)
    }

    fn shape(&self, index: SampleIndex, input: usize) -> Option<&[usize]> {
        self.find(index, input).map(|tensor| tensor.shape.as_slice())
    }
}

/// Samples in memory that the plugin has allocated, a range for each input.
pub(crate) struct InMemory {
    ranges: Vec<PluginRange>,
    tensors: BTreeMap<u64, Vec<Placed>>,
}

/// A tensor within the range of its input.
struct Placed {
    place: Range<usize>,
    shape: Vec<usize>,
}

impl InMemory {
    /// Copies samples there; `None` if the plugin leaves the memory to the host.
    pub(crate) fn new(
        model: &Model,
        samples: &Samples,
        input_count: usize,
    ) -> Result<Option<Self>, PluginHostError> {
        let indices = samples.indices();
        let mut ranges = Vec::new();
        let mut tensors: BTreeMap<u64, Vec<Placed>> = BTreeMap::new();
        for input in 0..input_count {
            let mut end = 0;
            for index in &indices {
                let begin = end;
                let size_bytes = samples.tensor(*index, input).len();
                end += size_bytes.next_multiple_of(PROCTOR_TENSOR_ALIGNMENT);
                let shape = samples.shape(*index, input).unwrap_or_default().to_vec();
                let place = begin..begin + size_bytes;
                tensors.entry(index.0).or_default().push(Placed { place, shape });
            }
            let Some(mut range) = model.allocate(end.next_multiple_of(PAGE_BYTES))? else { return Ok(None) };
            for index in &indices {
                let place = tensors[&index.0][input].place.clone();
                range.bytes_mut()[place].copy_from_slice(samples.tensor(*index, input));
            }
            range.finish()?;
            ranges.push(range);
        }
        Ok(Some(Self { ranges, tensors }))
    }
}

impl SampleBuffers for InMemory {
    fn tensor(&self, index: SampleIndex, input: usize) -> &[u8] {
        let tensor = self.tensors.get(&index.0);
        tensor.map_or(&[], |inputs| &self.ranges[input].bytes()[inputs[input].place.clone()])
    }

    fn shape(&self, index: SampleIndex, input: usize) -> Option<&[usize]> {
        self.tensors.get(&index.0).map(|inputs| inputs[input].shape.as_slice())
    }

    fn ranges(&self) -> Vec<&[u8]> {
        self.ranges.iter().map(PluginRange::bytes).collect()
    }
}

impl Aligned {
    fn copy(bytes: &[u8], shape: &[usize]) -> Self {
        let mut memory = vec![0; bytes.len() + PROCTOR_TENSOR_ALIGNMENT];
        let begin = memory.as_ptr().align_offset(PROCTOR_TENSOR_ALIGNMENT);
        memory[begin..][..bytes.len()].copy_from_slice(bytes);
        Self { memory, begin, size_bytes: bytes.len(), shape: shape.to_vec() }
    }

    fn bytes(&self) -> &[u8] {
        &self.memory[self.begin..][..self.size_bytes]
    }
}

/// Returns the bytes of a tensor that is full of a value.
fn filled_with(spec: &TensorSpec, value: Extreme) -> Vec<u8> {
    let size_bytes = spec.size_bytes();
    let (first, second) = pair_of(spec.element_type, value);
    let pair = [first, second].concat();
    pair.into_iter().cycle().take(size_bytes).collect()
}

/// Returns two neighbouring elements of a type that have an extreme value, little-endian.
fn pair_of(element_type: ElementType, value: Extreme) -> (Vec<u8>, Vec<u8>) {
    let width = element_type.unit_bytes();
    // Sign, exponent and mantissa as IEEE 754 has them: the bits of infinity, of the largest and of the least number.
    let float = |infinity: u64, sign: u64| {
        let bits = |bits: u64| bits.to_le_bytes()[..width].to_vec();
        match value {
            Extreme::NotANumber => (bits(infinity | 1), bits(infinity | 1)),
            Extreme::Infinite => (bits(infinity), bits(infinity | sign)),
            Extreme::Huge => (bits(infinity - 1), bits((infinity - 1) | sign)),
            Extreme::Tiny => (bits(1), bits(1 | sign)),
        }
    };
    let integer = |smallest: &[u8], largest: &[u8]| match value {
        Extreme::NotANumber => (smallest.to_vec(), smallest.to_vec()),
        Extreme::Infinite => (largest.to_vec(), largest.to_vec()),
        Extreme::Huge => (largest.to_vec(), smallest.to_vec()),
        Extreme::Tiny => (vec![0; width], vec![0; width]),
    };
    match element_type {
        ElementType::F64 => float(0x7ff0_0000_0000_0000, 1 << 63),
        ElementType::F32 => float(0x7f80_0000, 1 << 31),
        ElementType::F16 => float(0x7c00, 1 << 15),
        ElementType::Bf16 => float(0x7f80, 1 << 15),
        ElementType::F8E5M2 => float(0x7c, 1 << 7),
        // There is no infinity; all ones are NaN.
        ElementType::F8E4M3 => float(0x7e, 1 << 7),
        ElementType::I16 => integer(&i16::MIN.to_le_bytes(), &i16::MAX.to_le_bytes()),
        ElementType::I32 => integer(&i32::MIN.to_le_bytes(), &i32::MAX.to_le_bytes()),
        ElementType::I64 => integer(&i64::MIN.to_le_bytes(), &i64::MAX.to_le_bytes()),
        ElementType::I8 => integer(&[0x80], &[0x7f]),
        ElementType::Bool => integer(&[0], &[1]),
        ElementType::I4 => integer(&[0x88], &[0x77]),
        ElementType::U8 | ElementType::U4 => integer(&[0], &[0xff]),
        ElementType::U16 => integer(&[0; 2], &[0xff; 2]),
        ElementType::U32 => integer(&[0; 4], &[0xff; 4]),
        ElementType::U64 => integer(&[0; 8], &[0xff; 8]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extremes_are_values_of_their_type() {
        let spec = TensorSpec { name: "x".into(), element_type: ElementType::F32, shape: vec![3] };
        let floats = |value| {
            let bytes = filled_with(&spec, value);
            let (words, _) = bytes.as_chunks::<4>();
            words.iter().map(|word| f32::from_le_bytes(*word)).collect::<Vec<_>>()
        };
        assert!(floats(Extreme::NotANumber).iter().all(|value| value.is_nan()));
        assert_eq!(floats(Extreme::Infinite), [f32::INFINITY, f32::NEG_INFINITY, f32::INFINITY]);
        assert_eq!(floats(Extreme::Huge), [f32::MAX, f32::MIN, f32::MAX]);
        assert_eq!(floats(Extreme::Tiny)[0].to_bits(), 1);
        for element_type in ElementType::ALL {
            let odd = TensorSpec { element_type: *element_type, ..spec.clone() };
            assert_eq!(filled_with(&odd, Extreme::Huge).len(), odd.size_bytes(), "{element_type}");
        }
    }
}
