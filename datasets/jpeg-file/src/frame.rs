//! The description of a picture: its size and its components.

use crate::{
    error::{Fault, JpegError, Unsupported, Where},
    segments::{Segment, marker},
};

/// The most pixels that are decoded: 8192 rows of as many. The greatest picture of a published set has a fifth of that.
pub const PIXELS_MAX: u64 = 1 << 26;

/// How the pixels are coded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coding {
    /// Rows come from the first to the last, in one go for each component or for all.
    Sequential,
    /// Detail comes from coarse to fine, in several scans of the picture.
    Progressive,
}

/// The frame of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) coding: Coding,
    /// Number of columns.
    pub(crate) width: u32,
    /// Number of rows.
    pub(crate) height: u32,
    /// The components, of which there are one, three or four.
    pub(crate) components: Vec<Component>,
}

/// A component of the colour, such as the brightness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Component {
    /// Name in the file.
    pub(crate) id: u8,
    /// Number of its blocks side by side in a coding unit, 1 to 4.
    pub(crate) across: u32,
    /// Number of its blocks one below the other in a coding unit, 1 to 4.
    pub(crate) down: u32,
    /// Number of its table of quantisation steps, 0 to 3.
    pub(crate) table: usize,
}

impl Frame {
    /// Returns whether a marker begins a frame of any kind.
    pub(crate) fn is_begun_by(found: u8) -> bool {
        (0xc0..=0xcf).contains(&found) && !matches!(found, marker::HUFFMAN | marker::ARITHMETIC | 0xc8)
    }

    /// Returns the largest sampling factors, across and down; components with them have a sample for each pixel.
    pub(crate) fn sampling(&self) -> (u32, u32) {
        let most = |factor: fn(&Component) -> u32| self.components.iter().map(factor).max().unwrap_or(1);
        (most(|component| component.across), most(|component| component.down))
    }

    /// Returns the units of coding of the picture, across and down.
    pub(crate) fn units(&self) -> (usize, usize) {
        let (across, down) = self.sampling();
        (self.width.div_ceil(8 * across) as usize, self.height.div_ceil(8 * down) as usize)
    }

    /// Refuses pictures that are too large for the limit, or for their file, which has these bytes.
    ///
    /// # Errors
    /// [`JpegError::TooLarge`], or [`JpegError::Cut`].
    pub(crate) fn check_size(&self, bytes: &[u8]) -> Result<(), JpegError> {
        let (width, height) = (self.width, self.height);
        if u64::from(width) * u64::from(height) > PIXELS_MAX {
            return Err(JpegError::TooLarge { width, height, most: PIXELS_MAX });
        }
        if self.block_count() > 8 * bytes.len() as u64 {
            return Err(JpegError::Cut { size_bytes: bytes.len(), within: Where::Pixels });
        }
        Ok(())
    }

    /// Returns whether the greatest sampling factors are multiples of all others.
    pub(crate) fn has_whole_sampling(&self) -> bool {
        let (across, down) = self.sampling();
        let is_whole = |it: &Component| across.is_multiple_of(it.across) && down.is_multiple_of(it.down);
        self.components.iter().all(is_whole)
    }

    /// Returns the minimum number of blocks of the components; each takes at least one bit.
    fn block_count(&self) -> u64 {
        let (across, down) = self.sampling();
        let blocks =
            |pixels: u32, factor: u32, most: u32| u64::from((pixels * factor).div_ceil(most).div_ceil(8));
        let of_component = |component: &Component| {
            blocks(self.width, component.across, across) * blocks(self.height, component.down, down)
        };
        self.components.iter().map(of_component).sum()
    }

    /// Reads the segment of a frame.
    ///
    /// # Errors
    /// If the frame contradicts itself, or is of a kind that is not read.
    pub(crate) fn read(segment: &Segment<'_>) -> Result<Self, JpegError> {
        let unsupported = |what| Err(JpegError::Unsupported(what));
        let coding = match segment.marker {
            marker::BASELINE | marker::EXTENDED => Coding::Sequential,
            marker::PROGRESSIVE => Coding::Progressive,
            0xc3 => return unsupported(Unsupported::Lossless),
            0xc9..=0xcb => return unsupported(Unsupported::Arithmetic),
            _ => return unsupported(Unsupported::Hierarchical),
        };
        let [precision, h1, h0, w1, w0, count, components @ ..] = segment.payload else {
            return Err(segment.damaged(Fault::SegmentSize));
        };
        let (height, width) = (u16::from_be_bytes([*h1, *h0]).into(), u16::from_be_bytes([*w1, *w0]).into());
        if components.len() != 3 * usize::from(*count) {
            return Err(segment.damaged(Fault::SegmentSize));
        }
        match (*precision, *count, height, width) {
            (_, _, _, 0) => return Err(segment.damaged(Fault::NoPixels)),
            (_, _, 0, _) => return unsupported(Unsupported::HeightAfterPixels),
            (8, 1 | 3 | 4, ..) => {}
            (8, count, ..) => return unsupported(Unsupported::Components(count)),
            (precision, ..) => return unsupported(Unsupported::Precision(precision)),
        }
        let components: Vec<_> = components.as_chunks().0.iter().map(|bytes| component(*bytes)).collect();
        let is_sound = |component: &Component| {
            (1..=4).contains(&component.across) && (1..=4).contains(&component.down) && component.table < 4
        };
        if !components.iter().all(is_sound) {
            return Err(segment.damaged(Fault::Sampling));
        }
        Ok(Self { coding, width, height, components })
    }
}

fn component([id, sampling, table]: [u8; 3]) -> Component {
    Component {
        id,
        across: u32::from(sampling >> 4),
        down: u32::from(sampling & 15),
        table: usize::from(table),
    }
}
