//! The search against all sequences there are, on vocabularies that allow it.

use super::*;

const END: i32 = 1;
const START: i32 = 0;

/// A model whose next word depends on the whole text by a hash: as unlike a smooth one as can be.
struct Hashed {
    vocabulary: usize,
    places: usize,
    /// Text of each row of the last step, and of the step before.
    texts: Vec<Vec<i32>>,
    logits: Vec<Vec<f32>>,
    attention: Vec<Vec<f32>>,
}

fn hashed(text: &[i32], sequence: usize, salt: u64) -> f32 {
    let seed = 0xCBF2_9CE4_8422_2325 ^ salt ^ (sequence as u64) << 40;
    let hash = text
        .iter()
        .fold(seed, |hash, word| (hash ^ u64::from(word.cast_unsigned())).wrapping_mul(0x100_0000_01B3));
    let hash = (hash ^ hash >> 29).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (hash >> 40) as f32 / (1 << 22) as f32
}

impl Hashed {
    fn new(vocabulary: usize, places: usize) -> Self {
        Self { vocabulary, places, texts: vec![], logits: vec![], attention: vec![] }
    }

    /// Scores of the words after a text that begins with the start.
    fn logits_after(&self, text: &[i32], sequence: usize) -> Vec<f32> {
        (0..self.vocabulary).map(|word| hashed(text, sequence, word as u64)).collect()
    }

    fn attention_after(&self, text: &[i32], sequence: usize) -> Vec<f32> {
        let scores: Vec<f32> =
            (0..self.places).map(|place| hashed(text, sequence, 1000 + place as u64) + 0.1).collect();
        let sum: f32 = scores.iter().sum();
        scores.iter().map(|score| score / sum).collect()
    }
}

impl Scorer for Hashed {
    type Error = ();

    fn step(&mut self, rows: &[Row]) -> Result<(), ()> {
        let text = |row: &Row| {
            let mut text = row.parent.map_or(vec![], |parent| self.texts[parent].clone());
            text.push(row.word);
            text
        };
        self.texts = rows.iter().map(text).collect();
        let of = |row: usize| (self.texts[row].as_slice(), rows[row].sequence);
        self.logits = (0..rows.len()).map(|row| self.logits_after(of(row).0, of(row).1)).collect();
        self.attention = (0..rows.len()).map(|row| self.attention_after(of(row).0, of(row).1)).collect();
        Ok(())
    }

    fn logits(&self, row: usize) -> &[f32] {
        &self.logits[row]
    }

    fn attention(&self, row: usize) -> &[f32] {
        &self.attention[row]
    }
}

/// Every sequence of at most `steps` words, with its final rank, by the formulas alone: ended ones with their
/// penalties, and those that fill all steps without an end.
fn all(model: &Hashed, options: &BeamOptions, sequence: usize, steps: usize) -> Vec<(Vec<i32>, f64)> {
    let mut found = Vec::new();
    let mut open = vec![(vec![START], 0.0, vec![0.0_f64; model.places])];
    for step in 1..=steps {
        let mut longer = Vec::new();
        for (text, total, coverage) in open {
            let logits = model.logits_after(&text, sequence);
            let sum: f64 = logits.iter().map(|logit| f64::from(*logit).exp()).sum();
            let seen = model.attention_after(&text, sequence);
            let coverage: Vec<f64> =
                coverage.iter().zip(seen).map(|(sum, weight)| sum + f64::from(weight)).collect();
            for (word, logit) in (0..).zip(&logits) {
                let total = total + f64::from(*logit) - sum.ln();
                let length = |count: usize| ((5.0 + count as f64) / 6.0).powf(options.length_weight);
                if word == END {
                    let covered: f64 = coverage.iter().map(|sum| sum.min(1.0).ln()).sum();
                    // Kept for later steps, where the end counts; in the last step it does not yet.
                    let rank = if step == steps {
                        total / length(step - 1)
                    } else {
                        total / length(step) + options.coverage_weight * covered
                    };
                    found.push((text[1..].to_vec(), rank));
                } else {
                    let mut text = text.clone();
                    text.push(word);
                    if step == steps {
                        found.push((text[1..].to_vec(), total / length(step)));
                    }
                    longer.push((text, total, coverage.clone()));
                }
            }
        }
        open = longer;
    }
    found
}

fn found(model: &mut Hashed, options: BeamOptions, sequences: usize, steps: usize) -> Vec<Vec<i32>> {
    let mut beams: Vec<Beam> = (0..sequences).map(|_| Beam::new(options, steps, model.places)).collect();
    beams.iter_mut().for_each(|beam| beam.restart(steps, model.places));
    search(model, &mut beams, &mut Vec::new(), |_| ()).unwrap();
    beams.iter_mut().map(|beam| beam.text().to_vec()).collect()
}

fn options(width: usize, length_weight: f64, coverage_weight: f64) -> BeamOptions {
    BeamOptions { width, start: START, end: END, length_weight, coverage_weight }
}

