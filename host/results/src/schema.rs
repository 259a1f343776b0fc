//! The form of `result.json`, a file for each part. What each key means is in docs/run-folder.md.
//!
//! A run fills these types, and every reader takes them. Fields are in the order of the keys in the file. A
//! new key has a default, so that results of earlier versions are read; if no reader needs it, a value of
//! another form reads as the default, too ([`or_default`]). A key that is removed or changes its meaning
//! raises the version of the file.

pub(crate) mod accuracy;
pub(crate) mod arrivals;
pub(crate) mod benchmark;
pub(crate) mod energy;
pub(crate) mod engine;
pub(crate) mod figures;
pub(crate) mod finding;
pub(crate) mod floor;
pub(crate) mod latency;
pub(crate) mod machine;
pub(crate) mod plugin;
pub(crate) mod scaling;
pub(crate) mod setting;
pub(crate) mod test;
pub(crate) mod tokens;
pub(crate) mod verdict;

use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::Value;

/// Reads a value that no reader needs: one of another form than this version writes reads as the default.
pub(crate) fn or_default<'de, T: DeserializeOwned + Default, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    let value = Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).unwrap_or_default())
}

/// Returns NaN for a missing number.
fn nan() -> f64 {
    f64::NAN
}

/// Reads a number, and null as NaN: JSON writes it for a number that is not finite.
fn or_nan<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(deserializer)?.unwrap_or(f64::NAN))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{
        finding::{Finding, RemedyPart},
        plugin::PluginPart,
        test::TestPart,
        *,
    };

    #[test]
    fn a_value_of_another_form_is_no_fault_where_no_reader_needs_it() {
        let plugin = |keys: Value| {
            let mut plugin = json!({"name": "p", "version": "1", "precision": "f32", "sha256": null});
            for (key, value) in keys.as_object().unwrap() {
                plugin[key] = value.clone();
            }
            serde_json::from_value::<PluginPart>(plugin)
        };
        let bare = plugin(json!({})).unwrap();
        assert_eq!((bare.model_files, bare.devices, bare.license.as_str()), (Vec::new(), Vec::new(), ""));
        let later = json!({"isolation": {"mode": "machine"}, "devices": 3, "metrics": {"x": {"mean": null}}});
        let later = plugin(later).unwrap();
        assert_eq!((later.isolation, later.devices), (None, Vec::new()));
        assert!(later.metrics.unwrap()["x"].mean.is_nan());
        assert!(plugin(json!({"options": 3})).is_err());
    }

    #[test]
    fn a_remedy_of_a_later_version_is_left_out() {
        let finding = |remedy: Value| {
            let finding = json!({"rule": "r", "standing": "broken", "text": "t", "remedy": remedy});
            serde_json::from_value::<Finding>(finding).unwrap().remedy
        };
        assert_eq!(finding(json!({"kind": "meet_bound_first"})), Some(RemedyPart::MeetBoundFirst));
        assert_eq!(finding(json!({"kind": "wait"})), None);
    }

    #[test]
    fn a_course_of_a_later_version_is_left_out() {
        let test = json!({
            "mode": "PerformanceOnly", "valid": true, "duration_ns": 1, "issued_query_count": 1,
            "issued_sample_count": 1, "scaling": {"policy": "joint", "goal": "as good as can be"},
        });
        assert_eq!(serde_json::from_value::<TestPart>(test).unwrap().scaling, None);
    }

    #[test]
    fn a_cause_of_noise_of_a_later_version_is_left_out() {
        let cause = |kind: &str| json!({"kind": kind, "value": 3, "threshold": 1, "unit": "count"});
        let causes = [cause("major_faults"), cause("interrupts")];
        let test = json!({
            "mode": "PerformanceOnly", "valid": true, "duration_ns": 1, "issued_query_count": 1,
            "issued_sample_count": 1,
            "noise": {"state": "noisy", "noisy_intervals": [{"begin_ns": 1, "end_ns": 2, "causes": causes}]},
        });
        let noise = serde_json::from_value::<TestPart>(test).unwrap().noise.unwrap();
        let kinds: Vec<_> = noise.noisy_intervals[0].causes.iter().map(|cause| cause.kind.name()).collect();
        assert_eq!(kinds, ["major_faults"]);
    }
}
