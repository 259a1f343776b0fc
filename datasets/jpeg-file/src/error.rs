//! Errors of JPEG files.

use std::fmt;

/// Reason why a file cannot be read as a picture.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum JpegError {
    #[error("it is {0} and no JPEG file, whatever its name says; convert it, or restore the published file")]
    Another(FileKind),
    /// The file is left over from a failed download, a checkout or a packer; the text says which.
    #[error("it is no JPEG file: {0}")]
    Misfetched(&'static str),
    #[error("it is cut: it ends after {size_bytes} bytes, {within}; restore the published file")]
    Cut { size_bytes: usize, within: Where },
    #[error("it is damaged at byte {offset}: {fault}; restore the published file")]
    Damaged { offset: usize, fault: Fault },
    #[error("it is a JPEG file {0}, which is not read; encode it again as a baseline file")]
    Unsupported(Unsupported),
    #[error("it says that it has {width} x {height} pixels, more than the {most} that are read")]
    TooLarge { width: u32, height: u32, most: u64 },
}

/// A kind of file, by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// No bytes at all.
    Empty,
    /// PNG.
    Png,
    /// GIF.
    Gif,
    /// WebP.
    WebP,
    /// Windows bitmap.
    Bmp,
    /// TIFF.
    Tiff,
    /// None of these.
    Unknown,
}

impl FileKind {
    /// Returns the kind of a file that is no JPEG file.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        match bytes {
            [] => Self::Empty,
            [0x89, b'P', b'N', b'G', ..] => Self::Png,
            [b'G', b'I', b'F', b'8', ..] => Self::Gif,
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Self::WebP,
            [b'B', b'M', ..] => Self::Bmp,
            [b'I', b'I', 42, 0, ..] | [b'M', b'M', 0, 42, ..] => Self::Tiff,
            _ => Self::Unknown,
        }
    }
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "empty",
            Self::Png => "a PNG file",
            Self::Gif => "a GIF file",
            Self::WebP => "a WebP file",
            Self::Bmp => "a bitmap file",
            Self::Tiff => "a TIFF file",
            Self::Unknown => "a file of unknown kind",
        })
    }
}

/// A part of a file that may end too soon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Where {
    /// The part before the first pixel.
    Header,
    /// The coded pixels.
    Pixels,
    /// The mark of the end, which every whole file has.
    EndMark,
}

impl fmt::Display for Where {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Header => "within its header",
            Self::Pixels => "within its pixels",
            Self::EndMark => "without the mark of its end",
        })
    }
}

/// A contradiction within a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A segment is shorter or longer than its kind requires.
    SegmentSize,
    /// A picture without columns or rows.
    NoPixels,
    /// Two contradictory descriptions of the picture.
    SecondFrame,
    /// Pixels before the description of the picture.
    NoFrame,
    /// A component with a sampling factor that there is not.
    Sampling,
    /// A table of quantisation steps that is wrong, or that is used and not there.
    Quantisation,
    /// A Huffman table that is wrong, or that is used and not there.
    HuffmanTable,
    /// A code that the Huffman table does not have, or a number that fits no block.
    HuffmanCode,
    /// A part of the pixels that describes itself wrongly.
    Scan,
    /// The mark at which decoding may restart is not where it must be.
    Restart,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SegmentSize => "a segment of the wrong size",
            Self::NoPixels => "a picture without columns or rows",
            Self::SecondFrame => "a second description of the picture",
            Self::NoFrame => "pixels before the description of the picture",
            Self::Sampling => "a sampling factor that there is not",
            Self::Quantisation => "a wrong or missing table of quantisation steps",
            Self::HuffmanTable => "a wrong or missing Huffman table",
            Self::HuffmanCode => "a code that its Huffman table does not have",
            Self::Scan => "a scan that describes itself wrongly",
            Self::Restart => "no restart mark where one must be",
        })
    }
}

/// A kind of JPEG that exists and that is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsupported {
    /// Arithmetic coding.
    Arithmetic,
    /// Lossless coding.
    Lossless,
    /// Pictures in several resolutions.
    Hierarchical,
    /// Samples of this many bits.
    Precision(u8),
    /// The picture has this many components.
    Components(u8),
    /// The height follows the pixels.
    HeightAfterPixels,
    /// Components whose numbers of samples are not multiples of each other.
    FractionalSampling,
    /// More scans than this.
    Scans(usize),
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Arithmetic => f.write_str("with arithmetic coding"),
            Self::Lossless => f.write_str("without loss"),
            Self::Hierarchical => f.write_str("of several resolutions"),
            Self::Precision(bits) => write!(f, "with {bits} bits a sample"),
            Self::Components(count) => write!(f, "of {count} components"),
            Self::HeightAfterPixels => f.write_str("that gives its height after its pixels"),
            Self::FractionalSampling => f.write_str("with fractions of samples"),
            Self::Scans(most) => write!(f, "of more than {most} scans"),
        }
    }
}
