//! The pipelines, by their treatment of the pictures.

mod classification;
mod detection;

use proctor_datasets::RawSample;
use proctor_jpeg_file::{Header, JpegError, Orientation, Part, Picture, decode};
use proctor_preprocess::{PreprocessError, describe};
use proctor_vocabulary::{ElementType, TensorSpec};

/// Mean of ImageNet in red, green and blue, as parts of 255: the statistics of PyTorch.
const PYTORCH_MEAN: [f32; 3] = [0.485, 0.456, 0.406];
/// Deviation, likewise.
const PYTORCH_DEVIATION: [f32; 3] = [0.229, 0.224, 0.225];
/// Mean of ImageNet in red, green and blue, as in VGG.
const VGG_MEAN: [f32; 3] = [123.68, 116.78, 103.94];

/// Returns the single tensor of channels, rows and columns that a pipeline should make.
fn image_input(
    pipeline: &'static str,
    element_type: ElementType,
    is_square: bool,
    inputs: &[TensorSpec],
) -> Result<(TensorSpec, usize, usize), PreprocessError> {
    if let [input] = inputs
        && let [3, height, width] = input.shape[..]
        && input.element_type == element_type
        && height > 0
        && width > 0
        && (height == width || !is_square)
    {
        return Ok((input.clone(), height, width));
    }
    let shape = if is_square { "[3, n, n]" } else { "[3, height, width]" };
    Err(PreprocessError::Outputs {
        pipeline: pipeline.to_owned(),
        makes: format!("one {element_type} tensor of shape {shape}"),
        wanted: describe(inputs),
    })
}

/// A sample that is a JPEG file.
struct Photo<'a> {
    bytes: &'a [u8],
    header: Header,
}

impl<'a> Photo<'a> {
    fn open(pipeline: &'static str, sample: &'a RawSample<'_>) -> Result<Self, PreprocessError> {
        if sample.element_type != ElementType::U8 || *sample.shape != [sample.bytes.len()] {
            return Err(PreprocessError::Sample {
                pipeline: pipeline.to_owned(),
                reads: "the bytes of a JPEG file".to_owned(),
                got: format!("{}{:?} of {} bytes", sample.element_type, sample.shape, sample.bytes.len()),
            });
        }
        let bytes = &*sample.bytes;
        let header = Header::read(bytes).map_err(|error| undecodable(pipeline, &error))?;
        Ok(Self { bytes, header })
    }

    /// Returns the columns and rows of the upright picture.
    fn size(&self) -> (usize, usize) {
        let (width, height) = self.header.upright_size();
        (width as usize, height as usize)
    }

    /// Decodes the pixels of the upright picture that `part` needs, and returns which part of it they are.
    fn pixels(&self, pipeline: &'static str, part: Part) -> Result<(Picture, Part), PreprocessError> {
        let decode = |part| decode(self.bytes, part).map_err(|error| undecodable(pipeline, &error));
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

/// Returns the bytes of a tensor as numbers of this size.
fn numbers<'a, const SIZE: usize>(tensors: &'a mut [&mut [u8]], output: &TensorSpec) -> &'a mut [[u8; SIZE]] {
    let [tensor] = tensors else { panic!("one tensor expected, got {}", tensors.len()) };
    assert_eq!(tensor.len(), output.size_bytes(), "size of the tensor in bytes");
    tensor.as_chunks_mut().0
}
