//! The MLPerf load generator: scenarios, sample order, arrivals, latencies, verdict and logs.
