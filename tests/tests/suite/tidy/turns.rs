//! Turns of phrase that a native engineer would not write: where they are refused, and how many are left.

/// A turn of phrase.
pub(crate) struct Turn {
    /// Name for messages.
    pub(crate) name: &'static str,
    /// Maximum number in comments where it is not refused. It may only fall: write the new number after mending some.
    pub(crate) count_max: usize,
    /// Words with which a sentence begins: refused at the beginning of a doc comment, in pages and in help.
    openings: &'static [&'static str],
    /// Words anywhere in a sentence: refused according to `strictness`.
    phrases: &'static [&'static str],
    strictness: Strictness,
    /// Words before it that make it idiomatic.
    unless_after: &'static [&'static str],
    /// Text behind it that makes it idiomatic.
    unless_before: &'static [&'static str],
}

/// Places where the phrases of a turn are refused; each level includes the ones before.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Strictness {
    Nowhere,
    /// In pages and in help.
    Pages,
    /// In the first line of a doc comment.
    FirstLines,
}

/// All turns. Write instead, in their order: "Maximum number of samples"; "is malformed" or "is missing"; "no longer";
/// "Starts the model"; the thing's own name; "the model's"; "Samples that"; "the caller"; "everything".
pub(crate) const TURNS: &[Turn] = &[
    Turn {
        name: "Most, Fewest or Least for a maximum or a minimum",
        count_max: 3,
        openings: &["Most", "Fewest", "Least"],
        unless_before: &[" of", " recent"],
        ..Turn::UNNAMED
    },
    Turn {
        name: "none as a predicate",
        count_max: 0,
        phrases: &["is none", "are none", "was none", "were none", "be none"],
        strictness: Strictness::FirstLines,
        unless_after: &["there", "There"],
        unless_before: &[" of"],
        ..Turn::UNNAMED
    },
    Turn {
        name: "any more for no longer",
        count_max: 7,
        phrases: &["any more"],
        strictness: Strictness::FirstLines,
        ..Turn::UNNAMED
    },
    Turn { name: "Has something done", count_max: 2, openings: &["Has"], ..Turn::UNNAMED },
    Turn { name: "What for the thing itself", count_max: 51, openings: &["What"], ..Turn::UNNAMED },
    Turn {
        name: "that of or those of for a genitive",
        count_max: 167,
        openings: &["That of", "Those of"],
        phrases: &["that of", "those of"],
        ..Turn::UNNAMED
    },
    Turn { name: "Those for the noun", count_max: 19, openings: &["Those"], ..Turn::UNNAMED },
    Turn {
        name: "whoever",
        count_max: 12,
        openings: &["Whoever"],
        phrases: &["whoever"],
        strictness: Strictness::Pages,
        ..Turn::UNNAMED
    },
    Turn {
        name: "all that for everything",
        count_max: 31,
        openings: &["All that"],
        phrases: &["all that"],
        strictness: Strictness::Pages,
        ..Turn::UNNAMED
    },
];

impl Turn {
    const UNNAMED: Self = Self {
        name: "",
        count_max: 0,
        openings: &[],
        phrases: &[],
        strictness: Strictness::Nowhere,
        unless_after: &[],
        unless_before: &[],
    };

    /// Returns whether the first line of a doc comment must not have the turn as it does.
    pub(crate) fn is_refused_in_first_line(&self, line: &str) -> bool {
        self.openings.iter().any(|opening| self.places(line, opening).contains(&0))
            || self.strictness >= Strictness::FirstLines && self.phrase_count(line) > 0
    }

    /// Returns whether a line of a page or of help has the turn where it is refused.
    pub(crate) fn is_refused_in_page(&self, line: &str) -> bool {
        self.opening_count(line) > 0 || self.strictness >= Strictness::Pages && self.phrase_count(line) > 0
    }

    /// Returns how often a line has the turn, refused or not.
    pub(crate) fn count(&self, line: &str) -> usize {
        self.opening_count(line) + self.phrase_count(line)
    }

    fn opening_count(&self, line: &str) -> usize {
        let places = self.openings.iter().flat_map(|opening| self.places(line, opening));
        places.filter(|place| begins_sentence(&line[..*place])).count()
    }

    fn phrase_count(&self, line: &str) -> usize {
        self.phrases.iter().flat_map(|phrase| self.places(line, phrase)).count()
    }

    /// Returns where a line has these words, neither as part of longer ones nor in an idiom.
    fn places(&self, line: &str, words: &str) -> Vec<usize> {
        let is_letter = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        let is_counted = |place: &usize| {
            let (before, behind) = (&line[..*place], &line[*place + words.len()..]);
            let is_idiom = self.unless_after.iter().any(|word| before.trim_end().ends_with(*word))
                || self.unless_before.iter().any(|text| behind.starts_with(*text));
            !is_letter(before.chars().next_back()) && !is_letter(behind.chars().next()) && !is_idiom
        };
        line.match_indices(words).map(|(place, _)| place).filter(is_counted).collect()
    }
}

/// Returns whether a sentence, a list item or a cell begins behind this text.
fn begins_sentence(before: &str) -> bool {
    let before = before.trim();
    before.ends_with(['.', ':', '|', '?', '!']) || ["", "-", "*"].contains(&before)
}

#[test]
fn a_turn_is_told_from_an_idiom() {
    let [maximum, none] = [&TURNS[0], &TURNS[1]];
    assert!(maximum.is_refused_in_first_line("Most samples of a batch."));
    assert!(maximum.is_refused_in_page("- Most samples of a batch."));
    assert!(!maximum.is_refused_in_page("At Most, Mostly. Most of the samples"));
    assert!(none.is_refused_in_first_line("The header is none."));
    assert!(
        !none.is_refused_in_first_line("0 if there is none; it is none of these, and is nonetheless there")
    );
}

#[test]
fn a_turn_is_counted_where_it_is_not_refused() {
    let [what, genitive] = [&TURNS[4], &TURNS[5]];
    assert_eq!(what.count("A call. What it returns. Returns What."), 1);
    assert!(!what.is_refused_in_first_line("A call. What it returns."));
    assert!(what.is_refused_in_page("A call. What it returns."));
    assert_eq!(genitive.count("those of a call and that of another"), 2);
    assert!(!genitive.is_refused_in_page("the type and that of another"));
}
