//! Converts texts to vocabulary numbers and back: BERT's tokenizer, SQuAD's features and answers, BPE sentences.
//!
//! A [`Vocabulary`] numbers tokens. [`BertTokenizer`] splits a text into tokens of one. [`Features`] splits the
//! questions and contexts of SQuAD into the rows that BERT reads, and finds the texts that its logits point to.
//! [`BpeVocabulary`] does the same for sentences that are already split into tokens. [`BytePairTokenizer`] splits a
//! text as GPT-2 does, with the vocabulary of a GGUF file.
//!
//! # Where things are
//! - `vocabulary`: tokens by number; `vocabulary_file`: which of two files a folder has, the other being
//!   `tokenizer_json`;
//! - `basic`: the words of a text; `bert`: the pieces that the vocabulary has of them; `unicode`: their characters;
//! - `squad`: questions and contexts as rows, and texts from their logits;
//! - `bpe`: sentences that are already split; `byte_pair`: the tokenizer of decoders such as SmolLM2.
//!
//! # Choices
//! - Questions go in and answers come out as text; the correct answers are read elsewhere. The same features therefore
//!   serve the run, which must not see labels, and the judge of its accuracy.
//! - The tokenizer is our own: the library `tokenizers` does much more, takes longer to build than everything else that
//!   reads data, and does not offer the basic tokenizer alone, which answers need.
//! - Features share the tokens of their paragraph. A row of 384 numbers is made on request.
//!
//! # Example
//! ```
//! use proctor_text::{BertTokenizer, Context, Features, Logits, Question, Vocabulary, Windows};
//!
//! let tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "who", "?", "it", "was", "ad", "##a"];
//! let tokenizer = BertTokenizer::new(Vocabulary::new(tokens.map(str::to_owned).into())?)?;
//! let question = Question { id: "q1".to_owned(), text: "Who?".to_owned() };
//! let context = Context { text: "It was Ada".to_owned(), questions: vec![question] };
//! let features = Features::new(tokenizer, vec![context], Windows::SQUAD);
//!
//! let row: Vec<u32> = features.feature(0).ids().collect();
//! assert_eq!(row, [2, 4, 5, 3, 6, 7, 8, 9, 3]);
//! let mut logits = Logits { start: vec![0.0; row.len()], end: vec![0.0; row.len()] };
//! (logits.start[6], logits.end[7]) = (1.0, 1.0);
//! assert_eq!(features.answer(0, |_| Some(&logits))?, "Ada");
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
//!
//! # Limits
//! Of `tokenizer.json` files, only the uncased BERT one is read, and of GGUF files only those of SmolLM2; any other is
//! refused. Characters that Unicode has assigned since the reference's Python count as what they are now.

#![forbid(unsafe_code)]

mod basic;
mod bert;
mod bpe;
mod byte_pair;
mod squad;
mod tokenizer_json;
mod unicode;
mod vocabulary;
mod vocabulary_file;

pub use basic::basic_tokens;
pub use bert::BertTokenizer;
pub use bpe::{BpeVocabulary, END_OF_SENTENCE, START_OF_SENTENCE, UNKNOWN};
pub use byte_pair::{BytePairError, BytePairTokenizer};
pub use squad::{AnswerError, Candidate, Context, Feature, Features, Logits, LogitsError, Question, Windows};
pub use vocabulary::{Vocabulary, VocabularyError};
pub use vocabulary_file::VocabularyFile;
