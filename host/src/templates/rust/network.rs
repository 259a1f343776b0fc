//! The model: a network of three layers, read from a file of safetensors. Put your own here.

use std::{fs, path::Path};

use safetensors::{Dtype, SafeTensors};

/// Widths of the layers, the pixels first and the classes last.
const WIDTHS: [usize; 4] = [64, 128, 64, 10];

pub struct Network([Layer; 3]);

/// outputs = weight * inputs + bias; the weight is row-major, with a row for each output.
struct Layer {
    weight: Vec<f32>,
    bias: Vec<f32>,
}

impl Network {
    /// Reads the weights.
    ///
    /// # Errors
    /// If the file cannot be read, or does not have the weights of this network.
    pub fn read(path: &Path) -> Result<Self, String> {
        let wrong = |what: String| format!("{}: {what}", path.display());
        let bytes = fs::read(path).map_err(|error| wrong(error.to_string()))?;
        let file = SafeTensors::deserialize(&bytes).map_err(|error| wrong(error.to_string()))?;
        let tensor = |name: String, shape: &[usize]| -> Result<Vec<f32>, String> {
            let view = file.tensor(&name).map_err(|error| wrong(error.to_string()))?;
            if view.dtype() != Dtype::F32 || view.shape() != shape {
                return Err(wrong(format!("{name} is not of f32 and {shape:?}")));
            }
            let (floats, _) = view.data().as_chunks();
            Ok(floats.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
        };
        let layer = |number: usize| -> Result<Layer, String> {
            let (input_count, output_count) = (WIDTHS[number - 1], WIDTHS[number]);
            Ok(Layer {
                weight: tensor(format!("fc{number}.weight"), &[output_count, input_count])?,
                bias: tensor(format!("fc{number}.bias"), &[output_count])?,
            })
        };
        Ok(Self([layer(1)?, layer(2)?, layer(3)?]))
    }

    /// Classifies an image: a score for each class.
    pub fn classify(&self, pixels: &[f32]) -> Vec<f32> {
        let mut values = pixels.to_vec();
        for (number, Layer { weight, bias }) in self.0.iter().enumerate() {
            let is_last = number + 1 == self.0.len();
            let rows = weight.chunks_exact(values.len()).zip(bias);
            values = rows
                .map(|(row, bias)| {
                    let sum = row.iter().zip(&values).fold(*bias, |sum, (weight, value)| sum + weight * value);
                    if is_last { sum } else { sum.max(0.0) }
                })
                .collect();
        }
        values
    }
}
