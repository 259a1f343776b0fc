//! `librispeech-rnnt`: recordings as numbers from -1 to 1, padded to the length of the model, with their own length.
//!
//! A sample is the bytes of a WAV or FLAC file.

use proctor_datasets::RawSample;
use proctor_preprocess::{Pipeline, PreprocessError, decoded};
use proctor_sound_file::{Format, SoundError, decode};
use proctor_vocabulary::{ElementType, TensorSpec};

const NAME: &str = decoded::LIBRISPEECH_RNNT.name;
/// The least sample becomes -1. The quotient is exact in f32: the divisor is a power of two.
const FULL_SCALE: f32 = 32_768.0;

inventory::submit! { decoded::LIBRISPEECH_RNNT.entry(2, build) }

/// Returns the waveform of a sound file of 16 kHz and one channel.
///
/// # Errors
/// Returns the fault of the file.
pub fn waveform(file: &[u8]) -> Result<Vec<f32>, SoundError> {
    let samples = decode(file, Format::SPEECH)?;
    Ok(samples.into_iter().map(|sample| f32::from(sample) / FULL_SCALE).collect())
}

struct LibrispeechRnnt {
    outputs: [TensorSpec; 2],
}

fn build(inputs: &[TensorSpec]) -> Result<Box<dyn Pipeline>, PreprocessError> {
    match inputs {
        [waveform, length]
            if waveform.element_type == ElementType::F32
                && waveform.shape.len() == 1
                && [ElementType::I32, ElementType::I64].contains(&length.element_type)
                && length.shape == [1] =>
        {
            Ok(Box::new(LibrispeechRnnt { outputs: [waveform.clone(), length.clone()] }))
        }
        _ => {
            let wanted: Vec<_> = inputs.iter().map(TensorSpec::to_string).collect();
            Err(PreprocessError::Outputs {
                pipeline: NAME.to_owned(),
                makes: "f32 of shape [n] for the waveform and i32 or i64 of shape [1] for its length"
                    .to_owned(),
                wanted: if wanted.is_empty() { "nothing".to_owned() } else { wanted.join(", ") },
            })
        }
    }
}

impl Pipeline for LibrispeechRnnt {
    fn outputs(&self) -> &[TensorSpec] {
        &self.outputs
    }

