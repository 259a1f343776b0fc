//! The samples that are prepared: checked, remembered, and looked at again when they are released.

use std::{collections::BTreeMap, slice};

use proctor_plugin_api::{
    abi::*,
    versioned::{Elements, read},
};

use crate::{
    memory::{Extents, sum_of},
    report::Report,
    request::{Request, Tensor},
};

/// Size of a page, to which ranges of memory are aligned.
const PAGE_BYTES: usize = 4096;

/// The samples between `prepare_samples` and `release_samples`.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// Address of the set, which stays until the release.
    set: usize,
    /// The words of the set as they were.
    words: [usize; 7],
    samples: BTreeMap<u64, Sample>,
    /// Memory of all inputs.
    pub(crate) inputs: Extents,
    /// First byte and size of each range that they lie in.
    ranges: Vec<(usize, usize)>,
}

/// One sample as it was.
#[derive(Debug, PartialEq, Eq)]
struct Sample {
    inputs: Vec<Input>,
}

/// One input tensor of a sample: its address and its bytes.
#[derive(Debug, PartialEq, Eq)]
struct Input {
    address: usize,
    size_bytes: usize,
    sum: u64,
}

fn words(set: &ProctorSampleSet) -> [usize; 7] {
    let ProctorSampleSet { sample_count, sample_stride, input_stride, range_count, range_stride, .. } = *set;
    let (samples, ranges) = (set.samples.addr(), set.ranges.addr());
    [samples, sample_count, sample_stride, input_stride, ranges, range_count, range_stride]
}

impl Prepared {
    /// Reads and checks the samples.
    ///
    /// # Safety
    /// The host vouches for the set and all that it points to.
    pub(crate) unsafe fn read(
        set: *const ProctorSampleSet,
        request: &Request,
        report: &mut Report,
    ) -> Option<Self> {
        // SAFETY: the caller's promise.
        let raw = report.value(unsafe { read(set) })?;
        // SAFETY: the caller's promise.
        let ranges = unsafe { ranges(&raw, request, report) };
        let found = report.value(Elements::new(raw.samples, raw.sample_count, raw.sample_stride))?;
        report.expect(!found.is_empty(), || "there are no samples".to_owned());
        let mut prepared = Self {
            set: set.expose_provenance(),
            words: words(&raw),
            samples: BTreeMap::new(),
            inputs: Extents::default(),
            ranges,
        };
        // SAFETY: the caller's promise.
        for sample in unsafe { found.iter() } {
            let index = sample.index;
            let last = prepared.samples.last_key_value().map(|(last, _)| *last);
            report.expect(last.is_none_or(|last| last < index), || {
                format!("sample {index} comes after sample {}, not by ascending index", last.unwrap_or(0))
            });
            // SAFETY: the caller's promise.
            let inputs = unsafe { read_inputs(sample.inputs, sample.input_count, raw.input_stride, request) };
            let Some(inputs) = report.value(inputs.map_err(|why| format!("sample {index}: {why}"))) else {
                continue;
            };
            for (input, tensor) in inputs.iter().zip(&request.inputs) {
                let is_inside =
                    prepared.ranges.is_empty() || prepared.is_inside(input.address, input.size_bytes);
                report.expect(is_inside, || {
                    format!("input \"{}\" of sample {index} lies in none of the ranges", tensor.name)
                });
                prepared.inputs.add(input.address, input.size_bytes);
            }
            prepared.samples.insert(index, Sample { inputs });
        }
        Some(prepared)
    }

