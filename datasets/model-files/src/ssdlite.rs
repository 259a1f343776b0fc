//! SSDLite with MobileNet-v2, trained on COCO, as TensorFlow's zoo of detectors exports it and TensorFlow.js packs it.

use proctor_vocabulary::ElementType;

use crate::{
    convert::{
        convert_graph,
        port::{GraphInput, GraphOutput, Order},
    },
    error::ConvertError,
    tensorflow::graph::Graph,
};

const IMAGE: usize = 300;

/// Converts SSDLite with MobileNet-v2 from a graph model of TensorFlow.js to an ONNX file. The shards come in the
/// order of its manifest.
///
/// Its input `image` is u8`[batch, 3, 300, 300]`, red first, pixels as they are. Its outputs are `boxes`, f32
/// `[batch, 1917, 4]`: upper, left, lower and right edge as shares of the image, and `scores`, f32`[batch, 1917, 91]`:
/// from 0 to 1, of the background and of the categories of COCO by their ids. The original resizes pictures before, and
/// suppresses overlapping boxes behind.
///
/// # Errors
/// Returns a [`ConvertError`] if the files cannot be read, or describe another network.
pub fn ssdlite_mobilenet_v2(model_json: &[u8], shards: &[Vec<u8>]) -> Result<Vec<u8>, ConvertError> {
    let graph = Graph::of_graph_model(model_json, shards)?;
    let image = GraphInput {
        // The resized pictures of a batch.
        node: "Preprocessor/map/TensorArrayStack/TensorArrayGatherV3",
        name: "image",
        element_type: ElementType::U8,
        shape: &[IMAGE, IMAGE, 3],
        order: Order::ChannelsFirst,
    };
    let boxes = GraphOutput { node: "Postprocessor/Reshape_2", name: "boxes" };
    let scores = GraphOutput { node: "Postprocessor/convert_scores", name: "scores" };
    convert_graph("ssdlite-mobilenet-v2", &graph, &[image], &[boxes, scores])
}
