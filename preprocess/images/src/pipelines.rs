//! The pipelines of MLPerf's references by name, and the steps of a definition.

mod photo;
mod steps;

use proctor_preprocess::{
    Channels, ImageInput, ImageSteps, ImageStepsEntry, Pipeline, PipelineName, PreprocessError,
    Preprocessing, ResizeMethod, decoded, describe,
};
use proctor_vocabulary::{ElementType, TensorSpec};

use self::steps::Pictures;

/// Mean of ImageNet in red, green and blue, as parts of 255: the statistics of PyTorch.
const PYTORCH_MEAN: [f32; 3] = [0.485, 0.456, 0.406];
/// Deviation, likewise.
const PYTORCH_DEVIATION: [f32; 3] = [0.229, 0.224, 0.225];
/// Mean of ImageNet in red, green and blue, as in VGG.
const VGG_MEAN: [f32; 3] = [123.68, 116.78, 103.94];
/// Mean of ImageNet in blue, green and red, as the pipeline of TFLite has it.
const BLUE_FIRST_MEAN: [f32; 3] = [103.939, 116.779, 123.68];
/// Percentage of the short side that a crop keeps, which the references fix.
const CROPPED_PERCENT: f64 = 87.5;

/// A pipeline of the references.
struct Named {
    name: PipelineName,
    /// Its steps, but for the short side.
    steps: ImageSteps,
    /// Whether the centre is cropped, for which tensors are square.
    is_cropped: bool,
    element_type: ElementType,
}

impl Named {
    /// Returns a pipeline of ImageNet: the short side to a size, and the centre cropped.
    const fn classification(name: PipelineName, steps: ImageSteps) -> Self {
        Self { name, steps, is_cropped: true, element_type: ElementType::F32 }
    }

    /// Returns a pipeline of COCO or Open Images: the whole picture is resized to a fixed size, regardless of its
    /// aspect ratio.
    const fn detection(name: PipelineName, steps: ImageSteps) -> Self {
        Self { name, steps, is_cropped: false, element_type: ElementType::F32 }
    }
}

const VGG: Named = Named::classification(
    decoded::IMAGENET_VGG,
    ImageSteps { mean: VGG_MEAN, ..ImageSteps::bytes(ResizeMethod::OpencvArea) },
);
const MOBILENET: Named = Named::classification(
    decoded::IMAGENET_MOBILENET,
    ImageSteps {
        scale: 255.0,
        mean: [0.5; 3],
        deviation: [0.5; 3],
        ..ImageSteps::bytes(ResizeMethod::OpencvLinear)
    },
);
const TORCHVISION: Named =
    Named::classification(decoded::IMAGENET_TORCHVISION, pytorch(ResizeMethod::PillowBilinear));
const TFLITE: Named = Named::classification(
    decoded::IMAGENET_TFLITE,
    ImageSteps {
        channels: Channels::Bgr,
        mean: BLUE_FIRST_MEAN,
        ..ImageSteps::bytes(ResizeMethod::OpencvLinear)
    },
);
const SSD_MOBILENET: Named = Named {
    element_type: ElementType::U8,
    ..Named::detection(decoded::COCO_SSD_MOBILENET, ImageSteps::bytes(ResizeMethod::OpencvLinearF32))
};
const SSD_MOBILENET_PYTORCH: Named = Named::detection(
    decoded::COCO_SSD_MOBILENET_PYTORCH,
    ImageSteps {
        mean: [127.5; 3],
        deviation: [127.5; 3],
        ..ImageSteps::bytes(ResizeMethod::OpencvLinearF32)
    },
);
const SSD_RESNET34: Named =
    Named::detection(decoded::COCO_SSD_RESNET34, pytorch(ResizeMethod::OpencvLinearF32));
const SSD_RESNET34_TF: Named = Named::detection(
    decoded::COCO_SSD_RESNET34_TF,
    ImageSteps { mean: VGG_MEAN, ..ImageSteps::bytes(ResizeMethod::OpencvLinearF32) },
);
const RETINANET: Named = Named::detection(
    decoded::OPEN_IMAGES_RETINANET,
    ImageSteps { scale: 255.0, ..ImageSteps::bytes(ResizeMethod::OpencvLinearF32) },
);

/// Returns steps to numbers from 0 to 1, minus the mean of ImageNet, divided by its deviation.
const fn pytorch(resize: ResizeMethod) -> ImageSteps {
    ImageSteps { scale: 255.0, mean: PYTORCH_MEAN, deviation: PYTORCH_DEVIATION, ..ImageSteps::bytes(resize) }
}

inventory::submit! { VGG.name.entry(1, |inputs| build(&VGG, inputs)) }
inventory::submit! { MOBILENET.name.entry(1, |inputs| build(&MOBILENET, inputs)) }
inventory::submit! { TORCHVISION.name.entry(1, |inputs| build(&TORCHVISION, inputs)) }
inventory::submit! { TFLITE.name.entry(1, |inputs| build(&TFLITE, inputs)) }
inventory::submit! { SSD_MOBILENET.name.entry(1, |inputs| build(&SSD_MOBILENET, inputs)) }
inventory::submit! { SSD_MOBILENET_PYTORCH.name.entry(1, |inputs| build(&SSD_MOBILENET_PYTORCH, inputs)) }
inventory::submit! { SSD_RESNET34.name.entry(1, |inputs| build(&SSD_RESNET34, inputs)) }
inventory::submit! { SSD_RESNET34_TF.name.entry(1, |inputs| build(&SSD_RESNET34_TF, inputs)) }
inventory::submit! { RETINANET.name.entry(1, |inputs| build(&RETINANET, inputs)) }
inventory::submit! { ImageStepsEntry { version: 1, build: build_steps } }

