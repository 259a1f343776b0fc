//! Selects the input forms that the plugin prefers among the ones the rules leave open.

use proctor_plugin_host::{Backend, ModelDemand};
use proctor_preprocess::{Pipeline, in_form, with_forms};
use proctor_results::InputPart;
use proctor_vocabulary::{ElementType, InputForm, Layout, TensorSpec};
use proctor_words::HostError;

/// The inputs of a benchmark in the forms that a plugin has chosen.
#[derive(Debug)]
pub struct InputForms {
    plugin: String,
    forms: Vec<InputForm>,
    /// Inputs in the benchmark's form.
    given: Vec<TensorSpec>,
    /// Inputs as the plugin receives them.
    formed: Vec<TensorSpec>,
}

impl InputForms {
    /// Lets the plugin choose.
    ///
    /// # Errors
    /// If the plugin cannot choose, or a form that it wants cannot be had.
    pub(crate) fn choose(backend: &Backend, plugin: &str, demand: &ModelDemand) -> Result<Self, HostError> {
        let forms = backend.input_forms(demand)?;
        let given = demand.inputs.clone();
        let formed = given.iter().zip(&forms).map(|(input, form)| in_form(input, form));
        let plugin = plugin.to_owned();
        match formed.collect() {
            Ok(formed) => Ok(Self { plugin, forms, given, formed }),
            Err(error) => Err(HostError::InputForm { plugin, error }),
        }
    }

    /// Returns the pipeline that makes inputs of this form.
    ///
    /// # Errors
    /// If a form that the plugin wants cannot be had.
    pub(super) fn of(&self, pipeline: Box<dyn Pipeline>) -> Result<Box<dyn Pipeline>, HostError> {
        let refused = |error| HostError::InputForm { plugin: self.plugin.clone(), error };
        with_forms(pipeline, &self.forms).map_err(refused)
    }

    /// Returns the forms that it has chosen.
    pub(super) fn forms(&self) -> &[InputForm] {
        &self.forms
    }

    /// Returns the inputs as the plugin is given them.
    pub(crate) fn formed(&self) -> &[TensorSpec] {
        &self.formed
    }

    /// Returns the inputs in the form of a result; none if all are in the benchmark's form.
    pub fn parts(&self) -> Vec<InputPart> {
        let Self { forms, given, formed, .. } = self;
        if forms.iter().zip(given).all(|(form, input)| form.is_of(input)) {
            return Vec::new();
        }
        let part = |((form, given), formed): ((&InputForm, &TensorSpec), &TensorSpec)| {
            let InputForm { element_type, layout, quantization } = form;
            let is_quantized = given.element_type != *element_type
                && matches!(element_type, ElementType::I8 | ElementType::U8);
            let quantization = is_quantized.then_some(quantization);
            InputPart {
                name: formed.name.clone(),
                element_type: element_type.name().to_owned(),
                shape: formed.shape.clone(),
                layout: Layout::name(*layout).to_owned(),
                scale: quantization.map(|quantization| quantization.scale),
                zero_point: quantization.map(|quantization| quantization.zero_point),
            }
        };
        forms.iter().zip(given).zip(formed).map(part).collect()
    }
}
