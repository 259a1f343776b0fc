//! Random cases, the same in every run.

use proctor_scores::detection::{Annotation, Bbox, Detection};
use rand::{Rng, SeedableRng, rngs::StdRng, seq::IndexedRandom};

/// Images of the data set; a case judges some of them.
pub const IMAGES: [u64; 5] = [3, 7, 11, 400, 401];

/// Categories of the data set; not every case has annotations of each.
pub const CATEGORIES: [u64; 3] = [1, 2, 90];

/// Annotations, detections, judged images.
pub type DetectionCase = (Vec<Annotation>, Vec<Detection>, Vec<u64>);

/// An answer, if there is one, and the right ones.
pub type Question = (Option<String>, Vec<String>);

pub struct Cases(StdRng);

impl Cases {
    pub fn new(seed: u64) -> Self {
        Self(StdRng::seed_from_u64(seed))
    }

    pub fn take<T>(&mut self, count: usize, case: impl Fn(&mut Self) -> T) -> Vec<T> {
        (0..count).map(|_| case(self)).collect()
    }

    fn one_of<T: Copy>(&mut self, list: &[T]) -> T {
        *list.choose(&mut self.0).expect("the list is not empty")
    }

    fn chance(&mut self, probability: f64) -> bool {
        self.0.random_bool(probability)
    }

    fn up_to(&mut self, most: usize) -> usize {
        self.0.random_range(0..=most)
    }

    /// A box on a coarse grid, so that boxes coincide, or anywhere.
    fn bbox(&mut self) -> Bbox {
        if self.chance(0.5) {
            let mut side = |step| f64::from(self.0.random_range(0_i32..4) * step);
            Bbox { x: side(8), y: side(8), width: 16.0 + side(16), height: 16.0 + side(40) }
        } else {
            let mut side = |most| self.0.random_range(-2.0..most);
            Bbox { x: side(60.0), y: side(60.0), width: side(120.0), height: side(120.0) }
        }
    }

    /// A box that overlaps another one somewhat.
    fn near(&mut self, bbox: &Bbox) -> Bbox {
        let mut shift = |side: f64| side + f64::from(2 * self.0.random_range(-3_i32..=3));
        Bbox { x: shift(bbox.x), y: shift(bbox.y), width: shift(bbox.width), height: shift(bbox.height) }
    }

    pub fn detection(&mut self) -> DetectionCase {
        let first_id = u64::from(!self.chance(0.2));
        let annotation_count = self.up_to(12);
        let mut annotations = Vec::new();
        for id in first_id..first_id + annotation_count as u64 {
            let bbox = self.bbox();
            let area =
                if self.chance(0.5) { bbox.area() } else { bbox.area() * self.0.random_range(0.3..1.2) };
            let area = if self.chance(0.1) { self.one_of(&[1024.0, 9216.0]) } else { area };
            let (image, category) = (self.one_of(&IMAGES), self.one_of(&CATEGORIES[..2]));
            annotations.push(Annotation { id, image, category, bbox, area, is_crowd: self.chance(0.15) });
        }
        let mut detections = Vec::new();
        let many = self.chance(0.02);
        let detection_count = if many { 130 } else { self.up_to(25) };
        for _ in 0..detection_count {
            let near = annotations.choose(&mut self.0).copied().filter(|_| self.chance(0.8));
            let bbox = match &near {
                Some(annotation) => self.near(&annotation.bbox),
                None => self.bbox(),
            };
            let image =
                if many { IMAGES[0] } else { near.map_or_else(|| self.one_of(&IMAGES), |it| it.image) };
            let category = near.map_or_else(|| self.one_of(&[1, 2, 90, 91]), |it| it.category);
            let score = if self.chance(0.5) {
                f64::from(self.0.random_range(0_u8..5)) / 4.0
            } else {
                self.0.random::<f32>().into()
            };
            detections.push(Detection { image, category, bbox, score });
        }
        let images = IMAGES.into_iter().filter(|_| self.chance(0.9)).collect();
        (annotations, detections, images)
    }

    /// Answers of a small corpus, some of them near the right ones.
    pub fn pairs(&mut self, sentence: impl Fn(&mut Self) -> String) -> Vec<(String, String)> {
        let count = 1 + self.up_to(3);
        let mut pairs = Vec::new();
        for _ in 0..count {
            let right = sentence(self);
            let answer = if self.chance(0.3) { sentence(self) } else { self.changed(&right) };
            pairs.push((answer, right));
        }
        pairs
    }

    /// A text with some of its words left out, repeated or replaced.
    fn changed(&mut self, text: &str) -> String {
        let mut words = Vec::new();
        for word in text.split(' ') {
            match self.up_to(9) {
                0 => {}
                1 => words.extend([word, word]),
                2 => words.push("other"),
                _ => words.push(word),
            }
        }
        words.join(" ")
    }