/// Builds a named pipeline for the single tensor of channels, rows and columns that it makes.
fn build(named: &Named, inputs: &[TensorSpec]) -> Result<Box<dyn Pipeline>, PreprocessError> {
    let Named { name, steps, is_cropped, element_type } = named;
    let fits = |input: &ImageInput| {
        !input.is_channels_last
            && input.is_bytes == (*element_type == ElementType::U8)
            && (input.height == input.width || !is_cropped)
    };
    let Some(input) = ImageInput::of(inputs).filter(fits) else {
        let shape = if *is_cropped { "[3, n, n]" } else { "[3, height, width]" };
        let makes = format!("one {element_type} tensor of shape {shape}");
        return Err(PreprocessError::Outputs {
            pipeline: name.name.to_owned(),
            makes,
            wanted: describe(inputs),
        });
    };
    let short_side = is_cropped.then(|| (100.0 * input.height as f64 / CROPPED_PERCENT) as usize);
    let steps = ImageSteps { short_side, ..steps.clone() };
    Ok(Box::new(Pictures::new(name.name, steps, input, &inputs[0])))
}

/// Builds the steps of a definition.
fn build_steps(steps: &ImageSteps, inputs: &[TensorSpec]) -> Result<Box<dyn Pipeline>, PreprocessError> {
    let Some(input) = ImageInput::of(inputs) else {
        return Err(PreprocessError::Outputs {
            pipeline: Preprocessing::IMAGE.to_owned(),
            makes: ImageInput::FITTING.to_owned(),
            wanted: describe(inputs),
        });
    };
    match steps.fault(input) {
        Some(fault) => Err(PreprocessError::Steps { fault }),
        None => Ok(Box::new(Pictures::new(Preprocessing::IMAGE, steps.clone(), input, &inputs[0]))),
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use proctor_datasets::RawSample;
    use proctor_preprocess::build_pipeline;

    use super::*;

    fn input(element_type: ElementType, shape: &[usize]) -> TensorSpec {
        TensorSpec { name: "image".into(), element_type, shape: shape.to_vec() }
    }

    #[test]
    fn other_inputs_are_refused() {
        for (element_type, shape) in [
            (ElementType::U8, &[3, 224, 224][..]),
            (ElementType::F32, &[224, 224, 3]),
            (ElementType::F32, &[3, 224, 225]),
            (ElementType::F32, &[3, 0, 0]),
        ] {
            let error = build_pipeline(VGG.name.name, &[input(element_type, shape)]).err().unwrap();
            let error = error.to_string();
            assert!(
                error.contains("makes one f32 tensor of shape [3, n, n], but the model takes"),
                "{error}"
            );
        }
    }

    #[test]
    fn the_element_type_is_that_of_the_reference() {
        let input = |element_type| input(element_type, &[3, 30, 20]);
        for (name, right, wrong) in [
            (SSD_MOBILENET.name.name, ElementType::U8, ElementType::F32),
            (RETINANET.name.name, ElementType::F32, ElementType::U8),
        ] {
            let pipeline = build_pipeline(name, &[input(right)]).unwrap();
            assert_eq!(pipeline.outputs(), [input(right)]);
            let error = build_pipeline(name, &[input(wrong)]).err().unwrap().to_string();
            assert!(
                error.contains(&format!("makes one {right} tensor of shape [3, height, width]")),
                "{error}"
            );
        }
    }

    #[test]
    fn steps_that_do_not_fit_the_input_are_refused() {
        let steps = ImageSteps { short_side: Some(256), ..ImageSteps::bytes(ResizeMethod::PillowBicubic) };
        let refused = |inputs: &[TensorSpec]| {
            Preprocessing::Image(steps.clone()).build(inputs).err().unwrap().to_string()
        };
        let error = refused(&[input(ElementType::F32, &[300, 300, 3])]);
        assert_eq!(
            error,
            "preprocessing \"image\": short_side: 256: a crop of 300 x 300, as the input has it, takes a short side \
             from 300 to 65536"
        );
        let error = refused(&[input(ElementType::F32, &[1, 28, 28])]);
        assert!(error.contains("makes one f32 or u8 tensor of shape [3, height, width] or"), "{error}");
    }

    #[test]
    fn a_sample_that_is_no_jpeg_file_is_refused_with_the_reason() {
        let pipeline = build_pipeline(VGG.name.name, &[input(ElementType::F32, &[3, 32, 32])]).unwrap();
        let mut tensor = vec![0; 3 * 32 * 32 * 4];
        let mut run = |element_type, shape: &[usize], bytes: &[u8]| {
            let sample = RawSample { element_type, shape: Cow::Borrowed(shape), bytes: Cow::Borrowed(bytes) };
            pipeline.run(&sample, &mut [&mut tensor]).unwrap_err().to_string()
        };
        let png = b"\x89PNG\r\n\x1a\n";
        let error = run(ElementType::U8, &[8], png);
        let expected =
            "preprocessing \"imagenet-vgg\" cannot decode the sample: it is a PNG file and no JPEG file";
        assert!(error.starts_with(expected), "{error}");
        let error = run(ElementType::U8, &[2, 4], png);
        assert!(error.contains("reads the bytes of a JPEG file, but the sample is u8[2, 4]"), "{error}");
    }
}
