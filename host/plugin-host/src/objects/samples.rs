//! The possible samples of a model, as the plugin sees them.

use std::{ops::Range, sync::Arc};

use proctor_plugin_api::{
    MemoryKind,
    abi::{
        PROCTOR_TENSOR_ALIGNMENT, ProctorMemoryRange, ProctorPreparedSample, ProctorSampleSet, ProctorTensor,
    },
    vocabulary::{SampleIndex, TensorSpec},
};

use crate::objects::demand::ModelDemand;

/// The preprocessed input tensors of the samples that are loaded.
pub trait SampleBuffers: Send + Sync {
    /// Returns the bytes of one input tensor of one loaded sample: row-major, without gaps, aligned to 64.
    fn tensor(&self, index: SampleIndex, input: usize) -> &[u8];

    /// Returns the extents of that tensor; `None` if they match the ones that the model was loaded for.
    fn shape(&self, index: SampleIndex, input: usize) -> Option<&[usize]> {
        let _ = (index, input);
        None
    }

    /// Returns the samples that lie in memory a second time, behind the last of the set, for queries of MultiStream
    /// that continue at the first.
    fn copies(&self) -> &[SampleIndex] {
        &[]
    }

    /// Returns the bytes of one input tensor of one of the copies, by its position among them; equal to its sample's.
    fn copy(&self, position: usize, input: usize) -> &[u8] {
        let _ = (position, input);
        &[]
    }

    /// Returns the memory that the tensors lie in, in whole pages; none if it is in parts of pages.
    fn ranges(&self) -> Vec<&[u8]> {
        Vec::new()
    }
}

/// A range in use by future samples and by the views of samples.
#[derive(Debug, Clone)]
pub(crate) struct RangeInUse {
    /// Addresses as the host sees them.
    pub(crate) host: Range<usize>,
    /// The first byte as the plugin sees it.
    pub(crate) plugin: *const u8,
    pub(crate) kind: MemoryKind,
}

// SAFETY: an address that the host hands back to the plugin, and does not look behind.
unsafe impl Send for RangeInUse {}

/// Extents of each input tensor, at addresses that stay.
pub(crate) type Shapes = Arc<[Box<[u64]>]>;

/// Views of all tensors of the prepared samples. Owns their targets. Kept in vectors, whose contents, unlike
/// a `Box`'s, may be pointed to while they move.
pub(crate) struct Prepared {
    /// Sorted by index, each index once.
    samples: Vec<ProctorPreparedSample>,
    /// Copies in the order in which they lie behind `last`. The plugin is not told about them, but finds them in
    /// batches.
    copies: Vec<ProctorPreparedSample>,
    /// The last sample of the set, behind which the copies lie; `None` without copies.
    last: Option<SampleIndex>,
    _tensors: Vec<ProctorTensor>,
    ranges: Vec<ProctorMemoryRange>,
    /// Set that is passed to the plugin. It has to stay as well, so this structure lies where it does not move.
    set: ProctorSampleSet,
    _shapes: Shapes,
    /// Extents of the tensors that have others than those.
    _own_shapes: Vec<Box<[u64]>>,
    _buffers: Arc<dyn SampleBuffers>,
}

// SAFETY: the pointers lead to tensors, shapes and bytes that this structure owns and nothing changes while it lives.
unsafe impl Send for Prepared {}
// SAFETY: shared access only reads what this structure owns, which nothing changes.
unsafe impl Sync for Prepared {}

/// Returns whether a shape has the dimensions of another one, and none larger.
fn fits(shape: &[usize], most: &[usize]) -> bool {
    shape.len() == most.len() && shape.iter().zip(most).all(|(extent, most)| extent <= most)
}

/// Checks the bytes of a tensor, and its own shape if it has another one than its spec.
///
/// # Errors
/// Returns the fault, as the end of a sentence.
fn check_tensor(
    spec: &TensorSpec,
    inputs_vary: bool,
    bytes: &[u8],
    own_shape: Option<&[usize]>,
) -> Result<(), String> {
    let expected = match own_shape {
        None => spec.size_bytes(),
        Some(own) if inputs_vary && fits(own, &spec.shape) => {
            spec.element_type.bytes_of(own.iter().product())
        }
        Some(own) => {
            let most = if inputs_vary { "at most " } else { "" };
            return Err(format!("the shape {own:?} instead of {most}{:?}", spec.shape));
        }
    };
    let (got, first) = (bytes.len(), bytes.as_ptr());
    if got == expected && first.addr().is_multiple_of(PROCTOR_TENSOR_ALIGNMENT) {
        return Ok(());
    }
    Err(format!("{got} bytes at {first:p} instead of {expected} aligned to {PROCTOR_TENSOR_ALIGNMENT}"))
}

/// Returns the first of some bytes as the plugin sees it, and the kind of memory that they lie in.
fn as_plugin_sees(in_use: &[RangeInUse], bytes: &[u8]) -> (*const u8, MemoryKind) {
    let address = bytes.as_ptr().addr();
    match in_use.iter().find(|range| range.host.contains(&address)) {
        Some(range) => (range.plugin.wrapping_byte_add(address - range.host.start), range.kind),
        None => (bytes.as_ptr(), MemoryKind::Host),
    }
}

