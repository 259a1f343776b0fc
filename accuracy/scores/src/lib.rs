//! Computes the scores of MLPerf Inference from typed values.
//!
//! Each module is a task. It takes boxes, sentences, volumes or rows of numbers and returns its figures; their `line`
//! is the one that the reference script prints. This crate reads no files and no response bytes: `proctor-accuracy`
//! does.
//!
//! | module | score | agrees with |
//! |---|---|---|
//! | [`detection`] | the twelve figures of COCO | pycocotools, to the last bit |
//! | [`translation`] | BLEU of tokens | the script of GNMT |
//! | [`speech`] | word error rate | jiwer, and the script of RNN-T |
//! | [`answers`] | exact match and F1 | the script of SQuAD v1.1, to the last bit |
//! | [`ranking`] | area under the ROC curve | scikit-learn, to 1e-12 |
//! | [`segmentation`] | Dice of KiTS19 and BraTS | their scripts, to the last bit |
//!
//! # Where things are
//! `detection` has `matching` within an image and `average` over categories, `speech` the spelling of transcripts;
//! `rounding` rounds what passes, `interval` says how exact a share is, and `python` has text as the reference's
//! scripts see it.
//!
//! # Choices
//! - Values that the reference would score by accident are errors here, such as a box of NaN, which pycocotools matches
//!   with any other. The caller leaves them out and reports them.
//! - The definitions of the reference are kept, however odd: an annotation of id 0 is never found, and a corpus without
//!   words has an infinite error rate.
//!
//! # Example
//! ```
//! use proctor_scores::speech::WordErrors;
//!
//! let mut errors = WordErrors::default();
//! errors.add("the cat sat", "the cat sat down");
//! assert_eq!(errors.line(), "Word Error Rate: 25.0%, accuracy=75.0%");
//! ```

#![forbid(unsafe_code)]

pub mod answers;
pub mod detection;
mod error;
mod interval;
mod python;
pub mod ranking;
mod rounding;
pub mod segmentation;
pub mod speech;
pub mod translation;

pub use error::ScoreError;
pub use interval::wilson_95;
pub use rounding::{five_figures, reaches, round_to_five_figures};
