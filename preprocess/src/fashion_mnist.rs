//! Fashion-MNIST: pixel / 255 as f32.

use crate::{grey::GreyImages, pipeline::PipelineEntry};

const FASHION_MNIST: GreyImages = GreyImages { name: "fashion-mnist", side: 28, white: 255.0 };

inventory::submit! {
    PipelineEntry {
        name: FASHION_MNIST.name,
        about: "28 x 28 picture of clothes, as f32 [28, 28], [1, 28, 28] or [784] from 0 to 1",
        version: 1,
        build: |inputs| FASHION_MNIST.build(inputs),
    }
}