    fn run(&self, sample: &RawSample<'_>, tensors: &mut [&mut [u8]]) -> Result<(), PreprocessError> {
        let [waveform_spec, length_spec] = &self.outputs;
        let [first, second] = tensors else { panic!("two tensors expected, got {}", tensors.len()) };
        assert_eq!(first.len(), waveform_spec.size_bytes(), "size of the waveform in bytes");
        let room = waveform_spec.element_count();
        let refused = |got| PreprocessError::Sample {
            pipeline: NAME.to_owned(),
            reads: format!("a WAV or FLAC file of {} and 1 to {room} samples", Format::SPEECH),
            got,
        };
        if sample.element_type != ElementType::U8 || sample.shape.len() != 1 {
            return Err(refused(format!("{}{:?}", sample.element_type, sample.shape)));
        }
        let waveform = waveform(&sample.bytes).map_err(|error| refused(format!("none ({error})")))?;
        if waveform.is_empty() || waveform.len() > room {
            return Err(refused(format!("one of {} samples", waveform.len())));
        }
        let (values, rest) = first.split_at_mut(4 * waveform.len());
        for (bytes, value) in values.as_chunks_mut().0.iter_mut().zip(&waveform) {
            *bytes = value.to_ne_bytes();
        }
        rest.fill(0);
        match length_spec.element_type {
            // A file in memory has far fewer samples than 2^31.
            ElementType::I32 => {
                second.copy_from_slice(&i32::try_from(waveform.len()).unwrap_or(i32::MAX).to_ne_bytes());
            }
            _ => second.copy_from_slice(&(waveform.len() as i64).to_ne_bytes()),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use proctor_preprocess::build_pipeline;
    use proctor_sound_file::wav;
    use proptest::prelude::*;

    use super::*;

    fn inputs(room: usize, length: ElementType) -> [TensorSpec; 2] {
        let spec =
            |name: &str, element_type, shape| TensorSpec { name: name.to_owned(), element_type, shape };
        [spec("waveform", ElementType::F32, vec![room]), spec("length", length, vec![1])]
    }

    fn sample(file: Vec<u8>) -> RawSample<'static> {
        RawSample {
            element_type: ElementType::U8,
            shape: Cow::Owned(vec![file.len()]),
            bytes: Cow::Owned(file),
        }
    }

    /// The tensors of a file, or the error as text.
    fn run(file: Vec<u8>, room: usize, length: ElementType) -> Result<(Vec<f32>, Vec<u8>), String> {
        let inputs = inputs(room, length);
        let pipeline = build_pipeline(NAME, &inputs).unwrap();
        let (mut waveform, mut count) = (vec![0xff; 4 * room], vec![0xff; inputs[1].size_bytes()]);
        let done = pipeline.run(&sample(file), &mut [&mut waveform, &mut count]);
        done.map_err(|error| error.to_string())?;
        Ok((waveform.as_chunks().0.iter().map(|bytes| f32::from_ne_bytes(*bytes)).collect(), count))
    }

    #[test]
    fn samples_are_parts_of_the_full_scale_and_padded() {
        let file = wav(Format::SPEECH, &[0, 16_384, -32_768, 1]);
        let (waveform, length) = run(file.clone(), 6, ElementType::I64).unwrap();
        assert_eq!(waveform, [0.0, 0.5, -1.0, 1.0 / 32_768.0, 0.0, 0.0]);
        assert_eq!(length, 4_i64.to_ne_bytes());
        assert_eq!(run(file, 4, ElementType::I32).unwrap().1, 4_i32.to_ne_bytes());
    }

    #[test]
    fn longer_and_empty_recordings_and_other_files_are_refused() {
        let error = run(wav(Format::SPEECH, &[0; 5]), 4, ElementType::I32).unwrap_err();
        assert!(error.contains("1 to 4 samples, but the sample is one of 5 samples"), "{error}");
        let error = run(wav(Format::SPEECH, &[]), 4, ElementType::I32).unwrap_err();
        assert!(error.contains("1 to 4 samples, but the sample is one of 0 samples"), "{error}");
        let stereo = Format { channel_count: 2, ..Format::SPEECH };
        let error = run(wav(stereo, &[0; 4]), 4, ElementType::I32).unwrap_err();
        assert!(error.contains("16000 Hz, 2 channels and 16 bits a sample instead of"), "{error}");
        let error = run(b"no sound".to_vec(), 4, ElementType::I32).unwrap_err();
        assert!(error.contains("it is neither a WAV nor a FLAC file"), "{error}");
    }

    #[test]
    fn other_inputs_are_refused_and_named() {
        let error = |inputs: &[TensorSpec]| build_pipeline(NAME, inputs).err().unwrap().to_string();
        assert!(
            error(&inputs(4, ElementType::F32)).contains("the model takes waveform f32[4], length f32[1]")
        );
        let mut other = inputs(4, ElementType::I32);
        other[0].element_type = ElementType::F16;
        assert!(error(&other).contains("waveform f16[4]"));
        assert!(error(&[]).contains("the model takes nothing"));
    }

    proptest! {
        #[test]
        fn every_sample_comes_back_from_its_part_of_the_full_scale(samples in prop::collection::vec(any::<i16>(), 1..50)) {
            let (waveform, _) = run(wav(Format::SPEECH, &samples), 50, ElementType::I32).unwrap();
            let back: Vec<f32> = waveform.iter().map(|value| value * 32_768.0).collect();
            prop_assert!(samples.iter().zip(&back).all(|(sample, back)| f32::from(*sample) == *back));
            prop_assert!(back[samples.len()..].iter().all(|value| *value == 0.0));
        }
    }
}
