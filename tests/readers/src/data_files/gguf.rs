//! Files of llama.cpp: values, tensors, and a tokenizer among the values.

use std::{io::Cursor, path::Path};

use proctor_gguf_file::{GgufError, GgufFile, TensorKind};
use proctor_text::BytePairTokenizer;

use crate::memory::bounded;

/// Integers of a byte become 64 bits, in lists that grow by doubling.
const MEMORY_FACTOR: u64 = 64;
/// Number of bytes of the file that are taken for a text.
const TEXT_BYTES: usize = 200;

/// Checks the reader of GGUF files: it reads or refuses, a tensor has the bytes that its shape and kind say and lies in
/// the file, and a tokenizer cuts any text into tokens that it has.
///
/// # Panics
/// If an invariant does not hold.
pub fn check_gguf(data: &[u8]) {
    let read = || GgufFile::read(Path::new("model.gguf"), Cursor::new(data));
    let mut file = match bounded(data.len(), MEMORY_FACTOR, read) {
        Err(error) => return assert!(error.to_string().contains("model.gguf"), "{error}"),
        Ok(file) => file,
    };
    let tensors: Vec<_> = file.tensors().map(|(name, tensor)| (name.to_owned(), tensor.clone())).collect();
    for (name, tensor) in tensors {
        let count: usize = tensor.shape.iter().product();
        let size_bytes = match tensor.kind {
            TensorKind::F32 => count * 4,
            TensorKind::Q4_1 => count / 32 * 20,
            TensorKind::Q8_0 => count / 32 * 34,
            TensorKind::Other(_) => {
                assert!(matches!(file.read_tensor(&name), Err(GgufError::Kind { .. })), "{name}");
                continue;
            }
        };
        let bytes =
            bounded(data.len(), MEMORY_FACTOR, || file.read_tensor(&name)).expect("it lies in the file");
        assert_eq!(bytes.len(), size_bytes, "{name}");
        assert!(size_bytes <= data.len(), "{name}");
    }
    let tokenizer = match bounded(data.len(), MEMORY_FACTOR, || BytePairTokenizer::of_file(&file)) {
        Err(error) => return assert!(!error.to_string().is_empty()),
        Ok(tokenizer) => tokenizer,
    };
    let count = file.texts("tokenizer.ggml.tokens").expect("a tokenizer has tokens").len();
    let text = String::from_utf8_lossy(&data[data.len().saturating_sub(TEXT_BYTES)..]);
    assert!(tokenizer.ids(&text).iter().all(|id| usize::try_from(*id).is_ok_and(|id| id < count)));
}