    /// Checks the samples again: everything is where and as it was.
    ///
    /// # Safety
    /// The host vouches for the set and all that it points to, as it did when they were prepared.
    pub(crate) unsafe fn expect_unchanged(&self, request: &Request, report: &mut Report) {
        let set = std::ptr::with_exposed_provenance::<ProctorSampleSet>(self.set);
        // SAFETY: the host vouches for the set until it is released.
        let now = unsafe { read(set) }.ok().filter(|set| words(set) == self.words);
        let Some(now) = now else {
            report.expect(false, || {
                "the ProctorSampleSet of prepare_samples has changed, which stays until it is released"
                    .to_owned()
            });
            return;
        };
        let Ok(found) = Elements::new(now.samples, now.sample_count, now.sample_stride) else { return };
        // SAFETY: the host vouches for the samples until they are released.
        for sample in unsafe { found.iter() } {
            let index = sample.index;
            // SAFETY: as above.
            let inputs = unsafe { read_inputs(sample.inputs, sample.input_count, now.input_stride, request) };
            let before = self.samples.get(&index);
            let (Ok(inputs), Some(before)) = (inputs, before) else {
                report.expect(false, || format!("sample {index} is not the one that was prepared"));
                continue;
            };
            for ((before, now), tensor) in before.inputs.iter().zip(&inputs).zip(&request.inputs) {
                let what = || format!("input \"{}\" of sample {index}", tensor.name);
                report.expect(before.address == now.address, || format!("{} has moved", what()));
                let is_same = before.address != now.address || before.sum == now.sum;
                report.expect(is_same, || format!("{} was written to since it was prepared", what()));
            }
        }
    }

    /// Compares the inputs of a sample in a batch with those that were prepared. Bytes are compared when samples are
    /// released, but at once for a copy that lies within the ranges and in no sample.
    ///
    /// # Safety
    /// The host vouches for the inputs.
    pub(crate) unsafe fn expect_inputs(
        &self,
        sample: &ProctorBatchSample,
        stride: usize,
        request: &Request,
        report: &mut Report,
    ) {
        let index = sample.index;
        let Some(prepared) = self.samples.get(&index) else {
            return report.expect(false, || format!("sample {index} is not among the prepared ones"));
        };
        // SAFETY: the caller's promise.
        let tensors = unsafe { tensors_of(sample.inputs, sample.input_count, stride, request) };
        let Some(tensors) = report.value(tensors.map_err(|why| format!("sample {index}: {why}"))) else {
            return;
        };
        for ((tensor, prepared), spec) in tensors.iter().zip(&prepared.inputs).zip(&request.inputs) {
            let (address, size_bytes) = (tensor.data.addr(), tensor.size_bytes);
            let is_beside = self.is_inside(address, size_bytes) && !self.inputs.meets(address, size_bytes);
            // SAFETY: the host vouches for the bytes of a tensor.
            let is_copy = || is_beside && unsafe { sum_of(tensor.data.cast(), size_bytes) } == prepared.sum;
            report.expect(address == prepared.address || size_bytes == 0 || is_copy(), || {
                format!("input \"{}\" of sample {index} is not where it was prepared", spec.name)
            });
        }
    }

    /// Returns whether bytes lie in one of the ranges.
    fn is_inside(&self, address: usize, size_bytes: usize) -> bool {
        let end = address.saturating_add(size_bytes);
        self.ranges.iter().any(|(first, size)| *first <= address && end <= first + size)
    }

    /// Returns whether a sample is among them.
    pub(crate) fn has(&self, index: u64) -> bool {
        self.samples.contains_key(&index)
    }
}

/// Returns the inputs of a sample, checked against the request.
///
/// # Safety
/// The host vouches for `count` tensors that lie `stride` bytes apart, and for their shapes.
unsafe fn tensors_of(
    first: *const ProctorTensor,
    count: usize,
    stride: usize,
    request: &Request,
) -> Result<Vec<ProctorTensor>, String> {
    if count != request.inputs.len() {
        return Err(format!("there are {count} inputs instead of {}", request.inputs.len()));
    }
    let found = Elements::new(first, count, stride)?;
    // SAFETY: the caller's promise.
    let tensors: Vec<ProctorTensor> = unsafe { found.iter() }.collect();
    for (tensor, spec) in tensors.iter().zip(&request.inputs) {
        // SAFETY: the caller's promise.
        unsafe { check_tensor(tensor, spec, request.inputs_vary) }
            .map_err(|why| format!("input \"{}\" {why}", spec.name))?;
    }
    Ok(tensors)
}

