//! Sound files.

use proctor_sound_file::{Format, Header, Kind, decode, wav};

use crate::memory::bounded_besides;

/// Factor of a frame: a dozen bytes of FLAC expand to up to 65,536 equal samples, which exist twice during decoding.
const MEMORY_FACTOR: u64 = 3 * 65_536 * 2 / 12;
/// Decoders make room for the longest frame that the header names, of 8 channels of 4 bytes.
const FRAME_BYTES: u64 = 65_536 * 8 * 4 + (64 << 10);

/// Checks the readers of WAV and FLAC: they read as much as the header says, and the same after writing and reading
/// again.
///
/// # Panics
/// If an invariant does not hold.
pub fn check_sound(data: &[u8]) {
    let Ok(header) = Header::read(data) else {
        assert!(decode(data, Format::SPEECH).is_err());
        return;
    };
    let format = header.format;
    if format.bits != 16 {
        return;
    }
    match bounded_besides(FRAME_BYTES, data.len(), MEMORY_FACTOR, || decode(data, format)) {
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(samples) => {
            assert!(format == Format::SPEECH || decode(data, Format::SPEECH).is_err());
            let channel_count = u64::from(format.channel_count).max(1);
            if let Some(count) = header.sample_count {
                assert_eq!(count, samples.len() as u64 / channel_count);
            }
            let written = wav(format, &samples);
            assert_eq!(decode(&written, format).as_deref(), Ok(samples.as_slice()));
            let again = Header::read(&written).map(|header| (header.kind, header.format));
            assert_eq!(again, Ok((Kind::Wav, format)));
        }
    }
}
