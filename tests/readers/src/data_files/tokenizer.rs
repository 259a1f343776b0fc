//! Vocabularies, as lines and as JSON, and the texts that are cut by them.

use proctor_text::{BertTokenizer, BpeVocabulary, Vocabulary, basic_tokens};

/// Checks the readers of vocabularies: each token has one number, and a vocabulary that is written and read again is
/// the same. The file, taken for a text, is cut into words that are cut no further, and into tokens of the vocabulary.
///
/// # Panics
/// If an invariant does not hold.
pub fn check_tokenizer(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Err(error) = BertTokenizer::from_tokenizer_json(&text) {
        assert!(!error.to_string().is_empty());
    }
    if let Err(error) = BpeVocabulary::from_lines(&text) {
        assert!(!error.to_string().is_empty());
    }
    let words = basic_tokens(&text);
    assert!(words.iter().all(|word| !word.is_empty() && basic_tokens(word) == [word.as_str()]));
    let Ok(vocabulary) = Vocabulary::from_lines(&text) else { return };
    let count = u32::try_from(vocabulary.len()).expect("a file in memory has fewer lines than 2^32");
    let tokens: Vec<&str> = (0..count).filter_map(|id| vocabulary.token(id)).collect();
    assert_eq!((tokens.len(), vocabulary.token(count)), (vocabulary.len(), None));
    assert!((0..count).zip(&tokens).all(|(id, token)| vocabulary.id(token) == Some(id)));
    let again = Vocabulary::from_lines(&(tokens.join("\n") + "\n")).expect("it was read before");
    assert!((0..count).all(|id| again.token(id) == vocabulary.token(id)));
    if let Ok(tokenizer) = BertTokenizer::new(vocabulary) {
        assert!(tokenizer.tokenize(&text).iter().all(|id| *id < count));
    }
}
