//! The segments of a file, from marker to marker.
//!
//! A marker is 0xff and a byte that says which; most are followed by the length of their payload in two bytes, which
//! count themselves. Source: ITU-T T.81, annex B.

use proctor_vocabulary::misfetched;

use crate::error::{Fault, FileKind, JpegError, Where};

/// Second bytes of markers.
pub(crate) mod marker {
    /// The baseline frame.
    pub(crate) const BASELINE: u8 = 0xc0;
    /// The frame of sequential files with more tables.
    pub(crate) const EXTENDED: u8 = 0xc1;
    /// The progressive frame.
    pub(crate) const PROGRESSIVE: u8 = 0xc2;
    /// Huffman tables.
    pub(crate) const HUFFMAN: u8 = 0xc4;
    /// Arithmetic coding: its conditioning.
    pub(crate) const ARITHMETIC: u8 = 0xcc;
    /// The first of eight marks at which decoding may restart.
    pub(crate) const RESTART: u8 = 0xd0;
    /// Beginning of a file.
    pub(crate) const START: u8 = 0xd8;
    /// End of a file.
    pub(crate) const END: u8 = 0xd9;
    /// Beginning of a scan: a part of the pixels.
    pub(crate) const SCAN: u8 = 0xda;
    /// Tables of quantisation steps.
    pub(crate) const QUANTISATION: u8 = 0xdb;
    /// The number of units between restarts.
    pub(crate) const RESTART_INTERVAL: u8 = 0xdd;
    /// Application data of JFIF.
    pub(crate) const JFIF: u8 = 0xe0;
    /// Application data of EXIF.
    pub(crate) const EXIF: u8 = 0xe1;
    /// Application data of Adobe.
    pub(crate) const ADOBE: u8 = 0xee;
}

/// A marker with its payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Segment<'a> {
    /// Second byte of the marker.
    pub(crate) marker: u8,
    /// Bytes after the length; none where a marker has no length.
    pub(crate) payload: &'a [u8],
    /// Place of the marker in the file.
    pub(crate) offset: usize,
}

impl Segment<'_> {
    pub(crate) fn damaged(&self, fault: Fault) -> JpegError {
        JpegError::Damaged { offset: self.offset, fault }
    }
}

/// Reads segments one after another.
#[derive(Debug, Clone)]
pub(crate) struct Segments<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl<'a> Segments<'a> {
    /// Starts behind the mark of the beginning.
    ///
    /// # Errors
    /// [`JpegError::Another`] or [`JpegError::Misfetched`] if the file does not begin with that mark.
    pub(crate) fn of(bytes: &'a [u8]) -> Result<Self, JpegError> {
        match bytes {
            [0xff, marker::START, ..] => Ok(Self { bytes, position: 2 }),
            _ => Err(misfetched(bytes)
                .map_or_else(|| JpegError::Another(FileKind::of(bytes)), JpegError::Misfetched)),
        }
    }

    /// Returns the file.
    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns the place in the file: behind the last segment.
    pub(crate) fn position(&self) -> usize {
        self.position
    }

    /// Continues from here, behind the pixels of a scan.
    pub(crate) fn skip_to(&mut self, position: usize) {
        self.position = position;
    }

    /// Returns the next segment. Skips bytes in front of its marker, as every reader of JPEG files does.
    ///
    /// # Errors
    /// [`JpegError::Cut`] within `part` if the file ends before it does.
    pub(crate) fn next(&mut self, part: Where) -> Result<Segment<'a>, JpegError> {
        let cut = || JpegError::Cut { size_bytes: self.bytes.len(), within: part };
        let mut at = self.position;
        let (offset, found) = loop {
            let here = *self.bytes.get(at).ok_or_else(cut)?;
            let after = *self.bytes.get(at + 1).ok_or_else(cut)?;
            // A zero behind 0xff says that it is a byte of pixels; any number of 0xff may stand before a marker.
            if here == 0xff && after != 0 && after != 0xff {
                break (at, after);
            }
            at += 1;
        };
        let behind = offset + 2;
        let has_no_payload =
            matches!(found, 0x01 | marker::START | marker::END) || restart_number(found).is_some();
        let payload = if has_no_payload {
            self.position = behind;
            &self.bytes[behind..behind]
        } else {
            let length = self.bytes.get(behind..behind + 2).ok_or_else(cut)?;
            let length = usize::from(u16::from_be_bytes([length[0], length[1]]));
            if length < 2 {
                return Err(JpegError::Damaged { offset, fault: Fault::SegmentSize });
            }
            let payload = self.bytes.get(behind + 2..behind + length).ok_or_else(cut)?;
            self.position = behind + length;
            payload
        };
        Ok(Segment { marker: found, payload, offset })
    }
}

/// Returns the number of a restart mark, 0 to 7.
pub(crate) fn restart_number(found: u8) -> Option<u8> {
    found.checked_sub(marker::RESTART).filter(|number| *number < 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_found_behind_fill_and_garbage() {
        let bytes = [0xff, 0xd8, 7, 0xff, 0, 0xff, 0xff, 0xfe, 0, 4, 1, 2, 0xff, 0xd9];
        let mut segments = Segments::of(&bytes).unwrap();
        assert_eq!(segments.next(Where::Header), Ok(Segment { marker: 0xfe, payload: &[1, 2], offset: 6 }));
        assert_eq!(
            segments.next(Where::Header),
            Ok(Segment { marker: marker::END, payload: &[], offset: 12 })
        );
        assert_eq!(
            segments.next(Where::EndMark),
            Err(JpegError::Cut { size_bytes: 14, within: Where::EndMark })
        );
    }

    #[test]
    fn a_segment_that_is_not_whole_is_cut_and_one_without_room_for_its_length_damaged() {
        for length in 2..8 {
            let bytes = &[0xff, 0xd8, 0xff, 0xfe, 0, 4, 1, 2][..length];
            let cut = JpegError::Cut { size_bytes: length, within: Where::Header };
            assert_eq!(Segments::of(bytes).unwrap().next(Where::Header), Err(cut));
        }
        let damaged = JpegError::Damaged { offset: 2, fault: Fault::SegmentSize };
        let bytes = [0xff, 0xd8, 0xff, 0xfe, 0, 1, 0, 0];
        assert_eq!(Segments::of(&bytes).unwrap().next(Where::Header), Err(damaged));
    }
}
