//! The request for a model, and the placements of its instances.

use std::slice;

use proctor_plugin_api::{
    abi::*,
    versioned::{Elements, read},
    vocabulary::ElementType,
};

use crate::{
    manifest::{BATCH_SIZE_MAX, DEVICE, PRECISION},
    report::Report,
};

/// One tensor of a sample, as the request has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tensor {
    pub(crate) name: String,
    pub(crate) shape: Vec<u64>,
    pub(crate) element_type: ElementType,
    pub(crate) size_bytes: usize,
}

/// Placement of an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) instance_index: u32,
    pub(crate) instance_count: u32,
    cpus: Vec<u32>,
    device_index: u32,
}

/// Demands of a model.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) batch_size_max: u32,
    pub(crate) instance_count: u32,
    /// Whether inputs of a sample may be smaller than these.
    pub(crate) inputs_vary: bool,
    pub(crate) inputs: Vec<Tensor>,
    pub(crate) outputs: Vec<Tensor>,
    places: Vec<Place>,
}

/// Returns a text of the host.
///
/// # Errors
/// Returns a sentence if it is null with a length, too long, or not UTF-8.
///
/// # Safety
/// `text.data` is null, or the host vouches for `text.length` bytes there, for `'a`.
pub(crate) unsafe fn text<'a>(what: &str, text: ProctorString) -> Result<&'a str, String> {
    if text.data.is_null() {
        let is_empty = text.length == 0;
        return if is_empty { Ok("") } else { Err(format!("{what} is null and {} bytes long", text.length)) };
    }
    if text.length > PROCTOR_TEXT_LENGTH_MAX {
        return Err(format!("{what} is {} bytes long, more than {PROCTOR_TEXT_LENGTH_MAX}", text.length));
    }
    // SAFETY: not null and of a sane length as just checked; the host vouches for the bytes.
    let bytes = unsafe { slice::from_raw_parts(text.data, text.length) };
    std::str::from_utf8(bytes).map_err(|error| format!("{what} is not UTF-8: {error}"))
}

/// Returns a plain array of the host.
///
/// # Safety
/// `first` is null, or the host vouches for `count` elements there.
unsafe fn array<T: Clone>(what: &str, first: *const T, count: usize) -> Result<Vec<T>, String> {
    if count == 0 {
        return Ok(Vec::new());
    }
    if first.is_null() || !first.is_aligned() || count > PROCTOR_LIST_COUNT_MAX {
        return Err(format!("{what} is an array of {count} elements at {first:p}"));
    }
    // SAFETY: not null and aligned as just checked; the host vouches for the elements.
    Ok(unsafe { slice::from_raw_parts(first, count) }.to_vec())
}

impl Request {
    /// Reads and checks a request.
    ///
    /// # Safety
    /// The host vouches for the request and all that it points to, for the call.
    pub(crate) unsafe fn read(request: *const ProctorModelRequest, report: &mut Report) -> Option<Self> {
        // SAFETY: the caller's promise, for this block and those below.
        let raw = report.value(unsafe { read(request) })?;
        for (what, given, declared) in [
            ("model", raw.model, None),
            ("precision", raw.precision, Some(PRECISION)),
            ("device", raw.device, Some(DEVICE)),
        ] {
            // SAFETY: as above.
            let Some(given) = report.value(unsafe { text(what, given) }) else { continue };
            report.expect(!given.is_empty(), || format!("{what} is empty"));
            report.expect(declared.is_none_or(|declared| declared == given), || {
                format!("{what} is \"{given}\", which the manifest does not declare")
            });
        }
        report.expect(raw.file_count == 0, || {
            format!("there are {} files, though the manifest declares the format none", raw.file_count)
        });
        let scenarios = PROCTOR_SCENARIO_SINGLE_STREAM
            | PROCTOR_SCENARIO_MULTI_STREAM
            | PROCTOR_SCENARIO_SERVER
            | PROCTOR_SCENARIO_OFFLINE;
        report.expect(raw.scenario.is_power_of_two() && raw.scenario & scenarios != 0, || {
            format!("scenario is {:#x}, not the bit of one scenario", raw.scenario)
        });
        report.expect((1..=BATCH_SIZE_MAX).contains(&raw.batch_size_max), || {
            format!("batch_size_max is {}, not from 1 to the declared {BATCH_SIZE_MAX}", raw.batch_size_max)
        });
        report.expect(raw.target_qps.is_finite() && raw.target_qps >= 0.0, || {
            format!("target_qps is {}", raw.target_qps)
        });
        report.expect(raw.reserved == 0, || format!("reserved is {}, not 0", raw.reserved));
        // SAFETY: as above.
        let (inputs, outputs, places) = unsafe {
            (
                tensors("inputs", raw.inputs, raw.input_count, raw.tensor_spec_stride),
                tensors("outputs", raw.outputs, raw.output_count, raw.tensor_spec_stride),
                placements(&raw, report),
            )
        };
        let (inputs, outputs) = (report.value(inputs)?, report.value(outputs)?);
        report.expect(!outputs.is_empty(), || "there are no outputs".to_owned());
        let flags = PROCTOR_REQUEST_LAST_OUTPUT_VARIES | PROCTOR_REQUEST_INPUTS_VARY;
        report.expect(raw.flags & !flags == 0, || format!("flags is {:#x}, with unknown bits", raw.flags));
        let (batch_size_max, instance_count) = (raw.batch_size_max, raw.instance_count);
        let inputs_vary = raw.flags & PROCTOR_REQUEST_INPUTS_VARY != 0;
        Some(Self { batch_size_max, instance_count, inputs_vary, inputs, outputs, places })
    }

