//! Findings as in `result.json`.

use proctor_loadgen::{Finding, Limit, Remedy, Status, Unit};
use proctor_results::{Finding as FindingPart, LimitPart, RemedyPart, Status as StatusPart};

/// Returns a finding in the form of the file.
pub(super) fn finding_part(finding: &Finding) -> FindingPart {
    FindingPart {
        rule: finding.rule.name().to_owned(),
        standing: match finding.status {
            Status::Broken => StatusPart::Broken,
            Status::Limiting => StatusPart::Limiting,
            Status::Met => StatusPart::Met,
        },
        measured: finding.measured,
        bound: finding.bound,
        unit: finding.measured.map(|_| unit(finding.unit).to_owned()),
        ended_by: finding
            .ended_by
            .map(|Limit { setting, value }| LimitPart { setting: setting.to_owned(), value }),
        remedy: finding.remedy.as_ref().map(remedy_part),
        lift: finding.lift.iter().map(|&setting| setting.to_owned()).collect(),
        time_s: finding.time_ns.map(|time_ns| time_ns as f64 / 1e9),
        text: finding.to_string(),
    }
}

fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Ns => "ns",
        Unit::Queries => "queries",
        Unit::Samples => "samples",
        Unit::QueriesPerSecond => "queries/s",
    }
}

fn remedy_part(remedy: &Remedy) -> RemedyPart {
    let set = |setting: &str, value| RemedyPart::Set { setting: setting.to_owned(), value };
    match *remedy {
        Remedy::LowerRate { qps } => set("server_target_qps", qps),
        Remedy::SetOr { setting, value, .. } | Remedy::Set { setting, value } => set(setting, value as f64),
        Remedy::MoreQueries { fewest, total } => RemedyPart::MoreQueries {
            setting: "min_query_count".to_owned(),
            value: total,
            fewest_more: fewest,
        },
        Remedy::FasterSystem { alone_ns } => RemedyPart::FasterSystem { alone_ns },
        Remedy::MeetBoundFirst => RemedyPart::MeetBoundFirst,
        Remedy::Do(advice) => RemedyPart::Do { advice: advice.to_owned() },
    }
}
