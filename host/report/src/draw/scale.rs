//! Turns values into places along an axis, and the ticks there.

use crate::number::{percent, round, round_duration};

/// Number of decades above which a logarithmic axis has ticks at powers of ten alone.
const DECADES_ALONE: f64 = 2.4;
/// Maximum number of decades of a logarithmic axis; lower values lie at its low end.
const DECADES_MAX: i32 = 20;
/// Range of an axis that fits its values. A wider one would end at 0 or infinity and have ticks without number; a value
/// beyond it is drawn at its end.
const EXTREMES: [f64; 2] = [1e-290, 1e290];
/// Maximum number of labels on the narrowest page.
const LABELS_MAX: usize = 5;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tick {
    pub(crate) value: f64,
    pub(crate) label: String,
    /// True if the label is left out on a narrow page.
    pub(crate) is_spare: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scale {
    kind: Kind,
    low: f64,
    high: f64,
    /// Ticks, ascending, within the scale.
    pub(crate) ticks: Vec<Tick>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Linear,
    Log,
}

/// Formatter of a tick's value.
pub(crate) type Label = fn(f64) -> String;

impl Scale {
    /// Creates a linear scale from 0 to a value at least, with about `count` ticks.
    pub(crate) fn from_zero(most: f64, count: usize, label: Label) -> Self {
        let most = if most.is_finite() && most > 0.0 { most.min(EXTREMES[1]) } else { 1.0 };
        let step = round_step(most / count.max(1) as f64);
        let high = (most / step - 1e-9).ceil().max(1.0) * step;
        Self::with_steps(high, step, label)
    }

    /// Creates a linear scale of whole numbers from 0.
    pub(crate) fn whole(most: f64, count: usize) -> Self {
        let step = round_step(most / count.max(1) as f64).max(1.0);
        let high = (most / step - 1e-9).ceil().max(1.0) * step;
        Self::with_steps(if high.is_finite() { high } else { 1.0 }, step, round)
    }

    /// Creates a linear scale of time from 0 to just this many ns.
    pub(crate) fn time(end_ns: f64) -> Self {
        let end_ns = if end_ns.is_finite() && end_ns > 0.0 { end_ns } else { 1.0 };
        let step = round_step(end_ns / 6.5);
        Self::with_steps(end_ns, step, round_duration)
    }

    fn with_steps(high: f64, step: f64, label: Label) -> Self {
        let count = (high / step + 1e-9).floor() as usize;
        let count = count.min(50);
        let tick = |number: usize| {
            let value = number as f64 * step;
            Tick { value, label: label(value), is_spare: count >= LABELS_MAX && !number.is_multiple_of(2) }
        };
        Self { kind: Kind::Linear, low: 0.0, high, ticks: (0..=count).map(tick).collect() }
    }

    /// Creates a logarithmic scale that holds all of the values above 0.
    pub(crate) fn log(values: impl IntoIterator<Item = f64>, label: Label) -> Self {
        let values = values.into_iter().filter(|value| value.is_finite() && *value > 0.0);
        let values = values.map(|value| value.clamp(EXTREMES[0], EXTREMES[1]));
        let (least, most) = values.fold((f64::INFINITY, 0.0), |(least, most): (f64, f64), value| {
            (least.min(value), most.max(value))
        });
        let (least, most) = if most > 0.0 { (least, most) } else { (1.0, 10.0) };
        let least = least.max(most / 10_f64.powi(DECADES_MAX));
        // Equal values stand in the middle, and the outermost not on the very edge.
        let room = if most / least < 1.5 { 2.0 } else { 1.12 };
        let (low, high) = (least / room, most * room);
        Self { kind: Kind::Log, low, high, ticks: log_ticks(low, high, label) }
    }

    /// Creates a linear scale of things in a row, numbered from 1, each with room of its own.
    pub(crate) fn places(count: f64) -> Self {
        let ends = Self::whole(count, LABELS_MAX);
        let (low, high) = (0.4, count.max(1.0) + 0.6);
        let mut ticks = ends.ticks;
        ticks.retain(|tick| (low..=high).contains(&tick.value));
        let is_first = |tick: &Tick| tick.value == 1.0;
        if !ticks.iter().any(is_first) && ticks.first().is_none_or(|tick| tick.value >= high / 8.0) {
            ticks.insert(0, Tick { value: 1.0, label: round(1.0), is_spare: false });
        }
        Self { kind: Kind::Linear, low, high, ticks }
    }

    /// Creates a linear scale from 0 without ticks.
    pub(crate) fn bare(high: f64) -> Self {
        Self { kind: Kind::Linear, low: 0.0, high: high.max(f64::MIN_POSITIVE), ticks: Vec::new() }
    }

    /// Creates a scale of shares by their distance from all: 0, 90 %, 99 %, 99.9 % are equally spaced, to
    /// show the tail. It ends where one of `count` is the rest.
    pub(crate) fn tail(count: u64) -> Self {
        let high = (count.max(2) as f64).log10().max(1.0) * 1.02;
        let shares = [0.0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999_999, 0.999_999_9];
        let ticks =
            shares.map(|share| Tick { value: nines(share), label: percent_of(share), is_spare: false });
        let ticks = ticks.into_iter().filter(|tick| tick.value <= high).collect();
        Self { kind: Kind::Linear, low: 0.0, high, ticks }
    }

    /// Returns the place of a value: 0 at the low end, 1 at the high one, and never outside; `None` for NaN.
    pub(crate) fn place(&self, value: f64) -> Option<f64> {
        let part = match self.kind {
            Kind::Linear => (value - self.low) / (self.high - self.low),
            // Values not above 0 lie at the low end.
            Kind::Log => (value.max(self.low) / self.low).ln() / (self.high / self.low).ln(),
        };
        (!value.is_nan() && !part.is_nan()).then(|| part.clamp(0.0, 1.0))
    }
}

/// Returns the distance of a share from all, in powers of ten: 1 for 90 %, 2 for 99 %.
pub(crate) fn nines(share: f64) -> f64 {
    0.0 - (1.0 - share).log10()
}

/// Returns a percentile, which is not rounded to 100 %.
fn percent_of(share: f64) -> String {
    if share < 0.9999 {
        percent(share)
    } else {
        format!("{:.5}", share * 100.0).trim_end_matches('0').to_owned() + " %"
    }
}

/// Returns the smallest of 1, 2 and 5 times a power of ten that is no less than a step.
fn round_step(least: f64) -> f64 {
    let least = if least.is_finite() && least > 1e-300 { least } else { 1.0 };
    let power = 10_f64.powf(least.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().find(|step| step * power >= least * (1.0 - 1e-9));
    step.unwrap_or(10.0) * power
}

fn log_ticks(low: f64, high: f64, label: Label) -> Vec<Tick> {
    let decades = (high / low).log10();
    let steps: &[f64] = if decades > DECADES_ALONE { &[1.0] } else { &[1.0, 2.0, 5.0] };
    let powers = low.log10().floor() as i32..=high.log10().ceil() as i32;
    let values = powers.flat_map(|power| steps.iter().map(move |step| step * 10_f64.powi(power)));
    let values: Vec<f64> = values.filter(|value| (low..=high).contains(value)).collect();
    if values.len() < 2 {
        // Between two powers of ten there may be no round number: then even steps do.
        let step = round_step((high - low) / 3.0);
        let first = (low / step).ceil();
        let values = (0..5).map(|number| (first + f64::from(number)) * step);
        let values = values.filter(|value| *value <= high);
        return values.map(|value| Tick { value, label: label(value), is_spare: false }).collect();
    }
    // On a narrow page powers of ten come first; if there is but one, or nothing else, as many as there is room for.
    let is_power = |value: f64| (value.log10() - value.log10().round()).abs() < 1e-9;
    let power_count = values.iter().filter(|value| is_power(**value)).count();
    let every = values.len().div_ceil(LABELS_MAX);
    let is_mixed = power_count >= 2 && power_count < values.len();
    let tick = |(place, value): (usize, f64)| Tick {
        value,
        label: label(value),
        is_spare: if is_mixed { !is_power(value) } else { !place.is_multiple_of(every) },
    };
    values.into_iter().enumerate().map(tick).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn labels(scale: &Scale) -> Vec<&str> {
        scale.ticks.iter().map(|tick| &*tick.label).collect()
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(labels(&Scale::time(2_000_409_195.0)), ["0", "500 ms", "1 s", "1.5 s", "2 s"]);
        assert_eq!(labels(&Scale::from_zero(1033.0, 4, round)), ["0", "500", "1000", "1500"]);
        assert_eq!(labels(&Scale::whole(2.0, 4)), ["0", "1", "2"]);
        assert_eq!(labels(&Scale::places(8.0)), ["1", "2", "4", "6", "8"]);
        assert_eq!(labels(&Scale::places(1.0)), ["1"]);
        assert_eq!(
            labels(&Scale::log([1e3, 9e6], round_duration)),
            ["1 µs", "10 µs", "100 µs", "1 ms", "10 ms"]
        );
        assert_eq!(labels(&Scale::log([1e6, 8e6], round_duration)), ["1 ms", "2 ms", "5 ms"]);
        assert_eq!(labels(&Scale::tail(5000)), ["0 %", "50 %", "90 %", "99 %", "99.9 %"]);
        assert_eq!(labels(&Scale::tail(1_000_000)).last(), Some(&"99.9999 %"));
    }

    #[test]
    fn equal_values_and_none_have_a_scale() {
        let equal = Scale::log([5e6, 5e6], round_duration);
        assert!((equal.place(5e6).unwrap() - 0.5).abs() < 1e-9 && equal.ticks.len() >= 2, "{equal:?}");
        assert!(!Scale::log([], round).ticks.is_empty());
        assert_eq!(Scale::log([1.0, 100.0], round).place(0.0), Some(0.0));
        assert_eq!(Scale::time(0.0).place(0.0), Some(0.0));
        assert_eq!(Scale::tail(1).place(f64::INFINITY), Some(1.0));
    }

    #[test]
    fn the_greatest_and_the_least_numbers_have_a_scale() {
        for value in [f64::MAX, 1e308, f64::MIN_POSITIVE, 5e-324] {
            let scale = Scale::log([value, value], round);
            assert!((2..10).contains(&scale.ticks.len()), "{scale:?}");
            assert!(scale.place(value).is_some(), "{scale:?}");
        }
        assert!(Scale::log([5e-324, f64::MAX], round).ticks.len() > 2);
        assert!(Scale::from_zero(f64::MAX, 4, round).ticks.iter().all(|tick| tick.value.is_finite()));
    }

    /// Generates any number, and often one at the ends of the range.
    fn number() -> impl Strategy<Value = f64> {
        let extremes = vec![f64::MAX, f64::MIN, 1e308, 1e300, 1e-300, 1e-308, f64::MIN_POSITIVE, 5e-324, 0.0];
        prop_oneof![prop::num::f64::ANY, prop::sample::select(extremes)]
    }

    proptest! {
        #[test]
        fn places_are_between_the_ends_and_ascend(
            values in prop::collection::vec(number(), 0..8),
            mut probes in prop::collection::vec(number(), 0..8),
        ) {
            let most = values.first().copied().unwrap_or(0.0);
            let scales = [
                Scale::log(values, round),
                Scale::from_zero(most, 4, round),
                Scale::whole(most.min(1e15), 4),
                Scale::time(most),
                Scale::tail(most.abs() as u64),
                Scale::places(most.abs().min(1e15)),
                Scale::bare(most),
            ];
            probes.sort_by(f64::total_cmp);
            for scale in scales {
                let places: Vec<f64> = probes.iter().filter_map(|probe| scale.place(*probe)).collect();
                prop_assert!(places.iter().all(|place| (0.0..=1.0).contains(place)), "{:?}", scale);
                prop_assert!(places.is_sorted(), "{:?} {:?}", scale, places);
                prop_assert!(scale.ticks.len() <= 60);
                for tick in &scale.ticks {
                    prop_assert!(tick.value.is_finite() && scale.place(tick.value).is_some(), "{:?}", scale);
                }
            }
        }
    }
}
