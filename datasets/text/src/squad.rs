//! SQuAD v1.1 for BERT: `windows` cut contexts, `features` are the rows that the model reads, `answers` the texts that
//! its logits point to, through the `projection` on the original words.

mod answers;
mod features;
mod projection;
mod windows;

pub use answers::{AnswerError, Candidate, Logits, LogitsError};
pub use features::{Context, Feature, Features, Question};
pub use windows::Windows;
