//! Samples in memory, as a host has them.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
};

use proctor_datasets::SampleStore;
use proctor_plugin_api::abi::PROCTOR_TENSOR_ALIGNMENT;
use proctor_plugin_host::{Model, PluginHostError, PluginRange, SampleBuffers};
use proctor_vocabulary::{ElementType, SampleIndex, TensorSpec};

/// Size of a page, in whole numbers of which a plugin allocates.
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
}

/// Values of inputs that no data set has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extreme {
    /// NaN; of integers the smallest.
    NotANumber,
    /// Infinity; of integers the largest.
    Infinite,
    /// The largest finite number, with both signs in turn; of integers the largest and the smallest.
    Huge,
    /// The smallest number above 0; of integers 0.
    Tiny,
}

impl Samples {
    /// Samples from a store, under other indices: `from` is the one in the store, `to` the one here.
    pub(crate) fn from_store(store: &SampleStore, pairs: &[(SampleIndex, SampleIndex)]) -> Self {
        let inputs = 0..store.inputs().len();
        let copy = |from: SampleIndex| {
            let bytes = |input| store.tensor(from, input).unwrap_or_default();
            inputs.clone().map(|input| Aligned::copy(bytes(input))).collect()
        };
        Self::new(pairs.iter().map(|(from, to)| (to.0, copy(*from))).collect())
    }

    /// Samples of which some have all inputs full of extreme values.
    pub(crate) fn with_extreme(
        store: &SampleStore,
        indices: &[SampleIndex],
        extreme: &[SampleIndex],
        value: Extreme,
    ) -> Self {
        let pairs: Vec<_> = indices.iter().map(|index| (*index, *index)).collect();
        let mut samples = Self::from_store(store, &pairs).samples;
        for index in extreme {
            let filled = store.inputs().iter().map(|spec| Aligned::copy(&filled_with(spec, value)));
            samples.insert(index.0, filled.collect());
        }
        Self::new(samples)
    }

    fn new(samples: BTreeMap<u64, Vec<Aligned>>) -> Self {
        let mut made = Self { samples, sum: 0 };
        made.sum = made.current_sum();
        made
    }

    /// The index of every sample, in order.
    pub(crate) fn indices(&self) -> Vec<SampleIndex> {
        self.samples.keys().copied().map(SampleIndex).collect()
    }

    /// Whether any byte is another than it was at first.
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

impl SampleBuffers for Samples {
    fn tensor(&self, index: SampleIndex, input: usize) -> &[u8] {
        let tensor = self.samples.get(&index.0).and_then(|tensors| tensors.get(input));
        tensor.map_or(&[], Aligned::bytes)
    }
}

/// Samples in memory that the plugin has allocated, a range for each input.
pub(crate) struct InMemory {
    ranges: Vec<PluginRange>,
    /// Place of each sample in the ranges, and the size of each input with the distance of two of them.
    places: BTreeMap<u64, usize>,
    sizes: Vec<(usize, usize)>,
}

impl InMemory {
    /// Copies samples there; `None` if the plugin leaves the memory to the host.
    pub(crate) fn new(
        model: &Model,
        samples: &Samples,
        input_count: usize,
    ) -> Result<Option<Self>, PluginHostError> {
        let indices = samples.indices();
        let (mut ranges, mut sizes) = (Vec::new(), Vec::new());
        for input in 0..input_count {
            let size = indices.first().map_or(0, |index| samples.tensor(*index, input).len());
            let stride = size.next_multiple_of(PROCTOR_TENSOR_ALIGNMENT);
            let whole = (stride * indices.len()).next_multiple_of(PAGE_BYTES);
            let Some(mut range) = model.allocate(whole)? else { return Ok(None) };
            for (place, index) in indices.iter().enumerate() {
                range.bytes_mut()[place * stride..][..size].copy_from_slice(samples.tensor(*index, input));
            }
            range.finish()?;
            ranges.push(range);
            sizes.push((size, stride));
        }
        let places = indices.iter().enumerate().map(|(place, index)| (index.0, place)).collect();
        Ok(Some(Self { ranges, places, sizes }))
    }
}

impl SampleBuffers for InMemory {
    fn tensor(&self, index: SampleIndex, input: usize) -> &[u8] {
        let (size, stride) = self.sizes[input];
        let place = self.places.get(&index.0);
        place.map_or(&[], |place| &self.ranges[input].bytes()[place * stride..][..size])
    }

    fn ranges(&self) -> Vec<&[u8]> {
        self.ranges.iter().map(PluginRange::bytes).collect()
    }
}

impl Aligned {
    fn copy(bytes: &[u8]) -> Self {
        let mut memory = vec![0; bytes.len() + PROCTOR_TENSOR_ALIGNMENT];
        let begin = memory.as_ptr().align_offset(PROCTOR_TENSOR_ALIGNMENT);
        memory[begin..][..bytes.len()].copy_from_slice(bytes);
        Self { memory, begin, size_bytes: bytes.len() }
    }

    fn bytes(&self) -> &[u8] {
        &self.memory[self.begin..][..self.size_bytes]
    }
}

/// The bytes of a tensor that is full of a value.
fn filled_with(spec: &TensorSpec, value: Extreme) -> Vec<u8> {
    let size_bytes = spec.size_bytes();
    let (first, second) = pair_of(spec.element_type, value);
    let pair = [first, second].concat();
    pair.into_iter().cycle().take(size_bytes).collect()
}

/// Two neighbouring elements of a type that have an extreme value, little-endian.
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
