//! Chooses the next word: greedy, or by a beam.
//!
//! A search holds the texts of one prompt. It is given the logits after each of them, and says which word each is to be
//! fed, and which text it continues from.

use candle_core::{Result, bail};

/// Limits shared by all searches of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    /// Maximum number of words of an answer.
    pub tokens_max: usize,
    /// The word that ends a text. It is not taken as the first one, so that each answer has two words or more and there
    /// is a time per word.
    pub end: u32,
}

/// A search in progress.
#[derive(Debug)]
pub(super) enum BeamSearch {
    Greedy(Greedy),
    Beam(Beam),
}

impl BeamSearch {
    pub(super) fn new(width: usize, limits: Limits) -> Self {
        if width == 1 { Self::Greedy(Greedy::new(limits)) } else { Self::Beam(Beam::new(width, limits)) }
    }

    /// Takes the logits after each text, `[text, word]`; there is one text at first.
    pub(super) fn advance(&mut self, logits: &[f32]) -> Result<()> {
        match self {
            Self::Greedy(greedy) => greedy.advance(logits),
            Self::Beam(beam) => beam.advance(logits),
        }
    }

    pub(super) fn is_done(&self) -> bool {
        match self {
            Self::Greedy(greedy) => greedy.is_done(),
            Self::Beam(beam) => beam.is_done(),
        }
    }

    /// Returns for each text the text that it continues, and the word to feed.
    pub(super) fn next(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let (greedy, beam) = match self {
            Self::Greedy(greedy) => (greedy.tokens.last().map(|token| (0, *token)), None),
            Self::Beam(beam) => (None, Some(beam.next())),
        };
        greedy.into_iter().chain(beam.into_iter().flatten())
    }

    /// Returns the first word of the answer, as soon as no other is possible.
    pub(super) fn first_token(&self) -> Option<u32> {
        match self {
            Self::Greedy(greedy) => greedy.tokens.first().copied(),
            Self::Beam(beam) => beam.first_token(),
        }
    }

    /// Returns the answer, if the search is done.
    pub(super) fn tokens(&self) -> &[u32] {
        match self {
            Self::Greedy(greedy) => &greedy.tokens,
            Self::Beam(beam) => beam.best(),
        }
    }
}

/// Takes the word with the largest logit, the first of equals.
#[derive(Debug)]
pub(super) struct Greedy {
    limits: Limits,
    tokens: Vec<u32>,
}

impl Greedy {
    pub(super) fn new(limits: Limits) -> Self {
        Self { limits, tokens: Vec::with_capacity(limits.tokens_max) }
    }

    fn is_done(&self) -> bool {
        self.tokens.len() == self.limits.tokens_max || self.tokens.last() == Some(&self.limits.end)
    }

    fn advance(&mut self, logits: &[f32]) -> Result<()> {
        check_finite(logits)?;
        let mut best: Option<(u32, f32)> = None;
        for (token, logit) in (0..).zip(logits.iter().copied()) {
            let is_early_end = token == self.limits.end && self.tokens.is_empty();
            if !is_early_end && best.is_none_or(|(_, most)| logit > most) {
                best = Some((token, logit));
            }
        }
        self.tokens.extend(best.map(|(token, _)| token));
        Ok(())
    }
}

/// Keeps the best texts: see "A text" in `datasets/recipes/llama.md`.
#[derive(Debug)]
pub(super) struct Beam {
    width: usize,
    limits: Limits,
    step: usize,
    texts: Vec<Text>,
    /// Texts that have ended, with their final score.
    ended: Vec<Text>,
    /// The candidates of a step, kept so that a step does not allocate.
    candidates: Vec<Candidate>,
}

#[derive(Debug, Clone)]
struct Text {
    /// Sum of the log probabilities; by the number of words once it has ended.
    score: f64,
    tokens: Vec<u32>,
    /// The text of the step before that it continues from.
    parent: u32,
}

#[derive(Debug, Clone, Copy)]
struct Candidate {
    score: f64,
    text: usize,
    token: u32,
}

impl Beam {
    pub(super) fn new(width: usize, limits: Limits) -> Self {
        let texts = vec![Text { score: 0.0, tokens: Vec::new(), parent: 0 }];
        Self {
            width,
            limits,
            step: 0,
            texts,
            ended: Vec::new(),
            candidates: Vec::with_capacity(2 * width + 1),
        }
    }

