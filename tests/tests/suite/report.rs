//! `host report`: the pages of real runs, by themselves and in a browser.

mod browser;
mod looks;
mod numbers;
mod page;
mod what_is_missing;
mod wrong;
