//! The file of a model, as a run asks for it.

use std::{path::Path, slice};

use proctor_onnx_file::{Batching, Fit, Precision, RequestError};
use proctor_plugin_api::ModelRequest;
use proctor_vocabulary::ElementType;

use super::{classes::ClassOf, error::LoadError};
use crate::{driver::DeviceError, graph::Graph, passes, program::Program, read::source::Source};

/// A file that was read and fits the request.
pub(super) struct ModelFile {
    source: Source,
    pub fit: Fit,
    /// Way from the only output of `fit` to a class, if the benchmark wants that.
    pub class: Option<ClassOf>,
    /// Type that values and weights in f32 become.
    narrowed: Option<ElementType>,
    /// Batch sizes of the plans, the largest first.
    pub batch_sizes: Vec<usize>,
}

impl ModelFile {
    pub fn open(request: &ModelRequest) -> Result<Self, LoadError> {
        let no_file = || RequestError::NoFile { model: request.model.clone() };
        let path = request.file("onnx").ok_or_else(no_file)?;
        let source = Source::open(path)?;
        let file = source.file();
        let narrowed = match request.precision.as_str() {
            "f16" if file.precision == Precision::F32 => Some(ElementType::F16),
            "bf16" if file.precision == Precision::F32 => Some(ElementType::Bf16),
            asked => file.check_precision(asked).map(|()| None)?,
        };
        let batch_size_max = usize::try_from(request.batch_size_max).unwrap_or(usize::MAX);
        let plain = file.fit(&request.inputs, &request.outputs, batch_size_max);
        // Outputs that fit are taken as they are.
        let class = plain.is_err().then(|| ClassOf::find(&file.signature, &request.outputs)).flatten();
        let (fit, class) = match class {
            None => (plain?, None),
            Some((output, class)) => {
                (file.fit(&request.inputs, slice::from_ref(&output), batch_size_max)?, Some(class))
            }
        };
        let batch_sizes = fit.plan_sizes(batch_size_max);
        Ok(Self { source, fit, class, narrowed, batch_sizes })
    }

    /// Returns the program for one batch size, as `plan` makes it, with the outputs that the benchmark wants.
    pub fn program(
        &self,
        batch_size: usize,
        plan: impl FnOnce(&Graph) -> Result<Program, String>,
    ) -> Result<Program, LoadError> {
        let shapes: Vec<Vec<usize>> =
            self.fit.inputs.iter().map(|port| self.fit.shape(port, batch_size)).collect();
        let mut graph = self.source.graph(&shapes)?;
        let planned = self.choose_outputs(&mut graph, batch_size).and_then(|()| {
            passes::apply(&mut graph, self.narrowed)?;
            plan(&graph)
        });
        planned.map_err(|what| LoadError::Plan { path: self.path().to_owned(), batch_size, what })
    }

    /// Returns the failure of a device with a plan of the file.
    pub fn device_error(&self, batch_size: usize, source: DeviceError) -> LoadError {
        LoadError::Device { path: self.path().to_owned(), batch_size, source }
    }

    fn path(&self) -> &Path {
        &self.source.file().path
    }

    /// Changes the outputs of a graph to the ones that the benchmark wants.
    fn choose_outputs(&self, graph: &mut Graph, batch_size: usize) -> Result<(), String> {
        graph.outputs = self.fit.outputs.iter().map(|port| graph.outputs[port.value]).collect();
        for (port, id) in self.fit.outputs.iter().zip(&graph.outputs) {
            let (is, wanted) = (graph.value(*id), self.fit.shape(port, batch_size));
            let count = |shape: &[usize]| shape.iter().product::<usize>();
            // Else a sample would get numbers of others.
            let is_by_sample = self.fit.batching == Batching::None
                || is.shape.len() == 1
                || is.shape.first() == wanted.first();
            if is.element != port.spec.element_type || count(&is.shape) != count(&wanted) || !is_by_sample {
                let name = &port.spec.name;
                return Err(format!("output \"{name}\" is {} of {:?}, not {wanted:?}", is.element, is.shape));
            }
        }
        Ok(())
    }
}
