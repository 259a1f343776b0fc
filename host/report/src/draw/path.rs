//! Paths of pictures.

use std::fmt::Write;

/// Text of a path, which has only finite numbers: a non-finite one ends the line before it.
#[derive(Debug, Default)]
pub(crate) struct Path {
    text: String,
    is_down: bool,
}

impl Path {
    /// Returns the text, as an attribute `d`.
    pub(crate) fn into_text(self) -> String {
        self.text
    }

    /// Goes on to a point by a straight line, or begins there.
    pub(crate) fn to(&mut self, x: f64, y: f64) {
        if !x.is_finite() || !y.is_finite() {
            return self.lift();
        }
        let command = if self.is_down { 'L' } else { 'M' };
        self.is_down = true;
        // Writing to a string never fails.
        let _ = write!(self.text, "{command}{} {}", short(x), short(y));
    }

    /// Ends the line: the next point begins another one.
    pub(crate) fn lift(&mut self) {
        self.is_down = false;
    }

    /// Adds a rectangle between two corners.
    pub(crate) fn rectangle(&mut self, from: (f64, f64), to: (f64, f64)) {
        if [from.0, from.1, to.0, to.1].iter().all(|number| number.is_finite()) {
            let (x, y) = (short(from.0), short(from.1));
            let _ = write!(self.text, "M{x} {y}H{}V{}H{x}Z", short(to.0), short(to.1));
        }
        self.lift();
    }
}

/// Returns a coordinate to a tenth, without a fraction of zero.
pub(crate) fn short(value: f64) -> String {
    let text = format!("{value:.1}");
    let text = text.strip_suffix(".0").map_or(&*text, |whole| whole);
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_gap_begins_a_new_line() {
        let mut path = Path::default();
        for (x, y) in [(0.0, 1.0), (2.0, 3.25), (f64::NAN, 1.0), (4.0, -0.01), (5.0, 6.0)] {
            path.to(x, y);
        }
        path.rectangle((1.0, 2.0), (3.0, 4.0));
        path.rectangle((1.0, f64::INFINITY), (3.0, 4.0));
        assert_eq!(path.into_text(), "M0 1L2 3.2M4 0L5 6M1 2H3V4H1Z");
    }

    proptest! {
        #[test]
        fn no_path_has_anything_but_numbers(
            points in prop::collection::vec((prop::num::f64::ANY, prop::num::f64::ANY), 0..20),
        ) {
            let mut path = Path::default();
            points.iter().for_each(|(x, y)| path.to(*x, *y));
            points.windows(2).for_each(|pair| path.rectangle(pair[0], pair[1]));
            let text = path.into_text();
            prop_assert!(text.chars().all(|c| c.is_ascii_digit() || "MLHVZ .-".contains(c)), "{}", text);
        }
    }
}
