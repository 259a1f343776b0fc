//! Scores of MLPerf Inference from typed values.
//!
//! Each module is a task. It takes boxes, sentences, volumes or rows of numbers, gives its figures as a value, and
//! prints them by `line` as the reference's script does. There are no files here and no bytes of responses: those are
//! read by `proctor-accuracy`.
//!
//! | module | score | agrees with |
//! |---|---|---|
//! | [`detection`] | the twelve figures of COCO | pycocotools, to the last bit |
//! | [`translation`] | BLEU of tokens; BLEU of texts | the script of GNMT; sacreBLEU with 13a, to the last bit |
//! | [`speech`] | word error rate | jiwer, and the script of RNN-T |
//! | [`answers`] | exact match and F1 | the script of SQuAD v1.1, to the last bit |
//! | [`ranking`] | area under the ROC curve | scikit-learn, to 1e-12 |
//! | [`segmentation`] | Dice of KiTS19 and BraTS | their scripts, to the last bit |
//!
//! # Choices
//! - Values that the reference would score by accident, such as a box of NaN, which pycocotools matches with any other,
//!   are errors here: the caller leaves them out, and says so.
//! - Where the reference has a definition, however odd, it is kept: an annotation of id 0 is never found, a corpus
//!   without words has an infinite error rate.
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
mod python;
pub mod ranking;
mod rounding;
pub mod segmentation;
pub mod speech;
pub mod translation;

pub use error::ScoreError;
pub use rounding::{five_figures, reaches, round_to_five_figures};
