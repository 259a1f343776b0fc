//! Describes the forms in which a plugin wants its inputs.

use proctor_plugin_api::{
    abi::{PROCTOR_EXTENSION_INPUT_FORM, ProctorInputForm, ProctorInputForms},
    vocabulary::{ElementType, InputForm, Layout, Quantization, TensorSpec},
};

use super::with_request;
use crate::{
    call::Call,
    error::PluginHostError,
    guard::checked::checked,
    load::table::{null_function, optional_extension},
    objects::{
        backend::Backend,
        demand::{ModelDemand, match_demand},
    },
};

impl Backend {
    /// Returns the form that the plugin chooses for each input of a demand, which has the benchmark's forms. It is
    /// known to the ABI; whether it is available is the caller's business. [main thread]
    ///
    /// # Errors
    /// Returns the errors of [`load_model`](Self::load_model) for the demand, if the plugin cannot choose, or for a
    /// form that the ABI does not know.
    pub fn input_forms(&self, demand: &ModelDemand) -> Result<Vec<InputForm>, PluginHostError> {
        let backend = &*self.inner;
        let (reader, activity) = (backend.reader(), backend.activity);
        let found = match_demand(backend.library.manifest(), demand)?;
        let table = &backend.library.table().raw;
        // SAFETY: the id names this structure.
        let extension = unsafe {
            optional_extension::<ProctorInputForms>(table, reader, activity, PROCTOR_EXTENSION_INPUT_FORM)
        }?;
        let Some(extension) = extension else {
            return Ok(demand.inputs.iter().map(InputForm::of).collect());
        };
        let choose = extension.choose.ok_or_else(|| null_function(reader, "ProctorInputForms.choose"))?;
        let chosen = |(position, input): (usize, &TensorSpec)| {
            let given = InputForm::of(input);
            let mut raw = ProctorInputForm {
                size: size_of::<ProctorInputForm>(),
                element_type: given.element_type as u32,
                layout: given.layout as u32,
                scale: given.quantization.scale,
                zero_point: given.quantization.zero_point,
            };
            let form = &raw mut raw;
            with_request(demand, &found, |request| {
                checked(activity, Call::ChooseInputForm, |error| {
                    // SAFETY: the function is that of a checked extension; the handle is live; the request with all
                    // that it points to, the form and `error` live for the call.
                    unsafe { choose(backend.handle.get(), request, position, form, error) }
                })
            })?;
            let unknown = |what: &str, code: u32| {
                reader
                    .malformed(format!("choose wants input \"{}\" in the unknown {what} {code}", input.name))
            };
            let ProctorInputForm { element_type, layout, scale, zero_point, .. } = raw;
            Ok(InputForm {
                element_type: ElementType::from_code(element_type)
                    .ok_or_else(|| unknown("element type", element_type))?,
                layout: Layout::from_code(layout).ok_or_else(|| unknown("layout", layout))?,
                quantization: Quantization { scale, zero_point },
            })
        };
        demand.inputs.iter().enumerate().map(chosen).collect()
    }
}
