//! Untimed preprocessing of pictures: decoding, resizing, cropping and scaling, as the MLPerf references do it.
//!
//! A program that links this crate with `use proctor_images as _` finds its pipelines by name through
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
//! `image` makes f32 or u8, in either layout, by the steps of a definition's own,
//! [`ImageSteps`](proctor_preprocess::ImageSteps). The pipelines above are such steps with fixed numbers.
//!
//! # Choices
//! - The bytes are exactly those of the references: libjpeg-turbo, OpenCV's resizing and Pillow's. So are the f32
//!   values of OpenCV's own code. If OpenCV uses Intel's library to resize f32, it differs from its own code by at most
//!   0.0063 of a byte over 2,000 pictures with sides up to 400, and bytes cut from that may differ by one.
//! - Pixels outside a crop are not resized and, as far as possible, not decoded.
//! - The EXIF orientation is applied, as OpenCV does when it reads a file.
//! - A pixel is four bytes until the last step, so its components are in one vector.
//!
//! # Speed
//! `host bench data` compares five of the pipelines with the references' steps in Python; docs/performance.md has the
//! figures. If a tensor is no larger than its picture, decoding takes three quarters of the time, about as long as in
//! libjpeg-turbo. The ratio there comes from the processors used and from what a crop leaves out.
//!
//! # Limits
//! Only JPEG files. Classification takes square tensors.

#![forbid(unsafe_code)]

mod pipelines;
mod resize;

pub use resize::{Method, Resize, Side};
