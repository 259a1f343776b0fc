//! `host scale`: batch size and instances under a latency target.

use clap::Args;
use proctor_bed::Interrupt;
use proctor_campaigns::{ScaleOptions, scale, scale_input};
use proctor_config::{Effective, Origin, Settings};
use proctor_display::Terminal;
use proctor_results::TargetChange;
use proctor_words::{Conclusion, HostError};

use super::run::RunFlags;
use crate::values::duration_ns;

/// Flags of scaling. The flags of a run choose the system; --batch-size and --instances are the maximum that a policy
/// may set, and --target-qps, as any other source of `server_target_qps`, makes samples arrive at that rate.
#[derive(Debug, Args)]
pub(crate) struct ScaleFlags {
    #[command(flatten)]
    pub(super) run: RunFlags,
    /// Change the latency target during the run, such as 30s=20ms; may be repeated
    #[arg(long, value_name = "TIME=LATENCY", value_parser = change)]
    slo_at: Vec<TargetChange>,
    /// Run several policies in turn and print a table; 64x3 is a fixed batch size and number of instances
    #[arg(long, value_name = "POLICIES", value_delimiter = ',', num_args = 0.., default_missing_value = COMPARED)]
    compare: Option<Vec<String>>,
    /// Number of passes through the policies, every second one in reverse; the table has medians
    #[arg(long, value_name = "COUNT", default_value_t = 1, requires = "compare",
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
}

/// The policies that are compared if none are named.
const COMPARED: &str = "clipper,dnnscaler,joint";

/// The policy if none is named.
const POLICY: &str = "joint";

/// Source of settings by default.
const IMPLIED: &str = "host scale";

/// The setting that is the rate of arrivals.
const RATE: &str = "server_target_qps";

/// Default running time of a policy, in ns.
const DURATION_NS: u64 = 60_000_000_000;

impl ScaleFlags {
    /// Scales the plugin.
    pub(super) fn run(&self) -> Result<Conclusion, HostError> {
        self.scale(&Interrupt::install(Terminal::observer())?)
    }

    /// Scales the plugin until this interrupt ends it.
    pub(crate) fn scale(&self, interrupt: &Interrupt) -> Result<Conclusion, HostError> {
        let mut settings = self.load()?;
        if self.compare.is_some() {
            leave_out_policy(&mut settings);
        }
        let policies = match &self.compare {
            Some(names) => names.clone(),
            None => vec![settings.run.policy.clone()],
        };
        let options = ScaleOptions {
            policies,
            rounds: self.rounds,
            duration_ns: self.run.duration.map_or(DURATION_NS, |ms| ms * 1_000_000),
            input: scale_input(&settings),
            target_changes: self.target_changes(),
        };
        scale(settings, &options, interrupt)
    }

    /// Returns the changes of the target in the order of time.
    fn target_changes(&self) -> Vec<TargetChange> {
        let mut changes = self.slo_at.clone();
        changes.sort_unstable();
        changes
    }

    /// Works as [`RunFlags::load`], with a policy that scales if none was given. Arrivals and their rate are
    /// Server's, for any named scenario, and the plugin takes batches.
    fn load(&self) -> Result<Settings, HostError> {
        let mut run = self.run.clone();
        if !run.settings.gives("scenario") {
            run.settings = run.settings.with("scenario", Some("Server"));
        }
        run.rate = Some(RATE);
        for assignment in &mut run.set {
            if let Some(("target_qps", rate)) =
                assignment.split_once('=').map(|(key, rate)| (key.trim(), rate))
            {
                *assignment = format!("{RATE}={rate}");
            }
        }
        let settings = run.load()?;
        run.bounded(&settings)
            .or_implied(&settings, IMPLIED, "policy", POLICY)
            .or_implied(&settings, IMPLIED, "issue", "false")
            .load()
    }
}

/// Removes the policy from the settings in effect where others are compared.
fn leave_out_policy(settings: &mut Settings) {
    let removed = settings.effective.remove("policy");
    if matches!(removed, Some(Effective { origin: Origin::Flag { flag }, .. }) if flag != IMPLIED) {
        let policy = &settings.run.policy;
        settings
            .warnings
            .push(format!("policy = {policy} has no effect with --compare, which names policies"));
    }
}

/// Parses the instant of a change of the target, and the new target.
fn change(text: &str) -> Result<TargetChange, String> {
    let (at, target) =
        text.split_once('=').ok_or_else(|| "give a time and a latency, such as 30s=20ms".to_owned())?;
    Ok(TargetChange { at_ns: duration_ns(at)?, target_ns: duration_ns(target)? })
}

pub(super) const SCALE_HELP: &str = "\
Examples:
  host scale --slo-ms 5
  host scale --slo-x 3 --plugin onnx --benchmark digits-cnn
  host scale --slo-ms 35 --tail 99 --plugin onnx --benchmark digits-cnn --policy dnnscaler
  host scale --slo-ms 35 --compare --duration 2m
  host scale --slo-ms 35 --compare clipper,dnnscaler,dnnscaler-algorithm,joint,oracle
  host scale --slo-ms 35 --compare joint,64x2,16x4 --rounds 5 --duration 20
  host scale --slo-ms 20 --target-qps 400 --arrivals gamma --arrivals-cv 3
  host scale --slo-ms 35 --slo-at 30s=20ms --approach multi-tenancy --instances 4
  host scale --slo-ms 20 --plugin mock --virtual-time --set mock.service=fixed \\
             --set mock.service_us=4000 --set mock.per_sample_us=100

Policies adjust the batch size and the number of instances while the plugin serves.
Without a rate, the next sample is always waiting and latency is the service time of a
batch. With --target-qps, or server_target_qps from any other source, samples arrive at
that rate and latency counts from their arrival.

--slo-x first measures the latency of one sample on one instance; the target is that
many times its mean.

Each decision prints a line to stdout, followed by the setting to use and its figures.
The folder holds scale.json, with every decision, its inputs and its reason, and a
picture of the run. See docs/scaling.md for the policies and how they compare.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_has_a_time_and_a_latency() {
        let expected = TargetChange { at_ns: 30_000_000_000, target_ns: 20_000_000 };
        assert_eq!(change("30s=20ms"), Ok(expected));
        for text in ["30s", "=", "30=20ms", "30s=0ms"] {
            assert!(change(text).is_err(), "{text}");
        }
    }
}
