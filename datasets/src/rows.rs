//! How rows of clicks become samples.

use std::{fmt, path::PathBuf, str::FromStr};

use serde::{Deserialize, Serialize};

/// Rows of each sample of a data set of clicks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowAggregation {
    /// Drawn from the quantiles of the rules.
    #[default]
    Quantiles,
    /// The same number for each.
    Fixed(u32),
    /// Drawn uniformly.
    Uniform {
        /// Smallest number of rows.
        least: u32,
        /// Largest number of rows.
        most: u32,
    },
    /// Read from a file of the form that the reference writes: `start, end, count` on each line.
    Trace(PathBuf),
}

impl RowAggregation {
    /// Forms of the text that [`FromStr`] takes.
    pub const FORMS: &'static str =
        "quantiles, fixed:ROWS, uniform:LEAST-MOST with LEAST above 0, or trace:FILE";

    /// Returns whether the rules demand this. Any trace is assumed to be the one that the reference writes.
    #[must_use]
    pub fn is_of_the_rules(&self) -> bool {
        matches!(self, Self::Quantiles | Self::Trace(_))
    }
}

impl FromStr for RowAggregation {
    /// The text matches none of the [forms](RowAggregation::FORMS).
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let rows = |text: &str| text.parse().ok().filter(|rows| *rows > 0).ok_or(());
        match text.split_once(':') {
            None if text == "quantiles" => Ok(Self::Quantiles),
            Some(("fixed", count)) => Ok(Self::Fixed(rows(count)?)),
            Some(("uniform", range)) => {
                let (least, most) = range.split_once('-').ok_or(())?;
                let (least, most) = (rows(least)?, rows(most)?);
                if least <= most { Ok(Self::Uniform { least, most }) } else { Err(()) }
            }
            Some(("trace", path)) if !path.is_empty() => Ok(Self::Trace(path.into())),
            _ => Err(()),
        }
    }
}

impl fmt::Display for RowAggregation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Quantiles => f.write_str("quantiles"),
            Self::Fixed(rows) => write!(f, "fixed:{rows}"),
            Self::Uniform { least, most } => write!(f, "uniform:{least}-{most}"),
            Self::Trace(path) => write!(f, "trace:{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_read_and_written() {
        for text in ["quantiles", "fixed:300", "uniform:1-1", "uniform:100-700", "trace:/a/b:c"] {
            let rows: RowAggregation = text.parse().unwrap();
            assert_eq!(rows.to_string(), text);
            assert_eq!(rows.is_of_the_rules(), text.starts_with(['q', 't']), "{text}");
        }
        for text in [
            "",
            "fixed",
            "fixed:0",
            "fixed:-1",
            "uniform:0-5",
            "uniform:5-4",
            "uniform:5",
            "trace:",
            "quantiles:",
        ] {
            assert_eq!(text.parse::<RowAggregation>(), Err(()), "{text}");
        }
    }
}
