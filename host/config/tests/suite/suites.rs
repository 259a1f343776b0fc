//! Compares the suites' files with the tables of the rules; checks bad files and the effects of links.

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
