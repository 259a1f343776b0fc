//! Describes the form in which a plugin receives an input.

use crate::tensor::{ElementType, TensorSpec};

/// Form in which a plugin receives an input, where the rules leave it open.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct InputForm {
    /// Type of each element.
    pub element_type: ElementType,
    /// Order of the dimensions.
    pub layout: Layout,
    /// Conversion from real values to integers; meaningless without such a conversion.
    pub quantization: Quantization,
}

/// Order of the dimensions of an input. The numeric codes are part of the plugin ABI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Layout {
    /// Order of the benchmark.
    AsGiven = 0,
    /// Channels last: of a sample `[C, H, W]` a sample `[H, W, C]`.
    ChannelsLast = 1,
}

/// Integers for real values: value / scale + zero point.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Quantization {
    /// Distance of two values whose integers are neighbours.
    pub scale: f32,
    /// Integer of the value 0.
    pub zero_point: i32,
}

impl InputForm {
    /// Returns the form of an input in the benchmark.
    #[must_use]
    pub fn of(input: &TensorSpec) -> Self {
        let quantization = Quantization { scale: 1.0, zero_point: 0 };
        Self { element_type: input.element_type, layout: Layout::AsGiven, quantization }
    }

    /// Returns whether this is the form of an input in the benchmark.
    #[must_use]
    pub fn is_of(&self, input: &TensorSpec) -> bool {
        self.element_type == input.element_type && self.layout == Layout::AsGiven
    }
}

crate::named_values!(Layout { AsGiven => "as_given", ChannelsLast => "channels_last" });

impl Layout {
    /// Returns the layout with this ABI code.
    #[must_use]
    pub fn from_code(code: u32) -> Option<Self> {
        Self::ALL.iter().copied().find(|layout| *layout as u32 == code)
    }
}
