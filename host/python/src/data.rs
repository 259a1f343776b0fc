//! The samples of a benchmark, as the host hands them to plugins, and their labels.

use std::ffi::OsString;

use proctor_accuracy::{AccuracyError, Answers, LabelsRequest, read_labels};
use proctor_bed::{published::open_counted, read_samples};
use proctor_config::AnswerKind;
use proctor_datasets::{DataRoot, SampleStore};
use proctor_host::embedded;
use proctor_vocabulary::{SampleIndex, TensorSpec};
use pyo3::{
    prelude::*,
    types::{PyBytes, PyDict, PyList},
};

use crate::failure::Failure;

/// Returns the facts of a benchmark's data by the words of `host run`: counts, inputs, outputs.
#[pyfunction]
pub(crate) fn data_facts<'py>(py: Python<'py>, words: Vec<OsString>) -> PyResult<Bound<'py, PyDict>> {
    let counted = || {
        let mut settings = embedded::settings(words)?;
        let (_, counts) = open_counted(&mut settings)?;
        Ok((settings, counts))
    };
    let (settings, counts) = py.detach(counted).map_err(|failure: Failure| failure.exception(py))?;
    let benchmark = &settings.benchmark;
    let facts = PyDict::new(py);
    facts.set_item("benchmark", &benchmark.id)?;
    facts.set_item("name", &benchmark.dataset)?;
    facts.set_item("sample_count", counts.total_sample_count)?;
    facts.set_item("performance_sample_count", counts.performance_sample_count)?;
    facts.set_item("inputs", specs(py, &benchmark.inputs)?)?;
    facts.set_item("outputs", specs(py, &benchmark.outputs)?)?;
    Ok(facts)
}

/// Returns samples: for each a list with shape and bytes of each input.
#[pyfunction]
pub(crate) fn data_samples<'py>(
    py: Python<'py>,
    words: Vec<OsString>,
    indices: Vec<u64>,
) -> PyResult<Bound<'py, PyList>> {
    let indices: Vec<_> = indices.into_iter().map(SampleIndex).collect();
    let read = py.detach(|| read(words, &indices)).map_err(|failure| failure.exception(py))?;
    let samples = PyList::empty(py);
    for index in indices {
        let tensors = PyList::empty(py);
        for input in 0..read.inputs().len() {
            let tensor = read.tensor(index, input).and_then(|bytes| Ok((read.shape(index, input)?, bytes)));
            let (shape, bytes) = tensor.map_err(|error| Failure::data(error.to_string()).exception(py))?;
            tensors.append((shape.to_vec(), PyBytes::new(py, bytes)))?;
        }
        samples.append(tensors)?;
    }
    Ok(samples)
}

/// Returns the class of each sample; `None` if the benchmark has answers of another kind.
#[pyfunction]
pub(crate) fn data_labels(py: Python<'_>, words: Vec<OsString>) -> PyResult<Option<Vec<u64>>> {
    py.detach(|| labels(words)).map_err(|failure| failure.exception(py))
}

fn read(words: Vec<OsString>, indices: &[SampleIndex]) -> Result<SampleStore, Failure> {
    Ok(read_samples(&embedded::settings(words)?, indices)?)
}

fn labels(words: Vec<OsString>) -> Result<Option<Vec<u64>>, Failure> {
    let mut settings = embedded::settings(words)?;
    let (published, counts) = open_counted(&mut settings)?;
    let benchmark = &settings.benchmark;
    if benchmark.quality.answers != AnswerKind::Labels {
        return Ok(None);
    }
    let sample_count = usize::try_from(counts.total_sample_count).unwrap_or(usize::MAX);
    let samples = published.map(|published| published.named(sample_count)).transpose()?;
    let root = DataRoot::new(settings.run.data_root.as_deref());
    let request = LabelsRequest { root: &root, published: samples.as_ref() };
    match read_labels(&benchmark.dataset, &request) {
        Ok(Answers::Classes { labels, .. }) => Ok(Some(labels)),
        // Texts and boxes have no place in an array, and are not registered as labels.
        Ok(_) => Ok(None),
        Err(AccuracyError::Unknown(_)) => Ok(None),
        Err(error) => Err(Failure::data(error.to_string())),
    }
}

/// Returns name, element type and shape of tensors.
pub(crate) fn specs<'py>(py: Python<'py>, tensors: &[TensorSpec]) -> PyResult<Bound<'py, PyList>> {
    let specs = tensors.iter().map(|spec| (&spec.name, spec.element_type.name(), spec.shape.clone()));
    PyList::new(py, specs.collect::<Vec<_>>())
}
