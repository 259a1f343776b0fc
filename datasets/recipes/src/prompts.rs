//! The data set `smollm2-prompts`: texts of our own for SmolLM2-135M-Instruct, as the tokens of its chat. See
//! `datasets/smollm2-prompts/README.md`.

use std::borrow::Cow;

use proctor_datasets::{DataRoot, Dataset, DatasetEntry, DatasetError, Open, RawSample};
use proctor_gguf_file::GgufFile;
use proctor_text::{BytePairError, BytePairTokenizer};
use proctor_vocabulary::{ElementType, SampleIndex};
use serde::Deserialize;

const NAME: &str = "smollm2-prompts";
/// The file of the model below a data root, which has the vocabulary.
const MODEL: &str = "smollm2-135m/SmolLM2-135M-Instruct.Q4_1.gguf";
const PROMPTS: &str = include_str!("../../smollm2-prompts/prompts.toml");

inventory::submit! {
    DatasetEntry {
        name: NAME,
        about: "a question or a task for SmolLM2-135M-Instruct, as the tokens of a chat",
        open: Open::Made {
            layout: "\
24 prompts, which come with the program. A run makes tokens of them with the vocabulary in the file of the model:

smollm2-135m/SmolLM2-135M-Instruct.Q4_1.gguf    below the data root
",
            open: |request| Ok(Box::new(SmolLm2Prompts::open(request.root)?)),
        },
    }
}

/// The prompts, as tokens. A sample is i32 `[n]`.
struct SmolLm2Prompts(Vec<Vec<u32>>);

/// The file of prompts.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Prompts {
    system: String,
    prompts: Vec<String>,
}

impl Prompts {
    fn of_project() -> Result<Self, DatasetError> {
        toml::from_str(PROMPTS).map_err(|error| DatasetError::Malformed {
            path: "datasets/smollm2-prompts/prompts.toml".into(),
            reason: error.to_string(),
        })
    }

    /// Returns the text of a prompt as the model was trained to read it.
    fn chat(&self, prompt: &str) -> String {
        format!(
            "<|im_start|>system\n{}<|im_end|>\n<|im_start|>user\n{prompt}<|im_end|>\n<|im_start|>assistant\n",
            self.system
        )
    }
}

impl SmolLm2Prompts {
    fn open(root: &DataRoot) -> Result<Self, DatasetError> {
        let path = root.find(MODEL)?;
        let file = GgufFile::open(&path).map_err(|error| DatasetError::Reader(Box::new(error)))?;
        let tokenizer = BytePairTokenizer::of_file(&file).map_err(|error| match error {
            BytePairError::File(error) => DatasetError::Reader(Box::new(error)),
            other => DatasetError::Malformed { path, reason: other.to_string() },
        })?;
        let prompts = Prompts::of_project()?;
        let samples = prompts.prompts.iter().map(|prompt| tokenizer.ids(&prompts.chat(prompt)));
        Ok(Self(samples.collect()))
    }
}

impl Dataset for SmolLm2Prompts {
    fn name(&self) -> &str {
        NAME
    }

    fn sample_count(&self) -> u64 {
        self.0.len() as u64
    }

    fn read(&self, index: SampleIndex) -> Result<RawSample<'_>, DatasetError> {
        let tokens = usize::try_from(index.0).ok().and_then(|index| self.0.get(index));
        let tokens = tokens.ok_or_else(|| self.no_such_sample(index))?;
        let bytes = tokens.iter().flat_map(|token| token.to_ne_bytes()).collect();
        let shape = Cow::Owned(vec![tokens.len()]);
        Ok(RawSample { element_type: ElementType::I32, shape, bytes: Cow::Owned(bytes) })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proctor_datasets::open_dataset;
    use proctor_test_needs::{packages, skip};

    use super::*;

