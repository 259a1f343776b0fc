//! Facts that a file states before its first pixel.

use crate::{
    error::{Fault, JpegError, Unsupported, Where},
    frame::{Coding, Frame},
    orientation::Orientation,
    segments::{Segments, marker},
};

/// Size and kind of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Number of columns as stored, before any turn; 1 to 65535.
    pub width: u32,
    /// Number of rows as stored, before any turn; 1 to 65535.
    pub height: u32,
    /// 1 for grey, 3 for colours, 4 for inks.
    pub component_count: usize,
    /// How the pixels are coded.
    pub coding: Coding,
    /// Turn according to EXIF.
    pub orientation: Orientation,
}

impl Header {
    /// Reads the part before the pixels, and checks for the end mark behind them. The pixels themselves may still be
    /// damaged.
    ///
    /// # Errors
    /// If the file is no JPEG file, is cut or damaged in front of the pixels, of a kind that is not read, or says that
    /// it has more pixels than are read or than its bytes can hold.
    pub fn read(bytes: &[u8]) -> Result<Self, JpegError> {
        let mut segments = Segments::of(bytes)?;
        let (mut frame, mut orientation) = (None, None);
        loop {
            let segment = segments.next(Where::Header)?;
            match segment.marker {
                marker::SCAN => break,
                marker::END => return Err(segment.damaged(Fault::NoFrame)),
                marker::EXIF => orientation = orientation.or_else(|| Orientation::of_exif(segment.payload)),
                found if Frame::is_begun_by(found) => match frame {
                    None => frame = Some(Frame::read(&segment)?),
                    Some(_) => return Err(segment.damaged(Fault::SecondFrame)),
                },
                _ => {}
            }
        }
        let pixels = segments.position();
        let frame = frame.ok_or(JpegError::Damaged { offset: pixels, fault: Fault::NoFrame })?;
        // From the end, where it is.
        if !bytes[pixels..].windows(2).rev().any(|pair| pair == [0xff, marker::END]) {
            return Err(JpegError::Cut { size_bytes: bytes.len(), within: Where::EndMark });
        }
        frame.check_size(bytes)?;
        if !frame.has_whole_sampling() {
            return Err(JpegError::Unsupported(Unsupported::FractionalSampling));
        }
        Ok(Self {
            width: frame.width,
            height: frame.height,
            component_count: frame.components.len(),
            coding: frame.coding,
            orientation: orientation.unwrap_or_default(),
        })
    }

    /// Returns the columns and rows of the upright picture.
    #[must_use]
    pub fn upright_size(&self) -> (u32, u32) {
        if self.orientation.swaps_sides() { (self.height, self.width) } else { (self.width, self.height) }
    }
}

#[cfg(test)]
mod tests {
    use jpeg_encoder::{ColorType, Encoder};

    use super::*;
    use crate::error::FileKind;

    fn file(width: u16, height: u16, color: ColorType, is_progressive: bool) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = Encoder::new(&mut bytes, 90);
        encoder.set_progressive(is_progressive);
        encoder
            .encode(&vec![100; usize::from(width) * usize::from(height) * 4], width, height, color)
            .unwrap();
        bytes
    }

    #[test]
    fn sizes_and_kinds_are_read() {
        let header = Header::read(&file(7, 5, ColorType::Luma, false)).unwrap();
        assert_eq!((header.width, header.height, header.component_count), (7, 5, 1));
        assert_eq!((header.coding, header.orientation), (Coding::Sequential, Orientation::Upright));
        let header = Header::read(&file(300, 20, ColorType::Rgb, true)).unwrap();
        assert_eq!((header.width, header.height, header.component_count), (300, 20, 3));
        assert_eq!(header.coding, Coding::Progressive);
        assert_eq!(Header::read(&file(8, 8, ColorType::Cmyk, false)).unwrap().component_count, 4);
    }

    #[test]
    fn other_files_are_named() {
        let png = b"\x89PNG\r\n\x1a\n...";
        for (bytes, kind) in [(&png[..], FileKind::Png), (b"", FileKind::Empty), (b"..", FileKind::Unknown)] {
            assert_eq!(Header::read(bytes), Err(JpegError::Another(kind)));
        }
        for (bytes, words) in [
            (&b"<html>"[..], "it is a web page"),
            (b"\x1f\x8b\x08", "it is packed by gzip"),
            (b"version https://git-lfs.github.com/spec/v1\n", "it is a pointer of Git LFS"),
        ] {
            let error = Header::read(bytes).unwrap_err().to_string();
            assert!(error.starts_with(&format!("it is no JPEG file: {words}")), "{error}");
        }
        let text = Header::read(png).unwrap_err().to_string();
        assert!(text.starts_with("it is a PNG file and no JPEG file, whatever its name says; "), "{text}");
    }

    #[test]
    fn every_cut_file_is_found_out() {
        let whole = file(40, 30, ColorType::Rgb, false);
        for length in 2..whole.len() {
            let error = Header::read(&whole[..length]).unwrap_err();
            assert!(matches!(error, JpegError::Cut { size_bytes, .. } if size_bytes == length), "{error}");
        }
    }

    #[test]
    fn sizes_that_cannot_be_decoded_are_found_out() {
        let mut bytes = file(8, 8, ColorType::Rgb, false);
        let frame = bytes.windows(2).position(|pair| pair == [0xff, marker::BASELINE]).unwrap();
        bytes[frame + 5..frame + 9].fill(0xff);
        let error = Header::read(&bytes).unwrap_err();
        assert!(matches!(error, JpegError::TooLarge { width: 65535, height: 65535, .. }), "{error}");
        bytes[frame + 5..frame + 9].copy_from_slice(&[0x10, 0, 0x10, 0]);
        let size_bytes = bytes.len();
        assert_eq!(Header::read(&bytes), Err(JpegError::Cut { size_bytes, within: Where::Pixels }));
        // Two samples of the first component across for three of the second.
        bytes[frame + 5..frame + 9].copy_from_slice(&[0, 8, 0, 8]);
        (bytes[frame + 11], bytes[frame + 14]) = (0x21, 0x31);
        assert_eq!(Header::read(&bytes), Err(JpegError::Unsupported(Unsupported::FractionalSampling)));
    }

    #[test]
    fn kinds_that_are_not_read_are_named() {
        let mut bytes = file(8, 8, ColorType::Rgb, false);
        let frame = bytes.windows(2).position(|pair| pair == [0xff, marker::BASELINE]).unwrap();
        bytes[frame + 4] = 12;
        assert_eq!(Header::read(&bytes), Err(JpegError::Unsupported(Unsupported::Precision(12))));
        bytes[frame + 1] = 0xc9;
        assert_eq!(Header::read(&bytes), Err(JpegError::Unsupported(Unsupported::Arithmetic)));
    }
}