    fn is_done(&self) -> bool {
        self.ended.len() >= self.width || self.step == self.limits.tokens_max
    }

    /// Returns the next words. Texts of a finished search are fed, too, as long as others of the batch are not.
    fn next(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.texts.iter().map(|text| (text.parent, text.tokens.last().copied().unwrap_or_default()))
    }

    fn advance(&mut self, logits: &[f32]) -> Result<()> {
        check_finite(logits)?;
        self.find_candidates(logits);
        self.step += 1;
        let mut going_on = Vec::with_capacity(self.width);
        for (rank, candidate) in self.candidates.iter().enumerate() {
            let parent = &self.texts[candidate.text];
            let is_end = candidate.token == self.limits.end;
            if is_end && rank >= self.width || !is_end && going_on.len() == self.width {
                continue;
            }
            let mut tokens = Vec::with_capacity(self.limits.tokens_max);
            tokens.extend(parent.tokens.iter().copied().chain([candidate.token]));
            let text = Text { score: candidate.score, tokens, parent: candidate.text as u32 };
            if is_end { self.ended.push(self.final_text(text)) } else { going_on.push(text) }
        }
        self.texts = going_on;
        Ok(())
    }

    /// Finds the best `2 * width` ways to continue, in order; equal ones by text, then by word.
    fn find_candidates(&mut self, logits: &[f32]) {
        self.candidates.clear();
        let room = 2 * self.width;
        let words = logits.len() / self.texts.len();
        for (index, (text, logits)) in self.texts.iter().zip(logits.chunks_exact(words)).enumerate() {
            let base = text.score - log_sum_exp(logits);
            for (token, logit) in (0..).zip(logits) {
                let score = base + f64::from(*logit);
                let is_early_end = token == self.limits.end && self.step == 0;
                let fits = self.candidates.len() < room
                    || self.candidates.last().is_some_and(|worst| score > worst.score);
                if fits && !is_early_end {
                    let rank = self.candidates.partition_point(|other| other.score >= score);
                    self.candidates.insert(rank, Candidate { score, text: index, token });
                    self.candidates.truncate(room);
                }
            }
        }
    }

    fn final_text(&self, text: Text) -> Text {
        Text { score: text.score / self.step as f64, ..text }
    }

    fn first_token(&self) -> Option<u32> {
        if self.is_done() {
            return self.best().first().copied();
        }
        let mut firsts = self.texts.iter().chain(&self.ended).map(|text| text.tokens.first().copied());
        let first = firsts.next()??;
        firsts.all(|other| other == Some(first)).then_some(first)
    }

    /// Returns the best of those that have ended; where the answer is full, also of those that continue.
    fn best(&self) -> &[u32] {
        let full = self.ended.len() < self.width;
        let going_on =
            self.texts.iter().filter(|_| full).map(|text| (text.score / self.step.max(1) as f64, text));
        let all = self.ended.iter().map(|text| (text.score, text)).chain(going_on);
        let best = all.reduce(|best, other| if other.0 > best.0 { other } else { best });
        best.map_or(&[], |(_, text)| &text.tokens)
    }
}

/// Computes `log(sum(exp(x)))`, summed in f64.
fn log_sum_exp(logits: &[f32]) -> f64 {
    let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = logits.iter().map(|logit| f64::from((logit - most).exp())).sum();
    f64::from(most) + sum.ln()
}