#[test]
fn a_wide_beam_finds_the_best_of_all_sequences() {
    let sequences = 12;
    for (length_weight, coverage_weight) in [(0.0, 0.0), (1.0, 0.0), (0.6, 0.1), (2.0, 0.5)] {
        for (vocabulary, steps) in [(3, 4), (4, 3), (2, 5)] {
            let options = options(200, length_weight, coverage_weight);
            let mut model = Hashed::new(vocabulary, 3);
            let texts = found(&mut model, options, sequences, steps);
            for (sequence, text) in texts.iter().enumerate() {
                let mut list = all(&model, &options, sequence, steps);
                list.sort_by(|a, b| b.1.total_cmp(&a.1));
                assert_eq!(
                    text, &list[0].0,
                    "{vocabulary} {steps} {length_weight} {coverage_weight} {list:?}"
                );
            }
        }
    }
}

#[test]
fn a_beam_of_one_is_greedy() {
    let mut model = Hashed::new(7, 0);
    for (sequence, text) in found(&mut model, options(1, 0.0, 0.0), 6, 8).iter().enumerate() {
        let mut expected = vec![START];
        for _ in 0..8 {
            let logits = model.logits_after(&expected, sequence);
            let word =
                (0..7).reduce(|best, word| if logits[word] > logits[best] { word } else { best }).unwrap();
            if word as i32 == END {
                break;
            }
            expected.push(word as i32);
        }
        assert_eq!(text, &expected[1..]);
    }
}

#[test]
fn a_sequence_does_not_depend_on_the_others() {
    let options = options(4, 0.6, 0.1);
    let mut model = Hashed::new(50, 4);
    let together = found(&mut model, options, 5, 9);
    let mut beam = Beam::new(options, 9, 4);
    for (sequence, text) in together.iter().enumerate() {
        // Alone, at the same place of the batch: the others have no steps.
        let mut beams: Vec<Beam> = (0..sequence).map(|_| Beam::new(options, 0, 4)).collect();
        beams.iter_mut().for_each(|beam| beam.restart(0, 4));
        beam.restart(9, 4);
        beams.push(beam);
        search(&mut model, &mut beams, &mut Vec::new(), |_| ()).unwrap();
        beam = beams.pop().unwrap();
        assert_eq!(beam.text(), *text);
    }
}

#[test]
fn no_steps_are_an_empty_text() {
    let mut model = Hashed::new(5, 1);
    assert_eq!(found(&mut model, options(3, 1.0, 0.0), 2, 0), [vec![0; 0], vec![]]);
}

#[test]
fn many_words_are_searched_as_few() {
    // A vocabulary of many pieces, against the plain order of all candidates of two steps.
    let options = options(5, 0.0, 0.0);
    let mut model = Hashed::new(300, 0);
    let text = found(&mut model, options, 1, 1).remove(0);
    let logits = model.logits_after(&[START], 0);
    let best = (0..300).reduce(|best, word| if logits[word] > logits[best] { word } else { best }).unwrap();
    assert_eq!(text, if best as i32 == END { vec![] } else { vec![best as i32] });
}

#[test]
fn the_first_word_is_told_once_as_soon_as_all_hypotheses_begin_with_it() {
    let steps = 9;
    let mut told_early = 0;
    for (width, sequence) in [1, 2, 4].into_iter().flat_map(|width| (0..30).map(move |it| (width, it))) {
        let mut model = Hashed::new(9, 0);
        let mut beam = Beam::new(options(width, 0.6, 0.0), steps, 0);
        beam.restart(steps, 0);
        let mut told: Vec<(usize, i32)> = Vec::new();
        for step in 0.. {
            let rows: Vec<_> = beam.live().map(|(parent, word)| Row { sequence, parent, word }).collect();
            if beam.is_done() {
                break;
            }
            model.step(&rows).unwrap();
            // The texts behind the start, as the model is asked to go on with them.
            let mut firsts = model.texts.iter().filter_map(|text| text.get(1));
            let first = firsts.next();
            if !firsts.all(|other| Some(other) == first) {
                assert_eq!(told, [], "{width} {sequence}: told while there are others");
            }
            beam.advance(0, |row| model.logits(row), |row| model.attention(row));
            told.extend(beam.take_first_word().map(|word| (step, word)));
        }
        let expected: Vec<i32> = beam.text().first().copied().into_iter().collect();
        assert_eq!(told.iter().map(|(_, word)| *word).collect::<Vec<_>>(), expected, "{width} {sequence}");
        if let [(step, _)] = told[..] {
            told_early += usize::from(step + 1 < beam.text().len());
            assert!(width > 1 || step == 0, "a beam of one has no other hypothesis");
        }
    }
    assert!(told_early > 30, "{told_early} of 90 texts went on after their first word was told");
}

#[test]
fn a_search_tells_of_each_sequence_with_words_once() {
    let mut model = Hashed::new(4, 0);
    let mut beams: Vec<Beam> = (0..40).map(|_| Beam::new(options(3, 1.0, 0.0), 6, 0)).collect();
    beams.iter_mut().enumerate().for_each(|(index, beam)| beam.restart(index % 7, 0));
    let mut told = Vec::new();
    search(&mut model, &mut beams, &mut Vec::new(), |sequence| told.push(sequence)).unwrap();
    told.sort_unstable();
    let with_words: Vec<usize> = (0..40).filter(|index| !beams[*index].text().is_empty()).collect();
    assert_eq!(told, with_words);
    assert!((10..34).contains(&told.len()), "some sequences have words and some have none");
}
