//! Computes the variation of the repeats of one run.

use proctor_words::text::{counted, table};
use serde_json::{Value, json};

use crate::{error::CompareError, figure::Figure, side::Side};

/// The figures of the repeats of a run.
#[derive(Debug)]
pub struct Spread {
    /// Name of the folder.
    name: String,
    run_count: usize,
    /// Each figure with its values, ascending.
    figures: Vec<(Figure, Vec<f64>)>,
    remarks: Vec<String>,
}

impl Side {
    /// Returns the spread of the figures of its runs.
    ///
    /// # Errors
    /// [`CompareError::Alone`] of a single run.
    pub fn spread(&self) -> Result<Spread, CompareError> {
        if self.runs.len() < 2 {
            return Err(CompareError::Alone { path: self.folder.clone() });
        }
        let of_all = |figure: Figure| {
            let values = self.runs.iter().map(|run| Some(run.measured.table(figure)?.value));
            let mut values = values.collect::<Option<Vec<_>>>()?;
            values.sort_by(f64::total_cmp);
            Some((figure, values))
        };
        Ok(Spread {
            name: self.folder.display().to_string(),
            run_count: self.runs.len(),
            figures: Figure::of(self.runs[0].scenario.loadgen()).into_iter().filter_map(of_all).collect(),
            remarks: self.remarks.iter().map(ToString::to_string).collect(),
        })
    }
}

impl Spread {
    /// Returns the text for a terminal.
    #[must_use]
    pub fn text(&self) -> String {
        let head =
            ["figure", "smallest", "median", "greatest", "from run to run"].map(str::to_owned).to_vec();
        let cells = |(figure, values): &(Figure, Vec<f64>)| {
            let shown = |value: f64| figure.shown(value);
            let [least, .., greatest] = values[..] else { return vec![figure.to_string()] };
            let deviation = format!("deviation {:.2} %", 100.0 * deviation(values));
            vec![figure.to_string(), shown(least), shown(median(values)), shown(greatest), deviation]
        };
        let rows: Vec<_> = std::iter::once(head).chain(self.figures.iter().map(cells)).collect();
        let notes = self.remarks.iter().map(|remark| format!("  note: {remark}\n"));
        let runs = counted(self.run_count as u64, "run");
        format!("{} ({runs})\n{}{}", self.name, table(&rows), notes.collect::<String>())
    }

    /// Returns all of it for programs.
    #[must_use]
    pub fn json(&self) -> Value {
        let figure = |(figure, values): &(Figure, Vec<f64>)| {
            json!({
                "figure": figure.to_string(),
                "unit": figure.unit(),
                "values": values,
                "median": median(values),
                "deviation": deviation(values),
            })
        };
        json!({
            "schema_version": 1,
            "folder": self.name,
            "run_count": self.run_count,
            "figures": self.figures.iter().map(figure).collect::<Vec<_>>(),
            "remarks": self.remarks,
        })
    }
}

/// Returns the middle of ascending values, or the mean of the two.
fn median(values: &[f64]) -> f64 {
    let half = values.len() / 2;
    if values.len() % 2 == 1 { values[half] } else { f64::midpoint(values[half - 1], values[half]) }
}

/// Returns the standard deviation over the mean.
fn deviation(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    if mean > 0.0 { (squares / (values.len() - 1) as f64).sqrt() / mean } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_summed_up() {
        assert_eq!((median(&[1.0, 2.0, 9.0]), median(&[1.0, 2.0])), (2.0, 1.5));
        assert_eq!((deviation(&[5.0, 5.0]), deviation(&[0.0, 0.0])), (0.0, 0.0));
        assert!((deviation(&[9.0, 11.0]) - 2.0_f64.sqrt() / 10.0).abs() < 1e-12);
        let spread = Spread {
            name: "x".to_owned(),
            run_count: 2,
            figures: vec![(Figure::Percentile(500), vec![9e6, 11e6])],
            remarks: vec!["r".to_owned()],
        };
        let text = spread.text();
        assert!(text.starts_with("x (2 runs)\n") && text.ends_with("  note: r\n"), "{text}");
        assert!(text.contains("p50     9.000 ms  10.00 ms  11.00 ms  deviation 14.14 %"), "{text}");
        assert_eq!(spread.json()["figures"][0]["median"], 1e7);
    }
}
