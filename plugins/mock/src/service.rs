//! How long the device that is missing takes.

use std::{fmt, path::Path, time::Duration};

use proctor_plugin_api::{OptionSpec, Options, PluginError};
use rand_distr::{Distribution, LogNormal, Normal, StandardNormal, Uniform};

use crate::{
    option_value::required,
    random::{Keyed, Use},
    table::Table,
};

/// The service time of a batch: a draw for the batch, and an addition for each of its samples.
#[derive(Debug, Clone)]
pub(crate) struct Service {
    seed: u64,
    of_batch: OfBatch,
    per_sample_us: f64,
}

/// The part that is drawn once for a batch, in microseconds.
#[derive(Debug, Clone)]
enum OfBatch {
    Null,
    Fixed(f64),
    Uniform(Uniform<f64>),
    Normal(Normal<f64>),
    LogNormal(LogNormal<f64>),
    Correlated(Correlated),
    Table { mean_us: Table, tail: Option<Table> },
}

/// Log-normal times whose logarithms are a stationary autoregressive sequence: each has this correlation with the one
/// before.
#[derive(Debug, Clone, Copy)]
struct Correlated {
    median_us: f64,
    sigma: f64,
    correlation: f64,
}

impl Correlated {
    /// Returns the time of a draw: a weighted sum of the normal numbers of this draw and of those before it, so that it
    /// has no state. It ends where the weights are below a thousandth.
    fn time_us(&self, seed: u64, draw: Draw) -> f64 {
        let (mut weight, mut sum, mut squares, mut number) = (1.0_f64, 0.0, 0.0, draw.number);
        while weight > 1e-3 {
            let random = &mut Keyed::new(seed, Use::Service, draw.stream, number);
            let normal: f64 = StandardNormal.sample(random);
            sum += weight * normal;
            squares += weight * weight;
            weight *= self.correlation;
            // The first draws have others before them, too.
            number = number.wrapping_sub(1);
        }
        self.median_us * (self.sigma * sum / squares.sqrt()).exp()
    }
}

/// Position of a batch's random number: a number within a stream. Each instance has a stream, and so has issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Draw {
    stream: u64,
    number: u64,
}

impl Draw {
    pub(crate) fn of_instance(instance_index: u32) -> Self {
        Self { stream: instance_index.into(), number: 0 }
    }

    pub(crate) fn of_issue() -> Self {
        Self { stream: u64::MAX, number: 0 }
    }

    /// Returns this draw and steps to the next one of the stream.
    pub(crate) fn advance(&mut self) -> Self {
        let next = Self { number: self.number + 1, ..*self };
        std::mem::replace(self, next)
    }
}

/// Longest time that an option can ask for, in microseconds: an hour.
const LONGEST_US: f64 = 3.6e9;

impl Service {
    pub(crate) fn options() -> Vec<OptionSpec> {
        let time = |name, default, help| OptionSpec::float(name, default, 0.0..=LONGEST_US, help);
        vec![
            OptionSpec::choice(
                "service",
                &["null", "fixed", "uniform", "normal", "log-normal", "table"],
                "How the time of a batch comes about; null takes none.",
            ),
            time(
                "service_us",
                1000.0,
                "Time of fixed, mean of normal, median of log-normal, in microseconds.",
            ),
            time("service_min_us", 500.0, "Shortest time of uniform, in microseconds."),
            time("service_max_us", 1500.0, "Longest time of uniform, in microseconds."),
            time("service_sigma_us", 100.0, "Standard deviation of normal, in microseconds."),
            OptionSpec::float(
                "service_sigma",
                0.5,
                0.0..=10.0,
                "Standard deviation of the logarithm of log-normal, which has no unit.",
            ),
            OptionSpec::float(
                "service_correlation",
                0.0,
                0.0..=0.99,
                "Correlation of the logarithm of log-normal with that of the batch before, of the same instance.",
            ),
            OptionSpec::path("table", "CSV file with latency[batch][instances] in microseconds, for table."),
            OptionSpec::path(
                "table_tail",
                "CSV file with the 95th percentile over the mean of log-normal times around those of table.",
            ),
            time("per_sample_us", 0.0, "Time that each sample of a batch adds, in microseconds."),
        ]
    }

