//! Untimed preprocessing of pictures: decoding, resizing, cropping and scaling, as the MLPerf references do it.
//!
//! A program that links this crate, by `use proctor_images as _`, finds its pipelines by their names, through
//! [`build_pipeline`](proctor_preprocess::build_pipeline). Each takes the bytes of a JPEG file and makes one tensor,
//! channels first, of the size that the benchmark declares.
//!
//! | pipeline | makes | of pixels |
//! |---|---|---|
//! | `imagenet-vgg` | f32 `[3, n, n]` | short side to 8/7 of n by area, centre crop, less 123.68, 116.78, 103.94 |
//! | `imagenet-mobilenet` | f32 `[3, n, n]` | as above but bilinear, to -1..1 |
//! | `imagenet-torchvision` | f32 `[3, n, n]` | as above but antialiased, less the mean, by the deviation |
//! | `imagenet-tflite` | f32 `[3, n, n]` | bilinear, blue first, less 103.939, 116.779, 123.68 |
//! | `coco-ssd-mobilenet` | u8 `[3, h, w]` | bilinear in f32, cut to integers |
//! | `coco-ssd-mobilenet-pytorch` | f32 `[3, h, w]` | bilinear in f32, to -1..1 |
//! | `coco-ssd-resnet34` | f32 `[3, h, w]` | bilinear in f32, less the mean, by the deviation |
//! | `coco-ssd-resnet34-tf` | f32 `[3, h, w]` | bilinear in f32, less 123.68, 116.78, 103.94 |
//! | `open-images-retinanet` | f32 `[3, h, w]` | bilinear in f32, to 0..1 |
//!
//! # Choices
//! - The bytes are those of the references: of libjpeg-turbo, of OpenCV's resizing and of Pillow's, without any
//!   difference. So are the f32 that OpenCV's own code makes. Where OpenCV takes Intel's library to resize f32, it
//!   differs from its own code: by 0.0063 of a byte at most over 2,000 pictures with sides up to 400. Bytes that are
//!   cut from that may differ by one.
//! - Pixels that a crop drops are not resized, and as far as possible not decoded.
//! - The turn that EXIF asks for is made, as OpenCV makes it when it reads a file.
//! - A pixel is four bytes until the last step, so that its parts lie in one vector.
//!
//! # Speed
//! `host bench data` measures five of the pipelines beside the references' steps in Python; docs/performance.md has the
//! figures. Where a tensor is no larger than its picture, three quarters of the time go into decoding, which takes
//! about as long as in libjpeg-turbo: there the ratio is that of the processors used, and of what a crop leaves out.
//!
//! # Limits
//! JPEG files. Classification takes square tensors.

#![forbid(unsafe_code)]

mod pipelines;
mod resize;

pub use resize::{Method, Resize, Side};
