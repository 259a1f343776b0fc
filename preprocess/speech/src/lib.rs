//! Untimed preprocessing of speech: from a sound file to the waveform that a model takes.
//!
//! The pipeline `librispeech-rnnt` decodes a WAV or FLAC file of 16 kHz into numbers from -1 to 1, and puts the length
//! of the recording beside them. Features of the waveform are timed work, which belongs to the plugin.
//!
//! # Choices
//! - A program that prepares samples links this crate for its pipelines, which register themselves; the host does not,
//!   so that it needs no decoder.
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
//! No other rate is converted.

#![forbid(unsafe_code)]

mod librispeech_rnnt;

pub use librispeech_rnnt::waveform;
