//! Pipelines whose code is in programs with decoders alone, such as `host-data`. Every program knows their names, and a
//! line on what each makes; the crate with the decoders makes the [`PipelineEntry`] of each.

use std::collections::BTreeMap;

use crate::pipeline::{PipelineEntry, PipelineName};

/// `imagenet-vgg`
pub const IMAGENET_VGG: PipelineName =
    named("imagenet-vgg", "picture, centre of 7/8 by area, as f32 [3, n, n] less 123.68, 116.78, 103.94");
/// `imagenet-mobilenet`
pub const IMAGENET_MOBILENET: PipelineName =
    named("imagenet-mobilenet", "picture, centre of 7/8 bilinear, as f32 [3, n, n] from -1 to 1");
/// `imagenet-torchvision`
pub const IMAGENET_TORCHVISION: PipelineName = named(
    "imagenet-torchvision",
    "picture, centre of 7/8 antialiased, as f32 [3, n, n] less the mean, by the deviation",
);
/// `imagenet-tflite`
pub const IMAGENET_TFLITE: PipelineName = named(
    "imagenet-tflite",
    "picture, centre of 7/8 bilinear, as f32 [3, n, n] blue first, less 103.939, 116.779, 123.68",
);
/// `coco-ssd-mobilenet`
pub const COCO_SSD_MOBILENET: PipelineName =
    named("coco-ssd-mobilenet", "whole picture, bilinear, as u8 [3, h, w]");
/// `coco-ssd-mobilenet-pytorch`
pub const COCO_SSD_MOBILENET_PYTORCH: PipelineName =
    named("coco-ssd-mobilenet-pytorch", "whole picture, bilinear, as f32 [3, h, w] from -1 to 1");
/// `coco-ssd-resnet34`
pub const COCO_SSD_RESNET34: PipelineName =
    named("coco-ssd-resnet34", "whole picture, bilinear, as f32 [3, h, w] less the mean, by the deviation");
/// `coco-ssd-resnet34-tf`
pub const COCO_SSD_RESNET34_TF: PipelineName =
    named("coco-ssd-resnet34-tf", "whole picture, bilinear, as f32 [3, h, w] less 123.68, 116.78, 103.94");
/// `open-images-retinanet`
pub const OPEN_IMAGES_RETINANET: PipelineName =
    named("open-images-retinanet", "whole picture, bilinear, as f32 [3, h, w] from 0 to 1");
/// `librispeech-rnnt`
pub const LIBRISPEECH_RNNT: PipelineName =
    named("librispeech-rnnt", "recording, as f32 samples of a waveform, with their number");
/// `kits19-3d-unet`
pub const KITS19_3D_UNET: PipelineName =
    named("kits19-3d-unet", "scan, resampled and padded, as f32 [1, d, h, w]");
/// `brats-3d-unet`
pub const BRATS_3D_UNET: PipelineName =
    named("brats-3d-unet", "four scans of a brain, cropped and padded, as f32 [4, 224, 224, 160]");

/// All of them.
pub const ALL: &[PipelineName] = &[
    IMAGENET_VGG,
    IMAGENET_MOBILENET,
    IMAGENET_TORCHVISION,
    IMAGENET_TFLITE,
    COCO_SSD_MOBILENET,
    COCO_SSD_MOBILENET_PYTORCH,
    COCO_SSD_RESNET34,
    COCO_SSD_RESNET34_TF,
    OPEN_IMAGES_RETINANET,
    LIBRISPEECH_RNNT,
    KITS19_3D_UNET,
    BRATS_3D_UNET,
];

/// Returns all pipelines by name, also those whose code only programs with decoders have.
#[must_use]
pub fn pipeline_names() -> Vec<PipelineName> {
    let entries = inventory::iter::<PipelineEntry>().map(|entry| (entry.name, entry.about));
    let all: BTreeMap<_, _> = entries.chain(ALL.iter().map(|it| (it.name, it.about))).collect();
    all.into_iter().map(|(name, about)| PipelineName { name, about }).collect()
}

const fn named(name: &'static str, about: &'static str) -> PipelineName {
    PipelineName { name, about }
}
