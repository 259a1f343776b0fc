//! The hypotheses of one sequence.

use crate::nets::layers::beam::options::BeamOptions;
use crate::nets::layers::beam::select::{Best, Candidate};
use crate::nets::layers::softmax::log_sum_exp;

/// The hypotheses of one sequence, best first.
#[derive(Debug)]
pub struct Beam {
    options: BeamOptions,
    steps_max: usize,
    slots: Vec<Slot>,
    next: Vec<Slot>,
    best: Best,
    /// Parent and word of each slot of each step, `[step, slot]`: how a text is read back.
    trace: Vec<(usize, i32)>,
    /// Attention that fell on each place, `[slot, place]`; and of the slots to come.
    coverage: Vec<f32>,
    next_coverage: Vec<f32>,
    places: usize,
    text: Vec<i32>,
    /// Whether the first word was reported.
    is_first_told: bool,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    total: f64,
    length: usize,
    ended: bool,
    word: i32,
    /// First word; `None` before the first step.
    first: Option<i32>,
    /// Row of the last step whose state it continues; `None` before the first step, or once it has ended.
    row: Option<usize>,
}

impl Beam {
    /// Creates a beam with memory for `steps_max` steps over sources of `places_max` places; [`Self::restart`] readies
    /// it.
    #[must_use]
    pub fn new(options: BeamOptions, steps_max: usize, places_max: usize) -> Self {
        let width = options.width;
        let slots = || Vec::with_capacity(width);
        let mut best = Best::default();
        best.reset(width);
        Self {
            options,
            steps_max: 0,
            slots: slots(),
            next: slots(),
            best,
            trace: Vec::with_capacity(steps_max * width),
            coverage: vec![0.0; width * places_max],
            next_coverage: vec![0.0; width * places_max],
            places: 0,
            text: Vec::with_capacity(steps_max),
            is_first_told: false,
        }
    }

    /// Forgets everything: a sequence of at most `steps_max` words over `places` places. 0 steps are done at once.
    pub fn restart(&mut self, steps_max: usize, places: usize) {
        let Self { options, .. } = *self;
        (self.steps_max, self.places) = (steps_max, places);
        self.is_first_told = false;
        self.trace.clear();
        self.slots.clear();
        let (word, first, row) = (options.start, None, None);
        self.slots.push(Slot { total: 0.0, length: 0, ended: false, word, first, row });
        let used = options.width * places;
        self.coverage.resize(self.coverage.len().max(used), 0.0);
        self.next_coverage.resize(self.next_coverage.len().max(used), 0.0);
        self.coverage[..used].fill(0.0);
    }

