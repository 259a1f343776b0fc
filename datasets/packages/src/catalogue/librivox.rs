//! Five recordings of LibriVox with their transcripts, which are test data of PocketSphinx.

use super::{Client, Package, Placed, Thing};

static PACKAGE: Package = Package {
    client: Client::Apt,
    name: "pocketsphinx-testdata",
    version: "0.8+5prealpha+1-15",
    bytes: 1_822_580,
    licence: Some("usr/share/doc/pocketsphinx-testdata/copyright"),
};

/// Creates a file of the folder with the recordings.
macro_rules! recorded {
    ($name:literal, $bytes:literal, $sha256:literal) => {
        Placed::taken(
            &PACKAGE,
            &[concat!("usr/share/pocketsphinx/test/data/librivox/", $name)],
            $name,
            $bytes,
            $sha256,
        )
    };
}

pub(super) static THING: Thing = Thing {
    name: "librivox",
    about: "data set: five recordings of a novel read aloud, with transcripts",
    licence: "public domain; package BSD-2-Clause",
    packages: &[&PACKAGE],
    files: &[
        recorded!(
            "sense_and_sensibility_01_austen_64kb-0870.wav",
            227_244,
            "b0557cf95c974d930577e58e46b7f068c432a6e3afcc286563d88922b2a5315c"
        ),
        recorded!(
            "sense_and_sensibility_01_austen_64kb-0880.wav",
            95_724,
            "fbec491ef00ee734a67f0ee318e98c51c157b479e1629ff4f4426861ecac0414"
        ),
        recorded!(
            "sense_and_sensibility_01_austen_64kb-0890.wav",
            169_644,
            "5793ffbdee55fb8bfd284943a6866864c832d9d4accf2661cabd39915c84ee10"
        ),
        recorded!(
            "sense_and_sensibility_01_austen_64kb-0920.wav",
            193_644,
            "40882414ef4cc51f3ff7a63bad0c8c87e7f595ffeb8209fbf756c8ebc5c28a59"
        ),
        recorded!(
            "sense_and_sensibility_01_austen_64kb-0930.wav",
            105_324,
            "954adbf0b56ac8a148cbe77b39ca18d76b5f2a1e1f405565bd786ce3e68a68b7"
        ),
        recorded!("transcription", 634, "4cc29e04a6dcd29242893b3ee20470e50b6ace45f4387bb619e5218145c66f99"),
        recorded!("fileids", 210, "0999d917a5fdb1e1871c1e65f71c6ee3c68f992ac5dcbe011acb9e8455824bba"),
    ],
    with: &[],
};
