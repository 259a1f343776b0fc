//! Untimed preprocessing of speech: from a sound file to the waveform that a model takes.
//!
//! The pipeline `librispeech-rnnt` decodes a 16 kHz WAV or FLAC file into numbers from -1 to 1, and adds the length of
//! the recording. Computing features of the waveform is timed work, which belongs to the plugin.
//!
//! # Choices
//! - A program that prepares samples links this crate for its pipelines, which register themselves. The host does not,
//!   so it needs no decoder.
//!
//! # Example
//! ```
//! use proctor_speech as _;
//! use proctor_preprocess::build_pipeline;
//! use proctor_vocabulary::{ElementType, TensorSpec};
//!
//! let waveform = TensorSpec { name: "waveform".into(), element_type: ElementType::F32, shape: vec![240_000] };
//! let length = TensorSpec { name: "length".into(), element_type: ElementType::I64, shape: vec![1] };
//! assert_eq!(build_pipeline("librispeech-rnnt", &[waveform, length])?.outputs().len(), 2);
//! # Ok::<_, proctor_preprocess::PreprocessError>(())
//! ```
//!
//! # Limits
//! Other rates are not converted.

#![forbid(unsafe_code)]

mod librispeech_rnnt;

pub use librispeech_rnnt::waveform;