/// Checks that the logits are numbers: others have no largest.
fn check_finite(logits: &[f32]) -> Result<()> {
    if !logits.iter().all(|logit| logit.is_finite()) {
        bail!("the logits are not all finite: the weights are damaged, or too large for this precision");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { tokens_max: 4, end: 2 };
    const WORDS: u32 = 8;

    /// Logits after a text: numbers that depend on all of its words.
    fn logits(tokens: &[u32]) -> Vec<f32> {
        let seed = tokens.iter().fold(17_u32, |seed, token| seed.wrapping_mul(31).wrapping_add(token + 1));
        (0..WORDS).map(|word| ((seed.wrapping_mul(word * 2 + 3) >> 7) & 63) as f32 / 16.0).collect()
    }

    /// Runs a search to its end, as a batch would, and gives the answer.
    fn run(mut search: BeamSearch) -> Vec<u32> {
        let mut texts = vec![Vec::new()];
        while !search.is_done() {
            let logits: Vec<f32> = texts.iter().flat_map(|text: &Vec<u32>| logits(text)).collect();
            search.advance(&logits).unwrap();
            let go_on = |(parent, word)| [texts[parent as usize].as_slice(), &[word]].concat();
            texts = search.next().map(go_on).collect();
        }
        search.tokens().to_vec()
    }

    /// The best of all texts there are, by the mean of the log probabilities.
    fn best_of_all() -> Vec<u32> {
        let mut texts = vec![(0.0, Vec::new())];
        let mut ended: Vec<(f64, Vec<u32>)> = Vec::new();
        for step in 1..=LIMITS.tokens_max {
            let mut next = Vec::new();
            for (score, text) in &texts {
                let logits = logits(text);
                let base = score - log_sum_exp(&logits);
                for (word, logit) in (0..).zip(&logits).filter(|(word, _)| *word != LIMITS.end || step > 1) {
                    let text = (base + f64::from(*logit), [text.as_slice(), &[word]].concat());
                    let is_end = word == LIMITS.end || step == LIMITS.tokens_max;
                    if is_end { ended.push((text.0 / step as f64, text.1)) } else { next.push(text) }
                }
            }
            texts = next;
        }
        ended.into_iter().max_by(|a, b| a.0.total_cmp(&b.0)).unwrap().1
    }

    #[test]
    fn a_beam_of_one_is_greedy() {
        assert_eq!(run(BeamSearch::Beam(Beam::new(1, LIMITS))), run(BeamSearch::Greedy(Greedy::new(LIMITS))));
    }

    #[test]
    fn a_beam_as_wide_as_can_be_finds_the_best_text() {
        let width = (WORDS as usize).pow(LIMITS.tokens_max as u32);
        let mut beam = Beam::new(width, LIMITS);
        let mut texts: Vec<Vec<u32>> = vec![Vec::new()];
        while !beam.is_done() {
            let logits: Vec<f32> = texts.iter().flat_map(|text| logits(text)).collect();
            beam.advance(&logits).unwrap();
            texts = beam.texts.iter().map(|text| text.tokens.clone()).collect();
        }
        assert_eq!(beam.best(), best_of_all());
    }

    #[test]
    fn equal_words_are_taken_in_order_and_the_end_is_never_first() {
        let mut beam = Beam::new(2, LIMITS);
        beam.advance(&[1.0, 3.0, 9.0, 3.0, 3.0, 0.0, 0.0, 0.0]).unwrap();
        assert_eq!(beam.next().collect::<Vec<_>>(), [(0, 1), (0, 3)]);
        let mut greedy = Greedy::new(LIMITS);
        greedy.advance(&[1.0, 3.0, 9.0, 3.0]).unwrap();
        greedy.advance(&[1.0, 3.0, 9.0, 3.0]).unwrap();
        assert_eq!(greedy.tokens, [1, 2]);
        assert!(greedy.is_done());
    }

    #[test]
    fn the_first_word_is_known_when_all_texts_have_it() {
        let mut search = BeamSearch::new(2, LIMITS);
        let row = |likely: &[(usize, f32)]| {
            let mut row = [0.0; WORDS as usize];
            likely.iter().for_each(|(word, logit)| row[*word] = *logit);
            row.to_vec()
        };
        search.advance(&row(&[(4, 5.0), (5, 4.0)])).unwrap();
        assert_eq!(search.first_token(), None);
        // The second text, which begins with 5, is as likely to go on with anything; the first is not.
        search.advance(&[row(&[(6, 20.0), (7, 19.0)]), row(&[])].concat()).unwrap();
        assert_eq!(search.next().collect::<Vec<_>>(), [(0, 6), (0, 7)]);
        assert_eq!(search.first_token(), Some(4));
    }

    #[test]
    fn what_is_not_a_number_is_an_error() {
        for width in [1, 2] {
            let mut search = BeamSearch::new(width, LIMITS);
            let error = search.advance(&[1.0, f32::NAN, 0.0, 0.0]).unwrap_err().to_string();
            assert!(error.contains("not all finite"), "{error}");
        }
    }
}