    pub(crate) fn open(seed: u64, options: &Options) -> Result<Self, PluginError> {
        let number = |name| required(name, options.float(name));
        let of_batch = match required("service", options.text("service"))? {
            "fixed" => OfBatch::Fixed(number("service_us")?),
            "uniform" => uniform(number("service_min_us")?, number("service_max_us")?)?,
            "normal" => Normal::new(number("service_us")?, number("service_sigma_us")?)
                .map(OfBatch::Normal)
                .map_err(|error| PluginError::invalid_argument(format!("service normal: {error}")))?,
            "log-normal" if number("service_correlation")? > 0.0 => OfBatch::Correlated(Correlated {
                median_us: number("service_us")?,
                sigma: number("service_sigma")?,
                correlation: number("service_correlation")?,
            }),
            "log-normal" => LogNormal::new(number("service_us")?.ln(), number("service_sigma")?)
                .map(OfBatch::LogNormal)
                .map_err(|error| PluginError::invalid_argument(format!("service log-normal: {error}")))?,
            "table" => {
                let path = options.path("table").ok_or_else(|| {
                    PluginError::invalid_argument(
                        "service is table, but there is no file: set table to a path",
                    )
                })?;
                OfBatch::Table {
                    mean_us: Table::read(path)?,
                    tail: options.path("table_tail").map(tail).transpose()?,
                }
            }
            _ => OfBatch::Null,
        };
        Ok(Self { seed, of_batch, per_sample_us: number("per_sample_us")? })
    }

    /// Returns whether no batch takes any time.
    pub(crate) fn is_null(&self) -> bool {
        matches!(self.of_batch, OfBatch::Null) && self.per_sample_us == 0.0
    }

    /// Returns the service time of one batch: from 0 to an hour, and the same for the same draw, batch and
    /// `busy_instances`, which counts the instances that are serving, this one included, and matters to a table only.
    pub(crate) fn time(&self, draw: Draw, sample_count: usize, busy_instances: u32) -> Duration {
        if self.is_null() {
            return Duration::ZERO;
        }
        let random = &mut Keyed::new(self.seed, Use::Service, draw.stream, draw.number);
        let batch_us = match &self.of_batch {
            OfBatch::Null => 0.0,
            OfBatch::Fixed(time_us) => *time_us,
            OfBatch::Uniform(uniform) => uniform.sample(random),
            OfBatch::Normal(normal) => normal.sample(random),
            OfBatch::LogNormal(log_normal) => log_normal.sample(random),
            OfBatch::Correlated(correlated) => correlated.time_us(self.seed, draw),
            OfBatch::Table { mean_us, tail } => {
                let mean_us = mean_us.at(sample_count, busy_instances);
                let ratio = tail.as_ref().map_or(1.0, |tail| tail.at(sample_count, busy_instances));
                if ratio > 1.0 { mean_us * log_normal_of_mean_1(ratio, random) } else { mean_us }
            }
        };
        // Exact, as no batch has 2^32 samples; one that did would take the longest time.
        let samples = u32::try_from(sample_count).map_or(f64::MAX, f64::from);
        // A normal draw may lie below 0. No draw is NaN, because all options are finite.
        let time_us = self.per_sample_us.mul_add(samples, batch_us).clamp(0.0, LONGEST_US);
        Duration::from_secs_f64(time_us / 1e6)
    }
}

/// The 95th percentile of the standard normal distribution.
const Z_95: f64 = 1.644_853_626_951_472_7;

/// Returns the largest 95th percentile over the mean that a log-normal distribution has: e^(z^2 / 2), at a spread of z.
/// A wider one has more of its mean beyond the percentile.
fn tail_ratio_max() -> f64 {
    (Z_95 * Z_95 / 2.0).exp()
}

/// Reads ratios of the 95th percentile to the mean.
fn tail(path: &Path) -> Result<Table, PluginError> {
    let table = Table::read(path)?;
    let is_ratio = |ratio: &&f64| (1.0..=tail_ratio_max()).contains(*ratio);
    match table.figures().iter().find(|ratio| !is_ratio(ratio)) {
        None => Ok(table),
        Some(ratio) => Err(PluginError::invalid_argument(format!(
            "{} has {ratio} for the 95th percentile over the mean, which log-normal times have from 1 to {:.3} only: \
             change it, or leave table_tail out",
            path.display(),
            tail_ratio_max()
        ))),
    }
}

/// Returns a draw from the log-normal distribution of mean 1 whose 95th percentile is `ratio`.
///
/// The spread s has ln(ratio) = z s - s^2 / 2, which two values solve; the smaller one is taken.
fn log_normal_of_mean_1(ratio: f64, random: &mut Keyed) -> f64 {
    let spread = Z_95 - (Z_95 * Z_95 - 2.0 * ratio.ln()).max(0.0).sqrt();
    let normal: f64 = StandardNormal.sample(random);
    (spread * normal - spread * spread / 2.0).exp()
}

