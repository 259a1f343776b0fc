//! The tokens of texts are those of the library `tokenizers`, with a small vocabulary and with SmolLM2's.

use std::{fs::read_to_string, path::Path};

use proctor_gguf_file::GgufFile;
use proctor_test_needs::{packages, skip};
use proctor_text::BytePairTokenizer;
use serde::Deserialize;

/// A text, and its tokens by the library.
#[derive(Deserialize)]
struct Case {
    text: String,
    tokens: Vec<u32>,
}

#[derive(Deserialize)]
struct Vectors {
    tokens: Vec<String>,
    merges: Vec<String>,
    control: Vec<String>,
    texts: Vec<Case>,
}

#[derive(Deserialize)]
struct Reference {
    tokenizer: Vec<Case>,
}

fn read<T: for<'a> Deserialize<'a>>(path: &str) -> T {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    serde_json::from_str(&read_to_string(path).unwrap()).unwrap()
}

fn check(tokenizer: &BytePairTokenizer, cases: &[Case]) {
    for Case { text, tokens } in cases {
        assert_eq!(tokenizer.ids(text), *tokens, "{text:?}");
    }
}

#[test]
fn a_small_vocabulary_gives_the_tokens_of_the_library() {
    let vectors: Vectors = read("tests/byte_pair/vectors.json");
    assert!(vectors.texts.len() > 50 && vectors.merges.len() > 200);
    check(
        &BytePairTokenizer::new(&vectors.tokens, &vectors.merges, &vectors.control).unwrap(),
        &vectors.texts,
    );
}

#[test]
fn the_vocabulary_of_smollm2_as_published_gives_the_tokens_of_the_library() {
    let root = match packages(&["smollm2-135m"]) {
        Ok(root) => root,
        Err(missing) => return skip(missing),
    };
    let file = GgufFile::open(&root.join("smollm2-135m/SmolLM2-135M-Instruct.Q4_1.gguf")).unwrap();
    let reference: Reference = read("../recipes/reference/smollm2-135m-generate.json");
    check(&BytePairTokenizer::of_file(&file).unwrap(), &reference.tokenizer);
}
