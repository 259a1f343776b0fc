//! Batch normalisation without its own step.
//!
//! At inference it is `x factor + summand` by channel. After a convolution with constant weights the factors go into
//! the weights and the summands into the bias; elsewhere it becomes a product and a sum.

use proctor_vocabulary::ElementType;

use crate::{
    graph::{Graph, Node, Value, ValueId},
    op::{Binary, Op},
    tensor::{Array, Tensor},
};

/// Replaces every batch normalisation whose parameters are constant.
///
/// # Errors
/// Fails for parameters that are no floating-point numbers, or not as many as there are channels.
pub(super) fn fold(graph: &mut Graph) -> Result<(), String> {
    let reader_counts = graph.reader_counts();
    let mut nodes = Vec::with_capacity(graph.nodes.len());
    for node in std::mem::take(&mut graph.nodes) {
        let Op::BatchNormalization { epsilon } = node.op else {
            nodes.push(node);
            continue;
        };
        let Some(channels) = Channels::of(graph, &node, epsilon)? else {
            nodes.push(node);
            continue;
        };
        let (Some(Some(x)), Some(Some(result))) = (node.inputs.first(), node.outputs.first()) else {
            return Err(format!("{}: an input or the output is missing", node.label));
        };
        let (x, result) = (*x, *result);
        // A convolution may only change if nothing else reads its result.
        let before = nodes.iter().rposition(|before: &Node| before.outputs.contains(&Some(x)));
        let folded = match before.filter(|_| reader_counts.get(x.0) == Some(&1)) {
            Some(before) => channels.folded_into(graph, &nodes[before])?,
            None => None,
        };
        match (folded, before) {
            (Some(convolution), Some(before)) => {
                nodes[before] = Node { outputs: vec![Some(result)], ..convolution };
            }
            _ => nodes.extend(channels.as_product_and_sum(graph, &node.label, x, result)),
        }
    }
    graph.nodes = nodes;
    Ok(())
}

/// A batch normalisation by channel.
struct Channels {
    factors: Vec<f64>,
    summands: Vec<f64>,
}

impl Channels {
    /// Returns `None` if a parameter is not constant.
    fn of(graph: &Graph, node: &Node, epsilon: f64) -> Result<Option<Self>, String> {
        let mut parameters = Vec::new();
        for at in 1..=4 {
            let value = node.inputs.get(at).copied().flatten();
            let value = value.ok_or_else(|| format!("{}: input {at} is missing", node.label))?;
            let Some(constant) = &graph.value(value).constant else { return Ok(None) };
            let array = constant.array().map_err(|what| format!("{}: {what}", node.label))?;
            parameters.push(array.reals().map_err(|what| format!("{}: {what}", node.label))?.to_vec());
        }
        let [scale, bias, mean, variance] = <[Vec<f64>; 4]>::try_from(parameters).expect("four were read");
        let channel_count = node.inputs[0].and_then(|x| graph.value(x).shape.get(1).copied());
        if [&scale, &bias, &mean, &variance].iter().any(|it| Some(it.len()) != channel_count) {
            return Err(format!("{}: its parameters are not as many as there are channels", node.label));
        }
        let factors: Vec<f64> = scale
            .iter()
            .zip(&variance)
            .map(|(scale, variance)| scale / (variance + epsilon).sqrt())
            .collect();
        let centred = mean.iter().zip(&factors).map(|(mean, factor)| mean * factor);
        let summands = bias.iter().zip(centred).map(|(bias, centred)| bias - centred).collect();
        Ok(Some(Self { factors, summands }))
    }

    /// Returns the convolution with this in its weights and bias, if they are constant.
    fn folded_into(&self, graph: &mut Graph, node: &Node) -> Result<Option<Node>, String> {
        let constant = |at: usize| {
            let value = node.inputs.get(at).copied().flatten()?;
            graph.value(value).constant.clone()
        };
        let (Op::Conv(_), Some(weights)) = (&node.op, constant(1)) else { return Ok(None) };
        let has_bias = node.inputs.get(2).copied().flatten().is_some();
        let bias = constant(2);
        if has_bias != bias.is_some() {
            return Ok(None);
        }
        let element = weights.element;
        let of_filter = weights.shape.iter().skip(1).product::<usize>();
        let scaled: Vec<f64> = (reals(&weights)?.chunks(of_filter.max(1)).zip(&self.factors))
            .flat_map(|(filter, factor)| filter.iter().map(move |weight| weight * factor))
            .collect();
        let bias = bias.as_ref().map(reals).transpose()?.unwrap_or_else(|| vec![0.0; self.factors.len()]);
        let moved = bias.iter().zip(&self.factors).zip(&self.summands);
        let moved = moved.map(|((bias, factor), summand)| bias * factor + summand).collect();
        let weights = add_constant(graph, &weights.shape, element, scaled);
        let bias = add_constant(graph, &[self.factors.len()], element, moved);
        let inputs = vec![node.inputs[0], Some(weights), Some(bias)];
        Ok(Some(Node { inputs, ..node.clone() }))
    }

    /// Returns a product and a sum with constants of one element for each channel.
    fn as_product_and_sum(&self, graph: &mut Graph, label: &str, x: ValueId, result: ValueId) -> [Node; 2] {
        let Value { element, shape, .. } = graph.value(x).clone();
        let mut by_channel = vec![1; shape.len() - 1];
        by_channel[0] = self.factors.len();
        let factors = add_constant(graph, &by_channel, element, self.factors.clone());
        let summands = add_constant(graph, &by_channel, element, self.summands.clone());
        let product = graph.add_value(Value { element, shape, constant: None });
        let node = |op, inputs: [ValueId; 2], output| Node {
            label: label.to_owned(),
            op: Op::Binary(op),
            inputs: inputs.map(Some).to_vec(),
            outputs: vec![Some(output)],
        };
        [node(Binary::Mul, [x, factors], product), node(Binary::Add, [product, summands], result)]
    }
}

fn reals(tensor: &Tensor) -> Result<Vec<f64>, String> {
    tensor.array()?.reals().map(<[f64]>::to_vec)
}

fn add_constant(graph: &mut Graph, shape: &[usize], element: ElementType, values: Vec<f64>) -> ValueId {
    let constant = Some(Array::real(element, shape, values).tensor());
    graph.add_value(Value { element, shape: shape.to_vec(), constant })
}
