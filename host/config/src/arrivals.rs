//! The arrival process that the settings describe, with the trace that they name.

use std::{path::Path, sync::Arc};

use proctor_loadgen::{ArrivalKind, ArrivalProcess, Trace};

use crate::{
    check::{Form, Raw, check_value},
    error::ConfigError,
    file::text::read_bytes,
    keys,
    layers::Layer,
    origin::Origin,
    run_settings::RunSettings,
};

/// The setting that a trace has a value for.
const RATE: &str = "server_target_qps";

/// The settings that are about one process alone.
const PARAMETERS: [(ArrivalKind, &[&str]); 4] = [
    (ArrivalKind::Gamma, &["arrivals_cv"]),
    (ArrivalKind::OnOff, &["arrivals_on_ms", "arrivals_off_ms", "arrivals_off_share"]),
    (ArrivalKind::Diurnal, &["arrivals_period_s", "arrivals_amplitude"]),
    (ArrivalKind::Trace, &["arrivals_trace", "arrivals_speed"]),
];

/// Returns the settings that are about this process alone.
pub(crate) fn parameters(kind: ArrivalKind) -> &'static [&'static str] {
    PARAMETERS.iter().find(|(of, _)| *of == kind).map_or(&[], |(_, keys)| keys)
}

/// Returns the settings that are about other processes than this one.
pub(crate) fn idle_parameters(kind: ArrivalKind) -> impl Iterator<Item = &'static str> {
    PARAMETERS.iter().filter(move |(of, _)| *of != kind).flat_map(|(_, keys)| keys.iter().copied())
}

pub(crate) fn read_trace(run: &RunSettings) -> Result<Option<Arc<Trace>>, Box<ConfigError>> {
    match (run.arrivals, &run.arrivals_trace) {
        (ArrivalKind::Trace, Some(path)) => read(path).map(|trace| Some(Arc::new(trace))),
        (ArrivalKind::Trace, None) => Err(Box::new(ConfigError::NoTrace)),
        _ => Ok(None),
    }
}

fn read(path: &Path) -> Result<Trace, Box<ConfigError>> {
    let trace = Trace::parse(&path.display().to_string(), &read_bytes(path)?);
    trace.map_err(|error| Box::new(ConfigError::Trace { path: path.to_owned(), error }))
}

/// Returns the rate of the trace, as the layer of settings between the benchmark and the files.
pub(crate) fn rate_of_trace(run: &RunSettings, trace: &Trace) -> Result<Layer, Box<ConfigError>> {
    let origin = Origin::Trace { path: trace.name().into() };
    let text = (trace.rate_qps() * run.arrivals_speed).to_string();
    let raw = Raw { key: RATE.to_owned(), text, form: Form::Plain, origin };
    let value = check_value(keys::find(RATE).expect("it is a setting"), &raw)?;
    Ok(Layer::new(raw.origin, [(RATE, value)]))
}

pub(crate) fn process(run: &RunSettings, trace: Option<Arc<Trace>>) -> ArrivalProcess {
    match (run.arrivals, trace) {
        (ArrivalKind::Constant, _) => ArrivalProcess::Constant,
        (ArrivalKind::Gamma, _) => ArrivalProcess::Gamma { cv: run.arrivals_cv },
        (ArrivalKind::OnOff, _) => ArrivalProcess::OnOff {
            on_ms: run.arrivals_on_ms,
            off_ms: run.arrivals_off_ms,
            off_share: run.arrivals_off_share,
        },
        (ArrivalKind::Diurnal, _) => {
            ArrivalProcess::Diurnal { period_s: run.arrivals_period_s, amplitude: run.arrivals_amplitude }
        }
        (ArrivalKind::Trace, Some(trace)) => ArrivalProcess::Trace(trace),
        // Without a trace there is an error, and no test.
        (ArrivalKind::Poisson | ArrivalKind::Trace, _) => ArrivalProcess::Poisson,
    }
}
