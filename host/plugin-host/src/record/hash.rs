//! The hash of inputs and of answers in a recording.

use sha2::{Digest as _, Sha256};

/// Bytes of a hash that are kept.
const HASH_BYTES: usize = 8;

/// Returns the first eight bytes of the SHA-256 of some pieces, one after another, in hexadecimal.
pub fn hash_of<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut hash = Sha256::new();
    pieces.into_iter().for_each(|piece| hash.update(piece));
    hash.finalize().iter().take(HASH_BYTES).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_beginning_of_what_sha256sum_prints() {
        assert_eq!(hash_of([&b"a"[..], b"", b"bc"]), "ba7816bf8f01cfea");
        assert_eq!(hash_of([]), "e3b0c44298fc1c14");
    }
}
