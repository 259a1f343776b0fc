//! The figures that a round judges the answers by.

/// A figure with its bounds.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Name of the target, which equals the name of the metric that measures it here.
    pub name: String,
    /// Unit of the values.
    pub unit: Unit,
    /// The values that pass.
    pub bound: FigureBound,
}

/// Unit of a figure as the rules state it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// The number itself.
    Plain,
    /// Percent, in the rules and in the metric.
    Percent,
    /// Percent in the rules, and the fraction in the metric.
    PercentAsFraction,
}

/// The values of a figure that pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FigureBound {
    /// At least the share of the reference that is the target of the result.
    Target {
        /// Value of the reference implementation.
        reference: f64,
    },
    /// A range between fixed shares of the reference.
    Shares {
        /// Value of the reference implementation.
        reference: f64,
        /// Minimum share.
        at_least: Option<f64>,
        /// Maximum share.
        at_most: Option<f64>,
    },
    /// A range between fixed values.
    Values {
        /// Minimum value.
        at_least: Option<f64>,
        /// Maximum value.
        at_most: Option<f64>,
    },
}

impl Unit {
    /// Returns the value of this host's metric for a stated one.
    #[must_use]
    pub fn of_metric(self, stated: f64) -> f64 {
        match self {
            Self::Plain | Self::Percent => stated,
            Self::PercentAsFraction => stated / 100.0,
        }
    }

    /// Returns the value with the unit, for people.
    #[must_use]
    pub fn shown(self, value: f64) -> String {
        match self {
            Self::Plain => value.to_string(),
            Self::Percent | Self::PercentAsFraction => format!("{value} %"),
        }
    }
}

impl Figure {
    /// Returns the minimum passing value, in the rules' unit, for a result that aims at `ratio` of the reference.
    #[must_use]
    pub fn at_least(&self, ratio: f64) -> Option<f64> {
        match self.bound {
            FigureBound::Target { reference } => Some(reference * ratio),
            FigureBound::Shares { reference, at_least, .. } => at_least.map(|share| reference * share),
            FigureBound::Values { at_least, .. } => at_least,
        }
    }

    /// Returns the greatest value that passes, in the unit of the rules.
    #[must_use]
    pub fn at_most(&self) -> Option<f64> {
        match self.bound {
            FigureBound::Target { .. } => None,
            FigureBound::Shares { reference, at_most, .. } => at_most.map(|share| reference * share),
            FigureBound::Values { at_most, .. } => at_most,
        }
    }

    /// Returns the bounds for the user, if a result may aim at these shares: `99 % of 76.46 %`.
    #[must_use]
    pub fn shown(&self, ratios: &[f64]) -> String {
        let between = |least: Option<String>, most: Option<String>| match (least, most) {
            (Some(least), Some(most)) => format!("{least} to {most}"),
            (Some(least), None) => format!("at least {least}"),
            (None, Some(most)) => format!("at most {most}"),
            (None, None) => "any".to_owned(),
        };
        match self.bound {
            FigureBound::Target { reference } => {
                let shares: Vec<_> = ratios.iter().map(|ratio| format!("{} %", percent(*ratio))).collect();
                format!("{} of {}", shares.join(" or "), self.unit.shown(reference))
            }
            FigureBound::Shares { reference, at_least, at_most } => {
                let share = |share: f64| format!("{} %", percent(share));
                let range = between(at_least.map(share), at_most.map(share));
                format!("{range} of {}", self.unit.shown(reference))
            }
            FigureBound::Values { at_least, at_most } => {
                let value = |value| self.unit.shown(value);
                between(at_least.map(value), at_most.map(value))
            }
        }
    }
}

/// Returns a fraction in percent, without the dust that a product with 100 leaves at the end.
#[must_use]
pub fn percent(fraction: f64) -> f64 {
    (fraction * 1e8).round() / 1e6
}
