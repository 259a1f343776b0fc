//! Figures of the devices during the timed part, as metrics of the result.

use std::{
    sync::{
        Arc,
        mpsc::{RecvTimeoutError, Sender, channel},
    },
    thread::JoinHandle,
    time::Duration,
};

use proctor_plugin_api::{Host, PluginError};

use crate::libraries::nvml::Gauge;

/// Time between two readings: NVML's own figures are means over some tens of ms.
const PERIOD: Duration = Duration::from_millis(250);

/// Reasons why clocks are not as high as they could be, by their bits in NVML's header.
const THROTTLE_REASONS: [(u64, &str); 9] = [
    (0x1, "idle"),
    (0x2, "clock_setting"),
    (0x4, "sw_power_cap"),
    (0x8, "hw_slowdown"),
    (0x10, "sync_boost"),
    (0x20, "sw_thermal_slowdown"),
    (0x40, "hw_thermal_slowdown"),
    (0x80, "hw_power_brake"),
    (0x100, "display_clock_setting"),
];

/// Reasons without meaning for the run: there was no work.
const IDLE: u64 = 0x1;

/// The devices of a model, each with its position in the plugin's list.
#[derive(Clone)]
pub(crate) struct Gauges(Arc<Vec<(u32, Gauge)>>);

impl Gauges {
    pub fn new(gauges: Vec<(u32, Gauge)>) -> Self {
        Self(Arc::new(gauges))
    }

    /// Returns the energy of all devices in joules; `None` if one of them does not count it.
    pub fn energy_joules(&self) -> Option<f64> {
        let Self(gauges) = self;
        let energy_mj = gauges.iter().map(|(_, gauge)| gauge.energy_mj());
        let sum: Option<u64> = energy_mj.sum();
        sum.filter(|_| !gauges.is_empty()).map(|energy_mj| energy_mj as f64 / 1e3)
    }

    /// Reads every figure and reports it. Returns the reasons of all devices for lower clocks, by their bits.
    fn report(&self, host: Host) -> Vec<u64> {
        let Self(gauges) = self;
        gauges.iter().map(|(device, gauge)| report_one(host, *device, gauge)).collect()
    }
}

fn report_one(host: Host, device: u32, gauge: &Gauge) -> u64 {
    let report = |name: &str, unit: &str, value: Option<f64>| {
        if let Some(value) = value {
            host.metric(&format!("gpu{device}_{name}"), unit, value);
        }
    };
    report("power", "W", gauge.power_mw().map(|power| f64::from(power) / 1e3));
    report("sm_clock", "MHz", gauge.sm_clock_mhz().map(f64::from));
    report("memory_clock", "MHz", gauge.memory_clock_mhz().map(f64::from));
    report("memory_used", "B", gauge.memory_used_bytes().map(|bytes| bytes as f64));
    let utilisation = gauge.utilisation();
    report("utilisation", "%", utilisation.map(|(device, _)| f64::from(device)));
    report("memory_utilisation", "%", utilisation.map(|(_, memory)| f64::from(memory)));
    report("temperature", "C", gauge.temperature_c().map(f64::from));
    let reasons = gauge.throttle_reasons();
    for (bit, name) in THROTTLE_REASONS {
        // 1 while it holds, so that the mean is its share of the time.
        let holds = reasons.map(|reasons| if reasons & bit == 0 { 0.0 } else { 1.0 });
        report(&format!("throttle_{name}"), "", holds);
    }
    reasons.unwrap_or(0)
}

/// Returns the names of reasons by their bits, with commas.
fn reason_names(reasons: u64) -> String {
    let mut names: Vec<&str> =
        THROTTLE_REASONS.iter().filter(|(bit, _)| reasons & bit != 0).map(|(_, name)| *name).collect();
    let known = THROTTLE_REASONS.iter().fold(0, |known, (bit, _)| known | bit);
    if reasons & !known != 0 {
        names.push("others");
    }
    names.join(", ")
}

/// A thread that reads and reports until this is stopped or dropped.
pub(crate) struct Reader {
    /// Gone to end the thread.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Reader {
    pub fn start(host: Host, gauges: Gauges) -> Result<Self, PluginError> {
        let (end, ended) = channel();
        let read = move || {
            let mut seen = vec![0; gauges.0.len()];
            loop {
                for (seen, reasons) in seen.iter_mut().zip(gauges.report(host)) {
                    *seen |= reasons;
                }
                if ended.recv_timeout(PERIOD) != Err(RecvTimeoutError::Timeout) {
                    break;
                }
            }
            // The last values hold to the end.
            gauges.report(host);
            for ((device, _), seen) in gauges.0.iter().zip(seen) {
                if seen & !IDLE != 0 {
                    let reasons = reason_names(seen & !IDLE);
                    tracing::warn!(device, reasons, "the clocks of the device were held back");
                }
            }
        };
        let thread = std::thread::Builder::new().name("cuda metrics".to_owned()).spawn(read)?;
        Ok(Self { end: Some(end), thread: Some(thread) })
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.end = None;
        if let Some(thread) = self.thread.take() {
            // A panic in it was shown by then.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throttle_reasons_have_names() {
        assert_eq!(reason_names(0), "");
        assert_eq!(reason_names(0x4 | 0x40), "sw_power_cap, hw_thermal_slowdown");
        assert_eq!(reason_names(0x8 | 1 << 40), "hw_slowdown, others");
        // As the host takes names of metrics.
        assert!(THROTTLE_REASONS.iter().all(|(_, name)| name.bytes().all(|byte| byte.is_ascii_graphic())));
    }

    #[test]
    fn no_device_has_no_energy() {
        assert_eq!(Gauges::new(Vec::new()).energy_joules(), None);
    }

    #[test]
    fn a_reader_ends_when_it_is_dropped() {
        drop(Reader::start(Host::detached(), Gauges::new(Vec::new())).unwrap());
    }
}