    fn sentence(&mut self, words: &[&str], spaces: &[&str], word_count_max: usize) -> String {
        let count = self.up_to(word_count_max);
        let mut text = String::new();
        for _ in 0..count {
            text.push_str(self.one_of(words));
            text.push_str(self.one_of(spaces));
        }
        text
    }

    pub fn sentence_of_tokens(&mut self) -> String {
        self.sentence(
            &["der", "Hund", "läuft", "ber@@", "&apos;s", ",", "."],
            &[" ", " ", " ", " ", "  "],
            14,
        )
    }

    pub fn words(&mut self) -> String {
        // jiwer knows no corpus without words, and of white space only the blank.
        format!("first {}", self.sentence(&["the", "cat", "sat", "it's", "a"], &[" ", " ", "  "], 12).trim())
    }

    pub fn transcript(&mut self) -> String {
        const WORDS: [&str; 22] = [
            "MISTER",
            "Mr.",
            "mrs.",
            "st.",
            "x_st.",
            "dr.co.",
            "it's",
            "AND&",
            "two+two",
            "(well)",
            "co-op",
            "Café",
            "Ñandú",
            "Ångström",
            "straße",
            "naïve",
            "Dvořák",
            "$3.50",
            "$1.01",
            "$0.05",
            "$7",
            "$1.2.3",
        ];
        let count = self.up_to(6);
        let mut text = String::new();
        for _ in 0..count {
            if self.chance(0.4) {
                let digit_count = 1 + self.up_to(12);
                let digits: String =
                    (0..digit_count).map(|_| self.one_of(&['0', '0', '1', '2', '5', '9'])).collect();
                let digits = if self.chance(0.3) { format!("{},{digits}", self.up_to(9)) } else { digits };
                text.push_str(&digits);
                text.push_str(self.one_of(&["", "", "", "th", "st", ".5", ":30", "%", "x"]));
            } else {
                text.push_str(self.one_of(&WORDS));
            }
            text.push_str(self.one_of(&[" ", " ", "  ", "\t", ". ", "--"]));
        }
        text
    }

    pub fn questions(&mut self) -> Vec<Question> {
        const WORDS: [&str; 20] = [
            "the",
            "The",
            "a",
            "an",
            "red",
            "car",
            "theatre",
            "a.n.",
            "U.S.",
            "«the»",
            "a\u{301}b",
            "an_d",
            "½",
            "été",
            "İstanbul",
            "ΑΣ",
            "the\u{93e}",
            "—",
            "中文",
            "the²",
        ];
        let spaces = [" ", " ", " ", "\u{a0}", "\t", "-", ""];
        let count = 1 + self.up_to(3);
        let mut questions = Vec::new();
        for _ in 0..count {
            let right_count = 1 + self.up_to(3);
            let right = self.take(right_count, |cases| cases.sentence(&WORDS, &spaces, 6));
            let answer = match self.up_to(9) {
                0 => None,
                1..=3 => Some(self.sentence(&WORDS, &spaces, 6)),
                _ => Some(self.changed(&right[0])),
            };
            questions.push((answer, right));
        }
        questions
    }

    /// Predictions and labels, of both kinds, with few or many ties.
    pub fn rows(&mut self) -> (Vec<f32>, Vec<f32>) {
        let (count, is_coarse) = (self.up_to(60), self.chance(0.5));
        let mut labels = vec![0.0, 1.0];
        labels.extend(self.take(count, |cases| f32::from(u8::from(cases.chance(0.3)))));
        let predictions = self.take(labels.len(), |cases| {
            if is_coarse { cases.one_of(&[0.0, -0.0, 0.25, 0.5, 0.75, 1.0, 1.5]) } else { cases.0.random() }
        });
        (predictions, labels)
    }

    /// Pairs of label volumes.
    pub fn volumes(&mut self, class_max: u8) -> Vec<(Vec<u8>, Vec<u8>)> {
        let count = 1 + self.up_to(4);
        self.take(count, |cases| {
            let voxel_count = 1 + cases.up_to(30);
            let class_max = cases.0.random_range(0..=class_max);
            let right = cases.take(voxel_count, |cases| cases.0.random_range(0..=class_max));
            let change =
                |class: &u8| if cases.chance(0.7) { *class } else { cases.0.random_range(0..=class_max) };
            (right.iter().map(change).collect(), right)
        })
    }

    /// Numbers of a few digits, many of them ties, and any others.
    pub fn number(&mut self) -> f64 {
        if self.chance(0.5) {
            let digits = self.0.random_range(-9_999_995_i64..=9_999_995);
            let digits = if self.chance(0.5) { digits / 10 * 10 + 5 } else { digits };
            format!("{digits}e{}", self.0.random_range(-9..4)).parse().expect("it is a number")
        } else {
            self.0.random_range(-1.0..1.0) * 10_f64.powi(self.0.random_range(-6..6))
        }
    }
}
