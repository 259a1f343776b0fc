//! The samples of a published data set that a log by itself is of.

use proctor_accuracy::{PublishedSamples, listed_samples};
use proctor_config::Settings;
use proctor_datasets::DataRoot;
use proctor_prepared::{PUBLISHED, RowAggregation};

use super::{recorded::FoundLog, sample_count};
use crate::{
    bed::sample_library::published::{Published, fit_counts},
    error::HostError,
    files::dataset_folder::dataset_folder,
};

/// Finds the samples of a log, and fits the benchmark to them.
///
/// They are those of the list that has the labels, if the data set has one: no other file is needed. A run in a folder
/// where files are missing numbers those that are there, though. A log is taken to be of such a run if LoadGen's log
/// beside it has just as many samples.
///
/// # Errors
/// The list or the data set cannot be read, or nothing says which samples the log is of.
pub(super) fn samples_of_log(
    log: &FoundLog,
    settings: &mut Settings,
    root: &DataRoot,
) -> Result<Option<PublishedSamples>, HostError> {
    let total_count = settings.benchmark.qsl.total_sample_count;
    let is_of_run = |count: u64| log.sample_count() == Some(count.min(total_count));
    let Some(mut samples) = listed(settings, root)? else {
        let Some(published) = Published::open(settings, root)? else { return Ok(None) };
        if published.missing_count() > 0 && !is_of_run(published.sample_count()) {
            return Err(HostError::Data(format!(
                "{} lacks files of samples, and nothing says whether the run had the other {} alone: restore \
                 them, or put the mlperf_log_detail.txt of the run beside the log",
                published.folder().display(),
                published.sample_count()
            )));
        }
        return fitted(&published, settings).map(Some);
    };
    let count = samples.names.len() as u64;
    if log.sample_count().is_some_and(|of_run| of_run < count.min(total_count)) {
        // Without any file it cannot be opened, and is none that the run could have had.
        let published = Published::open(settings, root).ok().flatten();
        if let Some(published) = published.filter(|published| is_of_run(published.sample_count())) {
            return fitted(&published, settings).map(Some);
        }
        settings.warnings.push(format!(
            "the run had fewer samples than the {count} that the list in {} has: the first are taken for them",
            samples.folder.display()
        ));
    }
    fit_counts(settings, &samples.folder, log.sample_count().map_or(count, |of_run| of_run.min(count)))?;
    samples.names.truncate(sample_count(&settings.benchmark));
    Ok(Some(samples))
}

/// The samples whose files are there, to which the benchmark is fitted.
fn fitted(published: &Published, settings: &mut Settings) -> Result<PublishedSamples, HostError> {
    published.fit(settings)?;
    published.named(sample_count(&settings.benchmark))
}

/// The samples of the list that has the labels; `None` of a data set without one.
fn listed(settings: &Settings, root: &DataRoot) -> Result<Option<PublishedSamples>, HostError> {
    let dataset = settings.benchmark.dataset.as_str();
    if !PUBLISHED.contains(&dataset) || settings.run.row_aggregation != RowAggregation::default() {
        return Ok(None);
    }
    Ok(listed_samples(dataset, &dataset_folder(settings, root)?)?)
}
