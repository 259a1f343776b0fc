//! The policies by name.

use crate::{
    goal::Approach,
    policies::{
        clipper::Clipper,
        dnnscaler::{DnnScaler, DnnScalerSettings, Variant},
        joint::Joint,
        oracle::Oracle,
    },
    policy::ScalingPolicy,
};

/// A policy by name.
#[derive(Debug)]
pub struct PolicyEntry {
    /// The name in settings, in kebab case.
    pub name: &'static str,
    /// One sentence for lists.
    pub help: &'static str,
    /// Turnable knobs: with [`Approach::Auto`] either of them.
    pub turns: Approach,
    /// Creates the policy. Only `dnnscaler` reads the settings.
    pub make: fn(DnnScalerSettings) -> Box<dyn ScalingPolicy>,
}

/// All policies, sorted by name.
pub const POLICIES: &[PolicyEntry] = &[
    PolicyEntry {
        name: "clipper",
        help: "batches grow by 4 until the tail is above the target, and shrink by 10 %",
        turns: Approach::Batching,
        make: |_| Box::new(Clipper::default()),
    },
    PolicyEntry {
        name: "dnnscaler",
        help: "batching or multi-tenancy by a profile, then a search on that axis",
        turns: Approach::Auto,
        make: |settings| Box::new(DnnScaler::new(settings)),
    },
    PolicyEntry {
        name: "dnnscaler-algorithm",
        help: "dnnscaler by its Algorithm 1, on windows; it may go to and fro for ever",
        turns: Approach::Auto,
        make: |settings| {
            Box::new(DnnScaler::new(DnnScalerSettings { variant: Variant::Algorithm, ..settings }))
        },
    },
    PolicyEntry {
        name: "joint",
        help: "batch size and instances together, by a model that every window improves",
        turns: Approach::Auto,
        make: |_| Box::new(Joint::default()),
    },
    PolicyEntry {
        name: "oracle",
        help: "measures a whole grid and takes the best, to judge the others by",
        turns: Approach::Auto,
        make: |_| Box::new(Oracle::default()),
    },
];
