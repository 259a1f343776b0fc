//! `host explain`: shows every setting, its value, its origin, and the values that it replaces; and a run's
//! remarks on them before it begins.

use proctor_config::{Deviation, Effective, ExplainRow, NotOfficial, Settings, percent};
use proctor_display::print;
use proctor_run::{arrivals_remark, settings_of_run, warnings::refuse_if_strict};
use proctor_vocabulary::printable;
use proctor_words::{Conclusion, HostError, text};

use super::run::RunFlags;

pub(super) const EXPLAIN_HELP: &str = "\
Examples:
  host explain
  host explain --scenario Server --set target_latency=15 --user-conf user.conf

The plugin is not loaded. Its options are shown but not checked, and a precision
that you leave out stays unknown; host describe PLUGIN lists the options.

With --strict, warnings become errors as in a run, with exit code 2.";

/// Prints the text for the settings of these flags, and refuses them if a strict run would, as far as this is known
/// without data set and plugin.
pub(super) fn explain(flags: &RunFlags) -> Result<Conclusion, HostError> {
    let settings = settings_of_run(flags.load()?)?;
    print(explanation(&settings));
    refuse_if_strict(&settings)?;
    Ok(Conclusion::Good)
}

/// The seeds of a run with test05, whose rows belong to a run without.
const TEST05_SEEDS: &str =
    "note: test05 runs with its own seeds, test05_*_rng_seed, in place of those above\n";

/// Returns how a run departs from the rules, as far as the settings show: the plugin chooses the precision,
/// unless the user does.
fn deviations(settings: &Settings) -> Vec<Deviation> {
    let precision = settings.run.precision.as_deref();
    let mut deviations = settings.deviations(precision.unwrap_or_default());
    deviations.retain(|deviation| precision.is_some() || !matches!(deviation, Deviation::Precision { .. }));
    deviations
}

fn explanation(settings: &Settings) -> String {
    let header = ["setting", "value", "unit", "origin", "replaces"].map(str::to_owned).to_vec();
    let rows: Vec<_> = [header].into_iter().chain(settings.explain().iter().map(row)).collect();
    let not_official = |why: NotOfficial| format!("not official ({why})");
    let length = settings.not_official().map_or_else(|| "official".to_owned(), not_official);
    let deviations: Vec<_> = deviations(settings).iter().map(ToString::to_string).collect();
    let deviations = match deviations.as_slice() {
        [] => String::new(),
        texts => format!("deviates from {}: {}\n", settings.run.rules, printable(texts.join("; "))),
    };
    let remark = arrivals_remark(settings);
    let mut note = remark.map_or_else(String::new, |remark| format!("note: {}\n", printable(remark)));
    if settings.test.test05 {
        note.push_str(TEST05_SEEDS);
    }
    let quality = &settings.benchmark.quality;
    let mut text = format!(
        "{}\nlength of the run: {length}\n{deviations}{note}accuracy target: {} of at least {:.5}, {} % of {:.5}, {}\n",
        text::table(&rows),
        quality.metric,
        quality.target(),
        percent(quality.target_ratio),
        quality.reference,
        settings.quality_origin
    );
    for warning in &settings.warnings {
        text.push_str(&format!("warning: {}\n", printable(warning)));
    }
    text
}

fn row(row: &ExplainRow<'_>) -> Vec<String> {
    let Effective { value, origin, overridden } = row.effective;
    let replaced = overridden.iter().map(|replaced| format!("{} ({})", replaced.value, replaced.origin));
    vec![
        row.key.to_owned(),
        value.to_string(),
        row.unit.to_owned(),
        origin.to_string(),
        replaced.collect::<Vec<_>>().join(", "),
    ]
}

#[cfg(test)]
mod tests {
    use proctor_config::Loader;

    use super::*;

    #[test]
    fn a_row_tells_value_origin_and_what_was_replaced() {
        let settings = Loader::new().set("batch_size=8").set("mock.sigma=2").load().unwrap();
        let text = explanation(&settings);
        let line = |key: &str| {
            let found = text.lines().find(|line| line.split_whitespace().next() == Some(key));
            found.unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(line("batch_size"), "batch_size 8 flag --set batch_size 1 (default)");
        assert_eq!(line("mock.sigma"), "mock.sigma 2 flag --set mock.sigma");
        let end = "length of the run: not official (preset quick)\ndeviates from v5.0: the round has no benchmark \
                   digits-lstm\naccuracy target: top1 of at least 0.96525, 99 % of 0.97500, \
                   benchmark digits-lstm (digits-lstm.toml)\n";
        assert!(text.ends_with(end), "{text}");
    }

    #[test]
    fn what_a_run_would_say_is_said() {
        let of = |assignments: &[&str]| {
            let loader = Loader::new().set("benchmark=resnet50").set("preset=official");
            let loader = loader.set_all(assignments);
            settings_of_run(loader.load().unwrap()).map(|settings| explanation(&settings))
        };
        let plain = of(&[]).unwrap();
        assert!(plain.contains("length of the run: official\n") && !plain.contains("deviates"), "{plain}");
        let edge = of(&["scenario=Server", "suite=edge"]).unwrap();
        assert!(
            edge.contains("deviates from v5.0: the round's suite edge has no Server for resnet50"),
            "{edge}"
        );
        let search = of(&["scenario=Server", "mode=FindPeakPerformance"]).unwrap();
        assert!(search.contains("length of the run: not official (a search for the peak)\n"), "{search}");
        let gamma = of(&["scenario=Server", "arrivals=gamma", "arrivals_cv=3"]).unwrap();
        assert!(gamma.contains("\nnote: arrivals are gamma (") && !plain.contains("\nnote: "), "{gamma}");
        assert!(
            gamma.contains("), and the rules want poisson: for comparing runs of your own only\naccuracy"),
            "{gamma}"
        );
        assert!(of(&["test05=true"]).unwrap().contains(TEST05_SEEDS) && !plain.contains("test05 runs"));
        let vain = of(&["server_run_count=3"]).unwrap();
        assert!(vain.ends_with("warning: server_run_count has no effect in SingleStream\n"), "{vain}");

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.config");
        let named = format!("audit_config={}", path.display());
        let missing = of(&[&named]).unwrap_err().to_string();
        assert!(missing.contains("audit.config: cannot read it"), "{missing}");
        std::fs::write(&path, "*.*.min_query_count = 7\n").unwrap();
        let audit = of(&[&named]).unwrap();
        assert!(audit.contains("length of the run: not official (an audit)\n"), "{audit}");
        assert!(audit.contains("makes an audit of the run"), "{audit}");
        let is_count = |line: &&str| line.split_whitespace().next() == Some("min_query_count");
        let row = audit.lines().find(is_count).unwrap();
        assert!(row.contains(" 7 ") && row.contains("audit.config"), "{row}");
    }
}
