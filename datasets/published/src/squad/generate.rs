//! A small set of questions whose answers are in the context.

use std::path::Path;

use proctor_datasets::DatasetError;
use proctor_recipes::Stream;
use proctor_text::{BertTokenizer, VocabularyFile, basic_tokens};
use serde_json::{Value, json};

use crate::{
    generate::{Generate, write_file},
    squad::{QUESTIONS, VERSION},
};

/// Subjects and owners of facts: no two facts of a context are about the same pair.
const THINGS: [&str; 12] = [
    "river",
    "bridge",
    "market",
    "garden",
    "library",
    "harbour",
    "tower",
    "school",
    "theatre",
    "forest",
    "lighthouse",
    "observatory",
];
const OWNERS: [&str; 12] = [
    "Ada", "Alan", "Grace", "Edsger", "Barbara", "Donald", "Frances", "Niklaus", "Antonín", "Łucja", "Zoë",
    "Søren",
];
/// Answers that test the losses of a tokenizer on the way back: case, accents, punctuation and figures.
const VALUES: [&str; 16] = [
    "12 April 1843",
    "Café Noir",
    "São Tomé",
    "$1,200",
    "blue and gold",
    "Jean-Luc's brother",
    "(unknown)",
    "42",
    "St. Gallen",
    "the old mill",
    "3.5 km",
    "“The Swan”",
    "Dvořák",
    "Nova Scotia",
    "rock'n'roll",
    "half past nine",
];
/// Words of all sentences.
const OTHERS: &str = "what is the of ? . it in which town every one knows that";
/// Maximum number of facts of a short context.
const FACTS_SHORT: u32 = 12;
/// Words and punctuation, beyond which a long context has no further fact. With the pieces of its words it then takes
/// two windows: more tokens than the 373 or fewer that one has room for, and less than the 501 that two have.
const LONG: usize = 400;
/// Minimum number of facts that a long context has.
const FACTS_LONG: u32 = 28;
/// Number of questions from one on a long context to the next.
const LONG_EVERY: u64 = 5;

/// The special tokens, at their places in the published vocabulary.
const SPECIAL: [&str; 4] = ["[UNK]", "[CLS]", "[SEP]", "[MASK]"];
/// Number of tokens without use between the first and the special ones.
const UNUSED_COUNT: usize = 99;

/// Makes a small set in the layout of the published one, with its own vocabulary. Equal requests make equal bytes.
///
/// The known answer: a context is a list of facts, `The river of Ada is 42.`, no two about the same pair, and a
/// question asks for one of them, `What is the river of Ada?`. The answer is the text between `is` and the full stop of
/// the fact. About one question in five is on a context of two windows and has two samples.
///
/// # Errors
/// If the folder is not empty, or cannot be written.
pub fn generate(folder: &Path, request: &Generate) -> Result<(), DatasetError> {
    request.begin(folder)?;
    let stream = Stream::new(request.seed, "squad");
    let (mut paragraphs, mut made) = (Vec::new(), 0);
    for number in 0.. {
        let left = request.sample_count - made;
        if left == 0 {
            break;
        }
        let is_long = left > 1 && number % LONG_EVERY == LONG_EVERY - 1;
        paragraphs.push(paragraph(stream.of_sample(number), is_long));
        made += if is_long { 2 } else { 1 };
    }
    let file = json!({"data": [{"title": "Generated", "paragraphs": paragraphs}], "version": VERSION});
    write_file(&folder.join(QUESTIONS), file.to_string().as_bytes())?;
    write_file(&folder.join(VocabularyFile::Lines.name()), vocabulary().as_bytes())
}

/// Returns a context with one question.
fn paragraph(stream: Stream, is_long: bool) -> Value {
    let fact_count = if is_long { FACTS_LONG } else { 1 + stream.below(0, FACTS_SHORT) };
    let ends = |fact, context: &str| fact >= fact_count && (!is_long || basic_tokens(context).len() > LONG);
    let asked = stream.below(1, fact_count);
    // Steps that share no factor with the number of pairs meet each of them once.
    let pair_count = (THINGS.len() * OWNERS.len()) as u32;
    let first = stream.below(2, pair_count);
    let (mut context, mut qas) = (String::new(), Value::Null);
    let mut facts = 0..;
    while let Some(fact) = facts.next().filter(|fact| !ends(*fact, &context)) {
        let pair = ((first + fact * 7) % pair_count) as usize;
        let (thing, owner) = (THINGS[pair % THINGS.len()], OWNERS[pair / THINGS.len()]);
        let value = VALUES[stream.below(3 + u64::from(fact), VALUES.len() as u32) as usize];
        context.push_str(&format!("The {thing} of {owner} is "));
        if fact == asked {
            let id = format!("{:016x}{:08x}", stream.bits(100), stream.bits(101) >> 32);
            let answer = json!({"answer_start": context.chars().count(), "text": value});
            let question = format!("What is the {thing} of {owner}?");
            qas = json!([{"answers": [answer], "question": question, "id": id}]);
        }
        context.push_str(&format!("{value}. "));
    }
    json!({"context": context.trim_end(), "qas": qas})
}

