//! Turns a file into pixels.

use pulp::{Arch, WithSimd};

use crate::{
    coded::{
        huffman::HuffmanTable,
        scan::{Scan, Tables},
    },
    colour::{ColourSpace, write_row},
    error::{Fault, JpegError, Unsupported, Where},
    frame::{Coding, Frame},
    picture::{Part, Picture},
    plane::{Plane, Steps},
    segments::{Segment, Segments, marker},
    upsample::{Scratch, Upsampling, row},
};

/// Maximum number of scans of a file: ten times as many as libjpeg makes of a progressive picture. Each takes its time
/// for all blocks, however few bytes it has.
pub const SCANS_MAX: usize = 100;

/// Decodes the pixels of a part of a picture as stored, before any turn.
///
/// The bytes must be a whole file: [`Header::read`](crate::Header::read) reports a missing end.
///
/// # Errors
/// If the file is no JPEG file, is cut or damaged, of a kind that is not read, or has too many pixels.
///
/// # Panics
/// If the part is empty or reaches beyond the picture: a mistake of the caller.
pub fn decode(bytes: &[u8], part: Part) -> Result<Picture, JpegError> {
    Arch::new().dispatch(Decode { bytes, part })
}

/// The work as `pulp` compiles it for each instruction set.
struct Decode<'a> {
    bytes: &'a [u8],
    part: Part,
}

impl WithSimd for Decode<'_> {
    type Output = Result<Picture, JpegError>;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> Self::Output {
        let decoded = decode_planes(self.bytes, self.part)?;
        decoded.picture(self.part)
    }
}

/// The components of a picture.
struct Decoded {
    frame: Frame,
    planes: Vec<Plane>,
    space: ColourSpace,
}

/// Reads the segments up to the last scan.
#[inline(always)]
fn decode_planes(bytes: &[u8], part: Part) -> Result<Decoded, JpegError> {
    let mut segments = Segments::of(bytes)?;
    let mut tables = Tables::default();
    let (mut is_jfif, mut adobe) = (false, None);
    let mut pixels: Option<(Frame, Vec<Plane>)> = None;
    let mut scan_count = 0;
    loop {
        let within = if pixels.is_some() { Where::Pixels } else { Where::Header };
        let segment = segments.next(within)?;
        match segment.marker {
            marker::END => break,
            marker::QUANTISATION => read_steps(&segment, &mut tables)?,
            marker::HUFFMAN => read_huffman_tables(&segment, &mut tables)?,
            marker::RESTART_INTERVAL => {
                let interval = segment.payload.try_into().map_err(|_| segment.damaged(Fault::SegmentSize))?;
                tables.restart_interval = usize::from(u16::from_be_bytes(interval));
            }
            marker::JFIF => is_jfif |= segment.payload.starts_with(b"JFIF\0"),
            marker::ADOBE if segment.payload.starts_with(b"Adobe") => {
                adobe = segment.payload.get(11).copied()
            }
            found if Frame::is_begun_by(found) => {
                if pixels.is_some() {
                    return Err(segment.damaged(Fault::SecondFrame));
                }
                let frame = Frame::read(&segment)?;
                frame.check_size(bytes)?;
                let is_inside = part.left + part.width <= frame.width as usize
                    && part.top + part.height <= frame.height as usize;
                assert!(is_inside && part.width > 0 && part.height > 0, "{part:?} of {frame:?}");
                let planes = frame.components.iter().map(|component| Plane::new(&frame, *component, part));
                let planes = planes.collect();
                pixels = Some((frame, planes));
            }
            marker::SCAN => {
                let Some((frame, planes)) = &mut pixels else { return Err(segment.damaged(Fault::NoFrame)) };
                scan_count += 1;
                if scan_count > SCANS_MAX {
                    return Err(JpegError::Unsupported(Unsupported::Scans(SCANS_MAX)));
                }
                let scan = Scan::read(&segment, frame)?;
                match scan.decode(segments.bytes(), segments.position(), frame, &tables, planes)? {
                    Some(position) => segments.skip_to(position),
                    None => break,
                }
            }
            _ => {}
        }
    }
    let offset = segments.position();
    let (frame, mut planes) = pixels.ok_or(JpegError::Damaged { offset, fault: Fault::NoFrame })?;
    if planes.iter().any(|plane| plane.steps.is_none()) {
        return Err(JpegError::Damaged { offset, fault: Fault::Scan });
    }
    if frame.coding == Coding::Progressive {
        planes.iter_mut().for_each(Plane::put_all);
    }
    let space = ColourSpace::of(&frame, is_jfif, adobe);
    Ok(Decoded { frame, planes, space })
}

fn read_steps(segment: &Segment<'_>, tables: &mut Tables) -> Result<(), JpegError> {
    let wrong = || segment.damaged(Fault::Quantisation);
    let mut rest = segment.payload;
    while let Some((head, after)) = rest.split_first() {
        let size = if head >> 4 == 0 { 1 } else { 2 };
        let (values, after) = after.split_at_checked(64 * size).ok_or_else(wrong)?;
        let mut steps: Steps = [0; 64];
        for (step, bytes) in steps.iter_mut().zip(values.chunks(size)) {
            *step = bytes.iter().fold(0, |value, byte| value << 8 | u16::from(*byte));
        }
        *tables.steps.get_mut(usize::from(head & 15)).ok_or_else(wrong)? = Some(steps);
        rest = after;
    }
    Ok(())
}

fn read_huffman_tables(segment: &Segment<'_>, tables: &mut Tables) -> Result<(), JpegError> {
    let wrong = || segment.damaged(Fault::HuffmanTable);
    let mut rest = segment.payload;
    while let Some((head, after)) = rest.split_first() {
        let (counts, after) = after.split_first_chunk::<16>().ok_or_else(wrong)?;
        let count = counts.iter().map(|count| usize::from(*count)).sum();
        let (symbols, after) = after.split_at_checked(count).ok_or_else(wrong)?;
        let table = HuffmanTable::new(counts, symbols).ok_or_else(wrong)?;
        let number = usize::from(head & 15);
        match head >> 4 {
            0 => *tables.first.get_mut(number).ok_or_else(wrong)? = Some(table),
            1 => *tables.others.get_mut(number).ok_or_else(wrong)? = Some(table),
            _ => return Err(wrong()),
        }
        rest = after;
    }
    Ok(())
}

impl Decoded {
    /// Returns the pixels of the part whose blocks have been decoded.
    #[inline(always)]
    fn picture(&self, part: Part) -> Result<Picture, JpegError> {
        let (most_across, most_down) = self.frame.sampling();
        let ways = self.planes.iter().map(|plane| Upsampling::of(plane, most_across, most_down));
        let ways: Option<Vec<_>> = ways.collect();
        let ways = ways.ok_or(JpegError::Unsupported(Unsupported::FractionalSampling))?;
        let mut scratch: Vec<Scratch> = vec![Scratch::default(); self.planes.len()];
        let mut pixels = vec![[0; 4]; part.width * part.height];
        for (number, pixels) in pixels.chunks_exact_mut(part.width).enumerate() {
            let mut rows: [&[u8]; 4] = [&[]; 4];
            for (((plane, way), scratch), samples) in
                self.planes.iter().zip(&ways).zip(&mut scratch).zip(&mut rows)
            {
                *samples = row(plane, *way, part.top + number, part, scratch);
            }
            write_row(self.space, &rows[..self.planes.len()], pixels);
        }
        Ok(Picture { width: part.width, height: part.height, pixels })
    }
}