    /// Returns whether the search is over.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.steps() >= self.steps_max || self.slots.iter().all(|slot| slot.ended)
    }

    /// Returns the hypotheses that continue: each with the row that it continues and its last word.
    pub fn live(&self) -> impl Iterator<Item = (Option<usize>, i32)> + '_ {
        self.slots.iter().filter(|slot| !slot.ended).map(|slot| (slot.row, slot.word))
    }

    /// Goes one step on. The live hypotheses, in their order, have the rows from `first_row` on.
    ///
    /// `logits(row)` are the words' scores before the softmax, `attention(row)` the weights of the places (empty if
    /// there is no coverage penalty).
    pub fn advance<'a>(
        &mut self,
        first_row: usize,
        logits: impl Fn(usize) -> &'a [f32],
        attention: impl Fn(usize) -> &'a [f32],
    ) {
        self.best.reset(self.options.width);
        let mut row = first_row;
        for index in 0..self.slots.len() {
            let places = index * self.places..(index + 1) * self.places;
            if self.slots[index].ended {
                self.keep(index);
                continue;
            }
            if self.options.coverage_weight != 0.0 {
                for (sum, weight) in self.coverage[places].iter_mut().zip(attention(row)) {
                    *sum += weight;
                }
            }
            self.extend(index, logits(row));
            self.slots[index].row = Some(row);
            row += 1;
        }
        self.take_best();
    }

    /// Returns the first word of the text, once: after the step since which no other is possible, because all
    /// hypotheses begin with it, or the search is over. A text without words has none.
    pub fn take_first_word(&mut self) -> Option<i32> {
        let first = self.slots.first()?.first.filter(|word| *word != self.options.end)?;
        let is_certain = self.is_done() || self.slots.iter().all(|slot| slot.first == Some(first));
        (is_certain && !std::mem::replace(&mut self.is_first_told, is_certain)).then_some(first)
    }

    /// Returns the words of the best hypothesis, without the end.
    pub fn text(&mut self) -> &[i32] {
        self.text.clear();
        let (mut slot, width) = (0, self.options.width);
        for step in (0..self.steps()).rev() {
            let (parent, word) = self.trace[step * width + slot];
            // An ended hypothesis goes on with ends.
            if word != self.options.end {
                self.text.push(word);
            }
            slot = parent;
        }
        self.text.reverse();
        &self.text
    }

    /// Returns the rank of the best hypothesis: its sum of logarithms by its length penalty, and the coverage penalty
    /// if it has ended.
    #[must_use]
    pub fn score(&self) -> f64 {
        self.slots.first().map_or(f64::NEG_INFINITY, |slot| self.rank(0, slot))
    }

    fn steps(&self) -> usize {
        self.trace.len() / self.options.width
    }

    fn rank(&self, index: usize, slot: &Slot) -> f64 {
        let coverage = &self.coverage[index * self.places..][..self.places];
        let penalty = if slot.ended { self.options.coverage_penalty(coverage) } else { 0.0 };
        slot.total / self.options.length_penalty(slot.length) + penalty
    }

    /// Offers an ended hypothesis as a candidate, unchanged.
    fn keep(&mut self, index: usize) {
        let slot = self.slots[index];
        let (score, word) = (self.rank(index, &slot), self.options.end);
        self.best.offer(Candidate { score, parent: index, word, total: slot.total });
    }

    /// Offers every continuation of a hypothesis that is good enough.
    fn extend(&mut self, index: usize, logits: &[f32]) {
        const PIECE: usize = 64;
        let Slot { total, length, .. } = self.slots[index];
        let rest = total - log_sum_exp(logits);
        // The end does not add to the length in its own step, the other words do.
        let (longer, as_long) =
            (self.options.length_penalty(length + 1), self.options.length_penalty(length));
        for (piece, first) in logits.chunks(PIECE).zip((0..).step_by(PIECE)) {
            // Few words are good enough: a piece without one is passed by with one comparison for each word.
            let bar = self.bar(rest, longer);
            let has_end = (first..first + PIECE as i32).contains(&self.options.end);
            if !has_end && !piece.iter().fold(false, |any, logit| any | (*logit >= bar)) {
                continue;
            }
            for (logit, word) in piece.iter().zip(first..) {
                let total = rest + f64::from(*logit);
                let penalty = if word == self.options.end { as_long } else { longer };
                self.best.offer(Candidate { score: total / penalty, parent: index, word, total });
            }
        }
    }

    /// Returns a bound below which no logit can be among the best, rounded down, since f32 are compared with it.
    #[expect(clippy::cast_possible_truncation, reason = "rounding is allowed for")]
    fn bar(&self, rest: f64, penalty: f64) -> f32 {
        ((self.best.threshold() * penalty - rest) as f32).next_down()
    }

    /// Makes the best candidates the hypotheses.
    fn take_best(&mut self) {
        self.next.clear();
        for (index, candidate) in self.best.as_slice().iter().enumerate() {
            let parent = self.slots[candidate.parent];
            let ended = parent.ended || candidate.word == self.options.end;
            self.next.push(Slot {
                total: candidate.total,
                length: parent.length + usize::from(!parent.ended),
                ended,
                word: candidate.word,
                first: parent.first.or(Some(candidate.word)),
                row: parent.row,
            });
            self.trace.push((candidate.parent, candidate.word));
            let from = candidate.parent * self.places..(candidate.parent + 1) * self.places;
            self.next_coverage[index * self.places..][..self.places].copy_from_slice(&self.coverage[from]);
        }
        // A step has `width` entries, also while there are fewer hypotheses.
        let entries = self.steps_begun() * self.options.width;
        self.trace.resize(entries, (0, self.options.end));
        std::mem::swap(&mut self.slots, &mut self.next);
        std::mem::swap(&mut self.coverage, &mut self.next_coverage);
    }

    fn steps_begun(&self) -> usize {
        self.trace.len().div_ceil(self.options.width)
    }
}
