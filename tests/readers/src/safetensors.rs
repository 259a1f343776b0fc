//! Weights in the format safetensors.

use std::path::Path;

use proctor_rnn_layer::{GruReset, Precision};
use proctor_rnn_models::safetensors::{Stack, Weights};
use serde_json::Value;

use crate::memory::bounded_besides;

/// Room for packed weights, which are padded to whole blocks of units.
const FIXED_BYTES: u64 = 1 << 20;
/// Header and names as maps, values converted and packed; a narrow layer is padded to vectors of 16.
const MEMORY_FACTOR: u64 = 512;

/// Checks the reader of weights: a tensor has the shape that the header says and as many values, and the layers of a
/// file are made or refused.
///
/// # Panics
/// If an invariant does not hold.
pub fn check_safetensors(data: &[u8]) {
    let path = Path::new("model.safetensors");
    if let Ok(weights) = bounded_besides(FIXED_BYTES, data.len(), MEMORY_FACTOR, || Weights::new(path, data))
    {
        check_tensors(path, data, &weights);
    }
    for reset in [GruReset::BeforeProduct, GruReset::AfterProduct] {
        let read = || Stack::from_bytes(path, data, reset, Precision::F32);
        match bounded_besides(FIXED_BYTES, data.len(), MEMORY_FACTOR, read) {
            Err(error) => assert!(error.to_string().contains("model.safetensors"), "{error}"),
            Ok(stack) => assert!(stack.input_count() > 0 && stack.output_count() > 0),
        }
    }
}

/// Holds the tensors against a reader of any JSON.
fn check_tensors(path: &Path, data: &[u8], weights: &Weights<'_>) {
    let (length, rest) = data.split_first_chunk::<8>().expect("a file with tensors has a header");
    let length = usize::try_from(u64::from_le_bytes(*length)).expect("the header lies in the file");
    let header: Value = serde_json::from_slice(&rest[..length]).expect("the header is JSON");
    for name in weights.names() {
        let shape = weights.shape(name).expect("a name that is there").to_vec();
        let in_header: Vec<_> =
            header[name]["shape"].as_array().expect("a shape is a list").iter().map(Value::as_u64).collect();
        assert_eq!(shape.iter().map(|extent| Some(*extent as u64)).collect::<Vec<_>>(), in_header, "{name}");
        let mut again = Weights::new(path, data).expect("it was read before");
        if let Ok(values) = again.take(name, &shape) {
            assert_eq!(values.len(), shape.iter().product::<usize>(), "{name}");
            assert!(values.iter().all(|value| value.is_finite()), "{name}");
            assert!(!again.contains(name), "{name}");
        }
    }
}