fn uniform(min_us: f64, max_us: f64) -> Result<OfBatch, PluginError> {
    Uniform::new_inclusive(min_us, max_us).map(OfBatch::Uniform).map_err(|_| {
        PluginError::invalid_argument(format!(
            "service_min_us is {min_us}, above service_max_us, which is {max_us}: exchange them"
        ))
    })
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.of_batch {
            OfBatch::Null => f.write_str("null")?,
            OfBatch::Fixed(time_us) => write!(f, "fixed, {time_us} us")?,
            OfBatch::Uniform(_) => f.write_str("uniform")?,
            OfBatch::Normal(normal) => write!(f, "normal, {} +- {} us", normal.mean(), normal.std_dev())?,
            OfBatch::LogNormal(_) => f.write_str("log-normal")?,
            OfBatch::Correlated(Correlated { correlation, .. }) => {
                write!(f, "log-normal with a correlation of {correlation}")?;
            }
            OfBatch::Table { tail: None, .. } => f.write_str("table")?,
            OfBatch::Table { tail: Some(_), .. } => f.write_str("table with tail")?,
        }
        if self.per_sample_us > 0.0 { write!(f, " and {} us a sample", self.per_sample_us) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugin::tests::options;

    const DRAWS: u32 = 20_000;

    fn service(given: &[(&str, &str)]) -> Service {
        Service::open(7, &options(given)).unwrap()
    }

    /// The service times of the first batches of one sample of instance 0, in microseconds, ascending.
    fn times_us(service: &Service) -> Vec<f64> {
        let mut draw = Draw::of_instance(0);
        let mut times: Vec<f64> =
            (0..DRAWS).map(|_| service.time(draw.advance(), 1, 1).as_secs_f64() * 1e6).collect();
        times.sort_by(f64::total_cmp);
        times
    }

    fn mean(times: &[f64]) -> f64 {
        times.iter().sum::<f64>() / f64::from(DRAWS)
    }

    fn quantile(times: &[f64], per_mille: usize) -> f64 {
        times[times.len() * per_mille / 1000]
    }

    #[test]
    fn null_and_fixed_are_exact_and_samples_add() {
        let draw = Draw::of_instance(0);
        assert_eq!(service(&[]).time(draw, 8, 1), Duration::ZERO);
        assert_eq!(service(&[("per_sample_us", "2.5")]).time(draw, 8, 1), Duration::from_micros(20));
        let fixed = service(&[("service", "fixed"), ("service_us", "100.001"), ("per_sample_us", "10")]);
        assert_eq!(fixed.time(draw, 1, 1).as_nanos(), 110_001);
        assert_eq!(fixed.time(draw, 3, 9).as_nanos(), 130_001);
    }

    // The bounds below are more than five standard errors of 20,000 draws wide.

    #[test]
    fn uniform_fills_its_range() {
        let uniform = [("service", "uniform"), ("service_min_us", "100"), ("service_max_us", "300")];
        let times = times_us(&service(&uniform));
        assert!(times[0] >= 100.0 && times[0] < 101.0);
        assert!(times[times.len() - 1] <= 300.0 && times[times.len() - 1] > 299.0);
        assert!((mean(&times) - 200.0).abs() < 2.5);
        assert!((quantile(&times, 250) - 150.0).abs() < 4.0);
    }

    #[test]
    fn normal_has_its_mean_and_deviation_and_is_never_negative() {
        let times = times_us(&service(&[("service", "normal"), ("service_sigma_us", "50")]));
        assert!((mean(&times) - 1000.0).abs() < 2.0);
        let variance = times.iter().map(|time| (time - 1000.0).powi(2)).sum::<f64>() / f64::from(DRAWS);
        assert!((variance.sqrt() - 50.0).abs() < 1.5);
        let wide = times_us(&service(&[("service", "normal"), ("service_us", "0")]));
        assert_eq!((wide[0], quantile(&wide, 400)), (0.0, 0.0));
        assert!(quantile(&wide, 600) > 0.0);
    }

    #[test]
    fn log_normal_has_its_median_and_tail() {
        let times = times_us(&service(&[("service", "log-normal"), ("service_us", "200")]));
        assert!((quantile(&times, 500) - 200.0).abs() < 5.0);
        // The quantile 0.8413 lies one deviation of 0.5 above the median: 200 * e^0.5.
        assert!((quantile(&times, 841) - 329.7).abs() < 10.0);
        let nothing =
            times_us(&service(&[("service", "log-normal"), ("service_us", "0"), ("service_sigma", "10")]));
        assert_eq!(nothing[nothing.len() - 1], 0.0);
    }

    #[test]
    fn correlated_times_have_the_same_distribution_and_follow_each_other() {
        let options = |correlation| {
            service(&[("service", "log-normal"), ("service_us", "200"), ("service_correlation", correlation)])
        };
        let in_order = |service: &Service| -> Vec<f64> {
            let mut draw = Draw::of_instance(0);
            (0..DRAWS).map(|_| (service.time(draw.advance(), 1, 1).as_secs_f64() * 5e3).ln()).collect()
        };
        let logs = in_order(&options("0.8"));
        // The sum of all correlations is 9, so that they carry as much information as 2200 independent ones.
        assert!(mean(&logs).abs() < 0.06, "{}", mean(&logs));
        let variance = logs.iter().map(|log| log * log).sum::<f64>() / f64::from(DRAWS);
        assert!((variance - 0.25).abs() < 0.04, "{variance}");
        let neighbours: f64 = logs.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>() / f64::from(DRAWS);
        assert!((neighbours / variance - 0.8).abs() < 0.03, "{neighbours}");
        // Without correlation the times stay as they were.
        let plain = service(&[("service", "log-normal"), ("service_us", "200")]);
        assert_eq!(in_order(&options("0")), in_order(&plain));
        assert_eq!(options("0.8").to_string(), "log-normal with a correlation of 0.8");
    }

    #[test]
    fn a_draw_depends_on_seed_instance_and_number_alone() {
        let [a, b] = [7, 8].map(|seed| Service::open(seed, &options(&[("service", "uniform")])).unwrap());
        let mut first = Draw::of_instance(0);
        let third = [first.advance(), first.advance(), first.advance()][2];
        let expected = a.time(third, 1, 1);
        a.time(Draw::of_instance(5), 1, 1);
        assert_eq!(a.time(third, 1, 1), expected);
        assert_eq!(a.time(third, 4, 2), expected);
        assert_ne!(b.time(third, 1, 1), expected);
        let mut second = Draw::of_instance(1);
        assert_ne!(a.time([second.advance(), second.advance(), second.advance()][2], 1, 1), expected);
    }

    #[test]
    fn a_table_looks_at_batch_and_busy_instances() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("latency.csv");
        std::fs::write(&path, "batch,1,2\n1,10,20\n4,30,40\n").unwrap();
        let table =
            service(&[("service", "table"), ("table", path.to_str().unwrap()), ("per_sample_us", "1")]);
        let time_us = |samples, busy| table.time(Draw::of_instance(0), samples, busy).as_micros();
        assert_eq!((time_us(1, 1), time_us(1, 2), time_us(3, 1), time_us(9, 9)), (11, 21, 26, 49));
    }

    #[test]
    fn a_tail_spreads_the_times_of_a_table_around_their_mean() {
        let folder = tempfile::tempdir().unwrap();
        let (means, tail) = (folder.path().join("latency.csv"), folder.path().join("tail.csv"));
        std::fs::write(&means, "batch,1\n1,1000\n").unwrap();
        let with = |ratio: &str| {
            std::fs::write(&tail, format!("batch,1\n1,{ratio}\n")).unwrap();
            let given = [
                ("service", "table"),
                ("table", means.to_str().unwrap()),
                ("table_tail", tail.to_str().unwrap()),
            ];
            Service::open(7, &options(&given)).map_err(|error| error.message)
        };
        let times = times_us(&with("1.64").unwrap());
        // The spread is 0.3346: five standard errors of the mean are 12, of the 95th percentile 41.
        assert!((mean(&times) - 1000.0).abs() < 12.0);
        assert!((quantile(&times, 950) - 1640.0).abs() < 41.0);
        let constant = times_us(&with("1").unwrap());
        assert!(constant.iter().all(|time| *time == 1000.0));
        for ratio in ["0.9", "3.9"] {
            let message = with(ratio).unwrap_err();
            assert!(message.contains(&format!("tail.csv has {ratio} for the 95th percentile")), "{message}");
            assert!(message.contains("from 1 to 3.868 only"), "{message}");
        }
        // The largest that there is.
        assert!(with("3.868").is_ok());
    }

    #[test]
    fn a_reversed_range_is_refused() {
        let given = [("service", "uniform"), ("service_min_us", "9"), ("service_max_us", "8")];
        let error = Service::open(0, &options(&given)).unwrap_err();
        assert!(error.message.contains("service_min_us is 9, above service_max_us, which is 8"));
    }
}
