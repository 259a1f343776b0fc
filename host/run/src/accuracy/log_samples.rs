//! The samples of a published data set that a stand-alone log refers to.

use proctor_accuracy::{PublishedSamples, listed_samples};
use proctor_bed::{
    dataset_folder,
    published::{Published, counts_over},
};
use proctor_config::{QslCounts, Settings};
use proctor_datasets::{DataRoot, is_published};
use proctor_prepared::RowAggregation;
use proctor_words::{DataError, HostError};

use super::{recorded::FoundLog, sample_count};

/// Finds the samples of a log, and the sizes of its library. Adds warnings to the settings.
///
/// If the data set has a list with the labels, the samples come from the list, and no other file is needed. A
/// run over a folder with missing files, however, numbers only the files that exist. A log is assumed to come
/// from such a run if LoadGen's log next to it has exactly as many samples.
///
/// # Errors
/// If the list or the data set cannot be read, or nothing says which samples the log is of.
pub(super) fn samples_of_log(
    log: &FoundLog,
    settings: &mut Settings,
    root: &DataRoot,
) -> Result<(QslCounts, Option<PublishedSamples>), HostError> {
    let declared = settings.benchmark.qsl;
    let total_count = declared.total_sample_count;
    let is_of_run = |count: u64| log.sample_count() == Some(count.min(total_count));
    let Some(mut samples) = listed(settings, root)? else {
        let Some(published) = Published::open(settings, root)? else { return Ok((declared, None)) };
        if published.missing_count() > 0 && !is_of_run(published.sample_count()) {
            let (folder, others) = (published.folder().to_owned(), published.sample_count());
            return Err(DataError::SamplesOfLog { folder, others }.into());
        }
        return of_files(&published, settings);
    };
    let count = samples.names.len() as u64;
    if log.sample_count().is_some_and(|of_run| of_run < count.min(total_count)) {
        // Without any file it cannot be opened, and the run cannot have had it.
        let published = Published::open(settings, root).ok().flatten();
        if let Some(published) = published.filter(|published| is_of_run(published.sample_count())) {
            return of_files(&published, settings);
        }
        settings.warnings.push(format!(
            "the run had fewer samples than the {count} that the list in {} has: the first are taken for them",
            samples.folder.display()
        ));
    }
    if let Some(of_run) = log.sample_count().filter(|of_run| *of_run > count) {
        settings.warnings.push(format!(
            "the run had {of_run} samples, and the list in {} has {count}: restore the list, unless the run was of \
             other data",
            samples.folder.display()
        ));
    }
    let count = log.sample_count().map_or(count, |of_run| of_run.min(count));
    let counts = counts_over(settings, &samples.folder, count)?;
    samples.names.truncate(sample_count(counts));
    Ok((counts, Some(samples)))
}

/// Returns the samples whose files exist, and the sizes of their library.
fn of_files(
    published: &Published,
    settings: &mut Settings,
) -> Result<(QslCounts, Option<PublishedSamples>), HostError> {
    let counts = published.counts(settings)?;
    Ok((counts, Some(published.named(sample_count(counts))?)))
}

/// Returns the samples of the list that has the labels; `None` for a data set without a list.
fn listed(settings: &Settings, root: &DataRoot) -> Result<Option<PublishedSamples>, HostError> {
    let dataset = settings.benchmark.dataset.as_str();
    if !is_published(dataset) || settings.run.row_aggregation != RowAggregation::default() {
        return Ok(None);
    }
    Ok(listed_samples(dataset, &dataset_folder(settings, root)?)?)
}
