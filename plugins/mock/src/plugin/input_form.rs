//! The requested form of inputs, and a check that they have it.

use parking_lot::Mutex;
use proctor_plugin_api::{
    ModelRequest, OptionSpec, PluginError,
    vocabulary::{ElementType, InputForm, Layout, Quantization, TensorSpec},
};

/// The option, and the inputs as requested.
#[derive(Debug)]
pub(super) struct WantedForm {
    name: String,
    asked: Mutex<Vec<TensorSpec>>,
}

impl WantedForm {
    pub(super) fn option() -> OptionSpec {
        OptionSpec::choice(
            "input_form",
            &["none", "f16", "bf16", "i8", "u8", "channels-last"],
            "Form in which inputs of f32 are wanted, or with channels last those of three dimensions.",
        )
    }

    pub(super) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), asked: Mutex::default() }
    }

    /// Chooses the form of an input. A real plugin would choose its model's type, and the scale of its file.
    pub(super) fn choose(&self, request: &ModelRequest, input: usize) -> InputForm {
        let given = &request.inputs[input];
        let mut wanted = given.clone();
        let mut form = InputForm::of(given);
        if given.element_type == ElementType::F32 {
            // The integers for values from 0 to 1, or from -1 to 1.
            let (element_type, scale) = match self.name.as_str() {
                "f16" => (ElementType::F16, 1.0),
                "bf16" => (ElementType::Bf16, 1.0),
                "i8" => (ElementType::I8, 1.0 / 127.0),
                "u8" => (ElementType::U8, 1.0 / 255.0),
                _ => (ElementType::F32, 1.0),
            };
            form.quantization = Quantization { scale, zero_point: 0 };
            (form.element_type, wanted.element_type) = (element_type, element_type);
        }
        if self.name == "channels-last" && given.shape.len() == 3 {
            form.layout = Layout::ChannelsLast;
            wanted.shape.rotate_left(1);
        }
        let mut asked = self.asked.lock();
        asked.truncate(input);
        asked.push(wanted);
        form
    }

    /// Checks that the inputs of a model are as requested. An older host requests no form.
    pub(super) fn check(&self, inputs: &[TensorSpec]) -> Result<(), PluginError> {
        let asked = self.asked.lock();
        match asked.iter().zip(inputs).find(|(asked, input)| asked != input) {
            Some((asked, input)) => {
                let text = format!("the host gives {input}, but {asked} was asked for");
                Err(PluginError::invalid_argument(text))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_in_another_form_is_refused() {
        let image = |element_type| TensorSpec { name: "image".into(), element_type, shape: vec![8] };
        let wanted = WantedForm { name: "f16".to_owned(), asked: Mutex::new(vec![image(ElementType::F16)]) };
        wanted.check(&[image(ElementType::F16)]).unwrap();
        let error = wanted.check(&[image(ElementType::F32)]).unwrap_err();
        assert_eq!(error.message, "the host gives image f32[8], but image f16[8] was asked for");
    }
}
