//! JPEG files of data sets.

use proctor_jpeg_file::{Header, Part, decode};

use crate::memory::{bounded, bounded_besides};

/// A header is a few numbers.
const HEADER_FACTOR: u64 = 1;

/// Bound on the memory for a byte of the file: a bit codes at most a block, which may be up to four times as many
/// pixels of four bytes, plus samples and coefficients.
const PIXELS_FACTOR: u64 = 16 << 10;

/// Tables, and the blocks that fill the units of a small picture.
const FIXED_BYTES: u64 = 1 << 20;

/// The most pixels that are worth decoding here.
const PIXELS_MAX: usize = 1 << 20;

/// Checks the reader of JPEG files: a picture has the size in its header, and a part of it equals that part of the
/// whole.
///
/// # Panics
/// If an invariant does not hold.
pub fn check_jpeg(data: &[u8]) {
    let header = match bounded(data.len(), HEADER_FACTOR, || Header::read(data)) {
        Ok(header) => header,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let [width, height] = [header.width, header.height].map(|side| side as usize);
    if width * height > PIXELS_MAX {
        return;
    }
    let read = |part| bounded_besides(FIXED_BYTES, data.len(), PIXELS_FACTOR, || decode(data, part));
    let whole = match read(Part { left: 0, top: 0, width, height }) {
        Ok(whole) => whole,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    assert_eq!((whole.width, whole.height, whole.pixels.len()), (width, height, width * height));
    let part =
        Part { left: width / 3, top: height / 3, width: width.div_ceil(3), height: height.div_ceil(3) };
    let got = read(part).expect("the whole is sound");
    for row in 0..part.height {
        let expected = &whole.pixels[(part.top + row) * width + part.left..][..part.width];
        assert_eq!(&got.pixels[row * part.width..][..part.width], expected, "row {row} of {part:?}");
    }
    let upright = whole.upright(header.orientation);
    let (width, height) = header.upright_size();
    assert_eq!((upright.width, upright.height), (width as usize, height as usize));
}
