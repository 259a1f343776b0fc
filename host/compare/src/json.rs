//! A comparison for programs.

use serde_json::{Value, json};

use crate::{
    comparison::{Comparison, Row},
    condition::Condition,
};

/// Version of the form.
const SCHEMA_VERSION: u32 = 1;

impl Comparison {
    /// Returns the whole comparison, with the verdicts on conditions: null if the samples do not decide.
    /// `obstacle` says why all of them fail, if they do.
    #[must_use]
    pub fn json(&self, conditions: &[(Condition, Option<bool>)]) -> Value {
        let side = |(name, runs): &(String, usize)| json!({"folder": name, "run_count": runs});
        let judged = conditions
            .iter()
            .map(|(condition, fails)| json!({"condition": condition.to_string(), "fails": fails}));
        json!({
            "schema_version": SCHEMA_VERSION,
            "a": side(&self.a),
            "b": side(&self.b),
            "confidence": self.method.confidence,
            "seed": self.method.seed,
            "differences": self.differences,
            "figures": self.rows.iter().map(Row::json).collect::<Vec<_>>(),
            "shifts": self.shifts.iter().map(Row::json).collect::<Vec<_>>(),
            "conditions": judged.collect::<Vec<_>>(),
            "obstacle": self.obstacle(),
            "remarks": self.remarks.iter().map(|remark| json!({"kind": remark.kind(), "text": remark.to_string()}))
                .collect::<Vec<_>>(),
        })
    }
}

impl Row {
    fn json(&self) -> Value {
        json!({
            "figure": self.figure.to_string(),
            "unit": self.figure.unit(),
            "a": self.a,
            "b": self.b,
            "change": self.change,
            "low": self.interval.map(|(low, _)| low),
            "high": self.interval.map(|(_, high)| high),
            "floor_ns": self.floor_ns,
            "verdict": self.verdict,
            "text": self.sentence(),
        })
    }
}
