//! `tokenizer.json`, the file of the library `tokenizers`, as far as an uncased BERT fills it.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;

use crate::{
    bert::{BertTokenizer, CONTINUED, UNKNOWN, WORD_LENGTH_MAX},
    vocabulary::{Vocabulary, VocabularyError},
};

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    normalizer: Value,
    #[serde(default)]
    pre_tokenizer: Value,
    model: Model,
}

#[derive(Deserialize)]
struct Model {
    #[serde(default)]
    r#type: Value,
    #[serde(default)]
    unk_token: Value,
    #[serde(default)]
    continuing_subword_prefix: Value,
    #[serde(default)]
    max_input_chars_per_word: Value,
    vocab: HashMap<String, usize>,
}

impl BertTokenizer {
    /// Reads a `tokenizer.json`.
    ///
    /// # Errors
    /// Returns the fault of the vocabulary, or [`VocabularyError::Kind`] if it does not belong to an uncased BERT.
    pub fn from_tokenizer_json(text: &str) -> Result<Self, VocabularyError> {
        Self::new(read(text)?.of_length(Self::TOKEN_COUNT)?)
    }
}

/// Reads the vocabulary, after ruling out every other kind of tokenizer.
///
/// # Errors
/// [`VocabularyError::Json`], [`VocabularyError::Kind`], or a number that is given twice or never.
fn read(text: &str) -> Result<Vocabulary, VocabularyError> {
    let file: File = serde_json::from_str(text).map_err(|error| VocabularyError::Json(error.to_string()))?;
    let (normalizer, model) = (&file.normalizer, &file.model);
    check("normalizer.type", &normalizer["type"], "BertNormalizer")?;
    for (key, value) in [
        ("normalizer.clean_text", &normalizer["clean_text"]),
        ("normalizer.handle_chinese_chars", &normalizer["handle_chinese_chars"]),
        ("normalizer.lowercase", &normalizer["lowercase"]),
    ] {
        if *value != Value::Bool(true) {
            return Err(VocabularyError::Kind { key, expected: "true", got: value.to_string() });
        }
    }
    let accents = &normalizer["strip_accents"];
    if *accents == Value::Bool(false) {
        let key = "normalizer.strip_accents";
        return Err(VocabularyError::Kind { key, expected: "null or true", got: accents.to_string() });
    }
    check("pre_tokenizer.type", &file.pre_tokenizer["type"], "BertPreTokenizer")?;
    check("model.type", &model.r#type, "WordPiece")?;
    check("model.unk_token", &model.unk_token, UNKNOWN)?;
    check("model.continuing_subword_prefix", &model.continuing_subword_prefix, CONTINUED)?;
    if model.max_input_chars_per_word != WORD_LENGTH_MAX {
        let (key, got) = ("model.max_input_chars_per_word", model.max_input_chars_per_word.to_string());
        return Err(VocabularyError::Kind { key, expected: "100", got });
    }
    by_number(&file.model.vocab)
}

fn check(key: &'static str, value: &Value, expected: &'static str) -> Result<(), VocabularyError> {
    if value == expected {
        Ok(())
    } else {
        Err(VocabularyError::Kind { key, expected, got: value.to_string() })
    }
}

/// Sorts the tokens by their numbers, which are all below their count.
fn by_number(ids: &HashMap<String, usize>) -> Result<Vocabulary, VocabularyError> {
    let mut tokens = vec![""; ids.len()];
    for (token, id) in ids {
        // One number too high, or one twice, leaves a lower one without a token, which is found below.
        if let Some(place) = tokens.get_mut(*id) {
            *place = token;
        }
    }
    Vocabulary::new(tokens.into_iter().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn file() -> Value {
        json!({
            "version": "1.0",
            "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                "strip_accents": null, "lowercase": true},
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                "max_input_chars_per_word": 100, "vocab": {"b": 1, "[UNK]": 0, "##c": 2}},
        })
    }

    #[test]
    fn the_vocabulary_is_read_in_the_order_of_its_numbers() {
        let vocabulary = read(&file().to_string()).unwrap();
        assert_eq!(
            (0..4).map(|id| vocabulary.token(id)).collect::<Vec<_>>(),
            [Some("[UNK]"), Some("b"), Some("##c"), None]
        );
    }

    #[test]
    fn another_tokenizer_is_refused_by_its_key() {
        for (key, value) in [
            ("/normalizer/type", json!("NFC")),
            ("/normalizer/lowercase", json!(false)),
            ("/normalizer/clean_text", json!(false)),
            ("/normalizer/handle_chinese_chars", json!(null)),
            ("/normalizer/strip_accents", json!(false)),
            ("/pre_tokenizer/type", json!("Whitespace")),
            ("/model/type", json!("BPE")),
            ("/model/unk_token", json!("<unk>")),
            ("/model/continuing_subword_prefix", json!("@@")),
            ("/model/max_input_chars_per_word", json!(200)),
        ] {
            let mut file = file();
            *file.pointer_mut(key).unwrap() = value.clone();
            let error = read(&file.to_string()).unwrap_err().to_string();
            let expected = format!("its {} is {value}, but ", key[1..].replace('/', "."));
            assert!(error.starts_with(&expected), "{error}");
        }
    }

    #[test]
    fn numbers_with_a_gap_or_given_twice_are_refused() {
        for (id, empty) in [(3, 2), (1, 2), (0, 2)] {
            let mut file = file();
            file["model"]["vocab"]["##c"] = json!(id);
            assert!(
                matches!(read(&file.to_string()).unwrap_err(), VocabularyError::Empty(at) if at <= empty)
            );
        }
        assert!(matches!(read("{}"), Err(VocabularyError::Json(_))));
        assert!(matches!(read("[UNK]\n[CLS]"), Err(VocabularyError::Json(_))));
    }
}
