//! Parts that the models' weights and graphs have in common.

use proctor_onnx_file::{Attribute, Dim, GraphBuilder};
use proctor_vocabulary::ElementType;

use crate::{inputs::InputTensor, weights::ModelRecipe};

/// A graph whose constants are the tensors of a file of weights.
pub(super) struct Net<'a> {
    graph: GraphBuilder,
    weights: &'a ModelRecipe,
    /// Offset of each tensor in the file, in the order of the recipe.
    offsets_bytes: Vec<u64>,
}

/// Movement of a convolution over its input.
pub(super) struct Window {
    /// Extent of the kernel, in both directions.
    pub(super) kernel: usize,
    /// Step, in both directions.
    pub(super) stride: i64,
    /// Rows at the top, columns at the left, rows at the bottom, columns at the right.
    pub(super) pads: [i64; 4],
    /// Number of groups of channels that do not see each other.
    pub(super) groups: usize,
}

impl Window {
    /// Pads as many rows and columns at each side.
    pub(super) fn even(kernel: usize, stride: i64, pad: i64) -> Self {
        Self { kernel, stride, pads: [pad; 4], groups: 1 }
    }

    /// Gives as many places as the input's `extent` divided by the stride, padding the end first, as TensorFlow's
    /// "SAME".
    pub(super) fn same(kernel: usize, stride: usize, extent: usize) -> Self {
        let covered = (extent.div_ceil(stride) - 1) * stride + kernel;
        let pad = covered.saturating_sub(extent) as i64;
        let (before, after) = (pad / 2, pad - pad / 2);
        Self { kernel, stride: stride as i64, pads: [before, before, after, after], groups: 1 }
    }

    /// Returns the same, each channel for itself.
    pub(super) fn in_groups(self, groups: usize) -> Self {
        Self { groups, ..self }
    }
}

impl<'a> Net<'a> {
    pub(super) fn new(name: &str, weights: &'a ModelRecipe) -> Self {
        Self { graph: GraphBuilder::new(name), weights, offsets_bytes: weights.offsets_bytes().collect() }
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.graph.into_bytes()
    }

    /// Adds an input, with the batch as first dimension.
    pub(super) fn input(&mut self, tensor: &InputTensor) {
        self.graph.input(tensor.name, tensor.element_type, &Dim::batch_of(&tensor.shape));
    }

    /// Adds an input of these extents, the batch among them.
    pub(super) fn input_of(&mut self, name: &str, element_type: ElementType, dims: &[Dim]) -> String {
        self.graph.input(name, element_type, dims);
        name.to_owned()
    }

    /// Makes a value an output, f32 with the batch before a sample's shape.
    pub(super) fn output(&mut self, name: &str, shape: &[usize]) {
        self.output_of(name, ElementType::F32, &Dim::batch_of(shape));
    }

    /// Makes a value an output of these extents, the batch among them.
    pub(super) fn output_of(&mut self, name: &str, element_type: ElementType, dims: &[Dim]) {
        self.graph.output(name, element_type, dims);
    }

    /// Adds a tensor from the weights file.
    pub(super) fn weight(&mut self, name: &str) -> String {
        let found =
            self.weights.tensors.iter().zip(&self.offsets_bytes).find(|(tensor, _)| tensor.name == name);
        let (tensor, offset_bytes) = found.expect("a graph asks for the tensors of its own recipe");
        self.graph.external(name, ElementType::F32, &tensor.shape, &self.weights.file_name(), *offset_bytes)
    }

    /// Returns a tensor of the file of weights with its two dimensions exchanged.
    pub(super) fn transposed(&mut self, name: &str) -> String {
        let weight = self.weight(name);
        self.node("Transpose", &format!("{name}.transposed"), &[&weight], &[("perm", [1, 0].into())])
    }

    /// Returns a constant of f32.
    pub(super) fn constant(&mut self, name: &str, shape: &[usize], values: &[f32]) -> String {
        self.graph.constant(name, shape, values)
    }

    /// Returns a constant of integers.
    pub(super) fn ints(&mut self, values: &[i64]) -> String {
        self.graph.ints(values)
    }

    /// Returns a constant f32 without dimensions.
    pub(super) fn float(&mut self, value: f32) -> String {
        self.graph.float(value)
    }

    pub(super) fn node(
        &mut self,
        operator: &str,
        name: &str,
        inputs: &[&str],
        attributes: &[(&str, Attribute)],
    ) -> String {
        self.graph.node(operator, name, inputs, attributes)
    }

    /// Cuts a value into parts of given extents along one axis.
    pub(super) fn split(&mut self, name: &str, x: &str, axis: i64, extents: &[i64]) -> Vec<String> {
        let sizes = self.ints(extents);
        self.graph.node_of_many("Split", name, &[x, &sizes], extents.len(), &[("axis", axis.into())])
    }

    /// Returns a node with several outputs.
    pub(super) fn many(
        &mut self,
        operator: &str,
        name: &str,
        inputs: &[&str],
        output_count: usize,
        attributes: &[(&str, Attribute)],
    ) -> Vec<String> {
        self.graph.node_of_many(operator, name, inputs, output_count, attributes)
    }

    /// Returns a convolution without bias.
    pub(super) fn convolution(&mut self, name: &str, x: &str, window: &Window) -> String {
        let weight = self.weight(&format!("{name}.weight"));
        self.convolve(name, &[x, &weight], window)
    }

    /// Returns a convolution with a bias.
    pub(super) fn biased_convolution(&mut self, name: &str, x: &str, window: &Window) -> String {
        self.shared_convolution(name, name, x, window)
    }