/// Returns a vocabulary of the published length that has all words above, some of them in pieces.
fn vocabulary() -> String {
    let text = [OTHERS, &THINGS.join(" "), &OWNERS.join(" "), &VALUES.join(" ")].join(" ");
    let mut words: Vec<String> = basic_tokens(&text);
    words.sort_unstable();
    words.dedup();
    let mut tokens = vec!["[PAD]".to_owned()];
    tokens.extend((0..UNUSED_COUNT).map(|number| format!("[unused{number}]")));
    tokens.extend(SPECIAL.map(str::to_owned));
    for word in words {
        let length = word.chars().count();
        // Long words are cut in two, all others are there as a whole.
        let cut = if length > 7 { length / 2 } else { length };
        let (head, tail): (String, String) =
            (word.chars().take(cut).collect(), word.chars().skip(cut).collect());
        tokens.push(head);
        if !tail.is_empty() {
            tokens.push(format!("##{tail}"));
        }
    }
    let mut unused = UNUSED_COUNT..;
    while tokens.len() < BertTokenizer::TOKEN_COUNT {
        let number = unused.next().unwrap_or_default();
        tokens.push(format!("[unused{number}]"));
    }
    tokens.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proctor_text::Logits;

    use super::*;
    use crate::squad::open;

    #[test]
    fn equal_requests_make_equal_bytes_and_other_seeds_other_questions() {
        let make = |seed| {
            let folder = tempfile::tempdir().unwrap();
            generate(folder.path(), &Generate { seed, sample_count: 12 }).unwrap();
            [QUESTIONS, VocabularyFile::Lines.name()].map(|name| fs::read(folder.path().join(name)).unwrap())
        };
        let first = make(1);
        assert!(first == make(1));
        assert_ne!(first[0], make(2)[0]);
    }

    #[test]
    fn every_answer_is_between_is_and_the_full_stop_and_comes_back_from_its_positions() {
        let folder = tempfile::tempdir().unwrap();
        generate(folder.path(), &Generate { seed: 3, sample_count: 300 }).unwrap();
        let file: Value =
            serde_json::from_str(&fs::read_to_string(folder.path().join(QUESTIONS)).unwrap()).unwrap();
        let squad = open(folder.path()).unwrap();
        let features = squad.features();
        let paragraphs = file["data"][0]["paragraphs"].as_array().unwrap();
        assert_eq!(features.questions().len(), paragraphs.len());
        for (number, paragraph) in paragraphs.iter().enumerate() {
            let (context, asked) = (paragraph["context"].as_str().unwrap(), &paragraph["qas"][0]);
            let (answer, question) =
                (asked["answers"][0]["text"].as_str().unwrap(), asked["question"].as_str().unwrap());
            let subject = question.strip_prefix("What is the ").unwrap().trim_end_matches('?');
            assert_eq!(context.matches(&format!("The {subject} is {answer}.")).count(), 1, "{context}");
            assert_eq!(context.matches(&format!("The {subject} is")).count(), 1, "{context}");
            let start = asked["answers"][0]["answer_start"].as_u64().unwrap() as usize;
            assert!(context.chars().skip(start).collect::<String>().starts_with(answer));

            let sure = |row: usize| {
                let feature = features.feature(row);
                let mut logits =
                    Logits { start: vec![0.0; feature.token_count()], end: vec![0.0; feature.token_count()] };
                let (first, last) = features.positions_of(row, answer)?;
                (logits.start[first], logits.end[last]) = (1.0, 1.0);
                Some(logits)
            };
            let logits: Vec<_> = features.rows_of(number).map(|row| (row, sure(row))).collect();
            let of_row = |row| logits.iter().find(|(other, _)| *other == row)?.1.as_ref();
            assert_eq!(features.answer(number, of_row).unwrap(), answer, "{question}");
        }
    }
}
