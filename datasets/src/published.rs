//! The data sets of MLPerf Inference in the layouts that they are published in, and photographs, by name. The crate
//! `proctor-published`, which `host-data` alone is linked with, has the readers.

use crate::dataset::{DatasetEntry, Open};

const fn published(name: &'static str, about: &'static str) -> DatasetEntry {
    DatasetEntry { name, about, open: Open::Published { folder: name } }
}

inventory::submit! { published("imagenet", "one of the 50,000 validation images of ImageNet") }
inventory::submit! { published("coco", "one of the 5,000 validation images of COCO 2017") }
inventory::submit! { published("coco-annotated", "one of the 4,952 of these with annotations") }
inventory::submit! { published("open-images", "one of MLPerf's 24,781 images of Open Images") }
inventory::submit! { published("photographs", "a photograph of a folder, with a class of ImageNet") }
inventory::submit! {
    DatasetEntry {
        name: "photographs-boxes",
        about: "a photograph of a folder, with boxes of COCO's categories",
        open: Open::Published { folder: "photographs" },
    }
}
inventory::submit! { published("wmt", "a sentence of newstest2014") }
inventory::submit! { published("librispeech", "a recording of dev-clean of up to 15 s") }
inventory::submit! { published("librivox", "one of five recordings of a reading, of up to 7 s") }
inventory::submit! { published("squad", "a row of up to 384 tokens of a question and its context") }
inventory::submit! { published("kits19", "a scan of the abdomen, one of 43 cases") }
inventory::submit! { published("brats", "a brain in four modalities, one of 67 cases") }
inventory::submit! { published("criteo", "some hundred rows of day 23") }
inventory::submit! { published("criteo-multi-hot", "some hundred rows of day 23, as arrays") }
