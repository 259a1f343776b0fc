//! The files of the suites beside the tables of the rules, and bad files; what follows from a link in the settings.

mod bad_files;
mod choice;
mod fixed;
mod links;
mod mlperf_conf;
mod page;
mod since_v5_1;
mod tables;
mod v0_5;
mod v0_7;
mod v5_0;
