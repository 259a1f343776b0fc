//! Builds the report of a run: one self-contained HTML file with its verdict, figures and pictures.
//!
//! [`Subject::open`] opens a folder of a run, official logs or a search; [`page`] writes the report of one or more.
//!
//! # Where things are
//! - `facts`: everything known of a run; `measure`: figures over samples;
//! - `draw`: pictures; `section`: a file for each section; `page` puts them together;
//! - `html` escapes, `number` rounds, `figures` takes numbers out of a result by key.
//!
//! # Choices
//! - The page needs no script and no network, and forbids both. Pictures are inline SVG, as wide as the page, with text
//!   of the normal size; screen readers read their numbers.
//! - Numbers of `result.json` are taken by key, rounded in one place, and carry key and value, so a program can compare
//!   each with the file.
//! - All text is escaped when it is written.
//! - Pictures have as many marks for ten million samples as for a thousand: time is divided into columns, distributions
//!   into steps that are even in the tail.
//! - Missing parts are left out; damaged or truncated ones are named.
//!
//! # Example
//! ```
//! # fn f() -> Result<(), proctor_results::ResultsError> {
//! let subject = proctor_report::Subject::open("runs/mine".as_ref())?;
//! let html = proctor_report::page(&[subject]);
//! # Ok(())
//! # }
//! ```
//!
//! # Limits
//! Samples are sorted in memory, about 35 bytes each.

#![forbid(unsafe_code)]

mod draw;
mod facts;
mod figures;
mod html;
mod measure;
mod number;
mod page;
mod section;

use std::path::Path;

use proctor_results::{ResultsError, Run, Series};

/// The subject of a page.
#[derive(Debug, Clone)]
pub enum Subject {
    /// A run folder.
    Run(Run),
    /// A search or scaling, with several runs.
    Series(Box<Series>),
}

impl Subject {
    /// Opens a folder with a run.
    ///
    /// # Errors
    /// If it is neither, or its result cannot be read.
    pub fn open(folder: &Path) -> Result<Self, ResultsError> {
        match Series::open(folder)? {
            Some(series) => Ok(Self::Series(Box::new(series))),
            None => Run::open(folder).map(Self::Run),
        }
    }

    /// Returns the folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        match self {
            Self::Run(run) => &run.folder,
            Self::Series(series) => &series.folder,
        }
    }

    /// Returns the name of the folder, for people.
    fn name(&self) -> String {
        match self {
            Self::Run(run) => run.name(),
            Self::Series(series) => series.name(),
        }
    }
}

/// Returns the page of one or more subjects, as HTML. Samples are read one subject after the other.
#[must_use]
pub fn page(subjects: &[Subject]) -> String {
    page::page(subjects)
}
