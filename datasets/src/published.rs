//! The data sets of MLPerf Inference in the layouts that they are published in, by name. The crate `proctor-published`,
//! which `host-data` alone is linked with, has the readers.

use crate::dataset::{DatasetEntry, Open};

const fn published(name: &'static str) -> DatasetEntry {
    DatasetEntry { name, open: Open::Published }
}

inventory::submit! { published("imagenet") }
inventory::submit! { published("coco") }
inventory::submit! { published("coco-annotated") }
inventory::submit! { published("open-images") }
inventory::submit! { published("wmt") }
inventory::submit! { published("librispeech") }
inventory::submit! { published("squad") }
inventory::submit! { published("kits19") }
inventory::submit! { published("brats") }
inventory::submit! { published("criteo") }
inventory::submit! { published("criteo-multi-hot") }
