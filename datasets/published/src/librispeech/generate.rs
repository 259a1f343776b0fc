//! A small set of recordings that spell their transcripts in tones.

use std::path::Path;

use proctor_datasets::{DatasetError, librispeech::MANIFEST};
use proctor_recipes::Stream;
use proctor_sound_file::{Format, wav};
use serde_json::{Value, json};

use crate::generate::{Generate, make_folder, write_file};

/// Characters of a transcript, the label of each its place.
const LABELS: &[u8; 28] = b" abcdefghijklmnopqrstuvwxyz'";
/// Frequency of the tone of the first label, and the distance between the tones of neighbouring labels.
const FIRST_HZ: u32 = 400;
const STEP_HZ: u32 = 120;
/// Number of samples of a character: a tenth of a second, a tenth of it silent.
const CHARACTER_SAMPLES: usize = 1600;
const SILENT_SAMPLES: usize = 160;
/// Loudness of a tone.
const AMPLITUDE: i64 = 8000;
/// Maximum number of words of a transcript, and of letters of a word; with spaces they fit into the 15 s of a
/// recording.
const WORDS_MAX: u32 = 14;
const LETTERS_MAX: u32 = 9;

/// Makes a small set in the layout of the published one, of WAV files. Equal requests make equal bytes.
///
/// The known answer: each character of a transcript is a tone of a tenth of a second, of 400 Hz for a space, 520 Hz for
/// `a` and so on in steps of 120 Hz up to 3640 Hz for the apostrophe. A transcript has 1 to 14 words of 1 to 9 letters.
///
/// # Errors
/// If the folder is not empty, or cannot be written.
pub fn generate(folder: &Path, request: &Generate) -> Result<(), DatasetError> {
    request.begin(folder)?;
    let stream = Stream::new(request.seed, "librispeech");
    let mut manifest = Vec::new();
    for number in 0..request.sample_count {
        // Speaker, chapter and number, as the published recordings have them.
        let (speaker, chapter) = (number / 20, 1000 + number / 5);
        let below = format!("dev-clean-wav/{speaker}/{chapter}");
        let name = format!("{below}/{speaker}-{chapter}-{:04}.wav", number % 5);
        make_folder(&folder.join(&below))?;
        let transcript = transcript(stream.of_sample(number));
        let samples = samples(&transcript);
        write_file(&folder.join(&name), &wav(Format::SPEECH, &samples))?;
        manifest.push(entry(&name, &transcript, samples.len()));
    }
    let manifest = format!("{:#}\n", Value::Array(manifest));
    write_file(&folder.join(MANIFEST), manifest.as_bytes())
}

/// Returns words of letters and apostrophes.
pub(crate) fn transcript(stream: Stream) -> String {
    let word = |number: u32| {
        let stream = stream.of_sample(number.into());
        let letters = 1 + stream.below(0, LETTERS_MAX);
        // A letter or the apostrophe, which cannot stand at either end of a word.
        let letter = |at: u32| {
            let inner = at > 0 && at + 1 < letters;
            let label = 1 + stream.below(1 + u64::from(at), if inner { 27 } else { 26 });
            char::from(LABELS[label as usize])
        };
        (0..letters).map(letter).collect::<String>()
    };
    let words: Vec<_> = (0..1 + stream.below(0, WORDS_MAX)).map(word).collect();
    words.join(" ")
}

/// Returns a tone for each character.
pub(crate) fn samples(transcript: &str) -> Vec<i16> {
    let mut samples = Vec::with_capacity(transcript.len() * CHARACTER_SAMPLES);
    for character in transcript.bytes() {
        let label =
            LABELS.iter().position(|label| *label == character).expect("a transcript is made of labels");
        let hz = FIRST_HZ + STEP_HZ * u32::try_from(label).expect("there are 28 labels");
        samples.extend((0..CHARACTER_SAMPLES - SILENT_SAMPLES).map(|at| tone(hz, at)));
        samples.resize(samples.len() + SILENT_SAMPLES, 0);
    }
    samples
}

/// Returns a sample of a tone: a parabola for each half of its wave, in integers, which are the same on any machine.
fn tone(hz: u32, at: usize) -> i16 {
    const TURN: u64 = 1 << 32;
    let phase = at as u64 * u64::from(hz) * TURN / u64::from(Format::SPEECH.rate_hz) % TURN;
    // From -1/2 to 1/2 of a turn, in units of 2^-32.
    let phase = phase as i64 - (TURN / 2) as i64;
    let height = (4 * phase * ((1 << 31) - phase.abs())) >> 31;
    ((height * AMPLITUDE) >> 31).clamp(-AMPLITUDE, AMPLITUDE) as i16
}

/// Returns the entry of a recording, with the keys of the published manifest.
fn entry(name: &str, transcript: &str, sample_count: usize) -> Value {
    let rate = Format::SPEECH.rate_hz;
    let duration = sample_count as f64 / f64::from(rate);
    json!({
        "transcript": transcript,
        "files": [{
            "channels": 1,
            "sample_rate": f64::from(rate),
            "bitrate": 16,
            "duration": duration,
            "num_samples": sample_count,
            "encoding": "Signed Integer PCM",
            "silent": false,
            "fname": name,
            "speed": 1,
        }],
        "original_duration": duration,
        "original_num_samples": sample_count,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proctor_datasets::Dataset;
    use proctor_sound_file::decode;
    use proctor_vocabulary::SampleIndex;

    use super::*;
    use crate::librispeech::open;

    #[test]
    fn equal_requests_make_equal_bytes_and_other_seeds_other_recordings() {
        let make = |seed| {
            let folder = tempfile::tempdir().unwrap();
            generate(folder.path(), &Generate { seed, sample_count: 7 }).unwrap();
            let speech = open(folder.path()).unwrap();
            let files = (0..7).map(|index| speech.read(SampleIndex(index)).unwrap().bytes.into_owned());
            (fs::read(folder.path().join(MANIFEST)).unwrap(), files.collect::<Vec<_>>())
        };
        let first = make(1);
        assert!(first == make(1));
        assert_ne!(first.0, make(2).0);
    }

    #[test]
    fn the_tones_spell_the_transcript() {
        let folder = tempfile::tempdir().unwrap();
        generate(folder.path(), &Generate { seed: 3, sample_count: 30 }).unwrap();
        let manifest: Value =
            serde_json::from_str(&fs::read_to_string(folder.path().join(MANIFEST)).unwrap()).unwrap();
        let speech = open(folder.path()).unwrap();
        assert_eq!(speech.sample_count(), 30, "none is too long");
        for (index, entry) in manifest.as_array().unwrap().iter().enumerate() {
            let samples =
                decode(&speech.read(SampleIndex(index as u64)).unwrap().bytes, Format::SPEECH).unwrap();
            let heard: String = samples.chunks(CHARACTER_SAMPLES).map(heard).collect();
            assert_eq!(heard, entry["transcript"].as_str().unwrap());
        }
    }

    /// The character of a tone, by how often it crosses zero upwards.
    fn heard(samples: &[i16]) -> char {
        let crossings = samples.windows(2).filter(|pair| pair[0] < 0 && pair[1] >= 0).count();
        let hz = crossings as f64 * 16_000.0 / (CHARACTER_SAMPLES - SILENT_SAMPLES) as f64;
        let label = (hz - f64::from(FIRST_HZ)) / f64::from(STEP_HZ);
        char::from(LABELS[label.round() as usize])
    }
}