/// # Safety
/// As [`tensors_of`].
unsafe fn check_tensor(tensor: &ProctorTensor, spec: &Tensor, varies: bool) -> Result<(), String> {
    let ProctorTensor { data, size_bytes, shape, rank, element_type } = *tensor;
    if size_bytes != spec.size_bytes && !varies {
        return Err(format!("has {size_bytes} bytes instead of {}", spec.size_bytes));
    }
    if element_type != spec.element_type as u32 {
        return Err(format!("has element type {element_type} instead of {}", spec.element_type as u32));
    }
    if data.is_null() && size_bytes > 0 {
        return Err("is null".to_owned());
    }
    if !data.addr().is_multiple_of(PROCTOR_TENSOR_ALIGNMENT) {
        return Err(format!("lies at {data:p}, which is not aligned to {PROCTOR_TENSOR_ALIGNMENT}"));
    }
    if rank as usize != spec.shape.len() || (shape.is_null() && rank > 0) {
        return Err(format!("has a shape of {rank} dimensions at {shape:p} instead of {}", spec.shape.len()));
    }
    // SAFETY: not null where there is one; the host vouches for `rank` extents.
    let shape = if rank == 0 { &[] } else { unsafe { slice::from_raw_parts(shape, rank as usize) } };
    if !varies {
        let is_same = shape == spec.shape;
        return if is_same {
            Ok(())
        } else {
            Err(format!("has the shape {shape:?} instead of {:?}", spec.shape))
        };
    }
    if shape.iter().zip(&spec.shape).any(|(extent, most)| extent > most) {
        return Err(format!("has the shape {shape:?}, which does not fit into {:?}", spec.shape));
    }
    // Within the shape of the request, whose bytes can be counted.
    let expected = spec.element_type.bytes_of(shape.iter().product::<u64>() as usize);
    if size_bytes == expected {
        Ok(())
    } else {
        Err(format!("has {size_bytes} bytes, and its shape {shape:?} has {expected}"))
    }
}

/// # Safety
/// As [`tensors_of`]; and the host vouches for the bytes.
unsafe fn read_inputs(
    first: *const ProctorTensor,
    count: usize,
    stride: usize,
    request: &Request,
) -> Result<Vec<Input>, String> {
    // SAFETY: the caller's promise.
    let tensors = unsafe { tensors_of(first, count, stride, request) }?;
    // SAFETY: a tensor is not null unless it has no bytes, as was just checked; the host vouches for the bytes.
    let sum = |tensor: &ProctorTensor| unsafe { sum_of(tensor.data.cast(), tensor.size_bytes) };
    let input = |tensor: &ProctorTensor| Input {
        address: tensor.data.addr(),
        size_bytes: tensor.size_bytes,
        sum: sum(tensor),
    };
    Ok(tensors.iter().map(input).collect())
}

/// Returns the first byte and size of each range of memory, checked.
///
/// # Safety
/// The host vouches for the ranges of the set.
unsafe fn ranges(set: &ProctorSampleSet, request: &Request, report: &mut Report) -> Vec<(usize, usize)> {
    let found = Elements::new(set.ranges, set.range_count, set.range_stride);
    let Some(found) = report.value(found) else { return Vec::new() };
    report.expect(found.is_empty() || found.len() == request.inputs.len(), || {
        format!("there are {} ranges instead of one for each of {} inputs", found.len(), request.inputs.len())
    });
    // SAFETY: the caller's promise.
    let all: Vec<ProctorMemoryRange> = unsafe { found.iter() }.collect();
    for (position, range) in all.iter().enumerate() {
        let is_paged =
            range.data.addr().is_multiple_of(PAGE_BYTES) && range.size_bytes.is_multiple_of(PAGE_BYTES);
        report.expect(is_paged && !range.data.is_null(), || {
            format!("range {position}, {} bytes at {:p}, is not of whole pages", range.size_bytes, range.data)
        });
        // No memory of the plugin's own was handed out.
        report.expect(range.kind == PROCTOR_MEMORY_HOST, || {
            format!("range {position} is of the kind {}, not {PROCTOR_MEMORY_HOST}", range.kind)
        });
        report.expect(range.reserved == 0, || {
            format!("range {position} has {} in reserved, not 0", range.reserved)
        });
    }
    all.iter().map(|range| (range.data.addr(), range.size_bytes)).collect()
}
