//! A plan in words.

use crate::{Machine, ModelPlan, plan::PlanOrigin};

/// One line: where the schedules come from and how long that took.
#[must_use]
pub fn summary(plan: &ModelPlan) -> String {
    let ms = |time: std::time::Duration| format!("{:.1} ms", time.as_secs_f64() * 1e3);
    match &plan.origin {
        PlanOrigin::Cached(path) => format!(
            "plan loaded in {} from {} (calibrated in {})",
            ms(plan.taken),
            path.display(),
            ms(plan.calibration)
        ),
        PlanOrigin::Calibrated(Some(path)) => {
            format!("plan calibrated in {}, kept in {}", ms(plan.calibration), path.display())
        }
        PlanOrigin::Calibrated(None) => format!("plan calibrated in {}, not kept", ms(plan.calibration)),
        PlanOrigin::Analytic => format!("plan computed in {}, nothing measured", ms(plan.taken)),
    }
}

/// The whole plan.
#[must_use]
pub fn explain(plan: &ModelPlan, machine: &Machine) -> String {
    format!("machine: {}\n{}\n", machine.identity(), summary(plan))
}
