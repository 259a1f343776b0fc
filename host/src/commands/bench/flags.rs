//! The flags of `host bench harness`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use proctor_vocabulary::Scenario;

#[derive(Debug, Clone, Args)]
pub(crate) struct HarnessFlags {
    /// Measure only this scenario: SingleStream, MultiStream, Server or Offline
    #[arg(long)]
    pub(crate) scenario: Option<Scenario>,
    /// Server: rate at which to measure the issue delay; may be repeated [default: 1000, 10000, 100000]
    #[arg(long, value_name = "QPS", value_parser = rate)]
    pub(crate) rate: Vec<f64>,
    /// Number of repetitions; the table has medians [default: 5; 1 with --quick]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repetitions: Option<u32>,
    /// Measure only briefly, as a smoke test
    #[arg(long)]
    pub(crate) quick: bool,
    /// Run the plugin in its own process, and measure what that adds to a call
    #[arg(long, conflicts_with = "against")]
    pub(crate) isolate: bool,
    /// Alternate with the official LoadGen and show the ratios
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) against: Option<Opponent>,
    /// Python with the official package [default: the virtual environment's, or python3]
    #[arg(long, value_name = "PATH", requires = "against")]
    pub(crate) python: Option<PathBuf>,
    /// Write all figures to this file as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Print the table as Markdown, with the machine and the command
    #[arg(long)]
    pub(crate) markdown: bool,
}

/// Systems that the harness can be compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Opponent {
    /// The package mlcommons-loadgen
    Python,
}

impl HarnessFlags {
    /// Returns how often everything is measured.
    pub(crate) fn repetition_count(&self) -> u32 {
        self.repetitions.unwrap_or(if self.quick { 1 } else { 5 })
    }

    /// Returns the rates for the dispatch error.
    pub(crate) fn rates(&self) -> Vec<f64> {
        if self.rate.is_empty() { vec![1e3, 1e4, 1e5] } else { self.rate.clone() }
    }
}

/// Returns a rate of arrivals that the clock can resolve.
fn rate(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(rate) if (1.0..=1e7).contains(&rate) => Ok(rate),
        _ => Err("give queries per second, from 1 to 10000000".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_bounded() {
        assert_eq!(rate("1000"), Ok(1000.0));
        for text in ["0", "-1", "1e9", "many", "NaN"] {
            assert!(rate(text).is_err(), "{text}");
        }
    }
}
