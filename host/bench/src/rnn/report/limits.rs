//! Limits of the machine.

use proctor_rnn_limits::Speeds;

use super::cell::{or_none, owned};
use crate::rnn::report::Report;
use proctor_display::Table;

impl Report {
    /// A row for each number of cores.
    pub(super) fn limits_table(&self) -> Table {
        let row = |speeds: &Speeds| {
            vec![
                speeds.cores.to_string(),
                format!("{:.2}", speeds.clock_ghz),
                format!("{:.0}", speeds.peak_gflops),
                format!("{:.0}", speeds.l1_gb_per_s),
                format!("{:.0}", speeds.l2_gb_per_s),
                format!("{:.1}", speeds.l3_gb_per_s),
                or_none(speeds.l3_shared_gb_per_s, |speed| format!("{speed:.1}")),
            ]
        };
        let caches = self.limits.caches;
        let l3 = caches.l3_bytes.map_or(String::new(), |bytes| format!(", L3 {} MB", bytes >> 20));
        let title = format!(
            "Limits of this machine, for each core ({}, L1 {} KB, L2 {} KB{l3})",
            self.limits.isa,
            caches.l1_bytes >> 10,
            caches.l2_bytes >> 10
        );
        let head = ["cores", "GHz", "f32 GFLOP/s", "L1 GB/s", "L2 GB/s", "L3 GB/s", "L3 GB/s, shared lines"];
        Table { title, head: owned(&head), rows: self.limits.speeds.iter().map(row).collect() }
    }
}
