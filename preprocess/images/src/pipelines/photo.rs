//! A sample that is a JPEG file, and the pixels of it that a pipeline needs.

use proctor_datasets::RawSample;
use proctor_jpeg_file::{Header, JpegError, Orientation, Part, Picture, decode};
use proctor_preprocess::PreprocessError;
use proctor_vocabulary::ElementType;

/// A sample that is a JPEG file.
pub(super) struct Photo<'a> {
    pipeline: &'static str,
    bytes: &'a [u8],
    header: Header,
}

impl<'a> Photo<'a> {
    pub(super) fn open(pipeline: &'static str, sample: &'a RawSample<'_>) -> Result<Self, PreprocessError> {
        if sample.element_type != ElementType::U8 || *sample.shape != [sample.bytes.len()] {
            return Err(PreprocessError::Sample {
                pipeline: pipeline.to_owned(),
                reads: "the bytes of a JPEG file".to_owned(),
                got: format!("{}{:?} of {} bytes", sample.element_type, sample.shape, sample.bytes.len()),
            });
        }
        let bytes = &*sample.bytes;
        let header = Header::read(bytes).map_err(|error| undecodable(pipeline, &error))?;
        Ok(Self { pipeline, bytes, header })
    }

    /// Returns the columns and rows of the upright picture.
    pub(super) fn size(&self) -> (usize, usize) {
        let (width, height) = self.header.upright_size();
        (width as usize, height as usize)
    }

    /// Decodes the pixels of the upright picture that `part` needs, and returns which part of it they are.
    pub(super) fn pixels(&self, part: Part) -> Result<(Picture, Part), PreprocessError> {
        let decode = |part| decode(self.bytes, part).map_err(|error| undecodable(self.pipeline, &error));
        if self.header.orientation == Orientation::Upright {
            return Ok((decode(part)?, part));
        }
        let [width, height] = [self.header.width, self.header.height].map(|side| side as usize);
        let picture = decode(Part { left: 0, top: 0, width, height })?.upright(self.header.orientation);
        let whole = Part { left: 0, top: 0, width: picture.width, height: picture.height };
        Ok((picture, whole))
    }
}

fn undecodable(pipeline: &'static str, error: &JpegError) -> PreprocessError {
    PreprocessError::Undecodable { pipeline: pipeline.to_owned(), reason: error.to_string() }
}
