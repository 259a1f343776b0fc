//! Which word comes next: greedy, or by a beam.
//!
//! A search holds the texts of one prompt. It is given the logits after each of them, and says which word each is to be
//! fed, and which text it goes on from.

use candle_core::{Result, bail};

/// What is common to all searches of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    /// Most words of an answer.
    pub tokens_max: usize,
    /// The word that ends a text. It is not taken as the first one, so that each answer has two words or more and there
    /// is a time per word.
    pub end: u32,
}

/// A search in progress.
#[derive(Debug)]
pub(super) enum Search {
    Greedy(Greedy),
    Beam(Beam),
}

impl Search {
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

    /// For each text the text that it goes on from, and the word to feed.
    pub(super) fn next(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let (greedy, beam) = match self {
            Self::Greedy(greedy) => (greedy.tokens.last().map(|token| (0, *token)), None),
            Self::Beam(beam) => (None, Some(beam.next())),
        };
        greedy.into_iter().chain(beam.into_iter().flatten())
    }

    /// The first word of the answer, as soon as no other is possible.
    pub(super) fn first_token(&self) -> Option<u32> {
        match self {
            Self::Greedy(greedy) => greedy.tokens.first().copied(),
            Self::Beam(beam) => beam.first_token(),
        }
    }

    /// The answer, if the search is done.
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
    /// Those that have ended, with their final score.
    ended: Vec<Text>,
    /// The candidates of a step, kept so that a step does not allocate.
    candidates: Vec<Candidate>,
}

#[derive(Debug, Clone)]
struct Text {
    /// Sum of the log probabilities; by the number of words once it has ended.
    score: f64,
    tokens: Vec<u32>,
    /// The text of the step before that it goes on from.
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
        Self { width, limits, step: 0, texts, ended: Vec::new(), candidates: Vec::with_capacity(2 * width + 1) }
    }

    fn is_done(&self) -> bool {
        self.ended.len() >= self.width || self.step == self.limits.tokens_max
    }

    /// Texts of a search that is done are fed, too, as long as others of the batch are not.
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

    /// The best `2 * width` ways to go on, in order; equal ones by text, then by word.
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

    /// The best of those that have ended; where the answer is full, also of those that go on.
    fn best(&self) -> &[u32] {
        let full = self.ended.len() < self.width;
        let going_on = self.texts.iter().filter(|_| full).map(|text| (text.score / self.step.max(1) as f64, text));
        let all = self.ended.iter().map(|text| (text.score, text)).chain(going_on);
        let best = all.reduce(|best, other| if other.0 > best.0 { other } else { best });
        best.map_or(&[], |(_, text)| &text.tokens)
    }
}

/// `log(sum(exp(x)))`, summed in f64.
fn log_sum_exp(logits: &[f32]) -> f64 {
    let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = logits.iter().map(|logit| f64::from((logit - most).exp())).sum();
    f64::from(most) + sum.ln()
}

/// There is no largest of logits that are not numbers.
fn check_finite(logits: &[f32]) -> Result<()> {
    if !logits.iter().all(|logit| logit.is_finite()) {
        bail!("the logits are not all finite: the weights are damaged, or too large for this precision");
    }
    Ok(())
}
