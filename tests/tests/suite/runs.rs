//! Runs of the program: their verdicts, what they leave, and how they end.

mod advice;
mod arrivals;
mod dying_instances;
mod find_max;
mod harness;
mod interrupt;
mod kept;
mod loadgen_compat;
mod replay;
mod rounds;
mod run_default;
mod scale;
mod scaled_run;
mod scenarios;
mod settings_in_effect;
mod trace_host;
mod virtual_time;
