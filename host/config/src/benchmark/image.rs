//! Checks the table `[image]`: the steps of a definition's own, from a picture to a tensor.

use proctor_preprocess::{Channels, ImageInput, ImageSteps, Preprocessing, ResizeMethod};
use proctor_vocabulary::TensorSpec;

use super::definition;
use crate::form::Checker;

/// Name of the table.
const TABLE: &str = "image";

impl Checker<'_> {
    /// Returns the pipeline of this name, or the steps of the table, which can make the inputs.
    pub(super) fn preprocessing(
        &mut self,
        name: String,
        table: Option<definition::Image>,
        inputs: &[TensorSpec],
    ) -> Preprocessing {
        match table {
            Some(table) if name == Preprocessing::IMAGE => {
                if let Some(steps) = self.image_steps(table, inputs) {
                    return Preprocessing::Image(steps);
                }
            }
            Some(_) => self.report(
                TABLE,
                format!(
                    "preprocessing is \"{name}\": leave the table out, or give preprocessing = \"image\""
                ),
            ),
            None if name == Preprocessing::IMAGE => {
                self.report(TABLE, "missing table: preprocessing = \"image\" takes its steps from it");
            }
            None => {}
        }
        Preprocessing::Named(name)
    }

    fn image_steps(&mut self, table: definition::Image, inputs: &[TensorSpec]) -> Option<ImageSteps> {
        let definition::Image { resize, short_side, channels, scale, mean, deviation } = table;
        let resize = self.one_of("image.resize", &resize, ResizeMethod::ALL, ResizeMethod::name);
        let channels = channels.as_deref().unwrap_or(Channels::Rgb.name());
        let channels = self.one_of("image.channels", channels, Channels::ALL, Channels::name);
        let short_side = short_side.map(|side| usize::try_from(side).unwrap_or(0));
        let numbers = |numbers: [f64; 3]| numbers.map(|number| number as f32);
        let default = ImageSteps::bytes(resize?);
        let steps = ImageSteps {
            short_side,
            channels: channels?,
            scale: scale.map_or(default.scale, |scale| scale as f32),
            mean: mean.map_or(default.mean, numbers),
            deviation: deviation.map_or(default.deviation, numbers),
            ..default
        };
        let Some(input) = ImageInput::of(inputs) else {
            let given: Vec<_> = inputs.iter().map(TensorSpec::to_string).collect();
            let problem = format!("{}: [image] makes {}", given.join(", "), ImageInput::FITTING);
            self.report("inputs", problem);
            return None;
        };
        if let Some(fault) = steps.fault(input) {
            self.report(&format!("{TABLE}.{}", fault.key()), fault.to_string());
            return None;
        }
        Some(steps)
    }
}
