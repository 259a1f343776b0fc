//! Outputs that are taken as they are, the last one as large as it comes.

use proctor_onnx_file::{Conversion, Dim, Signature, ValueType};
use proctor_plugin_api::{Batch, ModelRequest, PluginError, vocabulary::ElementType};

use crate::binding::Lent;

/// Outputs of a sample, each of an output of the model.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Varying {
    outputs: Vec<Taken>,
}

#[derive(Debug, Clone, PartialEq)]
struct Taken {
    /// Number of the model's output.
    value: usize,
    name: String,
    /// Type of the sample's output.
    element: ElementType,
    conversion: Option<Conversion>,
}

impl Varying {
    /// Returns the way for a benchmark whose last output varies, and a model that does not say the size of it. Outputs
    /// go by their names if all are known, else by their order.
    pub(super) fn recognise(signature: &Signature, request: &ModelRequest) -> Option<Self> {
        let (values, wanted) = (&signature.outputs, &request.outputs);
        let place = |name: &str| values.iter().position(|value| value.name == name);
        let by_name = wanted.iter().all(|spec| place(&spec.name).is_some());
        if !request.last_output_varies || !(by_name || values.len() == wanted.len()) {
            return None;
        }
        let taken = wanted.iter().enumerate().map(|(tensor, spec)| {
            let value = if by_name { place(&spec.name)? } else { tensor };
            let ValueType::Tensor(element) = values[value].value_type else { return None };
            let conversion = Conversion::between(element, spec.element_type);
            let fits = element == spec.element_type || conversion.is_some();
            let name = values[value].name.clone();
            fits.then_some(Taken { value, name, element: spec.element_type, conversion })
        });
        let outputs = taken.collect::<Option<Vec<_>>>()?;
        let dims = values[outputs.last()?.value].dims.as_deref();
        let is_open = dims.is_none_or(|dims| dims.iter().skip(1).any(|dim| matches!(dim, Dim::Free(_))));
        is_open.then_some(Self { outputs })
    }

    pub(super) fn values(&self) -> Vec<usize> {
        self.outputs.iter().map(|output| output.value).collect()
    }

    pub(super) fn answer(
        &self,
        outputs: &[Lent<'_>],
        samples: usize,
        batch: &mut Batch<'_>,
    ) -> Result<(), PluginError> {
        for (position, mut sample) in batch.samples().enumerate() {
            for (place, (taken, lent)) in self.outputs.iter().zip(outputs).enumerate() {
                let failed =
                    |what: String| PluginError::failed(format!("\"{}\" {:?} {what}", taken.name, lent.dims));
                if samples > 1 && lent.dims.first() != Some(&samples) {
                    return Err(failed(format!("are not the outputs of {samples} samples")));
                }
                let own_bytes = lent.bytes.len() / samples;
                let from = &lent.bytes[position * own_bytes..][..own_bytes];
                let size_bytes = taken.element.bytes_of(own_bytes / lent.element.unit_bytes());
                let room = sample.output_mut(place);
                let room_bytes = room.len();
                let varies = place + 1 == self.outputs.len();
                if size_bytes > room_bytes || (size_bytes < room_bytes && !varies) {
                    return Err(failed(format!(
                        "has {size_bytes} bytes for a sample, and the benchmark takes {room_bytes}"
                    )));
                }
                let to = &mut room[..size_bytes];
                match taken.conversion {
                    None => to.copy_from_slice(from),
                    Some(conversion) => {
                        conversion.apply(from, to).map_err(|error| failed(error.to_string()))?
                    }
                }
                sample.set_output_size(place, size_bytes);
            }
        }
        Ok(())
    }
}