    fn text(text: &str) -> Vec<u8> {
        [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat()
    }

    fn list(name: &str, kind: u8, items: &[Vec<u8>]) -> Vec<u8> {
        let head = [9, 0, 0, 0, kind, 0, 0, 0];
        [text(name), head.to_vec(), (items.len() as u64).to_le_bytes().to_vec(), items.concat()].concat()
    }

    fn named(name: &str, value: &str) -> Vec<u8> {
        [text(name), vec![8, 0, 0, 0], text(value)].concat()
    }

    /// A data root with a file of this vocabulary, all of whose tokens but the first two are plain.
    fn root(model: &str, tokens: &[&str], kinds: usize) -> (tempfile::TempDir, DataRoot) {
        let kinds = (0..kinds).map(|token| vec![if token < 2 { 3 } else { 1 }, 0, 0, 0]);
        let values = [
            named("tokenizer.ggml.model", model),
            named("tokenizer.ggml.pre", "smollm"),
            list("tokenizer.ggml.tokens", 8, &tokens.iter().map(|token| text(token)).collect::<Vec<_>>()),
            list("tokenizer.ggml.token_type", 5, &kinds.collect::<Vec<_>>()),
            list("tokenizer.ggml.merges", 8, &[text("C e")]),
        ];
        let counts = [0, values.len() as u64].map(u64::to_le_bytes);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(MODEL);
        fs::create_dir(path.parent().unwrap()).unwrap();
        fs::write(&path, [b"GGUF\x03\0\0\0", counts.as_flattened(), &values.concat()].concat()).unwrap();
        let root = DataRoot::new(Some(folder.path()));
        (folder, root)
    }

    const TOKENS: [&str; 8] = ["<|im_start|>", "<|im_end|>", "Ċ", "Y", "C", "e", "Ce", "?"];

    #[test]
    fn a_sample_is_a_prompt_within_the_marks_of_a_chat() {
        let (_folder, root) = root("gpt2", &TOKENS, 8);
        let prompts = open_dataset(NAME, &root).unwrap();
        assert_eq!((prompts.name(), prompts.sample_count()), (NAME, 24));
        let sample = prompts.read(SampleIndex(0)).unwrap();
        let (tokens, _) = sample.bytes.as_chunks();
        let tokens: Vec<i32> = tokens.iter().copied().map(i32::from_ne_bytes).collect();
        assert_eq!((sample.element_type, &*sample.shape), (ElementType::I32, [tokens.len()].as_slice()));
        let without_e: Vec<i32> = tokens.into_iter().filter(|token| *token != 5).collect();
        assert_eq!(without_e, [0, 2, 3, 1, 2, 0, 2, 7, 1, 2, 0, 2], "of the letters, only some are there");
        assert!(matches!(prompts.read(SampleIndex(24)), Err(DatasetError::NoSuchSample { .. })));
    }

    #[test]
    fn a_file_that_is_not_there_or_has_another_tokenizer_is_named() {
        let error = |root: &DataRoot| open_dataset(NAME, root).err().unwrap().to_string();
        let folder = tempfile::tempdir().unwrap();
        let missing = error(&DataRoot::new(Some(folder.path())));
        assert!(missing.starts_with(&format!("\"{MODEL}\" not found in ")), "{missing}");
        for (model, tokens, kinds, words) in [
            ("bert", &TOKENS[..], 8, "its tokenizer.ggml.model is \"bert\", and only \"gpt2\" is known"),
            ("gpt2", &TOKENS[..], 7, "it has 8 tokens and the kinds of 7"),
            ("gpt2", &TOKENS[..4], 4, "its merge \"C e\" is not two tokens"),
        ] {
            let (_folder, root) = root(model, tokens, kinds);
            let error = error(&root);
            assert!(error.contains(MODEL) && error.contains(words), "{error}");
        }
        let (folder, root) = root("gpt2", &TOKENS, 8);
        fs::write(folder.path().join(MODEL), b"GGUF").unwrap();
        assert!(error(&root).contains("is not a GGUF file that can be used"), "{}", error(&root));
    }

    #[test]
    fn the_tokens_of_smollm2_as_published_are_those_of_the_reference() {
        let root = match packages(&["smollm2-135m"]) {
            Ok(root) => root,
            Err(missing) => return skip(missing),
        };
        let prompts = open_dataset(NAME, &DataRoot::new(Some(&root))).unwrap();
        let reference = include_str!("../reference/smollm2-135m-generate.json");
        for index in 0..prompts.sample_count() {
            let sample = prompts.read(SampleIndex(index)).unwrap();
            let (tokens, _) = sample.bytes.as_chunks();
            let tokens: Vec<_> = tokens.iter().map(|token| i32::from_ne_bytes(*token).to_string()).collect();
            let expected = format!("\"prompt\": [{}]", tokens.join(", "));
            assert!(reference.contains(&expected), "sample {index}: {tokens:?}");
        }
    }
}