    /// Adds a convolution with weight and bias of `layer`, which several nodes may share.
    pub(super) fn shared_convolution(&mut self, layer: &str, name: &str, x: &str, window: &Window) -> String {
        let [weight, bias] = ["weight", "bias"].map(|part| self.weight(&format!("{layer}.{part}")));
        self.convolve(name, &[x, &weight, &bias], window)
    }

    fn convolve(&mut self, name: &str, inputs: &[&str], window: &Window) -> String {
        let attributes = [
            ("group", (window.groups as i64).into()),
            ("kernel_shape", [window.kernel as i64; 2].into()),
            ("pads", window.pads.into()),
            ("strides", [window.stride; 2].into()),
        ];
        self.node("Conv", name, inputs, &attributes)
    }

    pub(super) fn relu(&mut self, name: &str, x: &str) -> String {
        self.node("Relu", name, &[x], &[])
    }

    /// Returns the values between 0 and 6.
    pub(super) fn relu6(&mut self, name: &str, x: &str) -> String {
        let (low, high) = (self.float(0.0), self.float(6.0));
        self.node("Clip", name, &[x, &low, &high], &[])
    }

    pub(super) fn batch_norm(&mut self, name: &str, x: &str, epsilon: f32) -> String {
        let [gain, bias, mean, variance] = ["weight", "bias", "running_mean", "running_var"]
            .map(|part| self.weight(&format!("{name}.{part}")));
        let inputs = [x, &gain, &bias, &mean, &variance];
        self.node("BatchNormalization", name, &inputs, &[("epsilon", epsilon.into())])
    }

    /// Returns the greatest of 3x3 places, at every second one.
    pub(super) fn halve(&mut self, name: &str, x: &str) -> String {
        let window = [("kernel_shape", [3, 3].into()), ("pads", [1; 4].into()), ("strides", [2, 2].into())];
        self.node("MaxPool", name, &[x], &window)
    }

    /// Adds the mean over all places of an image, and a linear layer.
    pub(super) fn classify(&mut self, layer: &str, x: &str, output: &str) {
        let mean = self.node("GlobalAveragePool", "pool", &[x], &[]);
        let flat = self.node("Flatten", "flat", &[&mean], &[("axis", 1.into())]);
        let [weight, bias] = ["weight", "bias"].map(|part| self.weight(&format!("{layer}.{part}")));
        self.node("Gemm", output, &[&flat, &weight, &bias], &[("transB", 1.into())]);
    }

    /// Returns a linear layer on the last dimension of three.
    pub(super) fn linear(&mut self, name: &str, x: &str) -> String {
        let weight = self.transposed(&format!("{name}.weight"));
        let bias = self.weight(&format!("{name}.bias"));
        let product = self.node("MatMul", &format!("{name}.product"), &[x, &weight], &[]);
        self.node("Add", name, &[&product, &bias], &[])
    }

    pub(super) fn layer_norm(&mut self, name: &str, x: &str, epsilon: f32) -> String {
        let [gain, bias] = ["weight", "bias"].map(|part| self.weight(&format!("{name}.{part}")));
        let attributes = [("axis", (-1).into()), ("epsilon", epsilon.into())];
        self.node("LayerNormalization", name, &[x, &gain, &bias], &attributes)
    }
}

impl ModelRecipe {
    /// Adds a convolution without bias over images or volumes, its output `gain` times as varied as its input.
    pub(super) fn add_convolution<const RANK: usize>(&mut self, name: &str, shape: [usize; RANK], gain: f32) {
        let scale = gain * steady(shape[1..].iter().product());
        self.add(&format!("{name}.weight"), &shape, scale);
    }

    /// Adds a convolution with a bias, its output `gain` times as varied as its input.
    pub(super) fn add_biased_convolution(&mut self, name: &str, shape: [usize; 4], gain: f32) {
        self.add_convolution(name, shape, gain);
        self.add(&format!("{name}.bias"), &[shape[0]], 0.125);
    }

    /// Adds a batch norm that nearly lets its input through, times `gain`.
    pub(super) fn add_batch_norm(&mut self, name: &str, channels: usize, gain: f32) {
        self.add_around(&format!("{name}.weight"), &[channels], gain, 0.25 * gain);
        self.add(&format!("{name}.bias"), &[channels], 0.25);
        self.add(&format!("{name}.running_mean"), &[channels], 0.25);
        self.add_around(&format!("{name}.running_var"), &[channels], 1.0, 0.25);
    }

    /// Adds a linear layer, its output `gain` times as varied as its input.
    pub(super) fn add_linear(&mut self, name: &str, outputs: usize, inputs: usize, gain: f32) {
        self.add(&format!("{name}.weight"), &[outputs, inputs], gain * steady(inputs));
        self.add(&format!("{name}.bias"), &[outputs], 0.125);
    }

    pub(super) fn add_layer_norm(&mut self, name: &str, width: usize) {
        self.add_around(&format!("{name}.weight"), &[width], 1.0, 0.25);
        self.add(&format!("{name}.bias"), &[width], 0.125);
    }
}

/// Returns the bound of uniform weights whose sum of `inputs` products has the deviation of the inputs: `sqrt(3 /
/// inputs)`, in f32.
#[expect(clippy::cast_precision_loss, reason = "sizes are far below 2^24")]
pub(super) fn steady(inputs: usize) -> f32 {
    (3.0 / inputs as f32).sqrt()
}

/// Factor of a convolution's weights if a ReLU follows, which halves the square of its input (He et al., "Delving deep
/// into rectifiers", 2015): near `sqrt(2)`.
pub(super) const BEFORE_RELU: f32 = 1.414;