impl Prepared {
    /// Builds the views. Copies lie behind the last of `indices`.
    ///
    /// # Errors
    /// Returns a sentence about the first tensor that does not have the shape and size of its spec, or a smaller shape
    /// if the inputs vary, or that is not aligned.
    pub(crate) fn new(
        indices: &[SampleIndex],
        buffers: Arc<dyn SampleBuffers>,
        demand: &ModelDemand,
        shapes: Shapes,
        in_use: &[RangeInUse],
    ) -> Result<Arc<Self>, String> {
        let specs = &demand.inputs;
        let copies = buffers.copies().to_vec();
        let last = indices.last().copied().filter(|_| !copies.is_empty());
        let mut indices = indices.to_vec();
        indices.sort_unstable();
        indices.dedup();
        let mut tensors = Vec::with_capacity((indices.len() + copies.len()) * specs.len());
        let mut own_shapes: Vec<Box<[u64]>> = Vec::new();
        let samples = indices.iter().map(|index| (*index, None));
        let all = samples.chain(copies.iter().enumerate().map(|(position, index)| (*index, Some(position))));
        for (index, copy) in all {
            for (input, (spec, shape)) in specs.iter().zip(shapes.iter()).enumerate() {
                let bytes = match copy {
                    None => buffers.tensor(index, input),
                    Some(position) => buffers.copy(position, input),
                };
                let own = buffers.shape(index, input).filter(|own| *own != spec.shape);
                check_tensor(spec, demand.inputs_vary, bytes, own)
                    .map_err(|fault| format!("input \"{}\" of sample {index} has {fault}", spec.name))?;
                let shape = match own {
                    None => shape,
                    Some(own) => {
                        own_shapes.push(own.iter().map(|extent| *extent as u64).collect());
                        own_shapes.last().expect("one was pushed")
                    }
                };
                tensors.push(ProctorTensor {
                    data: as_plugin_sees(in_use, bytes).0.cast(),
                    size_bytes: bytes.len(),
                    shape: shape.as_ptr(),
                    rank: u32::try_from(shape.len()).expect("a tensor has few dimensions"),
                    element_type: spec.element_type as u32,
                });
            }
        }
        let sample = |(position, index): (usize, &SampleIndex)| ProctorPreparedSample {
            index: index.0,
            inputs: tensors[position * specs.len()..].as_ptr(),
            input_count: specs.len(),
        };
        let mut samples: Vec<_> = indices.iter().chain(&copies).enumerate().map(sample).collect();
        let copies = samples.split_off(indices.len());
        let range = |bytes: &[u8]| {
            let (data, kind) = as_plugin_sees(in_use, bytes);
            ProctorMemoryRange { data: data.cast(), size_bytes: bytes.len(), kind: kind.code(), reserved: 0 }
        };
        let ranges: Vec<_> = buffers.ranges().into_iter().map(range).collect();
        let set = ProctorSampleSet {
            size: size_of::<ProctorSampleSet>(),
            samples: samples.as_ptr(),
            sample_count: samples.len(),
            sample_stride: size_of::<ProctorPreparedSample>(),
            input_stride: size_of::<ProctorTensor>(),
            ranges: ranges.as_ptr(),
            range_count: ranges.len(),
            range_stride: size_of::<ProctorMemoryRange>(),
        };
        Ok(Arc::new(Self {
            samples,
            copies,
            last,
            _tensors: tensors,
            ranges,
            set,
            _shapes: shapes,
            _own_shapes: own_shapes,
            _buffers: buffers,
        }))
    }

    /// Returns the samples in the form passed to the plugin, valid as long as `self`.
    pub(crate) fn set(&self) -> *const ProctorSampleSet {
        &raw const self.set
    }

    /// Returns the kinds of their memory, in the order of the ranges.
    pub(crate) fn memory_kinds(&self) -> Vec<MemoryKind> {
        self.ranges.iter().filter_map(|range| MemoryKind::from_code(range.kind)).collect()
    }

    /// Returns the places of the samples of a call, which must be queried in their order.
    pub(crate) fn places(&self) -> Places<'_> {
        Places { prepared: self, next_copy: None }
    }

    /// Returns the input tensors of a sample. At once if the indices are without gaps, else a binary search.
    fn inputs(&self, index: SampleIndex) -> Option<*const ProctorTensor> {
        let first = self.samples.first()?.index;
        let guess =
            usize::try_from(index.0.wrapping_sub(first)).ok().and_then(|guess| self.samples.get(guess));
        if let Some(sample) = guess.filter(|sample| sample.index == index.0) {
            return Some(sample.inputs);
        }
        let position = self.samples.binary_search_by_key(&index.0, |sample| sample.index).ok()?;
        Some(self.samples[position].inputs)
    }
}

/// Places of samples that come one after another in a call.
///
/// A sample that follows the last one of the set, or a copy behind it, resolves to the copy that lies there, if there
/// is one. So the samples of a query are adjacent even if it continues from the last to the first.
pub(crate) struct Places<'a> {
    prepared: &'a Prepared,
    /// Position of the copy behind the sample before.
    next_copy: Option<usize>,
}

impl Places<'_> {
    /// Returns the input tensors of the next sample.
    pub(crate) fn inputs(&mut self, index: SampleIndex) -> Option<*const ProctorTensor> {
        let prepared = self.prepared;
        if let Some(position) = self.next_copy
            && let Some(copy) = prepared.copies.get(position).filter(|copy| copy.index == index.0)
        {
            self.next_copy = Some(position + 1);
            return Some(copy.inputs);
        }
        self.next_copy = (prepared.last == Some(index)).then_some(0);
        prepared.inputs(index)
    }
}