    /// Returns the number of bytes of the answer to a sample.
    pub(crate) fn answer_size_bytes(&self) -> usize {
        self.outputs.iter().map(|output| output.size_bytes).sum()
    }

    /// Holds the placement of an instance against the request.
    pub(crate) fn expect_place(&self, place: &Place, report: &mut Report) {
        report.expect(place.instance_count == self.instance_count, || {
            format!("instance_count is {}, and {} in the request", place.instance_count, self.instance_count)
        });
        report.expect(place.instance_index < self.instance_count, || {
            format!("instance_index is {} of {} instances", place.instance_index, self.instance_count)
        });
        let told = self.places.iter().find(|told| told.instance_index == place.instance_index);
        report.expect(told.is_none_or(|told| told == place), || {
            format!("the placement of instance {} is not that of the request", place.instance_index)
        });
    }
}

/// # Safety
/// As [`Request::read`].
unsafe fn tensors(
    what: &str,
    first: *const ProctorTensorSpec,
    count: usize,
    stride: usize,
) -> Result<Vec<Tensor>, String> {
    let specs = Elements::new(first, count, stride).map_err(|why| format!("{what}: {why}"))?;
    let tensor = |raw: ProctorTensorSpec| {
        // SAFETY: the host vouches for name and shape for the call.
        let (name, shape) =
            unsafe { (text("a name", raw.name)?, array("a shape", raw.shape, raw.rank as usize)?) };
        let element_type = ElementType::from_code(raw.element_type)
            .ok_or_else(|| format!("tensor \"{name}\" has the unknown element type {}", raw.element_type))?;
        let extents = shape.iter().map(|extent| usize::try_from(*extent).ok());
        let count = extents.reduce(|one, other| one?.checked_mul(other?)).unwrap_or(Some(1));
        let size_bytes = element_type.bytes_of(count.unwrap_or(usize::MAX));
        if isize::try_from(size_bytes).is_err() {
            return Err(format!("tensor \"{name}\" is larger than any memory"));
        }
        Ok(Tensor { name: name.to_owned(), shape, element_type, size_bytes })
    };
    // SAFETY: the host vouches for the array for the call.
    let read: Result<_, String> = unsafe { specs.iter() }.map(tensor).collect();
    read.map_err(|why| format!("{what}: {why}"))
}

/// # Safety
/// As [`Request::read`].
unsafe fn placements(raw: &ProctorModelRequest, report: &mut Report) -> Vec<Place> {
    let found = Elements::new(raw.placements, raw.placement_count, raw.placement_stride);
    let Some(found) = report.value(found) else { return Vec::new() };
    let mut places = Vec::new();
    for position in 0..found.len() {
        // SAFETY: the host vouches for the array for the call.
        let Some(place) = (unsafe { Place::read(found.pointer(position), report) }) else { continue };
        report.expect(place.instance_index as usize == position, || {
            format!("placement {position} is that of instance {}", place.instance_index)
        });
        report.expect(place.instance_count as usize == found.len(), || {
            format!("placement {position} of {} tells of {} instances", found.len(), place.instance_count)
        });
        places.push(place);
    }
    places
}

impl Place {
    /// Reads a placement.
    ///
    /// # Safety
    /// The host vouches for it and its list for the call.
    pub(crate) unsafe fn read(placement: *const ProctorPlacement, report: &mut Report) -> Option<Self> {
        // SAFETY: the caller's promise.
        let raw = report.value(unsafe { read(placement) })?;
        report.expect(raw.reserved == 0, || format!("ProctorPlacement.reserved is {}, not 0", raw.reserved));
        report.expect(raw.device_index == 0, || {
            format!("device_index is {}, though there is no list of devices", raw.device_index)
        });
        // SAFETY: the caller's promise.
        let cpus = report.value(unsafe { array("cpus", raw.cpus, raw.cpu_count) })?;
        let ProctorPlacement { instance_index, instance_count, device_index, .. } = raw;
        Some(Self { instance_index, instance_count, cpus, device_index })
    }
}
