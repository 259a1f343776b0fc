//! The weights of a graph model: a manifest, and shards that follow each other, as TensorFlow.js writes them.

use std::collections::HashMap;

use half::f16;
use serde::Deserialize;

use super::{
    constant::{Constant, Values, count},
    error::GraphError,
};

/// Weights that lie behind each other in some shards.
#[derive(Deserialize)]
pub(super) struct Group {
    paths: Vec<String>,
    weights: Vec<Weights>,
}

#[derive(Deserialize)]
struct Weights {
    name: String,
    shape: Vec<usize>,
    dtype: String,
    quantization: Option<Quantization>,
}

/// How smaller values stand for the weights: each times `scale`, plus `min`; halves are what they are.
#[derive(Deserialize)]
struct Quantization {
    dtype: String,
    scale: Option<f64>,
    min: Option<f64>,
}

/// Form of a value in a shard.
#[derive(Clone, Copy)]
enum Stored {
    F32,
    I32,
    Bool,
    F16,
    U8,
    U16,
}

/// Returns the constants of all groups by their names.
pub(super) fn read(groups: &[Group], shards: &[Vec<u8>]) -> Result<HashMap<String, Constant>, GraphError> {
    let wanted = groups.iter().map(|group| group.paths.len()).sum();
    if wanted != shards.len() {
        return Err(GraphError::Shards { wanted, got: shards.len() });
    }
    let mut constants = HashMap::new();
    let mut shards = shards.iter();
    for group in groups {
        let bytes: Vec<u8> = shards.by_ref().take(group.paths.len()).flatten().copied().collect();
        let mut begin = 0_usize;
        for weights in &group.weights {
            let fault =
                |what: &str| GraphError::Weights { name: weights.name.clone(), what: what.to_owned() };
            let stored = weights.stored().ok_or_else(|| fault(&weights.unknown()))?;
            let size = count(&weights.shape).and_then(|count| count.checked_mul(stored.size_bytes()));
            let end = size.and_then(|size| begin.checked_add(size));
            let end = end.ok_or_else(|| fault("are larger than any memory"))?;
            let part =
                bytes.get(begin..end).ok_or_else(|| fault("reach beyond the shards; fetch these again"))?;
            let constant = Constant { dims: weights.shape.clone(), values: weights.values(stored, part) };
            if constants.insert(weights.name.clone(), constant).is_some() {
                return Err(fault("are there twice"));
            }
            begin = end;
        }
        if begin != bytes.len() {
            let (size_bytes, described_bytes) = (bytes.len(), begin);
            return Err(GraphError::ShardSize { paths: group.paths.join(", "), size_bytes, described_bytes });
        }
    }
    Ok(constants)
}

impl Stored {
    fn size_bytes(self) -> usize {
        match self {
            Self::F32 | Self::I32 => 4,
            Self::F16 | Self::U16 => 2,
            Self::Bool | Self::U8 => 1,
        }
    }
}

impl Weights {
    fn stored(&self) -> Option<Stored> {
        let Some(quantization) = &self.quantization else {
            return match self.dtype.as_str() {
                "float32" => Some(Stored::F32),
                "int32" => Some(Stored::I32),
                "bool" => Some(Stored::Bool),
                _ => None,
            };
        };
        let is_scaled = quantization.scale.is_some() && quantization.min.is_some();
        match (self.dtype.as_str(), quantization.dtype.as_str()) {
            ("float32", "float16") => Some(Stored::F16),
            ("float32" | "int32", "uint8") if is_scaled => Some(Stored::U8),
            ("float32" | "int32", "uint16") if is_scaled => Some(Stored::U16),
            _ => None,
        }
    }

    fn unknown(&self) -> String {
        match &self.quantization {
            None => format!("are {}, which is not supported", self.dtype),
            Some(quantization) => {
                format!("are {} kept as {}, which is not supported", self.dtype, quantization.dtype)
            }
        }
    }

    fn values(&self, stored: Stored, bytes: &[u8]) -> Values {
        match stored {
            Stored::F32 => {
                Values::Reals(bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
            }
            Stored::I32 => Values::Ints(
                bytes.as_chunks().0.iter().map(|bytes| i32::from_le_bytes(*bytes).into()).collect(),
            ),
            Stored::Bool => Values::Ints(bytes.iter().map(|byte| i64::from(*byte != 0)).collect()),
            Stored::F16 => {
                let halves = bytes.as_chunks().0.iter();
                Values::Reals(halves.map(|bytes| f16::from_le_bytes(*bytes).to_f32()).collect())
            }
            Stored::U8 => self.scaled(bytes.iter().map(|byte| f64::from(*byte))),
            Stored::U16 => {
                self.scaled(bytes.as_chunks().0.iter().map(|bytes| f64::from(u16::from_le_bytes(*bytes))))
            }
        }
    }

    /// Returns the values that small ones stand for; integers are rounded as JavaScript does it.
    fn scaled(&self, small: impl Iterator<Item = f64>) -> Values {
        let of = |value: fn(&Quantization) -> Option<f64>| {
            self.quantization.as_ref().and_then(value).unwrap_or(0.0)
        };
        let (scale, min) = (of(|it| it.scale), of(|it| it.min));
        let values = small.map(|value| value * scale + min);
        if self.dtype == "int32" {
            Values::Ints(values.map(|value| (value + 0.5).floor() as i64).collect())
        } else {
            Values::Reals(values.map(|value| value as f32).collect())
        }
    }
}
