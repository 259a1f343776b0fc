//! The possible precisions of a model.

use candle_core::{DType, Device};

/// Type that weights are rounded to, and type of the computation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// Weights, values and sums in f32.
    F32,
    /// Weights in bf16. On the CPU, where the engine has no product of bf16, they are widened again once when they are
    /// loaded, and values and sums are f32; on other devices values are bf16, too.
    Bf16,
    /// Weights and values in f16.
    F16,
}

impl Precision {
    /// All of them.
    pub const ALL: &'static [Self] = &[Self::F32, Self::Bf16, Self::F16];

    /// Returns the precision with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|precision| precision.name() == name)
    }

    /// Returns the name in a manifest.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::Bf16 => "bf16",
            Self::F16 => "f16",
        }
    }

    /// Returns the type that weights are rounded to.
    #[must_use]
    pub fn of_weights(self) -> DType {
        match self {
            Self::F32 => DType::F32,
            Self::Bf16 => DType::BF16,
            Self::F16 => DType::F16,
        }
    }

    /// Returns the type that weights are kept in and values are computed in.
    #[must_use]
    pub fn of_values(self, device: &Device) -> DType {
        match self {
            Self::Bf16 if device.is_cpu() => DType::F32,
            precision => precision.of_weights(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_and_bf16_is_widened_on_the_cpu() {
        for precision in Precision::ALL {
            assert_eq!(Precision::from_name(precision.name()), Some(*precision));
        }
        assert_eq!(Precision::from_name("int8"), None);
        assert_eq!(Precision::Bf16.of_values(&Device::Cpu), DType::F32);
        assert_eq!(Precision::F16.of_values(&Device::Cpu), DType::F16);
    }
}
